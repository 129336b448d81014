"""Layers that process sequences along the wrong dimension."""

from __future__ import annotations

from collections.abc import Iterator

from engine.shape import Dim, Spec, format_shape
from studio.document.graph_walk import walk
from studio.document.model import Endpoint, Node
from studio.lowering.analysis.dataflow import Dataflow
from studio.lowering.analysis.node_facts import NodeFacts
from studio.lowering.checks.sequences.sequence_layers import (
    ATTENTION,
    FEATURES_LAST,
    RECURRENT,
    SELF_ATTENTION,
    active,
    runs_along_batch,
    sequence_input,
)
from studio.lowering.problems import quick_fixes
from studio.lowering.problems.problem import Fix, Problem
from studio.nodes.types import Role

_ELEMENTWISE = frozenset({"Dropout", "Activation"})
ALONG_STEPS = (
    "nn.Conv1d",
    "nn.BatchNorm1d",
    "nn.InstanceNorm1d",
    *(f"nn.{adaptive}{kind}Pool1d" for adaptive in ("", "Adaptive") for kind in ("Avg", "Max")),
)
"""Layers that expect the steps of a sequence in the last dimension."""
_SERIES = frozenset({"data.Sequences"})
"""Sources of series N×T×E."""
_KEEPING_TIME = frozenset({"ops.add", "ops.mul", "ops.sub", "ops.div", "nn.Identity"})
"""Operations after which dimension 1 is still time."""


def sequence_problems(flow: Dataflow) -> Iterator[Problem]:
    for name, facts in active(flow, (*RECURRENT, *ATTENTION, SELF_ATTENTION, *ALONG_STEPS)):
        if facts.type.key in ALONG_STEPS:
            yield from _along_features(flow, name, facts)
        elif facts.type.key == SELF_ATTENTION:
            yield from _attention_along_batch(flow, name, facts)
        elif runs_along_batch(facts):
            yield along_batch(flow, name, facts)


# -- along the batch --------------------------------------------------------------------------


def along_batch(flow: Dataflow, name: str, facts: NodeFacts) -> Problem:
    """A layer that takes the batch for time, so that it mixes samples."""
    spec = sequence_input(facts)
    assert spec is not None
    if spec.ndim == 2:
        return _without_time(flow, name, facts, spec)
    is_batch_first = bool(facts.arguments.values.get("batch_first"))
    state = "off" if is_batch_first else "on"
    message = (
        f"{name} takes time steps in dimension {int(is_batch_first)} but dimension {int(is_batch_first)} of its input "
        f"{format_shape(spec.shape)} is the batch, so it mixes samples. Turn batch_first {state}."
    )
    fix = quick_fixes.assign(name, "batch_first", not is_batch_first)
    if not is_batch_first and _is_read_time_first(flow, name):
        port, time_first = _sequence_port(facts), Node("ops.transpose", {"dim0": 0, "dim1": 1})
        title = f"Insert Transpose before {name}"
        message = message.replace("Turn batch_first on.", f"{title}, because its steps are read in dimension 0.")
        fix = quick_fixes.insert(Endpoint(name, port), time_first, title=title, input_port="x")
    return Problem("warning", "sequence-along-batch", message, node=name, fix=fix)


def _sequence_port(facts: NodeFacts) -> str:
    ports = ATTENTION.get(facts.type.key)
    return "input" if ports is None else ports.sequence


def _is_read_time_first(flow: Dataflow, name: str) -> bool:
    """Whether an operation after a layer of one sequence works along dimension 0, through nodes of each element."""

    def readers(node: str) -> list[str]:
        node_type = flow.graph.types[node]
        if (
            node != name
            and node_type.group not in _ELEMENTWISE
            and node_type.key not in ("nn.LayerNorm", "nn.Identity")
        ):
            return []
        ends = (Endpoint(node, port.name) for port in node_type.outputs)
        return [each.node for end in ends for each in flow.graph.readers(end)]

    facts = [flow.facts[each] for each in walk([name], readers) if each != name and each in flow.facts]
    is_alone = len(flow.graph.sources(name)) == 1
    return is_alone and any(each.arguments.values.get("dim") in (0, -3) for each in facts)


def _without_time(flow: Dataflow, name: str, facts: NodeFacts, spec: Spec) -> Problem:
    """A layer that gets N×E, which it treats as one sequence of N steps."""
    message = (
        f"{name} treats its input {format_shape(spec.shape)} as one sequence whose steps are the samples of the batch, "
        "so it mixes samples. "
    )
    ports = [each.name for each in facts.type.inputs if flow.graph.source(name, each.name) is not None]
    is_recurrent = facts.type.key in RECURRENT
    as_steps = is_recurrent and "input_size" not in facts.arguments.explicit
    if as_steps:
        message += "Insert Unsqueeze before it, so that each value is a step, and select the last step after it."
    else:
        message += "Insert Unsqueeze before it and Squeeze after it, so that each sample is a sequence of one step."
    dim = 2 if as_steps else 1
    sequences = [port for port in ports if (value := facts.spec(port)) is not None and value.ndim == 2]
    inserted = [
        quick_fixes.insert(Endpoint(name, port), Node("ops.unsqueeze", {"dim": dim}), title="", input_port="x")
        for port in sequences
    ]
    after = Node("ops.select", {"dim": 1, "index": -1}) if as_steps else Node("ops.squeeze", {"dim": 1})
    output = Endpoint(name, facts.type.outputs[0].name)
    squeezed = quick_fixes.insert_behind(output, after, title="", input_port="x")
    fix = quick_fixes.all_of([squeezed, *inserted], f"Insert Unsqueeze before {name}")
    return Problem("warning", "sequence-along-batch", message, node=name, fix=fix)


def _attention_along_batch(flow: Dataflow, name: str, facts: NodeFacts) -> Iterator[Problem]:
    """Attention whose second last dimension, the steps, is the batch."""
    specs = {port: facts.spec(port) for port in ("query", "key", "value")}
    if not all(spec is not None and spec.ndim >= 2 and isinstance(spec.shape[-2], Dim) for spec in specs.values()):
        return
    query = specs["query"]
    assert query is not None
    message = (
        f"{name} attends along dimension {query.ndim - 2}, but this dimension of its query "
        f"{format_shape(query.shape)} is the batch, so it mixes samples. "
    )
    if query.ndim == 2:
        remedy, before, after = "Insert Unsqueeze", Node("ops.unsqueeze", {"dim": 1}), Node("ops.squeeze", {"dim": 1})
    else:
        before = after = Node("ops.transpose", {"dim0": 0, "dim1": query.ndim - 2})
        remedy = "Insert Transpose"
    message += f"{remedy} before its inputs and after it."
    inserted = [quick_fixes.insert(Endpoint(name, port), before, title="", input_port="x") for port in specs]
    output = quick_fixes.insert_behind(Endpoint(name, "output"), after, title="", input_port="x")
    fix = quick_fixes.all_of([output, *inserted], f"{remedy} around {name}")
    yield Problem("warning", "sequence-along-batch", message, node=name, fix=fix)


# -- along the features -----------------------------------------------------------------------


def _along_features(flow: Dataflow, name: str, facts: NodeFacts) -> Iterator[Problem]:
    """A layer of channels that gets sequences N×T×E, so that it treats the steps as channels."""
    spec, end = facts.spec("input"), flow.graph.source(name, "input")
    if spec is None or end is None or spec.ndim != 3:
        return
    origin = _origin_in_time(flow, end)
    if not _has_features_last(flow, origin):
        return
    message = (
        f"{name} treats the {spec.shape[1]} steps of {origin} as channels, because it expects the steps in the last "
        f"dimension but gets N×T×E, {format_shape(spec.shape)}. Insert Transpose before {name}."
    )
    title = f"Insert Transpose before {name}"
    transpose = Node("ops.transpose", {"dim0": 1, "dim1": 2})
    parts: list[Fix] = [quick_fixes.insert(Endpoint(name, "input"), transpose, title=title, input_port="x")]
    parts += [
        quick_fixes.clear(name, each) for each in ("in_channels", "num_features") if each in facts.arguments.explicit
    ]
    if facts.type.group == "Normalization":
        parts.append(quick_fixes.insert_behind(Endpoint(name, "output"), transpose, title=title, input_port="x"))
    yield Problem("warning", "sequence-along-features", message, node=name, fix=quick_fixes.all_of(parts, title))


def _has_features_last(flow: Dataflow, name: str) -> bool:
    """Whether a node outputs N×T×E: a layer of sequences, or a loader of a source of series."""
    facts = flow.facts.get(name)
    if facts is None or facts.type.role is not Role.LOADER:
        return facts is not None and facts.type.key in FEATURES_LAST
    return any(flow.graph.types[each].key in _SERIES for each in flow.graph.upstream([name]))


def _origin_in_time(flow: Dataflow, end: Endpoint) -> str:
    """The node that computes a sequence, through nodes that work on each element."""

    def before(name: str) -> list[str]:
        node_type = flow.graph.types[name]
        if node_type.group not in _ELEMENTWISE and node_type.key not in _KEEPING_TIME:
            return []
        source = flow.graph.source(name, node_type.inputs[0].name)
        return [] if source is None else [source.node]

    *_, origin = walk([end.node], before)
    return origin


__all__ = ["along_batch", "sequence_problems"]
