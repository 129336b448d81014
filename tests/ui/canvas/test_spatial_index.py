"""The index finds the same boxes as a comparison with all of them."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from studio.ui.canvas.geometry import Box
from studio.ui.canvas.wires.spatial_index import SpatialIndex

coordinates = st.floats(-5000, 5000) | st.sampled_from([0.0, 256.0, 512.0, -512.0, 1e6])
sizes = st.floats(0, 3000) | st.just(2e6)
box = st.builds(lambda x, y, width, height: Box(x, y, x + width, y + height), coordinates, coordinates, sizes, sizes)


def touch(a: Box, b: Box) -> bool:
    return a.left <= b.right and b.left <= a.right and a.top <= b.bottom and b.top <= a.bottom


@given(st.lists(st.tuples(st.integers(0, 5), box | st.none()), max_size=30), box)
def test_near_finds_the_boxes_that_touch_an_area(changes: list[tuple[int, Box | None]], area: Box) -> None:
    index: SpatialIndex[int] = SpatialIndex()
    boxes: dict[int, Box] = {}
    for item, new in changes:
        if new is None:
            index.remove(item)
            boxes.pop(item, None)
        else:
            index.place(item, new)
            boxes[item] = new
        assert index.get(item) == boxes.get(item)
    assert index.near(area) == {item: each for item, each in boxes.items() if touch(each, area)}
