"""Descriptions of plans, for `explain`."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from engine.compiler.explanation_data import COMPILING
from engine.compiler.ir import IRNode, IRValue
from engine.compiler.kernels import CpuKernel, FusedGroup, lowering_failure
from engine.graph import SourceLocation
from engine.shape import format_shape


@dataclass(frozen=True, slots=True)
class StepDescription:
    """One step of a plan: a generated kernel, or a call of NumPy, BLAS or a hand-written kernel."""

    ops: tuple[str, ...]
    """Names of its ops."""
    kind: str
    """"kernel" for generated code, "call" for other computations, "view" for views."""
    reads: tuple[str, ...] = ()
    """Shapes and dtypes of its inputs."""
    makes: tuple[str, ...] = ()
    lines: tuple[SourceLocation, ...] = ()
    """Source lines of its ops."""
    source: str = ""
    """Generated code; empty for other steps."""
    note: str = ""
    """Why it is not in a generated kernel, or the state of its kernel."""


@dataclass(frozen=True, slots=True)
class PlanDescription:
    """How a plan runs a segment."""

    kind: str
    """"fused", "unfused" or "call by call"."""
    steps: tuple[StepDescription, ...]
    memory: int
    """Peak bytes of intermediate values, without inputs and outputs."""
    note: str = ""
    """Why it is not fused; empty if it is."""


def describe_node(node: IRNode, why: str | None = None) -> StepDescription:
    """Describes a node without generated kernel; `why` is the reason."""
    reads, makes = tuple(map(_text, node.values)), tuple(map(_text, node.outputs))
    if why is None and node.op.kind in ("elementwise", "reduce"):
        why = lowering_failure(node)
    kind = "view" if node.op.view else "call"
    return StepDescription((node.op.name,), kind, reads, makes, source_lines([node]), note=why or "")


def describe_kernel(fused: FusedGroup, kernel: CpuKernel) -> StepDescription:
    """Describes a generated kernel."""
    names = tuple(node.op.name for node in fused.nodes)
    reads, makes = tuple(map(_text, fused.inputs)), tuple(map(_text, fused.outputs))
    note = "" if kernel.ready else kernel.failure or COMPILING
    return StepDescription(names, "kernel", reads, makes, source_lines(fused.nodes), kernel.source, note)


def _text(value: IRValue) -> str:
    return f"{format_shape(value.shape)} {value.dtype}"


def source_lines(nodes: Iterable[IRNode]) -> tuple[SourceLocation, ...]:
    """The source lines of nodes, each once."""
    return tuple(dict.fromkeys(location for node in nodes for location in node.where if location is not None))


__all__ = ["PlanDescription", "StepDescription", "describe_kernel", "describe_node", "source_lines"]
