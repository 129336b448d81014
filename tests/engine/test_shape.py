"""Symbolic sizes: their arithmetic is that of the numbers they stand for."""

from __future__ import annotations

import operator
import pickle
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import engine
from engine.shape import Dim, Spec, count, format_shape

N, M = Dim("N"), Dim("M")
NUMBERS = st.integers(-5, 9)


def polynomials() -> st.SearchStrategy[Any]:
    """Sizes in N and M, and plain numbers among them."""
    leaves = st.one_of(st.just(N), st.just(M), NUMBERS)
    operations = st.sampled_from([operator.add, operator.sub, operator.mul])
    return st.recursive(
        leaves, lambda inner: st.builds(lambda f, a, b: f(a, b), operations, inner, inner), max_leaves=6
    )


def at(size: Any, number: int) -> int:
    return size.at(number) if isinstance(size, Dim) else size


@given(polynomials(), polynomials(), st.integers(2, 50))
def test_arithmetic_commutes_with_evaluation(a: Any, b: Any, number: int) -> None:
    x, y = at(a, number), at(b, number)
    assert at(a + b, number) == x + y
    assert at(a - b, number) == x - y
    assert at(a * b, number) == x * y
    assert at(-a, number) == -x
    if y != 0 and b != 0:
        assert at(a // b, number) == x // y
        assert at(a % b, number) == x % y


@given(polynomials(), polynomials(), polynomials())
def test_arithmetic_laws(a: Any, b: Any, c: Any) -> None:
    assert a + b == b + a
    assert a * b == b * a
    assert (a + b) + c == a + (b + c)
    assert (a * b) * c == a * (b * c)
    assert a * (b + c) == a * b + a * c
    assert a - a == 0
    assert hash(a + b) == hash(b + a)


@given(polynomials(), polynomials())
def test_an_exact_quotient_gives_the_factor_back(a: Any, b: Any) -> None:
    if b != 0 and not (isinstance(b, Dim) and len(b._terms) > 1):
        assert (a * b) // b == a
        assert (a * b) % b == 0


@given(polynomials(), polynomials())
def test_order_for_large_values(a: Any, b: Any) -> None:
    large = 10**12
    for compare in (operator.lt, operator.le, operator.gt, operator.ge):
        assert compare(a, b) is compare(at(a, large), at(b, large))


def test_equality() -> None:
    assert N == Dim("N") != M
    assert N != 1
    assert (N - N, N * 0, N // N, (4 * N) // 2, (N * M) // M) == (0, 0, 1, 2 * N, N)
    assert {N * 2: "found"}[Dim("N") + N] == "found"
    assert type(N - N + 3) is int


@pytest.mark.parametrize(
    ("size", "text"),
    [
        (N, "N"), (4 * N + 1, "4·N + 1"), (-N, "-N"), (2 - N, "-N + 2"), (N * N - 3 * N * M, "-3·M·N + N·N"),
        (N // 2, "⌊N/2⌋"), ((4 * N + 1) // 2, "⌊(4·N + 1)/2⌋"), (7 // N, "⌊7/N⌋"), (N % 2, "N - 2·⌊N/2⌋"),
    ],
)  # fmt: skip
def test_text_of_sizes(size: Any, text: str) -> None:
    assert repr(size) == text


def test_floor_division_of_sizes() -> None:
    assert ((N // 2).at(7), (N // 2 * 2 + N % 2).at(7), (10 // N).at(3), ((N // 2) // 3).at(20)) == (3, 7, 3, 3)
    assert pickle.loads(pickle.dumps(N // 2 + 1)).at(9) == 5
    assert (N // 2 < N) is True
    with pytest.raises(ZeroDivisionError):
        N // 0
    assert 0 // N == 0


def test_text_of_shapes() -> None:
    assert (format_shape((N, 1, 28)), format_shape(())) == ("N×1×28", "scalar")
    spec = Spec((N, 3), engine.float32)
    assert (str(spec), spec.ndim, spec.with_shape([3])) == ("N×3 float32", 2, Spec((3,), engine.float32))
    assert (count((2, 3)), count(()), count((N, 3))) == (6, 1, 3 * N)


def test_ops_propagate_symbols() -> None:
    x = engine.zeros(N, 1, 28, 28, device="meta")
    assert x.flatten(1).shape == (N, 784)
    assert (x.flatten(1) @ engine.zeros(784, 10, device="meta")).shape == (N, 10)
    assert x.reshape(-1, 28).shape == (28 * N, 28)
    assert x.reshape(N, -1).shape == (N, 784)
    assert engine.cat([x, x]).shape == (2 * N, 1, 28, 28)
    assert x.sum((1, 2)).shape == (N, 28)
    assert x.mean().shape == ()
    assert (x + engine.zeros(28, device="meta")).shape == x.shape
    assert x.permute(3, 2, 1, 0).shape == (28, 28, 1, N)
    with pytest.raises(engine.errors.ShapeError, match=r"N×1×28×28 \(784·N elements\) does not divide into \?×5"):
        x.reshape(-1, 5)
    with pytest.raises(engine.errors.ShapeError, match="do not broadcast: dimension -4 is N in one and M in another"):
        x + engine.zeros(M, 1, 1, 1, device="meta")


def test_backward_runs_on_symbolic_shapes() -> None:
    weight = engine.zeros(10, 784, device="meta", requires_grad=True)
    loss = (engine.zeros(N, 784, device="meta") @ weight.T).log_softmax(-1).mean()
    loss.backward()
    assert weight.grad is not None
    assert weight.grad.shape == (10, 784)
