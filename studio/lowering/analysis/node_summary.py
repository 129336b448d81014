"""The one line in a node: what matters of it, in as few characters as possible."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast

from engine.shape import Spec, format_shape
from studio.lowering.analysis.node_arguments import NodeArguments
from studio.lowering.analysis.node_evaluation import SampleSpec, WireValue
from studio.nodes.types import NodeType, Role

SIZES = {"kernel_size", "output_size"}
"""Parameters shown as a size, 3×3."""

QUIET = {"bias", "inplace", "device", "dtype"}
"""Parameters that never appear."""

SHOWN = {"p", "lr", "mean", "std", "batch_size", "stride", "dim", "alpha", "folder", "path"}
"""Parameters that appear even at their defaults, unless the default says that they do not matter."""

QUIET_WHEN = {"stride": (None, 1), "alpha": (1, 1.0), "dim": (None,)}
"""Values that say nothing, by parameter."""

WAYS_OUT = {"out_features": "in_features", "out_channels": "in_channels", "embedding_dim": "num_embeddings"}
"""Parameters that belong together as "in → out"."""


def summary(
    node_type: NodeType, arguments: NodeArguments, inputs: Mapping[str, WireValue], outputs: Mapping[str, WireValue]
) -> str:
    """One line, or nothing where the title says it all."""
    shapes = _shapes(node_type, inputs, outputs)
    told = bool(shapes) and node_type.group == "Shape"
    parts = [*_way(arguments), *shapes, *([] if told else _settings(node_type, arguments))]
    return " · ".join(parts)


def _way(arguments: NodeArguments) -> list[str]:
    values = arguments.values
    return [f"{values.get(into, '?')} → {values[out]}" for out, into in WAYS_OUT.items() if out in values]


def _shapes(node_type: NodeType, inputs: Mapping[str, WireValue], outputs: Mapping[str, WireValue]) -> list[str]:
    before, after = (next(iter(values.values()), None) for values in (inputs, outputs))
    if isinstance(after, SampleSpec) and node_type.role is Role.SOURCE:
        classes = [f"{after.classes} classes"] if after.classes is not None else []
        return [format_shape(after.input.shape), *classes]
    if isinstance(before, Spec) and isinstance(after, Spec) and node_type.group == "Shape" and before != after:
        return [f"{format_shape(before.shape[1:])} → {format_shape(after.shape[1:])}"]
    return []


def _settings(node_type: NodeType, arguments: NodeArguments) -> list[str]:
    shown: list[str] = []
    for parameter in node_type.params:
        name, value = parameter.name, arguments.values.get(parameter.name)
        if name not in arguments.values or name in arguments.inferred or name in QUIET or _in_way(name, arguments):
            continue
        loud = name in arguments.explicit and value != parameter.default
        if (loud or name in SHOWN or name in SIZES) and not _silent(name, value):
            shown.append(_setting(name, value))
    return shown


def _silent(name: str, value: Any) -> bool:
    return value is None or any(value == quiet for quiet in QUIET_WHEN.get(name, ()))


def _in_way(name: str, arguments: NodeArguments) -> bool:
    """Whether "in → out" shows it already."""
    return name in WAYS_OUT or any(name == into and out in arguments.values for out, into in WAYS_OUT.items())


def _setting(name: str, value: Any) -> str:
    if name in SIZES:
        return _number(value if isinstance(value, tuple) else (value, value))
    if name == "batch_size":
        return f"batch size {value}"
    if name in ("p", "lr"):
        return f"{name} = {_number(value)}"
    if name in ("folder", "path"):
        return str(value).rstrip("/").rpartition("/")[2]
    word = name.replace("_", " ")
    if isinstance(value, bool):
        return word if value else f"no {word}"
    return f"{word} {_number(value)}"


def _number(value: Any) -> str:
    if isinstance(value, tuple):
        items = cast("tuple[Any, ...]", value)
        return ("×" if all(isinstance(item, int) for item in items) else ", ").join(map(_number, items))
    return f"{value:g}" if isinstance(value, float) else str(value)
