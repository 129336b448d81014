"""The `ctx` argument of a Function: passes data from `forward` to `backward`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from engine.graph.saved_tensors import pack, raise_freed, raise_inference_tensor, raise_modified, unpack, with_history
from engine.modes import MODES
from engine.tensors import Tensor


class FunctionCtx:
    """Context of a Function call. Any attribute may be set; save tensors with `save_for_backward`."""

    def __init__(self, needs_input_grad: tuple[bool, ...]) -> None:
        self.needs_input_grad = needs_input_grad
        """For each argument of `forward`, whether it needs a gradient."""
        self._materialize = True
        self._to_save: tuple[Tensor | None, ...] = ()
        self._dirty: tuple[Tensor, ...] = ()
        self._constant: tuple[Tensor, ...] = ()
        self._saved: list[SavedValue | None] | None = None
        self._node: Any = None
        self._name = ""

    def save_for_backward(self, *tensors: Tensor | None) -> None:
        """Save inputs or outputs for `saved_tensors`. Modifying them in place before backward is an error."""
        for number, tensor in enumerate(tensors):
            if tensor is not None and not isinstance(tensor, Tensor):
                raise TypeError(
                    f"save_for_backward can only save tensors, but argument {number} is of type "
                    f"{type(tensor).__name__}. Set other values as attributes of ctx."
                )
        self._to_save = tensors

    def save_for_forward(self, *tensors: Tensor | None) -> None:
        """Accepted for compatibility: forward-mode differentiation is not supported, so nothing is saved."""

    def mark_dirty(self, *args: Tensor) -> None:
        """Mark the inputs that `forward` modified in place. It must return them."""
        self._dirty = args

    def mark_non_differentiable(self, *args: Tensor) -> None:
        """Mark outputs that have no gradient."""
        self._constant = args

    def set_materialize_grads(self, value: bool) -> None:
        """Set whether `backward` receives zeros instead of None for outputs without gradient."""
        self._materialize = value

    @property
    def saved_tensors(self) -> tuple[Tensor | None, ...]:
        if self._saved is None:
            if self._node is not None:
                raise_freed(self._node())
            return self._to_save
        node = None if self._node is None else self._node()
        return tuple([None if saved is None else saved.tensor(node, self._name) for saved in self._saved])

    saved_variables = saved_tensors

    def _keep(self, name: str, results: Mapping[int, int]) -> None:
        """Convert the saved tensors; outputs (id → index) are stored without grad_fn, to avoid a reference cycle."""
        self._name = name
        self._saved = [
            None if tensor is None else SavedValue(tensor, results.get(id(tensor)), number)
            for number, tensor in enumerate(self._to_save)
        ]
        self._to_save = ()

    def _release(self) -> None:
        if self._saved:
            self._saved = None


class SavedValue:
    """Saved tensor of a Function: an input, or an alias of an output whose grad_fn is set on access."""

    __slots__ = ("edge", "index", "number", "spec", "value", "version")

    def __init__(self, tensor: Tensor, index: int | None, number: int) -> None:
        version = tensor._storage.version
        if version < 0:
            raise_inference_tensor(tensor)
        self.index, self.number, self.spec = index, number, tensor.spec
        self.edge = tensor.edge if index is None else None
        self.value: Any = tensor if index is None else tensor.detach()
        self.version: int | None = version
        if MODES.packing is not None:
            self.value, self.version = pack(tensor, MODES.packing)

    def tensor(self, node: Any, name: str) -> Tensor:
        if self.version is None:
            value = unpack(self.value, None)
            value = with_history(value, self.edge) if self.index is None else value
        else:
            value = self.value
            if value._storage.version != self.version:
                where = None if node is None else node.where
                raise_modified(f"saved tensor {self.number}", name, where, value, self.version)
        if self.index is None or node is None or not value.is_floating_point():
            return value
        return value._with_history(node, self.index)
