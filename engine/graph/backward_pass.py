"""The backward pass: propagates gradients from roots to leaves.

Nodes run in order of decreasing sequence number. This is a topological order, so each node runs once, with its full
gradient. Gradients of leaves are delivered at the end, unless a leaf has hooks or its `.grad` is accumulated into. For
these leaves the remaining edges are counted, and a leaf receives its gradient when the last of its edges has been
processed.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from heapq import heappop, heappush
from typing import Any

from engine.errors import AutogradError, locate_error
from engine.graph.anomaly_report import check_finite, explain
from engine.graph.node import Edge, Node
from engine.graph.traversal import leading_to, leaf_edges, reachable
from engine.modes import MODES
from engine.system.reference_counts import owns_gradient

Observer = Callable[[Any, list[Any]], None]
"""Called with each node or leaf and the gradients that reach it."""


def run_backward(
    roots: Sequence[tuple[Edge, Any]],
    *,
    retain_graph: bool,
    create_graph: bool,
    inputs: Sequence[tuple[Any, int]] | None = None,
    accumulate: bool = True,
    observer: Observer | None = None,
) -> list[Any]:
    """Run a backward pass. Returns the gradients of `inputs`.

    Args:
        roots: edges to start from, each with its gradient
        inputs: edges whose gradients are returned; only nodes that lead to them run
        accumulate: add to `.grad` of the leaves; with `inputs`, only of the leaves among them
    """
    modes = MODES
    outer, outer_pass = modes.grad, modes.backward_pass
    backward_pass = None
    try:
        modes.grad = create_graph
        task = None
        if inputs is not None or observer is not None or modes.check_nan is not None:
            task = _GraphTask([edge for edge, _ in roots if edge is not None], inputs, observer, modes.check_nan)
        modes.backward_pass = backward_pass = _BackwardPass(roots, retain_graph, accumulate, task)
        backward_pass.send([edge for edge, _ in roots], [gradient for _, gradient in roots])
        backward_pass.run()
        for key in tuple(backward_pass.leaves):
            backward_pass.deliver(key)
    finally:
        modes.grad, modes.backward_pass = outer, outer_pass
        if backward_pass is not None:
            for finish in backward_pass.at_end:
                finish()
    return [task.captured.get((id(target), index)) for target, index in inputs or ()] if task is not None else []


class _GraphTask:
    """Targets of a backward pass: the gradients to return and the nodes that lead to them."""

    __slots__ = ("captured", "check_nan", "observer", "target_indices", "useful")

    def __init__(
        self,
        roots: list[tuple[Any, int]],
        inputs: Sequence[tuple[Any, int]] | None,
        observer: Observer | None,
        check_nan: bool | None,
    ) -> None:
        self.captured: dict[tuple[int, int], Any] = {}
        self.observer = observer
        self.check_nan = check_nan
        self.target_indices: dict[int, list[int]] = {}
        """Id of a node or leaf → output indices whose gradients are returned."""
        for target, index in inputs or ():
            self.target_indices.setdefault(id(target), []).append(index)
        self.useful = None if inputs is None else leading_to(roots, set(self.target_indices))

    def visit(self, node: Node, grads: list[Any]) -> bool:
        """Return whether the node must run."""
        if self.observer is not None:
            self.observer(node, grads)
        indices = self.target_indices.get(id(node))
        if indices is None or self.useful is None:
            return True
        for index in indices:
            self.captured[id(node), index] = grads[index]
        return any(edge is not None and id(edge[0]) in self.useful for edge in node.edges)


class _BackwardPass:
    """State of a running backward pass: gradients waiting for their node or leaf."""

    __slots__ = (
        "_reachable_ids", "accumulate", "at_end", "heap", "keep", "leaves", "node", "pending", "remaining", "roots",
        "task",
    )  # fmt: skip

    def __init__(
        self, roots: Sequence[tuple[Edge, Any]], keep: bool, accumulate: bool, task: _GraphTask | None
    ) -> None:
        self.roots = [edge for edge, _ in roots]
        self.keep, self.accumulate, self.task = keep, accumulate, task
        self.at_end: list[Callable[[], Any]] = []
        """Callbacks at the end of the pass, also after an error."""
        self._reachable_ids: set[int] | None = None
        self.node: Node | None = None
        """The running node."""
        self.pending: dict[Node, list[Any]] = {}
        self.heap: list[tuple[int, Node]] = []
        self.leaves: dict[int, list[Any]] = {}
        """Id → [leaf, gradient so far]."""
        self.remaining: Counter[int] | None = None
        """Id of a leaf → number of edges that may still contribute; counted only if needed."""

    def run(self) -> None:
        heap, pending, task, keep = self.heap, self.pending, self.task, self.keep
        useful = None if task is None else task.useful
        while heap:
            self.node = node = heappop(heap)[1]
            grads = pending.pop(node)
            hooks = node.hooks
            if hooks is not None:
                hooks.run_on_tensors(grads)
            if task is not None and not task.visit(node, grads):
                continue
            if hooks is not None:
                grads = hooks.run_before(grads)
            try:
                results = node.gradients(grads, keep, useful)
            except Exception as error:
                if not isinstance(error, AutogradError):
                    error.add_note(f"in {explain(node)}")
                locate_error(error, node.where)
                raise
            if hooks is not None:
                results = hooks.run_after(results, grads)
            if task is not None and task.check_nan:
                check_finite(node, results)
            grads = None  # free the gradients before the next node runs
            deliver_early = self.send(node.edges, results)
            results = None
            if deliver_early and heap:  # otherwise the pass is over, and all leaves receive their gradients
                self._deliver_complete(node)

    def send(self, edges: Sequence[Edge], grads: Sequence[Any]) -> bool:
        """Add each gradient to the sum at its edge. Returns whether a leaf must receive its gradient before the end."""
        pending, leaves = self.pending, self.leaves
        useful = None if self.task is None else self.task.useful
        deliver_early = self.remaining is not None
        for edge, gradient in zip(edges, grads):  # noqa: B905 - strict takes a tenth of a microsecond
            if gradient is None or edge is None:
                continue
            target, index = edge
            if useful is not None and id(target) not in useful:
                continue
            if isinstance(target, Node):
                sums = pending.get(target)
                if sums is None:
                    sums = pending[target] = [None] * len(target.outputs)
                    heappush(self.heap, (-target.sequence, target))
                sums[index] = gradient if sums[index] is None else sums[index] + gradient
                continue
            entry = leaves.get(id(target))
            if entry is None:
                leaves[id(target)] = [target, gradient]
                deliver_early = deliver_early or target._hooks is not None or target._grad is not None
            else:
                entry[1] = entry[1] + gradient
        return deliver_early

    def _deliver_complete(self, node: Node) -> None:
        """Deliver the gradients of leaves that are complete after `node` has run."""
        if self.remaining is None:
            self.remaining = leaf_edges(node for _, node in self.heap)
            ready = list(self.leaves)
        else:
            ready = [id(edge[0]) for edge in node.edges if edge is not None and not isinstance(edge[0], Node)]
            self.remaining.subtract(ready)
        for key in ready:
            if self.remaining[key] <= 0 and key in self.leaves:
                self.deliver(key)

    def deliver(self, key: int) -> None:
        """Pass the gradient to a leaf."""
        entry = self.leaves.pop(key)
        leaf, hooks = entry[0], entry[0]._hooks
        if hooks is not None:
            grads = [entry.pop()]
            hooks.run_on_tensors(grads)
            entry.append((hooks.run_before(grads) if self.accumulate else grads).pop())
            grads = None
        if self.task is not None:
            if self.task.observer is not None:
                self.task.observer(leaf, [entry[1]])
            if key in self.task.target_indices:
                self.task.captured[key, 0] = entry[1]
        if not self.accumulate:
            return
        owned = owns_gradient(entry)  # checked first: as a call argument the gradient would have one more reference
        leaf._accumulate(entry[1], copy=not owned)
        if hooks is not None:
            for hook in tuple(hooks.accumulated.values()):
                hook(leaf)
            hooks.run_after([], entry[1:])

    @property
    def accumulates_all_leaves(self) -> bool:
        """Whether the pass adds to `.grad` of all leaves."""
        return self.accumulate and (self.task is None or self.task.useful is None)

    def computes_gradient(self, edge: Edge) -> bool:
        """Return whether the pass computes the gradient of `edge`."""
        if self._reachable_ids is None:
            roots = [root for root in self.roots if root is not None]
            nodes = reachable(roots)
            ids = {id(root[0]) for root in roots} | {id(node) for node in nodes}
            self._reachable_ids = ids | {id(edge[0]) for node in nodes for edge in node.edges if edge is not None}
            if self.task is not None and self.task.useful is not None:
                self._reachable_ids &= self.task.useful
        return edge is not None and id(edge[0]) in self._reachable_ids


__all__ = ["Observer", "run_backward"]
