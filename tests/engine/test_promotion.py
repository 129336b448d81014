"""Which dtype a result has: PyTorch's rules for tensors with dimensions, without, and Python numbers."""

from __future__ import annotations

import copy
import itertools
import pickle
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import engine
from engine import dtypes
from engine.errors import DTypeError

NAMES = tuple(dtypes.BY_NAME)
BINARY: dict[str, Callable[[Any, Any, Any], Any]] = {
    "add": lambda lib, a, b: a + b,
    "sub": lambda lib, a, b: a - b,
    "mul": lambda lib, a, b: a * b,
    "div": lambda lib, a, b: a / b,
    "pow": lambda lib, a, b: a**b,
    "floor_divide": lambda lib, a, b: a // b,
    "remainder": lambda lib, a, b: a % b,
    "eq": lambda lib, a, b: a == b,
    "lt": lambda lib, a, b: a < b,
    "ne": lambda lib, a, b: a != b,
    "ge": lambda lib, a, b: a >= b,
    "gt": lambda lib, a, b: a > b,
    "le": lambda lib, a, b: a <= b,
    "fmod": lambda lib, a, b: lib.fmod(a, b),
    "maximum": lambda lib, a, b: lib.maximum(a, b),
    "minimum": lambda lib, a, b: lib.minimum(a, b),
    "atan2": lambda lib, a, b: lib.atan2(a, b),
    "bitwise_and": lambda lib, a, b: a & b,
    "bitwise_or": lambda lib, a, b: a | b,
    "bitwise_xor": lambda lib, a, b: a ^ b,
    "left_shift": lambda lib, a, b: a << b,
    "logical_and": lambda lib, a, b: lib.logical_and(a, b),
    "add with alpha": lambda lib, a, b: lib.add(a, b, alpha=2),
    "sub with alpha": lambda lib, a, b: lib.sub(a, b, alpha=2),
    "div rounded": lambda lib, a, b: lib.div(a, b, rounding_mode="trunc"),
    "float_power": lambda lib, a, b: lib.float_power(a, b),
    "addcmul": lambda lib, a, b: lib.addcmul(a, b, b),
    "addcdiv": lambda lib, a, b: lib.addcdiv(a, b, b),
    "lerp": lambda lib, a, b: lib.lerp(a, b, 0.5),
    "masked_fill": lambda lib, a, b: a.masked_fill(lib.tensor([True, False]), b),
    "clamp both": lambda lib, a, b: a.clamp(b, b),
    "matmul": lambda lib, a, b: a @ b,
    "isclose": lambda lib, a, b: lib.isclose(a, b),
    "where": lambda lib, a, b: lib.where(lib.tensor([True, False]), a, b),
    "cat": lambda lib, a, b: lib.cat([a.reshape(-1), b.reshape(-1)]),
    "stack": lambda lib, a, b: lib.stack([a, b]),
    "clamp": lambda lib, a, b: a.clamp(max=b),
    "add_": lambda lib, a, b: a.add_(b),
    "mul_": lambda lib, a, b: a.mul_(b),
    "div_": lambda lib, a, b: a.div_(b),
    "sub_": lambda lib, a, b: a.sub_(b),
    "pow_": lambda lib, a, b: a.pow_(b),
    "floor_divide_": lambda lib, a, b: a.floor_divide_(b),
    "remainder_": lambda lib, a, b: a.remainder_(b),
    "bitwise_and_": lambda lib, a, b: a.bitwise_and_(b),
    "eq_": lambda lib, a, b: a.eq_(b),
    "clamp_": lambda lib, a, b: a.clamp_(min=b),
    "fill_": lambda lib, a, b: a.fill_(b),
    "copy_": lambda lib, a, b: a.copy_(b),
}
UNARY = (
    "cumsum", "cumprod", "max", "min", "argmin", "any", "std", "var", "logsumexp", "norm", "softmax", "median",
    "nansum", "nanmean", "count_nonzero", "unique", "diff", "trace", "positive", "reciprocal", "rsqrt", "log1p",
    "expm1", "sin", "atan", "erf", "ceil", "trunc", "frac", "sgn", "isinf", "isfinite", "signbit", "bitwise_not",
    "nan_to_num", "logit", "rad2deg", "neg", "abs", "exp", "sqrt", "tanh", "sigmoid", "relu", "floor", "round",
    "sign", "sum", "mean", "prod", "amax", "argmax", "all", "isnan", "logical_not", "clone", "square",
)  # fmt: skip


def operands(lib: Any) -> Iterator[tuple[str, Any]]:
    for name in NAMES:
        number, numbers = (True, [True, True]) if name == "bool" else (2, [3, 1])
        yield f"{name} scalar", lib.tensor(number, dtype=getattr(lib, name))
        yield f"{name} vector", lib.tensor(numbers, dtype=getattr(lib, name))
    yield from (("True", True), ("3", 3), ("2.5", 2.5))


def outcome(operation: Callable[..., Any], *args: Any) -> Any:
    """(dtype, shape, numbers), or None if it is refused."""
    try:
        result = operation(*args)
    except (RuntimeError, TypeError, ArithmeticError, AttributeError):
        return None
    return str(result.dtype).partition(".")[2], tuple(result.shape), result.double().tolist()


BEYOND = {
    "pow": {"bool", "True"},
    "pow_": {"bool", "True"},
    "add with alpha": {"bool", "True"},
    "left_shift": {"bool", "True", "3", *(name for name in NAMES if "int" in name)},
}
"""Operands that PyTorch misinterprets, such as booleans as numbers; the engine refuses or converts them."""


@pytest.mark.parametrize("name", BINARY)
def test_two_operands(name: str) -> None:
    torch = pytest.importorskip("torch")
    operation = BINARY[name]
    pairs = itertools.product(zip(operands(engine), operands(torch), strict=True), repeat=2)
    for ((left, a), (_, ta)), ((right, b), (_, tb)) in pairs:
        if left in ("True", "3", "2.5") and (right in ("True", "3", "2.5") or name[-1] == "_"):
            continue
        a, ta = (a.clone(), ta.clone()) if name[-1] == "_" else (a, ta)
        expected = outcome(operation, torch, ta, tb)
        if expected is not None:
            actual = outcome(operation, engine, a, b)
            if name in BEYOND and {left.partition(" ")[0], right.partition(" ")[0]} <= BEYOND[name]:
                continue
            assert actual is not None, (left, right)
            assert actual[:2] == expected[:2], (left, right)
            # PyTorch multiplies by a reciprocal that it has rounded.
            tolerance = 1e-2 if actual[0] == "bfloat16" else 1e-3
            np.testing.assert_allclose(actual[2], expected[2], rtol=tolerance, err_msg=f"{left} and {right}")


@pytest.mark.parametrize("name", UNARY)
@pytest.mark.parametrize("dtype", NAMES)
def test_one_operand(name: str, dtype: str) -> None:
    torch = pytest.importorskip("torch")
    numbers = [True, False] if dtype == "bool" else [3, 1]

    def call(lib: Any) -> Any:
        return getattr(lib.tensor(numbers, dtype=getattr(lib, dtype)), name)()

    if not hasattr(engine.Tensor, name):
        pytest.skip("not in the engine")
    expected = outcome(call, torch)
    if expected is None or (name, dtype) in (("sign", "bool"), ("all", "uint8"), ("any", "uint8")):
        return  # the engine may do more; it has no sign of booleans, and all() is a boolean even of bytes
    actual = outcome(call, engine)
    assert actual is not None
    assert actual[:2] == expected[:2]
    np.testing.assert_allclose(actual[2], expected[2], rtol=1e-3)


@pytest.mark.parametrize("a", dtypes.ALL, ids=str)
@pytest.mark.parametrize("b", dtypes.ALL, ids=str)
def test_promote_types(a: Any, b: Any) -> None:
    torch = pytest.importorskip("torch")
    ours, expected = (
        joint(dtypes.promote_types, a, b),
        joint(torch.promote_types, *(getattr(torch, x.name) for x in (a, b))),
    )
    assert ours == expected
    assert dtypes.can_cast(a, b) == torch.can_cast(getattr(torch, a.name), getattr(torch, b.name))


def joint(function: Callable[..., Any], a: Any, b: Any) -> str | None:
    try:
        return str(function(a, b)).partition(".")[2]
    except RuntimeError:
        return None


def test_result_type() -> None:
    torch = pytest.importorskip("torch")
    pairs = itertools.product(zip(operands(engine), operands(torch), strict=True), repeat=2)
    for ((left, a), (_, ta)), ((right, b), (_, tb)) in pairs:
        expected = joint(torch.result_type, ta, tb)
        if expected is not None:  # PyTorch also refuses uint16 of no dimensions beside other whole numbers
            assert joint(engine.result_type, a, b) == expected, (left, right)


@pytest.mark.parametrize("dtype", dtypes.ALL, ids=str)
def test_dtype_attributes(dtype: Any) -> None:
    torch = pytest.importorskip("torch")
    theirs = getattr(torch, dtype.name)
    for name in ("is_floating_point", "is_complex", "is_signed", "itemsize"):
        assert getattr(dtype, name) == getattr(theirs, name), name
    info = {0: None, 1: "iinfo", 2: "finfo"}[dtype.kind]
    if info is None:
        with pytest.raises(TypeError, match="iinfo"):
            engine.iinfo(dtype)
        return
    actual, expected = getattr(engine, info)(dtype), getattr(torch, info)(theirs)
    assert repr(actual) == repr(expected)
    for name in type(actual).__slots__:
        assert getattr(actual, name) == getattr(expected, name), name
    with pytest.raises(TypeError, match="Use"):
        getattr(engine, {"iinfo": "finfo", "finfo": "iinfo"}[info])(dtype)


def test_the_default_dtype_is_that_of_python_floats() -> None:
    engine.set_default_dtype(engine.float64)
    try:
        assert engine.tensor(1.5).dtype is engine.float64
        assert (engine.arange(3) / 2).dtype is engine.float64
        assert engine.zeros(2).dtype is engine.float64
    finally:
        engine.set_default_dtype(engine.float32)
    with pytest.raises(DTypeError, match="not int64"):
        engine.set_default_dtype(engine.int64)


def test_numpy_numbers_count_as_python_numbers() -> None:
    x = engine.ones(2)
    assert (x * np.float64(2.0)).dtype is engine.float32
    assert (x + np.int64(2)).dtype is engine.float32
    assert (np.float32(2.0) * x).dtype is engine.float32


def test_integer_division_by_zero_is_refused() -> None:
    x = engine.tensor([1, 2])
    for divide in (lambda: x // 0, lambda: x % engine.tensor([1, 0]), lambda: x.floor_divide_(0), lambda: 5 % (x - 1)):
        with pytest.raises(ZeroDivisionError, match="integer division by zero"):
            divide()
    assert (x / 0).tolist() == [float("inf")] * 2
    assert (x.float() // 0).tolist() == [float("inf")] * 2


def test_alpha_must_match_the_dtype() -> None:
    x = engine.tensor([1, 2])
    assert x.add(x, alpha=3).tolist() == [4, 8]
    with pytest.raises(DTypeError, match="alpha must be an integer"):
        x.add(x, alpha=0.5)


def test_unsupported_numpy_dtype() -> None:
    with pytest.raises(DTypeError, match="NumPy dtype complex128 has no tensor type"):
        engine.from_numpy(np.zeros(2, complex))
    assert engine.tensor(np.arange(3, dtype=">i4")).tolist() == [0, 1, 2]


def test_dtypes_are_kept_by_pickle_and_copy() -> None:
    assert copy.deepcopy(engine.float32) is engine.float32
    assert pickle.loads(pickle.dumps(engine.float16)) is engine.float16
    assert pickle.loads(pickle.dumps(engine.bool)) is engine.bool
