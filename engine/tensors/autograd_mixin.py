"""A tensor's place in the autograd graph: where its gradient goes, what it collects, who is told."""

from __future__ import annotations

import weakref
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, cast

from engine import graph
from engine.backend import MetaArray
from engine.errors import AutogradError, ShapeError
from engine.graph import Edge, Node, RemovableHandle
from engine.graph.node_hooks import Hooks
from engine.modes import MODES, enable_grad
from engine.shape import format_shape
from engine.tensors.methods import TensorMethods

if TYPE_CHECKING:
    from engine.tensors.methods import Tensor


class AutogradMixin(TensorMethods):
    """Base of Tensor: everything that autograd adds to an array."""

    __slots__ = ()

    _array: Any
    _base: Tensor | None
    _grad: Tensor | None
    _hooks: Hooks | None
    _index: int
    _node: Node | None
    _requires_grad: bool
    _storage: Any
    _view: tuple[Any, ...] | None

    # -- where it is

    @property
    def requires_grad(self) -> bool:
        self._refresh()
        return self._requires_grad

    @requires_grad.setter
    def requires_grad(self, value: bool) -> None:
        self.requires_grad_(value)

    def requires_grad_(self, requires_grad: bool = True) -> Tensor:
        """Whether a gradient is collected for this tensor."""
        me = cast("Tensor", self)
        if requires_grad and not me.is_floating_point():
            raise AutogradError(f"only floating-point tensors can require gradients, not {me.dtype.name}")
        if not self.is_leaf and not requires_grad:
            raise AutogradError(
                "requires_grad can only be turned off on leaves.", in_code="Use detach() for a tensor without history."
            )
        if requires_grad and self._storage.version < 0 and not MODES.inference:
            raise AutogradError(
                "an inference tensor cannot require gradients outside inference_mode().",
                in_code="Make a normal tensor of it with clone().",
            )
        self._requires_grad = requires_grad
        return me

    @property
    def grad_fn(self) -> Node | None:
        """The node that computes the gradients of what this tensor was computed from; None for a leaf."""
        self._refresh()
        return self._node

    @property
    def is_leaf(self) -> bool:
        return self.grad_fn is None

    @property
    def output_nr(self) -> int:
        """Which output of `grad_fn` it is."""
        self._refresh()
        return self._index

    @property
    def edge(self) -> Edge:
        """Where this tensor's gradient goes; None if nobody wants one."""
        if self._view is not None:
            self._refresh()
        if not self._requires_grad:
            return None
        return (cast("Tensor", self), 0) if self._node is None else (self._node, self._index)

    @property
    def _version(self) -> int:
        """How often the memory was written to."""
        if self._storage.version < 0:
            raise AutogradError("an inference tensor does not count how often it was written to")
        return self._storage.version

    def is_inference(self) -> bool:
        """Whether it was made in `inference_mode()`: autograd cannot use it."""
        return self._storage.version < 0

    # -- its gradient

    @property
    def grad(self) -> Tensor | None:
        return self._grad

    @grad.setter
    def grad(self, value: Tensor | None) -> None:
        me = cast("Tensor", self)
        if value is not None:
            if not isinstance(value, AutogradMixin):
                raise TypeError(f"grad must be a tensor or None, not {type(value).__name__}")
            if (value.spec, value.device) != (me.spec, me.device):
                raise ShapeError(
                    f"grad must be like its tensor: {me.spec} on {me.device}, not {value.spec} on {value.device}"
                )
        if MODES.undo is not None:
            MODES.undo.append((setattr, self, "_grad", self._grad))
        self._grad = value

    def backward(
        self,
        gradient: Tensor | None = None,
        retain_graph: bool | None = None,
        create_graph: bool = False,
        inputs: Sequence[Tensor] | Tensor | None = None,
    ) -> None:
        """Adds the gradient of this tensor with respect to every leaf to the leaf's `.grad`.

        Args:
            gradient: where the pass starts; not needed for a single number
            retain_graph: keep what the graph has saved, for a further pass; by default as `create_graph`
            create_graph: record the pass itself, for gradients of gradients
            inputs: the only tensors whose `.grad` changes
        """
        graph.backward((self,), (gradient,), retain_graph, create_graph, inputs)

    def _unit_gradient(self) -> Tensor:
        """What a backward pass from a single number starts with."""
        me = cast("Tensor", self)
        if self._array.shape and me.numel() != 1:
            raise AutogradError(
                f"backward() of a {format_shape(me.shape)} tensor needs a gradient of that shape.",
                in_code="Reduce it first, for instance with .sum() or .mean(), or pass gradient=.",
            )
        return me._filled_alike(1)

    def retain_grad(self) -> None:
        """Keeps the gradient of a tensor that is no leaf in `.grad`."""
        if not self.requires_grad:
            raise AutogradError(
                "retain_grad() needs a tensor that requires gradients.", in_code="Call requires_grad_() first."
            )
        node, me = self._node, weakref.ref(self)
        if node is None or self.retains_grad:
            return

        def keep(gradient: Tensor) -> None:
            tensor = me()
            if tensor is not None:
                tensor._accumulate(gradient, copy=True)

        node.ensure_hooks().retained[self._index] = keep

    @property
    def retains_grad(self) -> bool:
        """Whether it is no leaf and keeps its gradient all the same."""
        node = self.grad_fn
        return node is not None and node.hooks is not None and self._index in node.hooks.retained

    def _accumulate(self, gradient: Tensor, *, copy: bool) -> None:
        """Adds to `.grad`. Without `copy`, a gradient that is no view of something else is kept as it is."""
        if MODES.undo is not None:
            MODES.undo.append((setattr, self, "_grad", self._grad))
        if self._grad is None:
            if not copy and gradient._owns_memory:
                self._grad = gradient
            else:
                self._grad = gradient.clone() if gradient._requires_grad else gradient._copied()
        elif gradient._requires_grad or self._grad._requires_grad:
            self._grad = self._grad + gradient
        else:
            self._grad.add_(gradient)

    @property
    def _owns_memory(self) -> bool:
        array = self._array
        return type(array) is MetaArray or (
            self._base is None and array.base is None and bool(array.flags.c_contiguous)
        )

    # -- hooks

    def register_hook(self, hook: Callable[[Tensor], Tensor | None]) -> RemovableHandle:
        """Calls ``hook(gradient)`` when the gradient is known; what it returns, if anything, takes its place."""
        if not self.requires_grad:
            raise AutogradError(
                "a hook needs a tensor that requires gradients.", in_code="Call requires_grad_() first."
            )
        if self._node is not None:
            return self._node.ensure_hooks().on_tensor(self._index, hook)
        return self._leaf_hooks().on_tensor(0, hook)

    def register_post_accumulate_grad_hook(self, hook: Callable[[Tensor], None]) -> RemovableHandle:
        """Calls ``hook(tensor)`` each time `.grad` of this leaf is complete, while the pass is still under way."""
        if not self.requires_grad:
            raise AutogradError(
                "a hook needs a tensor that requires gradients.", in_code="Call requires_grad_() first."
            )
        if self._node is not None:
            raise AutogradError("only leaves collect gradients: use register_hook() for a computed tensor")
        return RemovableHandle.add(self._leaf_hooks().accumulated, hook)

    def _leaf_hooks(self) -> Hooks:
        if self._hooks is None:
            self._hooks = Hooks()
        return self._hooks

    # -- views and aliases

    def _refresh(self) -> None:
        """Applies the view's ops again if the base got new history by an in-place write."""
        if self._view is not None:
            chain, seen = self._view
            base = cast("Tensor", self._base)
            if base._node is not seen:
                current: Any = base
                with enable_grad():
                    for op, statics in chain:
                        current = op(current, **statics)
                node, index = self._node, self._index
                self._node, self._index, self._requires_grad = current._node, current._index, current._requires_grad
                self._view = (chain, base._node)
                self._keep_retaining(node, index)

    def _keep_retaining(self, node: Node | None, index: int) -> None:
        """After a write gave new history, retain the gradient of what the tensor is now, no more of what it was."""
        if node is not None and node.hooks is not None and node is not self._node and self._node is not None:
            keep = node.hooks.retained.pop(index, None)
            if keep is not None:
                self._node.ensure_hooks().retained[self._index] = keep
