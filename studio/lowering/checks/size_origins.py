"""Finds the upstream node that determined a size."""

from __future__ import annotations

from functools import partial

from engine.shape import Spec
from studio.document.graph_walk import walk
from studio.document.model import Endpoint
from studio.lowering.analysis.dataflow import Dataflow
from studio.lowering.analysis.node_evaluation import SampleSpec
from studio.lowering.analysis.node_facts import NodeFacts
from studio.nodes.types import Role


def origin_of_size(flow: Dataflow, end: Endpoint, axis: int) -> str:
    """The node that decided the size of one dimension of what leaves `end`; layers that only pass it on are skipped."""
    *_, origin = walk([end], partial(_before, flow, axis))
    return origin.node


def origin_of_rank(flow: Dataflow, end: Endpoint) -> str:
    """The node that decided how many dimensions a tensor has."""
    *_, origin = walk([end], partial(_same_rank, flow))
    return origin.node


def _same_rank(flow: Dataflow, end: Endpoint) -> list[Endpoint]:
    """The output upstream that has as many dimensions."""
    source = _first_source(flow, end)
    if source is None or flow.facts[end.node].type.role is Role.LOADER:
        return []
    return [source] if len(_shape(flow, source)) == len(_shape(flow, end)) else []


def _before(flow: Dataflow, axis: int, end: Endpoint) -> list[Endpoint]:
    """The output upstream that has the same size in the same dimension, if a node may just have passed it on."""
    shape = _shape(flow, end)
    facts, source = flow.facts[end.node], _first_source(flow, end)
    if source is None or _decides(facts, axis, shape):
        return []
    if facts.type.role is Role.LOADER:
        return [source] if axis > 0 and end.port == facts.type.outputs[0].name else []
    above = _shape(flow, source)
    sampled = facts.type.role in (Role.TRANSFORM, Role.DIVISION)
    dim = axis - 1 if sampled else axis
    same = len(above) == len(shape) and above[dim] == shape[dim]
    return [source] if same else []


def _first_source(flow: Dataflow, end: Endpoint) -> Endpoint | None:
    node_type = flow.facts[end.node].type
    source = flow.graph.source(end.node, node_type.inputs[0].name) if node_type.inputs else None
    return source if source is not None and flow.value(source) is not None else None


def _decides(facts: NodeFacts, axis: int, shape: tuple[object, ...]) -> bool:
    """Whether a layer with `in_features` and `out_features` made the size itself, even if both are equal."""
    axes = [parameter.from_input.axis for parameter in facts.type.params if parameter.from_input is not None]
    sizes = any(parameter.name.startswith("out_") for parameter in facts.type.params)
    return sizes and any(own % len(shape) == axis % len(shape) for own in axes)


def _shape(flow: Dataflow, end: Endpoint) -> tuple[object, ...]:
    """Of a batch, or of one sample's input; empty if nothing is known of it."""
    value = flow.value(end)
    if value is None:
        return ()
    if isinstance(value, SampleSpec):
        return value.input.shape
    return value.shape if isinstance(value, Spec) else ()
