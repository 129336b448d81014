"""inference_mode, compared with PyTorch."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import engine
from engine.errors import AutogradError
from tests.engine.autograd.both import assert_same


def made(lib: Any) -> tuple[Any, Any, Any]:
    """A leaf, and a new tensor and a view of the leaf from inference mode."""
    z = lib.ones(2, requires_grad=True)
    with lib.inference_mode():
        return z, lib.ones(2) * 2, z.view(2)


INSIDE: dict[str, Callable[[Any, Any], Any]] = {
    "modes": lambda lib, z: (lib.is_inference_mode_enabled(), lib.is_grad_enabled()),
    "made": lambda lib, z: (lib.ones(2).is_inference(), lib.tensor([1.0]).is_inference(), lib.ones(2).requires_grad),
    "computed": lambda lib, z: ((z * 2).is_inference(), (z * 2).requires_grad, z.detach().is_inference()),
    "views": lambda lib, z: (z.view(2).is_inference(), lib.ones(2).view(2).is_inference(), z[0].is_inference()),
    "writes": lambda lib, z: (lib.ones(2).add_(1), z.add_(1), z._version),
    "off again": lambda lib, z: off_again(lib),
    "version": lambda lib, z: lib.ones(1)._version,
    "leaf": lambda lib, z: lib.ones(1).requires_grad_().is_inference(),
    "to": lambda lib, z: lib.ones(1).double().is_inference(),
}


def off_again(lib: Any) -> Any:
    with lib.inference_mode(False):
        return lib.ones(1).is_inference(), lib.is_grad_enabled(), lib.is_inference_mode_enabled()


@pytest.mark.parametrize("name", INSIDE)
def test_operations_inside_inference_mode(name: str) -> None:
    def program(lib: Any) -> Any:
        z = lib.ones(2, requires_grad=True)
        with lib.inference_mode():
            return INSIDE[name](lib, z)

    assert_same(program)


AFTER: dict[str, Callable[[Any, Any, Any, Any], Any]] = {
    "saved": lambda lib, z, i, v: i * z,
    "not saved": lambda lib, z, i, v: (i + z).requires_grad,
    "computed": lambda lib, z, i, v: ((i * 2).is_inference(), i.clone().is_inference()),
    "views": lambda lib, z, i, v: (i[0].is_inference(), i.view(2).is_inference(), i.detach().is_inference()),
    "written": lambda lib, z, i, v: i.add_(1),
    "written unrecorded": lambda lib, z, i, v: lib.no_grad()(lambda: i.add_(1))(),
    "written through a view": lambda lib, z, i, v: i[0].add_(1),
    "set": lambda lib, z, i, v: i.__setitem__(0, 3.0),
    "filled": lambda lib, z, i, v: i.fill_(1),
    "copied to": lambda lib, z, i, v: i.copy_(z),
    "source of a write": lambda lib, z, i, v: lib.ones(2).add_(i),
    "requires_grad": lambda lib, z, i, v: i.requires_grad_(),
    "version": lambda lib, z, i, v: i._version,
    "view made inside": lambda lib, z, i, v: v.add_(1),
    "predicate": lambda lib, z, i, v: (lib.is_inference(i), lib.is_inference(z)),
    "numpy": lambda lib, z, i, v: i.numpy(),
}


@pytest.mark.parametrize("name", AFTER)
def test_inference_tensors_outside_inference_mode(name: str) -> None:
    assert_same(lambda lib: AFTER[name](lib, *made(lib)))


def test_inference_mode_as_decorator() -> None:
    def program(lib: Any) -> Any:
        @lib.inference_mode()
        def called() -> Any:
            return lib.is_inference_mode_enabled(), lib.ones(1).is_inference()

        @lib.inference_mode
        def bare() -> Any:
            return lib.ones(1).is_inference()

        return called(), bare(), lib.is_inference_mode_enabled(), called.__name__

    assert_same(program)


def test_errors() -> None:
    z, i, _ = made(engine)
    with pytest.raises(AutogradError, match=r"cannot be saved for backward: 2 float32 .*clone\(\)"):
        z * i
    with pytest.raises(AutogradError, match=r"add_\(\) on an inference tensor outside inference_mode\(\).*clone\(\)"):
        i.add_(1)


def test_tracing_inside_inference_mode() -> None:
    with engine.inspect.trace() as seen, engine.inference_mode():
        engine.ones(2) * 2
    assert [call.op for call in seen.calls] == ["mul"]


def test_trained_module_in_inference_mode() -> None:
    model = engine.nn.Sequential(engine.nn.Linear(3, 4), engine.nn.BatchNorm1d(4), engine.nn.Linear(4, 1))
    x = engine.ones(5, 3)
    model(x).sum().backward()
    with engine.inference_mode():
        model.eval()
        assert model(x).is_inference()
    model.train()
    model(x).sum().backward()
