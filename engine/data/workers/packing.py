"""Pickling with the data of arrays and tensors in out-of-band buffers (PEP 574)."""

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
"""Kinds of dtypes that `dtype.str` describes completely."""
_SMALL = 1024
"""Arrays of at most this many bytes stay in the pickle stream."""


class _Packer(pickle.Pickler):
    """A pickler with a short form for numeric arrays and tensors, because unpickling delays the training step."""

    def reducer_override(self, obj: Any) -> Any:
        if type(obj) is Tensor and obj.is_cpu and not obj.requires_grad and not getattr(obj, "__dict__", None):
            arguments = _array_arguments(obj._numbers())
            return NotImplemented if arguments is None else (tensor_over, arguments)
        arguments = _array_arguments(obj) if type(obj) is np.ndarray else None
        return NotImplemented if arguments is None else (np.ndarray, arguments)


def tensor_over(shape: tuple[int, ...], dtype: str, numbers: Any) -> Tensor:
    """A tensor that shares the memory of a buffer."""
    return from_array(np.ndarray(shape, dtype, numbers))


def _array_arguments(array: np.ndarray[Any, Any]) -> tuple[tuple[int, ...], str, pickle.PickleBuffer] | None:
    """The arguments of `np.ndarray` that rebuild an array; None if it needs the general pickle form."""
    if array.dtype.kind not in _PLAIN or array.flags.fnc:
        return None
    numbers: Any = np.ascontiguousarray(array)
    return array.shape, array.dtype.str, pickle.PickleBuffer(numbers)


def pack(value: Any) -> tuple[bytes, list[pickle.PickleBuffer]]:
    """The pickle stream of `value`, and the buffers of its larger arrays."""
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
    """Restore an object from the result of `pack`, also in another process. Arrays share the memory of `buffers`."""
    return pickle.loads(content, buffers=buffers)  # noqa: S301 - the bytes come from a process of this program


def send_message(to: Connection, message: Any) -> None:
    """Send a message to the other end. Faster than `Connection.send`."""
    to.send_bytes(pickle.dumps(message, pickle.HIGHEST_PROTOCOL))


def receive_message(source: Connection) -> Any:
    """Receive the next message of `send_message`."""
    return unpack(source.recv_bytes())


def check_picklable(name: str, value: Any, remedy: str) -> None:
    """Raises TypeError with `name`, the type and the remedy if `value` cannot be sent to another process."""
    try:
        pack(value)
    except Exception as error:
        kind = getattr(value, "__qualname__", None) or type(value).__qualname__
        raise TypeError(f"DataLoader: {name} {kind} cannot be sent to worker processes ({error}). {remedy}") from error
