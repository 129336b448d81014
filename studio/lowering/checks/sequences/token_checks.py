"""Numbers of tokens that a layer treats as quantities."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from studio.document.model import Endpoint, Node
from studio.lowering.analysis.dataflow import Dataflow
from studio.lowering.analysis.node_evaluation import SampleSpec
from studio.lowering.analysis.node_facts import NodeFacts
from studio.lowering.checks.sequences.sequence_layers import ATTENTION
from studio.lowering.checks.value_paths import values_at
from studio.lowering.problems import quick_fixes
from studio.lowering.problems.diagnosis import Severity
from studio.lowering.problems.problem import Problem
from studio.nodes.types import Role

_GROUPS = frozenset({"Linear", "Convolution", "Recurrent", "Normalization"})
_NEEDLESS = frozenset({"Tensor.to", "ops.unsqueeze", "nn.Unflatten"})
"""Nodes between tokens and a layer that an embedding makes needless."""
FEATURES = 32
"""Size of the vectors of a new embedding."""


def token_problems(flow: Dataflow) -> Iterator[Problem]:
    """Layers that get token numbers as floating-point numbers. One problem for each loader."""
    seen: set[str] = set()
    is_text = any(flow.graph.types[name].group == "Text" for name in flow.graph.with_role(Role.SOURCE))
    for name, facts in flow.facts.items() if is_text else ():
        if name in flow.graph.muted or facts.outcome.failure:
            continue
        problem = _problem(flow, name, facts, "warning")
        if problem is not None and problem[0] not in seen:
            seen.add(problem[0])
            yield problem[1]


def tokens_as_numbers(flow: Dataflow, name: str, facts: NodeFacts) -> Problem | None:
    """A layer of numbers that gets token numbers."""
    problem = _problem(flow, name, facts, "error")
    return None if problem is None else problem[1]


def _problem(flow: Dataflow, name: str, facts: NodeFacts, severity: Severity) -> tuple[str, Problem] | None:
    """The loader of the tokens that a layer gets, and the problem."""
    if facts.type.group not in _GROUPS and facts.type.key not in ATTENTION:
        return None
    port = facts.type.inputs[0].name
    path = values_at(flow.graph, name, port)
    loader = path[-1] if path else None
    if loader is None or flow.graph.types[loader.node].role is not Role.LOADER or loader.port != "input":
        return None
    tokens = _token_count(flow, loader.node)
    if tokens is None:
        return None
    message = (
        f"{name} gets the numbers of {tokens:,} tokens from {loader.node} as quantities, although their order means "
        f"nothing. Insert Embedding before {name}."
    )
    embedding = Node("nn.Embedding", {"num_embeddings": tokens, "embedding_dim": FEATURES})
    title = f"Insert Embedding before {name}"
    parts = [quick_fixes.insert(Endpoint(name, port), embedding, title=title)]
    parts += [quick_fixes.bypass(each, port) for each, port in needless_nodes(flow, path, loader.node)]
    problem = Problem(
        severity, "tokens-as-numbers", message, node=name, port=port, fix=quick_fixes.all_of(parts, title)
    )
    return loader.node, problem


def needless_nodes(flow: Dataflow, path: Sequence[Endpoint], loader: str) -> Iterator[tuple[str, str]]:
    """Casts of tokens to numbers, with their inputs: nodes on a path, and transforms before a loader."""
    for end in path:
        if flow.graph.types[end.node].key in _NEEDLESS:
            yield end.node, flow.graph.types[end.node].inputs[0].name
    for name in flow.graph.upstream([loader]):
        facts = flow.facts[name]
        if facts.type.role is Role.TRANSFORM and facts.arguments.values.get("on") == "inputs":
            yield name, facts.type.inputs[0].name


def _token_count(flow: Dataflow, loader: str) -> int | None:
    """The number of different tokens of a text; None for other data."""
    for name in flow.graph.upstream([loader]):
        facts = flow.facts.get(name)
        if facts is not None and facts.type.role is Role.SOURCE and facts.type.group == "Text":
            samples = next(iter(facts.outputs.values()), None)
            return samples.classes if isinstance(samples, SampleSpec) else None
    return None


__all__ = ["FEATURES", "needless_nodes", "token_problems", "tokens_as_numbers"]
