"""Initial weights with which training does not begin: zeros in hidden layers, and far too large or small ones."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from studio.document import edits
from studio.document.graph_walk import walk
from studio.document.model import Document, Endpoint
from studio.document.weight_sharing import is_same_layer, tied_to
from studio.lowering.analysis.dataflow import Dataflow
from studio.lowering.analysis.node_facts import NodeFacts
from studio.lowering.problems.problem import Fix, Problem
from studio.nodes.initialization import BIAS_INIT, COMPANIONS, DEFAULT, NAMES, WEIGHT_INIT, parameter_names
from studio.nodes.types import NodeType, PortType, Role

LEARNING = frozenset({"Linear", "Convolution", "Recurrent", "Attention"})
"""Groups of layers that have weights."""
LARGEST, SMALLEST = 10.0, 0.002
"""Factors by which a layer changes the size of values, beyond which its initial weights are a mistake.

PyTorch's defaults have factors from 0.5 to 1, and 1.0 as standard deviation of 100 inputs has 10.
"""
_TRUNCATED = 1.155
"""Largest standard deviation of trunc_normal: that of the uniform distribution from -2 to 2."""


def initialization_problems(flow: Dataflow) -> Iterator[Problem]:
    for name, facts in flow.facts.items():
        if name not in flow.graph.needed or NAMES.isdisjoint(facts.arguments.explicit):
            continue
        if not is_same_layer(flow.document.nodes, name):
            yield from _problems(flow, name, facts)


def _problems(flow: Dataflow, name: str, facts: NodeFacts) -> Iterator[Problem]:
    values = facts.arguments.values
    choice = values.get(WEIGHT_INIT, DEFAULT)
    if choice != DEFAULT and (owner := tied_to(flow.document.nodes, name)) is not None:
        message = f"weight_init of {name} has no effect, because {name} uses the weights of {owner}. Clear it."
        yield Problem("hint", "unused-initialization", message, node=name, fix=_default(name, facts))
    elif choice == "zeros":
        yield from _zeros(flow, name, facts)
    else:
        yield from _scale(flow, name, facts, choice)
    if values.get(BIAS_INIT) is not None and not parameter_names(facts.type.key, values)[1]:
        message = f"bias_init of {name} has no effect, because {name} has no bias. Clear it."
        fix = _cleared(name, [BIAS_INIT], f"Clear bias_init of {name}")
        yield Problem("hint", "unused-initialization", message, node=name, fix=fix)


def _zeros(flow: Dataflow, name: str, facts: NodeFacts) -> Iterator[Problem]:
    """Zeros in a layer that others follow. They are common in the last layer, and at the end of a residual branch."""
    following = None if facts.node.frozen else _next_layer(flow, name)
    if following is None:
        return
    message = (
        f"All initial weights of {name} are 0, so its output does not depend on its input: {following} cannot tell "
        f"samples apart, and no gradient reaches the layers before {name}. Use the default initial weights."
    )
    yield Problem("warning", "zero-weights", message, node=name, fix=_default(name, facts))


def _scale(flow: Dataflow, name: str, facts: NodeFacts, choice: str) -> Iterator[Problem]:
    param, factor = _factor(facts, choice)
    if factor is None or SMALLEST <= factor <= LARGEST:
        return
    following = _next_layer(flow, name)
    if factor < SMALLEST and (following is None or facts.node.frozen):
        return
    value = facts.arguments.values[param]
    if factor > LARGEST:
        effect = f"{factor:,.0f} times its input, and activations saturate or the loss diverges"
    else:
        effect = f"{factor:.1g} times its input, and the gradients of the layers before it are as small"
    message = (
        f"{param} of {name} is {value:g}, so the output of {name} is at the start about {effect}. "
        "Use the default initial weights."
    )
    evidence = {"factor": float(f"{factor:.3g}"), param: float(value)}
    severity = "warning" if factor > LARGEST else "hint"
    yield Problem(severity, "initial-scale", message, node=name, fix=_default(name, facts), evidence=evidence)


def _factor(facts: NodeFacts, choice: str) -> tuple[str, float | None]:
    """The parameter that scales the weights, and the factor between input and output of the layer with them."""
    if choice == DEFAULT or facts.type.group not in LEARNING:
        return "", None
    values = facts.arguments.values
    inputs = _fan_in(facts.type.key, values)
    match list(COMPANIONS[choice]):
        case ["init_gain"]:
            return "init_gain", float(values["init_gain"])
        case ["init_std"] if inputs is not None:
            std = values["init_std"] if choice == "normal" else min(values["init_std"], _TRUNCATED)
            return "init_std", float(std) * math.sqrt(inputs)
        case _:
            return "", None


def _fan_in(key: str, values: Mapping[str, Any]) -> int | None:
    """The number of values that each output is a sum of; None if it is unknown."""
    size = next(
        (values[name] for name in ("in_features", "in_channels", "input_size", "in1_features") if name in values), None
    )
    if not isinstance(size, int):
        return None
    if "in2_features" in values:
        return size * values["in2_features"]
    kernel: int | tuple[int, ...] = values.get("kernel_size") or ()
    dimensions = next((int(letter) for letter in key if letter.isdecimal()), 0)
    window = kernel**dimensions if isinstance(kernel, int) else math.prod(kernel)
    return max(size * window // values.get("groups", 1), 1)


def _next_layer(flow: Dataflow, name: str) -> str | None:
    """A layer with weights that reads the output of a layer; None if that is the last one, or added to other values."""
    graph = flow.graph

    def after(end: Endpoint) -> Iterable[Endpoint]:
        for reader in graph.readers(end):
            if _is_passed(graph.types[reader.node]):
                for port in graph.types[reader.node].outputs:
                    yield Endpoint(reader.node, port.name)

    first = graph.types[name].outputs[0].name
    ends = list(walk([Endpoint(name, first)], lambda end: list(after(end))))
    readers = {reader.node for end in ends for reader in graph.readers(end)}
    others = [graph.types[reader] for reader in readers if not _is_passed(graph.types[reader])]
    if any(each.role is Role.OPERATION and each.group not in LEARNING for each in others):
        return None
    return next((reader for reader in graph.order if reader in readers and graph.types[reader].group in LEARNING), None)


def _is_passed(node_type: NodeType) -> bool:
    """Whether a node computes its output from one tensor, without weights that matter here."""
    if node_type.role not in (Role.LAYER, Role.OPERATION) or node_type.group in LEARNING:
        return False
    return len([port for port in node_type.inputs if port.type is PortType.TENSOR]) == 1


def _default(name: str, facts: NodeFacts) -> Fix:
    choice = facts.arguments.values[WEIGHT_INIT]
    return _cleared(name, [WEIGHT_INIT, *COMPANIONS[choice]], f"Use the default initial weights of {name}")


def _cleared(name: str, params: list[str], title: str) -> Fix:
    def edit(document: Document) -> Document:
        for param in params:
            document = edits.clear_param(document, name, param)
        return document

    return Fix(title, edit, (f"{name}.{params[0]}={DEFAULT}",) if params[0] == WEIGHT_INIT else ())


__all__ = ["initialization_problems"]
