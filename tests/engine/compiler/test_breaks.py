"""Graph breaks have their cause and line on new and on known paths."""

from __future__ import annotations

import inspect
import re
import sys
from collections import Counter
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import engine
from engine.compiler import CompiledFunction, compile, explain
from engine.compiler.break_reasons import REASONS
from engine.errors import EngineError
from tests.engine import fake_cupy
from tests.engine.compiler.gallery import GALLERY

MARK = re.compile(r"# breaks: (\w+)")


def marked(function: Callable[..., Any]) -> set[tuple[str, int]]:
    """Reason and line of each break that the source names."""
    lines, first = inspect.getsourcelines(function)
    return {(match[1], number) for number, text in enumerate(lines, first) if (match := MARK.search(text))}


def counted_breaks(compiled: CompiledFunction) -> dict[tuple[str, int], int]:
    found: Counter[tuple[str, int]] = Counter()
    for one in compiled.report.breaks.values():
        assert one.where is not None
        assert one.where[0] == inspect.getsourcefile(compiled.function)
        found[one.reason.id, one.where[1]] += one.count
    return dict(found)


def numbers(result: Any) -> Any:
    return np.asarray(result.tolist() if isinstance(result, engine.Tensor) else result)


@pytest.fixture
def x() -> engine.Tensor:
    return engine.tensor([1.0, 2.0, 3.0])


@pytest.mark.parametrize("function", GALLERY, ids=lambda function: function.__name__)
def test_each_break_has_its_reason_and_line_in_every_call(function: Callable[..., Any], x: engine.Tensor) -> None:
    compiled, expected = compile(function), numbers(function(x))
    assert marked(function)
    before: dict[tuple[str, int], int] = {}
    first: dict[tuple[str, int], int] = {}
    for call in range(4):
        found = numbers(compiled(x))
        assert np.array_equal(found, expected) or np.allclose(found, expected, rtol=1e-6)
        now = counted_breaks(compiled)
        new = {key: count - before.get(key, 0) for key, count in now.items()}
        assert set(now) == marked(function)
        first, before = first or new, now
        assert new == first, f"call {call} breaks otherwise than the first one"
    assert not compiled.report.recompiles


@pytest.mark.parametrize("function", GALLERY, ids=lambda function: function.__name__)
def test_explain_names_each_break(function: Callable[..., Any], x: engine.Tensor) -> None:
    explanation = explain(function, wait=False)(x)
    assert {(one.reason, one.line.number) for one in explanation.breaks if one.line} == marked(function)
    text = str(explanation)
    for one in explanation.breaks:
        assert one.line is not None
        assert f"# breaks: {one.reason}" in one.line.code
        assert one.what == REASONS[one.reason].what
        assert one.rewrite
        assert f"docs/reference/graph-breaks.md#{one.reason}" in text
        assert one.seconds > 0


def test_gallery_covers_all_other_reasons() -> None:
    assert len(GALLERY) >= 15
    assert set(REASONS) - {reason for one in GALLERY for reason, _ in marked(one)} == {"device", "limit"}


def test_paths_beyond_the_limit_run_eagerly() -> None:
    @compile
    def f(x: engine.Tensor, n: int) -> engine.Tensor:
        return x.reshape(1, -1).expand(n, -1) + 1

    x = engine.ones(2)
    for n in range(1, 70):
        assert f(x, n).shape == (n, 2)
    (found,) = f.report.breaks.values()
    assert found.reason.id == "limit"
    assert found.op == "expand"


def test_copies_to_other_devices(x: engine.Tensor, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "cupy", fake_cupy.module(devices=1))
    there = engine.ones(3).to("cuda")

    @compile
    def copies(x: engine.Tensor) -> engine.Tensor:
        y = x * 2
        return y.to("cuda") + 1  # breaks: device

    @compile
    def meets(x: engine.Tensor) -> engine.Tensor:
        y = (x * 2).sum()
        return there + y  # breaks: device

    for _ in range(3):
        assert copies(x).cpu().tolist() == [3, 5, 7]
        assert meets(x).cpu().tolist() == [13] * 3
    for one in (copies, meets):
        assert set(counted_breaks(one)) == marked(one.function)
        assert set(counted_breaks(one).values()) == {3}


def test_recording_continues_after_each_break(x: engine.Tensor) -> None:
    @compile
    def f(x: engine.Tensor) -> float:
        return float((x * 2).sum()) + float((x + 1).sum())

    assert f(x) == f(x) == 12 + 9
    assert f.recorded == 4
    assert [len(root.children) for root in f.roots.values()] == [1, 1]


def test_break_computes_all_recorded_values(x: engine.Tensor) -> None:
    @compile
    def f(x: engine.Tensor) -> engine.Tensor:
        other = x.exp()
        x.add_(1)
        total = x.sum()
        np.testing.assert_allclose(total.item(), x.numpy().sum())
        return other

    for _ in range(3):
        before = x.exp()
        np.testing.assert_allclose(f(x).numpy(), before.numpy(), rtol=1e-6)


def test_reading_a_tensor_without_recorded_uses_is_not_a_graph_break(x: engine.Tensor) -> None:
    limit = engine.tensor(2.0)

    @compile
    def f(x: engine.Tensor) -> engine.Tensor:
        y = x * 2
        return y + limit.item()

    f(x), f(x)
    assert not f.report.breaks


def test_shape_dtype_and_device_cause_no_break(x: engine.Tensor) -> None:
    @compile(fullgraph=True)
    def f(x: engine.Tensor) -> engine.Tensor:
        y = x.reshape(3, 1) * x
        if y.shape[0] > 2 and y.dtype is engine.float32 and y.ndim == 2 and y.is_contiguous():
            y = y / len(y)
        rows = [row * index for index, row in enumerate(y)]
        first, *_ = y
        return engine.stack(rows).sum() + first.numel() + y.stride(0) + (y.device.type == "cpu")

    expected = f.function(x).item()
    assert [f(x).item() for _ in range(3)] == [expected] * 3


def test_fullgraph_names_reason_line_and_rewrite(x: engine.Tensor) -> None:
    @compile(fullgraph=True)
    def f(x: engine.Tensor) -> engine.Tensor:
        if x.sum() > 0:
            return x + 1
        return x

    for _ in range(2):
        with pytest.raises(EngineError, match=r"test_breaks.py:\d+, because Python converted .* engine.where"):
            f(x)
