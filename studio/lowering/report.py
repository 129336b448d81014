"""The result of checking a document: its graph with the shapes on its wires, its problems, and figures per node."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from studio.document.model import Wire
from studio.lowering.analysis.dataflow import NodeInfo
from studio.lowering.problems.problem import Problem
from studio.lowering.schedules.learning_rate_plan import LearningRatePlan


@dataclass(frozen=True, slots=True)
class Report:
    """The result of a check. Wires that carry something unknown are absent from `wires`."""

    problems: tuple[Problem, ...] = ()
    nodes: Mapping[str, NodeInfo] = field(default_factory=dict[str, NodeInfo])
    wires: Mapping[Wire, str] = field(default_factory=dict[Wire, str])
    """What each wire carries, as text: "N×64 float32"."""
    trainable: Mapping[str, tuple[str, ...]] = field(default_factory=dict[str, "tuple[str, ...]"])
    """By optimizer: the layers with parameters that its loss depends on."""
    trained: Mapping[str, tuple[str, ...]] = field(default_factory=dict[str, "tuple[str, ...]"])
    """By optimizer: the layers that it trains."""
    learning_rate_plans: Mapping[str, LearningRatePlan] = field(default_factory=dict[str, LearningRatePlan])
    """By optimizer with schedules: the learning rate that is planned. Empty while there are errors."""

    @property
    def errors(self) -> tuple[Problem, ...]:
        return tuple(problem for problem in self.problems if problem.severity == "error")

    @property
    def warnings(self) -> tuple[Problem, ...]:
        return tuple(problem for problem in self.problems if problem.severity == "warning")

    @property
    def parameters(self) -> int:
        return sum(info.parameters for info in self.nodes.values())

    @property
    def macs(self) -> int:
        return sum(info.macs for info in self.nodes.values())
