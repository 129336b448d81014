"""torch._utils: flatten tensors into one tensor and back; indices of GPUs."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from engine import cuda
from engine.backend import Device
from engine.functions import cat
from engine.tensors import Tensor


def _flatten_dense_tensors(tensors: Sequence[Tensor]) -> Tensor:
    """Concatenate the elements of the tensors into one dimension."""
    return cat([tensor.reshape(-1) for tensor in tensors])


def _unflatten_dense_tensors(flat: Tensor, tensors: Iterable[Tensor]) -> tuple[Tensor, ...]:
    """Split `flat` into tensors of the given shapes: the inverse of `_flatten_dense_tensors`."""
    parts: list[Tensor] = []
    start = 0
    for tensor in tensors:
        parts.append(flat.narrow(0, start, tensor.numel()).reshape(tensor.shape))
        start += tensor.numel()
    return tuple(parts)


def _get_device_index(device: Any, optional: bool = False, allow_cpu: bool = False) -> int:
    """Return the index of a GPU; -1 for the CPU with `allow_cpu`. Raises ValueError for other devices."""
    if isinstance(device, int):
        return device
    if device is None and optional:
        return cuda.current_device()
    found = Device(device) if isinstance(device, str) else device
    if isinstance(found, Device):
        if found.type == "cpu" and allow_cpu:
            return -1
        if found.type == "cuda" and (found.index is not None or optional):
            return cuda.current_device() if found.index is None else found.index
    raise ValueError(f'expected a GPU with an index, such as "cuda:0", not {device!r}')
