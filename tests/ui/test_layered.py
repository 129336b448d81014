"""The layered layout: nothing on top of another, edges lead one way, chains are straight."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from studio.ui.layered import CancelledError, arrange


@st.composite
def graphs(draw: st.DrawFn) -> tuple[int, list[tuple[int, int]]]:
    size = draw(st.integers(1, 14))
    pairs = list(itertools.combinations(range(size), 2))
    return size, draw(st.lists(st.sampled_from(pairs), unique=True, max_size=30)) if pairs else []


@given(graphs())
def test_nodes_keep_their_distance_and_edges_lead_left(graph: tuple[int, list[tuple[int, int]]]) -> None:
    size, edges = graph
    layout = arrange(range(size), edges)
    assert set(layout.places) == set(range(size))
    for a, b in itertools.combinations(range(size), 2):
        (ax, ay), (bx, by) = layout.places[a], layout.places[b]
        assert ax != bx or abs(ay - by) > 1 - 1e-9
    for start, end in edges:
        route = layout.routes[start, end]
        assert route[0] == layout.places[start] and route[-1] == layout.places[end]
        assert all(after[0] == before[0] - 1 for before, after in itertools.pairwise(route))


def test_a_chain_that_others_pass_is_straight() -> None:
    chain = [(n, n + 1) for n in range(6)]
    layout = arrange(range(7), [*chain, (0, 3), (0, 5), (1, 6)])
    assert len({round(layout.places[n][1], 6) for n in range(2, 7)}) == 1


def test_an_empty_graph_has_an_empty_layout() -> None:
    assert not arrange([], []).places


def test_a_layout_that_nobody_wants_is_given_up() -> None:
    with pytest.raises(CancelledError):
        arrange(range(3), [(0, 1), (1, 2)], lambda: True)
