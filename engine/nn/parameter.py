"""Tensors that become part of a module when they are assigned to an attribute."""

from __future__ import annotations

from engine.creation import empty
from engine.deferred import adopt
from engine.tensor import Tensor


class Parameter(Tensor):
    """A leaf tensor that becomes part of a module when it is assigned to an attribute of one.

    It shares memory with `data`. What ops make of it are plain tensors.

    Args:
        data: the values; an empty tensor if left out
        requires_grad: whether `backward` computes its gradient
    """

    def __init__(self, data: Tensor | None = None, requires_grad: bool = True) -> None:
        data = empty(0) if data is None else data
        super().__init__(data._array, data._storage)
        adopt(self)
        self.requires_grad_(requires_grad)

    def __repr__(self) -> str:
        return f"Parameter containing:\n{super().__repr__()}"


class Buffer(Tensor):
    """A tensor that becomes a buffer of the module whose attribute it is assigned to.

    Args:
        data: the values; an empty tensor if left out
        persistent: part of the module's `state_dict`
    """

    __slots__ = ("persistent",)

    def __init__(self, data: Tensor | None = None, *, persistent: bool = True) -> None:
        data = empty(0) if data is None else data
        super().__init__(data._array, data._storage)
        adopt(self)
        self.persistent = persistent
