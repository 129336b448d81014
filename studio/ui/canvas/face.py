"""What a node shows, as plain data: two equal faces are painted alike."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from studio.document.model import Node
from studio.document.names import identifier
from studio.lowering.report import Problem
from studio.nodes.types import NodeType, Port, PortType

_MEASURED = ("loss", "metric")


@dataclass(frozen=True, slots=True)
class Face:
    """The content of one node on the canvas."""

    name: str
    kind: str
    """Title of the node's type, or empty where the name says it already."""
    icon: str
    category: str
    inputs: tuple[Port, ...]
    outputs: tuple[Port, ...]
    summary: str = ""
    live: str = ""
    """A figure of the training that runs; stands where the summary stood."""
    error: str = ""
    warning: str = ""
    frozen: bool = False
    muted: bool = False
    collapsed: bool = False

    @property
    def line(self) -> str:
        return self.live or self.summary

    @property
    def has_line(self) -> bool:
        """Losses and metrics keep the line free, so that the node does not grow when training starts."""
        return bool(self.line) or self.category in _MEASURED

    @property
    def labelled(self) -> bool:
        return len(self.inputs) > 1 or len(self.outputs) > 1

    @property
    def input_labels(self) -> tuple[str, ...]:
        return tuple(port.name for port in self.inputs) if len(self.inputs) > 1 else ()

    @property
    def output_labels(self) -> tuple[str, ...]:
        return tuple(port.name for port in self.outputs) if len(self.outputs) > 1 else ()

    def port(self, name: str, *, is_input: bool) -> Port | None:
        return next((port for port in (self.inputs if is_input else self.outputs) if port.name == name), None)


def face(
    name: str,
    node: Node,
    kind: NodeType | None,
    *,
    summary: str = "",
    live: str = "",
    problems: Iterable[Problem] = (),
    stray_inputs: Iterable[str] = (),
    stray_outputs: Iterable[str] = (),
) -> Face:
    """The face of a node. Ports that only its wires know of (`stray_…`) are shown too, so that no wire hangs."""
    problems = tuple(problems)
    title = kind.title if kind else node.type
    inputs = kind.inputs if kind else ()
    outputs = kind.outputs if kind else ()
    return Face(
        name=name,
        kind="" if _says(name, title) else title,
        icon=kind.icon if kind else "unknown",
        category=kind.category if kind else "unknown",
        inputs=inputs + _strays(stray_inputs, inputs),
        outputs=outputs + _strays(stray_outputs, outputs),
        summary=summary,
        live=live,
        error=_texts(problems, "error"),
        warning=_texts(problems, "warning"),
        frozen=node.frozen,
        muted=node.muted,
        collapsed=node.collapsed,
    )


def _says(name: str, title: str) -> bool:
    stem = name.rstrip("0123456789").rstrip("_")
    plain = stem.replace("_", "").casefold()
    return plain == identifier(title).replace("_", "").rstrip("0123456789").casefold() or plain == identifier(
        title
    ).replace("_", "")


def _strays(names: Iterable[str], known: tuple[Port, ...]) -> tuple[Port, ...]:
    taken = {port.name for port in known}
    return tuple(
        Port(name, PortType.TENSOR, "This port is not known to the node") for name in sorted(set(names) - taken)
    )


def _texts(problems: tuple[Problem, ...], severity: str) -> str:
    return "\n".join(problem.message for problem in problems if problem.severity == severity)
