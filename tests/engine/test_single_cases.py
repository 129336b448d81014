"""Edge cases that differed from PyTorch once: the same values, dtypes, shapes and gradients, or an error in both."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import engine

torch = pytest.importorskip("torch")

Call = Callable[[Any], Any]


def numbers(m: Any, *shape: int) -> Any:
    return m.arange(float(math.prod(shape)), dtype=m.float64).reshape(shape) / 7 + 0.1


def symmetric(m: Any, size: int, diagonal: float) -> Any:
    """A symmetric matrix whose diagonal is scaled; where that is small, blocks of two rows are pivots."""
    result = np.random.default_rng(size).normal(size=(size, size))
    result[range(size), range(size)] *= diagonal
    return m.tensor(result + result.T)


def slopes(m: Any, function: Callable[..., Any], *inputs: Any) -> list[Any]:
    """The result and the gradients for all inputs."""
    leaves = [x.requires_grad_() for x in inputs]
    result = function(*leaves)
    result.sum().backward()
    return [result, *(x.grad for x in leaves if x.grad is not None)]


def reflections(m: Any, left: bool, transpose: bool) -> Any:
    a, tau = m.geqrf(numbers(m, 2, 4) + m.eye(2, 4, dtype=m.float64))
    return m.ormqr(a, tau, numbers(m, 2, 3) if left else numbers(m, 3, 2), left, transpose)


CASES: dict[str, Call] = {
    "matmul of an empty inner size": lambda m: slopes(m, lambda a, b: a @ b, m.zeros(3, 0), m.zeros(0, 4)),
    "batches of the same": lambda m: slopes(m, lambda a, b: a @ b, m.zeros(2, 3, 0), m.zeros(2, 0, 4)),
    "pow of negative exponents": lambda m: m.tensor([1, 2, -1, -1, 0]) ** m.tensor([-1, -1, -1, -2, -1]),
    "pow of one number": lambda m: 2 ** m.tensor([-1, 2]),
    "diff 0": lambda m: m.diff(m.tensor([1, 3, 6]), n=0, prepend=m.tensor([0])),
    "tensordot broadcasts the first": lambda m: slopes(
        m, lambda a, b: m.tensordot(a, b, dims=([1], [0])), numbers(m, 3, 1), numbers(m, 4, 2)
    ),
    "tensordot broadcasts the second": lambda m: slopes(
        m, lambda a, b: m.tensordot(a, b, dims=([1], [0])), numbers(m, 3, 4), numbers(m, 1, 2)
    ),
    "take_along_dim counts from the end": lambda m: m.take_along_dim(m.arange(6).view(2, 3), m.tensor([[-1]]), dim=1),
    "gather a row from a number": lambda m: slopes(m, lambda a: m.gather(a, 0, m.tensor([0, 0])), m.tensor(3.0)),
    "gather a number from a row": lambda m: m.gather(m.tensor([3.0, 4.0]), 0, m.tensor(1)),
    "gather nothing": lambda m: m.gather(m.arange(6.0).view(2, 3), 1, m.empty(0, dtype=m.int64)),
    "squeeze no dimensions": lambda m: m.zeros(1, 2, 1).squeeze(()),
    "squeeze_ no dimensions": lambda m: m.zeros(1, 2, 1).squeeze_(()),
    "linalg.vander of a number": lambda m: m.linalg.vander(m.tensor(2.0), N=3),
    "unfold a number": lambda m: slopes(m, lambda a: a.unfold(0, 1, 1), m.tensor(2.0)),
    "unfold a number into nothing": lambda m: m.tensor(2.0).unfold(0, 0, 1),
    "logsumexp of a number": lambda m: m.logsumexp(m.tensor(2.0), 0),
    "multi_margin_loss of a score": lambda m: m.nn.functional.multi_margin_loss(m.tensor(2.0), m.tensor(0)),
    "multi_margin_loss of a sample": lambda m: m.nn.functional.multi_margin_loss(
        m.tensor([2.0, 1.5]), m.tensor([0]), reduction="none"
    ),
    "multilabel_margin_loss of a score": lambda m: m.nn.functional.multilabel_margin_loss(
        m.tensor(2.0), m.tensor(0), reduction="none"
    ),
    "prelu of a number": lambda m: slopes(m, m.nn.functional.prelu, m.tensor(-2.0), m.tensor([0.25])),
    "avg_pool1d of integers": lambda m: m.nn.functional.avg_pool1d(m.arange(6).view(1, 6), 2),
    "avg_pool2d of integers": lambda m: m.nn.functional.avg_pool2d(-m.arange(16).view(1, 4, 4), 2),
    "avg_pool3d of integers": lambda m: m.nn.functional.avg_pool3d(m.arange(8).view(1, 2, 2, 2), 2),
    "hardtanh of integers": lambda m: m.nn.functional.hardtanh(m.tensor([-3, 0, 5]), -1.5, 2.5),
    "hardtanh_ of integers": lambda m: m.nn.functional.hardtanh_(m.tensor([-3, 0, 5])),
    "relu6 of bytes": lambda m: m.nn.functional.relu6(m.tensor([3, 0, 9], dtype=m.uint8)),
    "local_response_norm of integers": lambda m: m.nn.functional.local_response_norm(m.arange(12).view(1, 4, 3), 2),
    "logspace of integers": lambda m: m.logspace(0.5, 2.7, 5, dtype=m.int64),
    "linspace of integers": lambda m: m.linspace(0.1, 5.9, 5, dtype=m.int64),
    "addr of booleans": lambda m: m.addr(
        m.tensor([[True, False], [False, False]]), m.tensor([True, False]), m.tensor([True, True]), alpha=2
    ),
    "sum_to_size of booleans": lambda m: m.tensor([[True, False], [True, True]]).sum_to_size(2),
    "lgamma at its poles": lambda m: m.lgamma(m.tensor([-1.0, 0.0, -2.0, -0.5, -3.0, -math.inf])),
    "cholesky_ex of nothing": lambda m: tuple(m.linalg.cholesky_ex(m.empty(2, 0, 0))),
    "inv_ex of nothing": lambda m: tuple(m.linalg.inv_ex(m.empty(0, 0))),
    "lu_factor_ex of nothing": lambda m: [
        tuple(m.linalg.lu_factor_ex(m.empty(*shape))) for shape in ((2, 0, 0), (0, 3))
    ],
    "narrow from a tensor": lambda m: m.narrow(m.arange(3), 0, m.tensor(-2), 2),
    "solve_ex of nothing": lambda m: tuple(m.linalg.solve_ex(m.empty(0, 0), m.empty(0, 3))),
    **{
        f"ormqr of a wide matrix, left={left}, transpose={transpose}": lambda m, left=left, transpose=transpose: (
            reflections(m, left, transpose)
        )
        for left in (True, False)
        for transpose in (True, False)
    },
    "floor division of variables": lambda m: (numbers(m, 3).requires_grad_() // 2).requires_grad,
    "floor by rounding_mode": lambda m: slopes(m, lambda a: m.div(a, 2.0, rounding_mode="floor"), numbers(m, 3)),
    "nextafter": lambda m: slopes(m, m.nextafter, m.tensor([1.0, 2.0, 3.0]), m.tensor([2.0, 2.0, 2.0])),
    "matrix_power 0": lambda m: slopes(m, lambda a: m.linalg.matrix_power(a, 0), numbers(m, 2, 2)),
    "lstsq": lambda m: slopes(m, lambda a, b: m.linalg.lstsq(a * a, b).solution, numbers(m, 3, 2), numbers(m, 3, 2)),
    "ldl_factor_ex": lambda m: [
        tuple(m.linalg.ldl_factor_ex(symmetric(m, size, diagonal)))
        for size in (0, 1, 2, 5, 70)
        for diagonal in (1, 0.01)
    ],
    "ldl_factor_ex of zeros": lambda m: tuple(m.linalg.ldl_factor_ex(m.zeros(2, 2))),
    "ldl_factor of a batch": lambda m: tuple(
        m.linalg.ldl_factor(m.stack([symmetric(m, 4, 0.01), symmetric(m, 4, 1)]), hermitian=True)
    ),
    "ldl_solve": lambda m: [
        m.linalg.ldl_solve(*m.linalg.ldl_factor(symmetric(m, 5, diagonal)), numbers(m, 5, 2)) for diagonal in (1, 0.01)
    ],
    "ldl_solve of batches": lambda m: m.linalg.ldl_solve(
        *m.linalg.ldl_factor(symmetric(m, 3, 0.01)), numbers(m, 2, 3, 1)
    ),
    "gaussian_nll_loss of 1×N": lambda m: m.nn.functional.gaussian_nll_loss(
        numbers(m, 3, 4), m.zeros(3, 4), numbers(m, 1, 4)
    ),
    "soft_margin_loss broadcasts the target": lambda m: slopes(
        m,
        lambda a: m.nn.functional.soft_margin_loss(a, m.tensor([1.0, -1.0, 1.0], dtype=m.float64)),
        numbers(m, 2, 3),
    ),
    "Python's types as dtypes": lambda m: [
        m.zeros(2, dtype=float),
        m.ones(2).sum(dtype=int),
        m.ones(2).to(bool),
        m.arange(2, dtype=float),
        m.ones(2).new_zeros(2, dtype=int),
        m.nn.functional.softmax(m.ones(2), 0, dtype=float),
    ],
    "fill": lambda m: slopes(m, m.fill, numbers(m, 2), m.tensor(3.0, dtype=m.float64)),
    "constant_pad_nd": lambda m: m.constant_pad_nd(m.arange(3), (-1, 2), 5),
    **{
        f"grid_sampler_2d {mode} {padding}": lambda m, mode=mode, padding=padding: m.grid_sampler_2d(
            numbers(m, 1, 1, 4, 4), numbers(m, 1, 2, 2, 2) - 0.6, mode, padding, True
        )
        for mode in range(3)
        for padding in range(3)
    },
    "grid_sampler_3d": lambda m: m.grid_sampler_3d(numbers(m, 1, 1, 2, 2, 2), numbers(m, 1, 1, 2, 2, 3), 0, 1, False),
}

TEXT_AS_DTYPE: dict[str, Call] = {
    **{
        name: lambda m, name=name: getattr(m, name)(m.ones(2), dtype="float32")
        for name in ("sum", "mean", "prod", "nansum", "nanmean")
    },
    **{
        name: lambda m, name=name: getattr(m.ones(2), name)(0, dtype="float32")
        for name in ("cumsum", "cumprod", "softmax", "log_softmax", "sum", "prod")
    },
    "softmax by position": lambda m: m.softmax(m.ones(2), 0, "float32"),
    "functional.softmax": lambda m: m.nn.functional.softmax(m.ones(2), 0, dtype="float32"),
    "linalg.vector_norm": lambda m: m.linalg.vector_norm(m.ones(2), dtype="float32"),
    "norm": lambda m: m.norm(m.ones(2), dtype="float32"),
    "arange": lambda m: m.arange(2, dtype="float32"),
    "linspace": lambda m: m.linspace(0, 1, 2, dtype="float32"),
    "randint": lambda m: m.randint(0, 2, (2,), dtype="float32"),
    "hann_window": lambda m: m.hann_window(3, dtype="float32"),
    "new_zeros": lambda m: m.ones(2).new_zeros(2, dtype="float32"),
    "new_tensor": lambda m: m.ones(2).new_tensor([2], dtype="float32"),
    "frombuffer": lambda m: m.frombuffer(bytearray(8), dtype="float32"),
    "view": lambda m: m.ones(2).view("float32"),
    "can_cast": lambda m: m.can_cast("float32", m.float32),
    "promote_types": lambda m: m.promote_types("float32", "float32"),
    "finfo": lambda m: m.finfo("float32"),
    "Module.to": lambda m: m.nn.Linear(2, 2).to(dtype="float32"),
    "set_default_dtype": lambda m: m.set_default_dtype("float32"),
}
"""Calls that name their dtype by a string."""

REFUSED: dict[str, tuple[Call, str]] = {
    "diff -1": (lambda m: m.diff(m.tensor([1, 3, 6]), n=-1), "at least 0"),
    "tensordot -1": (lambda m: m.tensordot(m.ones(2, 3), m.ones(3, 2), dims=-1), "at least 0"),
    "take_along_dim int32": (
        lambda m: m.take_along_dim(m.arange(6).view(2, 3), m.zeros(2, 1, dtype=m.int32), dim=1),
        "int64",
    ),
    "prelu with a matrix": (lambda m: m.nn.functional.prelu(m.ones(1, 2), m.ones(1, 2)), "a scalar or a vector"),
    "hardtanh of bytes": (lambda m: m.nn.functional.hardtanh(m.tensor([3], dtype=m.uint8)), "out of range for uint8"),
    "hardtanh of booleans": (lambda m: m.nn.functional.hardtanh(m.tensor([True])), "does not support boolean inputs"),
    "addr of integers": (lambda m: m.addr(m.ones(1, 1).int(), m.ones(1).int(), m.ones(1).int(), beta=0.5), "integers"),
    "roll two by one": (lambda m: m.roll(m.arange(6).view(2, 3), (1, 2), 0), "one shift for each"),
    "roll one by two": (lambda m: m.roll(m.arange(6).view(2, 3), 1, (0, 1)), "one shift for each"),
    "roll two flat": (lambda m: m.roll(m.arange(6).view(2, 3), (1, 2)), "one shift for each"),
    "scatter": (lambda m: m.zeros(3).scatter(0, m.tensor([1]), m.tensor([1])), "must be float32"),
    "scatter_add": (lambda m: m.zeros(3).scatter_add(0, m.tensor([1]), m.tensor([1])), "must be float32"),
    "scatter_reduce": (
        lambda m: m.zeros(3).scatter_reduce(0, m.tensor([1]), m.tensor([1.0]).double(), "sum"),
        "must be float32",
    ),
    "index_add": (lambda m: m.zeros(3).index_add(0, m.tensor([1]), m.tensor([1])), "must be float32"),
    "index_copy": (lambda m: m.zeros(3).index_copy(0, m.tensor([1]), m.tensor([1])), "must be float32"),
    "index_put": (lambda m: m.zeros(3).index_put((m.tensor([1]),), m.tensor([1])), "tensor.s dtype float32"),
    "kthvalue of a number": (lambda m: m.kthvalue(m.tensor(1.0), 2), "1 to 1"),
    "nll_loss of int32": (
        lambda m: m.nn.functional.nll_loss(m.zeros(1, 3), m.tensor([0]).int()),
        "class indices must be int64",
    ),
    "cross_entropy of int32": (
        lambda m: m.nn.functional.cross_entropy(m.zeros(1, 3), m.tensor([0]).int()),
        "class indices must be int64",
    ),
    "multi_margin_loss of int32": (
        lambda m: m.nn.functional.multi_margin_loss(m.zeros(1, 3), m.tensor([0]).int()),
        "class indices must be int64",
    ),
    "narrow beyond the end": (lambda m: m.narrow(m.arange(3), 0, 2, 2), "2 elements from index 2 exceed"),
    "narrow to a negative length": (lambda m: m.narrow(m.arange(3), 0, 1, -1), "-1 elements from index 1 exceed"),
    "narrow from a row": (lambda m: m.narrow(m.arange(3), 0, m.tensor([1]), 1), "a 0-d tensor"),
    "kthvalue of a row": (lambda m: m.kthvalue(m.arange(3.0), 4), "1 to 3"),
    "kthvalue 0": (lambda m: m.kthvalue(m.arange(3.0), 0), "1 to 3"),
    "vander of a number": (lambda m: m.vander(m.tensor(2.0)), "must have 1 dimension"),
    "isclose rtol": (lambda m: m.isclose(m.ones(1), m.ones(1), rtol=-1), "rtol must be at least 0"),
    "allclose atol": (lambda m: m.allclose(m.ones(1), m.ones(1), atol=-1), "atol must be at least 0"),
    "cross": (lambda m: m.linalg.cross(m.ones(3), m.ones(2, 3)), "different numbers of dimensions"),
    "a dtype as text": (lambda m: m.zeros(2, dtype="float32"), "'float32' is not a dtype"),
    "a tensor's dtype as text": (lambda m: m.tensor([2], dtype="float32"), "'float32' is not a dtype"),
    **{
        f"{name}'s dtype as text": (call, "'float32' is not a dtype. Use a dtype such as engine.float32")
        for name, call in TEXT_AS_DTYPE.items()
    },
    "ldl_factor of zeros": (lambda m: m.linalg.ldl_factor(m.zeros(2, 2)), "a pivot is 0"),
    "ldl_factor_ex of zeros": (lambda m: m.linalg.ldl_factor_ex(m.zeros(2, 2), check_errors=True), "a pivot is 0"),
    "ldl_factor of a wide matrix": (lambda m: m.linalg.ldl_factor(m.ones(2, 3)), "must be square"),
    "ldl_solve of other rows": (
        lambda m: m.linalg.ldl_solve(m.eye(2), m.tensor([1, 2]).int(), m.ones(3, 1)),
        "must have 2 rows",
    ),
    "ldl_solve of two dtypes": (
        lambda m: m.linalg.ldl_solve(m.eye(2), m.tensor([1, 2]).int(), m.ones(2, 1).double()),
        "float32 and float64",
    ),
    "soft_margin_loss of N×1 and N": (
        lambda m: m.nn.functional.soft_margin_loss(m.ones(3, 1), m.ones(3)),
        "input is 3×1 and the target 3",
    ),
    "data of a number": (lambda m: setattr(m.ones(2), "data", 5), "data must be a tensor, not int"),
    "shift of floats": (lambda m: m.tensor([2.0]) << 1, "bitwise ops need integers"),
    "shift by a float": (lambda m: m.tensor([2]) >> 1.5, "bitwise ops need integers"),
    "and of floats": (lambda m: m.tensor([2.0]) & 1, "bitwise ops need integers"),
    "not of floats": (lambda m: ~m.tensor([2.0]), "bitwise ops need integers"),
    "cat without a list": (lambda m: m.cat(m.ones(2), m.ones(2)), "in a list or a tuple"),
    "cat of a tensor": (lambda m: m.cat(m.ones(2, 2)), "in a list or a tuple"),
    "stack without a list": (lambda m: m.stack(m.ones(2), m.ones(2)), "in a list or a tuple"),
    "one_hot below": (lambda m: m.nn.functional.one_hot(m.tensor([-1, 2])), "-1 is not one of the 3 classes"),
    "one_hot above": (lambda m: m.nn.functional.one_hot(m.tensor([1, 2]), 2), "2 is not one of the 2 classes"),
    "one_hot of no classes": (lambda m: m.nn.functional.one_hot(m.tensor([1, 2]), 0), "at least 1"),
}


def compare(found: Any, wanted: Any) -> None:
    if isinstance(wanted, (tuple, list)):
        assert len(found) == len(wanted)
        for one, other in zip(found, wanted, strict=True):
            compare(one, other)
    elif isinstance(wanted, torch.Tensor):
        assert (found.dtype.name, tuple(found.shape)) == (str(wanted.dtype)[6:], tuple(wanted.shape))
        np.testing.assert_allclose(found.detach().numpy(), wanted.detach().numpy(), rtol=2e-6, atol=1e-12)
    else:
        assert found == wanted


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_as_in_pytorch(case: Call) -> None:
    compare(case(engine), case(torch))


@pytest.mark.parametrize(("case", "message"), REFUSED.values(), ids=REFUSED)
def test_refused_as_in_pytorch(case: Call, message: str) -> None:
    with pytest.raises((RuntimeError, TypeError, ValueError, NotImplementedError)):
        case(torch)
    with pytest.raises((RuntimeError, TypeError, ValueError), match=message):
        case(engine)


def test_factors_of_symmetric_matrices_have_the_gradient_of_the_matrix() -> None:
    """PyTorch has no gradients for them."""
    for diagonal in (1, 0.01):
        matrix, right = symmetric(engine, 4, diagonal), numbers(engine, 4, 2)
        actual = slopes(engine, lambda a, b: engine.linalg.ldl_solve(*engine.linalg.ldl_factor(a), b), matrix, right)
        matrix, right = symmetric(torch, 4, diagonal), numbers(torch, 4, 2)
        expected = slopes(torch, lambda a, b: torch.linalg.solve(a.tril() + a.tril(-1).mT, b), matrix, right)
        for one, other in zip(actual, expected, strict=True):
            np.testing.assert_allclose(one.detach().numpy(), other.detach().numpy(), rtol=1e-8, atol=1e-10)


@pytest.mark.parametrize("start", [-4, 4])
def test_a_start_outside_of_a_dimension_is_an_index_error(start: int) -> None:
    for m in (engine, torch):
        with pytest.raises(IndexError, match=str(start)):
            m.narrow(m.arange(3), 0, start, 0)


def test_floor_division_has_the_gradient_of_a_step_function() -> None:
    """PyTorch has no gradient for it, but 0 for ``div(rounding_mode="floor")``."""
    assert slopes(engine, lambda a: a // 2, numbers(engine, 3))[1].tolist() == [0, 0, 0]
