from __future__ import annotations

import pytest

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
    assert distributed_positions(row, "x") == {"a": (0, 0), "b": (248, 0), "c": (500, 0)}
    assert distributed_positions({"a": BOXES["a"], "b": BOXES["b"]}, "y") == {"a": (0, 0), "b": (40, 100)}


def test_empty_selection_has_no_positions() -> None:
    assert aligned_positions({}, "left") == {}
