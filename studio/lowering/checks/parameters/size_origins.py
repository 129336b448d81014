"""Find the upstream node that determines a size."""

from __future__ import annotations

from functools import partial

from engine.shape import Spec
from studio.document.graph_walk import walk
from studio.document.model import Endpoint
from studio.lowering.analysis.dataflow import Dataflow
from studio.lowering.analysis.node_evaluation import SampleSpec
from studio.lowering.analysis.node_facts import NodeFacts
from studio.lowering.checks.value_paths import passes_values
from studio.nodes.types import Role


def origin_of_size(flow: Dataflow, end: Endpoint, axis: int) -> str:
    """The node that determines the size of a dimension of an output, skipping nodes that keep or only move the size."""
    *_, (origin, _) = walk([(end, axis)], partial(_same_size_source, flow))
    return origin.node


def origin_of_rank(flow: Dataflow, end: Endpoint) -> str:
    """The node that determines the number of dimensions of an output."""
    *_, origin = walk([end], partial(_same_rank, flow))
    return origin.node


def _same_rank(flow: Dataflow, end: Endpoint) -> list[Endpoint]:
    """The upstream output, if it has the same number of dimensions."""
    source = _first_source(flow, end)
    if source is None or flow.facts[end.node].type.role is Role.LOADER:
        return []
    return [source] if len(_shape(flow, source)) == len(_shape(flow, end)) else []


def _same_size_source(flow: Dataflow, dimension: tuple[Endpoint, int]) -> list[tuple[Endpoint, int]]:
    """The dimension of the upstream output that the size comes from, unless the node sets it."""
    end, axis = dimension
    shape = _shape(flow, end)
    facts, source = flow.facts[end.node], _first_source(flow, end)
    if source is None or _sets_size(facts, axis, shape):
        return []
    if facts.type.role is Role.LOADER:
        return [(source, axis)] if axis > 0 and end.port == facts.type.outputs[0].name else []
    source_shape = _shape(flow, source)
    has_no_batch = facts.type.role in (Role.TRANSFORM, Role.DIVISION)
    dim = axis - 1 if has_no_batch else axis
    if passes_values(facts.type) and shape.count(shape[axis]) == source_shape.count(shape[axis]) == 1:
        return [(source, source_shape.index(shape[axis]))]
    is_same = len(source_shape) == len(shape) and source_shape[dim] == shape[dim]
    return [(source, axis)] if is_same else []


def _first_source(flow: Dataflow, end: Endpoint) -> Endpoint | None:
    node_type = flow.facts[end.node].type
    source = flow.graph.source(end.node, node_type.inputs[0].name) if node_type.inputs else None
    return source if source is not None and flow.value(source) is not None else None


def _sets_size(facts: NodeFacts, axis: int, shape: tuple[object, ...]) -> bool:
    """Whether a layer sets the size by an argument such as `out_features`, even if it equals the input size."""
    axes = [parameter.from_input.axis for parameter in facts.type.params if parameter.from_input is not None]
    has_output_size = any(parameter.name.startswith("out_") for parameter in facts.type.params)
    return has_output_size and any(inferred_axis % len(shape) == axis % len(shape) for inferred_axis in axes)


def _shape(flow: Dataflow, end: Endpoint) -> tuple[object, ...]:
    """Shape of a batch, or of the input of one sample; empty if unknown."""
    value = flow.value(end)
    if value is None:
        return ()
    if isinstance(value, SampleSpec):
        return value.input.shape
    return value.shape if isinstance(value, Spec) else ()
