"""Lazy layers before they know their input: their parameters, moves, weights; against PyTorch's."""

from __future__ import annotations

import copy
from typing import Any

import numpy as np
import pytest

import engine
from engine import nn, optim
from engine.errors import EngineError, ShapeError
from engine.nn.parameter import UninitializedParameter, is_lazy

torch: Any = pytest.importorskip("torch")

pytestmark = pytest.mark.filterwarnings("ignore:Lazy modules are a new feature")

LAZY = {name: () if "Norm" in name else (3,) if name == "LazyLinear" else (3, 2)
        for name in nn.__all__ if name.startswith("Lazy")}  # fmt: skip


def shapes_and_dtypes(state: dict[str, Any]) -> list[tuple[str, str, str]]:
    return [
        (name, repr(value) if "Uninit" in repr(value) else str(tuple(value.shape)), str(value.dtype).partition(".")[2])
        for name, value in state.items()
    ]


@pytest.mark.parametrize("name", LAZY)
def test_before_the_first_call(name: str) -> None:
    ours, theirs = (getattr(library.nn, name)(*LAZY[name]) for library in (engine, torch))
    assert repr(ours) == repr(theirs)
    for both in ((ours, theirs), (ours.double(), theirs.double())):
        assert shapes_and_dtypes(both[0].state_dict()) == shapes_and_dtypes(both[1].state_dict())
    assert ours.has_uninitialized_params() is theirs.has_uninitialized_params()
    spatial = int(name[-2]) if name.endswith("d") else 0
    x = np.random.default_rng(0).standard_normal((2, 5, *(4,) * spatial))
    out = ours(engine.tensor(x))
    assert out.dtype is engine.float64
    theirs(torch.tensor(x))
    assert shapes_and_dtypes(ours.state_dict()) == shapes_and_dtypes(theirs.state_dict())
    assert type(ours).__name__ == type(theirs).__name__
    assert repr(ours) == repr(theirs)


def test_an_optimizer_keeps_its_parameters() -> None:
    layer = nn.LazyLinear(2)
    first = next(layer.parameters())
    optimizer = optim.SGD(layer.parameters(), lr=0.5)
    layer(engine.ones(1, 3)).sum().backward()
    assert layer.weight is first
    assert type(first) is nn.Parameter
    before = layer.weight.detach().clone()
    optimizer.step()
    np.testing.assert_allclose((before - layer.weight).detach().numpy(), np.full((2, 3), 0.5), rtol=1e-6)


def test_loaded_weights_set_the_shape() -> None:
    plain, lazy = nn.Linear(5, 3), nn.LazyLinear(3)
    assert str(lazy.load_state_dict(plain.state_dict())) == "<All keys matched successfully>"
    assert lazy.weight.tolist() == plain.weight.tolist()
    assert not lazy.has_uninitialized_params()
    assert repr(lazy) == "LazyLinear(in_features=0, out_features=3, bias=True)"
    x = engine.randn(2, 5)
    assert lazy(x).tolist() == plain(x).tolist()
    assert repr(lazy) == repr(plain)
    assert nn.LazyLinear(3).load_state_dict(nn.LazyLinear(3).state_dict()).missing_keys == []
    with pytest.raises(ShapeError, match="has no shape and no data yet"):
        plain.load_state_dict(nn.LazyLinear(3).state_dict())


def test_uninitialized_parameters_are_refused() -> None:
    parameter = UninitializedParameter()
    for use in (
        lambda: parameter.shape,
        parameter.numel,
        lambda: parameter + 1,
        lambda: engine.exp(parameter),
        lambda: nn.init.zeros_(parameter),
        lambda: sum(p.numel() for p in nn.LazyConv2d(3, 3).parameters()),
    ):
        with pytest.raises(EngineError, match="Call the model on a batch first"):
            use()
    assert (parameter.dtype, str(parameter.device), parameter.requires_grad) == (engine.float32, "cpu", True)


def test_materialize() -> None:
    for library in (engine, torch):
        parameter = library.nn.UninitializedParameter(dtype=library.float64)
        other = copy.deepcopy(parameter)
        parameter.materialize((2, 3))
        assert type(parameter) is library.nn.Parameter
        assert (tuple(parameter.shape), parameter.dtype, parameter.requires_grad) == ((2, 3), library.float64, True)
        assert repr(other) == "<UninitializedParameter>"
        buffer = library.nn.UninitializedBuffer()
        buffer.materialize((2,), dtype=library.int64)
        assert isinstance(buffer, library.nn.Buffer)
        assert (tuple(buffer.shape), buffer.dtype, buffer.requires_grad) == ((2,), library.int64, False)
        assert not library.nn.parameter.is_lazy(buffer)
    assert is_lazy(UninitializedParameter())
