"""Folded layouts: rows fit the window, nodes do not overlap, wires point right inside rows, small edits move little."""

from __future__ import annotations

from itertools import combinations, pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.inspect.layered_layout import CancelledError, Link, arrange_in_rows
from engine.inspect.layout_folding import Window
from studio.ui.canvas.geometry import GRID
from studio.ui.canvas.layout.auto_layout import SPACING
from tests.ui.test_layered_layout import SIZE, graphs

Sizes = dict[str, tuple[float, float]]

WINDOW = Window(800, 500, 0.75)
windows = st.builds(Window, st.integers(100, 2000), st.integers(100, 2000), st.just(0.75))


def chain(count: int) -> tuple[Sizes, list[Link[str]]]:
    """A chain with a skip connection around each pair of nodes."""
    names = [f"n{index}" for index in range(count)]
    links = [Link(a, b, 36, 36) for a, b in pairwise(names)]
    return dict.fromkeys(names, SIZE), links + [
        Link(a, b, 36, 52) for a, b in zip(names[::2], names[3::2], strict=False)
    ]


def positions_of(
    sizes: Sizes, links: list[Link[str]], before: Sizes | None = None, window: Window = WINDOW
) -> dict[str, tuple[float, float]]:
    return arrange_in_rows(sizes, links, SPACING, window, before or {})


def scale_of(sizes: Sizes, positions: Sizes) -> float:
    width = max(positions[name][0] + size[0] for name, size in sizes.items())
    height = max(positions[name][1] + size[1] for name, size in sizes.items())
    return min(WINDOW.width / width, WINDOW.height / height)


@given(graphs(), windows)
def test_nodes_do_not_overlap_in_windows_of_any_shape(graph: tuple[Sizes, list[Link[str]]], window: Window) -> None:
    sizes, links = graph
    positions = positions_of(sizes, links, window=window)
    assert set(positions) == set(sizes)
    assert positions == positions_of(sizes, links, window=window)
    assert all(x % GRID == 0 and y % GRID == 0 for x, y in positions.values())
    for a, b in combinations(sizes, 2):
        (ax, ay), (bx, by) = positions[a], positions[b]
        apart = ax + sizes[a][0] <= bx or bx + sizes[b][0] <= ax or ay + sizes[a][1] <= by or by + sizes[b][1] <= ay
        assert apart, (a, b, positions)


@given(graphs(), windows)
def test_links_point_right_inside_a_row(graph: tuple[Sizes, list[Link[str]]], window: Window) -> None:
    sizes, links = graph
    forward = [link for link in links if int(link.source[1:]) < int(link.target[1:])]
    positions = positions_of(sizes, forward, window=window)
    for link in forward:
        (left, top), (right, bottom) = positions[link.source], positions[link.target]
        assert left < right or top + sizes[link.source][1] <= bottom, "neither right nor in a lower row"


def test_a_short_graph_stays_in_one_row() -> None:
    sizes, links = chain(4)
    lefts = [x for x, _ in positions_of(sizes, links).values()]
    assert lefts == sorted(lefts)


@pytest.mark.parametrize("count", [12, 60, 400])
def test_a_long_chain_fills_the_window(count: int) -> None:
    sizes, links = chain(count)
    folded = positions_of(sizes, links)
    line = positions_of(sizes, links, window=Window(1e6, 500, 0.0))
    assert all(line[a][0] < line[b][0] for a, b in pairwise(sizes))
    assert scale_of(sizes, folded) > 1.5 * scale_of(sizes, line)


def test_a_second_layout_moves_nothing() -> None:
    sizes, links = chain(60)
    before = positions_of(sizes, links)
    assert positions_of(sizes, links, before) == before


def test_a_node_added_at_the_end_moves_few_others() -> None:
    sizes, links = chain(60)
    before = positions_of(sizes, links)
    more = {**sizes, "extra": SIZE}
    after = positions_of(more, [*links, Link("n59", "extra", 36, 36)], before)
    assert sum(after[name] == before[name] for name in sizes) >= 50


def test_it_can_be_cancelled() -> None:
    sizes, links = chain(60)
    with pytest.raises(CancelledError):
        arrange_in_rows(sizes, links, SPACING, WINDOW, {}, lambda: True)
