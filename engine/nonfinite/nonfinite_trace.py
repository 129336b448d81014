"""A trace of the ops that produce NaN or infinity, in the forward and the backward pass."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from types import FrameType, TracebackType
from typing import Any

from engine.graph import Edge, Node
from engine.modes import MODES
from engine.nonfinite.finite_check import ValueRange, explain_result, has_nan, is_finite, unobserved, value_range
from engine.observe import call_site
from engine.ops.record import Op
from engine.tensors import Tensor

Locate = Callable[[FrameType | None], Any]
"""Returns what the caller knows about a call from its stack, such as a layer; None for nothing."""
_NOWHERE = ("<engine>", 0)


class CallSite(tuple[str, int]):  # noqa: SLOT001 - a tuple cannot have slots
    """File and line of a call, with what `Locate` found."""

    context: Any

    @classmethod
    def of(cls, where: tuple[str, int] | None, context: Any) -> CallSite:
        site = cls(where or _NOWHERE)
        site.context = context
        return site


@dataclass(slots=True)
class TracedCall:
    """An op call whose result is not finite."""

    index: int
    """Position in the order of all calls."""
    op: str
    site: CallSite | None
    """For a gradient: where the op was called in the forward pass."""
    node: Node | None
    """For a gradient: the autograd node that computes it."""
    has_nan: bool
    causes: tuple[TracedCall | Tensor, ...] = ()
    """What made the inputs that explain the result; a tensor if no traced call made it."""
    is_source: bool = True
    is_constant: bool = False
    makes_nan: bool = False
    inputs: tuple[ValueRange, ...] = ()
    """For a call where NaN or infinity arises: its tensors."""
    elements: tuple[float, ...] = ()
    """For an elementwise op: its operands at the first element that is not finite, and the result."""


@dataclass(slots=True)
class NonfiniteTrace:
    """Context manager that traces ops whose results are not finite. Slow: it reads the result of each op.

    Args:
        locate: returns the context of a call from its stack
    """

    locate: Locate = lambda frame: None
    calls: list[TracedCall] = field(default_factory=list)
    _count: int = 0
    _made: dict[int, tuple[Tensor, TracedCall]] = field(default_factory=dict)
    _stored: dict[int, tuple[Any, TracedCall]] = field(default_factory=dict)
    """Id of a storage → the storage, and the last call that wrote NaN or infinity to it."""
    _visited: list[tuple[Node, tuple[TracedCall, ...]]] = field(default_factory=list)
    """Nodes of the backward pass in its order, with what made their gradients that are not finite."""
    _outer: list[Any] = field(default_factory=list)

    def __enter__(self) -> NonfiniteTrace:
        self._outer.append(MODES.observer)
        MODES.observer = self
        return self

    def __exit__(self, kind: object, error: object, trace: TracebackType | None) -> None:
        MODES.observer = self._outer.pop()

    # -- called by the engine

    def call(self, op: Op, inputs: Sequence[Any], statics: dict[str, Any], outs: Sequence[Any]) -> CallSite:
        """Trace an op call. Returns its location, which the autograd node keeps."""
        self._count += 1
        running = None if MODES.backward_pass is None else MODES.backward_pass.node
        context = self.locate(sys._getframe(1))
        if running is not None and context is None and isinstance(running.where, CallSite):
            site = running.where
        else:
            site = CallSite.of(call_site(), context)
        if not all(is_finite(out) for out in outs):
            is_backward = running is not None and not MODES.recomputation
            self._trace(op, inputs, statics, outs, site, running if is_backward else None)
        return site

    def location(self) -> CallSite:
        """Location of an autograd node that no op makes."""
        return CallSite.of(call_site(), self.locate(sys._getframe(1)))

    def recorded(self, node: Node, inputs: Sequence[Any]) -> None:
        """Part of the interface of observers; calls are traced by `call`."""

    def cut(self, edge: Edge, alias: Any, kind: str) -> None:
        """Part of the interface of observers; the values of tensors without history are the same."""

    def gradient(self, node: Node | Tensor, grads: Sequence[Any]) -> None:
        """Trace the gradients that reach an autograd node."""
        if not isinstance(node, Node):
            return
        wrong = [gradient for gradient in grads if gradient is not None and not is_finite(gradient)]
        made = tuple(self.producer(gradient) or self._returned_to(node, gradient) for gradient in wrong)
        self._visited.append((node, made))

    # -- for the search of the origin

    def producer(self, tensor: Tensor) -> TracedCall | None:
        """The traced call that made a tensor or wrote to its memory; None if there is none."""
        made = self._made.get(id(tensor)) or self._stored.get(id(tensor._storage))
        return None if made is None else made[1]

    def producer_of_gradient(self, leaf: Tensor) -> TracedCall | None:
        """The traced call that made the gradient of a leaf; None if it is finite."""
        if leaf.grad is None or is_finite(leaf.grad):
            return None
        found = self.producer(leaf.grad)
        if found is None:  # the leaf has a copy
            shape = tuple(leaf.shape)
            sent = [each for each in self.calls if each.node is not None and leads_to(each.node, leaf)]
            found = sent[-1] if sent else None
            matching = [each for each in sent if each.inputs and each.inputs[0].shape == shape]
            found = matching[-1] if matching else found
        return found or self._returned_to(leaf, leaf.grad)

    def gradients_of(self, node: Node) -> tuple[TracedCall, ...]:
        """What made the gradients of a node that are not finite."""
        return next((made for visited, made in reversed(self._visited) if visited is node), ())

    # -- implementation

    def _trace(
        self,
        op: Op,
        inputs: Sequence[Any],
        statics: dict[str, Any],
        outs: Sequence[Any],
        site: CallSite,
        node: Node | None,
    ) -> None:
        before = self.producer(outs[0])  # in-place calls write to memory that an earlier call made
        wrong = [
            index
            for index, value in enumerate(inputs)
            if not is_finite(value) and (before is not None or op.view or value._storage is not outs[0]._storage)
        ]
        found = explain_result(op, inputs, statics, outs, wrong)
        causes: list[TracedCall | Tensor] = []
        for index in found.causes:
            made = self.producer(inputs[index])
            if made is None and before is not None and index == 0:
                made = before
            causes.append(made or inputs[index])
        traced = TracedCall(self._count, op.name, site, node, any(map(has_nan, outs)), tuple(causes))
        traced.is_source, traced.is_constant, traced.makes_nan = found.is_source, found.is_constant, found.makes_nan
        if found.is_source or found.makes_nan:
            with unobserved():
                tensors = [value for value in inputs if isinstance(value, Tensor) and value.dtype.is_floating_point]
                traced.inputs = tuple(value_range(value) for value in tensors)
                traced.elements = _elements(op, inputs, outs)
        self._keep(traced, outs)

    def _keep(self, traced: TracedCall, outs: Sequence[Any]) -> None:
        self.calls.append(traced)
        for out in outs:
            if not is_finite(out):
                self._made[id(out)] = (out, traced)
                self._stored[id(out._storage)] = (out._storage, traced)

    def _returned_to(self, target: Node | Tensor, gradient: Tensor) -> TracedCall:
        """A gradient that no op made, as one that a custom Function returns: a call of its node."""
        sender = next((visited for visited in reversed(self._visited) if leads_to(visited[0], target)), None)
        node, causes = (None, ()) if sender is None else sender
        site = node.where if node is not None and isinstance(node.where, CallSite) else None
        label = "backward" if node is None else node.label
        self._count += 1
        made = TracedCall(self._count, label, site, node, has_nan(gradient), causes, is_source=not causes)
        self._keep(made, [gradient])
        return made


def leads_to(node: Node, target: Node | Tensor) -> bool:
    """Whether a node sends a gradient to another node or a leaf."""
    return any(edge is not None and edge[0] is target for edge in node.edges)


def _elements(op: Op, inputs: Sequence[Any], outs: Sequence[Any]) -> tuple[float, ...]:
    """Operands and result of an elementwise op at the first element that is not finite."""
    if op.kind != "elementwise" or len(outs) != 1 or any(value is outs[0] for value in inputs):
        return ()
    wrong = outs[0].detach().cpu().isfinite().numpy().reshape(-1)
    position = int(wrong.argmin())
    shape = outs[0].shape
    return tuple(
        float(value.detach().cpu().double().expand(shape).reshape(-1)[position].item())
        if isinstance(value, Tensor)
        else float(value)
        for value in (*inputs, outs[0])
    )


__all__ = ["CallSite", "Locate", "NonfiniteTrace", "TracedCall", "leads_to"]
