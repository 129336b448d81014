"""Problems of nodes that use the weights of another node."""

from __future__ import annotations

from collections.abc import Iterator

from engine.registry import Parameter
from studio.document.weight_sharing import MATRICES, can_share, is_same_layer, owner_of, tied_to
from studio.lowering.analysis.dataflow import Dataflow
from studio.lowering.analysis.node_facts import NodeFacts
from studio.lowering.analysis.node_graph import NodeGraph
from studio.lowering.problems import quick_fixes
from studio.lowering.problems.problem import Problem


def owner_problems(graph: NodeGraph) -> Iterator[Problem]:
    """Nodes of a graph whose owner is missing, muted, of another type, or shares their weights in turn."""
    nodes = graph.document.nodes
    for name, node in nodes.items():
        if node.shares and (reason := _refusal(graph, name, node.shares)):
            message = f"{name} cannot use the weights of {node.shares}: {reason}. Use separate weights for {name}."
            yield Problem("error", "shared-weights", message, node=name, fix=quick_fixes.separate_weights(name))


def sharing_problems(flow: Dataflow) -> Iterator[Problem]:
    """Owners outside the run, and tied matrices of different shapes."""
    nodes, needed = flow.document.nodes, flow.graph.needed
    for name in flow.sharing:
        owner = owner_of(nodes, name)
        if owner == name or name not in needed or owner in flow.graph.muted:
            continue
        if owner not in needed:
            message = f"{name} uses the weights of {owner}, which is not part of the run. Connect {owner}."
            yield Problem("error", "shared-weights", message, node=owner, affected=name)
        elif tied_to(nodes, name) is not None and name in flow.facts and owner in flow.facts:
            yield from _check_tied_sizes(name, flow.facts[name], owner, flow.facts[owner])


def shared_shape(flow: Dataflow, name: str, facts: NodeFacts) -> Problem | None:
    """An input that does not fit the weights of another node."""
    nodes = flow.document.nodes
    if not is_same_layer(nodes, name) or all(_fits(facts, parameter) for parameter in facts.type.params):
        return None
    owner = owner_of(nodes, name)
    message = f"{name} uses the weights of {owner}, which do not fit its input: {facts.outcome.failure}."
    message = f"{message.rstrip('.')}. Use separate weights for {name}."
    fix = quick_fixes.separate_weights(name) if "." not in name else None
    return Problem("error", "shared-weights", message, node=name, fix=fix)


def _fits(facts: NodeFacts, parameter: Parameter) -> bool:
    """Whether a size of the layer is that of the node's input."""
    spec = facts.spec(facts.type.inputs[0].name) if facts.type.inputs else None
    if spec is None or parameter.from_input is None or not -spec.ndim <= parameter.from_input.axis < spec.ndim:
        return True
    return spec.shape[parameter.from_input.axis] == facts.arguments.values.get(parameter.name)


def _refusal(graph: NodeGraph, name: str, owner: str) -> str | None:
    nodes = graph.document.nodes
    if owner not in nodes:
        return "there is no such node"
    if owner_of(nodes, name) == name:
        return f"{owner} uses the weights of {name}"
    root = owner_of(nodes, name)
    if not can_share(nodes[name].type, nodes[root].type):
        return f"{graph.types[name].title} and {graph.types[root].title} have different weights"
    return f"{root} is muted" if root in graph.muted and name not in graph.muted else None


def _check_tied_sizes(name: str, facts: NodeFacts, owner: str, owner_facts: NodeFacts) -> Iterator[Problem]:
    if facts.type.key not in MATRICES or owner_facts.type.key not in MATRICES:
        return
    own = [facts.arguments.values.get(size) for size in MATRICES[facts.type.key]]
    other = [owner_facts.arguments.values.get(size) for size in MATRICES[owner_facts.type.key]]
    for size, found, expected in zip(MATRICES[facts.type.key], own, other, strict=True):
        if found is not None and expected is not None and found != expected:
            shapes = f"{owner} has a {other[0]}×{other[1]} matrix but {name} a {own[0]}×{own[1]} one"
            if size in facts.arguments.explicit:
                fix = quick_fixes.clear(name, size, f"Clear {size}")
                message = f"{name} uses the weights of {owner}, but {shapes}. Clear {size} of {name}."
            else:
                fix = quick_fixes.separate_weights(name) if "." not in name else None
                message = f"{name} uses the weights of {owner}, but {shapes}. Use separate weights for {name}."
            yield Problem("error", "shared-weights", message, node=name, fix=fix)
            return
