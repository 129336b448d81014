"""Window functions of M samples, with the names of torch.signal.windows.

`sym=True` gives a symmetric window, for filter design. `sym=False` gives a periodic window, for spectral analysis: a
symmetric window of M + 1 samples without the last. `dtype` is float32 or float64.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, Unpack

import numpy as np

from engine.dtypes import as_optional_dtype, float32, float64, get_default_dtype
from engine.errors import DTypeError, RangeError
from engine.tensors import Tensor
from engine.tensors.creation.creation_options import CreationOptions, create_tensor


def bartlett(M: int, *, sym: bool = True, **options: Unpack[CreationOptions]) -> Tensor:
    """Bartlett (triangular) window, which is 0 at both ends."""
    return _window("bartlett", M, lambda n: 1 - np.abs(2 * n / _span(M, sym) - 1) if M != 1 else n + 1, options)


def blackman(M: int, *, sym: bool = True, **options: Unpack[CreationOptions]) -> Tensor:
    """Blackman window, a sum of three cosines."""
    return general_cosine(M, a=[0.42, 0.5, 0.08], sym=sym, **options)


def cosine(M: int, *, sym: bool = True, **options: Unpack[CreationOptions]) -> Tensor:
    """Cosine window: half a period of a sine, without its zeros."""
    size = M if sym or M <= 1 else M + 1
    return _window("cosine", M, lambda n: np.sin(np.pi * (n + 0.5) / size), options)


def exponential(
    M: int, *, center: float | None = None, tau: float = 1.0, sym: bool = True, **options: Unpack[CreationOptions]
) -> Tensor:
    """Exponential window: ``exp(-|n - center| / tau)``.

    Args:
        M: number of samples
        center: position of the maximum (default: the center); periodic windows only
        tau: decay constant: distance at which the window falls to 1/e
        sym: symmetric instead of periodic window
    """
    if tau <= 0:
        raise RangeError(f"exponential(): tau must be > 0, not {tau}")
    if sym and center is not None:
        raise RangeError(
            f"exponential(): center={center} requires a periodic window.",
            in_code="Set sym=False.",
        )
    middle = _span(M, sym) / 2 if center is None else center
    return _window("exponential", M, lambda n: np.exp(-np.abs(n - middle) / tau), options)


def gaussian(M: int, *, std: float = 1.0, sym: bool = True, **options: Unpack[CreationOptions]) -> Tensor:
    """Gaussian window with standard deviation `std`, scaled to 1 in the center."""
    if std <= 0:
        raise RangeError(f"gaussian(): std must be > 0, not {std}")
    return _window("gaussian", M, lambda n: np.exp(-(((n - _span(M, sym) / 2) / std) ** 2) / 2), options)


def general_cosine(M: int, *, a: Iterable[float], sym: bool = True, **options: Unpack[CreationOptions]) -> Tensor:
    """Generalized cosine window: ``a[0] - a[1] cos x + a[2] cos 2x - …`` over one period of x."""
    if not isinstance(a, Iterable):
        raise TypeError(f"general_cosine(): a must be a list of numbers, not {a!r}")
    factors = [float(factor) for factor in a]
    if not factors:
        raise RangeError("general_cosine(): a must not be empty. Pass at least one coefficient.")

    def weights(n: Any) -> Any:
        x = 2 * np.pi * n / _span(M, sym)
        return sum((-1) ** order * factor * np.cos(order * x) for order, factor in enumerate(factors))

    return _window("general_cosine", M, weights if M != 1 else lambda n: n + 1, options)


def general_hamming(M: int, *, alpha: float = 0.54, sym: bool = True, **options: Unpack[CreationOptions]) -> Tensor:
    """Generalized Hamming window: ``alpha - (1 - alpha) cos x`` over one period of x."""
    return general_cosine(M, a=[alpha, 1 - alpha], sym=sym, **options)


def hamming(M: int, *, sym: bool = True, **options: Unpack[CreationOptions]) -> Tensor:
    """Hamming window: `general_hamming` with alpha 0.54."""
    return general_hamming(M, sym=sym, **options)


def hann(M: int, *, sym: bool = True, **options: Unpack[CreationOptions]) -> Tensor:
    """Hann window: `general_hamming` with alpha 0.5."""
    return general_hamming(M, alpha=0.5, sym=sym, **options)


def kaiser(M: int, *, beta: float = 12.0, sym: bool = True, **options: Unpack[CreationOptions]) -> Tensor:
    """Kaiser window with shape parameter `beta`; larger values give a narrower window."""
    if beta < 0:
        raise RangeError(f"kaiser(): beta must be ≥ 0, not {beta}")

    def weights(n: Any) -> Any:
        circle = np.maximum(1 - (2 * n / _span(M, sym) - 1) ** 2, 0)
        return np.i0(beta * np.sqrt(circle)) / np.i0(beta)

    return _window("kaiser", M, weights if M != 1 else lambda n: n + 1, options)


def nuttall(M: int, *, sym: bool = True, **options: Unpack[CreationOptions]) -> Tensor:
    """Nuttall window, a sum of four cosines."""
    return general_cosine(M, a=[0.3635819, 0.4891775, 0.1365995, 0.0106411], sym=sym, **options)


def _span(M: int, sym: bool) -> int:
    """Number of sample intervals in one period of the window."""
    return M - 1 if sym or M == 1 else M


def _window(name: str, M: int, weights: Callable[[Any], Any], options: CreationOptions) -> Tensor:
    """Window whose values are `weights` of the indices 0 to M - 1."""
    if M < 0:
        raise RangeError(f"{name}(): M must be ≥ 0, not {M}")
    dtype = as_optional_dtype(name, options.get("dtype")) or get_default_dtype()
    if dtype not in (float32, float64):
        raise DTypeError(f"{name}(): dtype must be float32 or float64, not {dtype.name}")
    values = np.asarray(weights(np.arange(M, dtype=np.float64)), np.float64)
    return create_tensor(name, lambda xp, _, kind: xp.asarray(values.astype(kind)), (M,), None, options)


__all__ = [
    "bartlett",
    "blackman",
    "cosine",
    "exponential",
    "gaussian",
    "general_cosine",
    "general_hamming",
    "hamming",
    "hann",
    "kaiser",
    "nuttall",
]
