"""Looking at what ran: ops with their lines, the autograd graph, gradient norms."""

from __future__ import annotations

import inspect as python_inspect
import json
from typing import Any
from xml.etree import ElementTree as ET

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
    assert {(ops[edge.source], ops[edge.target]) for edge in graph.edges} == {
        ("sum", "mul"), ("mul", "matmul"), ("matmul", "permute"), ("permute", "leaf"),
    }  # fmt: skip
    assert {name: nodes[name].where for name in lines} == {name: (__file__, line) for name, line in lines.items()}
    assert {node.op: node.name for node in graph.nodes} == {
        "sum": "SumBackward0", "mul": "MulBackward0", "matmul": "MmBackward0", "permute": "PermuteBackward0",
        "leaf": "AccumulateGrad",
    }  # fmt: skip
    assert (nodes["mul"].spec, nodes["leaf"].spec) == (Spec((4, 2), engine.float32), weight.spec)
    assert (nodes["leaf"].leaf, nodes["mul"].leaf, nodes["leaf"].where) == ("weight", None, None)
    assert [saved.name for saved in nodes["mul"].saved] == ["x", "y"]
    assert nodes["mul"].saved_bytes == 4 * 2 * 4  # both are the same tensor
    assert (nodes["mul"].uses, nodes["matmul"].uses, nodes["sum"].uses) == (1, 2, 0)
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


# -- what the nodes save ----------------------------------------------------------------------


def test_shared_memory_is_counted_once() -> None:
    x = engine.arange(12.0).requires_grad_()
    parts = [x.detach()[:8], x.detach()[4:], x.detach()[2:6].expand(3, 4)]
    loss = sum((engine.ones(tuple(part.shape), requires_grad=True) * part).sum() for part in parts)
    graph = inspect.autograd_graph(loss)
    saved = [each for node in graph.nodes for each in node.saved]
    assert sorted((each.offset, each.nbytes) for each in saved) == [(0, 32), (8, 16), (16, 32)]
    assert len({each.storage for each in saved}) == 1
    assert graph.saved_bytes == 12 * 4
    assert inspect.memory_of(saved[:1]) == saved[0].nbytes


def test_a_saved_tensor_that_changed_in_place_is_named() -> None:
    x = engine.ones(3, requires_grad=True)
    y = x * 2
    loss = y.square().sum()
    y.data.zero_()  # a counter of its own, as in PyTorch
    assert not inspect.autograd_graph(loss).changed
    with engine.no_grad():
        y.mul_(3)
    [(node, saved)] = inspect.autograd_graph(loss).changed
    assert (node.name, saved.name, saved.spec) == ("PowBackward0", "x", y.spec)
    assert (saved.version, saved.current_version, saved.is_changed) == (0, 1, True)
    with pytest.raises(engine.errors.StaleTensorError, match="version 1, but version 0"):
        loss.backward()


def test_packed_tensors_have_no_memory_of_their_own() -> None:
    x = engine.ones(3, requires_grad=True)
    with engine.autograd.graph.saved_tensors_hooks(lambda tensor: tensor.tolist(), engine.tensor):
        loss = x.exp().sum()
    [saved] = [each for node in inspect.autograd_graph(loss).nodes for each in node.saved]
    assert (saved.version, saved.nbytes, saved.is_changed, saved.spec) == (None, 0, False, x.spec)


def test_saved_tensors_of_a_function() -> None:
    class Double(engine.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            ctx.save_for_backward(x)
            return x * 2

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            return g * 2

    node = inspect.autograd_graph(Double.apply(engine.ones(3, requires_grad=True)).sum()).nodes[1]
    assert (node.name, [saved.name for saved in node.saved], node.saved_bytes) == (
        "DoubleBackward", ["saved_tensors[0]"], 12,
    )  # fmt: skip


def test_hooks_are_listed() -> None:
    def scale(gradient: Any) -> Any:
        return gradient * 2

    x = engine.ones(3, requires_grad=True)
    y = x.exp()
    y.register_hook(scale)
    y.retain_grad()
    y.grad_fn.register_prehook(lambda grads: None)
    x.register_post_accumulate_grad_hook(lambda leaf: None)
    by_name = {node.name: node for node in inspect.autograd_graph(y.sum()).nodes}
    assert [hook.kind for hook in by_name["ExpBackward0"].hooks] == ["pre", "tensor", "retain_grad"]
    assert by_name["ExpBackward0"].hooks[1].name.endswith("scale")
    assert [hook.kind for hook in by_name["AccumulateGrad"].hooks] == ["post_accumulate_grad"]


def test_norms_are_of_one_pass_and_of_all_outputs() -> None:
    x = engine.ones(2, 3, requires_grad=True)
    for _ in range(2):  # the second pass adds to .grad
        with inspect.recording() as seen:
            values, _ = x.cummax(1)
            loss = values.sum()
            loss.backward(retain_graph=True)
    graph = inspect.autograd_graph(loss, seen)
    assert graph.nodes[-1].gradient_norm == pytest.approx(norm_of(x.grad) / 2)
    assert graph.nodes[1].gradient_norm == pytest.approx(6**0.5)


# -- where the history ends --------------------------------------------------------------------


def test_cuts_name_their_cause_and_what_lies_behind() -> None:
    x = engine.ones(2, 3, requires_grad=True)
    with inspect.recording() as seen:
        hidden = x.exp()
        detach_line = _next_line()
        detached = hidden.detach() + 1
        with engine.no_grad():
            no_grad_line = _next_line()
            constant = (x * 2).sin()
        loss = (hidden * detached + constant).sum() * hidden.argmax()
        loss.backward(retain_graph=True)
    graph = inspect.autograd_graph(loss, seen)
    names = {node.id: node.name for node in graph.nodes}
    found = {cut.kind: cut for cut in graph.cuts}
    assert [names[found[kind].node] for kind in ("detach", "no_grad", "not differentiable")] == [
        "MulBackward0", "AddBackward0", "MulBackward0",
    ]  # fmt: skip
    assert len(graph.cuts) == 3
    assert found["detach"].where == (__file__, detach_line)
    assert [names[id] for id in found["detach"].upstream] == ["ExpBackward0"]
    assert (found["no_grad"].where, found["no_grad"].op) == ((__file__, no_grad_line), "mul")
    assert found["no_grad"].upstream_names == ("AccumulateGrad",)
    assert found["not differentiable"].op == "argmax"
    assert inspect.autograd_graph(loss).cuts == ()


def test_a_result_without_history_has_its_cut() -> None:
    x = engine.ones(3, requires_grad=True)
    with inspect.recording() as seen, engine.inference_mode():
        loss = (x * 2).sum()
    graph = inspect.autograd_graph(loss, seen)
    assert graph.nodes == ()
    assert [(cut.node, cut.kind, cut.op) for cut in graph.cuts] == [(None, "inference_mode", "mul")]


def test_inputs_and_frozen_parameters_are_no_cuts() -> None:
    layer = nn.Linear(3, 2)
    layer.weight.requires_grad_(False)
    with inspect.recording() as seen:
        loss = layer(engine.ones(4, 3)).relu().sum()
        with engine.no_grad():
            layer.bias.mul_(2)
    assert inspect.autograd_graph(loss, seen).cuts == ()


# -- modules and exports -----------------------------------------------------------------------


def _model_graph() -> inspect.AutogradGraph:
    model = nn.Sequential(nn.Linear(3, 4), nn.Sequential(nn.ReLU(), nn.Linear(4, 2)))
    with inspect.recording(model) as seen:
        loss = model(engine.ones(5, 3)).square().sum()
        loss.backward(retain_graph=True)
    return inspect.autograd_graph(loss, seen, dict(model.named_parameters()))


def test_nodes_have_the_path_of_their_module() -> None:
    graph = _model_graph()
    assert [(node.name, node.module) for node in graph.nodes if node.leaf is None] == [
        ("SumBackward0", None), ("PowBackward0", None), ("AddmmBackward0", "1.1"), ("ReluBackward0", "1.0"),
        ("AddmmBackward0", "0"),
    ]  # fmt: skip


def test_recording_a_model_leaves_no_hooks() -> None:
    model = nn.Linear(3, 2)
    with pytest.raises(RuntimeError), inspect.recording(model):
        model(engine.ones(4, 4))
    with inspect.recording(model) as seen:
        (model(engine.ones(4, 3)) + 1).sum()
    assert set(seen.modules.values()) == {""}
    model(engine.ones(4, 3))
    assert len(seen.modules) == 1


def test_exports_agree() -> None:
    graph = _model_graph()
    as_json = json.loads(graph.json(indent=1))
    exported = graph.networkx()
    assert as_json == graph.as_dict()
    assert [node["name"] for node in as_json["nodes"]] == [name for _, name in exported.nodes(data="name")]
    assert exported.number_of_edges() == len(graph.edges) == len(as_json["edges"])
    assert exported.nodes[2]["saved_bytes"] == graph.nodes[2].saved_bytes
    drawing = ET.fromstring(graph.svg())
    names = [each.text for each in drawing.iter("{http://www.w3.org/2000/svg}text") if each.get("class") == "name"]
    assert names == [node.leaf or node.name for node in graph.nodes]
    assert len(list(drawing.iter("{http://www.w3.org/2000/svg}path"))) == len(graph.edges)


def test_json_of_norms_that_are_not_finite() -> None:
    x = engine.tensor([0.0, 1.0], requires_grad=True)
    with inspect.recording() as seen:
        loss = x.log().sum()
        loss.backward(retain_graph=True)
    graph = inspect.autograd_graph(loss, seen)
    assert json.loads(graph.json())["nodes"][-1]["gradient_norm"] == "inf"
    assert ET.fromstring(inspect.autograd_graph(engine.ones(1)).svg()) is not None
