"""Reduces a failing project by delta debugging: fewest nodes, then fewest samples, then no weights file.

Source: Zeller and Hildebrandt, Simplifying and isolating failure-inducing input, IEEE TSE 2002.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias, TypeVar

from studio.lowering.analysis.node_graph import NodeGraph
from studio.training.reproduction.failing_step import ReproductionError
from studio.training.reproduction.failure_sign import FailureSign
from studio.training.reproduction.partial_graph import GraphCutter, NotSeparableError, PartialProject

T = TypeVar("T")
Stage: TypeAlias = Literal["nodes", "samples", "weights"]

MAX_TRIES = 200
"""Projects that are tried by default."""


@dataclass(frozen=True, slots=True)
class Reducing:
    """A smaller project was tried."""

    stage: Stage
    tries: int
    nodes: int
    """Nodes of the smallest project so far that fails the same way; 0 before the first."""
    samples: int


@dataclass(frozen=True)
class Reduced:
    """The smallest project found."""

    project: PartialProject
    kept: frozenset[str]
    """Nodes of the failing graph that are left."""
    of: int
    """Number of nodes that could be left out."""
    tries: int
    is_complete: bool
    """Whether no single further node or sample can be left out; False after the limit of tries or time."""


class _LimitReached(Exception):  # noqa: N818 - ends the reduction
    pass


class Reduction:
    """One reduction.

    Args:
        cutter: cuts parts out of the failing graph
        fails: returns how a project fails
        max_tries: number of projects to try
        is_over: whether the time is over
    """

    def __init__(
        self,
        cutter: GraphCutter,
        fails: Callable[[PartialProject], FailureSign | None],
        *,
        max_tries: int = MAX_TRIES,
        is_over: Callable[[], bool] = lambda: False,
    ) -> None:
        self._cutter = cutter
        self._fails = fails
        self._max_tries = max_tries
        self._is_over = is_over
        self._stage: Stage = "nodes"
        self._tries = 0
        self._kept: frozenset[str] = frozenset()
        self._best: PartialProject | None = None

    def run(self) -> Iterator[Reducing | Reduced]:
        """Yields progress after each try, and the result last. Raises ReproductionError."""
        is_complete = True
        try:
            yield from self._reduce_nodes()
            if self._best is None:
                raise ReproductionError(_not_found(self._cutter.sign))
            self._stage = "samples"
            yield from self._reduce_samples()
            self._stage = "weights"
            yield from self._drop_weights()
        except _LimitReached:
            is_complete = False
        if self._best is None:
            raise ReproductionError(_not_found(self._cutter.sign))
        yield Reduced(self._best, self._kept, len(self._cutter.nodes), self._tries, is_complete)

    # -- stages

    def _reduce_nodes(self) -> Iterator[Reducing]:
        everything = frozenset(self._cutter.nodes)
        for kept in _growing(self._cutter.graph, self._core(), everything):
            yield from self._try_nodes(kept)
            if self._best is not None:
                break
        else:
            return
        removable = sorted(self._kept - self._core())
        yield from self._minimize(removable, lambda left: self._try_nodes(self._core() | frozenset(left)))

    def _core(self) -> frozenset[str]:
        """The node that fails; for an update the layers are chosen by the reduction."""
        node = self._cutter.sign.node
        return frozenset({node} & set(self._cutter.nodes)) if node is not None else frozenset()

    def _reduce_samples(self) -> Iterator[Reducing]:
        whole = self._best
        if whole is None or whole.rows < 2:
            return

        def attempt(rows: Sequence[int]) -> Iterator[Reducing]:
            if rows:
                try:
                    yield from self._try(whole.with_rows(rows))
                except NotSeparableError:
                    return

        for row in {0, whole.rows - 1}:
            yield from attempt([row])
            if self._best is not whole:
                return
        yield from self._minimize(list(range(whole.rows)), attempt)

    def _drop_weights(self) -> Iterator[Reducing]:
        if self._best is not None and self._best.weights:
            yield from self._try(self._best.without_weights())

    # -- tries

    def _try_nodes(self, kept: frozenset[str]) -> Iterator[Reducing]:
        if not kept:
            return
        try:
            project = self._cutter.cut(kept)
        except NotSeparableError:
            return
        yield from self._try(project, kept)

    def _try(self, project: PartialProject, kept: frozenset[str] | None = None) -> Iterator[Reducing]:
        if self._tries >= self._max_tries or self._is_over():
            raise _LimitReached
        self._tries += 1
        if self._cutter.sign.is_same(self._fails(project)):
            self._best, self._kept = project, self._kept if kept is None else kept
        best = self._best
        yield Reducing(self._stage, self._tries, len(self._kept) if best else 0, best.rows if best else 0)

    def _minimize(self, items: Sequence[T], attempt: Callable[[Sequence[T]], Iterator[Reducing]]) -> Iterator[Reducing]:
        """Leave out parts of the items, half of them at first, until no single one can be left out."""
        parts = 2
        while items:
            size = max(len(items) // parts, 1)
            chunks = [items[start : start + size] for start in range(0, len(items), size)]
            for chunk in chunks:
                left = [item for item in items if item not in chunk]
                before = self._best
                yield from attempt(left)
                if self._best is not before:
                    items, parts = left, max(parts - 1, 2)
                    break
            else:
                if size == 1:
                    return
                parts = min(parts * 2, len(items))


def _growing(graph: NodeGraph, core: frozenset[str], everything: frozenset[str]) -> Iterator[frozenset[str]]:
    """The failing node, then what is around it within 1, 2, 4, … wires, then everything."""
    kept, steps = core, 1
    if core:
        yield core
    while kept and kept < everything:
        for _ in range(steps):
            before = {end.node for name in kept for end in graph.sources(name).values()}
            after = {wire.target.node for name in kept for wire in graph.outgoing_wires.get(name, ())}
            kept |= (before | after) & everything
        steps *= 2
        if kept < everything:
            yield kept
        if steps > len(everything):
            break
    yield everything


def _not_found(sign: FailureSign) -> str:
    return (
        f"No part of the graph fails the same way by itself. The failure is: {sign} "
        "It may depend on random numbers or on a state that a project file does not hold."
    )


__all__ = ["MAX_TRIES", "Reduced", "Reducing", "Reduction"]
