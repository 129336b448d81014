"""Autocast against PyTorch's on the CPU: the dtype of every listed function's result, gradients, training, nesting."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import engine

torch = pytest.importorskip("torch")

CALLS: dict[str, Any] = {
    # in the lower precision
    "matmul": lambda lib, x: x @ x,
    "mm": lambda lib, x: lib.mm(x, x),
    "bmm": lambda lib, x: lib.bmm(x.unsqueeze(0), x.unsqueeze(0)),
    "linear": lambda lib, x: lib.nn.functional.linear(x, x, x[0]),
    "conv1d": lambda lib, x: lib.nn.functional.conv1d(x.unsqueeze(0), x.unsqueeze(-1)),
    "conv2d": lambda lib, x: lib.nn.functional.conv2d(x[None, None], x[None, None]),
    "conv_transpose2d": lambda lib, x: lib.nn.functional.conv_transpose2d(x[None, None], x[None, None]),
    "einsum": lambda lib, x: lib.einsum("ij,jk->ik", x, x),
    # in float32, after a product in the lower precision
    "mse_loss": lambda lib, x: lib.nn.functional.mse_loss(x @ x, x),
    "l1_loss": lambda lib, x: lib.nn.functional.l1_loss(x @ x, x @ x),
    "smooth_l1_loss": lambda lib, x: lib.nn.functional.smooth_l1_loss(x @ x, x),
    "huber_loss": lambda lib, x: lib.nn.functional.huber_loss(x @ x, x),
    "cross_entropy": lambda lib, x: lib.nn.functional.cross_entropy(x @ x, lib.tensor([0, 1, 2])),
    "nll_loss": lambda lib, x: lib.nn.functional.nll_loss(x @ x, lib.tensor([0, 1, 2])),
    "binary_cross_entropy_with_logits": lambda lib, x: lib.nn.functional.binary_cross_entropy_with_logits(x @ x, x),
    "binary_cross_entropy": lambda lib, x: lib.nn.functional.binary_cross_entropy((x @ x).sigmoid(), x.sigmoid()),
    "kl_div": lambda lib, x: lib.nn.functional.kl_div(x @ x, x.exp(), reduction="sum"),
    "soft_margin_loss": lambda lib, x: lib.nn.functional.soft_margin_loss(x @ x, x.detach().sign()),
    "poisson_nll_loss": lambda lib, x: lib.nn.functional.poisson_nll_loss(x @ x, x.abs()),
    "hinge_embedding_loss": lambda lib, x: lib.nn.functional.hinge_embedding_loss(x @ x, x.sign()),
    "margin_ranking_loss": lambda lib, x: lib.nn.functional.margin_ranking_loss(x @ x, x @ x, x.sign()),
    "cosine_embedding_loss": lambda lib, x: lib.nn.functional.cosine_embedding_loss(x @ x, x @ x, x[0].sign()),
    "triplet_margin_loss": lambda lib, x: lib.nn.functional.triplet_margin_loss(x @ x, x, x),
    "multi_margin_loss": lambda lib, x: lib.nn.functional.multi_margin_loss(x @ x, lib.tensor([0, 1, 2])),
    "prod": lambda lib, x: (x @ x).prod(),
    "inverse": lambda lib, x: lib.linalg.inv(x @ x),
    "qr": lambda lib, x: lib.linalg.qr(x @ x)[0],
    "svd": lambda lib, x: lib.linalg.svd(x @ x)[1],
    "cholesky": lambda lib, x: lib.linalg.cholesky(x.detach() @ x.detach().mT + 3 * lib.eye(3)),
    # in the widest
    "cat": lambda lib, x: lib.cat([x @ x, x]),
    "cat of two lower": lambda lib, x: lib.cat([x @ x, x @ x]),
    "stack": lambda lib, x: lib.stack([x @ x, x]),
    # as they come
    "relu": lambda lib, x: (x @ x).relu(),
    "exp": lambda lib, x: (x @ x).exp(),
    "softmax": lambda lib, x: (x @ x).softmax(1)[0],
    "sum": lambda lib, x: (x @ x).sum(),
    "mean": lambda lib, x: (x @ x).mean(),
    "add": lambda lib, x: (x @ x) + 1,
    "add mixed": lambda lib, x: (x @ x) + x,
    "gelu": lambda lib, x: lib.nn.functional.gelu(x @ x),
}


def square(library: Any, dtype: str = "float32") -> Any:
    values = np.random.default_rng(0).standard_normal((3, 3)) + 2 * np.eye(3)
    return library.tensor(values.astype(dtype), requires_grad=True)


def name(dtype: Any) -> str:
    return str(dtype).rpartition(".")[-1]


@pytest.mark.parametrize("lower", ["bfloat16", "float16"])
@pytest.mark.parametrize("call", CALLS)
def test_result_dtypes_match_pytorch(call: str, lower: str) -> None:
    actual = []
    for library in (engine, torch):
        x = square(library)
        with library.autocast("cpu", dtype=getattr(library, lower)):
            result = CALLS[call](library, x)
        actual.append((name(result.dtype), result))
        if result.requires_grad:
            result.float().sum().backward()
            assert x.grad.dtype is library.float32
            actual[-1] += (x.grad.numpy(),)
    (ours, value, *gradient), (theirs, expected, *their_gradient) = actual
    assert ours == theirs
    tolerance = 0.06 if lower == "bfloat16" else 0.02
    np.testing.assert_allclose(
        value.detach().float().numpy(), expected.detach().float().numpy(), rtol=tolerance, atol=tolerance
    )
    if call not in ("inverse", "qr", "svd", "prod", "softmax"):  # which blow up rounding
        for a, b in zip(gradient, their_gradient, strict=True):
            np.testing.assert_allclose(a, b, rtol=0.1, atol=0.1 * np.abs(b).max())


@pytest.mark.parametrize("call", ["matmul", "mse_loss", "linear"])
def test_float64_inputs_are_not_cast(call: str) -> None:
    for library in (engine, torch):
        with library.autocast("cpu"):
            assert name(CALLS[call](library, square(library, "float64")).dtype) == "float64"


def test_op_lists_on_a_gpu() -> None:
    """On the meta device, whose dtypes follow the block's lists: exponentials and sums are in float32 there."""
    x = engine.ones(3, 3, device="meta")
    with engine.autocast("cuda"):
        half = x @ x
        assert half.dtype is engine.float16
        assert half.exp().dtype is engine.float32
        assert half.softmax(0).dtype is engine.float32
        assert half.sum().dtype is engine.float32
        assert half.cumsum(0).dtype is engine.float32
        assert half.norm().dtype is engine.float32
        assert half.relu().dtype is engine.float16
        assert half.mean().dtype is engine.float16
        assert engine.cat([half, x]).dtype is engine.float32
        assert engine.nn.functional.mse_loss(half, half).dtype is engine.float32


def test_nesting() -> None:
    x = square(engine).detach()
    with engine.autocast("cpu"):
        assert engine.is_autocast_enabled("cpu")
        with engine.autocast("cpu", enabled=False):
            assert not engine.is_autocast_enabled("cpu")
            assert (x @ x).dtype is engine.float32
        with engine.autocast("cpu", dtype=engine.float16):
            assert engine.get_autocast_dtype("cpu") is engine.float16
            assert (x @ x).dtype is engine.float16
        with engine.autocast("cuda"):
            assert (x @ x).dtype is engine.bfloat16
        assert (x @ x).dtype is engine.bfloat16
    assert not engine.is_autocast_enabled("cpu")
    assert (x @ x).dtype is engine.float32
    with engine.autocast("cuda"):
        assert (x @ x).dtype is engine.float32


def test_autocast_ends_when_the_block_raises() -> None:
    with pytest.raises(ZeroDivisionError), engine.autocast("cpu"):
        1 / 0  # noqa: B018
    assert not engine.is_autocast_enabled("cpu")


def test_decorator() -> None:
    @engine.autocast("cpu")
    def product(x: Any) -> Any:
        return x @ x

    assert product(square(engine)).dtype is engine.bfloat16
    assert (square(engine) @ square(engine)).dtype is engine.float32


def test_a_parameter_is_cast_once_in_a_block() -> None:
    weight = engine.nn.Parameter(engine.eye(3))
    x = engine.ones(3, 3)
    with engine.autocast("cpu"):
        first, second = x @ weight, x @ weight
        casts = {id(node.next_functions[1][0]) for node in (first.grad_fn, second.grad_fn)}
        assert len(casts) == 1
        with engine.no_grad():
            weight.mul_(2)
        np.testing.assert_array_equal((x @ weight).detach().float().numpy(), 2)
        engine.clear_autocast_cache()
    with engine.autocast("cpu", cache_enabled=False):
        assert not engine.is_autocast_cache_enabled()
        first, second = x @ weight, x @ weight
        casts = {id(node.next_functions[1][0]) for node in (first.grad_fn, second.grad_fn)}
        assert len(casts) == 2


def test_unsupported_dtypes_disable_autocast() -> None:
    with pytest.warns(UserWarning, match="must be bfloat16 or float16"):
        block = engine.autocast("cpu", dtype=engine.float32)
    with block:
        assert (engine.ones(2, 2) @ engine.ones(2, 2)).dtype is engine.float32
    with pytest.raises(RuntimeError, match="device_type"):
        engine.autocast("tpu")


def test_training_matches_pytorch() -> None:
    random = np.random.default_rng(0)
    inputs, targets = random.standard_normal((20, 16, 8)).astype("float32"), random.integers(0, 3, (20, 16))
    weights = [random.standard_normal(shape).astype("float32") * 0.3 for shape in ((16, 8), (16,), (3, 16), (3,))]
    losses = []
    for library in (engine, torch):
        nn = library.nn
        model = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 3))
        with library.no_grad():
            for parameter, value in zip(model.parameters(), weights, strict=True):
                parameter.copy_(library.tensor(value))
        optimizer = library.optim.SGD(model.parameters(), lr=0.2)
        losses.append([])
        for x, y in zip(inputs, targets, strict=True):
            optimizer.zero_grad()
            with library.autocast("cpu", dtype=library.bfloat16):
                loss = nn.functional.cross_entropy(model(library.tensor(x)), library.tensor(y))
            loss.backward()
            optimizer.step()
            losses[-1].append(loss.item())
    np.testing.assert_allclose(*losses, rtol=0.03)
    assert losses[0][-1] < losses[0][0]


@pytest.mark.parametrize("cast_inputs", [None, "float32"])
def test_user_defined_functions(cast_inputs: str | None) -> None:
    seen: list[list[str]] = []
    for library in (engine, torch):
        dtypes: list[str] = []

        class Product(library.autograd.Function):
            @staticmethod
            @library.amp.custom_fwd(device_type="cpu", cast_inputs=cast_inputs and getattr(library, cast_inputs))
            def forward(ctx: Any, a: Any, b: Any, dtypes: Any = dtypes) -> Any:
                ctx.save_for_backward(a, b)
                dtypes += [name(a.dtype), name((a @ b).dtype)]
                return a @ b

            @staticmethod
            @library.amp.custom_bwd(device_type="cpu")
            def backward(ctx: Any, g: Any, dtypes: Any = dtypes) -> Any:
                a, b = ctx.saved_tensors
                dtypes.append(name((g @ b.mT).dtype))
                return (g.float() @ b.float().mT), (a.float().mT @ g.float())

        x = square(library)
        with library.autocast("cpu"):
            y = Product.apply(x @ x, x)
        dtypes.append(name(y.dtype))
        y.float().sum().backward()
        dtypes.append(name(Product.apply(x.bfloat16(), x.bfloat16()).dtype))  # where nothing is cast
        seen.append(dtypes)
    assert seen[0] == seen[1]


def test_names_of_torch_cuda_amp() -> None:
    from engine.cuda.amp import autocast, custom_bwd, custom_fwd  # noqa: PLC0415

    assert autocast().fast_dtype is engine.float16
    assert callable(custom_fwd(lambda ctx: ctx))
    assert callable(custom_bwd(lambda ctx: ctx))
