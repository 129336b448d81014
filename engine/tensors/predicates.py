"""Functions that query tensors, such as `is_tensor` and `numel`."""

from __future__ import annotations

from typing import Any

import numpy as np

from engine.backend import MetaArray
from engine.dtypes import DType
from engine.ops.elementwise.selection import where
from engine.ops.record import REGISTRY
from engine.tensors.dispatch import promotion
from engine.tensors.storage import UntypedStorage
from engine.tensors.tensor import Tensor


def is_tensor(obj: object) -> bool:
    """Return whether an object is a tensor."""
    return isinstance(obj, Tensor)


def is_storage(obj: object) -> bool:
    """Return whether an object is the storage of a tensor."""
    return isinstance(obj, UntypedStorage)


def is_floating_point(input: Tensor) -> bool:
    """Return whether the dtype is floating-point."""
    return input.is_floating_point()


def is_complex(input: Tensor) -> bool:
    """Return False: there are no complex dtypes."""
    return input.is_complex()


def is_signed(input: Tensor) -> bool:
    """Return whether the dtype has negative values."""
    return input.is_signed()


def is_nonzero(input: Tensor) -> bool:
    """Return whether a tensor with one element is not 0."""
    return bool(input)


def is_same_size(input: Tensor, other: Tensor) -> bool:
    """Return whether two tensors have the same shape."""
    return input.is_same_size(other)


def numel(input: Tensor) -> Any:
    """Return the number of elements."""
    return input.numel()


def typename(obj: Any) -> str:
    """Return the name of a tensor's type, or of another object's class."""
    if isinstance(obj, Tensor):
        return obj.type()
    kind = obj if isinstance(obj, type) else type(obj)
    return kind.__qualname__ if kind.__module__ == "builtins" else f"{kind.__module__}.{kind.__qualname__}"


def result_type(tensor1: Any, tensor2: Any) -> DType:
    """Return the dtype that promotion gives for two tensors or numbers."""
    found = promotion.promote(REGISTRY["eq"], [_shape_only(value) for value in (tensor1, tensor2)])
    assert found is not None
    return found


def _shape_only(value: Any) -> Any:
    if isinstance(value, Tensor):
        return MetaArray(tuple(value.shape), value.dtype.numpy)
    return value.item() if isinstance(value, np.generic) else value


def where_method(self: Tensor, condition: Tensor, other: Any) -> Tensor:
    """Return the elements of this tensor where `condition` holds, else those of `other`."""
    return where(condition, self, other)


METHODS = {"is_nonzero": is_nonzero, "where": where_method}
"""Functions that become methods of Tensor."""

__all__ = [
    "is_complex",
    "is_floating_point",
    "is_nonzero",
    "is_same_size",
    "is_signed",
    "is_storage",
    "is_tensor",
    "numel",
    "result_type",
    "typename",
]
