"""Text of tensors, formatted like PyTorch: four digits, aligned columns, summaries of large tensors.

Implements the rules of `torch.set_printoptions`; the output is identical to PyTorch's.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np

from engine.dtypes import is_floating


@dataclass(slots=True)
class PrintOptions:
    """Settings of `set_printoptions`."""

    precision: int = 4
    """Digits after the decimal point."""
    threshold: float = 1000
    """Number of elements above which a summary is printed."""
    edgeitems: int = 3
    """Number of elements at each end of a dimension in a summary."""
    linewidth: int = 80
    sci_mode: bool | None = None
    """Whether scientific notation is used; None: chosen by the values."""


_PROFILES = {
    "default": PrintOptions(),
    "short": PrintOptions(precision=2, edgeitems=2),
    "full": PrintOptions(threshold=math.inf),
}
_options = PrintOptions()


def set_printoptions(
    precision: int | None = None,
    threshold: float | None = None,
    edgeitems: int | None = None,
    linewidth: int | None = None,
    profile: Literal["default", "short", "full"] | None = None,
    sci_mode: bool | None = None,
) -> None:
    """Set how tensors are printed.

    Args:
        precision: digits after the decimal point
        threshold: number of elements above which a summary is printed
        edgeitems: number of elements at each end of a dimension in a summary
        linewidth: characters per line
        profile: preset of all options: "default", "short" or "full"
        sci_mode: whether scientific notation is used; None: chosen by the values
    """
    global _options
    start = _options if profile is None else _PROFILES[profile.lower()]
    values = {"precision": precision, "threshold": threshold, "edgeitems": edgeitems, "linewidth": linewidth}
    changes = {name: value for name, value in values.items() if value is not None}
    _options = replace(start, **changes, sci_mode=sci_mode)


def get_printoptions() -> PrintOptions:
    """Return a copy of the print options."""
    return replace(_options)


def tensor_text(array: np.ndarray[Any, Any], suffixes: Sequence[str]) -> str:
    """Return the repr of a tensor, such as ``tensor([1., 2.], requires_grad=True)``."""
    start = "tensor("
    summarize = array.size > _options.threshold
    if array.size == 0:
        numbers = "[]"
    else:
        shown = _edges(array) if summarize else array
        numbers = _layout(
            array, len(start), summarize, _format_for(shown.reshape(-1).tolist(), is_floating(shown.dtype))
        )
    return _with_suffixes(start + numbers, suffixes, len(start))


@dataclass(frozen=True, slots=True)
class _Format:
    """Format of an element."""

    spec: str
    """Format specification of finite floats; "" for other types."""
    width: int
    point: bool = False
    """All values are integers and are printed with a trailing point."""

    def text(self, value: Any) -> str:
        found = format(value, self.spec) if self.spec else str(value)
        return (found + "." if self.point and math.isfinite(value) else found).rjust(self.width)


def _format_for(values: Sequence[Any], fractions: bool) -> _Format:
    if not fractions:
        return _Format("", max(len(str(value)) for value in values))
    relevant = [value for value in values if value and math.isfinite(value)]
    if not relevant:
        return _Format(".0f", 1, point=True)
    sizes = [abs(value) for value in relevant]
    all_integers = all(value == math.ceil(value) for value in relevant)
    has_wide_range = max(sizes) / min(sizes) > 1000 or max(sizes) > 1e8
    scientific = (
        has_wide_range or (not all_integers and min(sizes) < 1e-4) if _options.sci_mode is None else _options.sci_mode
    )
    if scientific:
        return _Format(f".{_options.precision}e", _width(f".{_options.precision}e", relevant))
    if all_integers:
        return _Format(".0f", _width(".0f", relevant) + 1, point=True)
    return _Format(f".{_options.precision}f", _width(f".{_options.precision}f", relevant))


def _width(spec: str, values: Iterable[float]) -> int:
    return max(len(format(value, spec)) for value in values)


def _edges(array: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """Return the elements that a summary shows."""
    for axis, size in enumerate(array.shape):
        if size > 2 * _options.edgeitems:
            array = np.take(array, [*range(_options.edgeitems), *range(size - _options.edgeitems, size)], axis=axis)
    return array


def _layout(array: np.ndarray[Any, Any], indent: int, summarize: bool, number_format: _Format) -> str:
    if array.ndim == 0:
        return number_format.text(array.item())
    is_summary = summarize and len(array) > 2 * _options.edgeitems
    ends = [*array[: _options.edgeitems], *array[-_options.edgeitems :]] if is_summary else list(array)
    if array.ndim == 1:
        return _row(
            [number_format.text(value.item()) for value in ends],
            " ..." if is_summary else None,
            indent,
            number_format.width,
        )
    parts = [_layout(part, indent + 1, summarize, number_format) for part in ends]
    if is_summary:
        parts.insert(_options.edgeitems, "...")
    gap = "," + "\n" * (array.ndim - 1) + " " * (indent + 1)
    return f"[{gap.join(parts)}]"


def _row(parts: list[str], dots: str | None, indent: int, width: int) -> str:
    if dots is not None:
        parts.insert(_options.edgeitems, dots)
    per_line = max(1, (_options.linewidth - indent) // (width + 2))
    lines = [", ".join(parts[start : start + per_line]) for start in range(0, len(parts), per_line)]
    return "[" + (",\n" + " " * (indent + 1)).join(lines) + "]"


def _with_suffixes(text: str, suffixes: Sequence[str], indent: int) -> str:
    """Append suffixes to the last line, or on a new line if they do not fit."""
    used = len(text) - text.rfind("\n") + 1
    for suffix in suffixes:
        if used + len(suffix) + 2 > _options.linewidth:
            text += ",\n" + " " * indent + suffix
            used = indent + len(suffix)
        else:
            text += ", " + suffix
            used += len(suffix) + 2
    return text + ")"
