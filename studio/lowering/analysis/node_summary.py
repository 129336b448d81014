"""The line below the title of a node: its most important sizes and settings."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast

from engine.shape import Spec, format_shape
from studio.lowering.analysis.node_arguments import NodeArguments
from studio.lowering.analysis.node_evaluation import SampleSpec, WireValue
from studio.nodes.types import NodeType, Role

SIZES = {"kernel_size", "output_size"}
"""Parameters shown as a size, 3×3."""

LISTS = {"dim", "dims"}
"""Parameters whose whole numbers are not sizes: 0, 2."""

HIDDEN = {"bias", "inplace", "device", "dtype"}
"""Parameters that are never shown."""

ALWAYS_SHOWN = {"p", "lr", "mean", "std", "batch_size", "stride", "dim", "alpha", "folder", "path"}
"""Parameters that are shown even at their defaults, except for the values in HIDDEN_VALUES."""

HIDDEN_VALUES = {"stride": (None, 1), "alpha": (1, 1.0), "dim": (None,)}
"""Values that are not shown, by parameter."""

OUTPUT_SIZES = {"out_features": "in_features", "out_channels": "in_channels", "embedding_dim": "num_embeddings"}
"""Input size parameter by output size parameter; shown together as "in → out"."""


def summary(
    node_type: NodeType, arguments: NodeArguments, inputs: Mapping[str, WireValue], outputs: Mapping[str, WireValue]
) -> str:
    """One line; empty if there is nothing to show."""
    shapes = _shapes(node_type, inputs, outputs)
    shapes_suffice = bool(shapes) and node_type.group == "Shape"
    parts = [*_size_change(arguments), *shapes, *([] if shapes_suffice else _settings(node_type, arguments))]
    return " · ".join(parts)


def _size_change(arguments: NodeArguments) -> list[str]:
    values = arguments.values
    return [
        f"{values.get(input_size, '?')} → {values[output_size]}"
        for output_size, input_size in OUTPUT_SIZES.items()
        if output_size in values
    ]


def _shapes(node_type: NodeType, inputs: Mapping[str, WireValue], outputs: Mapping[str, WireValue]) -> list[str]:
    input_value, output_value = (next(iter(values.values()), None) for values in (inputs, outputs))
    if isinstance(output_value, SampleSpec) and node_type.role is Role.SOURCE:
        classes = [f"{output_value.classes} classes"] if output_value.classes is not None else []
        return [format_shape(output_value.input.shape), *classes]
    if (
        isinstance(input_value, Spec)
        and isinstance(output_value, Spec)
        and node_type.group == "Shape"
        and input_value != output_value
    ):
        # A shape without the batch dimension describes both only if both have the same batch dimension.
        batch = input_value.shape[:1]
        first = 1 if batch == output_value.shape[:1] and not isinstance(next(iter(batch), 0), int) else 0
        return [f"{format_shape(input_value.shape[first:])} → {format_shape(output_value.shape[first:])}"]
    return []


def _settings(node_type: NodeType, arguments: NodeArguments) -> list[str]:
    shown: list[str] = []
    for parameter in node_type.params:
        name, value = parameter.name, arguments.values.get(parameter.name)
        if (
            name not in arguments.values
            or name in arguments.inferred
            or name in HIDDEN
            or parameter.is_code
            or _is_in_size_change(name, arguments)
        ):
            continue
        is_changed = name in arguments.explicit and value != parameter.default
        if (is_changed or name in ALWAYS_SHOWN or name in SIZES) and not _is_hidden(name, value):
            shown.append(_setting(name, value, is_size=parameter.kind == "ints" and name not in LISTS))
    return shown


def _is_hidden(name: str, value: Any) -> bool:
    return value is None or any(value == hidden for hidden in HIDDEN_VALUES.get(name, ()))


def _is_in_size_change(name: str, arguments: NodeArguments) -> bool:
    """Whether "in → out" already shows a parameter."""
    return name in OUTPUT_SIZES or any(
        name == input_size and output_size in arguments.values for output_size, input_size in OUTPUT_SIZES.items()
    )


def _setting(name: str, value: Any, *, is_size: bool) -> str:
    if name in SIZES:
        return _number(value if isinstance(value, tuple) else (value, value))
    if name == "batch_size":
        return f"batch size {value}"
    if name in ("p", "lr"):
        return f"{name} = {_number(value)}"
    if name in ("folder", "path"):
        return str(value).rstrip("/").rpartition("/")[2]
    label = name.replace("_", " ")
    if isinstance(value, bool):
        return label if value else f"no {label}"
    return f"{label} {_number(value, is_size=is_size)}"


def _number(value: Any, *, is_size: bool = True) -> str:
    if isinstance(value, tuple):
        items = cast("tuple[Any, ...]", value)
        is_size = is_size and all(isinstance(item, int) for item in items)
        return ("×" if is_size else ", ").join(map(_number, items))
    return f"{value:g}" if isinstance(value, float) else str(value)
