"""The functions of `engine.special` give what PyTorch's give, and where those are imprecise, what mpmath gives."""

from __future__ import annotations

import numpy as np
import pytest

import engine
from engine.errors import AutogradError
from engine.torch_compat import special

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
    "gammainc": lambda lib, x: (lib.tensor([0.0, 0.5, 3.0, 30.0, 2.0, 2.0, 2.0, -1.0]), x),
    "gammaincc": lambda lib, x: (lib.tensor([0.0, 0.5, 3.0, 30.0, 2.0, 2.0, 2.0, -1.0]), x),
    "zeta": lambda lib, x: (lib.tensor([2.0, 1.5, 3.0, 1.0, 2.0, 0.5, 2.0]), x[:-1]),
    # For NaN PyTorch gives what it had computed before.
    **{name: lambda lib, x: (x[:-2], 4) for name in special.__all__ if "polynomial" in name},
    # Of infinity PyTorch's approximations give NaN.
    **{name: lambda lib, x: (x[:-1],) for name in ("i1", "modified_bessel_i0", "modified_bessel_i1")},
}


@pytest.mark.parametrize("name", special.__all__)
def test_special_functions_match_pytorch(name: str) -> None:
    ours, theirs = (
        getattr(lib.special, name)(*ARGUMENTS.get(name, lambda lib, x: (x,))(lib, lib.from_numpy(X.copy())))
        for lib in (engine, torch)
    )
    np.testing.assert_allclose(ours.numpy(), theirs.numpy(), rtol=1e-6, atol=1e-9)


@pytest.mark.parametrize("name", ["entr", "ndtr", "ndtri", "log_ndtr", "erfcx", "i0e", "i1", "i1e"])
def test_gradients_of_compositions(name: str) -> None:
    result = []
    for lib in (engine, torch):
        x = lib.from_numpy(X[1:3].copy()).requires_grad_()
        getattr(lib.special, name)(x).sum().backward()
        result.append(x.grad.numpy())
    np.testing.assert_allclose(*result, rtol=1e-6)


WIDE = [1e-9, 0.01, 0.3, 1.0, 2.5, 5.05, 8.0, 12.5, 24.9, 25.1, 49.0, 51.0, 300.0]
EXACT = {
    "airy_ai": lambda mp, x: mp.airyai(x),
    "bessel_j0": lambda mp, x: mp.besselj(0, x),
    "bessel_j1": lambda mp, x: mp.besselj(1, x),
    "bessel_y0": lambda mp, x: mp.bessely(0, x),
    "bessel_y1": lambda mp, x: mp.bessely(1, x),
    "erfcx": lambda mp, x: mp.exp(mp.mpf(x) ** 2) * mp.erfc(x),
    "i0e": lambda mp, x: mp.besseli(0, x) * mp.exp(-x),
    "i1e": lambda mp, x: mp.besseli(1, x) * mp.exp(-x),
    "scaled_modified_bessel_k0": lambda mp, x: mp.besselk(0, x) * mp.exp(x),
    "scaled_modified_bessel_k1": lambda mp, x: mp.besselk(1, x) * mp.exp(x),
    "log_ndtr": lambda mp, x: mp.log(mp.erfc(-x / mp.sqrt(2)) / 2),
    "gammainc": lambda mp, x: mp.gammainc(7.5, 0, x, regularized=True),
    "gammaincc": lambda mp, x: mp.gammainc(7.5, x, mp.inf, regularized=True),
    "zeta": lambda mp, x: mp.zeta(7.5, x),
}


@pytest.mark.parametrize("name", EXACT)
def test_special_functions_match_exact_values(name: str) -> None:
    mp = pytest.importorskip("mpmath").mp.clone()
    mp.dps = 40
    signs = (1, -1) if name in ("airy_ai", "bessel_j0", "bessel_j1", "log_ndtr") else (1,)
    for x in (sign * value for value in WIDE for sign in signs):
        of = engine.tensor([x], dtype=engine.float64)
        first = (engine.tensor([7.5], dtype=engine.float64),) if name in ("gammainc", "gammaincc", "zeta") else ()
        actual, expected = getattr(special, name)(*first, of).item(), float(EXACT[name](mp, mp.mpf(x)))
        assert actual == pytest.approx(expected, rel=2e-11, abs=1e-15), x


def test_orders_have_no_gradient() -> None:
    one = engine.ones(1, requires_grad=True)
    for name in ("gammainc", "gammaincc", "zeta"):
        with pytest.raises(AutogradError, match=r"no gradient for .* first argument"):
            getattr(special, name)(one * 2, one).sum().backward()
