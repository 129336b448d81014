"""Dimensions in the wrong order: images with channels last, and reshapes where a transpose is meant."""

from __future__ import annotations

from collections.abc import Iterator

from engine.shape import Dim, Spec, format_shape
from studio.document.model import Endpoint, Json, Node
from studio.lowering.analysis.dataflow import Dataflow
from studio.lowering.analysis.node_facts import NodeFacts
from studio.lowering.checks.value_paths import values_at
from studio.lowering.problems import quick_fixes
from studio.lowering.problems.problem import Problem
from studio.nodes.types import Role

_COLORS = (1, 3, 4)
"""Usual numbers of channels of images."""
_SMALLEST_IMAGE = 8
_RESHAPING = frozenset({"ops.reshape", "nn.Unflatten"})


def layout_problems(flow: Dataflow) -> Iterator[Problem]:
    for name, facts in flow.facts.items():
        if facts.outcome.failure or name in flow.graph.muted or name not in flow.graph.needed:
            continue
        if facts.type.key == "nn.Conv2d":
            yield from _channels_last(flow, name)
        elif facts.type.key == "ops.reshape":
            yield from _mixed(flow, name, facts)


def _channels_last(flow: Dataflow, name: str) -> Iterator[Problem]:
    """A convolution that gets the images of a loader as N×H×W×C, and takes their rows as channels."""
    path = values_at(flow.graph, name, "input")
    spec = flow.facts[name].spec("input")
    if not path or spec is None or spec.ndim != 4 or flow.graph.types[path[-1].node].role is not Role.LOADER:
        return
    if any(flow.graph.types[end.node].key in ("ops.permute", "ops.transpose", *_RESHAPING) for end in path):
        return
    rows, columns, channels = spec.shape[1:]
    if channels not in _COLORS or rows in _COLORS or rows != columns or not isinstance(rows, int):
        return
    if rows < _SMALLEST_IMAGE:
        return
    title = f"Insert Permute before {name}"
    message = (
        f"{name} takes the {rows} rows of its images as channels, because it expects N×C×H×W but gets "
        f"{format_shape(spec.shape)} from {path[-1].node}. {title}."
    )
    permute = Node("ops.permute", {"dims": [0, 3, 1, 2]})
    parts = [quick_fixes.insert(Endpoint(name, "input"), permute, title=title, input_port="x")]
    if "in_channels" in flow.facts[name].arguments.explicit:
        parts.append(quick_fixes.clear(name, "in_channels"))
    yield Problem("warning", "channels-last", message, node=name, port="input", fix=quick_fixes.all_of(parts, title))


def _mixed(flow: Dataflow, name: str, facts: NodeFacts) -> Iterator[Problem]:
    """A reshape that gives the shape of a transpose, so that it mixes rows and columns."""
    before, after = facts.spec("x"), facts.outputs.get("output")
    if before is None or not isinstance(after, Spec) or before.ndim != after.ndim or before.ndim < 3:
        return
    if not isinstance(before.shape[0], Dim) or before.shape[0] != after.shape[0]:
        return
    sizes, wanted = list(before.shape[1:]), list(after.shape[1:])
    plain = [size for size in sizes if size != 1]
    if sizes == wanted or sorted(map(str, sizes)) != sorted(map(str, wanted)) or len(set(map(str, plain))) < len(plain):
        return
    if plain == [size for size in wanted if size != 1]:
        return  # only dimensions of one element moved
    order = [0, *(sizes.index(size) + 1 for size in wanted)]
    if len(set(order)) < len(order):
        return
    dims: list[Json] = [*order]
    is_pair = len(order) == 3
    node = Node("ops.transpose", {"dim0": 1, "dim1": 2}) if is_pair else Node("ops.permute", {"dims": dims})
    kind = "Transpose" if is_pair else "Permute"
    message = (
        f"{name} reshapes {format_shape(before.shape)} to {format_shape(after.shape)}, which keeps the order of values "
        f"and so mixes the dimensions. Use {kind} to swap them."
    )
    fix = quick_fixes.replace_type(name, node)
    yield Problem("warning", "reshape-mixes", message, node=name, fix=fix)


__all__ = ["layout_problems"]
