"""The result of checking a document: problems, shapes of wires, and statistics per node."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from studio.document.model import Document, Wire
from studio.lowering.analysis.dataflow import Dataflow, NodeInfo
from studio.lowering.problems.problem import Problem
from studio.lowering.schedules.learning_rate_plan import LearningRatePlan


@dataclass(frozen=True, slots=True)
class Report:
    """The result of a check. Wires with an unknown value are absent from `wires`."""

    problems: tuple[Problem, ...] = ()
    dismissed: tuple[Problem, ...] = ()
    """Warnings and hints that the document dismisses. They are not in `problems`."""
    nodes: Mapping[str, NodeInfo] = field(default_factory=dict[str, NodeInfo])
    """By path: of nodes, of instances (the sum of their nodes), and of the nodes inside them ("encoder.fc")."""
    wires: Mapping[Wire, str] = field(default_factory=dict[Wire, str])
    """The label of each wire: "N×64 float32"."""
    trainable: Mapping[str, tuple[str, ...]] = field(default_factory=dict[str, "tuple[str, ...]"])
    """Layers with parameters that the loss depends on, by optimizer."""
    trained: Mapping[str, tuple[str, ...]] = field(default_factory=dict[str, "tuple[str, ...]"])
    """Trained layers, by optimizer."""
    learning_rate_plans: Mapping[str, LearningRatePlan] = field(default_factory=dict[str, LearningRatePlan])
    """By optimizer with schedules: the planned learning rate. Empty while there are errors."""
    dataflow: Dataflow | None = field(default=None, compare=False, repr=False)
    """The graph with the arguments and shapes at each node, from which the program is generated."""

    @property
    def checked(self) -> Dataflow:
        """`dataflow`. Raises ValueError if the report was not created by `check`."""
        if self.dataflow is None:
            raise ValueError("the report was not created by studio.lowering.check")
        return self.dataflow

    @property
    def document(self) -> Document:
        """The checked document. Raises ValueError if the report was not created by `check`."""
        return self.checked.expansion.document

    @property
    def errors(self) -> tuple[Problem, ...]:
        return tuple(problem for problem in self.problems if problem.severity == "error")

    @property
    def warnings(self) -> tuple[Problem, ...]:
        return tuple(problem for problem in self.problems if problem.severity == "warning")

    @property
    def hints(self) -> tuple[Problem, ...]:
        return tuple(problem for problem in self.problems if problem.severity == "hint")

    @property
    def parameters(self) -> int:
        return sum(info.parameters for name, info in self.nodes.items() if "." not in name)

    @property
    def memory(self) -> int:
        """Bytes of all outputs for one sample."""
        return sum(info.memory for name, info in self.nodes.items() if "." not in name)

    @property
    def macs(self) -> int:
        return sum(info.macs for name, info in self.nodes.items() if "." not in name)
