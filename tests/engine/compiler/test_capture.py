"""What a compiled function records, and that it means what eager mode means."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import engine
from engine import nn, optim
from engine.compiler import CompiledFunction, compile
from engine.errors import EngineError, ShapeError
from engine.nn import functional
from engine.tensors.deferred import Deferred


def network() -> tuple[nn.Module, optim.Optimizer]:
    engine.manual_seed(0)
    model = nn.Sequential(nn.Linear(6, 8), nn.ReLU(), nn.Dropout(0.2), nn.BatchNorm1d(8), nn.Linear(8, 3))
    return model, optim.Adam(model.parameters(), lr=0.1)


def step(model: nn.Module, optimizer: optim.Optimizer, x: engine.Tensor, y: engine.Tensor) -> engine.Tensor:
    optimizer.zero_grad()
    loss = functional.cross_entropy(model(x), y)
    loss.backward()
    optimizer.step()
    return loss


def batches(count: int, last: int = 16) -> list[tuple[engine.Tensor, engine.Tensor]]:
    rng = np.random.default_rng(0)
    sizes = [16] * (count - 1) + [last]
    return [(engine.tensor(rng.normal(size=(n, 6)).astype("f")), engine.tensor(rng.integers(0, 3, n))) for n in sizes]


@pytest.mark.parametrize("last", [16, 5])
def test_training_step_matches_eager_mode(last: int) -> None:
    data = batches(6, last) * 2
    model, optimizer = network()
    expected = [step(model, optimizer, x, y).item() for x, y in data]
    other, its_optimizer = network()
    compiled = compile(step)
    losses = [compiled(other, its_optimizer, x, y).item() for x, y in data]
    assert losses == pytest.approx(expected, rel=1e-5)  # the parts of a cross entropy add up in another order
    for one, two in zip(model.state_dict().values(), other.state_dict().values(), strict=True):
        np.testing.assert_allclose(one.numpy(), two.numpy(), rtol=1e-3, atol=1e-5)
    assert not compiled.report.breaks


def test_no_deferred_tensors_after_a_call() -> None:
    model, optimizer = network()
    compiled = compile(step)
    for x, y in batches(3):
        loss = compiled(model, optimizer, x, y)
        assert type(loss._array) is not Deferred
        for parameter in model.parameters():
            assert type(parameter._array) is not Deferred
            assert parameter.grad is not None
            assert type(parameter.grad._array) is not Deferred


def again(function: Callable[..., Any], *args: Any) -> tuple[Any, CompiledFunction]:
    """The result of a function's second compiled call, which finds its path known."""
    compiled = compile(function)
    compiled(*args)
    return compiled(*args), compiled


def test_known_path_is_computed_at_the_end() -> None:
    kept: list[engine.Tensor] = []

    def f(x: engine.Tensor) -> engine.Tensor:
        y = x * 2 + 1
        kept.append(y)
        assert (type(y._array) is Deferred) and (y._array.value is None) is (len(kept) == 2)
        return y.sum()

    result, _ = again(f, engine.ones(3))
    assert result.item() == 9
    assert kept[1].tolist() == [3, 3, 3]


def test_python_runs_on_every_call_with_new_floats() -> None:
    scale = [1.0]

    @compile
    def f(x: engine.Tensor) -> engine.Tensor:
        scale[0] += 1
        return x * scale[0] + engine.add(x, x, alpha=scale[0] / 2)

    found = [f(engine.ones(2)).tolist()[0] for _ in range(4)]
    assert found == [2 + 1 + 1, 3 + 1 + 1.5, 4 + 1 + 2, 5 + 1 + 2.5]
    assert f.recorded == 3


def test_branch_on_a_value_is_one_break() -> None:
    @compile
    def f(a: engine.Tensor, b: engine.Tensor) -> engine.Tensor:
        x = a @ b
        x = x @ b if x.mean() > 0 else x @ a
        return x @ a

    a, b = engine.ones(3, 3), engine.eye(3)
    for _ in range(3):
        assert f(a, b).tolist() == (a @ b @ b @ a).tolist()
    recorded = f.recorded
    for _ in range(3):
        assert f(-a, b).tolist() == (-a @ b @ -a @ -a).tolist()
        assert recorded <= f.recorded <= recorded + 2
    (found,) = f.report.breaks.values()
    assert found.reason.id == "bool"
    assert found.where is not None and found.where[0] == __file__
    assert found.count == 6


def test_writes_to_inputs_are_applied_in_order() -> None:
    @compile
    def f(x: engine.Tensor) -> list[engine.Tensor]:
        before = x * 1
        x.add_(1)
        part = x[1:]
        part.mul_(2)
        return [before, x * 1, part]

    for _ in range(3):
        x = engine.arange(3.0)
        before, after, part = f(x)
        assert before.tolist() == [0, 1, 2]
        assert after.tolist() == x.tolist() == [1, 4, 6]
        part.zero_()
        assert x.tolist() == [1, 0, 0]


def test_memory_shared_with_numpy_is_accessed_immediately() -> None:
    array = np.zeros(2, np.float32)

    @compile
    def f(x: engine.Tensor) -> engine.Tensor:
        first = x + 0
        array[0] += 1
        x.mul_(3)
        seen = array.tolist()
        return first + engine.tensor(seen)

    x = engine.from_numpy(array)
    assert [f(x).tolist() for _ in range(3)] == [[3, 0], [15, 0], [51, 0]]


def test_random_numbers_match_eager_mode() -> None:
    x = engine.ones(50)

    def f() -> engine.Tensor:
        return functional.dropout(x, 0.5) + functional.dropout(x, 0.3)

    engine.manual_seed(1)
    expected = [f().tolist() for _ in range(3)]
    engine.manual_seed(1)
    compiled = compile(f)
    assert [compiled().tolist() for _ in range(3)] == expected


def test_shape_errors_are_raised_at_the_line_of_the_call() -> None:
    effects = engine.zeros(1)

    @compile
    def f(x: engine.Tensor) -> engine.Tensor:
        effects.add_(1)
        return x @ engine.ones(3, 2)

    f(engine.ones(2, 3))
    f(engine.ones(2, 3))
    with pytest.raises(ShapeError) as caught:
        f(engine.ones(2, 4))
    assert any(entry.name == "f" for entry in caught.traceback)
    assert effects.item() == 3


def test_exception_runs_the_recorded_ops_before_it() -> None:
    total = engine.zeros(1)

    @compile
    def f(fail: bool) -> None:
        total.add_(1)
        if fail:
            raise RuntimeError("boom")
        total.add_(10)

    f(False)
    f(False)
    with pytest.raises(RuntimeError, match="boom"):
        f(True)
    assert total.item() == 23


def test_value_error_names_the_line_and_later_tensors_fail() -> None:
    kept: list[engine.Tensor] = []

    @compile
    def f(x: engine.Tensor) -> engine.Tensor:
        found = engine.linalg.cholesky(x)
        kept.append(found)
        return found * 2

    f(engine.eye(2))
    f(engine.eye(2))
    with pytest.raises(EngineError) as caught:
        f(-engine.eye(2))
    assert any("test_capture.py" in note for note in caught.value.__notes__)
    with pytest.raises(EngineError, match="never computed"):
        kept[-1].tolist()


def test_fullgraph_raises_at_a_break_with_the_reason() -> None:
    @compile(fullgraph=True)
    def f(x: engine.Tensor) -> float:
        return float((x * 2).sum())

    with pytest.raises(EngineError, match=r"test_capture.py:\d+, because item\(\), float\(\) or int\(\)"):
        f(engine.ones(2))


def test_data_dependent_shapes() -> None:
    @compile
    def f(x: engine.Tensor) -> engine.Tensor:
        y = x * 2
        return y[y > 2].sum() + engine.nonzero(y).shape[0]

    for values in ([1.0, 2.0], [3.0, 4.0], [0.0, 1.0]):
        y = 2 * np.array(values)
        assert f(engine.tensor(values)).item() == y[y > 2].sum() + np.count_nonzero(y)
    assert {one.reason.id for one in f.report.breaks.values()} == {"shape"}
