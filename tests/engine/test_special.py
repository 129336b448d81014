"""The functions of `engine.special` give what PyTorch's give."""

from __future__ import annotations

import numpy as np
import pytest

import engine
from engine import special

torch = pytest.importorskip("torch")

X = np.array([0.0, 0.25, 0.5, 1.0, -0.5, 2.5, np.nan, np.inf])
ARGUMENTS = {
    "log_softmax": lambda lib, x: (x, 0),
    "softmax": lambda lib, x: (x[:6], 0),
    "logsumexp": lambda lib, x: (x[:6], 0),
    "polygamma": lambda lib, x: (1, x[1:4]),
    "multigammaln": lambda lib, x: (x[:3] + 3, 2),
    "xlogy": lambda lib, x: (x, x.flip(0)),
    "xlog1py": lambda lib, x: (x, x.flip(0)),
    "gammaln": lambda lib, x: (x[1:4],),
    "digamma": lambda lib, x: (x[1:4],),
    "psi": lambda lib, x: (x[1:4],),
}


@pytest.mark.parametrize("name", special.__all__)
def test_as_pytorch(name: str) -> None:
    ours, theirs = (
        getattr(lib.special, name)(*ARGUMENTS.get(name, lambda lib, x: (x,))(lib, lib.from_numpy(X.copy())))
        for lib in (engine, torch)
    )
    np.testing.assert_allclose(ours.numpy(), theirs.numpy(), rtol=1e-6, atol=1e-9)


@pytest.mark.parametrize("name", ["entr", "ndtr", "ndtri"])
def test_gradients_of_compositions(name: str) -> None:
    found = []
    for lib in (engine, torch):
        x = lib.from_numpy(X[1:3].copy()).requires_grad_()
        getattr(lib.special, name)(x).sum().backward()
        found.append(x.grad.numpy())
    np.testing.assert_allclose(*found, rtol=1e-6)
