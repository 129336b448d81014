"""Groups of nodes that one kernel computes."""

from __future__ import annotations

from dataclasses import dataclass

from engine.compiler.instruction import Scalar
from engine.compiler.ir import IRNode, IRValue


@dataclass(frozen=True, slots=True)
class FusedGroup:
    """Elementwise nodes and reductions over one iteration space.

    Each value has the shape of the iteration space, broadcasts to it, or is a reduction of it. Values that are used
    only inside get no memory.
    """

    shape: tuple[int, ...]
    """Shape of the iteration space."""
    nodes: tuple[IRNode, ...]
    """Nodes in a valid order of execution."""
    inputs: tuple[IRValue, ...]
    """Input arrays."""
    scalars: tuple[Scalar, ...]
    """Numbers that vary between runs, in the order of the kernel's arguments."""
    outputs: tuple[IRValue, ...]
    """Results that are needed outside."""
    in_place: tuple[tuple[int, int], ...] = ()
    """Pairs of an output index and the index of the input that it overwrites. Other arrays do not overlap outputs."""

    def __str__(self) -> str:
        return "+".join(node.op.name for node in self.nodes)


__all__ = ["FusedGroup"]
