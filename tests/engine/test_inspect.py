"""Looking at what ran: ops with their lines, the autograd graph, gradient norms."""

from __future__ import annotations

import inspect as python_inspect
from typing import Any

import pytest

import engine
from engine import inspect, nn
from engine.observe import norm_of
from engine.shape import Dim, Spec


def _next_line() -> int:
    """The number of the line after the one that calls this."""
    frame = python_inspect.currentframe()
    assert frame is not None
    assert frame.f_back is not None
    return frame.f_back.f_lineno + 1


def test_a_trace_lists_calls_with_inputs_outputs_and_lines() -> None:
    x = engine.ones(2, 3)
    with inspect.trace() as seen:
        line = _next_line()
        y = x * 2
        y.sum(dim=1, keepdim=True)
    multiplied, summed = seen.calls
    assert (multiplied.op, multiplied.inputs, multiplied.outputs) == ("mul", (x.spec, 2), (x.spec,))
    assert multiplied.where == (__file__, line)
    assert (summed.op, summed.statics) == ("sum", {"dim": 1, "keepdim": True, "dtype": None})
    assert summed.outputs == (Spec((2, 1), engine.float32),)
    x + 1
    assert len(seen.calls) == 2


def test_the_line_is_the_callers_even_deep_inside_the_engine() -> None:
    model = nn.Sequential(nn.Linear(3, 4), nn.GELU(), nn.LayerNorm(4))
    with inspect.trace() as seen:
        line = _next_line()
        model(engine.ones(2, 3))
    assert len(seen.calls) >= 3
    assert {call.where for call in seen.calls} == {(__file__, line)}


def test_writes_in_place_are_calls_too() -> None:
    x = engine.ones(3)
    with inspect.trace() as seen:
        x.add_(1)
        x[0] = 5.0
        x[engine.tensor([1])] = 2.0
    assert [call.op for call in seen.calls] == ["add", "slice", "assign", "index_put"]


def test_multiply_adds_are_counted() -> None:
    N = Dim("N")
    with inspect.trace() as seen:
        engine.zeros(N, 784, device="meta") @ engine.zeros(784, 10, device="meta")
        nn.functional.conv2d(engine.zeros(2, 3, 8, 8, device="meta"), engine.zeros(4, 3, 3, 3, device="meta"))
    assert [call.macs for call in seen.calls] == [7840 * N, 2 * 4 * 6 * 6 * 27]


# -- the autograd graph -----------------------------------------------------------------------


def _graph() -> tuple[Any, inspect.AutogradGraph, dict[str, int]]:
    weight = engine.full((2, 3), 2.0, requires_grad=True)
    x = engine.ones(4, 3)
    lines: dict[str, int] = {}
    with inspect.recording() as seen:
        lines["matmul"] = lines["permute"] = _next_line()
        hidden = x @ weight.T
        lines["mul"] = lines["sum"] = _next_line()
        loss = (hidden * hidden).sum()
        loss.backward(retain_graph=True)
    return weight, inspect.autograd_graph(loss, seen, {"weight": weight}), lines


def test_autograd_graph_of_a_result() -> None:
    weight, graph, lines = _graph()
    nodes = {node.op: node for node in graph.nodes}
    assert sorted(nodes) == ["leaf", "matmul", "mul", "permute", "sum"]
    ops = {node.id: node.op for node in graph.nodes}
    assert {(ops[a], ops[b]) for a, b in graph.edges} == {
        ("sum", "mul"), ("mul", "matmul"), ("matmul", "permute"), ("permute", "leaf"),
    }  # fmt: skip
    assert {name: nodes[name].where for name in lines} == {name: (__file__, line) for name, line in lines.items()}
    assert (nodes["mul"].spec, nodes["leaf"].spec) == (Spec((4, 2), engine.float32), weight.spec)
    assert (nodes["leaf"].leaf, nodes["mul"].leaf, nodes["leaf"].where) == ("weight", None, None)
    assert nodes["mul"].saved_bytes == 2 * 4 * 2 * 4
    assert nodes["sum"].saved_bytes == 0


def test_graph_has_gradient_norms() -> None:
    weight, graph, _ = _graph()
    nodes = {node.op: node for node in graph.nodes}
    assert nodes["sum"].gradient_norm == 1.0
    assert nodes["mul"].gradient_norm == pytest.approx(8**0.5)  # eight ones
    assert nodes["matmul"].gradient_norm == pytest.approx((8 * 12.0**2) ** 0.5)
    assert nodes["leaf"].gradient_norm == pytest.approx(norm_of(weight.grad))


def test_without_recording_there_are_no_lines_and_no_norms() -> None:
    x = engine.ones(2, requires_grad=True)
    graph = inspect.autograd_graph((x * 2).sum())
    assert [node.leaf for node in graph.nodes if node.op == "leaf"] == [""]
    assert all(node.where is None and node.gradient_norm is None for node in graph.nodes)


def test_graphs_of_leaves_and_of_constants() -> None:
    x = engine.ones(2, requires_grad=True)
    assert [node.op for node in inspect.autograd_graph(x).nodes] == ["leaf"]
    assert inspect.autograd_graph(engine.ones(2)) == inspect.AutogradGraph((), ())


def test_a_shared_node_appears_once() -> None:
    x = engine.ones(2, requires_grad=True)
    shared = x.exp()
    graph = inspect.autograd_graph((shared + shared * shared).sum())
    assert sorted(node.op for node in graph.nodes) == ["add", "exp", "leaf", "mul", "sum"]
    assert len({node.id for node in graph.nodes}) == len(graph.nodes)


def test_inspection_is_not_recorded() -> None:
    x = engine.ones(2, requires_grad=True)
    with inspect.recording() as seen:
        loss = (x * 2).sum()
        loss.backward(retain_graph=True)
        before = len(seen.calls)
        inspect.autograd_graph(loss, seen)
        assert len(seen.calls) == before
