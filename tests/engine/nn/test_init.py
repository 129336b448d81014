"""First values: moments and bounds are PyTorch's, seeds repeat, meta stays empty."""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import engine
from engine import nn
from engine.errors import ShapeError
from engine.nn import init

SHAPE = (60, 30, 3, 3)
FILLS: dict[str, tuple[str, dict[str, Any]]] = {
    "uniform": ("uniform_", {"a": -2.0, "b": 3.0}),
    "normal": ("normal_", {"mean": 1.0, "std": 2.0}),
    "constant": ("constant_", {"val": 0.3}),
    "zeros": ("zeros_", {}),
    "ones": ("ones_", {}),
    "xavier uniform": ("xavier_uniform_", {"gain": 2.0}),
    "xavier normal": ("xavier_normal_", {}),
    "kaiming uniform": ("kaiming_uniform_", {"a": math.sqrt(5)}),
    "kaiming uniform out": ("kaiming_uniform_", {"mode": "fan_out", "nonlinearity": "relu"}),
    "kaiming normal": ("kaiming_normal_", {"nonlinearity": "tanh"}),
    "truncated": ("trunc_normal_", {"std": 0.5, "a": -1.0, "b": 0.5}),
    "truncated tail": ("trunc_normal_", {"mean": 0.5, "std": 0.5, "a": 1.25, "b": 2.0}),
    "orthogonal": ("orthogonal_", {"gain": 2.0}),
}


def moments(values: np.ndarray[Any, Any]) -> tuple[float, ...]:
    centered = values - values.mean()
    return values.mean(), values.std(), (centered**3).mean(), (centered**4).mean()


@pytest.mark.parametrize("fill", FILLS)
def test_moments_and_bounds_match_pytorch(fill: str) -> None:
    torch = pytest.importorskip("torch")
    name, kwargs = FILLS[fill]
    torch.manual_seed(0)
    ours = getattr(init, name)(engine.empty(*SHAPE), **kwargs).numpy().astype(float)
    theirs = getattr(torch.nn.init, name)(torch.empty(*SHAPE), **kwargs).numpy().astype(float)
    scale = max(np.abs(theirs).max(), 1e-9)
    # 16,200 numbers: the moments of two draws differ by a few percent of a standard deviation at most.
    np.testing.assert_allclose(moments(ours / scale), moments(theirs / scale), atol=0.02)
    if "normal" not in fill and "orthogonal" not in fill:
        np.testing.assert_allclose([ours.min(), ours.max()], [theirs.min(), theirs.max()], atol=0.01 * scale)


@pytest.mark.parametrize("dtype", [engine.float16, engine.float32, engine.float64])
def test_truncated_normal_is_within_its_bounds(dtype: Any) -> None:
    for kwargs in ({}, {"a": 1.5, "b": 1.75}, {"mean": 3.0, "std": 2.0, "a": 0.0, "b": 2.0}):
        values = init.trunc_normal_(engine.empty(2000, dtype=dtype), **kwargs).numpy().astype(float)
        assert values.min() >= kwargs.get("a", -2.0)
        assert values.max() <= kwargs.get("b", 2.0)


def test_truncated_normal_far_from_its_bounds_warns() -> None:
    with pytest.warns(UserWarning, match="two standard deviations"):
        init.trunc_normal_(engine.empty(10), mean=10.0, a=0.0, b=1.0)


@pytest.mark.parametrize("shape", [(5, 3), (3, 5), (4, 4), (4, 2, 2)])
def test_orthogonal(shape: tuple[int, ...]) -> None:
    w = init.orthogonal_(engine.empty(*shape, dtype=engine.float64)).numpy().reshape(shape[0], -1)
    product = w @ w.T if w.shape[0] <= w.shape[1] else w.T @ w
    np.testing.assert_allclose(product, np.eye(len(product)), atol=1e-12)


def test_eye() -> None:
    np.testing.assert_array_equal(init.eye_(engine.empty(2, 3)).numpy(), np.eye(2, 3))


@pytest.mark.parametrize("groups", [1, 2])
@pytest.mark.parametrize("shape", [(4, 3, 3), (6, 2, 3, 4), (2, 5, 1, 2, 3)])
def test_dirac_matches_pytorch(shape: Any, groups: int) -> None:
    torch = pytest.importorskip("torch")
    ours, theirs = init.dirac_(engine.empty(*shape), groups), torch.nn.init.dirac_(torch.empty(*shape), groups)
    np.testing.assert_array_equal(ours.numpy(), theirs.numpy())


def test_sparse() -> None:
    values = init.sparse_(engine.empty(20, 30), 0.33, std=2.0).numpy()
    assert ((values == 0).sum(axis=0) == 7).all()
    assert values[values != 0].std() == pytest.approx(2, rel=0.15)


@pytest.mark.parametrize("name", [n for n in dir(init) if n.endswith("_") and not n.startswith("_")])
def test_arguments_are_pytorchs(name: str) -> None:
    torch = pytest.importorskip("torch")
    ours, theirs = (inspect.signature(getattr(library, name)).parameters for library in (init, torch.nn.init))
    assert [(p.name, p.default) for p in ours.values()] == [(p.name, p.default) for p in theirs.values()]


def test_every_function_of_pytorch_exists() -> None:
    torch = pytest.importorskip("torch")
    assert {n for n in dir(torch.nn.init) if n.endswith("_") and not n.startswith("_")} <= set(dir(init))


@pytest.mark.parametrize(
    "name", ["linear", "conv2d", "conv_transpose3d", "sigmoid", "tanh", "relu", "leaky_relu", "selu"]
)
def test_gains(name: Any) -> None:
    torch = pytest.importorskip("torch")
    assert init.calculate_gain(name) == pytest.approx(torch.nn.init.calculate_gain(name))
    assert init.calculate_gain("leaky_relu", 0.3) == pytest.approx(torch.nn.init.calculate_gain("leaky_relu", 0.3))


LAYERS: dict[str, Callable[[Any], Any]] = {
    "linear": lambda n: n.Linear(300, 50),
    "conv": lambda n: n.Conv2d(20, 30, 5),
    "grouped conv": lambda n: n.Conv2d(20, 40, 3, groups=4),
    "embedding": lambda n: n.Embedding(100, 30, padding_idx=2),
    "batch norm": lambda n: n.BatchNorm2d(10),
    "layer norm": lambda n: n.LayerNorm((3, 4)),
}


@pytest.mark.parametrize("layer", LAYERS)
def test_layers_are_initialized_like_pytorchs(layer: str) -> None:
    torch = pytest.importorskip("torch")
    torch.manual_seed(0)
    ours, theirs = LAYERS[layer](nn), LAYERS[layer](torch.nn)
    for name, parameter in theirs.named_parameters():
        expected, actual = parameter.detach().numpy(), ours.get_parameter(name).detach().numpy()
        scale = max(np.abs(expected).max(), 1e-9)
        tolerance = 0.1 if expected.size < 1000 else 0.03
        np.testing.assert_allclose(actual.mean() / scale, expected.mean() / scale, atol=2 * tolerance)
        np.testing.assert_allclose(actual.std() / scale, expected.std() / scale, atol=tolerance)
        if layer != "embedding":
            np.testing.assert_allclose(np.abs(actual).max(), np.abs(expected).max(), rtol=0.1)
    if layer == "embedding":
        assert not ours.weight[2].any()


def test_a_seed_repeats_a_model() -> None:
    def values(seed: int) -> np.ndarray[Any, Any]:
        engine.manual_seed(seed)
        return nn.Linear(3, 4).weight.detach().numpy().copy()

    np.testing.assert_array_equal(values(1), values(1))
    assert (values(1) != values(2)).all()


def test_records_nothing_and_returns_the_tensor() -> None:
    weight = nn.Parameter(engine.empty(3, 4))
    assert init.xavier_uniform_(weight) is weight
    assert weight.is_leaf
    assert weight.requires_grad


@pytest.mark.parametrize("fill", FILLS)
def test_meta_tensors_are_supported(fill: str) -> None:
    name, kwargs = FILLS[fill]
    assert getattr(init, name)(engine.empty(*SHAPE, device="meta"), **kwargs).is_meta


def test_wrong_arguments() -> None:
    with pytest.raises(ShapeError, match="two dimensions or more, but the tensor is 3"):
        init.kaiming_uniform_(engine.empty(3))
    with pytest.raises(ShapeError, match="matrix"):
        init.eye_(engine.empty(3))
    with pytest.raises(ShapeError, match="matrix"):
        init.sparse_(engine.empty(3), 0.5)
    with pytest.raises(ShapeError, match="3 to 5 dimensions"):
        init.dirac_(engine.empty(3, 3))
    with pytest.raises(ValueError, match="not divisible by groups=2"):
        init.dirac_(engine.empty(3, 3, 1), 2)
    with pytest.raises(ValueError, match="'fan_in' or 'fan_out'"):
        init.kaiming_normal_(engine.empty(3, 3), mode="both")  # pyright: ignore[reportArgumentType]
    with pytest.raises(ValueError, match="unknown nonlinearity 'gelu'"):
        init.calculate_gain("gelu")  # pyright: ignore[reportArgumentType]


OLD: dict[str, tuple[float, ...]] = {
    "constant": (3.0,), "dirac": (), "eye": (), "kaiming_normal": (), "kaiming_uniform": (), "normal": (),
    "orthogonal": (), "sparse": (0.5,), "uniform": (), "xavier_normal": (), "xavier_uniform": (),
}  # fmt: skip


@pytest.mark.parametrize("name", OLD)
def test_deprecated_names_warn(name: str) -> None:
    result = []
    for function in (name, f"{name}_"):
        engine.manual_seed(0)
        tensor = engine.zeros(4, 4, 3) if name == "dirac" else engine.zeros(4, 4)
        if function == name:
            with pytest.warns(FutureWarning, match=rf"nn\.init\.{name} is deprecated\. Use nn\.init\.{name}_"):
                assert getattr(init, function)(tensor, *OLD[name]) is tensor
        else:
            getattr(init, function)(tensor, *OLD[name])
        result.append(tensor.tolist())
    assert result[0] == result[1]
