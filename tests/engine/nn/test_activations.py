"""Activations and dropout as functions against PyTorch's: kinks, special numbers, sizes, dtypes, in place, draws."""

from __future__ import annotations

import inspect
from typing import Any

import numpy as np
import pytest

import engine
from engine import nn
from engine.errors import ShapeError
from engine.nn import functional as F

torch = pytest.importorskip("torch")
TF = torch.nn.functional

CALLS: list[tuple[str, tuple[Any, ...]]] = [
    ("relu", ()),
    ("relu6", ()),
    ("leaky_relu", ()),
    ("leaky_relu", (0.3,)),
    ("rrelu", ()),
    ("elu", ()),
    ("elu", (0.5,)),
    ("selu", ()),
    ("celu", ()),
    ("celu", (0.5,)),
    ("threshold", (0.5, 7.0)),
    ("silu", ()),
    ("mish", ()),
    ("sigmoid", ()),
    ("logsigmoid", ()),
    ("tanh", ()),
    ("softplus", ()),
    ("softplus", (2.0, 3.0)),
    ("softsign", ()),
    ("tanhshrink", ()),
    ("hardtanh", ()),
    ("hardtanh", (-0.5, 3.0)),
    ("hardsigmoid", ()),
    ("hardswish", ()),
    ("hardshrink", ()),
    ("hardshrink", (3.0,)),
    ("softshrink", ()),
    ("gelu", ()),
]
IN_PLACE = ["relu", "elu", "selu", "celu", "leaky_relu", "rrelu", "hardtanh", "threshold"]
SPECIAL = [-3.0, -1.0, -0.5, 0.0, 0.5, 1.0, 3.0, 6.0, 80.0, -80.0, np.nan, np.inf, -np.inf]


def both(values: Any, dtype: str = "float64", requires_grad: bool = True) -> tuple[Any, Any]:
    array = np.asarray(values, dtype)
    return engine.tensor(array, requires_grad=requires_grad), torch.tensor(array, requires_grad=requires_grad)


@pytest.mark.parametrize(("name", "arguments"), CALLS)
def test_at_kinks_and_special_numbers(name: str, arguments: Any) -> None:
    x, y = both(SPECIAL)
    ours, theirs = getattr(F, name)(x, *arguments), getattr(TF, name)(y, *arguments)
    np.testing.assert_allclose(ours.detach().numpy(), theirs.detach().numpy(), rtol=1e-12, atol=1e-30)
    ours.sum().backward()
    theirs.sum().backward()
    finite = np.isfinite(SPECIAL)
    rounding = 1e-7 if name == "hardsigmoid" else 1e-12  # whose slope PyTorch has in single precision only
    np.testing.assert_allclose(x.grad.numpy()[finite], y.grad.numpy()[finite], rtol=rounding, atol=1e-30)


@pytest.mark.parametrize("shape", [(), (0,), (0, 3), (1,), (2, 1, 3)])
@pytest.mark.parametrize(("name", "arguments"), CALLS)
def test_sizes(name: str, arguments: Any, shape: Any) -> None:
    x, y = both(np.random.default_rng(0).standard_normal(shape))
    ours, theirs = getattr(F, name)(x, *arguments), getattr(TF, name)(y, *arguments)
    assert tuple(ours.shape) == tuple(theirs.shape)
    np.testing.assert_allclose(ours.detach().numpy(), theirs.detach().numpy(), rtol=1e-12)


@pytest.mark.parametrize("dtype", ["float16", "float32"])
@pytest.mark.parametrize(("name", "arguments"), CALLS)
def test_dtypes(name: str, arguments: Any, dtype: str) -> None:
    x, y = both(np.random.default_rng(0).standard_normal((4, 3)).T, dtype)
    ours, theirs = getattr(F, name)(x, *arguments), getattr(TF, name)(y, *arguments)
    assert ours.dtype.name == dtype
    tolerance = 4e-3 if dtype == "float16" else 2e-6
    np.testing.assert_allclose(ours.detach().numpy(), theirs.detach().numpy(), rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize("suffix", ["_", "inplace"])
@pytest.mark.parametrize(("name", "arguments"), [call for call in CALLS if call[0] in IN_PLACE])
def test_in_place(name: str, arguments: Any, suffix: str) -> None:
    results = []
    for library, leaf in zip((F, TF), both(np.linspace(-4, 4, 9)), strict=True):
        x = leaf.clone()
        if suffix == "_":
            result = getattr(library, f"{name}_")(x, *arguments)
        else:
            result = getattr(library, name)(x, *arguments, inplace=True)
        assert result is x
        (result * 2).sum().backward()
        results.append((x.detach().numpy(), leaf.grad.numpy()))
    for ours, theirs in zip(*results, strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-12)


@pytest.mark.parametrize("name", sorted({name for name, _ in CALLS} | {"softmax", "softmin", "log_softmax", "glu"}))
def test_arguments_are_pytorchs(name: str) -> None:
    try:
        theirs = inspect.signature(getattr(TF, name))
    except ValueError:
        return  # compiled, without a signature
    ours = inspect.signature(getattr(F, name))
    assert [(p.name, p.default) for p in ours.parameters.values()] == [
        (p.name, p.default) for p in theirs.parameters.values()
    ]


# -- the softmax family -----------------------------------------------------------------------


@pytest.mark.parametrize("name", ["softmax", "softmin", "log_softmax"])
@pytest.mark.parametrize("shape", [(4,), (2, 3), (2, 3, 4), (2, 2, 2, 2)])
def test_omitted_dimension(name: str, shape: Any) -> None:
    x, y = both(np.random.default_rng(0).standard_normal(shape))
    with pytest.warns(UserWarning, match="Pass dim"):
        ours = getattr(F, name)(x)
    with pytest.warns(UserWarning, match="dim"):
        theirs = getattr(TF, name)(y)
    np.testing.assert_allclose(ours.detach().numpy(), theirs.detach().numpy())
    layer = {"softmax": "Softmax", "softmin": "Softmin", "log_softmax": "LogSoftmax"}[name]
    with pytest.warns(UserWarning, match="Pass dim"):
        made = getattr(nn, layer)()(x)
    np.testing.assert_array_equal(made.detach().numpy(), ours.detach().numpy())


def test_softmax_in_another_dtype() -> None:
    assert F.softmax(engine.zeros(3), dim=0, dtype=engine.float64).dtype is engine.float64


def test_gumbel_softmax_chooses_by_the_probabilities() -> None:
    engine.manual_seed(0)
    probabilities = engine.tensor([0.1, 0.3, 0.6])
    logits = probabilities.log().expand(5000, 3).clone().requires_grad_()
    hard = F.gumbel_softmax(logits, tau=0.5, hard=True)
    np.testing.assert_allclose(hard.detach().numpy().sum(1), 1, rtol=1e-5)
    np.testing.assert_allclose(hard.detach().numpy().mean(0), probabilities.numpy(), atol=0.02)
    (hard * engine.tensor([1.0, 2.0, 3.0])).sum().backward()
    assert logits.grad is not None
    assert logits.grad.abs().sum().item() > 0
    soft = F.gumbel_softmax(logits, dim=1)
    np.testing.assert_allclose(soft.detach().numpy().sum(1), 1, rtol=1e-5)


# -- what is drawn ----------------------------------------------------------------------------


def test_rrelu_draws_slopes_between_its_bounds() -> None:
    x = -engine.ones(20_000, requires_grad=True)
    slopes = -F.rrelu(x, 0.1, 0.5, training=True).detach().numpy()
    assert slopes.min() >= 0.1
    assert slopes.max() <= 0.5
    assert slopes.mean() == pytest.approx(0.3, abs=0.01)


@pytest.mark.parametrize(
    ("name", "shape"),
    [
        ("dropout1d", (50, 40, 3)),
        ("dropout1d", (500, 3)),
        ("dropout2d", (50, 40, 3, 2)),
        ("dropout3d", (50, 40, 2, 2, 2)),
        ("dropout3d", (500, 2, 2, 2)),
    ],
)
def test_dropout2d_drops_complete_channels(name: str, shape: Any) -> None:
    x = engine.ones(*shape)
    y = getattr(F, name)(x, 0.25, training=True).numpy()
    batched = (name == "dropout1d" and len(shape) == 3) or name == "dropout2d" or len(shape) == 5
    channels = y.reshape(*shape[: 2 if batched else 1], -1)
    assert (channels == channels[..., :1]).all()
    dropped = channels[..., 0] == 0
    assert dropped.mean() == pytest.approx(0.25, abs=0.06)
    np.testing.assert_allclose(channels[~dropped], 1 / 0.75, rtol=1e-6)
    assert getattr(F, name)(x, 0.25, training=False) is x


@pytest.mark.parametrize("name", ["alpha_dropout", "feature_alpha_dropout"])
def test_alpha_dropout_keeps_mean_and_variance(name: str) -> None:
    engine.manual_seed(0)
    x = engine.randn(300, 300).requires_grad_()
    y = getattr(F, name)(x, 0.3, training=True)
    assert y.mean().item() == pytest.approx(0, abs=0.02)
    assert y.std().item() == pytest.approx(1, abs=0.02)
    y.sum().backward()
    assert set(np.unique(x.grad.numpy().round(4))) == {0.0, np.float32(x.grad.max().item()).round(4)}
    assert getattr(F, name)(x) is x


@pytest.mark.parametrize("name", ["dropout", "alpha_dropout"])
@pytest.mark.parametrize("p", [0.0, 1.0])
def test_dropout_at_its_bounds(name: str, p: float) -> None:
    x = engine.randn(5)
    np.testing.assert_array_equal(getattr(F, name)(x, p, training=True).numpy(), x.numpy() * (1 - p))


@pytest.mark.parametrize("name", ["dropout", "dropout1d", "dropout2d", "dropout3d", "alpha_dropout"])
def test_dropout_refuses_probabilities_outside_0_to_1(name: str) -> None:
    with pytest.raises(ValueError, match=r"between 0 and 1, not 1\.5"):
        getattr(F, name)(engine.ones(2, 2, 2, 2), 1.5, training=False)


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: F.glu(engine.ones(3)), ShapeError, "must have an even size"),
        (lambda: F.glu(engine.ones(())), ShapeError, "scalar"),
        (lambda: F.prelu(engine.ones(2, 3), engine.ones(2)), ShapeError, "has 3 channels"),
        (lambda: F.celu(engine.ones(3), 0.0), ValueError, "alpha must not be 0"),
        (lambda: F.softshrink(engine.ones(3), -1.0), ValueError, "≥ 0"),
        (lambda: F.hardtanh(engine.ones(3), 2.0, 1.0), ValueError, "min_val"),
        (lambda: F.rrelu(engine.ones(3), 2.0, 1.0), ValueError, "lower"),
        (lambda: F.dropout1d(engine.ones(3)), ShapeError, "N×C×L"),
        (lambda: F.feature_alpha_dropout(engine.ones(3), training=True), ShapeError, "channel dimensions"),
    ],
)
def test_refused_arguments(call: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        call()


def test_dropout2d_of_three_dimensions_warns() -> None:
    with pytest.warns(UserWarning, match="dropout1d"):
        F.dropout2d(engine.ones(2, 3, 4))
