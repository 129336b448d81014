"""Dataflow analysis of a graph: shapes, dtypes and arguments of each node, in topological order, without training."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import Any, TypeAlias

import msgspec

from engine.data.samples import Side
from engine.dtypes import float32, int64
from engine.shape import Dim, Spec
from studio.document.blocks.block_expansion import Expansion
from studio.document.model import Endpoint, Json, Node
from studio.lowering.analysis.activation_memory import outputs_bytes
from studio.lowering.analysis.input_scale import InputScale
from studio.lowering.analysis.node_arguments import NodeArguments, resolve_arguments, resolve_paths
from studio.lowering.analysis.node_evaluation import (
    NO_OUTCOME,
    TIMED_OUT,
    UNTRUSTED,
    NodeEvaluator,
    SampleSpec,
    SplitOutcome,
    WireValue,
)
from studio.lowering.analysis.node_facts import NodeFacts, NodeInfo
from studio.lowering.analysis.node_graph import NodeGraph, bypass_input
from studio.lowering.analysis.node_summary import summary
from studio.lowering.analysis.scope_graphs import ScopeGraph
from studio.lowering.analysis.shared_arguments import SharedArguments
from studio.lowering.analysis.training_length import data_steps, training_length
from studio.lowering.analysis.value_range import ValueRange
from studio.lowering.schedules.schedule_context import ScheduleContext, TrainingLength
from studio.lowering.user_code.code_loader import is_trusted
from studio.nodes.python_node import PYTHON, source_of
from studio.nodes.schedule_nodes import is_per_step
from studio.nodes.types import NodeType, Role

BATCH_SYMBOLS = "NMKPQRS"
"""Symbols of different batch sizes."""

CHECKED_WITHOUT_INPUTS = frozenset({Role.SOURCE, Role.OPTIMIZER})
"""Roles whose arguments are checked without inputs."""

Changes: TypeAlias = Mapping[str, Mapping[str, Json]]
"""Other values of parameters, by node."""


class Dataflow:
    """The facts of all nodes of a flat graph. Facts of `previous` are reused for nodes that did not change.

    Args:
        base: folder that relative paths in parameters start from
        previous: the dataflow of an earlier version of the document
    """

    def __init__(
        self,
        expansion: Expansion,
        graph: NodeGraph,
        scopes: tuple[ScopeGraph, ...],
        evaluator: NodeEvaluator,
        base: Path | None,
        previous: Dataflow | None = None,
    ) -> None:
        self.expansion = expansion
        self.document = document = expansion.flat
        """The document with its flat graph."""
        self.graph = graph
        self.scope_graphs = scopes
        """The canvas and the definitions in use, with their instances as nodes."""
        self.facts: dict[str, NodeFacts] = {}
        """In topological order; nodes in or after a cycle are absent."""
        self.batch_dimensions: dict[Any, Dim] = {}
        """Symbol by batch size of the loaders of the run, in the order of computation."""
        self.base = base
        self._evaluator = evaluator
        self._length: TrainingLength | None = None
        reusable = {} if previous is None else previous.facts
        evaluator.begin_check()
        self.sharing = tuple(name for name, node in document.nodes.items() if node.shares)
        """The nodes that use the weights of another one."""
        shared = SharedArguments(document.nodes) if self.sharing else None
        for name in graph.order:
            node, node_type = document.nodes[name], graph.types[name]
            given = None
            if shared is not None:
                node, given = shared.node(name, self.facts), shared.given(name)
            inputs, length = self._inputs(name), self._length_for(name)
            facts = reusable.get(name)
            if facts is None or facts.length != length or not _is_current(facts, node, node_type, inputs, given):
                facts = _analyze_node(node, node_type, inputs, evaluator, base, length, given)
            if shared is not None:
                facts = shared.record(name, facts)
            self.facts[name] = self._with_batch_dimension(name, facts) if node_type.role is Role.LOADER else facts

    def value(self, end: Endpoint) -> WireValue | None:
        """The value of an output, if it is known."""
        facts = self.facts.get(end.node)
        return None if facts is None else facts.outputs.get(end.port)

    def count(self, name: str) -> int | None:
        """Number of training samples at a node; None if they cannot be read. May read the data."""
        steps = data_steps(name, self.graph, self.facts, self.base)
        return self._evaluator.count(steps) if steps else None

    def length(self) -> TrainingLength:
        """The length of the training. May read the data to count samples."""
        if self._length is None:
            self._length = training_length(self.document, self.graph, self.facts, self._evaluator, self.base)
        return self._length

    def scale(self, name: str) -> InputScale | None:
        """Range of the inputs at a node in some training samples; None if they cannot be read."""
        steps = data_steps(name, self.graph, self.facts, self.base, transformed=True)
        return self._evaluator.scale(steps) if steps else None

    def values(self, name: str, on: Side) -> ValueRange | None:
        """Values of the inputs or targets at a node in some training samples; None if they cannot be read."""
        steps = data_steps(name, self.graph, self.facts, self.base, transformed=True)
        return self._evaluator.values(steps, on) if steps else None

    def split(self, name: str) -> SplitOutcome | None:
        """Result of a split node; None if it has no samples. May read the data."""
        steps = data_steps(name, self.graph, self.facts, self.base, transformed=True)
        return self._evaluator.split(steps) if steps else None

    def with_params(self, name: str, changes: Changes, budget: int) -> tuple[NodeFacts | None, int]:
        """The facts that a node would have if it and nodes before it had other parameters, and the evaluated nodes.

        None if more than `budget` nodes are between them, or if one of them shares its weights.
        """
        between = self._between(changes, name)
        if len(between) > budget or any(self.document.nodes[each].shares for each in between):
            return None, 0
        tried: dict[str, NodeFacts] = {}
        for each in sorted(between, key=self._positions.__getitem__):
            node, node_type = self.document.nodes[each], self.graph.types[each]
            if each in changes:
                node = msgspec.structs.replace(node, params={**node.params, **changes[each]})
            sources = self.graph.input_sources[each].items()
            values = {
                port: tried[end.node].outputs.get(end.port) if end.node in tried else self.value(end)
                for port, end in sources
            }
            inputs = {port: value for port, value in values.items() if value is not None}
            tried[each] = _analyze_node(node, node_type, inputs, self._evaluator, self.base, None, None)
        return tried.get(name), len(between)

    def accepts(self, name: str, inputs: Mapping[str, WireValue]) -> bool:
        """Whether a node works with other inputs."""
        facts = self.facts[name]
        first = _tensor(inputs.get(facts.type.inputs[0].name))
        arguments = resolve_arguments(facts.type, facts.node.params, first)
        if not _is_complete(facts.type, arguments, inputs):
            return False
        return not self._evaluator.evaluate(facts.type, arguments.values, inputs).failure

    def _between(self, changed: Iterable[str], name: str) -> set[str]:
        """The node, the changed nodes, and those on the paths from them to it."""
        before, found = self.graph.upstream([name]), set(changed)
        waiting = list(found)
        while waiting:
            for wire in self.graph.outgoing_wires.get(waiting.pop(), ()):
                if wire.target.node in before and wire.target.node not in found:
                    found.add(wire.target.node)
                    waiting.append(wire.target.node)
        return found

    @cached_property
    def _positions(self) -> dict[str, int]:
        """The position of each node in the order of computation."""
        return {name: index for index, name in enumerate(self.graph.order)}

    def _inputs(self, name: str) -> dict[str, WireValue]:
        sources = self.graph.input_sources[name].items()
        return {port: value for port, end in sources if (value := self.value(end)) is not None}

    def _with_batch_dimension(self, name: str, facts: NodeFacts) -> NodeFacts:
        """The facts of a loader with the symbol of its batch size; equal sizes have one symbol."""
        if not facts.outputs or name not in self.graph.needed:
            return facts
        size = facts.arguments.values.get("batch_size")
        symbol = self.batch_dimensions.setdefault(
            size, Dim(BATCH_SYMBOLS[len(self.batch_dimensions) % len(BATCH_SYMBOLS)])
        )
        if all(isinstance(value, Spec) and value.shape[0] == symbol for value in facts.outputs.values()):
            return facts
        outputs = {
            port: value.with_shape((symbol, *value.shape[1:])) if isinstance(value, Spec) else value
            for port, value in facts.outputs.items()
        }
        info = replace(facts.info, outputs={port: each for port, each in outputs.items() if isinstance(each, Spec)})
        labels = {port: str(value) for port, value in outputs.items()}
        return replace(facts, outputs=outputs, info=info, labels=labels)

    def _length_for(self, name: str) -> TrainingLength | None:
        """The training length, for an optimizer with schedules. Data nodes are evaluated before it."""
        graph = self.graph
        if graph.types[name].role is not Role.OPTIMIZER or not graph.outgoing_wires.get(name):
            return None
        return self.length()


def _is_current(
    facts: NodeFacts,
    node: Node,
    node_type: NodeType,
    inputs: Mapping[str, WireValue],
    given: NodeArguments | None,
) -> bool:
    """Whether earlier facts can be reused. Data sources are always evaluated again, because files may have changed."""
    if facts.outcome is TIMED_OUT or (given is not None and given != facts.arguments):
        return False
    if node_type.key == PYTHON and is_trusted(source_of(node.params)) == (facts.outcome is UNTRUSTED):
        return False
    previous_node = facts.node
    if previous_node.shares != node.shares:
        return False
    is_same = previous_node is node or (previous_node.params is node.params and previous_node.muted == node.muted)
    return is_same and facts.type is node_type and facts.inputs == inputs and node_type.role is not Role.SOURCE


def _analyze_node(
    node: Node,
    node_type: NodeType,
    inputs: Mapping[str, WireValue],
    evaluator: NodeEvaluator,
    base: Path | None,
    length: TrainingLength | None,
    given: NodeArguments | None,
) -> NodeFacts:
    """The facts of a node.

    Args:
        given: the arguments, if another node of the same layer determines them
    """
    first_value = inputs.get(node_type.inputs[0].name) if node_type.inputs else None
    arguments = given or resolve_arguments(
        node_type, node.params, _tensor(first_value), _remaining_training(node_type, node, first_value)
    )
    outcome = NO_OUTCOME
    if not node.muted and _is_complete(node_type, arguments, inputs):
        used_inputs: Mapping[str, WireValue] = {} if node_type.role in CHECKED_WITHOUT_INPUTS else inputs
        outcome = evaluator.evaluate(node_type, resolve_paths(node_type, arguments.values, base), used_inputs)
    outputs = _pass_through(node_type, inputs) if node.muted else outcome.outputs
    if outcome.fails_on == "inputs" and node_type.role is Role.LAYER:
        outputs = _recovered_outputs(node_type, node, inputs, evaluator)
    if length is not None and node_type.target is not None and not (node.muted or outcome.failure):
        context = ScheduleContext(node_type.target, tuple(arguments.values.items()), length)
        outputs = {port.name: context for port in node_type.outputs}
    info = NodeInfo(
        arguments=arguments.values,
        inferred=arguments.inferred,
        outputs={port: value for port, value in outputs.items() if isinstance(value, Spec)},
        parameters=outcome.parameters,
        macs=outcome.macs,
        memory=outputs_bytes(outcome.outputs.values()),
        summary=summary(node_type, arguments, inputs, outcome.outputs),
    )
    labels = {port: str(value) for port, value in outputs.items()}
    return NodeFacts(node, node_type, arguments, inputs, outcome, outputs, info, labels, length)


def _recovered_outputs(
    node_type: NodeType, node: Node, inputs: Mapping[str, WireValue], evaluator: NodeEvaluator
) -> Mapping[str, WireValue]:
    """The outputs of a layer that refuses its inputs because of sizes that the wire would give, or because of their
    dtype, so that later shapes are shown; empty if this is not the reason."""
    inferable = {parameter.name for parameter in node_type.params if parameter.from_input is not None}
    without_sizes = {param: value for param, value in node.params.items() if param not in inferable}
    for values in (inputs, _with_other_dtype(inputs)):
        for params in (node.params, without_sizes):
            if values is inputs and len(params) == len(node.params):
                continue  # the outcome that failed
            arguments = resolve_arguments(node_type, params, _tensor(values.get(node_type.inputs[0].name)))
            if arguments.problems or arguments.is_incomplete:
                continue
            if outputs := evaluator.evaluate(node_type, arguments.values, values).outputs:
                return outputs
    return {}


def _with_other_dtype(inputs: Mapping[str, WireValue]) -> dict[str, WireValue]:
    """Floating-point tensors as int64, others as float32."""
    return {
        port: Spec(value.shape, int64 if value.dtype.is_floating_point else float32)
        if isinstance(value, Spec)
        else value
        for port, value in inputs.items()
    }


def _tensor(value: WireValue | None) -> Spec | None:
    """The tensor whose dimensions arguments are inferred from: a batch, or the input of one sample."""
    found = value.input if isinstance(value, SampleSpec) else value
    return found if isinstance(found, Spec) else None


def _remaining_training(node_type: NodeType, node: Node, value: WireValue | None) -> int | None:
    """Remaining length of the training for a schedule."""
    return value.remaining(per_step=is_per_step(node_type, node.params)) if isinstance(value, ScheduleContext) else None


def _is_complete(node_type: NodeType, arguments: NodeArguments, inputs: Mapping[str, WireValue]) -> bool:
    if arguments.problems or arguments.is_incomplete:
        return False
    return node_type.role in CHECKED_WITHOUT_INPUTS or all(
        port.optional or port.name in inputs or arguments.values.get(port.name) is not None for port in node_type.inputs
    )


def _pass_through(node_type: NodeType, inputs: Mapping[str, WireValue]) -> dict[str, WireValue]:
    bypasses = {port.name: bypass_input(node_type, port.name) for port in node_type.outputs}
    return {
        name: inputs[input_port]
        for name, input_port in bypasses.items()
        if input_port is not None and input_port in inputs
    }
