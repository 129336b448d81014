"""What the checks and inference know about one node."""

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
    """What is known of one node without running it."""

    arguments: Mapping[str, Any] = field(default_factory=dict[str, Any])
    """Every argument as it will be used: set, inferred or default."""
    inferred: frozenset[str] = frozenset()
    """The arguments that came from the wires."""
    outputs: Mapping[str, Spec] = field(default_factory=dict[str, Spec])
    parameters: int = 0
    macs: int = 0
    """Multiply-adds for one sample."""
    summary: str = ""
    """The one line in the node: "64 → 128", "p = 0.2"."""


@dataclass(frozen=True, slots=True)
class NodeFacts:
    """Everything found out about one node."""

    node: Node
    type: NodeType
    arguments: NodeArguments
    inputs: Mapping[str, WireValue]
    """What arrives, by port; ports of which nothing is known are absent."""
    outcome: NodeOutcome
    outputs: Mapping[str, WireValue]
    """What leaves. For a muted node what it passes through."""
    info: NodeInfo
    labels: Mapping[str, str]
    """`outputs` as text for the wires."""
    length: TrainingLength | None = None
    """For an optimizer that has schedules: how long the training is."""

    def spec(self, port: str) -> Spec | None:
        """The tensor that arrives at a port, if it is known."""
        value = self.inputs.get(port)
        return value if isinstance(value, Spec) else None
