"""Objects as bytes, with the numbers of arrays and tensors beside them rather than among them."""

from __future__ import annotations

import io
import pickle
from collections.abc import Iterable
from typing import Any

import numpy as np

_SMALL = 1024
"""Bytes up to which numbers travel among the rest."""


class _Packer(pickle.Pickler):
    def reducer_override(self, obj: Any) -> Any:
        if type(obj) is np.ndarray and not obj.flags.forc:  # else NumPy would write the numbers among the rest
            return np.ascontiguousarray(obj).__reduce_ex__(pickle.HIGHEST_PROTOCOL)
        return NotImplemented


def pack(value: Any) -> tuple[bytes, list[pickle.PickleBuffer]]:
    """The bytes of `value`, and the memory of its larger arrays."""
    buffers: list[pickle.PickleBuffer] = []

    def keep(buffer: pickle.PickleBuffer) -> bool:
        if buffer.raw().nbytes <= _SMALL:
            return True
        buffers.append(buffer)
        return False

    file = io.BytesIO()
    _Packer(file, pickle.HIGHEST_PROTOCOL, buffer_callback=keep).dump(value)
    return file.getvalue(), buffers


def unpack(content: bytes, buffers: Iterable[Any] = ()) -> Any:
    """What was packed by this program, in this or another of its processes; arrays share the memory of `buffers`."""
    return pickle.loads(content, buffers=buffers)  # noqa: S301 - the bytes come from a process of this program


def check_packs(what: str, value: Any, remedy: str) -> None:
    """Raises TypeError if `value` cannot be sent to another process, and says what it is."""
    try:
        pack(value)
    except Exception as error:
        kind = getattr(value, "__qualname__", None) or type(value).__qualname__
        raise TypeError(f"DataLoader: {what} {kind} cannot be sent to worker processes ({error}). {remedy}") from error
