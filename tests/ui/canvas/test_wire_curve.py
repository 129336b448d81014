"""Curves of wires."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from studio.ui.canvas.geometry import Box
from studio.ui.canvas.wires.wire_curve import wire_curve

coordinates = st.floats(-2000, 2000)
points = st.tuples(coordinates, coordinates)


@given(points, points)
def test_wires_are_horizontal_at_their_ends(start: tuple[float, float], end: tuple[float, float]) -> None:
    curve = wire_curve(start, end)
    assert curve.pieces[0].first.y == start[1]
    assert curve.pieces[-1].second.y == end[1]
    assert curve.pieces[0].first.x >= start[0]
    assert curve.pieces[-1].second.x <= end[0]
    assert curve.at(0) == pytest.approx(start)
    assert curve.at(1) == pytest.approx(end)


def test_distance_and_intersections_of_a_straight_wire() -> None:
    curve = wire_curve((0, 0), (100, 0))
    assert curve.distance((50, 7)) == pytest.approx(7)
    assert curve.distance((120, 0)) == pytest.approx(20)
    assert curve.crosses((50, -5), (55, 5))
    assert not curve.crosses((50, 5), (55, 15))
    assert not curve.crosses((130, -5), (130, 5))


@given(points, points)
def test_pieces_join_smoothly(start: tuple[float, float], end: tuple[float, float]) -> None:
    for before, after in pairwise(wire_curve(start, end).pieces):
        assert before.end == after.start
        assert before.second.y == before.end.y == after.first.y
        assert (before.second.x - before.end.x) * (after.first.x - after.start.x) <= 0


@pytest.mark.parametrize("below", [176, -176])
def test_backward_wire_runs_between_the_rows(below: float) -> None:
    curve = wire_curve((900, 0), (0, below))
    lane = [point for point in curve.points if 50 < point.x < 850]
    assert lane
    assert all(point.y == pytest.approx(below / 2) for point in lane)


def test_backward_wire_in_one_row_runs_below_it() -> None:
    assert wire_curve((900, 0), (0, 8)).at(0.5).y > 60


def test_passes_through_detects_intersected_boxes() -> None:
    curve = wire_curve((0, 0), (200, 0))
    assert curve.passes_through(Box(90, -5, 110, 5))
    assert not curve.passes_through(Box(90, 5, 110, 15))
    assert not curve.passes_through(Box(210, -5, 230, 5))
