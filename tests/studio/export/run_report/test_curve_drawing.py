"""Curves are drawn as well-formed SVG with the values they should have."""

from __future__ import annotations

import math
import re
from xml.etree import ElementTree as ET

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from studio.export.run_report.curve_drawing import HEIGHT, WIDTH, Line, curve_drawing, ticks

NUMBER = re.compile(r"-?\d+\.?\d*")


def paths(svg: str) -> list[list[tuple[float, float]]]:
    """The points of all lines in a drawing."""
    found = [each.get("d", "") for each in ET.fromstring(svg).iter("path") if "line" in (each.get("class") or "")]
    numbers = [list(map(float, NUMBER.findall(text))) for text in found]
    return [list(zip(each[::2], each[1::2], strict=True)) for each in numbers]


def line(*values: float) -> Line:
    return Line("training", np.arange(len(values), dtype=float), np.array(values))


def test_higher_values_are_higher_and_later_ones_to_the_right() -> None:
    [points] = paths(curve_drawing("loss", [line(1.0, 3.0, 2.0)]))
    (x0, y0), (x1, y1), (x2, y2) = points
    assert x0 < x1 < x2 and y1 < y2 < y0
    assert (y0 - y2) == pytest.approx(y2 - y1, abs=0.11)


def test_values_that_differ_much_have_a_logarithmic_axis() -> None:
    [points] = paths(curve_drawing("loss", [line(1000.0, 10.0, 0.1)]))
    ys = [y for _, y in points]
    assert ys[1] - ys[0] == pytest.approx(ys[2] - ys[1], abs=0.11)


def test_values_that_are_not_finite_are_gaps() -> None:
    assert [len(each) for each in paths(curve_drawing("loss", [line(1, 2, math.nan, 3, math.inf, 4, 5)]))] == [2, 2, 2]
    assert curve_drawing("loss", [line(math.nan, math.inf)]) == ""


def test_long_curves_keep_their_extremes() -> None:
    values = np.sin(np.arange(100_000) / 5_000)
    values[61_803] = 5.0
    [points] = paths(curve_drawing("loss", [Line("training", np.arange(100_000.0), values)]))
    assert len(points) <= 800
    top = min(points, key=lambda point: point[1])
    assert top[0] == pytest.approx(56 + 61_803 / 99_999 * (WIDTH - 68), abs=0.1)


@given(st.lists(st.floats(width=32), min_size=1, max_size=20))
def test_any_values_are_drawn_within_the_picture(values: list[float]) -> None:
    for points in paths(curve_drawing("a < b & c", [line(*values)]) or "<svg/>"):
        assert all(0 <= x <= WIDTH and -0.1 <= y <= HEIGHT for x, y in points)


@given(st.floats(-1e6, 1e6), st.floats(1e-6, 1e6))
def test_ticks_are_round_and_within_the_range(low: float, length: float) -> None:
    found = ticks(low, low + length)
    margin = length * 1e-6
    assert len(found) <= 7 and all(low - margin <= each <= low + length + margin for each in found)
