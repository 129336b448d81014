"""The layered layout: no overlaps, edges point right, chains are straight."""

from __future__ import annotations

from collections.abc import Callable
from itertools import combinations, pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.inspect.layered_layout import CancelledError, Link, arrange
from studio.ui.canvas.geometry import GRID
from studio.ui.canvas.layout.auto_layout import SPACING
from tests.call_count import calls

SIZE = (120.0, 48.0)


def _positions(
    sizes: dict[str, tuple[float, float]], links: list[Link[str]], cancelled: Callable[[], bool] = lambda: False
) -> dict[str, tuple[float, float]]:
    return arrange(sizes, links, SPACING, cancelled).positions


@st.composite
def graphs(draw: st.DrawFn) -> tuple[dict[str, tuple[float, float]], list[Link[str]]]:
    """Random directed graphs, with cycles."""
    count = draw(st.integers(1, 12))
    heights = draw(st.lists(st.sampled_from([48.0, 64.0, 96.0]), min_size=count, max_size=count))
    sizes = {f"n{index}": (120.0, height) for index, height in enumerate(heights)}
    pairs = draw(st.lists(st.tuples(st.integers(0, count - 1), st.integers(0, count - 1)), max_size=24))
    return sizes, [Link(f"n{a}", f"n{b}", 36, 36) for a, b in pairs]


@given(graphs())
def test_nodes_do_not_overlap_and_are_on_the_grid(
    graph: tuple[dict[str, tuple[float, float]], list[Link[str]]],
) -> None:
    sizes, links = graph
    positions = _positions(sizes, links)
    assert set(positions) == set(sizes)
    assert all(x % GRID == 0 and y % GRID == 0 for x, y in positions.values())
    for a, b in combinations(sizes, 2):
        (ax, ay), (bx, by) = positions[a], positions[b]
        apart = ax + sizes[a][0] <= bx or bx + sizes[b][0] <= ax or ay + sizes[a][1] <= by or by + sizes[b][1] <= ay
        assert apart, (a, b, positions)


@given(graphs())
def test_edges_point_right(graph: tuple[dict[str, tuple[float, float]], list[Link[str]]]) -> None:
    sizes, links = graph
    forward = [link for link in links if int(link.source[1:]) < int(link.target[1:])]
    positions = _positions(sizes, forward)
    assert all(positions[link.source][0] < positions[link.target][0] for link in forward)


def test_chain_is_a_straight_row() -> None:
    names = ["a", "b", "c", "d"]
    positions = _positions(dict.fromkeys(names, SIZE), [Link(a, b, 36, 36) for a, b in pairwise(names)])
    assert {y for _, y in positions.values()} == {0}
    assert [positions[name][0] for name in names] == [index * (SIZE[0] + SPACING.column) for index in range(4)]


def test_skip_connection_avoids_skipped_nodes() -> None:
    sizes = dict.fromkeys("abcd", SIZE)
    links = [Link("a", "b", 36, 36), Link("b", "c", 36, 36), Link("c", "d", 36, 36), Link("a", "d", 36, 52)]
    positions = _positions(sizes, links)
    assert positions["b"][1] == positions["c"][1]


def test_components_are_stacked() -> None:
    positions = _positions(dict.fromkeys("abcd", SIZE), [Link("a", "b"), Link("c", "d")])
    assert positions["a"][1] == positions["b"][1] < positions["c"][1] == positions["d"][1]


def test_source_is_directly_before_its_consumer() -> None:
    positions = _positions(dict.fromkeys("abcx", SIZE), [Link("a", "b"), Link("b", "c"), Link("x", "c")])
    assert positions["x"][0] == positions["b"][0]


def test_crossings_are_removed() -> None:
    positions = _positions(dict.fromkeys("abxy", SIZE), [Link("a", "y"), Link("b", "x"), Link("a", "b")])
    order = sorted("yb", key=lambda name: positions[name][1])
    assert positions[order[0]][1] < positions[order[1]][1]


def test_layout_can_be_cancelled() -> None:
    with pytest.raises(CancelledError):
        _positions(dict.fromkeys("abc", SIZE), [Link("a", "b"), Link("b", "c")], cancelled=lambda: True)


def test_two_thousand_nodes_in_bounded_work() -> None:
    calls = 0

    def count() -> bool:
        nonlocal calls
        calls += 1
        return False

    sizes = {f"n{index}": SIZE for index in range(2000)}
    links = [Link(f"n{index}", f"n{index + 1}") for index in range(1999) if index % 40 != 39]
    assert len(_positions(sizes, links, count)) == 2000
    assert calls < 50_000  # one call per rank and sweep


@given(graphs())
def test_routes_cross_each_column_between(
    graph: tuple[dict[str, tuple[float, float]], list[Link[str]]],
) -> None:
    sizes, links = graph
    forward = [link for link in links if int(link.source[1:]) < int(link.target[1:])]
    layout = arrange(sizes, forward, SPACING)
    assert set(layout.routes) == {(link.source, link.target) for link in forward}
    for (source, target), route in layout.routes.items():
        stops = [layout.positions[source][0], *(x for x, _ in route), layout.positions[target][0]]
        assert stops == sorted(set(stops))


def test_empty_graph_has_an_empty_layout() -> None:
    assert not _positions({}, [])


def test_many_cycles_take_bounded_work() -> None:
    def lay_out(size: int) -> None:
        names = [f"n{index}" for index in range(size)]
        circles = [Link(*ends) for a, b in zip(names[::2], names[1::2], strict=True) for ends in ((a, b), (b, a))]
        assert len(_positions(dict.fromkeys(names, SIZE), circles)) == size

    assert calls(lambda: lay_out(3000)) < 2.2 * calls(lambda: lay_out(1500))
