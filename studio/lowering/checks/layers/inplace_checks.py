"""In-place layers that change a tensor which other nodes, or the backward pass, need."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, cast

import engine
from engine.errors import EngineError, StaleTensorError
from engine.shape import Spec
from studio.document.graph_walk import walk
from studio.document.model import Endpoint
from studio.lowering.analysis.check_budget import Budget
from studio.lowering.analysis.dataflow import Dataflow
from studio.lowering.analysis.node_evaluation import hashable_arguments, operation_function
from studio.lowering.analysis.node_facts import NodeFacts
from studio.lowering.problems import quick_fixes
from studio.lowering.problems.problem import Fix, Problem
from studio.nodes.initialization import without_initialization
from studio.nodes.python_node import PYTHON
from studio.nodes.types import Role

VIEWS = frozenset(
    {
        "nn.Flatten",
        "nn.Unflatten",
        "nn.Identity",
        "nn.Halves",
        "ops.reshape",
        "ops.transpose",
        "ops.permute",
        "ops.movedim",
        "ops.squeeze",
        "ops.unsqueeze",
        "Tensor.expand",
        "ops.split_with_sizes",
        "ops.chunk",
        "ops.unbind",
        "ops.select",
        "ops.narrow",
        "ops.diagonal",
        "ops.detach",
        "studio.Slice",
    }
)
"""Nodes whose outputs share the memory of their first input."""
_KNOWN: dict[object, bool] = {}
"""Whether the gradient of a node needs its output, by type, arguments and inputs."""
_MAX_KNOWN = 512


def inplace_problems(flow: Dataflow) -> Iterator[Problem]:
    for name, node in flow.document.nodes.items():
        if node.params.get("inplace") is not True or name in flow.graph.muted or name not in flow.facts:
            continue
        facts = flow.facts[name]
        if facts.outcome.failure or not facts.arguments.values.get("inplace"):
            continue
        path = _memory_path(flow, name)
        fix = quick_fixes.clear(name, "inplace", "Turn inplace off")
        if not path:
            continue
        other = _other_reader(flow, path, name)
        if other is not None:
            yield _shared(name, other, fix)
        elif _needs_output(flow.facts[path[-1].node]):
            message = (
                f"{name} changes its input in place, but the gradient of {path[-1].node} is computed from it, so the "
                "backward pass fails. Turn inplace off."
            )
            yield Problem("error", "in-place-saved", message, node=name, fix=fix)


def _shared(name: str, other: str, fix: Fix) -> Problem:
    message = f"{name} changes its input in place, and {other} reads the same tensor. Turn inplace off."
    return Problem("warning", "in-place-shared", message, node=name, fix=fix)


def _memory_path(flow: Dataflow, name: str) -> list[Endpoint]:
    """The outputs that share the memory of the input of a node, nearest first."""

    def before(end: Endpoint) -> list[Endpoint]:
        node_type = flow.graph.types[end.node]
        source = flow.graph.source(end.node, node_type.inputs[0].name) if node_type.key in VIEWS else None
        return [] if source is None else [source]

    end = flow.graph.source(name, flow.facts[name].type.inputs[0].name)
    return [] if end is None else list(walk([end], before))


def _other_reader(flow: Dataflow, path: list[Endpoint], name: str) -> str | None:
    """A node that reads the memory of the input of a node otherwise than from its output."""
    nodes = {end.node for end in path[:-1]} | {name}

    def views(reader: str) -> list[str]:
        node_type = flow.graph.types[reader]
        outputs = node_type.outputs if node_type.key in VIEWS else ()
        ends = (Endpoint(reader, port.name) for port in outputs)
        return [each.node for end in ends for each in flow.graph.readers(end)]

    first = [reader.node for end in path for reader in flow.graph.readers(end) if reader.node not in nodes]
    return next((each for each in walk(first, views) if flow.graph.types[each].key not in VIEWS), None)


def _needs_output(facts: NodeFacts) -> bool:
    """Whether a node keeps its output for the gradient. Tried without values."""
    if facts.type.role not in (Role.LAYER, Role.OPERATION) or facts.type.key == PYTHON or not facts.outputs:
        return False
    specs = {port: value for port, value in facts.inputs.items() if isinstance(value, Spec)}
    key = facts.type.key, hashable_arguments(facts.arguments.values), tuple(specs.items())
    if key not in _KNOWN:
        if len(_KNOWN) >= _MAX_KNOWN:
            _KNOWN.clear()
        _KNOWN[key] = _fails_after_change(facts, specs)
    return _KNOWN[key]


def _fails_after_change(facts: NodeFacts, specs: Mapping[str, Spec]) -> bool:
    arguments = without_initialization(facts.arguments.values)
    tensors: dict[str, Any] = {}
    for port, spec in specs.items():
        is_float = spec.dtype.is_floating_point
        tensors[port] = engine.empty(tuple(spec.shape), dtype=spec.dtype, device="meta", requires_grad=is_float)
    target: Any = facts.type.target
    try:
        with Budget():
            if facts.type.role is Role.LAYER:
                with engine.device("meta"):
                    function = target(**arguments)
            else:
                function = operation_function(facts.type, arguments, tensors)
            result = function(**tensors)
            output: Any = cast("Any", result)[0] if isinstance(result, tuple) else result
            output.mul_(1)
    except Exception:  # noqa: BLE001 - without a result there is nothing to report
        return False
    try:
        with Budget():
            output.sum().backward()
    except EngineError as error:
        return isinstance(error, StaleTensorError)
    except Exception:  # noqa: BLE001 - other failures are not of this kind
        return False
    return False


__all__ = ["inplace_problems"]
