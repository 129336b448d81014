"""The results of checks and inference for one node."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from engine.shape import Spec
from studio.document.model import Node
from studio.lowering.analysis.node_arguments import NodeArguments
from studio.lowering.analysis.node_evaluation import NodeOutcome, WireValue
from studio.lowering.schedules.schedule_context import TrainingLength
from studio.nodes.types import NodeType


@dataclass(frozen=True, slots=True)
class NodeInfo:
    """Statistics of one node, computed without running it."""

    arguments: Mapping[str, Any] = field(default_factory=dict[str, Any])
    """All arguments: set, inferred or default."""
    inferred: frozenset[str] = frozenset()
    """Arguments inferred from the wires."""
    outputs: Mapping[str, Spec] = field(default_factory=dict[str, Spec])
    parameters: int = 0
    macs: int = 0
    """Multiply-adds for one sample."""
    memory: int = 0
    """Bytes of the outputs for one sample."""
    summary: str = ""
    """The line below the title of a node: "64 → 128", "p = 0.2"."""


@dataclass(frozen=True, slots=True)
class NodeFacts:
    """Results of the analysis of one node."""

    node: Node
    type: NodeType
    arguments: NodeArguments
    inputs: Mapping[str, WireValue]
    """Values by input port. Ports with an unknown value are absent."""
    outcome: NodeOutcome
    outputs: Mapping[str, WireValue]
    """Values by output port. A muted node passes its input through."""
    info: NodeInfo
    labels: Mapping[str, str]
    """`outputs` as text for the wires."""
    length: TrainingLength | None = None
    """Training length, for an optimizer with schedules."""

    def spec(self, port: str) -> Spec | None:
        """The tensor at an input port, if it is known."""
        value = self.inputs.get(port)
        return value if isinstance(value, Spec) else None
