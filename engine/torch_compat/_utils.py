"""Tensors joined into one and divided again, under the path that PyTorch's code has for it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from engine import cuda
from engine.backend import Device
from engine.functions import cat
from engine.tensors import Tensor


def _flatten_dense_tensors(tensors: Sequence[Tensor]) -> Tensor:
    """All elements of the tensors, one after the other."""
    return cat([tensor.reshape(-1) for tensor in tensors])


def _unflatten_dense_tensors(flat: Tensor, tensors: Iterable[Tensor]) -> tuple[Tensor, ...]:
    """Parts of `flat` in the shapes of the tensors: the inverse of `_flatten_dense_tensors`."""
    parts: list[Tensor] = []
    start = 0
    for tensor in tensors:
        parts.append(flat.narrow(0, start, tensor.numel()).reshape(tensor.shape))
        start += tensor.numel()
    return tuple(parts)


def _get_device_index(device: Any, optional: bool = False, allow_cpu: bool = False) -> int:
    """The number of a GPU; -1 for the CPU if it is allowed. Raises ValueError for what is no GPU."""
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
    raise ValueError(f'expected a GPU with its number, such as "cuda:0", not {device!r}')
