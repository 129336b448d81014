"""Facts of a run besides its events: its graph, its optimizer and its settings."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from studio.document.graph_walk import walk
from studio.document.model import Document, Endpoint
from studio.lowering.analysis.dataflow import Dataflow
from studio.lowering.problems import quick_fixes
from studio.lowering.problems.problem import Fix
from studio.lowering.report import Report
from studio.nodes.catalogue import Catalogue
from studio.nodes.python_node import PYTHON
from studio.nodes.types import NodeType, Role
from studio.training.diagnosis.constant_loss import constant_loss

_WIDTHS = ("out_features", "hidden_size")
"""Parameters for the number of outputs of a layer. Few channels with many pixels are not narrow."""
_FEW_UNITS = 4
_NEUTRAL = frozenset({"nn.Flatten", "nn.Identity", "nn.Dropout", "nn.BatchNorm1d", "nn.LayerNorm"})
"""Layers that do not make a linear model another one."""
_SELECTING = frozenset({"ops.select", "studio.Slice"})
RECURRENT = frozenset({"nn.RNN", "nn.LSTM", "nn.GRU", "nn.RNNCell", "nn.LSTMCell", "nn.GRUCell"})


@dataclass(frozen=True, slots=True)
class Recurrence:
    """A recurrent layer without gates."""

    steps: int
    """Length of its sequences."""
    hidden_size: int


@dataclass(frozen=True, slots=True)
class RunFacts:
    """A run."""

    document: Document
    """The flat document."""
    catalogue: Catalogue
    types: Mapping[str, NodeType]
    """Type of each node by path."""
    mixed_precision: str
    is_explained: bool = False
    """Whether a known problem explains a run that learns badly."""
    starts_trained: bool = False
    """Whether the run starts from weights of another run, or where an earlier one ended."""
    is_fine_tuning: bool = False
    """Whether layers are frozen, or the run starts from trained weights: small steps are intended."""
    reported: frozenset[str] = frozenset()
    """Nodes with a problem that the check has reported."""
    narrowest: tuple[str, str, int] | None = None
    """The hidden layer with the fewest outputs, if it has fewer than the last layer or very few: node, parameter and
    value."""
    only_layer: str | None = None
    """The layer with weights, if there is exactly one."""
    data_node: str | None = None
    """The source of the training data."""
    constant_loss: float | None = None
    """The loss of the best constant output, if it is known."""
    recurrences: Mapping[str, Recurrence] = field(default_factory=dict[str, Recurrence])
    """The recurrent layers without gates, whose gradients fade with each step."""

    @classmethod
    def of(cls, report: Report, catalogue: Catalogue, is_explained: bool, *, starts_trained: bool) -> RunFacts:
        """The facts of a checked document.

        Args:
            is_explained: whether a known problem explains a run that learns badly
        """
        flow = report.checked
        nodes = flow.document.nodes
        types = {name: facts.type for name, facts in flow.facts.items() if not nodes[name].muted}
        return cls(
            flow.document,
            catalogue,
            types,
            flow.document.training.mixed_precision,
            is_explained=is_explained,
            starts_trained=starts_trained,
            is_fine_tuning=starts_trained or any(node.frozen for node in nodes.values()),
            reported=frozenset(each.node for each in report.problems if each.node is not None),
            narrowest=_narrowest(flow),
            only_layer=_only_layer(flow, types),
            data_node=next((name for name, kind in types.items() if kind.role is Role.SOURCE), None),
            constant_loss=constant_loss(flow),
            recurrences=_recurrences(flow),
        )

    @property
    def optimizer(self) -> str | None:
        """The optimizer, if there is exactly one."""
        found = [name for name, kind in self.types.items() if kind.role is Role.OPTIMIZER]
        return found[0] if len(found) == 1 else None

    def node_of(self, path: str) -> str | None:
        """The node that a path of a module or parameter belongs to: the longest prefix that is a node."""
        while path:
            if path in self.types:
                return path
            path = path.rpartition(".")[0]
        return None

    @property
    def is_recurrent(self) -> bool:
        return any(kind.key in RECURRENT for kind in self.types.values())

    def has_code(self, node: str | None) -> bool:
        """Whether a node runs code of the user, without a problem that the check has reported there."""
        return node is not None and self.has_source(node) and node not in self.reported

    def has_source(self, node: str) -> bool:
        """Whether a node is written in Python."""
        return node in self.types and self.types[node].key == PYTHON

    def rate(self) -> float | None:
        """The learning rate of the optimizer, if it is a number."""
        value = self._lr()
        return value if isinstance(value, (int, float)) and not isinstance(value, bool) else None

    def _lr(self) -> object:
        name = self.optimizer
        declared = None if name is None else self.types[name].param("lr")
        if name is None or declared is None:
            return None
        return self.document.nodes[name].params.get("lr", declared.default) if name in self.document.nodes else None

    def rate_fix(self, rate: float) -> Fix | None:
        """Set the learning rate."""
        name = self.optimizer
        return None if name is None or self.rate() is None else quick_fixes.assign(name, "lr", rate)


def _narrowest(flow: Dataflow) -> tuple[str, str, int] | None:
    widths = [
        (name, param, facts.arguments.values[param])
        for name, facts in flow.facts.items()
        for param in _WIDTHS
        if param in facts.arguments.values and not facts.node.muted
    ]
    hidden = [each for each in widths[:-1] if isinstance(each[2], int)]
    found = min(hidden, key=lambda each: each[2], default=None)
    outputs = widths[-1][2] if widths else None
    if found is None or not isinstance(outputs, int) or found[2] >= max(outputs, _FEW_UNITS):
        return None
    return found


def _recurrences(flow: Dataflow) -> dict[str, Recurrence]:
    found: dict[str, Recurrence] = {}
    for name in flow.graph.with_key(("nn.RNN",)):
        spec = flow.facts[name].spec("input") if name in flow.facts else None
        if spec is None or spec.ndim != 3 or name in flow.graph.muted:
            continue
        values = flow.facts[name].arguments.values
        steps, size = spec.shape[1 if values.get("batch_first", True) else 0], values.get("hidden_size")
        if isinstance(steps, int) and isinstance(size, int) and _fades(flow, name):
            found[name] = Recurrence(steps, size)
    return found


def _fades(flow: Dataflow, name: str) -> bool:
    """Whether gradients fade with each step: in a tanh recurrence, whose result is one step of the sequence."""
    if flow.facts[name].arguments.values.get("nonlinearity") == "relu":
        return False

    def after(end: Endpoint) -> list[Endpoint]:
        readers = flow.graph.readers(end)
        dropouts = [each.node for each in readers if flow.graph.types[each.node].group == "Dropout"]
        return [Endpoint(each, "output") for each in dropouts]

    ends = list(walk([Endpoint(name, "output")], after))
    kinds = [flow.graph.types[each.node] for end in ends for each in flow.graph.readers(end)]
    return all(kind.key in _SELECTING or kind.group == "Dropout" for kind in kinds)


def _only_layer(flow: Dataflow, types: Mapping[str, NodeType]) -> str | None:
    """The only linear layer of a network without others, in the document itself."""
    found = [name for name, kind in types.items() if kind.role is Role.LAYER and kind.key not in _NEUTRAL]
    return (
        found[0] if len(found) == 1 and found[0] in flow.document.nodes and types[found[0]].key == "nn.Linear" else None
    )


def rounded_rate(rate: float) -> float:
    """A learning rate with one digit: 0.00316 is 0.003."""
    return float(f"{rate:.0e}")


__all__ = ["RunFacts", "rounded_rate"]
