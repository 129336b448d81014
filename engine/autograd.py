"""Reverse-mode differentiation: graph nodes and the backward pass. Knows no array library.

Tensors are used through a few members only: `edge`, `_array.shape` and `.dtype`, `_storage.version`, `+`, and of
leaves `_hooks` and `_accumulate(gradient)`. The pass is iterative: a graph of any length neither recurses nor leaks.
"""

from __future__ import annotations

import heapq
import itertools
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

from engine import dtypes
from engine.errors import AutogradError
from engine.modes import set_grad_enabled
from engine.ops.record import GradientRule, Op
from engine.shape import Spec, format_shape

if TYPE_CHECKING:
    from engine.tensor import Tensor

_sequence = itertools.count()


Place: TypeAlias = tuple[str, int] | None
"""File name and line of the code that called an op; known while somebody looks."""

Edge: TypeAlias = "tuple[Node | Tensor, int] | None"
"""Where a gradient goes: an output of a node, or a leaf tensor."""


class Node:
    """One op call in the autograd graph: what it needs to turn output gradients into input gradients."""

    __slots__ = (
        "__weakref__",
        "edges",
        "hooks",
        "metas",
        "outputs",
        "plan",
        "released",
        "saved",
        "sequence",
        "statics",
        "where",
    )

    op: Op

    def __init__(
        self,
        edges: tuple[Edge, ...],
        metas: tuple[Any, ...],
        statics: dict[str, Any],
        plan: tuple[GradientRule, ...],
        saved: dict[int, tuple[Any, int]],
        outputs: tuple[tuple[Any, Any], ...],
        where: Place,
    ) -> None:
        self.sequence = next(_sequence)
        self.edges = edges
        self.metas = metas
        """(shape, array dtype) of each input; the number itself for a Python number."""
        self.statics = statics
        self.plan = plan
        self.saved = saved
        """Input index (−1 − k for output k) → tensor and its version when it was saved."""
        self.outputs = outputs
        """(shape, array dtype) of each output."""
        self.where = where
        self.hooks: list[tuple[int, Callable[[Any], Any], bool]] | None = None
        """(output index, function, whether it stays behind the others)."""
        self.released = False

    @property
    def name(self) -> str:
        raise NotImplementedError

    @property
    def next_functions(self) -> tuple[tuple[Any, int], ...]:
        return tuple(edge for edge in self.edges if edge is not None)

    def gradients(self, grads: list[Any], keep: bool) -> list[Any]:
        raise NotImplementedError

    def output_spec(self, index: int) -> Spec:
        shape, dtype = self.outputs[index]
        return Spec(tuple(shape), dtypes.from_numpy(dtype))

    def release(self) -> None:
        """Frees what was saved. A node that keeps nothing can run again, as in PyTorch."""
        self.released = self.released or bool(self.saved)
        self.saved = {}

    def check_usable(self) -> None:
        if self.released:
            raise AutogradError(
                f"backward through {self.name}{_place(self.where)} a second time: what it had saved was freed by the "
                "first backward. Pass retain_graph=True to the first one to keep it."
            )

    def unpack(self, index: int) -> Any:
        """The saved tensor, if nobody has written into it since."""
        tensor, version = self.saved[index]
        if tensor._storage.version != version:
            name = index if self.op.variadic else self.op.inputs[index]
            what = f"input {name}" if index >= 0 else "the result"
            raise AutogradError(
                f"{what} of {self.op.name}(){_place(self.where)}, {tensor.spec}, is needed for its gradient but was "
                f"changed in place afterwards (version {tensor._storage.version}, saved at {version}). "
                "Use the out-of-place op, or clone() before changing it."
            )
        return tensor

    def add_hook(self, index: int, hook: Callable[[Any], Any], *, last: bool = False) -> Handle:
        if self.hooks is None:
            self.hooks = []
        entry = (index, hook, last)
        place = len(self.hooks) if last else sum(not stays for _, _, stays in self.hooks)
        self.hooks.insert(place, entry)
        return Handle(self.hooks, entry)

    def __repr__(self) -> str:
        return f"<{self.name}>"


class OpNode(Node):
    """A node whose gradient is the op record's."""

    __slots__ = ("op",)

    def __init__(self, op: Op, *rest: Any) -> None:
        super().__init__(*rest)
        self.op = op

    @property
    def name(self) -> str:
        return f"{self.op.name}_backward"

    def gradients(self, grads: list[Any], keep: bool) -> list[Any]:
        """Gradients of the inputs, None where nobody asked."""
        self.check_usable()
        result: list[Any] = [None] * len(self.edges)
        g = grads[0] if self.op.outputs == 1 else tuple(grads)
        for rule in self.plan:
            found = rule.function(g, **self._arguments(rule))
            found = found if isinstance(found, (tuple, list)) else (found,)
            for index, gradient in zip(self._covered(rule), found, strict=True):
                if self.edges[index] is not None and gradient is not None:
                    result[index] = _fit(gradient, *self.metas[index])
        if not keep:
            self.release()
        return result

    def _covered(self, rule: GradientRule) -> Sequence[int]:
        return range(len(self.edges)) if self.op.variadic else rule.covers

    def _arguments(self, rule: GradientRule) -> dict[str, Any]:
        statics = self.statics
        arguments: dict[str, Any] = {name: statics[name] for name in rule.statics}
        if self.op.variadic:
            arguments |= {name: [self._spec(i) for i in range(len(self.edges))] for name, _ in rule.specs}
            arguments |= {name: self._variadic() for name, _ in rule.inputs}
        else:
            for name, index in rule.specs:
                arguments[name] = self._spec(index)
            for name, index in rule.inputs:
                arguments[name] = self.unpack(index) if index in self.saved else self.metas[index]
        for name, index in rule.outs:
            out = self.unpack(-1 - index)
            arguments[name] = out._with_history(self, index) if out.is_floating_point() else out
        return arguments

    def _variadic(self) -> list[Any]:
        first = self.op.keeps_from
        return [self._spec(i) if i < first else self.unpack(i) for i in range(len(self.edges))]

    def _spec(self, index: int) -> Any:
        meta = self.metas[index]
        return Spec(tuple(meta[0]), dtypes.from_numpy(meta[1])) if isinstance(meta, tuple) else meta


def _fit(gradient: Any, shape: Any, dtype: Any) -> Any:
    """Sums what broadcasting repeated, and returns to the input's dtype."""
    array = gradient._array
    if array.shape != shape:
        gradient = gradient.sum_to_size(shape)
    return gradient if array.dtype is dtype or array.dtype == dtype else gradient.to(dtypes.from_numpy(dtype))


class Handle:
    """Removes a hook."""

    def __init__(self, hooks: list[Any], entry: Any) -> None:
        self._hooks, self._entry = hooks, entry

    def remove(self) -> None:
        if self._entry in self._hooks:
            self._hooks.remove(self._entry)


# -- the backward pass ------------------------------------------------------------------------


class _Pending:
    """Gradients that wait for their node or leaf. Nodes come out latest first, which is a topological order."""

    def __init__(self) -> None:
        self.at: dict[int, tuple[Any, list[Any]]] = {}
        self._heap: list[tuple[int, int]] = []
        self.leaves: dict[int, tuple[Any, Any]] = {}

    def add(self, edge: tuple[Any, int], gradient: Any) -> None:
        target, index = edge
        key = id(target)
        if not isinstance(target, Node):
            known = self.leaves.get(key)
            self.leaves[key] = (target, gradient if known is None else known[1] + gradient)
            return
        if key not in self.at:
            self.at[key] = (target, [None] * len(target.outputs))
            heapq.heappush(self._heap, (-target.sequence, key))
        grads = self.at[key][1]
        grads[index] = gradient if grads[index] is None else grads[index] + gradient

    def pop(self) -> tuple[Node, list[Any]] | None:
        return self.at.pop(heapq.heappop(self._heap)[1]) if self._heap else None


def run_backward(
    roots: Sequence[tuple[Edge, Any]],
    *,
    retain_graph: bool,
    create_graph: bool,
    inputs: Sequence[tuple[Any, int]] | None = None,
    observer: Callable[[Node, list[Any]], None] | None = None,
) -> list[Any]:
    """Sends gradients from the roots down. With `inputs`, returns their gradients and changes no `.grad`.

    Args:
        roots: edges to start from, each with its gradient
        inputs: edges whose gradients are wanted; nothing that does not lead to them is run
        observer: told of each node and the gradients that reach it
    """
    pending = _Pending()
    wanted = None if inputs is None else {(id(target), index) for target, index in inputs}
    useful = (
        None
        if inputs is None
        else _leading_to([edge for edge, _ in roots if edge], {id(target) for target, _ in inputs})
    )
    captured: dict[tuple[int, int], Any] = {}
    # Ids of arrays that somebody else may hold or write to: no leaf may take one for its own.
    shared = {id(gradient._array) for _, gradient in roots}
    with set_grad_enabled(create_graph):
        for edge, gradient in roots:
            if edge is not None:
                pending.add(edge, gradient)
        while (entry := pending.pop()) is not None:
            node, grads = entry
            if node.hooks:
                _run_hooks(node, grads)
                shared.update(id(gradient._array) for gradient in grads if gradient is not None)
            if observer is not None:
                observer(node, grads)
            if wanted:
                captured |= {(id(node), i): gradient for i, gradient in enumerate(grads) if (id(node), i) in wanted}
            if useful is not None and not any(edge and id(edge[0]) in useful for edge in node.edges):
                continue
            for edge, gradient in zip(node.edges, node.gradients(grads, retain_graph), strict=True):
                if edge is not None and gradient is not None and (useful is None or id(edge[0]) in useful):
                    pending.add(edge, gradient)
        for key, (leaf, gradient) in pending.leaves.items():
            if leaf._hooks:
                for hook in tuple(leaf._hooks):
                    gradient = _hooked(hook, gradient)
                shared.add(id(gradient._array))
            if wanted is None:
                leaf._accumulate(gradient, copy=id(gradient._array) in shared)
                shared.add(id(gradient._array))
            else:
                captured[key, 0] = gradient
    return [captured.get((id(target), index)) for target, index in inputs or ()]


def _run_hooks(node: Node, grads: list[Any]) -> None:
    for index, hook, _ in tuple(node.hooks or ()):  # a hook may remove itself
        if grads[index] is not None:
            grads[index] = _hooked(hook, grads[index])


def _hooked(hook: Callable[[Any], Any], gradient: Any) -> Any:
    """What `hook` makes of the gradient."""
    found = hook(gradient)
    if found is None:
        return gradient
    if getattr(found, "shape", None) != gradient.shape:
        given = f"{type(found).__name__} of {format_shape(getattr(found, 'shape', ()))}"
        raise AutogradError(
            f"a gradient hook must return None or a tensor of the gradient's shape {format_shape(gradient.shape)}, "
            f"not a {given}"
        )
    return found


def reachable(roots: Sequence[tuple[Any, int]]) -> list[Node]:
    """All nodes below `roots`, earliest first."""
    seen: dict[int, Node] = {}
    stack = [target for target, _ in roots]
    while stack:
        node = stack.pop()
        if isinstance(node, Node) and id(node) not in seen:
            seen[id(node)] = node
            stack.extend(edge[0] for edge in node.edges if edge is not None)
    return sorted(seen.values(), key=lambda node: node.sequence)


def _leading_to(roots: Sequence[tuple[Any, int]], targets: set[int]) -> set[int]:
    """Ids of the nodes and leaves from which a target can be reached, targets included."""
    useful = set(targets)
    for node in reachable(roots):
        if any(edge is not None and id(edge[0]) in useful for edge in node.edges):
            useful.add(id(node))
    return useful


def _place(where: Place) -> str:
    return f" ({where[0]}:{where[1]})" if where else ""
