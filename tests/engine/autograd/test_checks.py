"""gradcheck and gradgradcheck: wrong gradients raise errors that name the element."""

from __future__ import annotations

from typing import Any

import pytest

import engine
from engine.autograd import gradcheck, gradgradcheck
from engine.errors import GradcheckError
from engine.tensors import Tensor


def numbers(*shape: int) -> Tensor:
    return engine.randn(*shape, dtype=engine.float64, requires_grad=True)


class Wrong(engine.autograd.Function):
    """x² with a wrong gradient at one element."""

    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        ctx.save_for_backward(x)
        return x * x

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        (x,) = ctx.saved_tensors
        slope = (2 * x * g).detach()
        slope[1, 2] = slope[1, 2] + 5 * g[1, 2].detach()
        return slope


class WrongTwice(engine.autograd.Function):
    """x³ with a correct first and a wrong second gradient."""

    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        ctx.save_for_backward(x)
        return x * x * x

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        (x,) = ctx.saved_tensors
        return 3 * x * x.detach() * g


@pytest.mark.parametrize("fast_mode", [False, True])
def test_correct_gradients_pass(fast_mode: bool) -> None:
    x, y = numbers(2, 3), numbers(3)
    options: dict[str, Any] = {"fast_mode": fast_mode, "check_grad_dtypes": True, "check_batched_grad": not fast_mode}
    assert gradcheck(lambda a, b: ((a * b).sin(), a.exp().sum(0), a > 0), (x, y), **options)
    assert gradgradcheck(lambda a, b: ((a * b).sin(), a.exp().sum(0)), (x, y), **options)
    assert gradgradcheck(lambda a: a.tanh(), x, gen_non_contig_grad_outputs=True)
    assert gradgradcheck(lambda a: a.tanh(), x, engine.ones(2, 3, dtype=engine.float64))


def test_inputs_of_all_kinds() -> None:
    constant = engine.ones(3, dtype=engine.float64)
    assert gradcheck(lambda a, b, n: a * b**n, (numbers(2, 3), constant, 2))
    assert gradcheck(lambda a: a.T * 2, numbers(2, 3).detach().T.requires_grad_())
    assert gradcheck(lambda a: a.sum(), numbers(0, 3))
    assert gradcheck(lambda a: a.detach() * 0, numbers(2))


@pytest.mark.parametrize("fast_mode", [False, True])
def test_wrong_gradient_raises(fast_mode: bool) -> None:
    x = numbers(2, 3)
    before = x.tolist()
    assert not gradcheck(Wrong.apply, x, raise_exception=False, fast_mode=fast_mode)
    with pytest.raises(GradcheckError, match="Jacobian mismatch for output 0 with respect to input 0"):
        gradcheck(Wrong.apply, x, fast_mode=fast_mode)
    assert x.tolist() == before


def test_error_names_element_and_both_values() -> None:
    x = engine.ones(2, 3, dtype=engine.float64, requires_grad=True)
    with pytest.raises(
        GradcheckError,
        match=r"element \[1, 2\] of the output by element \[1, 2\] of the input is 7 by the gradient and 2 by finite",
    ):
        gradcheck(Wrong.apply, x)


def test_wrong_second_gradient_raises() -> None:
    x = numbers(2)
    assert gradcheck(WrongTwice.apply, x)
    with pytest.raises(GradcheckError):
        gradgradcheck(WrongTwice.apply, x)


def test_missing_gradient_raises() -> None:
    with pytest.raises(GradcheckError, match="0 by the gradient and 2 by finite differences"):
        gradcheck(lambda x: x.detach() * 2, numbers(1))


def test_nondeterministic_gradient_raises() -> None:
    class Noisy(engine.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            return x * 1

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            return g + 1e-7 * engine.rand(*g.shape, dtype=g.dtype)

    with pytest.raises(GradcheckError, match="backward is not reentrant"):
        gradcheck(Noisy.apply, numbers(2))
    assert gradcheck(Noisy.apply, numbers(2), nondet_tol=1e-6)


def test_invalid_inputs_raise() -> None:
    with pytest.raises(ValueError, match="at least one input"):
        gradcheck(lambda x: x, engine.ones(2))
    with pytest.warns(UserWarning, match="input 0 is float32"):
        gradcheck(lambda x: x * 2, engine.ones(2, requires_grad=True), atol=0.1, eps=1e-2)
    with pytest.raises(GradcheckError, match="share memory"):
        gradcheck(lambda x: x * 2, numbers(1).detach().expand(3).requires_grad_())
    with pytest.raises(NotImplementedError, match="only differentiates in reverse mode"):
        gradcheck(lambda x: x, numbers(1), check_forward_ad=True)
    with pytest.raises(TypeError, match="must return tensors, not int"):
        gradcheck(lambda x: (x, 3), numbers(1))
