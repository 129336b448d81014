"""The conditions of a step, as data. They are on the graph and on measurements, never on text that the learner writes.

A node is named by its name or path, or as "@TYPE" for any node of a type, because learners choose names themselves.
"""

from __future__ import annotations

from typing import Annotated, Literal, TypeAlias

from msgspec import UNSET, Meta, Struct, UnsetType

from studio.document.model import Json

NodeRef: TypeAlias = Annotated[str, Meta(pattern=r"^@?[^\s@]+$", max_length=200)]
"""A node by name or path, or "@TYPE"."""
PortRef: TypeAlias = Annotated[str, Meta(pattern=r"^@?[^\s@]+\.[^\s.@]+$", max_length=200)]
"""A port as "NODE.PORT" or "@TYPE.PORT"."""

Which: TypeAlias = Literal["final", "best", "first"]
Statistic: TypeAlias = Literal["value", "mean", "std", "min", "max", "zeros"]


class BaseCondition(
    Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True, kw_only=True, tag_field="check"
):
    """Base of all conditions. The two texts replace those that are derived from the condition."""

    goal: str = ""
    """What is to be reached, as the checklist of the step shows it."""
    feedback: str = ""
    """What to say while it is not reached."""


class NodeExists(BaseCondition, frozen=True, kw_only=True, tag="node"):
    """There is a node, or a number of nodes of a type, if given on a path between two nodes."""

    node: NodeRef
    """The node, or "@TYPE"."""
    after: NodeRef | None = None
    """They lie on a path from this node."""
    before: NodeRef | None = None
    """They lie on a path to this node."""
    at_least: int = 1
    """Smallest number of such nodes."""
    at_most: int | None = None
    """Largest number of such nodes; 0: there must be none."""


class ParameterIs(BaseCondition, frozen=True, kw_only=True, tag="parameter"):
    """A parameter of a node has a value, or lies in a range; inferred and default values count."""

    node: NodeRef
    """The node, or "@TYPE"."""
    param: str
    """Name of the parameter."""
    equals: Json | UnsetType = UNSET
    """The value."""
    at_least: float | None = None
    """Smallest value."""
    at_most: float | None = None
    """Largest value."""


class FlagIs(BaseCondition, frozen=True, kw_only=True, tag="flag"):
    """A node is muted, frozen or recomputed, or not."""

    node: NodeRef
    """The node, or "@TYPE"."""
    flag: Literal["muted", "frozen", "recomputed"]
    """The flag."""
    equals: bool = True
    """Whether it must be set."""


class WireExists(BaseCondition, frozen=True, kw_only=True, tag="wire"):
    """There is a wire between two ports, or none."""

    source: PortRef
    """The output."""
    target: PortRef
    """The input."""
    exists: bool = True
    """Whether there must be one."""


class ShapeIs(BaseCondition, frozen=True, kw_only=True, tag="shape"):
    """An output has a shape, a data type or both."""

    output: PortRef
    """The output."""
    shape: tuple[int | str, ...] | None = None
    """Sizes; "N" for the size of the batch and "*" for any size."""
    dtype: str = ""
    """Data type, such as "int64"; empty for any."""


class NoProblems(BaseCondition, frozen=True, kw_only=True, tag="no problems"):
    """The check finds no problems of this severity or a worse one."""

    severity: Literal["error", "warning", "hint"] = "error"
    """The least severe problems that count."""
    at_nodes: bool = False
    """Only problems of nodes count: a graph that is not trained lacks a data source, a loss and an optimizer."""


class ProblemExists(BaseCondition, frozen=True, kw_only=True, tag="problem"):
    """The check finds a problem, as in a step that asks for one."""

    code: str
    """Code of the problem."""
    node: NodeRef | None = None
    """The node, or "@TYPE"."""


class ParametersAre(BaseCondition, frozen=True, kw_only=True, tag="parameters"):
    """The number of trainable parameters lies in a range."""

    at_least: int | None = None
    """Smallest number."""
    at_most: int | None = None
    """Largest number."""


class FigureIs(BaseCondition, frozen=True, kw_only=True, tag="figure"):
    """A figure of the last run, which must have trained the present graph, lies in a range."""

    figure: str
    """"train_loss", "val_loss", or "train_NAME" or "val_NAME" of a metric node."""
    which: Which = "final"
    """The last, the best or the first value. The best loss is the lowest, the best of other figures the highest."""
    at_least: float | None = None
    """Smallest value."""
    at_most: float | None = None
    """Largest value."""


class RunExists(BaseCondition, frozen=True, kw_only=True, tag="run"):
    """A run that trained to its end has these settings and parameters. Without any, the last run trained the graph."""

    settings: dict[str, Json] = {}
    """Training settings by name."""
    params: dict[PortRef, Json] = {}
    """Parameters as "NODE.PARAM"."""
    epochs: int | None = None
    """It trained at least this number of epochs."""
    resumed: bool = False
    """It was resumed from a checkpoint."""
    least_graph_breaks: Annotated[int, Meta(ge=0)] | None = None
    """Its steps were compiled, with at least this number of graph breaks."""
    most_graph_breaks: Annotated[int, Meta(ge=0)] | None = None
    """Its steps were compiled, with at most this number of graph breaks."""
    at_least: int = 1
    """Number of such runs."""
    only_last: bool = False
    """Only the last run counts, which must have trained the present graph."""


class ValueIs(BaseCondition, frozen=True, kw_only=True, tag="value"):
    """The values of the tensor at an output, for the first batch and with the weights of the last run."""

    output: PortRef
    """The output."""
    statistic: Statistic = "value"
    """"value": all elements are equal."""
    equals: float | None = None
    """The value."""
    tolerance: float = 1e-4
    """Distance from the value up to which it counts as equal."""
    at_least: float | None = None
    """Smallest value."""
    at_most: float | None = None
    """Largest value."""


class SettingIs(BaseCondition, frozen=True, kw_only=True, tag="setting"):
    """A training setting has a value, or lies in a range."""

    setting: str
    """Name of the setting."""
    equals: Json | UnsetType = UNSET
    """The value."""
    at_least: float | None = None
    """Smallest value."""
    at_most: float | None = None
    """Largest value."""


class SelectionIs(BaseCondition, frozen=True, kw_only=True, tag="selected"):
    """A node is selected."""

    node: NodeRef
    """The node, or "@TYPE"."""


Condition: TypeAlias = (
    NodeExists
    | ParameterIs
    | FlagIs
    | WireExists
    | ShapeIs
    | NoProblems
    | ProblemExists
    | ParametersAre
    | FigureIs
    | RunExists
    | ValueIs
    | SettingIs
    | SelectionIs
)

__all__ = [
    "Condition",
    "FigureIs",
    "FlagIs",
    "NoProblems",
    "NodeExists",
    "NodeRef",
    "ParameterIs",
    "ParametersAre",
    "PortRef",
    "ProblemExists",
    "RunExists",
    "SelectionIs",
    "SettingIs",
    "ShapeIs",
    "Statistic",
    "ValueIs",
    "Which",
    "WireExists",
]
