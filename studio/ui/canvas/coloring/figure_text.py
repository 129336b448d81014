"""Figures of nodes and wires as text."""

from __future__ import annotations

import math

from engine.data.file_access import format_bytes
from studio.training.statistics.canvas_figures import CanvasFigure
from studio.training.statistics.color_scale import ColorScale
from studio.ui import number_format


def value_text(figure: CanvasFigure, value: float) -> str:
    """A figure with its unit."""
    if not math.isfinite(value):
        return number_format.measured(value)
    match figure.unit:
        case "count":
            return f"{round(value):,}"
        case "macs":
            return number_format.macs(round(value))
        case "bytes":
            return format_bytes(round(value))
        case "seconds":
            return number_format.milliseconds(value)
        case "share":
            return _percent(value)
        case _:
            return number_format.norm(value)


def node_text(figure: CanvasFigure, value: float, total: float) -> str:
    """A figure on a node; of additive ones also the share of the total."""
    if not figure.is_additive or not total:
        return value_text(figure, value)
    share = 100 * value / total
    return f"{value_text(figure, value)} · {share:.0f}%" if share >= 1 else f"{value_text(figure, value)} · <1%"


def change_text(figure: CanvasFigure, scale: ColorScale, value: float) -> str:
    """A ratio as "×1.8", a difference as "+12 points"."""
    if math.isnan(value):
        return "NaN"
    if scale.kind == "ratio":
        return f"×{number_format.norm(value)}"
    sign = "+" if value > 0 else "−" if value < 0 else "±"
    if figure.unit == "share":
        return f"{sign}{100 * abs(value):.3g} points"
    return f"{sign}{value_text(figure, abs(value))}"


def end_texts(figure: CanvasFigure, scale: ColorScale) -> tuple[str, str]:
    """The ends of a scale in one notation."""
    if scale.is_change:
        return change_text(figure, scale, scale.low), change_text(figure, scale, scale.high)
    if scale.kind == "log":
        is_plain = scale.low >= 1e-4 and scale.high <= 1e4
        low, high = (
            f"{end:.10f}".rstrip("0").rstrip(".") if is_plain else _power(end) for end in (scale.low, scale.high)
        )
        return low, high
    return ("0%", "100%") if scale.kind == "share" else ("0", value_text(figure, scale.high))


def range_text(figure: CanvasFigure, scale: ColorScale, low: float, high: float) -> str:
    """The figures of one color: "0.01 to 0.1"."""

    def text(value: float) -> str:
        return change_text(figure, scale, value) if scale.is_change else value_text(figure, value)

    return text(low) if low == high else f"{text(low)} to {text(high)}"


def _power(value: float) -> str:
    return f"1e{round(math.log10(value))}"


def _percent(share: float) -> str:
    return f"{100 * share:.0f}%" if share in (0, 1) or 0.01 <= share <= 0.99 else f"{100 * share:.2g}%"


__all__ = ["change_text", "end_texts", "node_text", "range_text", "value_text"]
