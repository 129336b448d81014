"""Candidates for fused kernels, which grow node by node."""

from __future__ import annotations

from collections.abc import Sequence

from engine.compiler.ir import IRNode, IRValue
from engine.compiler.kernels import LoweringUnsupported
from engine.compiler.kernels.kernel_program import ProgramBuilder
from engine.compiler.kernels.kernel_schedule import loops
from engine.shape import count

MAX_NODES = 100
"""Nodes in one kernel; larger kernels compile too slowly."""


class FusionCandidate:
    """Nodes that one kernel can compute. Adding nodes is fast unless the iteration space grows.

    Raises:
        LoweringUnsupported: no kernel can compute this node
    """

    def __init__(self, node: IRNode) -> None:
        self._nodes = [node]
        self._reader = _read(_space(self._nodes), self._nodes)
        loops(self._reader.space, self._reader.reductions)
        self._reader.program(node.outputs)

    def try_add(self, nodes: Sequence[IRNode]) -> bool:
        """Adds nodes if one kernel can compute all. They are in order and may use results of the others."""
        if len(self._nodes) + len(nodes) > MAX_NODES:
            return False
        reader, space = self._reader, _space(nodes)
        snapshot = reader.snapshot()
        try:
            if _extent(space) > _extent(reader.space):
                self._reader = _read(space, [*self._nodes, *nodes])
            else:
                for node in nodes:
                    reader.read(node)
            self._check(nodes)
        except LoweringUnsupported:
            self._reader = reader
            reader.restore(snapshot)
            return False
        self._nodes += nodes
        return True

    def _check(self, new: Sequence[IRNode]) -> None:
        """Raises LoweringUnsupported for incompatible reductions, and for results outside of the iteration space."""
        loops(self._reader.space, self._reader.reductions)
        used = {value for node in new for value in node.values}
        for node in new:
            for value in node.outputs:
                if value not in used:
                    self._reader.with_broadcast_axes(value)


def fusion_candidate(node: IRNode) -> FusionCandidate | None:
    """The candidate for one node; None if no kernel can compute it."""
    if not node.outputs:
        return None
    try:
        return FusionCandidate(node)
    except LoweringUnsupported:
        return None


def _read(space: tuple[int, ...], nodes: Sequence[IRNode]) -> ProgramBuilder:
    reader = ProgramBuilder(space)
    for node in nodes:
        reader.read(node)
    return reader


def _space(nodes: Sequence[IRNode]) -> tuple[int, ...]:
    """The iteration space of nodes: the shape of the largest value."""
    values: list[IRValue] = [value for node in nodes for value in (*node.outputs, *node.values)]
    return max((value.shape for value in values), key=_extent)


def _extent(shape: tuple[int, ...]) -> tuple[int, int]:
    return count(shape), len(shape)


__all__ = ["FusionCandidate", "fusion_candidate"]
