"""The document model: frozen plain data. Nothing is changed in place, including dicts."""

from __future__ import annotations

from typing import Annotated, Any, Literal, TypeAlias

import msgspec
from msgspec import Meta

Json: TypeAlias = bool | int | float | str | list[Any] | dict[str, Any] | None

MAX_COORDINATE = 1e7
"""Bound of coordinates in pixels. Qt draws larger ones inexactly."""

Coordinate: TypeAlias = Annotated[float, Meta(ge=-MAX_COORDINATE, le=MAX_COORDINATE)]


class FitRecord(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The samples that parameters of a transform were computed from."""

    params: tuple[str, ...]
    """The parameters that were computed."""
    values: str
    """Digest of their values. With other values, the record does not apply."""
    source: str
    """The node that reads the samples."""
    part: Literal["training", "all"]
    """Training samples, or all because none were kept for validation."""
    samples: Annotated[int, Meta(ge=0)]
    """Number of samples."""
    nodes: str
    """Digest of the types and parameters of the data nodes before the transform."""
    data: str = ""
    """Digest of some samples of the source; empty for a stream."""


class Node(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One node of the canvas. Its name, the key in `Document.nodes`, is its identity."""

    type: Annotated[str, Meta(min_length=1)]
    """Key in the catalogue, for instance "nn.Linear". Unknown types are kept unchanged."""
    params: dict[str, Json] = msgspec.field(default_factory=dict)
    """Explicitly set parameters; others are defaults or inferred."""
    at: tuple[Coordinate, Coordinate] = (0.0, 0.0)
    """Top left corner on the canvas, in pixels at 100%."""
    muted: bool = False
    """Skipped in the computation: passes its input through."""
    frozen: bool = False
    """Its parameters are not trained."""
    recomputed: bool = False
    """Activations are recomputed in the backward pass (checkpointing): less memory, more time."""
    collapsed: bool = False
    """Drawn with its title only."""
    note: str = ""
    """Free text, kept in the file."""
    trains: tuple[str, ...] = ()
    """For an optimizer: the layers that it trains. Empty for all that its loss depends on."""
    dismissed: tuple[str, ...] = ()
    """Codes of warnings and hints that are not reported for this node."""
    shares: str = ""
    """Node of the same graph whose weights it uses, and whose parameters if it has its type."""
    fitted: FitRecord | None = None
    """For a transform: what its parameters were computed from."""


class Endpoint(msgspec.Struct, frozen=True, order=True, array_like=True):
    """One port of one node. Written as "node.port" in files."""

    node: str
    port: str

    def __str__(self) -> str:
        return f"{self.node}.{self.port}"


class Wire(msgspec.Struct, frozen=True, order=True):
    """A connection from an output to an input. An input takes one wire, an output feeds many."""

    source: Endpoint
    target: Endpoint

    def __str__(self) -> str:
        return f"{self.source} -> {self.target}"


FrameColor: TypeAlias = Literal["gray", "blue", "orange", "green", "rose", "amber"]

MIN_FRAME_SIZE = 32.0
"""Smallest width and height of a frame, in pixels at 100%."""

Extent: TypeAlias = Annotated[float, Meta(ge=MIN_FRAME_SIZE, le=MAX_COORDINATE)]


class Frame(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A rectangle behind nodes, with a title, a text or both. Without a title it is a comment.

    It contains the nodes whose top left corner is in it. It has no effect on the computation.
    """

    title: str = ""
    """Text of the title bar. Empty: no title bar."""
    text: str = ""
    """Text inside the frame."""
    color: FrameColor = "gray"
    """Color of the title bar and the border."""
    at: tuple[Coordinate, Coordinate] = (0.0, 0.0)
    """Top left corner on the canvas, in pixels at 100%."""
    size: tuple[Extent, Extent] = (320.0, 200.0)
    """Width and height in pixels at 100%."""


Routes: TypeAlias = dict[Endpoint, tuple[tuple[Coordinate, Coordinate], ...]]
"""Reroute points by the input at the end of their wire: points that the wire is drawn through, from its output on."""


MAX_BREAKPOINTS = 100
MAX_INT = 2**31 - 1
MAX_FLOAT = 1e30
MAX_SEED = 2**63 - 1
"""Upper bounds of settings: whole numbers, other numbers, the random seed."""

NonNegativeFloat: TypeAlias = Annotated[float, Meta(ge=0, le=MAX_FLOAT)]
PositiveFloat: TypeAlias = Annotated[float, Meta(gt=0, le=MAX_FLOAT)]
PositiveInt: TypeAlias = Annotated[int, Meta(ge=1, le=MAX_INT)]
NonNegativeInt: TypeAlias = Annotated[int, Meta(ge=0, le=MAX_INT)]


class TrainingSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """How a project is trained. Titles and descriptions appear in forms, the JSON Schema, the CLI and the reference."""

    epochs: Annotated[PositiveInt, Meta(title="Epochs", description="Number of passes over the training samples.")] = 10
    steps: Annotated[
        PositiveInt | None,
        Meta(title="Steps", description="Number of batches to train, instead of epochs. Use it for streams."),
    ] = None
    seed: Annotated[
        Annotated[int, Meta(ge=0, le=MAX_SEED)], Meta(title="Random seed", description="Seed of all random numbers.")
    ] = 0
    device: Annotated[
        Literal["auto", "cpu", "cuda"],
        Meta(title="Device", description="Device to train on. auto uses CUDA if it is available, otherwise the CPU."),
    ] = "auto"
    compile: Annotated[
        bool,
        Meta(
            title="Compile training steps",
            description="Compile training steps into fused kernels. Results are identical.",
        ),
    ] = True
    accumulate: Annotated[
        PositiveInt,
        Meta(
            title="Gradient accumulation",
            description="Number of batches whose gradients are averaged for one optimizer step.",
        ),
    ] = 1
    clip_norm: Annotated[
        PositiveFloat | None, Meta(title="Clip gradient norm", description="Maximum norm of an optimizer's gradients.")
    ] = None
    clip_value: Annotated[
        PositiveFloat | None,
        Meta(title="Clip gradient value", description="Maximum absolute value of a gradient element."),
    ] = None
    joint_epoch: Annotated[
        Literal["longest", "shortest"],
        Meta(
            title="Epoch of several loaders",
            description="An epoch ends with the longest loader, and shorter ones start again, or with the shortest.",
        ),
    ] = "longest"
    joint_order: Annotated[
        Literal["independent", "paired"],
        Meta(
            title="Order of several loaders",
            description="Each loader is shuffled separately, or all in the same order, so that samples are paired.",
        ),
    ] = "independent"
    mixed_precision: Annotated[
        Literal["off", "bfloat16", "float16"],
        Meta(
            title="Mixed precision",
            description="Data type of matrix products where it is numerically safe. Faster on a GPU, less precise.",
        ),
    ] = "off"
    validate_epochs: Annotated[
        NonNegativeInt, Meta(title="Every N epochs", description="Validate every N epochs (0: never).")
    ] = 1
    validate_steps: Annotated[
        PositiveInt | None, Meta(title="Every N batches", description="Also validate every N batches within an epoch.")
    ] = None
    follow: Annotated[
        Annotated[str, Meta(min_length=1)],
        Meta(
            title="Metric", description="Metric that selects the best weights: val_loss, or val_NAME for a metric node."
        ),
    ] = "val_loss"
    patience: Annotated[
        NonNegativeInt | None,
        Meta(
            title="Patience",
            description="Number of validations without improvement before training stops (empty: never).",
        ),
    ] = None
    min_change: Annotated[
        NonNegativeFloat,
        Meta(title="Minimum improvement", description="Minimum change of the metric that counts as an improvement."),
    ] = 0.0
    checkpoint_seconds: Annotated[
        Annotated[float, Meta(ge=1, le=MAX_FLOAT)],
        Meta(title="Every N seconds", description="Minimum seconds between checkpoints."),
    ] = 30.0
    checkpoint_steps: Annotated[
        PositiveInt | None, Meta(title="Every N batches", description="Also save a checkpoint every N batches.")
    ] = None
    checkpoints: Annotated[PositiveInt, Meta(title="Number to keep", description="Number of checkpoints to keep.")] = 2
    probe_steps: Annotated[
        NonNegativeInt,
        Meta(
            title="Measure every N batches",
            description="Measure all tensors, gradients and parameters every N batches (0: never).",
        ),
    ] = 20


class ParamRef(msgspec.Struct, frozen=True, order=True, array_like=True):
    """One parameter of one node. Written as "node.param" in files."""

    node: str
    param: str

    def __str__(self) -> str:
        return f"{self.node}.{self.param}"


class BlockOrigin(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The block of a library that a definition is a copy of."""

    library: Literal["shipped", "user"]
    name: Annotated[str, Meta(min_length=1)]
    digest: str
    """Digest of the library's block when it was copied."""


class Block(msgspec.Struct, frozen=True):
    """A definition: the graph that all nodes of type "block.NAME", its instances, stand for.

    Its nodes of type "port.Input" and "port.Output" are its ports, in the order of `nodes`.
    """

    nodes: dict[str, Node] = msgspec.field(default_factory=dict)
    wires: tuple[Wire, ...] = ()
    params: dict[str, tuple[ParamRef, ...]] = msgspec.field(default_factory=dict)
    """Promoted parameters: name at the instance → the parameters of inner nodes that it sets."""
    description: str = ""
    tags: tuple[str, ...] = ()
    """Further words by which a search finds it."""
    origin: BlockOrigin | None = None
    """The block of a library that it is a copy of."""
    frames: dict[str, Frame] = msgspec.field(default_factory=dict)
    """Frames and comments by name."""
    routes: Routes = msgspec.field(default_factory=dict)


MAX_RULES = 200

Pattern: TypeAlias = Annotated[str, Meta(min_length=1, max_length=200)]


class RenameRule(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Renames tensors of a weights file: each match of the pattern in a name is replaced."""

    pattern: Pattern
    """A regular expression, without repeated groups."""
    replacement: Annotated[str, Meta(max_length=200)] = ""
    """The new text; "\\1" is the first group of the pattern."""


class ImportedWeights(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The file that a training starts from, and how its tensors fit the parameters of the network."""

    file: Annotated[str, Meta(min_length=1, max_length=4096)]
    """Path of a weights file or a run, relative to the project."""
    part: str = ""
    """Location of the weights in a nested checkpoint."""
    rename: Annotated[tuple[RenameRule, ...], Meta(max_length=MAX_RULES)] = ()
    """Rules, applied one after another."""
    transpose: Annotated[tuple[Pattern, ...], Meta(max_length=MAX_RULES)] = ()
    """Regular expressions of the names in the file whose matrices are transposed."""


class Document(msgspec.Struct, frozen=True):
    """A whole project. `nodes` by name in order of creation; `wires` sorted, without duplicates."""

    nodes: dict[str, Node] = msgspec.field(default_factory=dict)
    wires: tuple[Wire, ...] = ()
    training: TrainingSettings = TrainingSettings()
    description: str = ""
    blocks: dict[str, Block] = msgspec.field(default_factory=dict)
    """Definitions by name."""
    frames: dict[str, Frame] = msgspec.field(default_factory=dict)
    """Frames and comments by name."""
    routes: Routes = msgspec.field(default_factory=dict)
    breakpoints: dict[str, bool] = msgspec.field(default_factory=dict)
    """Conditions at which a training pauses, and whether each is enabled. They have no effect on what trains."""
    weights: ImportedWeights | None = None
    """The weights that a training starts from."""
