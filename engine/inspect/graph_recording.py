"""Recording of what autograd graphs do not keep: source lines, modules, gradient norms and cuts of the history."""

from __future__ import annotations

import math
import weakref
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from types import TracebackType
from typing import Any, Protocol

from engine.graph import Edge, Node, SourceLocation
from engine.modes import MODES
from engine.observe import Call, Observer, call_site, norm_of
from engine.ops.record import Op
from engine.shape import Spec
from engine.tensors import Tensor


class Model(Protocol):
    """Members used of a module."""

    def named_modules(self) -> Iterator[tuple[str, Any]]: ...


@dataclass(frozen=True, slots=True)
class Cut:
    """A tensor that lost its history."""

    kind: str
    op: str
    spec: Spec
    where: SourceLocation
    upstream: tuple[tuple[int, str], ...]
    """Key and PyTorch's name of each node that would receive a gradient."""


class GraphRecording:
    """Context manager that records source lines of autograd nodes, cuts, and gradient norms in backward passes.

    Of nested recordings only the innermost records.
    """

    def __init__(self, model: Model | None = None) -> None:
        self.gradient_norms: dict[int, float] = {}
        """Key of a node or leaf → norm of the gradients that reached it."""
        self.modules: dict[int, str] = {}
        """Sequence number of a node → path of the module whose forward called the op."""
        self.cuts: dict[int, list[tuple[int, Cut]]] = {}
        """Sequence number of a node → inputs that lost their history."""
        self._calls = Observer()
        self._model = model
        self._stack: list[str] = []
        self._handles: list[Any] = []
        self._without_history: dict[int, tuple[weakref.ref[Any], tuple[Cut, ...]]] = {}
        """Id of a tensor → the cuts that it derives from."""
        self._outer: list[Any] = []

    @property
    def calls(self) -> list[Call]:
        """Op calls of forward and backward passes."""
        return self._calls.calls

    def __enter__(self) -> GraphRecording:
        self._outer.append(MODES.observer)
        MODES.observer = self
        if self._model is not None and not self._handles:
            for path, module in self._model.named_modules():
                self._follow(path, module)
        return self

    def __exit__(self, kind: object, error: object, trace: TracebackType | None) -> None:
        MODES.observer = self._outer.pop()
        if not self._outer:
            for handle in self._handles:
                handle.remove()
            self._handles.clear()
            self._stack.clear()

    def cuts_of(self, tensor: Tensor) -> tuple[Cut, ...]:
        """The cuts that a tensor without history derives from."""
        found = self._without_history.get(id(tensor))
        return () if found is None or found[0]() is not tensor else found[1]

    # -- interface of observers

    def call(self, op: Op, inputs: Sequence[Any], statics: dict[str, Any], outs: Sequence[Any]) -> SourceLocation:
        where = self._calls.call(op, inputs, statics, outs)
        if MODES.backward_pass is None:
            self._follow_history(op, inputs, outs, where)
        return where

    def location(self) -> SourceLocation:
        return call_site()

    def gradient(self, target: Any, grads: Sequence[Any]) -> None:
        norms = [norm for gradient in grads if (norm := norm_of(gradient)) is not None]
        if norms:
            # math.hypot and not a sum, since one gradient keeps its exact norm.
            self.gradient_norms[key_of(target)] = math.hypot(*norms)

    def recorded(self, node: Node, inputs: Sequence[Any]) -> None:
        if self._stack:
            self.modules[node.sequence] = self._stack[-1]
        for index, (value, edge) in enumerate(zip(inputs, node.edges, strict=False)):
            if edge is None and isinstance(value, Tensor):
                for cut in self.cuts_of(value):
                    self.cuts.setdefault(node.sequence, []).append((index, cut))

    def cut(self, edge: Edge, alias: Any, kind: str) -> None:
        if edge is not None and MODES.backward_pass is None:
            self._remember(alias, (Cut(kind, kind, alias.spec, call_site(), (_upstream(edge),)),))

    # -- histories that end

    def _follow_history(self, op: Op, inputs: Sequence[Any], outs: Sequence[Any], where: SourceLocation) -> None:
        tensors = [value for value in inputs if isinstance(value, Tensor)]
        edges = [edge for value in tensors if (edge := value.edge) is not None]
        is_tracked = bool(MODES.grad and op.rules and edges)
        known = dict.fromkeys(cut for value in tensors for cut in self.cuts_of(value))
        for out in outs:
            if is_tracked and out.is_floating_point():
                continue
            if out._requires_grad:
                continue  # a parameter that is written in no_grad()
            cuts = tuple(known)
            if edges and not (MODES.grad is False and known):  # deeper in no_grad(), the history has ended before
                cuts += (Cut(_kind(op, is_tracked), op.name, edges_spec(tensors), where, tuple(map(_upstream, edges))),)
            if cuts:
                self._remember(out, cuts)

    def _remember(self, tensor: Any, cuts: tuple[Cut, ...]) -> None:
        key, known = id(tensor), self._without_history

        def forget(_: object) -> None:
            known.pop(key, None)

        known[key] = (weakref.ref(tensor, forget), cuts)

    def _follow(self, path: str, module: Any) -> None:
        def enter(*_: Any) -> None:
            self._stack.append(path)

        def leave(*_: Any) -> None:
            self._stack.pop()

        self._handles.append(module.register_forward_pre_hook(enter))
        self._handles.append(module.register_forward_hook(leave, always_call=True))


def key_of(target: Any) -> int:
    """Key of a node: its sequence number; of a leaf: negative, from its id."""
    return target.sequence if isinstance(target, Node) else -1 - id(target)


def edges_spec(tensors: Sequence[Tensor]) -> Spec:
    """Spec of the first tensor that has a history."""
    return next(value.spec for value in tensors if value.edge is not None)


def _upstream(edge: Any) -> tuple[int, str]:
    target = edge[0]
    return key_of(target), target.name() if isinstance(target, Node) else "AccumulateGrad"


def _kind(op: Op, is_tracked: bool) -> str:
    if is_tracked or not op.rules:
        return "not differentiable"
    if MODES.inference:
        return "inference_mode"
    return "not differentiable" if MODES.grad else "no_grad"


__all__ = ["Cut", "GraphRecording", "Model", "key_of"]
