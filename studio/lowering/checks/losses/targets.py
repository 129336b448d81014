"""What the targets of a loss or metric are: class numbers, one-hot vectors, or numbers."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from studio.document.graph_walk import walk
from studio.document.model import Endpoint
from studio.lowering.analysis.dataflow import Dataflow
from studio.lowering.analysis.node_evaluation import SampleSpec
from studio.lowering.analysis.value_range import ValueRange
from studio.lowering.checks.value_paths import value_path
from studio.nodes.types import Role

ONE_HOT, LABEL_ENCODE, TO_FLOAT = "transforms.OneHot", "transforms.LabelEncode", "transforms.ToFloat"
ONE_HOT_OPERATION = "functional.one_hot"


@dataclass(frozen=True, slots=True)
class Targets:
    """Targets of a loader."""

    loader: str
    end: Endpoint
    """The output of the loader."""
    source: str
    """The data source."""
    classes: int | None
    """Number of classes, also if they are encoded; None if the targets are numbers."""
    encoder: str | None
    """The node that encodes classes as one-hot vectors; None if the targets are class numbers or other numbers."""

    @property
    def are_class_numbers(self) -> bool:
        return self.classes is not None and self.encoder is None


def targets_of(flow: Dataflow, name: str, port: str = "target") -> Targets | None:
    """The targets at an input of a loss or metric; None if they are not those of a loader."""
    end = flow.graph.source(name, port)
    if end is None:
        return None
    origin = value_path(flow.graph, end)[-1]
    encoder = None
    if flow.graph.types[origin.node].key == ONE_HOT_OPERATION:
        encoder, encoded = origin.node, flow.graph.source(origin.node, "x")
        if encoded is None:
            return None
        origin = value_path(flow.graph, encoded)[-1]
    facts = flow.facts.get(origin.node)
    if facts is None or facts.type.role is not Role.LOADER or origin.port != "target":
        return None
    return _at_loader(flow, origin, encoder)


def _at_loader(flow: Dataflow, end: Endpoint, encoder: str | None) -> Targets | None:
    classes: int | None = None
    for name in data_nodes(flow, end.node):
        facts = flow.facts[name]
        samples = next(iter(facts.outputs.values()), None)
        if not isinstance(samples, SampleSpec):
            return None
        is_transform = facts.type.role is Role.TRANSFORM and facts.arguments.values.get("on") == "targets"
        if is_transform and facts.type.key == ONE_HOT:
            encoder = encoder or name
        elif is_transform and facts.type.key not in (LABEL_ENCODE, TO_FLOAT):
            return Targets(end.node, end, _source(flow, end.node), None, None)
        if classes is None and samples.classes is not None:
            classes = samples.classes
    if classes is None and encoder is not None:
        return None
    return Targets(end.node, end, _source(flow, end.node), classes, encoder)


def target_values(flow: Dataflow, targets: Targets) -> ValueRange | None:
    """The values of targets, from some samples. May read the data."""
    return flow.values(targets.loader, "targets")


def data_nodes(flow: Dataflow, loader: str) -> Iterator[str]:
    """The data nodes before a loader, the last one first."""
    return (name for name in walk([loader], lambda name: _before(flow, name)) if name != loader)


def _source(flow: Dataflow, loader: str) -> str:
    *_, source = walk([loader], lambda name: _before(flow, name))
    return source


def _before(flow: Dataflow, name: str) -> list[str]:
    inputs = flow.facts[name].type.inputs
    end = flow.graph.source(name, inputs[0].name) if inputs else None
    return [] if end is None or end.node not in flow.facts else [end.node]


__all__ = ["Targets", "data_nodes", "target_values", "targets_of"]
