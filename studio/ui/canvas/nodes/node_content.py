"""The displayed content of a node as plain data."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from studio.document.model import Node
from studio.document.node_names import to_identifier
from studio.lowering.problems.problem import Problem
from studio.nodes.types import NodeType, Port

_MEASURED = ("loss", "metric")


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
    muted: bool = False
    collapsed: bool = False

    @property
    def line(self) -> str:
        return self.live or self.summary

    @property
    def has_line(self) -> bool:
        """Losses and metrics reserve the line, so that the node keeps its size when training starts."""
        return bool(self.line) or self.category in _MEASURED

    @property
    def labeled(self) -> bool:
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
        kind="" if _says(name, kind.title) else kind.title,
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
        muted=node.muted,
        collapsed=node.collapsed,
    )


def _says(name: str, title: str) -> bool:
    """Whether the name is derived from the title, such as "linear_2" from Linear."""
    plain, suggested = name.replace("_", ""), to_identifier(title).replace("_", "").removesuffix("loss")
    rest = plain.removeprefix(suggested).removeprefix("loss")
    return plain.startswith(suggested) and (not rest or rest.isdigit())


def _texts(problems: tuple[Problem, ...], severity: str) -> str:
    return "\n".join(problem.message for problem in problems if problem.severity == severity)
