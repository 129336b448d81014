"""Groups, folding and layout of autograd graphs."""

from __future__ import annotations

from itertools import combinations

import pytest

from engine.inspect.layered_layout import CancelledError
from studio.training.autograd.graph_arrangement import HEIGHT, WIDTH, Arrangement, GraphArranger
from studio.training.autograd.graph_drawing import GraphDrawing
from studio.training.autograd.graph_outline import ROOT, SMALL, GraphOutline
from tests.call_count import calls
from tests.studio.training.autograd.graphs import deep_snapshot


def outline_of(copies: int, layers: int) -> GraphOutline:
    snapshot = deep_snapshot(copies, layers)
    return GraphOutline(snapshot.graph, snapshot.nodes)


def test_equal_copies_are_one_group() -> None:
    outline = outline_of(12, 2)
    [encoder, loss] = sorted(outline.visible_items(frozenset()), key=lambda key: isinstance(key, int))
    assert (encoder, loss) == ("encoder", 0)
    group = outline.groups["encoder"]
    assert (group.title, group.copies, len(group.members)) == ("encoder ×12", 12, 120)
    assert [outline.groups[str(child)].title for child in group.children][:2] == ["encoder.11", "encoder.10"]
    assert outline.groups["encoder.3.layer1"].parent == "encoder.3"
    assert group.gradient_norm == pytest.approx(((1 / 2) ** 2 + (1 / 4) ** 2) ** 0.5), "its output and the shortcut"


def test_copies_that_differ_are_not_summed_up() -> None:
    snapshot = deep_snapshot(3, 2)
    owners = {id: owner for id, owner in snapshot.nodes.items() if id != 1}
    assert GraphOutline(snapshot.graph, owners).groups["encoder"].title == "encoder"


def test_small_graphs_are_unfolded_and_copies_stay_folded() -> None:
    small, large = outline_of(1, 3), outline_of(12, 40)
    assert len(small.visible_items(small.initial())) == len(small.graph.nodes)
    assert len(large.visible_items(large.initial())) == 2 <= SMALL
    assert len(large.graph.nodes) == 2401


def test_visible_item_of_a_node() -> None:
    outline = outline_of(3, 2)
    path = outline.around([7])
    assert outline.visible(7, frozenset()) == "encoder"
    assert outline.visible(7, frozenset({"encoder"})) == "encoder.2"
    assert outline.visible(7, path) == 7
    assert path == {"encoder", "encoder.2", "encoder.2.layer0"}


def test_search_finds_names_owners_and_parameters() -> None:
    snapshot = deep_snapshot(3, 2)
    outline = GraphOutline(snapshot.graph, snapshot.nodes)
    nodes = snapshot.graph.nodes
    assert {nodes[id].name for id in outline.search("addmm", snapshot.nodes)} == {"AddmmBackward0"}
    assert [nodes[id].leaf for id in outline.search("1.layer0 bias", snapshot.nodes)] == ["encoder.1.layer0.bias"]
    assert outline.search("", snapshot.nodes) == outline.search("nothing", snapshot.nodes) == []


def overlaps(arrangement: Arrangement) -> bool:
    return any(
        abs(a[0] - b[0]) < WIDTH and abs(a[1] - b[1]) < HEIGHT
        for a, b in combinations(arrangement.positions.values(), 2)
    )


@pytest.mark.parametrize("expanded", [(), ("encoder",), ("encoder", "encoder.1"), None])
def test_items_do_not_overlap_and_edges_point_right(expanded: tuple[str, ...] | None) -> None:
    outline = outline_of(3, 2)
    groups = frozenset(outline.groups) - {ROOT} if expanded is None else frozenset(expanded)
    arrangement = GraphArranger(outline).arrange(groups)
    assert set(arrangement.positions) == set(outline.visible_items(groups))
    assert {frame.path for frame in arrangement.frames} == groups
    assert not overlaps(arrangement)
    for (start, end), points in arrangement.edges.items():
        x, y = arrangement.positions[start]
        assert points[0] == (x + WIDTH, y + HEIGHT / 2)
        assert points[-1] == (arrangement.positions[end][0], arrangement.positions[end][1] + HEIGHT / 2)
        assert points[0][0] < points[-1][0]
    for frame in arrangement.frames:
        inside = [arrangement.positions[key] for id in outline.groups[frame.path].members
                  if (key := outline.visible(id, groups)) is not None]  # fmt: skip
        assert all(frame.x < x < frame.x + frame.width - WIDTH for x, _ in inside)
        assert all(frame.y < y < frame.y + frame.height - HEIGHT for _, y in inside)


def test_unfolding_a_group_lays_out_only_what_changed() -> None:
    outline = outline_of(12, 20)
    arranger = GraphArranger(outline)
    everything = frozenset(outline.groups) - {ROOT}
    arranger.arrange(everything)
    whole = calls(lambda: GraphArranger(outline).arrange(everything))
    one = calls(lambda: arranger.arrange(everything - {"encoder.5.layer7"}))
    assert one < whole / 4


def test_a_layout_can_be_cancelled() -> None:
    with pytest.raises(CancelledError):
        GraphArranger(outline_of(3, 2)).arrange(frozenset({"encoder"}), lambda: True)


def test_what_a_rectangle_shows() -> None:
    outline = outline_of(3, 2)
    groups = frozenset({"encoder"})
    drawing = GraphDrawing.of(GraphArranger(outline).arrange(groups))
    left, top, right, bottom = drawing.box_of("encoder.1") or (0, 0, 0, 0)
    assert [drawing.keys[row] for row in drawing.items_in((left + 1, top + 1, right - 1, bottom - 1))] == ["encoder.1"]
    assert drawing.item_at((left + right) / 2, (top + bottom) / 2) == "encoder.1"
    assert drawing.item_at(left - 5, top - 5) is None
    frame = drawing.box_of("encoder")
    assert frame is not None and drawing.title_at(frame[0] + 20, frame[1] + 8) == "encoder"
    assert len(drawing.frames_in((-9, -9, -5, -5))) == len(drawing.edges_in((-9, -9, -5, -5))) == 0
