"""Derivatives as functions, against PyTorch's."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import engine
from engine import func, nn
from engine.errors import AutogradError

torch = pytest.importorskip("torch")

pytestmark = pytest.mark.filterwarnings("ignore:`torch.jit")  # PyTorch's own, on its first forward derivative

X, Y = np.array([0.5, -1.0, 2.0]), np.array([[1.0, 2.0, 3.0], [0.5, 0.25, -1.0]])
CASES: dict[str, Callable[[Any, Any, Any], Any]] = {
    "grad": lambda lib, x, y: lib.func.grad(lambda x: x.sin().sum())(x),
    "grad of grad": lambda lib, x, y: lib.func.grad(lib.func.grad(lambda x: (x**4).sum()))(x[0]),
    "grad of two": lambda lib, x, y: lib.func.grad(lambda x, y: (y @ x).sum(), argnums=(0, 1))(x, y),
    "grad of the last": lambda lib, x, y: lib.func.grad(lambda x, y: (y @ x).sum(), argnums=-1)(x, y),
    "grad with more": lambda lib, x, y: lib.func.grad(lambda x: ((x * x).sum(), x * 2), has_aux=True)(x),
    "unused": lambda lib, x, y: lib.func.grad(lambda x, y: y.sum(), argnums=(0, 1))(x, y),
    "both": lambda lib, x, y: lib.func.grad_and_value(lambda x: x.exp().sum())(x),
    "both with more": lambda lib, x, y: lib.func.grad_and_value(lambda x: (x.exp().sum(), x), has_aux=True)(x),
    "of a dict": lambda lib, x, y: lib.func.grad(lambda p, z: (p["w"] @ p["b"] * z[0]).sum())({"w": y, "b": x}, [x[0]]),
    "jacrev": lambda lib, x, y: lib.func.jacrev(lambda x: y @ x)(x),
    "jacrev of two": lambda lib, x, y: lib.func.jacrev(lambda x, y: (y @ x, x.sum()), argnums=(0, 1))(x, y),
    "jacfwd": lambda lib, x, y: lib.func.jacfwd(lambda x: x.tanh())(x),
    "hessian": lambda lib, x, y: lib.func.hessian(lambda x: (x**3).sum() * x[0])(x),
    "vjp": lambda lib, x, y: lib.func.vjp(lambda x, y: (y @ x).tanh(), x, y)[1](y[:, 0]),
    "vjp of a dict": lambda lib, x, y: lib.func.vjp(lambda p: {"out": p["x"] * 2}, {"x": x})[1]({"out": x}),
    "jvp with more": lambda lib, x, y: lib.func.jvp(lambda x: (x.tanh(), x), (x,), (x,), has_aux=True),
    "jvp": lambda lib, x, y: lib.func.jvp(lambda x: (y @ x).tanh(), (x,), (x,)),
}  # fmt: skip


def plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: plain(item) for key, item in value.items()}
    return [plain(item) for item in value] if isinstance(value, (tuple, list)) else value.numpy()


@pytest.mark.parametrize("case", CASES)
def test_as_pytorch(case: str) -> None:
    ours, theirs = (CASES[case](lib, lib.from_numpy(X.copy()), lib.from_numpy(Y.copy())) for lib in (engine, torch))
    same(plain(ours), plain(theirs))


def same(ours: Any, theirs: Any) -> None:
    assert type(ours) is type(theirs)
    if isinstance(ours, dict):
        assert list(ours) == list(theirs)
        ours, theirs = list(ours.values()), list(theirs.values())
    if isinstance(ours, list):
        assert len(ours) == len(theirs)
        for mine, other in zip(ours, theirs, strict=True):
            same(mine, other)
    else:
        assert ours.dtype == theirs.dtype
        np.testing.assert_allclose(ours, theirs, rtol=1e-9)


def test_a_module_with_other_weights() -> None:
    module = nn.Sequential(nn.Linear(3, 2), nn.BatchNorm1d(2))
    x, before = engine.randn(4, 3), {name: tensor.clone() for name, tensor in module.state_dict().items()}
    parameters = {name: engine.zeros_like(tensor) for name, tensor in module.named_parameters()}
    assert func.functional_call(module, parameters, x).abs().sum().item() == 0
    for name, tensor in module.named_parameters():
        assert tensor.tolist() == before[name].tolist()

    def loss(parameters: Any, x: Any) -> Any:
        return func.functional_call(module, (parameters, {}), (x,)).pow(2).sum()

    given = dict(module.named_parameters())
    found = func.grad(loss)({name: tensor.detach() for name, tensor in given.items()}, x)
    module(x).pow(2).sum().backward()
    for name, tensor in given.items():
        assert tensor.grad is not None
        np.testing.assert_allclose(found[name].numpy(), tensor.grad.numpy(), rtol=1e-6)


def test_tied_weights() -> None:
    module = nn.Sequential(nn.Linear(2, 2), nn.Linear(2, 2))
    module[1].weight = module[0].weight
    zeros, x = {"0.weight": engine.zeros(2, 2)}, engine.ones(1, 2)
    assert func.functional_call(module, zeros, x).tolist() == module[1].bias.unsqueeze(0).tolist()
    assert (
        func.functional_call(module, zeros, x, tie_weights=False).tolist() == module[1](module[0].bias[None]).tolist()
    )


def test_refusals() -> None:
    with pytest.raises(AutogradError, match=r"one element, not a tensor of shape \[2\]"):
        func.grad(lambda x: x * 2)(engine.ones(2))
    with pytest.raises(AutogradError, match="argnums=1, but the function got 1"):
        func.grad(lambda x: x.sum(), argnums=1)(engine.ones(2))
    with pytest.raises(KeyError, match="has no"):
        func.functional_call(nn.Linear(1, 1), {"wight": engine.ones(1, 1)}, engine.ones(1))
    with pytest.raises(KeyError, match="missing"):
        func.functional_call(nn.Linear(1, 1), {}, engine.ones(1), strict=True)
    with pytest.raises(AutogradError, match="shapes of the function's results"):
        func.vjp(lambda x: x * 2, engine.ones(2))[1](engine.ones(3))
