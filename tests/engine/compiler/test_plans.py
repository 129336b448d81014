"""Steps from a trace to its plan: passes, fusion, memory planning, and writes to inputs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import engine
from engine.backend import CPU
from engine.compiler import CompiledFunction
from engine.compiler import compiled_function as function_module
from engine.compiler.graph_interpreter import GraphInterpreter
from engine.compiler.ir import IRGraph, IRNode, IROutput, IRValue, verify_graph
from engine.compiler.kernels import FusedGroup
from engine.compiler.passes import PASSES
from engine.compiler.passes.common_subexpressions import eliminate_common_subexpressions
from engine.compiler.passes.dead_code import eliminate_dead_code
from engine.compiler.passes.fold_constants import fold_constants
from engine.compiler.passes.simplify_graph import simplify_graph
from engine.compiler.plan import ExecutionPlan
from engine.compiler.plan.buffer_allocation import ALIGNMENT, Lifetime, allocate_buffers
from engine.compiler.plan.buffer_placement import BufferPlacement, place_buffers, reads_of
from engine.compiler.plan.fusion import PlanStep, fuse_nodes
from engine.compiler.plan.fusion_candidate import fusion_candidate
from engine.nn import functional
from engine.ops.elementwise.arithmetic import add, mul, neg
from engine.ops.linalg.matmul import matmul
from engine.ops.movement.primitives import permute
from engine.ops.record import Op
from engine.tensors.deferred import Form
from engine.utils.checkpoint import checkpoint
from tests.engine.compiler.worlds import Step, World, steps

# -- passes ---------------------------------------------------------------------------------------


@pytest.fixture
def graph_of(monkeypatch: pytest.MonkeyPatch) -> Callable[..., IRGraph]:
    """The graph of a function's only recording, before any pass."""

    def record(function: Callable[..., Any], *args: Any) -> IRGraph:
        graphs: list[IRGraph] = []
        monkeypatch.setattr(function_module, "optimize", graphs.append)
        compiled = CompiledFunction(function, backend="aot_eager")
        compiled(*args)
        compiled(*args)
        (graph,) = graphs
        return graph

    return record


def names(graph: IRGraph) -> list[str]:
    verify_graph(graph)
    return [node.op.name for node in graph.nodes]


X = engine.tensor([[-0.0, 0.0, 1.5], [float("nan"), float("-inf"), -2.0]])


def test_dead_code_is_removed(graph_of: Callable[..., IRGraph]) -> None:
    def f(x: engine.Tensor) -> engine.Tensor:
        x.exp().sum()
        functional.dropout(x, 0.5)
        y = x * 2
        y.add_(1)  # written to, but not used either
        return x.neg()

    graph = graph_of(f, X)
    assert len(graph.nodes) > 4
    eliminate_dead_code(graph)
    assert names(graph) == ["neg"]


def test_writes_to_inputs_are_not_dead_code(graph_of: Callable[..., IRGraph]) -> None:
    graph = graph_of(_write, engine.ones(2, 3))
    eliminate_dead_code(graph)
    assert "mul" in names(graph)
    assert len(graph.writes) == 1


def _write(x: engine.Tensor) -> None:
    x[0].mul_(2)


def test_common_subexpressions_are_computed_once(graph_of: Callable[..., IRGraph]) -> None:
    graph = graph_of(lambda x: x.exp() * 2 + x.exp() * 2, X)
    eliminate_common_subexpressions(graph)
    assert names(graph) == ["exp", "mul", "add"]


def test_random_ops_with_different_states_are_not_merged(graph_of: Callable[..., IRGraph]) -> None:
    graph = graph_of(lambda x: engine.rand_like(x) + engine.rand_like(x), X)
    before = names(graph)
    eliminate_common_subexpressions(graph)
    assert names(graph) == before


def test_varying_numbers_are_not_merged(graph_of: Callable[..., IRGraph]) -> None:
    """Two floats that happen to be equal while recording; ints and bools, which compare equal in Python."""
    graph = graph_of(lambda x: x * 2.0 + x * 2.0 + (x * 1 + x * True), X)
    eliminate_common_subexpressions(graph)
    assert names(graph).count("mul") == 4


def test_ops_before_and_after_a_write_are_not_merged(graph_of: Callable[..., IRGraph]) -> None:
    def f(x: engine.Tensor) -> engine.Tensor:
        first = x.exp()
        x.add_(1)
        return first + x.exp()

    graph = graph_of(f, engine.ones(3))
    eliminate_common_subexpressions(graph)
    assert names(graph).count("exp") == 2


@pytest.mark.parametrize(
    ("function", "left"),
    [
        (lambda x: x.clone() * 1 / 1 - 0, []),
        (lambda x: x + 0, ["add"]),  # -0.0 + 0 is 0.0
        (lambda x: x * 1.0, ["mul"]),  # it is another number the next time
        (lambda x: x * 0, ["mul"]),  # NaN stays NaN
        (lambda x: x - x, ["sub"]),
        (lambda x: x.double().float(), ["cast", "cast"]),
        (lambda x: x.half().float(), ["cast", "cast"]),  # rounds
        (lambda x: x.reshape(3, 2).exp().reshape(6).reshape(2, 3), ["reshape", "exp", "reshape"]),
        (lambda x: x.permute(0, 1).exp(), ["exp"]),
        (lambda x: (x > 0) * 1, ["gt", "mul"]),  # another dtype
    ],
)
def test_ops_without_effect_are_removed(
    function: Callable[..., Any], left: list[str], graph_of: Callable[..., IRGraph]
) -> None:
    graph = graph_of(lambda x: function(x).clone(), X)
    simplify_graph(graph)
    eliminate_dead_code(graph)
    assert names(graph) == left


@pytest.mark.filterwarnings("ignore::UserWarning")
@settings(max_examples=100, suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture])
@given(st.lists(steps(), min_size=1, max_size=14))
def test_graphs_are_valid_after_every_pass(monkeypatch: pytest.MonkeyPatch, program: list[Step]) -> None:
    seen = 0

    def optimize(graph: IRGraph) -> None:
        nonlocal seen
        seen += 1
        verify_graph(graph)
        for rewrite in PASSES:
            rewrite(graph)
            verify_graph(graph)
        check_placement(place_buffers(graph, fuse_nodes(graph, fusion_candidate)))

    with monkeypatch.context() as patch:
        patch.setattr(function_module, "optimize", optimize)
        compiled = CompiledFunction(World.run, backend="aot_eager")
        world = World()
        for call in range(3):
            world.call = call
            try:
                compiled(world, [step for step in program if step.name != "raises"])
            except NotImplementedError:
                return


@pytest.mark.parametrize(
    ("function", "left"),
    [
        (lambda x: x * engine.ones(2, 3), []),
        (lambda x: x / (engine.ones(3, 2).T * 4 - 3).contiguous(), []),
        (lambda x: x - engine.zeros(2, 6).view(3, 4)[1:, :3], []),
        (lambda x: x + engine.zeros(2, 3), ["fill", "add"]),
        (lambda x: x.exp() + (engine.ones(1) + engine.ones(2, 1)).expand(2, 3).sqrt(), ["exp", "fill", "add"]),
        (lambda x: x + engine.ones(2, 3) * 2.0, ["fill", "mul", "add"]),  # it is another number the next time
        (lambda x: x + engine.ones(2, 3).sum(), ["fill", "sum", "add"]),
    ],
)
def test_constant_arrays_are_folded(
    function: Callable[..., Any], left: list[str], graph_of: Callable[..., IRGraph]
) -> None:
    graph = graph_of(lambda x: function(x).clone(), X)
    fold_constants(graph)
    simplify_graph(graph)
    eliminate_dead_code(graph)
    assert names(graph) == left


# -- memory ---------------------------------------------------------------------------------------

LIVES = st.lists(st.tuples(st.integers(0, 500), st.integers(0, 12), st.integers(0, 12)), max_size=20)


@settings(max_examples=500)
@given(LIVES)
def test_buffers_with_overlapping_lifetimes_do_not_overlap(drawn: list[tuple[int, int, int]]) -> None:
    lives = [Lifetime(i, size, min(a, b), max(a, b)) for i, (size, a, b) in enumerate(drawn)]
    layout = allocate_buffers(lives)
    rounded = [-(-max(life.size, 1) // ALIGNMENT) * ALIGNMENT for life in lives]
    for one, space in zip(lives, rounded, strict=True):
        offset = layout.offsets[one.key]
        assert offset >= 0
        assert offset % ALIGNMENT == 0
        assert offset + one.size <= layout.size
        for other in lives[: one.key]:
            index = layout.offsets[other.key]
            together = one.begin <= other.end and other.begin <= one.end
            assert not (together and offset < index + rounded[other.key] and index < offset + space)
    assert layout.size <= sum(rounded)
    busiest = max(
        (sum(size for one, size in zip(lives, rounded, strict=True) if one.begin <= t <= one.end) for t in range(13)),
        default=0,
    )
    assert layout.size >= busiest


# -- fusion and placement of random graphs -----------------------------------------------

SHAPE = (3, 3)
FORM = Form.of(np.empty(SHAPE))


def _value(node: IRNode | None, index: int) -> IRValue:
    return IRValue(SHAPE, np.dtype(np.float64), CPU, node, index)


@st.composite
def graphs(draw: st.DrawFn) -> IRGraph:
    """Nodes over 3×3 matrices: elementwise, views, products; some results are outputs, some are written to inputs."""
    slots = range(draw(st.integers(1, 4)))
    inputs = {slot: _value(None, slot) for slot in slots}
    values, nodes = list(inputs.values()), []
    for _ in range(draw(st.integers(1, 12))):
        op = draw(st.sampled_from([neg, add, mul, add, mul, permute, matmul]))
        # Recent values are chosen more often, so that there are long paths.
        picks = [values[-1 - draw(st.integers(0, len(values) - 1))] for _ in range(2)]
        given = picks[:1] if op in (neg, permute) else picks
        node = IRNode(op, list(given), {"dims": (1, 0)} if op is permute else op.defaults, mixed=False)
        node.outputs = [_value(node, 0)]
        nodes.append(node)
        values.append(node.out)
    chosen = draw(st.lists(st.sampled_from(values), max_size=4))
    outputs = [IROutput(100 + i, value, FORM, (), None, 100 + i) for i, value in enumerate(chosen)]
    writes = {slot: draw(st.sampled_from(values)) for slot in slots if draw(st.booleans())}
    writes = {slot: value for slot, value in writes.items() if value is not inputs[slot]}
    outputs += [IROutput(slot, writes[slot], FORM, (), slot, slot) for slot in writes if draw(st.booleans())]
    graph = IRGraph(inputs, nodes, outputs, writes, dict.fromkeys(slots, FORM))
    verify_graph(graph)
    return graph


def check_order(graph: IRGraph, found: Sequence[PlanStep]) -> None:
    """Each node is in one step, and steps read only results of earlier steps."""
    index = {node: i for i, node in enumerate(graph.nodes)}
    known, done = set(graph.inputs.values()), []
    for step in found:
        nodes = list(step.nodes) if isinstance(step, FusedGroup) else [step]
        inside: set[IRValue] = set()
        for node in nodes:
            assert all(value in known or value in inside for value in node.values)
            inside.update(node.outputs)
        if isinstance(step, FusedGroup):
            assert set(step.inputs) == {value for node in nodes for value in node.values} - inside
            others = [node for node in graph.nodes if node not in nodes]
            used = {value for node in others for value in node.values} | set(graph.results())
            assert set(step.outputs) == inside & used
            inside = set(step.outputs)
        known |= inside
        done += nodes
    assert sorted(index[node] for node in done) == list(range(len(graph.nodes)))


class Few:
    """Groups up to N nodes of the given ops."""

    def __init__(self, fusible: set[str], most: int) -> None:
        self.fusible, self.left = fusible, most - 1

    def try_add(self, nodes: Sequence[IRNode]) -> bool:
        fits = len(nodes) <= self.left and all(node.op.name in self.fusible for node in nodes)
        self.left -= len(nodes) * fits
        return fits


@settings(max_examples=400)
@given(graphs(), st.sets(st.sampled_from(["neg", "add", "mul", "permute", "matmul"])), st.integers(1, 6))
def test_fused_groups_form_no_cycle_and_keep_the_order(graph: IRGraph, fusible: set[str], most: int) -> None:
    eliminate_dead_code(graph)
    check_order(graph, fuse_nodes(graph, lambda node: Few(fusible, most) if node.op.name in fusible else None))


def test_path_through_a_grown_group_prevents_fusion() -> None:
    """A node may depend on a later one through other nodes of its group."""
    a, b = _value(None, 0), _value(None, 1)
    nodes: list[IRNode] = []

    def made(op: Op, *inputs: IRValue) -> IRValue:
        nodes.append(IRNode(op, list(inputs), op.defaults, mixed=False))
        nodes[-1].outputs = [_value(nodes[-1], 0)]
        return nodes[-1].out

    first = made(neg, a)
    product = made(matmul, first, first)
    second = made(neg, b)
    grown = made(add, first, made(matmul, second, second))
    last = made(add, second, product)  # fused with `second`, it would depend on `first` in the same group
    outputs = [IROutput(100 + i, value, FORM, (), None, 100 + i) for i, value in enumerate((grown, last))]
    graph = IRGraph({0: a, 1: b}, nodes, outputs, {}, dict.fromkeys((0, 1), FORM))
    check_order(graph, fuse_nodes(graph, lambda node: None if node.op is matmul else Few({"neg", "add"}, 9)))


@settings(max_examples=200)
@given(graphs())
def test_fusion_and_placement_of_random_graphs(graph: IRGraph) -> None:
    eliminate_dead_code(graph)
    found = fuse_nodes(graph, fusion_candidate)
    check_order(graph, found)
    check_placement(place_buffers(graph, found))


def check_placement(found: BufferPlacement) -> None:
    """Buffers live until the last read of their value or of a view of it; inputs are not overwritten before."""
    end, read = len(found.steps), dict[IRValue, int]()
    views = {step.out: step.values[0] for step in found.steps if isinstance(step, IRNode) and step.op.view}

    def note(value: IRValue, number: int) -> None:
        read[value] = number
        if value in views:
            note(views[value], number)

    for number, step in enumerate(found.steps):
        for value in reads_of(step):
            note(value, number)
    for value in found.graph.results():
        note(value, end)
    for number, step in enumerate(found.steps):
        for value in step.outputs:
            assert found.made_at[value] == number
            assert found.last.get(value, number) >= read.get(value, number)
    for value, slot in found.target.items():
        old = found.graph.inputs[slot]
        assert found.graph.writes[slot] is value
        assert read.get(old, -1) <= found.made_at[value], "an input is read after it was overwritten"


@settings(max_examples=300)
@given(graphs(), st.integers(0, 2**32 - 1))
def test_plans_match_the_graph_interpreter(graph: IRGraph, seed: int) -> None:
    """The plan runs twice, since its memory keeps values of the previous run, and does not wait for kernels."""
    random = np.random.default_rng(seed)
    eliminate_dead_code(graph)
    plan, interpreter = ExecutionPlan(graph), GraphInterpreter(graph)
    for _ in range(2):
        given = {slot: random.normal(size=SHAPE) for slot in graph.inputs}
        copies = {slot: array.copy() for slot, array in given.items()}
        for ours, expected in zip(plan.run(given, []), interpreter.run(copies, []), strict=True):
            np.testing.assert_array_equal(ours, expected)
        for slot, array in given.items():
            np.testing.assert_array_equal(array, copies[slot])


@pytest.mark.parametrize("waits", [False, True])
def test_one_kernel_result_is_written_to_two_inputs(waits: bool) -> None:
    """The result replaces the input that it is computed from, and a second one; a third write needs a copy."""
    inputs = {slot: _value(None, slot) for slot in range(4)}
    nodes: list[IRNode] = []
    result = inputs[3]
    for _ in range(2):
        nodes.append(IRNode(permute, [result], {"dims": (1, 0)}, mixed=False))
        nodes[-1].outputs = [result := _value(nodes[-1], 0)]
    plan = ExecutionPlan(IRGraph(inputs, nodes, [], {0: inputs[1], 2: result, 3: result}, dict.fromkeys(inputs, FORM)))
    if waits:
        plan.wait()
    arrays = {slot: np.full(SHAPE, float(slot)) for slot in inputs}
    plan.run(arrays, [])
    assert [array[0, 0] for array in arrays.values()] == [1.0, 1.0, 3.0, 3.0]


def test_results_do_not_share_buffers() -> None:
    def f(x: engine.Tensor) -> list[engine.Tensor]:
        return [engine.ones(3) * 2, x.T.contiguous(), x.expand(2, 2, 3).contiguous()]

    compiled = CompiledFunction(f)
    for _ in range(2):
        assert all(one._numbers().base is None for one in compiled(engine.ones(2, 3)))


# -- checkpoints ----------------------------------------------------------------------------------


def test_checkpoints_reduce_the_memory_of_plans() -> None:
    weight = engine.ones(32, 32) * 0.01

    def memory(around: Callable[..., Any]) -> int:
        x = engine.ones(200, 32, requires_grad=True)

        def step() -> Any:
            value = x
            for _ in range(6):
                value = around(lambda one: ((one @ weight).tanh() @ weight).tanh() @ weight, value)
            return engine.autograd.grad(value.sum(), x)

        compiled = CompiledFunction(step)
        compiled()
        compiled()
        (ran,) = compiled.trace_call()
        assert isinstance(ran.plan, ExecutionPlan)
        return ran.plan.memory

    assert memory(checkpoint) < 0.7 * memory(lambda function, value: function(value))


@pytest.mark.parametrize(
    "view",
    [
        pytest.param(lambda x: x.as_strided((2, 2), (1, 4)), id="of an input"),
        pytest.param(lambda x: (x * 2).as_strided((2, 2), (1, 4)), id="of a result"),
        pytest.param(lambda x: x.contiguous().as_strided((2, 2), (1, 3)), id="of a copy"),
        pytest.param(lambda x: (x * 2).as_strided((2, 2), (4, 1), 5).add_(1), id="written to"),
        pytest.param(lambda x: x.contiguous().view(engine.int16), id="as a smaller dtype"),
        pytest.param(lambda x: (x * 2).half().view(engine.bfloat16), id="as another dtype"),
        pytest.param(lambda x: engine.ones(2).half().view(engine.bfloat16), id="of a constant"),
    ],
)
def test_views_of_the_memory_layout_match_eager_mode(view: Callable[[Any], Any]) -> None:
    def f(x: Any) -> Any:
        return view(x).float() + 1

    x = engine.arange(12.0).reshape(3, 4)
    compiled = CompiledFunction(f)
    for each in (x, x.T, x.T, x.flip(0).T):
        for _ in range(2):
            assert compiled(each.clone()).tolist() == f(each.clone()).tolist()
