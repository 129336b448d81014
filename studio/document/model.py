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
    recomputed: bool = False
    """What it saves for the backward pass is dropped and computed again: less memory, more time."""
    collapsed: bool = False
    """Drawn as its title alone."""
    note: str = ""
    """Free text, kept in the file."""
    trains: tuple[str, ...] = ()
    """Of an optimizer: the layers that it trains. Empty for all that its loss depends on."""


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


LARGEST = 2**31 - 1
GREATEST = 1e30
"""Bounds of settings: whole numbers and others."""

Number: TypeAlias = Annotated[float, Meta(ge=0, le=GREATEST)]
Positive: TypeAlias = Annotated[float, Meta(gt=0, le=GREATEST)]
Size: TypeAlias = Annotated[int, Meta(ge=1, le=LARGEST)]
Count: TypeAlias = Annotated[int, Meta(ge=0, le=LARGEST)]


class Training(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """How a run of this project goes when nothing else is asked for."""

    epochs: Size = 10
    """Passes over the training samples."""
    steps: Size | None = None
    """Batches after which training ends, in place of `epochs`: what can be said where data are a stream."""
    seed: Annotated[int, Meta(ge=0, le=2**63 - 1)] = 0
    """Random seed."""
    device: Literal["auto", "cpu", "cuda"] = "auto"
    """Where the model is trained; "auto" is CUDA where it is available, else the CPU."""
    compile: bool = True
    """Run training steps as compiled plans. The numbers are the same."""
    accumulate: Size = 1
    """Batches whose gradients are averaged for one step of the optimizers."""
    clip_norm: Positive | None = None
    """The largest norm that all gradients of an optimizer together may have."""
    clip_value: Positive | None = None
    """The largest size that an element of a gradient may have."""
    mixed_precision: Literal["off", "bfloat16", "float16"] = "off"
    """What products are computed in, where that is safe."""
    validate_epochs: Count = 1
    """Validate at the end of each so many epochs; 0 for never."""
    validate_steps: Size | None = None
    """Validate after each so many batches of an epoch as well."""
    follow: Annotated[str, Meta(min_length=1)] = "val_loss"
    """The figure that says which weights are the best: "val_loss", "val_accuracy" for a metric named accuracy, …"""
    patience: Count | None = None
    """Validations without improvement after which training ends; None to train all epochs."""
    min_change: Number = 0.0
    """By how much a figure must be better than the best to count as improved."""
    checkpoint_seconds: Annotated[float, Meta(ge=1, le=GREATEST)] = 30.0
    """From one checkpoint to the next, at least."""
    checkpoint_steps: Size | None = None
    """A checkpoint after each so many batches as well."""
    checkpoints: Size = 2
    """How many are kept."""


class Document(msgspec.Struct, frozen=True):
    """A whole project. `nodes` by name in order of creation; `wires` sorted, without duplicates."""

    nodes: dict[str, Node] = msgspec.field(default_factory=dict)
    wires: tuple[Wire, ...] = ()
    training: Training = Training()
    description: str = ""
