"""What checking a graph yields: problems at their nodes, shapes on wires, figures per node."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from engine.shape import Spec
from studio.document.errors import EditError
from studio.document.model import Document, Wire
from studio.lowering.changes import Change, changes
from studio.lowering.courses import Course
from studio.lowering.help import HELP


@dataclass(frozen=True, slots=True)
class Fix:
    """A one-click remedy: an edit, and what the button says."""

    title: str
    edit: Callable[[Document], Document] = field(compare=False)
    settings: tuple[str, ...] = ()
    """What `--set` of the command line takes for the same edit: "adam.lr=0.001". Empty where wires or nodes change."""
    document: Document | None = field(default=None, compare=False, repr=False)
    """That the edit is offered for."""

    @property
    def changes(self) -> tuple[Change, ...]:
        """The edit as data; empty if its document is unknown or the edit cannot be applied."""
        if self.document is None:
            return ()
        try:
            return changes(self.document, self.edit(self.document))
        except EditError:  # of many fixes a check tries only some
            return ()


@dataclass(frozen=True, slots=True)
class Problem:
    """Something that is wrong, where, and what to do. `code` is stable and has an entry in `HELP`."""

    severity: Literal["error", "warning"]
    code: str
    message: str
    """One or two sentences: what was expected, what was found, what to do."""
    node: str | None = None
    port: str | None = None
    wire: Wire | None = None
    fix: Fix | None = None
    option: str = ""
    """What `--set` of the command line takes to mend it: "digits.folder=PATH"."""
    also: tuple[str, ...] = ()
    """Other nodes with the same problem, where several are shown as one."""

    @property
    def help(self) -> str:
        """Why problems with this code matter."""
        return HELP.get(self.code, "")

    def within(self, document: Document) -> Problem:
        """The problem as one of a document, for which its fix then says what it changes."""
        return self if self.fix is None else replace(self, fix=replace(self.fix, document=document))

    def as_dict(self) -> dict[str, Any]:
        """The record that programs read, the same in every command."""
        fix = self.fix
        settings = [] if fix is None else list(fix.settings)
        return {
            "severity": self.severity,
            "code": self.code,
            "message": self.message,
            "node": self.node,
            "port": self.port,
            "wire": None if self.wire is None else str(self.wire),
            "fix": None if fix is None else fix.title,
            "set": settings or ([self.option] if self.option else []),
            "edits": [] if fix is None else list(fix.changes),
            "help": self.help,
        }


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
    courses: Mapping[str, Course] = field(default_factory=dict[str, Course])
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
