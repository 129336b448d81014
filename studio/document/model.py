"""What a project is: frozen plain data. Nothing here is ever changed in place, dicts included."""

from __future__ import annotations

from typing import Annotated, Any, Literal, TypeAlias

import msgspec
from msgspec import Meta

Json: TypeAlias = bool | int | float | str | list[Any] | dict[str, Any] | None

FARTHEST = 1e7
"""Bound of coordinates, far beyond any canvas and well within what drawing code can take."""

Coordinate: TypeAlias = Annotated[float, Meta(ge=-FARTHEST, le=FARTHEST)]


class Node(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One node of the canvas. Its name, the key in `Document.nodes`, is its identity."""

    type: Annotated[str, Meta(min_length=1)]
    """Key in the catalogue, for instance "nn.Linear". Unknown types are kept as they are."""
    params: dict[str, Json] = msgspec.field(default_factory=dict)
    """Only what was set by hand; the rest are defaults or inferred."""
    at: tuple[Coordinate, Coordinate] = (0.0, 0.0)
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

    epochs: Annotated[int, Meta(ge=1)] = 10
    seed: Annotated[int, Meta(ge=0, le=2**63 - 1)] = 0
    device: Literal["auto", "cpu", "cuda"] = "auto"
    compile: bool = True
    """Run training steps as compiled plans. The numbers are the same."""


class Document(msgspec.Struct, frozen=True):
    """A whole project. `nodes` by name in order of creation; `wires` sorted, without duplicates."""

    nodes: dict[str, Node] = msgspec.field(default_factory=dict)
    wires: tuple[Wire, ...] = ()
    training: Training = Training()
    description: str = ""
