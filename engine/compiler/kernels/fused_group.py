"""Nodes of a graph that one kernel computes."""

from __future__ import annotations

from dataclasses import dataclass

from engine.compiler.instruction import Scalar
from engine.compiler.ir import IRNode, IRValue


@dataclass(frozen=True, slots=True)
class FusedGroup:
    """What goes into one kernel: elementwise nodes and reductions over one iteration space.

    Every value in it has the iteration space's shape, broadcasts to it, or is a reduction of it. What is made and used
    only inside never gets memory.
    """

    shape: tuple[int, ...]
    """The iteration space."""
    nodes: tuple[IRNode, ...]
    """In an order in which they can run."""
    inputs: tuple[IRValue, ...]
    """Arrays that it reads."""
    scalars: tuple[Scalar, ...]
    """Numbers that may be others in each run, in the order in which the kernel takes them."""
    outputs: tuple[IRValue, ...]
    """Results that are needed outside."""
    in_place: tuple[tuple[int, int], ...] = ()
    """Which output is written over which input, by their places. All other arrays must not overlap what is written."""

    def __str__(self) -> str:
        return "+".join(node.op.name for node in self.nodes)


__all__ = ["FusedGroup"]
