"""What a plan tells of itself, for `explain`."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from engine.compiler.ir import IRNode, IRValue
from engine.compiler.kernels import CpuKernel, FusedGroup, lowering_failure
from engine.graph import Place
from engine.shape import format_shape


@dataclass(frozen=True, slots=True)
class StepDescription:
    """What a plan does at once: one kernel, or one call of NumPy or BLAS."""

    ops: tuple[str, ...]
    """Names of the recorded ops in it."""
    kind: str
    """"kernel" for generated code, "call" for an op's own kernel, "view" for what only looks at memory otherwise."""
    reads: tuple[str, ...] = ()
    """Shapes and dtypes of its inputs."""
    makes: tuple[str, ...] = ()
    lines: tuple[Place, ...] = ()
    """The lines that its ops come from."""
    source: str = ""
    """Generated code; empty where there is none."""
    note: str = ""
    """Why it is no part of a kernel although ops of its kind can be, or that its kernel is still being compiled."""


@dataclass(frozen=True, slots=True)
class PlanDescription:
    """How a plan runs a recording."""

    kind: str
    """"fused", "unfused", or "call by call"."""
    steps: tuple[StepDescription, ...]
    memory: int
    """Bytes that values inside need at most at one time; what goes in and comes out is not counted."""
    note: str = ""
    """Why it is not run in a better way; empty where it is."""


def describe_node(node: IRNode, why: str | None = None) -> StepDescription:
    """A node that is run by its op's own kernel; `why` it is not in one with others."""
    reads, makes = tuple(map(_text, node.values)), tuple(map(_text, node.outputs))
    if why is None and node.op.kind in ("elementwise", "reduce"):
        why = lowering_failure(node)
    kind = "view" if node.op.view else "call"
    return StepDescription((node.op.name,), kind, reads, makes, source_lines([node]), note=why or "")


def describe_kernel(fused: FusedGroup, kernel: CpuKernel) -> StepDescription:
    """Nodes that one generated kernel computes."""
    names = tuple(node.op.name for node in fused.nodes)
    reads, makes = tuple(map(_text, fused.inputs)), tuple(map(_text, fused.outputs))
    note = "" if kernel.ready else kernel.failure or "compiling; until then NumPy computes the same values"
    return StepDescription(names, "kernel", reads, makes, source_lines(fused.nodes), kernel.source, note)


def _text(value: IRValue) -> str:
    return f"{format_shape(value.shape)} {value.dtype}"


def source_lines(nodes: Iterable[IRNode]) -> tuple[Place, ...]:
    """Where they come from, each line once."""
    return tuple(dict.fromkeys(location for node in nodes for location in node.where if location is not None))


__all__ = ["PlanDescription", "StepDescription", "describe_kernel", "describe_node", "source_lines"]
