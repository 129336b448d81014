from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from studio.ui.canvas.geometry import GRID, Box
from studio.ui.canvas.gestures.snapping import AlignmentGuide, snap_to_neighbors

offsets = st.floats(-300, 300)


@given(offsets, offsets)
def test_snap_to_the_grid_without_neighbors(dx: float, dy: float) -> None:
    result = snap_to_neighbors(Box(16, 24, 136, 72), dx, dy, [], 6)
    assert (16 + result.dx) % GRID == 0
    assert (24 + result.dy) % GRID == 0
    assert abs(result.dx - dx) <= GRID / 2
    assert result.guides == ()


def test_snap_to_the_edge_of_a_neighbor_with_a_guide() -> None:
    neighbor = Box(100, 200, 221, 248)
    result = snap_to_neighbors(Box(0, 0, 120, 48), 103, 0, [neighbor], 6)
    assert result.dx == 101  # right edge to right edge, off the grid
    assert result.guides == (AlignmentGuide("x", 221, 0, 248),)


def test_distant_neighbor_does_not_snap() -> None:
    assert snap_to_neighbors(Box(0, 0, 120, 48), 90, 0, [Box(100, 200, 221, 248)], 6).guides == ()


def test_aligned_equal_boxes_have_three_guides() -> None:
    result = snap_to_neighbors(Box(0, 0, 120, 48), 198, 3, [Box(0, 0, 120, 48)], 6)
    assert result.dy == 0
    assert {guide.at for guide in result.guides} == {0, 24, 48}
    assert all(guide.axis == "y" for guide in result.guides)
