"""Questions about values, asked with functions as in PyTorch."""

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
    """Whether it is a tensor."""
    return isinstance(obj, Tensor)


def is_storage(obj: object) -> bool:
    """Whether it is the memory of a tensor."""
    return isinstance(obj, UntypedStorage)


def is_floating_point(input: Tensor) -> bool:
    """Whether the elements may have fractions."""
    return input.is_floating_point()


def is_complex(input: Tensor) -> bool:
    """Whether the elements are complex: never."""
    return input.is_complex()


def is_signed(input: Tensor) -> bool:
    """Whether there are elements below zero in the dtype."""
    return input.is_signed()


def is_nonzero(input: Tensor) -> bool:
    """Whether a tensor of one element is not 0."""
    return bool(input)


def is_same_size(input: Tensor, other: Tensor) -> bool:
    """Whether both have one shape."""
    return input.is_same_size(other)


def numel(input: Tensor) -> Any:
    """How many elements there are."""
    return input.numel()


def typename(obj: Any) -> str:
    """The name of a tensor's type, or of another object's class."""
    if isinstance(obj, Tensor):
        return obj.type()
    kind = obj if isinstance(obj, type) else type(obj)
    return kind.__qualname__ if kind.__module__ == "builtins" else f"{kind.__module__}.{kind.__qualname__}"


def result_type(tensor1: Any, tensor2: Any) -> DType:
    """The dtype that an op on both comes to; each is a tensor or a number."""
    found = promotion.promote(REGISTRY["eq"], [_shape_only(value) for value in (tensor1, tensor2)])
    assert found is not None
    return found


def _shape_only(value: Any) -> Any:
    if isinstance(value, Tensor):
        return MetaArray(tuple(value.shape), value.dtype.numpy)
    return value.item() if isinstance(value, np.generic) else value


def where_method(self: Tensor, condition: Tensor, other: Any) -> Tensor:
    """The elements of this tensor where `condition` holds, elsewhere those of `other`."""
    return where(condition, self, other)


METHODS = {"is_nonzero": is_nonzero, "where": where_method}
"""What `methods.install` gives to tensors."""

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
