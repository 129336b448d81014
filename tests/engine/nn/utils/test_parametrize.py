"""Parametrizations, old norms by hooks, and fusion: values, gradients, buffers and keys are PyTorch's."""

from __future__ import annotations

import copy
from typing import Any

import numpy as np
import pytest

import engine
from engine import nn
from engine.errors import DTypeError, ShapeError
from engine.nn.utils import parametrizations, parametrize

torch = pytest.importorskip("torch")
LAYERS: dict[str, Any] = {
    "linear": (lambda n: n.Linear(4, 3), (5, 4)),
    "conv": (lambda n: n.Conv2d(2, 3, 2), (2, 2, 5, 5)),
    "transposed": (lambda n: n.ConvTranspose2d(2, 3, 2), (2, 2, 4, 4)),
}
NORMS: dict[str, Any] = {
    "weight norm": lambda n, layer: n.utils.parametrizations.weight_norm(layer),
    "weight norm of columns": lambda n, layer: n.utils.parametrizations.weight_norm(layer, dim=1),
    "weight norm of the whole": lambda n, layer: n.utils.parametrizations.weight_norm(layer, dim=None),
    "spectral norm": lambda n, layer: n.utils.parametrizations.spectral_norm(layer, n_power_iterations=2),
    "old weight norm": lambda n, layer: n.utils.weight_norm(layer),
    "old spectral norm": lambda n, layer: n.utils.spectral_norm(layer),
}


def pair(layer: str, norm: str) -> tuple[Any, Any, Any]:
    """Both layers in double precision with our numbers, and an input."""
    build, shape = LAYERS[layer]
    ours = NORMS[norm](nn, build(nn).double())
    theirs = NORMS[norm](torch.nn, build(torch.nn).double())
    theirs.load_state_dict({name: torch.tensor(value.numpy()) for name, value in ours.state_dict().items()})
    return ours, theirs, np.random.default_rng(0).standard_normal(shape)


@pytest.mark.filterwarnings("ignore:.*deprecated:FutureWarning")
@pytest.mark.parametrize("layer", LAYERS)
@pytest.mark.parametrize("norm", NORMS)
def test_values_and_gradients_match_pytorch(norm: str, layer: str) -> None:
    ours, theirs, values = pair(layer, norm)
    assert list(ours.state_dict()) == list(theirs.state_dict())
    for _ in range(2):  # the estimate of a spectral norm moves on
        a, b = ours(engine.tensor(values)), theirs(torch.tensor(values))
        np.testing.assert_allclose(a.detach().numpy(), b.detach().numpy(), rtol=1e-9, atol=1e-9)
        (a * a).sum().backward()
        (b * b).sum().backward()
    for (name, p), (other, q) in zip(ours.named_parameters(), theirs.named_parameters(), strict=True):
        assert name == other
        np.testing.assert_allclose(p.grad.numpy(), q.grad.numpy(), rtol=1e-8, atol=1e-8)
    for name, value in theirs.state_dict().items():
        np.testing.assert_allclose(ours.state_dict()[name].numpy(), value.numpy(), rtol=1e-9, atol=1e-9)
    ours.eval()
    theirs.eval()
    np.testing.assert_allclose(
        ours(engine.tensor(values)).detach().numpy(),
        theirs(torch.tensor(values)).detach().numpy(),
        rtol=1e-9,
        atol=1e-9,
    )


@pytest.mark.parametrize("norm", [name for name in NORMS if "old" not in name])
def test_repr_matches_pytorch(norm: str) -> None:
    ours, theirs, _ = pair("linear", norm)
    assert repr(ours) == repr(theirs)


@pytest.mark.parametrize("norm", ["weight norm", "old weight norm"])
def test_weight_norm_keeps_the_weight_and_can_be_removed(norm: str) -> None:
    layer = nn.Linear(4, 3)
    before = layer.weight.detach().numpy().copy()
    NORMS[norm](nn, layer)
    np.testing.assert_allclose(layer.weight.detach().numpy(), before, rtol=1e-5)
    if norm == "weight norm":
        parametrize.remove_parametrizations(layer, "weight")
    else:
        nn.utils.remove_weight_norm(layer)
    assert {name for name, _ in layer.named_parameters()} == {"weight", "bias"}
    assert type(layer) is nn.Linear
    np.testing.assert_allclose(layer.weight.detach().numpy(), before, rtol=1e-5)
    layer(engine.ones(1, 4))


@pytest.mark.parametrize("norm", ["spectral norm", "old spectral norm"])
def test_spectral_norm_is_one_and_is_kept_after_removal(norm: str) -> None:
    layer = NORMS[norm](nn, nn.Linear(6, 5))
    for _ in range(60):
        layer(engine.ones(1, 6))
    if norm == "spectral norm":
        parametrize.remove_parametrizations(layer, "weight")
    else:
        nn.utils.remove_spectral_norm(layer)
    assert np.linalg.norm(layer.weight.detach().numpy(), 2) == pytest.approx(1, abs=1e-2)
    assert list(layer.state_dict()) == ["bias", "weight"]


@pytest.mark.parametrize("kind", ["matrix_exp", "cayley", "householder", None])
@pytest.mark.parametrize("sizes", [(4, 4), (3, 5), (5, 3)])
def test_orthogonal_weights_stay_orthogonal(sizes: Any, kind: Any) -> None:
    layer = parametrizations.orthogonal(nn.Linear(*sizes).double(), orthogonal_map=kind)
    optimizer = engine.optim.SGD(layer.parameters(), lr=0.1)
    first = layer.weight.detach().numpy().copy()
    for _ in range(3):
        optimizer.zero_grad()
        (layer(engine.eye(sizes[0], dtype=engine.float64)) ** 3).sum().backward()
        optimizer.step()
        W = layer.weight.detach().numpy()
        product = W @ W.T if W.shape[0] <= W.shape[1] else W.T @ W
        np.testing.assert_allclose(product, np.eye(len(product)), atol=1e-10)
    assert abs(W - first).max() > 1e-3


@pytest.mark.parametrize("kind", ["matrix_exp", "cayley", "householder"])
@pytest.mark.parametrize("sizes", [(4, 4), (3, 5), (5, 3)])
def test_orthogonal_weights_match_pytorch(sizes: Any, kind: Any) -> None:
    ours = parametrizations.orthogonal(nn.Linear(*sizes).double(), orthogonal_map=kind)
    theirs = torch.nn.utils.parametrizations.orthogonal(torch.nn.Linear(*sizes).double(), orthogonal_map=kind)
    state = {name: value.numpy().copy() for name, value in ours.state_dict().items()}
    diagonal = np.eye(*state["parametrizations.weight.original"].shape, dtype=bool)
    state["parametrizations.weight.original"][~diagonal] = np.random.default_rng(0).standard_normal(np.sum(~diagonal))
    ours.load_state_dict(state)
    theirs.load_state_dict({name: torch.tensor(value) for name, value in state.items()})
    np.testing.assert_allclose(ours.weight.detach().numpy(), theirs.weight.detach().numpy(), atol=1e-9)


# -- the mechanism ----------------------------------------------------------------------------


class Symmetric(nn.Module):
    def forward(self, X: Any) -> Any:
        return X.triu() + X.triu(1).mT


class Doubled(nn.Module):
    def forward(self, X: Any) -> Any:
        return X * 2

    def right_inverse(self, Y: Any) -> Any:
        return Y / 2


def test_chains_and_assignment() -> None:
    layer = nn.Linear(3, 3)
    parametrize.register_parametrization(layer, "weight", Symmetric())
    parametrize.register_parametrization(layer, "weight", Doubled())
    W = layer.weight.detach().numpy()
    np.testing.assert_array_equal(W, W.T)
    assert parametrize.is_parametrized(layer)
    assert parametrize.is_parametrized(layer, "weight")
    assert not parametrize.is_parametrized(layer, "bias")
    layer.weight = engine.eye(3)
    np.testing.assert_array_equal(layer.weight.detach().numpy(), np.eye(3))
    layer(engine.ones(1, 3)).sum().backward()
    assert layer.parametrizations.weight.original.grad is not None
    twin = copy.deepcopy(layer)
    np.testing.assert_array_equal(twin.weight.detach().numpy(), np.eye(3))


def test_cached() -> None:
    layer = parametrizations.weight_norm(nn.Linear(3, 3))
    with parametrize.cached():
        assert layer.weight is layer.weight
    assert layer.weight is not layer.weight


def test_removal_can_keep_the_original() -> None:
    layer = nn.Linear(2, 2)
    parametrize.register_parametrization(layer, "weight", Symmetric())
    original = layer.parametrizations.weight.original.detach().numpy().copy()
    parametrize.remove_parametrizations(layer, "weight", leave_parametrized=False)
    np.testing.assert_array_equal(layer.weight.detach().numpy(), original)


def test_refused_arguments() -> None:
    class Flat(nn.Module):
        def forward(self, X: Any) -> Any:
            return X.reshape(-1)

    class Half(nn.Module):
        def forward(self, X: Any) -> Any:
            return X.half()

    with pytest.raises(ShapeError, match="unsafe=True"):
        parametrize.register_parametrization(nn.Linear(2, 2), "weight", Flat())
    with pytest.raises(DTypeError, match="dtype"):
        parametrize.register_parametrization(nn.Linear(2, 2), "weight", Half())
    with pytest.raises(ValueError, match="no parameter or buffer 'w'"):
        parametrize.register_parametrization(nn.Linear(2, 2), "w", Doubled())
    with pytest.raises(ValueError, match="no parametrization"):
        parametrize.remove_parametrizations(nn.Linear(2, 2), "weight")
    with pytest.raises(ValueError, match="with several originals"):
        parametrize.remove_parametrizations(parametrizations.weight_norm(nn.Linear(2, 2)), "weight", False)
    with pytest.raises(ValueError, match="no parameter 'w'"):
        nn.utils.weight_norm(nn.Linear(2, 2), "w")
    with pytest.raises(ValueError, match="no weight_norm"):
        nn.utils.remove_weight_norm(nn.Linear(2, 2))
    with pytest.raises(ValueError, match="n_power_iterations"):
        parametrizations.spectral_norm(nn.Linear(2, 2), n_power_iterations=0)
    with pytest.raises(ValueError, match="orthogonal_map"):
        parametrizations.orthogonal(nn.Linear(2, 2), orthogonal_map="qr")  # pyright: ignore[reportArgumentType]
    with pytest.raises(ShapeError, match="matrix"):
        parametrizations.orthogonal(nn.Linear(2, 2), "bias")


# -- fusion -----------------------------------------------------------------------------------


@pytest.mark.parametrize("bias", [True, False])
def test_fused_layers_give_the_same_result(bias: bool) -> None:
    def warmed(norm: Any, shape: Any) -> Any:
        norm(engine.randn(*shape) * 3 + 1)
        return norm.eval()

    with engine.no_grad():
        conv, bn = nn.Conv2d(2, 3, 2, bias=bias).eval(), warmed(nn.BatchNorm2d(3), (4, 3, 2, 2))
        x = engine.randn(2, 2, 5, 5)
        fused = nn.utils.fuse_conv_bn_eval(conv, bn)
        np.testing.assert_allclose(fused(x).numpy(), bn(conv(x)).numpy(), rtol=1e-4, atol=1e-5)
        conv = nn.ConvTranspose2d(2, 3, 2, bias=bias).eval()
        fused = nn.utils.fuse_conv_bn_eval(conv, bn, transpose=True)
        np.testing.assert_allclose(fused(x).numpy(), bn(conv(x)).numpy(), rtol=1e-4, atol=1e-5)
        linear, norm = nn.Linear(4, 3, bias=bias).eval(), warmed(nn.BatchNorm1d(3), (8, 3))
        fused = nn.utils.fuse_linear_bn_eval(linear, norm)
        x = engine.randn(5, 4)
        np.testing.assert_allclose(fused(x).numpy(), norm(linear(x)).numpy(), rtol=1e-4, atol=1e-5)
    with pytest.raises(ValueError, match=r"eval\(\)"):
        nn.utils.fuse_conv_bn_eval(conv.train(), bn)


def test_skip_init() -> None:
    layer = nn.utils.skip_init(nn.Linear, 3, 2, dtype=engine.float64)
    assert not layer.weight.is_meta
    assert layer.weight.dtype is engine.float64


def test_transfer() -> None:
    class Symmetric(nn.Module):
        def forward(self, x: Any) -> Any:
            return x.triu() + x.triu(1).mT

    source, target = nn.Linear(3, 3), nn.Linear(3, 3)
    assert parametrize.transfer_parametrizations_and_params(source, target) is target
    assert not parametrize.is_parametrized(target)
    parametrize.register_parametrization(source, "weight", Symmetric())
    parametrizations.weight_norm(source, "bias", dim=None)
    parametrize.transfer_parametrizations_and_params(source, target, "weight")
    assert target.parametrizations.weight.original is source.parametrizations.weight.original
    assert target.weight.tolist() == source.weight.tolist()
    assert not parametrize.is_parametrized(target, "bias")
    parametrize.transfer_parametrizations_and_params(source, other := nn.Module())
    assert list(other.state_dict()) == list(source.state_dict())
    assert other.bias.tolist() == source.bias.tolist()
