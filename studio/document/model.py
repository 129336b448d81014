"""What a project is: frozen plain data. Nothing here is ever changed in place, dicts included."""

from __future__ import annotations

from typing import Any, Literal, TypeAlias

import msgspec

Json: TypeAlias = None | bool | int | float | str | list[Any] | dict[str, Any]


class Node(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """One node of the canvas. Its name, the key in `Document.nodes`, is its identity."""

    type: str
    """Key in the catalogue, for instance "nn.Linear". Unknown types are kept as they are."""
    params: dict[str, Json] = msgspec.field(default_factory=dict)
    """Only what was set by hand; the rest are defaults or inferred."""
    at: tuple[float, float] = (0.0, 0.0)
    """Top left corner on the canvas, in pixels at 100%."""
    muted: bool = False
    """Left out of the computation: passes its input through."""
    frozen: bool = False
    """Its parameters are not trained."""
    collapsed: bool = False
    note: str = ""


class End(msgspec.Struct, frozen=True, order=True, array_like=True):
    """One port of one node. Written as "node.port" in files."""

    node: str
    port: str

    def __str__(self) -> str:
        return f"{self.node}.{self.port}"


class Wire(msgspec.Struct, frozen=True, order=True):
    """A connection from an output to an input. An input takes one wire, an output feeds many."""

    source: End
    target: End

    def __str__(self) -> str:
        return f"{self.source} -> {self.target}"


class Training(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """How a run of this project goes when nothing else is asked for."""

    epochs: int = 10
    seed: int = 0
    device: Literal["auto", "cpu", "cuda"] = "auto"


class Document(msgspec.Struct, frozen=True):
    """A whole project. `nodes` by name in order of creation; `wires` sorted, without duplicates."""

    nodes: dict[str, Node] = msgspec.field(default_factory=dict)
    wires: tuple[Wire, ...] = ()
    training: Training = Training()
    description: str = ""
