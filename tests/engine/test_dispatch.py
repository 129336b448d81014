"""What running an op takes care of beside the op: NumPy's warnings, bfloat16, memory that is written slice by slice."""

from __future__ import annotations

import itertools
import threading
from typing import Any

import numpy as np
import pytest

import engine
from engine.errors import RegistryError
from engine.modes import MODES
from engine.ops.record import REGISTRY, Op
from engine.tensors.dispatch.op_call import run, run_any

LARGE = 200_001
"""Enough elements for the updates to write in slices, the last one smaller."""


def test_overflow_is_silent_in_every_thread() -> None:
    result: list[Any] = []

    def overflow() -> None:
        result.append((engine.full((2,), 1e38) * 10).tolist())
        result.append(engine.zeros(1).log().tolist())

    overflow()
    thread = threading.Thread(target=overflow)
    thread.start()
    thread.join()
    assert result == [[np.inf, np.inf], [-np.inf]] * 2


def test_an_op_may_run_in_the_middle_of_a_kernel() -> None:
    """For example, the garbage collector frees an object whose finalizer computes."""
    x = engine.full((2,), 1e38)
    for operation in (lambda: x * x, x.exp, lambda: x.mul_(x)):
        assert MODES.call_silently(operation).tolist() == [np.inf, np.inf]
    with pytest.raises(engine.errors.ShapeError, match="do not broadcast"):
        MODES.call_silently(lambda: engine.ones(2) + engine.ones(3))


def test_bfloat16_computes_in_float32_and_rounds_once() -> None:
    torch = pytest.importorskip("torch")
    x = engine.linspace(-3, 3, 64).to(engine.bfloat16)
    there = torch.tensor(x.float().numpy()).bfloat16()
    for operation in (
        lambda x: x + 2.5, lambda x: 3 * x, lambda x: x.exp(), lambda x: x.sigmoid(), lambda x: x.sum(),
        lambda x: x.softmax(0), lambda x: x.reshape(8, 8) @ x.reshape(8, 8), lambda x: x.clone().add_(0.1),
        lambda x: x.clone().mul_(x), lambda x: x.float() + x, lambda x: x.sum(dtype=type_of(x)),
    ):  # fmt: skip
        actual, expected = operation(x), operation(there)
        assert str(actual.dtype).split(".")[1] == str(expected.dtype).split(".")[1]
        np.testing.assert_allclose(actual.float().numpy(), expected.float().numpy(), rtol=2**-7, atol=1e-6)
    assert engine.ones(1000, dtype=engine.bfloat16).sum().item() == 1000  # 256 + 1 is 256 in bfloat16


def type_of(x: Any) -> Any:
    return engine.float32 if isinstance(x, engine.Tensor) else __import__("torch").float32


OPERANDS = {
    name: engine.tensor([1, 0, 3, 2], dtype=getattr(engine, name))
    for name in ("bool", "uint8", "int32", "int64", "float16", "bfloat16", "float32", "float64")
} | {
    "leaf": engine.ones(2, 4).requires_grad_(),
    "view": engine.ones(4, 2).requires_grad_().T[1],
    "scalar": engine.tensor(2.0, dtype=engine.float64),
    "meta": engine.ones(4, device="meta"),
    "True": True,
    "2": 2,
    "0.5": 0.5,
    "None": None,
    "text": "text",
}


@pytest.mark.parametrize("name", ["add", "sub", "div", "pow", "eq", "maximum", "matmul", "exp", "sum", "neg"])
def test_fast_path_equals_the_general_path(name: str) -> None:
    op = REGISTRY[name]
    assert op.simple_arity
    for inputs in itertools.product(OPERANDS.values(), repeat=op.simple_arity):
        assert outcome(run, op, inputs) == outcome(run_any, op, inputs), inputs


def outcome(way: Any, op: Op, inputs: tuple[Any, ...]) -> Any:
    try:
        result = way(op, inputs, op.defaults)
    except (TypeError, ValueError, ArithmeticError, engine.errors.EngineError) as error:
        return type(error), str(error)
    numbers = None if result.is_meta else repr(result.tolist())
    return result.dtype, tuple(result.shape), numbers, result.requires_grad, result.grad_fn and result.grad_fn.name()


def test_out_must_follow_the_inputs_of_a_kernel() -> None:
    def lost(xp, x, by: float = 1.0, out=None):  # pyright: ignore[reportMissingParameterType]
        """x."""

    with pytest.raises(RegistryError, match="right after its inputs"):
        Op(lost, "elementwise")


UPDATES = {
    "addcmul_": lambda x, y, z: x.addcmul_(y, z, value=0.3),
    "addcdiv_": lambda x, y, z: x.addcdiv_(y, z, value=0.3),
    "lerp_": lambda x, y, z: x.lerp_(y, z),
    "lerp_ number": lambda x, y, z: x.lerp_(y, 0.3),
}


@pytest.mark.parametrize("name", UPDATES)
def test_large_updates_equal_small_ones(name: str) -> None:
    update = UPDATES[name]
    x, y, z = (engine.rand(LARGE) + 0.5 for _ in range(3))
    pieces = zip(*(tensor.split(1000) for tensor in (x, y, z)), strict=True)
    expected = engine.cat([update(*(part.clone() for part in parts)) for parts in pieces])
    np.testing.assert_array_equal(update(x.clone(), y, z).numpy(), expected.numpy())
    strided = engine.stack([x, x], dim=1)[:, 0]
    np.testing.assert_array_equal(update(strided, y, z).numpy(), expected.numpy())


@pytest.mark.parametrize("name", UPDATES)
def test_large_updates_read_their_operands_before_they_write(name: str) -> None:
    update = UPDATES[name]
    memory = engine.rand(LARGE) + 0.5
    for target, operand in ((slice(1, None), slice(None, -1)), (slice(None, -1), slice(1, None))):
        x, apart = memory.clone(), memory.clone()
        expected = update(apart[target], memory[operand], memory[operand])
        np.testing.assert_array_equal(update(x[target], x[operand], x[operand]).numpy(), expected.numpy())
    x = memory.clone()
    np.testing.assert_array_equal(update(x, x, x).numpy(), update(memory.clone(), memory, memory).numpy())
