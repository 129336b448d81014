"""Mistakes of networks that carry a state from batch to batch."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator

from engine.nn import CarriedState
from engine.shape import Spec
from studio.document.model import Endpoint, Node
from studio.document.weight_sharing import layer_of
from studio.lowering.analysis.dataflow import Dataflow
from studio.lowering.analysis.node_evaluation import SampleSpec
from studio.lowering.analysis.node_facts import NodeFacts
from studio.lowering.problems import quick_fixes
from studio.lowering.problems.problem import Fix, Problem
from studio.nodes.types import Role

CARRY_STATE = "carry_state"
"""The parameter of recurrent layers that makes them carry their state."""
CONTIGUOUS = "contiguous"
"""The parameter of a loader whose batches continue each other."""


def state_problems(flow: Dataflow) -> Iterator[Problem]:
    graph = flow.graph
    nodes = [name for name in flow.facts if name in graph.needed and _carries_state(flow.facts[name])]
    if not nodes:
        return
    upstream = graph.upstream(nodes)
    for loader in graph.with_role(Role.LOADER):
        if loader in upstream and loader in flow.facts:
            carrying = next(name for name in nodes if loader in graph.upstream([name]))
            yield from _check_loader(flow, loader, carrying)
    yield from _check_calls(flow, nodes)


def _carries_state(facts: NodeFacts) -> bool:
    return facts.type.target is CarriedState or facts.arguments.values.get(CARRY_STATE) is True


def _check_loader(flow: Dataflow, loader: str, carrying: str) -> Iterator[Problem]:
    """Batches that do not continue each other, because of the loader or of the samples."""
    facts = flow.facts[loader]
    samples = next(iter(facts.inputs.values()), None)
    if not facts.arguments.values.get(CONTIGUOUS):
        message = (
            f"{carrying} continues each row of a batch in the next batch, but {loader} puts other samples there. "
            f"Turn {CONTIGUOUS} on."
        )
        fix = quick_fixes.assign(loader, CONTIGUOUS, True)
        yield Problem("warning", "state-order", message, node=loader, affected=carrying, fix=fix)
    for name in flow.graph.upstream([loader]):
        role = flow.graph.types[name].role
        if role is Role.DIVISION:
            reason = f"{name} splits them at random"
            yield _discontinuity(flow, name, carrying, reason, "Split by position in the data source instead.")
        elif role is Role.SOURCE and isinstance(samples, SampleSpec) and samples.discontinuity:
            yield _discontinuity(flow, name, carrying, samples.discontinuity, "")


def _discontinuity(flow: Dataflow, name: str, carrying: str, reason: str, remedy: str) -> Problem:
    params = flow.document.nodes[name].params
    fix = None
    if "stride" in params:
        fix, remedy = quick_fixes.clear(name, "stride"), "Clear stride."
    elif not remedy:
        remedy = f"Use samples in order of time, or turn the state of {carrying} off."
    message = f"{carrying} carries its state to the next sample, but the samples do not continue each other: {reason}."
    return Problem("warning", "state-gaps", f"{message} {remedy}", node=name, affected=carrying, fix=fix)


def _check_calls(flow: Dataflow, nodes: list[str]) -> Iterator[Problem]:
    """Each state must be read, and be kept by exactly one node."""
    document = flow.document.nodes
    calls: dict[str, list[str]] = defaultdict(list)
    for name in nodes:
        calls[layer_of(document, name)].append(name)
    for layer, users in calls.items():
        is_state = flow.facts[users[0]].type.target is CarriedState
        keeping = [name for name in users if not is_state or "value" in flow.graph.sources(name)]
        if len(keeping) > 1:
            first, second = keeping[:2]
            message = (
                f"{first} and {second} share their weights and thus one state, so that {second} would continue the "
                f"state of {first} within a batch. Use separate weights for {second}."
            )
            fix = quick_fixes.separate_weights(second) if document[second].shares and "." not in second else None
            yield Problem("error", "state-shared", message, node=second, fix=fix)
        elif not keeping:
            message = (
                f"No node keeps a value for {layer}, so its state is always zero. Add a copy of {layer} that shares "
                "its weights, and connect the new state to its input value."
            )
            yield Problem("warning", "state-unused", message, node=layer, fix=_kept_state(flow, layer))
        elif is_state and len(users) == 1:
            message = (
                f"No node reads the state that {layer} keeps. Add a copy of {layer} that shares its weights, and "
                "connect a batch to its input batch."
            )
            yield Problem("warning", "state-unused", message, node=layer, fix=_read_state(flow, layer))


def _kept_state(flow: Dataflow, layer: str) -> Fix | None:
    """A fix that keeps the output of the only node that reads a state."""
    readers = flow.graph.readers(Endpoint(layer, "output"))
    reader = readers[0].node if len(readers) == 1 else None
    if reader is None or len(flow.graph.types[reader].outputs) != 1 or "." in layer:
        return None
    end = Endpoint(reader, flow.graph.types[reader].outputs[0].name)
    state, found = flow.facts[layer].outputs.get("output"), flow.facts[reader].outputs.get(end.port)
    if not isinstance(state, Spec) or not isinstance(found, Spec) or state.shape[1:] != found.shape[1:]:
        return None
    copy = Node(flow.graph.types[layer].key, shares=layer)
    return quick_fixes.insert_behind(end, copy, title=f"Keep the output of {reader}", input_port="value")


def _read_state(flow: Dataflow, layer: str) -> Fix | None:
    """A fix that reads a state where the node that computes it takes one."""
    end = flow.graph.source(layer, "value")
    if end is None or "." in layer:
        return None
    node_type, sources = flow.graph.types[end.node], flow.graph.sources(end.node)
    unfed = [port.name for port in node_type.inputs if port.optional and port.name not in sources]
    batch = sources.get(node_type.inputs[0].name) if node_type.inputs else None
    if len(unfed) != 1 or batch is None:
        return None
    copy, target = Node(flow.graph.types[layer].key, shares=layer), Endpoint(end.node, unfed[0])
    return quick_fixes.feed(batch, copy, target, title=f"Read the state at {target}", input_port="batch")
