"""What `explain` tells of a compiled function, and that it is right."""

from __future__ import annotations

import dataclasses
import inspect
import json
from collections.abc import Callable
from typing import Any

import pytest

import engine
from engine import compiler, nn, optim
from engine.compiler import CompiledFunction, Explanation, explain
from engine.compiler.break_reasons import REASONS
from engine.compiler.suggest_rewrite import suggest_rewrite
from engine.errors import CompileError
from engine.nn import functional


def line_of(function: Callable[..., Any], text: str) -> int:
    lines, first = inspect.getsourcelines(function)
    return next(first + offset for offset, line in enumerate(lines) if text in line)


# -- the example of the material


def branching(a: engine.Tensor, b: engine.Tensor) -> engine.Tensor:
    x = a @ b
    x = x @ b
    if x.mean() > 0:
        x = x @ b
    else:
        x = x @ a
    return x @ a


def test_explains_two_segments_and_a_break() -> None:
    a, b = engine.ones(3, 3), engine.eye(3)
    found = explain(branching)(a, b)
    before, after = found.segments
    assert [one.op for one in before.operations] == ["matmul", "matmul", "mean", "gt"]
    assert [one.op for one in after.operations] == ["matmul", "matmul"]
    assert [one.outputs for one in after.operations] == [("3×3 float32",)] * 2
    lines = [one.line.number for one in (*before.operations, *after.operations) if one.line]
    texts = ["x = a @ b", "x = x @ b", "if x.mean()", "if x.mean()", "    x = x @ b\n    else", "return x @ a"]
    first = line_of(branching, "def branching")
    assert [number - first for number in lines] == [1, 2, 3, 3, 4, 7], texts
    (one,) = found.breaks
    assert (one.reason, one.op, one.before, one.after, one.count) == ("bool", "gt", 4, 2, 1)
    assert one.rewrite == "Compute both and choose: `x = engine.where(x.mean() > 0, x @ b, x @ a)`"
    assert (before.ended_by, after.ended_by) == ("bool", None)
    assert not found.recompiles


def test_each_branch_is_compiled_once() -> None:
    compiled = engine.compile(branching)
    a, b = engine.ones(3, 3), engine.eye(3)
    for _ in range(3):
        compiled(a, b)
    recorded = compiled.recorded
    compiled(-a, b)
    first = compiled.recorded
    assert recorded < first <= recorded + 2
    for sign in (1, -1, -1, 1):
        compiled(a * sign, b)
    assert compiled.recorded == first
    found = explain(compiled)(-a, b)
    (recompiled,) = found.recompiles
    assert recompiled.call == 4
    assert recompiled.line is not None and recompiled.line.code == "return x @ a"
    assert [one.line.code for one in found.segments[1].operations if one.line] == ["x = x @ a", "return x @ a"]


# -- a whole training step


def test_training_step_is_one_segment_with_all_lines() -> None:
    model = nn.Sequential(nn.Linear(3, 4), nn.ReLU(), nn.Linear(4, 2))
    adam = optim.Adam(model.parameters())

    def step(x: engine.Tensor, y: engine.Tensor) -> engine.Tensor:
        adam.zero_grad()
        scores = model(x)
        loss = functional.cross_entropy(scores, y)
        loss.backward()
        adam.step()
        return loss

    found = explain(step, repeat=2)(engine.ones(5, 3), engine.tensor([0, 1, 0, 1, 1]))
    (segment,) = found.segments
    forward, gradient, update = (line_of(step, text) for text in ("scores =", "loss =", "adam.step"))
    lines = {(one.line.number, one.backward) for one in segment.operations if one.line}
    assert {(forward, False), (forward, True), (gradient, False), (gradient, True), (update, False)} <= lines
    written = [guard.array for guard in segment.guards if guard.written]
    assert sorted(written) == sorted(["4×3 float32", "4 float32", "2×4 float32", "2 float32"] * 3)
    assert segment.numbers > 0
    assert (found.breaks, found.recompiles) == ((), ())
    assert found.calls >= 4
    assert min(segment.seconds, found.compiled_seconds, found.eager_seconds, found.first_seconds) > 0
    assert 0 < found.memory <= segment.held + 64 * len(segment.operations), "each begins at a separate cache line"


def test_explains_modules_and_keyword_arguments() -> None:
    model = nn.Linear(2, 3)
    for one in (model, engine.compile(model)):
        found = explain(one)(input=engine.ones(1, 2))
        assert [op.op for op in found.segments[0].operations] == ["linear"]
        assert found.name == "Linear"


def test_explanations_are_frozen_data_and_text() -> None:
    found = explain(branching)(engine.ones(3, 3), engine.eye(3))
    with pytest.raises(dataclasses.FrozenInstanceError):
        found.name = "other"  # pyright: ignore[reportAttributeAccessIssue]
    content = json.loads(found.as_json())
    assert content == found.as_dict()
    assert content["breaks"][0]["help"] == "docs/reference/graph-breaks.md#bool"
    assert content["segments"][0]["operations"][0]["line"]["code"] == "x = a @ b"
    assert isinstance(found, Explanation)
    text = str(found)
    assert text.startswith("branching: partly compiled, 2 segments, 1 graph break\n")
    assert "Break 1: bool   test_explain.py:" in text
    assert max(map(len, text.splitlines())) < 160


def test_iterations_of_a_loop_are_reported_together() -> None:
    def loop(x: engine.Tensor) -> float:
        total = 0.0
        for _ in range(20):
            total += x.sum().item()
            x = x * 2
        return total

    found = explain(loop, repeat=1)(engine.ones(2))
    (one,) = found.breaks
    assert (one.count, len(found.segments)) == (20, 21)
    assert not found.recompiles, "what a call does several times is nothing new"
    text = str(found)
    assert "20 graph breaks (1 cause)" in text
    assert "Segment 2, 3, 4, …, 20: 2 ops, fused into 1 kernel, 19 times per call" in text


def test_many_segments_are_abbreviated() -> None:
    def all_different(x: engine.Tensor) -> float:
        return sum(x[:n].sum().item() for n in range(1, 21))

    text = str(explain(all_different, repeat=1, wait=False)(engine.ones(20)))
    assert "and 14 more segments, each after a graph break" in text


def test_explain_inside_a_compiled_function_is_refused() -> None:
    with pytest.raises(CompileError, match="inside a compiled function"):
        engine.compile(lambda x: explain(branching)(x, x))(engine.ones(2, 2))


def test_breaks_of_fullgraph_functions_are_explained() -> None:
    found = explain(engine.compile(branching, fullgraph=True))(engine.ones(3, 3), engine.eye(3))
    assert [one.reason for one in found.breaks] == ["bool"]


@pytest.mark.parametrize(("backend", "how"), [("eager", "call by call"), ("aot_eager", "unfused")])
def test_execution_kind_of_a_segment(backend: str, how: str) -> None:
    found = explain(engine.compile(branching, backend=backend))(engine.ones(3, 3), engine.eye(3))
    assert [segment.how for segment in found.segments] == [how] * 2
    assert f"backend='{backend}'" in str(found)
    assert [kernel.ops for kernel in found.segments[1].kernels] == [("matmul",), ("matmul",)]


def test_replayed_calls_are_reported() -> None:
    model = nn.Sequential(nn.Linear(3, 4), nn.Dropout(0.5))

    f = CompiledFunction(lambda model, x: model(x).sum(), replay_classes=())
    x = engine.ones(2, 3)
    with engine.no_grad():
        for mode in (True, False):
            model.train(mode)
            for _ in range(5):
                f(model, x)
        found = explain(f, repeat=1)(model, x)
    assert found.replays.count >= 5
    assert any("training" in text for text in found.replays.missed)
    assert "Python ran again because this changed:" in str(found)
    (one,) = found.recompiles
    assert one.call == 6


def test_plans_for_different_sets_of_results_are_counted() -> None:
    kept = []

    @engine.compile
    def f(x: engine.Tensor, keep: bool) -> engine.Tensor:
        y = x * 2
        if keep:
            kept.append(y)
        return y.exp().sum()

    for keep in (False, False, True, True):
        f(X, keep)
    found = explain(f)(X, False)
    assert found.segments[0].plans == 2
    assert "compiled 2 times" in str(found)
    assert not found.recompiles


# -- recompiles


def scaled(x: engine.Tensor, y: engine.Tensor, dim: int = 0, *, extra: bool = False) -> engine.Tensor:
    z = x * y
    z = z.sum(dim)
    return z.exp() if extra else z + y.sum()


X, Y = engine.ones(3, 4), engine.ones(3, 4)

CHANGES: list[tuple[dict[str, Any], str, str, str]] = [
    (
        {"x": engine.ones(5, 4), "y": engine.ones(5, 4)},
        "mul of 3×4 float32 and 3×4 float32",
        "mul of 5×4 float32 and 5×4 float32",
        "input 1 is 5×4, was 3×4; input 2 is 5×4, was 3×4",
    ),
    (
        {"x": engine.ones(3, 4, dtype=engine.float64)},
        "mul of 3×4 float32 and 3×4 float32",
        "mul of 3×4 float64 and 3×4 float32",
        "input 1 has dtype float64, had float32",
    ),
    (
        {"x": engine.ones(4, 3).T},
        "mul of 3×4 float32 and 3×4 float32",
        "mul of 3×4 float32 and 3×4 float32",
        "input 1 has strides (1, 3), had (4, 1)",
    ),
    ({"dim": 1}, "sum of 3×4 float32", "sum of 3×4 float32", "argument dim is 1, was 0"),
    ({"extra": True}, "sum of 3×4 float32", "exp of 4 float32", "another op: exp instead of sum"),
    (
        {"y": X},
        "mul of 3×4 float32 and 3×4 float32",
        "mul of 3×4 float32 and 3×4 float32",
        "input 2 is an array that the call used earlier, was an array that the call had not used yet",
    ),
]


@pytest.mark.parametrize(("change", "expected", "got", "differences"), CHANGES)
def test_recompile_names_the_differences(change: dict[str, Any], expected: str, got: str, differences: str) -> None:
    compiled = engine.compile(scaled)
    given = {"x": X, "y": Y}
    for arguments in (given, given, given | change, given | change):
        compiled(**arguments)
    found = explain(compiled)(**given)
    (one,) = found.recompiles
    assert one.call == 3
    assert one.line is not None and one.line.file == __file__
    assert (one.expected, one.got, "; ".join(one.differences)) == (expected, got, differences)


def test_recompile_is_compared_with_the_nearest_trace() -> None:
    compiled = engine.compile(scaled)
    for x in (X, engine.ones(7, 1), X.double()):
        compiled(x, Y if x.shape[0] == 3 else engine.ones(7, 1))
    last = explain(compiled)(X, Y).recompiles[-1]
    assert last.differences == ("input 1 has dtype float64, had float32",)


def test_recompile_of_a_call_that_ends_earlier() -> None:
    @engine.compile
    def f(x: engine.Tensor, go_on: bool) -> engine.Tensor:
        y = x + 1
        return y * 2 if go_on else y

    for go_on in (True, True, False, True, False):
        f(engine.ones(1), go_on)
    (one,) = explain(f)(engine.ones(1), True).recompiles
    assert (one.call, one.got) == (3, "the end of the trace")
    assert one.differences == ("the call ended here; the earlier call continued",)


def test_changing_floats_cause_no_recompile() -> None:
    @engine.compile
    def f(x: engine.Tensor, scale: float) -> engine.Tensor:
        return x * scale + scale

    for scale in (1.0, 2.0, 3.0):
        f(X, scale)
    assert explain(f)(X, 4.0).recompiles == ()


# -- suggestions

REWRITES = {
    "a = a @ b if a.sum() > 0 else b": "`a = engine.where(a.sum() > 0, a @ b, b)`",
    "if a.sum() > 0:\n    a = b": "`a = engine.where(a.sum() > 0, b, a)`",
    "if a.sum() > 0:\n    a += b": "`a = engine.where(a.sum() > 0, a + b, a)`",
    "while a.sum() < 3:\n    a = a * 2": "fixed number of times",
    "assert (a > 0).all()": "Return `(a > 0).all()` as well",
    "total += loss.item()": "`total += loss.detach()`",
    "total += float(loss)": "`total += loss.detach()`",
    "losses.append(loss.item())": "`engine.stack(losses).tolist()`",
    "print(a)": "print it after the call",
    "for row in a * 2:\n    total += row.item()": "the whole tensor `a * 2`",
}
OF = {"a": "bool", "i": "bool", "w": "bool", "t": "number", "l": "number", "p": "print", "f": "iteration"}


@pytest.mark.parametrize(("source", "expected"), REWRITES.items())
def test_rewrites_use_the_names_of_the_line(source: str, expected: str, tmp_path: Any) -> None:
    path = tmp_path / "program.py"
    path.write_text(f"def f(a, b, total, loss, losses):\n    {source.replace(chr(10), chr(10) + '    ')}\n")
    reason = REASONS[OF[source[0]]]
    line = 3 if reason.id == "iteration" else 2
    assert expected in suggest_rewrite(reason, (str(path), line))


def test_unknown_statement_gets_general_advice() -> None:
    for reason in REASONS.values():
        assert suggest_rewrite(reason, None) == suggest_rewrite(reason, ("<nowhere>", 3)) == reason.advice


def test_reports_can_be_reset() -> None:
    compiled = engine.compile(branching)
    explain(compiled)(engine.ones(2, 2), engine.eye(2))
    compiler.reset()
    assert explain(compiled, repeat=1)(engine.ones(2, 2), engine.eye(2)).calls <= 6
