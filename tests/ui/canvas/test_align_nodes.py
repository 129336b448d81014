from __future__ import annotations

import pytest

from studio.ui.canvas.canvas_options import CanvasOptions
from studio.ui.canvas.geometry import Box
from studio.ui.canvas.layout.align_nodes import Edge, aligned_positions, distributed_positions

BOXES = {"a": Box(0, 0, 100, 48), "b": Box(40, 100, 160, 180), "c": Box(300, 80, 380, 128)}


def boxes_at(positions: dict[str, tuple[float, float]]) -> dict[str, Box]:
    return {name: BOXES[name].moved(x - BOXES[name].left, y - BOXES[name].top) for name, (x, y) in positions.items()}


@pytest.mark.parametrize(
    ("edge", "value"),
    [
        ("left", lambda box: box.left),
        ("center", lambda box: box.center.x),
        ("right", lambda box: box.right),
        ("top", lambda box: box.top),
        ("middle", lambda box: box.center.y),
        ("bottom", lambda box: box.bottom),
    ],
)
def test_align_changes_one_coordinate(edge: Edge, value: object) -> None:
    assert callable(value)
    boxes = boxes_at(aligned_positions(BOXES, edge))
    assert len({value(box) for box in boxes.values()}) == 1
    crosswise = edge in ("left", "center", "right")
    assert all(
        (box.top == BOXES[name].top) if crosswise else (box.left == BOXES[name].left) for name, box in boxes.items()
    )


def test_distribute_makes_equal_gaps_between_the_outermost_nodes() -> None:
    row = {"a": Box(0, 0, 100, 48), "b": Box(110, 0, 210, 48), "c": Box(500, 0, 600, 48)}
    assert distributed_positions(row, "x", CanvasOptions().snap) == {"a": (0, 0), "b": (248, 0), "c": (500, 0)}
    assert distributed_positions({"a": BOXES["a"], "b": BOXES["b"]}, "y") == {"a": (0, 0), "b": (40, 100)}


def test_empty_selection_has_no_positions() -> None:
    assert aligned_positions({}, "left") == {}


@pytest.mark.parametrize("grid", [4, 8, 16, 32])
@pytest.mark.parametrize("edge", ["left", "center", "right", "top", "middle", "bottom"])
def test_aligned_nodes_are_on_the_grid(edge: Edge, grid: int) -> None:
    boxes = {name: box.moved(3, 5) for name, box in BOXES.items()}
    aligned = aligned_positions(boxes, edge, CanvasOptions(grid=grid).snap)
    horizontal = edge in ("left", "center", "right")
    starts = {aligned[name][0 if horizontal else 1] for name in boxes}
    ends = {
        aligned[name][0] + box.width if horizontal else aligned[name][1] + box.height for name, box in boxes.items()
    }
    assert {value % grid for value in (ends if edge in ("right", "bottom") else starts)} == {0}
    exact = {"left": starts, "top": starts, "right": ends, "bottom": ends}.get(edge)
    assert exact is None or len(exact) == 1
