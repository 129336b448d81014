"""Jacobians, Hessians and their products with vectors, compared with PyTorch."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import engine
from engine.autograd import functional
from engine.errors import AutogradError, ShapeError
from tests.engine.autograd.both import assert_same

X = [[0.5, -1.0], [2.0, 0.25]]
Y = [1.5, -0.5]

FUNCTIONS: dict[str, tuple[Callable[..., Any], int]] = {
    "one to one": (lambda lib, x: x.sin() * x, 1),
    "to a number": (lambda lib, x: (x**3).sum(), 1),
    "to several": (lambda lib, x: (x.exp(), x.sum(0) ** 2, x.sum()), 1),
    "of two": (lambda lib, x, y: x @ y + (y * y).sum(), 2),
    "of two to two": (lambda lib, x, y: ((x * y).sum(1), y.cos()), 2),
    "linear": (lambda lib, x: 3 * x, 1),
    "of one of two": (lambda lib, x, y: (y**2).sum(), 2),
    "to a constant": (lambda lib, x: (x.detach() * 0).sum(), 1),
}
TO_A_NUMBER = ["to a number", "of one of two", "product", "to a constant"]
FUNCTIONS["product"] = (lambda lib, x, y: (x @ y).sum() * (y**3).sum() + (x**2).prod(), 2)


def function_and_inputs(lib: Any, name: str) -> tuple[Callable[..., Any], Any]:
    function, count = FUNCTIONS[name]
    x, y = lib.tensor(X, dtype=lib.float64), lib.tensor(Y, dtype=lib.float64)
    return (lambda *args: function(lib, *args)), x if count == 1 else (x, y)


def weights(lib: Any, like: Any) -> Any:
    if isinstance(like, tuple):
        return tuple(weights(lib, one) for one in like)
    return lib.arange(like.numel(), dtype=lib.float64).reshape(like.shape) + 0.5


@pytest.mark.parametrize("strict", [False, True])
@pytest.mark.parametrize("name", FUNCTIONS)
@pytest.mark.parametrize("of", ["jacobian", "vjp", "jvp"])
def test_first_derivatives(of: str, name: str, strict: bool) -> None:
    def program(lib: Any) -> Any:
        function, inputs = function_and_inputs(lib, name)
        derive = getattr(lib.autograd.functional, of)
        if of == "jacobian":
            return derive(function, inputs, strict=strict)
        like = inputs if of == "jvp" else function(*inputs) if isinstance(inputs, tuple) else function(inputs)
        return derive(function, inputs, weights(lib, like), strict=strict)

    assert_same(program)


@pytest.mark.parametrize("strict", [False, True])
@pytest.mark.parametrize("name", TO_A_NUMBER)
@pytest.mark.parametrize("of", ["hessian", "vhp", "hvp"])
def test_second_derivatives(of: str, name: str, strict: bool) -> None:
    def program(lib: Any) -> Any:
        function, inputs = function_and_inputs(lib, name)
        derive = getattr(lib.autograd.functional, of)
        if of == "hessian":
            return derive(function, inputs, strict=strict)
        return derive(function, inputs, weights(lib, inputs), strict=strict)

    assert_same(program)


@pytest.mark.parametrize("of", ["jacobian", "vjp", "jvp", "hessian", "vhp", "hvp"])
def test_create_graph(of: str) -> None:
    def program(lib: Any) -> Any:
        x = lib.tensor(Y, dtype=lib.float64, requires_grad=True)
        derive = getattr(lib.autograd.functional, of)
        vector = (
            () if of in ("jacobian", "hessian") else (lib.ones_like(x) if of != "vjp" else lib.tensor(1.0).double(),)
        )
        found = derive(lambda x: (x**4).sum() + x.prod(), x, *vector, create_graph=True)
        result = found[1] if isinstance(found, tuple) else found
        result.sum().backward()
        return result, result.requires_grad, x.grad

    assert_same(program)


@pytest.mark.parametrize("of", ["jacobian", "vjp", "hessian", "vhp", "hvp"])
def test_results_are_detached_without_create_graph(of: str) -> None:
    x = engine.tensor(2.0, requires_grad=True)
    found = getattr(functional, of)(lambda x: x**3, x)
    assert not any(tensor.requires_grad for tensor in (found if isinstance(found, tuple) else (found,)))
    assert x.grad is None


@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::UserWarning")  # PyTorch's own
def test_vectorize_and_strategies_have_no_effect() -> None:
    def program(lib: Any) -> Any:
        function, inputs = function_and_inputs(lib, "of two to two")
        jacobian = lib.autograd.functional.jacobian
        return jacobian(function, inputs, vectorize=True), jacobian(
            function, inputs, vectorize=True, strategy="forward-mode"
        )

    assert_same(program)


def test_empty_tensors() -> None:
    assert functional.jacobian(lambda x: x * 2, engine.ones(0)).shape == (0, 0)
    assert functional.hessian(lambda x: x.sum(), engine.ones(0)).shape == (0, 0)


# -- errors -----------------------------------------------------------------------------------


def test_errors() -> None:
    x = engine.ones(2)
    with pytest.raises(AutogradError, match="v is required unless the function's result has one element"):
        functional.vjp(lambda x: x * 2, x)
    with pytest.raises(ShapeError, match=r"v\[0\] is 3, but the inputs 0 is 2"):
        functional.jvp(lambda x: x * 2, x, engine.ones(3))
    with pytest.raises(AutogradError, match="one tensor for each of the inputs: 1, not 2"):
        functional.jvp(lambda x: x * 2, x, (x, x))
    with pytest.raises(AutogradError, match="must return a tensor with one element, not 2"):
        functional.hessian(lambda x: x * 2, x)
    with pytest.raises(TypeError, match="the result of the function must be a tensor or a tuple of tensors, not float"):
        functional.jacobian(lambda x: 1.0, x)
    with pytest.raises(AutogradError, match=r"does not depend on input 1.*Omit strict=True"):
        functional.jacobian(lambda x, y: x * 2, (x, x), strict=True)
    with pytest.raises(NotImplementedError, match="vectorize=True"):
        functional.jacobian(lambda x: x, x, strategy="forward-mode")
    with pytest.raises(ValueError, match="strategy must be"):
        functional.jacobian(lambda x: x, x, strategy="sideways")
