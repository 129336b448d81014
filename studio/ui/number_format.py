"""Format numbers for display, without digits beyond their precision."""

from __future__ import annotations

_STEPS = ((1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k"))


def count(value: int, noun: str = "") -> str:
    """``235,146 parameters``; `noun` is plural and loses its s for 1."""
    text = f"{value:,}"
    if not noun:
        return text
    return f"{text} {noun.removesuffix('s') if value == 1 else noun}"


def macs(value: int) -> str:
    """Multiply-accumulate operations: ``1.2 GMAC``."""
    if value < 1000:
        return f"{value} MAC"
    size, letter = next(step for step in _STEPS if value >= step[0])
    return f"{_three(value / size)} {letter}MAC"


def rate(value: float) -> str:
    """Samples per second: ``12,400/s``, two to three significant digits."""
    if value >= 1000:
        digits = 10 ** (len(str(int(value))) - 3)
        return f"{round(value / digits) * digits:,}/s"
    return f"{_three(value)}/s"


def duration(seconds: float) -> str:
    """``45 s``, ``3 min``, ``2 h 10 min``."""
    if seconds < 1:
        return "less than 1 s"
    if seconds < 90:
        return f"{round(seconds)} s"
    minutes = round(seconds / 60)
    if minutes < 60:
        return f"{minutes} min"
    return f"{minutes // 60} h {minutes % 60} min"


def measured(value: float) -> str:
    """A loss or metric with four significant digits, in fixed notation where that is short."""
    if value != value:
        return "NaN"
    if value in (float("inf"), float("-inf")):
        return "∞" if value > 0 else "-∞"
    if value == 0 or 1e-3 <= abs(value) < 1e5:
        return f"{value:.4f}" if abs(value) < 100 else f"{value:,.1f}"
    return f"{value:.2e}"


def norm(value: float) -> str:
    """A gradient norm with two significant digits."""
    if value != value or value in (float("inf"), float("-inf")):
        return measured(value)
    return f"{value:.2g}" if 1e-3 <= value < 1e4 or value == 0 else f"{value:.1e}"


def short(value: float) -> str:
    """A value with two significant digits, for the ends of a scale."""
    if value != value or value in (float("inf"), float("-inf")):
        return measured(value)
    return f"{value:.2g}" if 1e-3 <= abs(value) < 1e4 or value == 0 else f"{value:.1e}"


def size(value: int) -> str:
    """Bytes: ``12.4 MB``."""
    if value < 1000:
        return count(value, "bytes")
    number, letter = next(step for step in _STEPS if value >= step[0])
    return f"{_three(value / number)} {letter}B"


def milliseconds(seconds: float) -> str:
    """``0.61 ms``, ``82 ms``, ``45 µs``; two significant digits."""
    value = 1000 * seconds
    if value >= 10_000:
        return f"{seconds:.3g} s"
    if value >= 10 or value == 0:
        return f"{value:,.0f} ms"
    if value >= 0.1:
        return f"{float(f'{value:.2g}'):g} ms"
    return f"{float(f'{1000 * value:.2g}'):g} µs" if value >= 1e-3 else "< 1 µs"


def percent(value: float) -> str:
    return f"{100 * value:.1f}%"


def _three(value: float) -> str:
    return f"{value:.0f}" if value >= 100 else f"{value:.3g}"
