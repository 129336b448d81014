"""What a tensor tells of itself, and how it becomes Python's, NumPy's, or another tensor."""

from __future__ import annotations

import copy
import math
import operator
import pickle
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import engine
from engine.errors import AutogradError, DeviceError, DTypeError, ShapeError
from engine.shape import Dim, Spec
from engine.tensors import Size, Tensor
from engine.tensors.methods import TensorMethods


@pytest.mark.parametrize("name", ["engine", "torch"])
def test_user_defined_attributes(name: str) -> None:
    lib = pytest.importorskip(name)
    x = lib.ones(2)
    x.require_grad = False  # a misspelling in many programs, which PyTorch takes
    x.tags = ["first"]
    shallow, deep, back = copy.copy(x), copy.deepcopy(x), pickle.loads(pickle.dumps(x))
    assert x.requires_grad is shallow.require_grad is deep.require_grad is back.require_grad is False
    assert shallow.tags is x.tags
    assert deep.tags is not x.tags
    assert deep.tags == back.tags == ["first"]
    assert not any(hasattr(other, "tags") for other in (x[:1], x.detach(), x.clone(), x + 1, lib.ones(2)))
    with pytest.raises(AttributeError):
        x.is_leaf = True


def test_tensor_attributes() -> None:
    x = engine.zeros(2, 3, 4)
    assert (x.ndim, x.dim(), x.numel(), len(x), x.size(1), x.itemsize, x.nbytes) == (3, 3, 24, 2, 3, 4, 96)
    assert (x.dtype, str(x.device), x.is_leaf, x.requires_grad) == (engine.float32, "cpu", True, False)
    assert (x.is_meta, x.is_cuda, x.is_floating_point(), x.is_contiguous()) == (False, False, True, True)
    assert (x.shape, x.shape.numel(), repr(x.shape)) == ((2, 3, 4), 24, "engine.Size([2, 3, 4])")
    assert isinstance(x.size(), Size)
    assert x.spec == Spec((2, 3, 4), engine.float32)


def test_strides_and_contiguity() -> None:
    x = engine.zeros(2, 3)
    assert (x.stride(), x.T.stride(), x[:, ::2].stride(), x[0].expand(4, 3).stride()) == (
        (3, 1),
        (1, 3),
        (3, 2),
        (0, 1),
    )
    assert not x.T.is_contiguous()
    assert x.T.contiguous().is_contiguous()
    assert x.contiguous() is x
    assert x[1:].data_ptr() == x.data_ptr() + 12


def test_conversion_to_python_numbers() -> None:
    x = engine.tensor([2.5])
    assert (x.item(), float(x), int(x), bool(x), math.sqrt(x * x)) == (2.5, 2.5, 2, True, 2.5)
    assert (f"{engine.tensor(1.23456):.2f}", f"{engine.tensor(3)}", f"{x}") == ("1.23", "3", "tensor([2.5000])")
    assert engine.arange(4).reshape(2, 2).tolist() == [[0, 1], [2, 3]]
    assert engine.tensor(7).tolist() == 7
    assert type(engine.tensor(True).item()) is bool


@pytest.mark.parametrize("convert", [float, int, bool, lambda x: x.item()])
def test_only_one_element_is_a_number(convert: Callable[[Tensor], Any]) -> None:
    for x in (engine.ones(2), engine.ones(0), engine.ones(2, 1)):
        with pytest.raises(ShapeError, match=r"one element|elements is ambiguous"):
            convert(x)


def test_numpy_and_back() -> None:
    x = engine.ones(2, 3)
    assert np.shares_memory(x.numpy(), np.asarray(x))
    assert np.array(x, dtype=np.int16).dtype == np.int16
    assert np.add(x.numpy(), 1).sum() == 12
    with pytest.raises(AutogradError, match=r"tensor\.detach\(\)\.numpy\(\)"):
        x.requires_grad_().numpy()
    with pytest.raises(TypeError, match=r"not ndarray.*engine\.as_tensor\(\)"):
        engine.ones(2).add(np.ones(2))


@pytest.mark.filterwarnings("ignore:__array_wrap__ must accept:DeprecationWarning")  # PyTorch's
def test_arrays_are_operands() -> None:
    torch = pytest.importorskip("torch")
    for name in ("add", "sub", "mul", "truediv", "floordiv", "mod", "pow", "eq"):
        operate = getattr(operator, name)
        for dtype in (np.float32, np.float64):  # of whole numbers PyTorch has NumPy decide: float64
            array = np.array([1, 2, 3], dtype)
            actual, expected = (operate(lib.tensor([2.0, 3.0, 4.0]), array) for lib in (engine, torch))
            assert (actual.tolist(), str(actual.dtype)[7:]) == (expected.tolist(), str(expected.dtype)[6:])
    x = engine.ones(2, requires_grad=True)
    ((x * np.array([2.0, 3.0])).sum() + (np.array([1.0, 1.0]) * x).sum()).backward()
    assert x.grad is not None
    assert x.grad.tolist() == [3.0, 4.0]
    y = z = engine.ones(2)
    y += np.ones(2)
    assert z.tolist() == [2.0, 2.0]


def test_to() -> None:
    x = engine.tensor([1.7, -1.7])
    assert x.to(engine.float32) is x
    assert x.to("cpu") is x
    assert x.to(engine.float32, copy=True) is not x
    assert x.to(engine.int64).tolist() == [1, -1]
    assert x.to("meta", engine.float16).spec == Spec((2,), engine.float16)
    assert x.to(engine.ones(1, dtype=engine.float64)).dtype is engine.float64
    assert [y.dtype.name for y in (x.double(), x.half(), x.long(), x.int(), x.bool(), x.double().float())] == [
        "float64", "float16", "int64", "int32", "bool", "float32",
    ]  # fmt: skip
    assert x.type_as(engine.ones(1, dtype=engine.int8)).dtype is engine.int8


def test_conversions_pass_gradients_on() -> None:
    x = engine.ones(2, requires_grad=True)
    x.double().half().sum().backward()
    assert x.grad is not None
    assert (x.grad.dtype, x.grad.tolist()) == (engine.float32, [1.0, 1.0])
    assert not x.long().requires_grad


# -- operators --------------------------------------------------------------------------------


def test_operators_with_numbers_on_either_side() -> None:
    x = engine.tensor([2.0, 4.0])
    actual = [1 + x, 1 - x, 3 * x, 8 / x, 2**x, 9 // x, 9 % x, -x, abs(-x), x @ x]
    expected = [[3, 5], [-1, -3], [6, 12], [4, 2], [4, 16], [4, 2], [1, 1], [-2, -4], [2, 4], 20]
    assert [y.tolist() for y in actual] == expected


def test_bitwise_operators() -> None:
    x, y = engine.tensor([True, False]), engine.tensor([True, True])
    assert ((x & y).tolist(), (x | y).tolist(), (x ^ y).tolist(), (~x).tolist()) == (
        [True, False], [True, True], [False, True], [False, True],
    )  # fmt: skip
    assert (engine.tensor([6]) & 3).tolist() == [2]
    with pytest.raises(DTypeError, match="bitwise_and"):
        engine.ones(1) & 1


def test_comparison_with_non_numbers() -> None:
    x = engine.ones(2)
    assert x != None  # noqa: E711
    assert (x == None) is False  # noqa: E711
    assert x != "text"
    assert 1.0 in x
    assert 2.0 not in x
    with pytest.raises(TypeError):
        x < "text"  # noqa: B015


@pytest.mark.parametrize("other", [None, "text", [1.0], object()])
def test_operators_leave_foreign_operands_to_python(other: Any) -> None:
    with pytest.raises(TypeError, match=r"unsupported operand type\(s\) for \+: 'Tensor' and"):
        engine.ones(1) + other

    class Foreign:
        def __radd__(self, tensor: Tensor) -> str:
            return "mine"

    assert engine.ones(1) + Foreign() == "mine"


def test_a_tensor_is_a_key_by_identity() -> None:
    x, y = engine.ones(1), engine.ones(1)
    assert {x: 1, y: 2}[x] == 1


# -- other members ----------------------------------------------------------------------------


def test_grad_must_be_like_its_tensor() -> None:
    x = engine.ones(2, requires_grad=True)
    x.grad = engine.zeros(2)
    for wrong in (engine.zeros(3), engine.zeros(2, dtype=engine.float64), engine.zeros(2, device="meta")):
        with pytest.raises(ShapeError, match=r"grad must match its tensor, 2 float32 on cpu"):
            x.grad = wrong
    with pytest.raises(TypeError, match="not int"):
        x.grad = 3  # type: ignore[assignment]
    x.grad = None
    assert x.grad is None


def test_requires_grad_is_for_leaves() -> None:
    x = engine.ones(2)
    x.requires_grad = True
    y = x * 2
    y.requires_grad_()
    with pytest.raises(AutogradError, match=r"only be turned off on leaves.*detach\(\)"):
        y.requires_grad_(False)
    x.requires_grad_(False)
    assert not (x * 2).requires_grad


def test_deep_copies_of_leaves() -> None:
    x = engine.ones(2, requires_grad=True)
    (x * 2).sum().backward()
    other, same = copy.deepcopy([x, x])
    assert other is same
    other.grad.zero_()
    assert x.grad is not None
    assert (x.grad.tolist(), other.requires_grad) == ([2.0, 2.0], True)
    assert not np.shares_memory(x.detach().numpy(), other.detach().numpy())
    with pytest.raises(AutogradError, match="only leaves"):
        copy.deepcopy(x * 2)


def test_a_meta_tensor_has_no_numbers() -> None:
    x = engine.zeros(2, 3, device="meta")
    for read in (x.numpy, x.tolist, x.cpu, lambda: float(x.sum()), lambda: bool(x.sum())):
        with pytest.raises(DeviceError, match=r"on the meta device.* no data"):
            read()
    N = Dim("N")
    assert engine.zeros(N, 4, device="meta").numel() == N * 4


def test_every_op_is_a_method_or_declared_otherwise() -> None:
    wrapped = {function.name for function in engine.ops.COMPOSITES.values()} & set(engine.ops.REGISTRY) | {"index_put"}
    assert {"where", "clamp", "topk"} <= wrapped, "a function of the same name checks the arguments of these ops"
    for op in engine.ops.REGISTRY.values():
        assert (hasattr(Tensor, op.name) and op.name not in wrapped) is op.method, op.name
        if op.method and op.kind == "elementwise":
            assert getattr(Tensor, f"{op.name}_").__doc__
    assert not [name for name in vars(TensorMethods) if name in vars(Tensor) and not name.startswith("__")]


# -- no elements, no dimensions, no order in memory -------------------------------------------

EVERYWHERE: dict[str, Callable[[Any], Any]] = {
    name: lambda x, name=name: getattr(x, name)()
    for name in ("exp", "relu", "sigmoid", "abs", "sum", "prod", "mean", "all", "any", "clone", "flatten", "squeeze")
} | {
    "sum over a dimension": lambda x: x.sum(-1),
    "mean over a dimension": lambda x: x.mean(0, keepdim=True),
    "softmax": lambda x: x.softmax(-1),
    "log_softmax": lambda x: x.log_softmax(0),
    "logsumexp": lambda x: x.logsumexp(-1),
    "argmax": lambda x: x.argmax(),
    "max": lambda x: x.max(-1).values,
    "flip": lambda x: x.flip(0),
    "transpose": lambda x: x.transpose(0, -1),
    "unsqueeze": lambda x: x.unsqueeze(-1),
    "comparison": lambda x: x > 0,
    "matmul": lambda x: x @ x.T if x.ndim == 2 else x * 2,
    "power": lambda x: x**2,
    "var": lambda x: x.var(),
}  # fmt: skip


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize("shape", [(), (0,), (1,), (2, 0), (0, 3), (3, 4), (2, 3, 4)], ids=str)
@pytest.mark.parametrize("operation", EVERYWHERE.values(), ids=EVERYWHERE)
def test_edge_case_shapes(operation: Callable[[Any], Any], shape: tuple[int, ...]) -> None:
    torch = pytest.importorskip("torch")
    numbers = np.asarray(np.random.default_rng(0).normal(size=shape))
    for order in (lambda a: a, lambda a: a.T.copy().T, lambda a: np.repeat(a, 2, axis=-1)[..., ::2] if a.ndim else a):
        x, tx = engine.from_numpy(order(numbers)), torch.tensor(numbers)
        try:
            expected = operation(tx)
        except (RuntimeError, IndexError):
            with pytest.raises((RuntimeError, ValueError)):
                operation(x)
            continue
        actual = operation(x)
        assert tuple(actual.shape) == tuple(expected.shape)
        np.testing.assert_allclose(actual.numpy(), expected.numpy(), rtol=1e-12, atol=1e-15)
