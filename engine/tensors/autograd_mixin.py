"""Autograd state of a tensor: requires_grad, grad_fn, grad, hooks and views."""

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
    """Base of Tensor: attributes and methods for autograd."""

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

    # -- position in the autograd graph

    @property
    def requires_grad(self) -> bool:
        self._refresh()
        return self._requires_grad

    @requires_grad.setter
    def requires_grad(self, value: bool) -> None:
        self.requires_grad_(value)

    def requires_grad_(self, requires_grad: bool = True) -> Tensor:
        """Set whether autograd records ops on this tensor. In place; returns the tensor."""
        me = cast("Tensor", self)
        if requires_grad and not me.is_floating_point():
            raise AutogradError(f"only floating-point tensors can require gradients; this one is {me.dtype.name}")
        if not self.is_leaf and not requires_grad:
            raise AutogradError(
                "requires_grad can only be turned off on leaves.", in_code="Use detach() for a tensor without history."
            )
        if requires_grad and self._storage.version < 0 and not MODES.inference:
            raise AutogradError(
                "an inference tensor cannot require gradients outside inference_mode().",
                in_code="Use clone() for a normal tensor.",
            )
        self._requires_grad = requires_grad
        return me

    @property
    def grad_fn(self) -> Node | None:
        """Autograd node that computed this tensor; None for a leaf."""
        self._refresh()
        return self._node

    @property
    def is_leaf(self) -> bool:
        return self.grad_fn is None

    @property
    def output_nr(self) -> int:
        """Index of this tensor among the outputs of `grad_fn`."""
        self._refresh()
        return self._index

    @property
    def edge(self) -> Edge:
        """Node and input index that receive this tensor's gradient; None if it needs no gradient."""
        if self._view is not None:
            self._refresh()
        if not self._requires_grad:
            return None
        return (cast("Tensor", self), 0) if self._node is None else (self._node, self._index)

    @property
    def _version(self) -> int:
        """Number of in-place writes to the tensor's memory."""
        if self._storage.version < 0:
            raise AutogradError("an inference tensor has no version counter")
        return self._storage.version

    def is_inference(self) -> bool:
        """Return whether the tensor was created in `inference_mode()`. Autograd cannot use such tensors."""
        return self._storage.version < 0

    # -- gradient

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
                    f"grad must match its tensor, {me.spec} on {me.device}, but is {value.spec} on {value.device}"
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
        """Compute the gradients of this tensor with respect to the leaves and add them to their `.grad`.

        Args:
            gradient: gradient of this tensor, in its shape; not needed for a tensor with one element
            retain_graph: keep saved tensors for another backward pass; default: `create_graph`
            create_graph: record the backward pass, for higher-order gradients
            inputs: accumulate only into these tensors; default: all leaves
        """
        graph.backward((self,), (gradient,), retain_graph, create_graph, inputs)

    def _unit_gradient(self) -> Tensor:
        """Return the gradient that backward() starts with when none is passed: 1."""
        me = cast("Tensor", self)
        if self._array.shape and me.numel() != 1:
            raise AutogradError(
                f"backward() of a {format_shape(me.shape)} tensor needs a gradient of that shape.",
                in_code="Reduce it first, for instance with .sum() or .mean(), or pass gradient=.",
            )
        return me._filled_alike(1)

    def retain_grad(self) -> None:
        """Keep the gradient of a non-leaf tensor in `.grad`. Has no effect on a leaf."""
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
        """Whether the tensor is a non-leaf that keeps its gradient in `.grad`."""
        node = self.grad_fn
        return node is not None and node.hooks is not None and self._index in node.hooks.retained

    def _accumulate(self, gradient: Tensor, *, copy: bool) -> None:
        """Add to `.grad`. Without `copy`, a first gradient that is not a view is stored without copying."""
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
        """Call ``hook(gradient)`` when the gradient is computed. A tensor that it returns replaces the gradient."""
        if not self.requires_grad:
            raise AutogradError(
                "a hook needs a tensor that requires gradients.", in_code="Call requires_grad_() first."
            )
        if self._node is not None:
            return self._node.ensure_hooks().on_tensor(self._index, hook)
        return self._leaf_hooks().on_tensor(0, hook)

    def register_post_accumulate_grad_hook(self, hook: Callable[[Tensor], None]) -> RemovableHandle:
        """Call ``hook(tensor)`` after a backward pass has accumulated `.grad` of this leaf."""
        if not self.requires_grad:
            raise AutogradError(
                "a hook needs a tensor that requires gradients.", in_code="Call requires_grad_() first."
            )
        if self._node is not None:
            raise AutogradError("only leaves accumulate gradients: use register_hook() for a non-leaf tensor")
        return RemovableHandle.add(self._leaf_hooks().accumulated, hook)

    def _leaf_hooks(self) -> Hooks:
        if self._hooks is None:
            self._hooks = Hooks()
        return self._hooks

    # -- views and aliases

    def _refresh(self) -> None:
        """Reapply the ops of the view if an in-place write gave the base a new grad_fn."""
        if self._view is not None:
            chain, base_node = self._view
            base = cast("Tensor", self._base)
            if base._node is not base_node:
                current: Any = base
                with enable_grad():
                    for op, statics in chain:
                        current = op(current, **statics)
                node, index = self._node, self._index
                self._node, self._index, self._requires_grad = current._node, current._index, current._requires_grad
                self._view = (chain, base._node)
                self._transfer_retained_grad(node, index)

    def _transfer_retained_grad(self, node: Node | None, index: int) -> None:
        """After an in-place write changed grad_fn, retain the gradient of the new value instead of the old one."""
        if node is not None and node.hooks is not None and node is not self._node and self._node is not None:
            keep = node.hooks.retained.pop(index, None)
            if keep is not None:
                self._node.ensure_hooks().retained[self._index] = keep
