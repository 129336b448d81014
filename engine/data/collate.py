"""Collate samples into a batch."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from engine.dtypes import float64
from engine.ops.movement.joining import stack
from engine.tensors import Tensor
from engine.tensors.creation import from_numpy, tensor
from engine.tensors.creation.from_data import from_array


def default_collate(batch: Sequence[Any]) -> Any:
    """Collate samples as PyTorch does: stack tensors, arrays and numbers along a new first dimension.

    Mappings and named tuples keep their type, other sequences become lists, and strings stay a list of strings.

    Raises:
        ValueError: the samples differ in shape, length or keys.
        TypeError: the type of the samples cannot be collated; pass `collate_fn`.
    """
    first = batch[0]
    if isinstance(first, Tensor):
        if all(type(sample) is Tensor and sample.is_cpu and not sample.requires_grad for sample in batch):
            arrays = [sample._numbers() for sample in batch]
            if len({array.dtype for array in arrays}) == 1:  # `stack` is only needed for gradients and mixed dtypes
                return from_array(_stack_arrays(arrays))
        _check_equal("shapes", [tuple(sample.shape) for sample in batch])
        return stack(list(batch))
    if isinstance(first, (np.ndarray, np.generic)):
        return from_array(_stack_arrays(batch))
    if isinstance(first, float):
        return tensor(list(batch), dtype=float64)
    if isinstance(first, int):
        return tensor(list(batch))
    if isinstance(first, (str, bytes)):
        return list(batch)
    if isinstance(first, Mapping):
        _check_equal("keys", [sorted(map(str, sample)) for sample in batch])
        return {key: default_collate([sample[key] for sample in batch]) for key in first}
    if isinstance(first, Sequence):
        _check_equal("lengths", [len(sample) for sample in batch])
        columns = [default_collate(column) for column in zip(*batch, strict=True)]
        return _like_first(first, columns)
    raise TypeError(
        f"samples of type {type(first).__name__} cannot be collated into a batch. "
        "Return tensors, arrays, numbers, strings, or tuples and dicts of them, or pass collate_fn."
    )


def _stack_arrays(batch: Sequence[Any]) -> np.ndarray[Any, Any]:
    """Same as `np.stack`, but twice as fast for many small arrays."""
    shape = batch[0].shape
    if any(np.shape(sample) != shape for sample in batch):
        _check_equal("shapes", [np.shape(sample) for sample in batch])
    return np.concatenate(batch).reshape(len(batch), *shape) if shape else np.array(batch)


def pad_collate(batch: Sequence[Any], padding_value: float = 0) -> Any:
    """Collate samples like `default_collate`, but pad tensors and arrays of different sizes.

    Each dimension is padded at its end to the largest size. To set the padding value, use
    `functools.partial(pad_collate, padding_value=-100)`, which can be sent to worker processes.

    Raises:
        ValueError: the samples differ in dimensions, structure or keys.
        TypeError: the type of the samples cannot be collated.
    """
    first = batch[0]
    if isinstance(first, (Tensor, np.ndarray)) and first.ndim:
        arrays = [sample.detach().numpy() if isinstance(sample, Tensor) else sample for sample in batch]
        _check_equal("dimensions", [array.ndim for array in arrays])
        padded = np.full(
            (len(arrays), *np.max([array.shape for array in arrays], axis=0, initial=0)),
            padding_value,
            np.result_type(*arrays),
        )
        for row, array in zip(padded, arrays, strict=True):
            row[tuple(map(slice, array.shape))] = array
        return from_array(padded)
    if isinstance(first, Mapping):
        _check_equal("keys", [sorted(map(str, sample)) for sample in batch])
        return {key: pad_collate([sample[key] for sample in batch], padding_value) for key in first}
    if isinstance(first, Sequence) and not isinstance(first, (str, bytes)):
        _check_equal("lengths", [len(sample) for sample in batch])
        columns = [pad_collate(column, padding_value) for column in zip(*batch, strict=True)]
        return _like_first(first, columns)
    return default_collate(batch)


def default_convert(data: Any) -> Any:
    """Convert the arrays of one sample to tensors. The default `collate_fn` of a DataLoader without batches."""
    if isinstance(data, (np.ndarray, np.generic)):
        return from_numpy(np.asarray(data))
    if isinstance(data, Mapping):
        return {key: default_convert(value) for key, value in data.items()}
    if isinstance(data, tuple):
        values = [default_convert(value) for value in data]
        return type(data)(*values) if getattr(type(data), "_fields", None) else tuple(values)
    if isinstance(data, list):
        return [default_convert(value) for value in data]
    return data


def _like_first(first: Sequence[Any], columns: list[Any]) -> Any:
    """The columns as a named tuple if `first` is one, otherwise unchanged."""
    return type(first)(*columns) if isinstance(first, tuple) and getattr(type(first), "_fields", None) else columns


def _check_equal(attribute: str, values: list[Any]) -> None:
    for number, value in enumerate(values):
        if value != values[0]:
            raise ValueError(
                f"the samples of a batch differ in {attribute}: sample 0 has {values[0]}, sample {number} has {value}. "
                "Make them equal, or pass collate_fn."
            )
