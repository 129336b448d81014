"""PyTorch's `Variable` of old, which is a tensor by now."""

from __future__ import annotations

import warnings
from typing import Any

from engine.tensors import Tensor


class VariableMeta(type):
    """Makes `Variable` stand for tensors in calls and in `isinstance`."""

    def __call__(cls, data: Tensor, requires_grad: bool = False, volatile: bool = False) -> Tensor:
        if volatile:
            if requires_grad:
                raise ValueError("Variable() cannot be volatile and require gradients. Leave volatile out.")
            warnings.warn("volatile has no effect any more. Compute inside no_grad() instead.", stacklevel=2)
        return data.detach().requires_grad_(requires_grad)

    def __instancecheck__(cls, instance: Any) -> bool:
        return isinstance(instance, Tensor)


class Variable(metaclass=VariableMeta):
    """`Variable(tensor)` is a tensor of the same numbers, in the same memory and of the same dtype, without history.

    Use the tensor itself; `requires_grad_()` makes it a leaf that gradients are computed for.
    """
