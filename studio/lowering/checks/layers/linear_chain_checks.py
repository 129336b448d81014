"""Linear layers with no activation between them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any
from weakref import WeakKeyDictionary

from engine.shape import Spec
from studio.document.graph_walk import walk
from studio.document.model import Endpoint, Node
from studio.document.weight_sharing import owner_of
from studio.lowering.analysis.dataflow import Dataflow
from studio.lowering.analysis.node_graph import NodeGraph
from studio.lowering.checks.losses.formula_kinds import is_affine
from studio.lowering.checks.value_paths import is_learned, is_linear_map, passes_values
from studio.lowering.problems import quick_fixes
from studio.lowering.problems.problem import Problem
from studio.nodes.syntax_nodes import FORMULA

_AVERAGES = ("nn.AvgPool", "nn.AdaptiveAvgPool", "nn.BatchNorm")
"""Layers of other groups that compute a linear map, in evaluation."""
_AFFINE = frozenset({"ops.add", "ops.sub", "ops.mul", "ops.div"})
"""Operations that are linear in their first input if the others are numbers or learned tensors."""
_PAIRS: WeakKeyDictionary[NodeGraph, tuple[tuple[str, str], ...]] = WeakKeyDictionary()
"""Pairs of linear layers, by graph. An edit of a parameter keeps the graph."""
_ARRANGING = frozenset({"nn.PixelShuffle", "nn.PixelUnshuffle", "nn.Unfold", "nn.Fold"})
"""Nodes that layers without an activation around them are commonly used with, to change the resolution."""


def linear_chain_problems(flow: Dataflow) -> Iterator[Problem]:
    graph = flow.graph
    if graph not in _PAIRS:
        _PAIRS[graph] = tuple(_pairs(graph))
    for before, name in _PAIRS[graph]:
        if not _is_intended(flow, before, name):
            yield _problem(graph, before, name)


def _pairs(graph: NodeGraph) -> Iterator[tuple[str, str]]:
    """Two layers each that compute a linear map together."""
    for name in graph.types:
        if is_linear_map(graph, name) and name not in graph.muted:
            before = _linear_before(graph, name)
            if before is not None:
                yield before, name


def _problem(graph: NodeGraph, before: str, name: str) -> Problem:
    port = graph.types[name].inputs[0].name
    message = (
        f"{before} and {name} have no activation between them, so together they compute a single linear map. "
        f"Insert ReLU before {name}."
    )
    direct = graph.input_sources[name].get(port)
    title = f"Insert ReLU before {name}"
    fix = None if direct is None else quick_fixes.insert(Endpoint(name, port), Node("nn.ReLU"), title=title)
    return Problem("warning", "no-activation", message, node=name, fix=fix)


def _linear_before(graph: NodeGraph, name: str) -> str | None:
    """The linear layer whose output a linear layer gets, through nodes that keep the map linear."""

    def before(node: str) -> list[str]:
        node_type = graph.types[node]
        if node != name and not _stays_linear(graph, node):
            return []
        source = graph.source(node, node_type.inputs[0].name) if node_type.inputs else None
        return [] if source is None else [source.node]

    *_, origin = walk([name], before)
    return origin if origin != name and is_linear_map(graph, origin) else None


def _stays_linear(graph: NodeGraph, name: str) -> bool:
    node_type = graph.types[name]
    if node_type.key in _ARRANGING:
        return False
    if node_type.key == FORMULA:
        return len(node_type.inputs) == 1 and is_affine(graph.document.nodes[name].params.get("expression"))
    if node_type.key in _AFFINE:
        others = graph.sources(name).keys() - {node_type.inputs[0].name}
        return all(is_learned(graph, name, port) for port in others)
    return passes_values(node_type) or node_type.key.startswith(_AVERAGES) or node_type.key == "ops.mean"


def _is_intended(flow: Dataflow, before: str, name: str) -> bool:
    """Whether two layers are more, or less, than the single linear map that they compute.

    Depthwise and pointwise convolutions, and those along one dimension each, save parameters. A layer that is narrower
    than both its neighbours limits the rank, as in a linear autoencoder. An output with several readers, such as an
    embedding that queries, keys and values are computed from, is a separate result, and so is that of a frozen layer.
    Layers with shared weights are tied on purpose.
    """
    nodes, graph = flow.document.nodes, flow.graph
    if any(_is_grouped(flow, layer) for layer in (before, name)) or not _has_one_reader(graph, before, name):
        return True
    shared = {owner_of(nodes, each) for each in flow.sharing} | set(flow.sharing)
    if before in shared or name in shared or (nodes[before].frozen and not nodes[name].frozen):
        return True
    return _is_narrow(flow, before, name) or _is_separable(flow, before, name)


def _is_narrow(flow: Dataflow, before: str, name: str) -> bool:
    width, middle, end = _size(flow, before, "in_"), _size(flow, before, "out_"), _size(flow, name, "out_")
    return width is not None and middle is not None and end is not None and middle < min(width, end)


def _is_separable(flow: Dataflow, before: str, name: str) -> bool:
    """Whether two convolutions have windows along different dimensions, such as 3×1 and 1×3."""
    windows: list[Any] = [_values(flow, layer).get("kernel_size") for layer in (before, name)]
    if not all(isinstance(window, (tuple, list)) for window in windows) or len(windows[0]) != len(windows[1]):
        return False
    return max(windows[0]) > 1 and max(windows[1]) > 1 and all(min(pair) == 1 for pair in zip(*windows, strict=True))


def _size(flow: Dataflow, name: str, prefix: str) -> int | None:
    if flow.graph.types[name].key == "ops.matmul" and name in flow.facts:
        facts = flow.facts[name]
        spec = facts.spec("x") if prefix == "in_" else facts.outputs.get("output")
        return spec.shape[-1] if isinstance(spec, Spec) and isinstance(spec.shape[-1], int) else None
    found = (value for param, value in _values(flow, name).items() if param.startswith(prefix))
    return next((value for value in found if isinstance(value, int)), None)


def _values(flow: Dataflow, name: str) -> dict[str, Any]:
    return dict(flow.facts[name].arguments.values) if name in flow.facts else {}


def _has_one_reader(graph: NodeGraph, layer: str, last: str) -> bool:
    """Whether the output of a layer, and all that is computed from it before `last`, has no other reader."""

    def readers(name: str) -> list[str]:
        ends = (Endpoint(name, output.name) for output in graph.types[name].outputs)
        return [] if name == last else [reader.node for end in ends for reader in graph.readers(end)]

    return all(len(readers(name)) == 1 for name in walk([layer], readers) if name != last)


def _is_grouped(flow: Dataflow, name: str) -> bool:
    groups = flow.document.nodes[name].params.get("groups", 1)
    return flow.graph.types[name].group == "Convolution" and isinstance(groups, int) and groups > 1


__all__ = ["linear_chain_problems"]
