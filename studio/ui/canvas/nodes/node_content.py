"""The content that a node shows, as plain data."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

from studio.document.model import Node
from studio.document.node_names import to_identifier
from studio.lowering.problems.problem import Problem
from studio.nodes.types import NodeType, Port

_LIVE_CATEGORIES = ("loss", "metric")


@dataclass(frozen=True, slots=True)
class NodeContent:
    """The content of one node on the canvas."""

    name: str
    kind: str
    """Title of the node type; empty if the name contains it."""
    icon: str
    category: str
    inputs: tuple[Port, ...]
    outputs: tuple[Port, ...]
    summary: str = ""
    live: str = ""
    """Value of a running training, shown instead of the summary."""
    error: str = ""
    warning: str = ""
    frozen: bool = False
    recomputed: bool = False
    shares: str = ""
    """The node whose weights it uses."""
    muted: bool = False
    locked: bool = False
    """Whether edits cannot change it."""
    breakpoint: Literal["", "enabled", "disabled"] = ""
    """Whether a breakpoint names the node or something in it."""
    collapsed: bool = False
    adapts: bool = False
    """Whether the inputs depend on the wires of the node."""

    @property
    def line(self) -> str:
        """Text of the summary line: the live value during training, else the summary."""
        return self.live or self.summary

    @property
    def has_line(self) -> bool:
        """Whether there is a summary line. Losses and metrics always have one, so a run does not change their size."""
        return bool(self.line) or self.category in _LIVE_CATEGORIES

    @property
    def labeled(self) -> bool:
        """Whether ports have labels, because one side has several."""
        return len(self.inputs) > 1 or len(self.outputs) > 1

    @property
    def input_labels(self) -> tuple[str, ...]:
        return tuple(port.name for port in self.inputs) if len(self.inputs) > 1 else ()

    @property
    def output_labels(self) -> tuple[str, ...]:
        return tuple(port.name for port in self.outputs) if len(self.outputs) > 1 else ()

    def port(self, name: str, *, is_input: bool) -> Port | None:
        return next((port for port in (self.inputs if is_input else self.outputs) if port.name == name), None)


def node_content(
    name: str, node: Node, kind: NodeType, *, summary: str = "", live: str = "", problems: Iterable[Problem] = ()
) -> NodeContent:
    """The content of a node. `kind` is a placeholder for unknown types."""
    problems = tuple(problems)
    return NodeContent(
        name=name,
        kind="" if is_named_after(name, kind.title) else kind.title,
        icon=kind.icon,
        category=kind.category,
        inputs=kind.inputs,
        outputs=kind.outputs,
        summary=summary,
        live=live,
        error=_texts(problems, "error"),
        warning=_texts(problems, "warning"),
        frozen=node.frozen,
        recomputed=node.recomputed,
        shares=node.shares,
        muted=node.muted,
        collapsed=node.collapsed,
        adapts=kind.adapt is not None,
    )


def is_named_after(name: str, title: str) -> bool:
    """Whether the name is derived from the title, such as "linear_2" from Linear."""
    compact, default = name.replace("_", ""), to_identifier(title).replace("_", "").removesuffix("loss")
    suffix = compact.removeprefix(default).removeprefix("loss")
    return compact.startswith(default) and (not suffix or suffix.isdigit())


def _texts(problems: tuple[Problem, ...], severity: str) -> str:
    return "\n".join(problem.message for problem in problems if problem.severity == severity)
