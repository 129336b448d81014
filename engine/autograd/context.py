"""What `forward` of a Function leaves for its `backward`: the argument `ctx`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from engine.graph.saved_tensors import pack, raise_freed, raise_inference_tensor, raise_modified, unpack, with_history
from engine.modes import MODES
from engine.tensors import Tensor


class FunctionCtx:
    """Any attribute may be set on it; tensors should go through `save_for_backward`."""

    def __init__(self, needs_input_grad: tuple[bool, ...]) -> None:
        self.needs_input_grad = needs_input_grad
        """Whether each argument of `forward` wants a gradient."""
        self._materialize = True
        self._to_save: tuple[Tensor | None, ...] = ()
        self._dirty: tuple[Tensor, ...] = ()
        self._constant: tuple[Tensor, ...] = ()
        self._saved: list[Kept | None] | None = None
        self._node: Any = None
        self._name = ""

    def save_for_backward(self, *tensors: Tensor | None) -> None:
        """Keeps inputs or results for `saved_tensors`, with a check that nobody writes to them in between."""
        for number, tensor in enumerate(tensors):
            if tensor is not None and not isinstance(tensor, Tensor):
                raise TypeError(
                    f"save_for_backward can only save tensors, but argument {number} is of type "
                    f"{type(tensor).__name__}. Set other things as attributes of ctx."
                )
        self._to_save = tensors

    def save_for_forward(self, *tensors: Tensor | None) -> None:
        """For forward-mode differentiation, which the engine does not do: keeps nothing."""

    def mark_dirty(self, *args: Tensor) -> None:
        """Names the inputs that `forward` changed in place; it must return them."""
        self._dirty = args

    def mark_non_differentiable(self, *args: Tensor) -> None:
        """Names the results that have no gradient."""
        self._constant = args

    def set_materialize_grads(self, value: bool) -> None:
        """Whether `backward` gets zeros instead of None for results that nothing depends on."""
        self._materialize = value

    @property
    def saved_tensors(self) -> tuple[Tensor | None, ...]:
        if self._saved is None:
            if self._node is not None:
                raise_freed(self._node())
            return self._to_save
        node = None if self._node is None else self._node()
        return tuple([None if kept is None else kept.tensor(node, self._name) for kept in self._saved])

    saved_variables = saved_tensors

    def _keep(self, name: str, results: Mapping[int, int]) -> None:
        """Takes what is to be saved, results (id → index) without the node that they are about to get."""
        self._name = name
        self._saved = [
            None if tensor is None else Kept(tensor, results.get(id(tensor)), number)
            for number, tensor in enumerate(self._to_save)
        ]
        self._to_save = ()

    def _release(self) -> None:
        if self._saved:
            self._saved = None


class Kept:
    """A saved tensor: an input as it is, a result as an alias that gets its history when asked for."""

    __slots__ = ("edge", "index", "number", "value", "version")

    def __init__(self, tensor: Tensor, index: int | None, number: int) -> None:
        version = tensor._storage.version
        if version < 0:
            raise_inference_tensor(tensor)
        self.index, self.number = index, number
        self.edge = tensor.edge if index is None else None
        self.value: Any = tensor if index is None else tensor.detach()
        self.version: int | None = version
        if MODES.packing is not None:
            self.value, self.version = pack(tensor, MODES.packing)

    def tensor(self, node: Any, name: str) -> Tensor:
        if self.version is None:
            found = unpack(self.value, None)
            found = with_history(found, self.edge) if self.index is None else found
        else:
            found = self.value
            if found._storage.version != self.version:
                where = None if node is None else node.where
                raise_modified(f"saved tensor {self.number}", name, where, found, self.version)
        if self.index is None or node is None or not found.is_floating_point():
            return found
        return found._with_history(node, self.index)
