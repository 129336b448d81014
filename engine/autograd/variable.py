"""PyTorch's deprecated `Variable`, now a synonym for Tensor."""

from __future__ import annotations

import warnings
from typing import Any

from engine.tensors import Tensor


class VariableMeta(type):
    """Metaclass that makes `Variable(...)` return tensors and `isinstance` accept them."""

    def __call__(cls, data: Tensor, requires_grad: bool = False, volatile: bool = False) -> Tensor:
        if volatile:
            if requires_grad:
                raise ValueError("Variable() cannot be volatile and require gradients. Omit volatile.")
            warnings.warn("volatile no longer has an effect. Compute inside no_grad() instead.", stacklevel=2)
        return data.detach().requires_grad_(requires_grad)

    def __instancecheck__(cls, instance: Any) -> bool:
        return isinstance(instance, Tensor)


class Variable(metaclass=VariableMeta):
    """Return a detached tensor that shares memory with `tensor`. Deprecated.

    Use the tensor itself; `requires_grad_()` makes it a leaf that requires gradients.
    """
