"""Objects as bytes, with the numbers of arrays and tensors beside them rather than among them."""

from __future__ import annotations

import io
import pickle
from collections.abc import Iterable
from multiprocessing.connection import Connection
from typing import Any

import numpy as np

from engine.tensors import Tensor
from engine.tensors.creation.from_data import from_array

_PLAIN = "biufc"
"""Kinds of numbers that are told by the name of their dtype alone."""
_SMALL = 1024
"""Bytes up to which numbers travel among the rest."""


class _Packer(pickle.Pickler):
    """Writes arrays and tensors of plain numbers in few words: a loader reads them between two training steps."""

    def reducer_override(self, obj: Any) -> Any:
        if type(obj) is Tensor and obj.is_cpu and not obj.requires_grad and not getattr(obj, "__dict__", None):
            told = _told(obj._numbers())
            return NotImplemented if told is None else (tensor_over, told)
        told = _told(obj) if type(obj) is np.ndarray else None
        return NotImplemented if told is None else (np.ndarray, told)


def tensor_over(shape: tuple[int, ...], dtype: str, numbers: Any) -> Tensor:
    """A tensor over memory."""
    return from_array(np.ndarray(shape, dtype, numbers))


def _told(array: np.ndarray[Any, Any]) -> tuple[tuple[int, ...], str, pickle.PickleBuffer] | None:
    """What makes an array again; None if that takes more words."""
    if array.dtype.kind not in _PLAIN or array.flags.fnc:
        return None
    numbers: Any = np.ascontiguousarray(array)
    return array.shape, array.dtype.str, pickle.PickleBuffer(numbers)


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


def send_message(to: Connection, message: Any) -> None:
    """Send a message to the other end; as `Connection.send`, in less time."""
    to.send_bytes(pickle.dumps(message, pickle.HIGHEST_PROTOCOL))


def receive_message(source: Connection) -> Any:
    """The next message of `tell`."""
    return unpack(source.recv_bytes())


def check_picklable(what: str, value: Any, remedy: str) -> None:
    """Raises TypeError if `value` cannot be sent to another process, and says what it is."""
    try:
        pack(value)
    except Exception as error:
        kind = getattr(value, "__qualname__", None) or type(value).__qualname__
        raise TypeError(f"DataLoader: {what} {kind} cannot be sent to worker processes ({error}). {remedy}") from error
