from __future__ import annotations

from studio.ui.canvas.geometry import Box
from studio.ui.canvas.wires.wire_graph import WireGraph, nearest_in_direction
from tests.ui.canvas.conftest import network, wire


def test_the_path_through_a_wire() -> None:
    graph = WireGraph(network().wires)
    path = graph.path_through(wire("hidden.output -> relu.input"))
    assert path == {
        wire("digits.samples -> batches.samples"),
        wire("batches.input -> hidden.input"),
        wire("hidden.output -> relu.input"),
        wire("relu.output -> loss.input"),
        wire("loss.loss -> adam.loss"),
    }


def test_traversal_ends_in_a_cycle() -> None:
    graph = WireGraph([wire("a.o -> b.i"), wire("b.o -> a.i")])
    assert graph.upstream("a")[0] == {"a", "b"}
    assert len(graph.path_through(wire("a.o -> b.i"))) == 2


def test_nearest_node_in_a_direction() -> None:
    boxes = {
        "here": Box(0, 0, 100, 48),
        "near": Box(200, 16, 300, 64),
        "far": Box(400, 0, 500, 48),
        "below": Box(0, 200, 100, 248),
    }
    assert nearest_in_direction(boxes, "here", "right") == "near"
    assert nearest_in_direction(boxes, "near", "right") == "far"
    assert nearest_in_direction(boxes, "far", "left") == "near"
    assert nearest_in_direction(boxes, "here", "down") == "below"
    assert nearest_in_direction(boxes, "here", "up") is None
