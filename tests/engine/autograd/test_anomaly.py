"""Anomaly mode: errors name the forward op and its line."""

from __future__ import annotations

import inspect
from typing import Any

import pytest

import engine
from engine.autograd import detect_anomaly, set_detect_anomaly
from engine.errors import AutogradError
from tests.engine.autograd.both import assert_same


def here() -> int:
    frame = inspect.currentframe()
    assert frame is not None and frame.f_back is not None
    return frame.f_back.f_lineno


def test_nan_error_names_op_input_and_line() -> None:
    x = engine.tensor([0.0, 1.0], requires_grad=True)
    with detect_anomaly():
        line = here() + 1
        root = x.sqrt()
        total = (root * 0).sum()
        with pytest.raises(AutogradError) as error:
            total.backward()
    text = str(error.value)
    assert "Function 'SqrtBackward0' returned nan values in its 0th output" in text
    assert f"{__file__}:{line}: root = x.sqrt()" in text


def test_without_check_nan_passes() -> None:
    x = engine.tensor([0.0], requires_grad=True)
    with detect_anomaly(check_nan=False):
        (x.sqrt() * 0).backward()
    assert x.grad is not None
    assert bool(x.grad.isnan().all())


def test_exception_in_backward_names_op_and_line() -> None:
    class Fails(engine.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            return x * 1

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            raise ZeroDivisionError("by the user")

    with detect_anomaly():
        line = here() + 1
        y = Fails.apply(engine.ones(1, requires_grad=True))
    with pytest.raises(ZeroDivisionError) as error:
        y.backward()
    (note,) = error.value.__notes__
    assert note.startswith(f"in the backward pass of Fails(), called at {__file__}:{line}: y = Fails.apply(")


def test_modified_tensor_error_names_line() -> None:
    with detect_anomaly():
        x = engine.ones(1, requires_grad=True) * 1
        line = here() + 1
        y = x.exp()
        y.add_(1)
    with pytest.raises(AutogradError, match=rf"the result of exp\(\) \({__file__}:{line}\)"):
        y.backward()


@pytest.mark.filterwarnings("ignore::UserWarning")  # PyTorch's, on being slow
def test_anomaly_modes_nest() -> None:
    def program(lib: Any) -> Any:
        found = []
        look = lambda: lib.is_anomaly_enabled() and (True, lib.is_anomaly_check_nan_enabled())  # noqa: E731
        with lib.autograd.detect_anomaly():
            found.append(look())
            with lib.autograd.set_detect_anomaly(True, check_nan=False):
                found.append(look())
            with lib.autograd.set_detect_anomaly(False):
                found.append(look())
            found.append(look())
        found.append(look())
        lib.autograd.set_detect_anomaly(True)
        found.append(look())
        lib.autograd.set_detect_anomaly(False)
        return found, look()

    assert_same(program)


@pytest.mark.filterwarnings("ignore::UserWarning")
def test_nan_as_in_pytorch() -> None:
    def program(lib: Any) -> Any:
        x = lib.tensor([0.0], requires_grad=True)
        with lib.autograd.detect_anomaly():
            (x.sqrt() * 0).backward()

    assert assert_same(program) == "RuntimeError"


def test_other_observers_stay_active() -> None:
    x = engine.tensor([2.0], requires_grad=True)
    with engine.inspect.recording() as seen, detect_anomaly():
        y = x * x
        y.backward()
    assert seen.calls[0].op == "mul"
    assert list(seen.gradient_norms.values()) == [1.0, 4.0]
    with set_detect_anomaly(True), engine.inspect.trace() as inner:
        x * x
    assert [call.op for call in inner.calls] == ["mul"]
