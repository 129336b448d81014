"""What is refused is explained: the op, what it was given, what it wants, and what to do."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import engine
import engine.nn.functional as F
from engine import errors
from engine.errors import DeviceError, DTypeError, EngineError, ShapeError
from engine.tensors import Tensor

z, tensor = engine.zeros, engine.tensor
SHAPE, DTYPE = ShapeError, DTypeError

CASES: dict[str, tuple[Callable[[], Any], type[Exception], str]] = {
    # shapes
    "broadcast": (lambda: z(2, 3) + z(4), SHAPE, r"add: 2×3 and 4 do not broadcast: dimension -1 is 3 in one and 4"),
    "broadcast of three": (lambda: z(2).addcmul(z(3), z(2)), SHAPE, "addcmul: 2 and 3 and 2 do not broadcast"),
    "in place": (lambda: z(3).add_(z(2, 3)), SHAPE, r"add_\(\): the result is 2×3, but the tensor is 3"),
    "matmul": (lambda: z(2, 3) @ z(4, 5), SHAPE, "2×3 and 4×5 do not multiply: .* 3 columns, .* 4 rows"),
    "batches": (lambda: z(2, 3, 4) @ z(3, 4, 5), SHAPE, "matmul, leading dimensions: 2 and 3 do not broadcast"),
    "matmul of scalars": (lambda: z(2) @ tensor(1.0), SHAPE, "must have at least one dimension, not 2 and scalar"),
    "linear": (lambda: F.linear(z(2, 3), z(4, 5)), SHAPE, "the weight expects 5 features, but the input 2×3 has 3"),
    "linear's bias": (lambda: F.linear(z(2, 3), z(4, 3), z(5)), SHAPE, "the bias must have 4 elements.* not 5"),
    "linear's weight": (lambda: F.linear(z(2, 3), z(3)), SHAPE, "the weight must have 2 dimensions.* not 3"),
    "channels": (lambda: F.conv2d(z(1, 3, 8, 8), z(4, 2, 3, 3)), SHAPE, "expects 2 channels, .* 1×3×8×8 has 3"),
    "no batch": (lambda: F.conv2d(z(3, 8), z(4, 3, 3, 3)), SHAPE, "requires an input of 4 dimensions .* not 3×8"),
    "kernel": (lambda: F.conv2d(z(1, 3, 2, 2), z(4, 3, 3, 3)), SHAPE, "3×3 .* into 2×2 .* smaller kernel or more"),
    "conv's bias": (lambda: F.conv2d(z(1, 1, 3, 3), z(4, 1, 3, 3), z(5)), SHAPE, "the bias must have shape 4 "),
    "groups": (lambda: F.conv2d(z(1, 4, 3, 3), z(3, 2, 3, 3), groups=2), SHAPE, "3 .* not divisible by groups=2"),
    "stride": (lambda: F.max_pool2d(z(1, 1, 4, 4), 2, stride=0), SHAPE, "max_pool: .* stride 0×0 .* at least 1"),
    "padding": (lambda: F.conv2d(z(1, 3, 8, 8), z(4, 3, 3, 3), padding=-1), SHAPE, "padding -1×-1 at least 0"),
    "output size": (lambda: F.adaptive_avg_pool2d(z(1, 1, 4, 4), 0), SHAPE, "output size must be at least 1, not 0×0"),
    "reshape": (lambda: z(2, 3).reshape(4), SHAPE, "reshape: 2×3 has 6 elements, 4 has 4"),
    "two unknowns": (lambda: z(2, 3).reshape(-1, -1), SHAPE, "only one size can be -1"),
    "a negative size": (lambda: z(2, 3).reshape(-2, 3), SHAPE, r"sizes must be at least 0.* \(-2, 3\)"),
    "view": (lambda: z(2, 3).T.view(6), SHAPE, r"3×2 with strides \(1, 3\) .* without a copy\. Use reshape\(\)"),
    "dimension": (lambda: z(2, 3).sum(2), SHAPE, "sum: dimension 2 is out of range .* 2 dimensions. Use -2 to 1"),
    "dimension twice": (lambda: z(2, 3).sum((0, 0)), SHAPE, "dimension 0 appears twice"),
    "permute": (lambda: z(2, 3).permute(0), SHAPE, "must contain each of the 2 dimensions once"),
    "expand": (lambda: z(2, 3).expand(4, 3), SHAPE, "expand: 2×3 to 4×3: size 2 cannot become 4"),
    "cat": (lambda: engine.cat([z(2, 3), z(2, 4)]), SHAPE, "2×3 and 2×4 differ in dimension 1: 3 and 4"),
    "cat of ranks": (lambda: engine.cat([z(2), z(2, 4)]), SHAPE, r"tensor 1 is 2×4\. .*stack\(\)"),
    "split": (lambda: z(4).split([1, 2]), SHAPE, r"sizes \[1, 2\] add up to 3, but dimension 0 has 4"),
    "narrow": (lambda: z(4).narrow(0, 3, 2), SHAPE, "2 elements from index 3 exceed dimension 0 of size 4"),
    "maximum of nothing": (lambda: z(0, 3).amax(0), SHAPE, "0×3 has no elements to choose from along dim=0"),
    "index_select": (lambda: z(2).index_select(0, tensor([[0]])), SHAPE, r"vector, not 1×1\. Use x\[index\]"),
    "target": (lambda: F.cross_entropy(z(2, 3), tensor([0])), SHAPE, "requires a target of 2.* not 1"),
    # dtypes
    "dtypes": (lambda: z(2, 3) @ z(3, 2).double(), DTYPE, r"the same dtype, not float32, float64\. Convert with \.to"),
    "conv's dtypes": (
        lambda: F.conv2d(z(1, 1, 3, 3), z(1, 1, 3, 3).double()), DTYPE, "convolution: .* the same dtype"
    ),
    "mean": (lambda: tensor([1]).mean(), DTYPE, r"needs floating point, not int64\. Convert with \.float\(\)"),
    "in place dtype": (lambda: tensor([1]).sqrt_(), DTYPE, r"sqrt_\(\) cannot write its float32 result into a int64"),
    "booleans": (lambda: tensor([True]) - tensor([True]), DTYPE, r"sub\(\) is not defined for booleans.*\.long\(\)"),
    "bits": (lambda: ~z(2), DTYPE, "bitwise_not: bitwise ops need integers or booleans, not float32"),
    "power": (lambda: tensor([2]) ** -1, DTYPE, r"to negative integer powers\. Convert with \.float\(\)"),
    "a number too large": (lambda: tensor([1], dtype=engine.uint8) + 300, DTYPE, r"add\(1 uint8, 300\): .*out of"),
    "too large in place": (lambda: tensor([1], dtype=engine.uint8).add_(300), DTYPE, r"add\(1 uint8, 300\): .*out of"),
    # operands and arguments
    "text": (lambda: z(2).maximum("a"), TypeError, r"maximum\(\) takes tensors and numbers, not str.*as_tensor\(\)"),
    "text in place": (lambda: z(2).add_("a"), TypeError, r"add\(\) takes tensors and numbers, not str"),
    "None": (lambda: z(2).maximum(None), TypeError, r"maximum\(\) takes tensors and numbers, not None"),
    "an array": (lambda: z(2).mul_(np.ones(2)), TypeError, r"not ndarray\. Convert it"),
    "a number": (lambda: z(2) @ 3, TypeError, r"matmul\(\) takes tensors, not int"),
    "a number among tensors": (lambda: engine.cat([z(2), 3]), TypeError, r"cat\(\) takes tensors, not int"),
    "no tensor": (lambda: engine.exp(2.0), TypeError, r"exp\(\) needs a tensor, not float"),
    "missing": (lambda: z(2).softmax(), TypeError, r"softmax\(\) is missing the argument 'dim'"),
    "missing input": (lambda: z(2).maximum(), TypeError, r"maximum\(\) is missing the argument 'y'"),
    "unknown": (lambda: z(2).sum(dims=1), TypeError, r"no argument 'dims'\. Its arguments are x, dim, keepdim, dtype"),
    "too many": (lambda: z(2).exp(3), TypeError, r"exp\(\) takes at most 1 argument"),
    "nothing to clamp to": (lambda: z(2).clamp(), ValueError, r"clamp\(\): min and max are both None"),
    # devices
    "unknown device": (lambda: z(2, device="gpu"), DeviceError, "'gpu'. Use 'cpu', 'cuda', 'cuda:N' or 'meta'"),
}  # fmt: skip


@pytest.mark.parametrize(("call", "error", "message"), CASES.values(), ids=CASES)
def test_error_messages(call: Callable[[], Any], error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        call()


NEED_NUMBERS = ("view", "power", "a number too large", "too large in place", "unknown device")
ON_META = [name for name in CASES if name not in NEED_NUMBERS]


@pytest.mark.parametrize("name", ON_META)
def test_error_messages_on_the_meta_device(name: str) -> None:
    call, error, message = CASES[name]
    with engine.device("meta"), pytest.raises(error, match=message):
        call()


def test_error_types_match_pytorch_and_python() -> None:
    for kind in (ShapeError, DTypeError, DeviceError, errors.AutogradError, errors.WeightsError):
        assert issubclass(kind, EngineError)
        assert issubclass(kind, RuntimeError)
    assert issubclass(ShapeError, ValueError)
    assert issubclass(DTypeError, TypeError)


def test_a_refused_call_changes_nothing() -> None:
    x = engine.ones(3)
    for write in (lambda: x.add_(z(4)), lambda: x.add_("a"), lambda: x.sub_(z(2, 3)), lambda: x.div_(z(4))):
        with pytest.raises((ShapeError, TypeError)):
            write()
    assert (x.tolist(), x._storage.version) == ([1.0, 1.0, 1.0], 0)


# -- numbers that are none --------------------------------------------------------------------

NAN, INF = float("nan"), float("inf")
UNUSUAL: dict[str, Callable[[Any], Any]] = {
    name: lambda x, name=name: getattr(x, name)()
    for name in ("exp", "log", "sqrt", "sigmoid", "tanh", "relu", "abs", "sign", "floor", "isnan", "isfinite", "erf",
                 "sum", "mean", "prod", "amax", "amin", "argmax", "argmin", "expm1", "log1p", "rsqrt")
} | {
    "divided by zero": lambda x: x / 0,
    "maximum": lambda x: x.maximum(x.flip(0)),
    "clamp": lambda x: x.clamp(-1, 1),
    "max": lambda x: x.max(0).values,
    "softmax": lambda x: x.softmax(0),
    "log_softmax": lambda x: x[:3].log_softmax(0),
    "logsumexp": lambda x: x[1:4].logsumexp(0),
    "logsumexp of nothing likely": lambda x: (x[2:3] * 1).logsumexp(0),
    "power of zero": lambda x: x**0,
    "comparison": lambda x: x == x,
}  # fmt: skip


@pytest.mark.parametrize("name", UNUSUAL)
@pytest.mark.parametrize("with_nan", [False, True])
def test_nan_and_infinity_as_in_pytorch(name: str, with_nan: bool) -> None:
    torch = pytest.importorskip("torch")
    if with_nan and name == "relu":
        pytest.skip("relu has no gradient at NaN; PyTorch has 1")
    operation = UNUSUAL[name]
    numbers = [0.0, INF, -INF, -1.5, 700.0, -800.0, 1e-300] + [NAN] * with_nan
    x, tx = tensor(numbers, dtype=engine.float64, requires_grad=True), torch.tensor(numbers, dtype=torch.float64)
    tx.requires_grad_()
    actual, expected = operation(x), operation(tx)
    np.testing.assert_allclose(actual.detach().numpy(), expected.detach().numpy(), rtol=1e-12)
    if expected.requires_grad:
        actual.sum().backward()
        expected.sum().backward()
        assert isinstance(x.grad, Tensor)
        np.testing.assert_allclose(x.grad.numpy(), tx.grad.numpy(), rtol=1e-10)
