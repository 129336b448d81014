"""torch.fft without transforms, whose results are complex: frequencies, and the order of spectra.

The transforms themselves give complex numbers, which tensors here do not hold; `numpy.fft` computes them on arrays.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Unpack

import numpy as np

from engine.dtypes import optional
from engine.errors import DTypeError, RangeError
from engine.ops.argument_names import as_public_function
from engine.tensors import Tensor
from engine.tensors.creation.creation_options import Options, made


def fftfreq(n: int, d: float = 1.0, **options: Unpack[Options]) -> Tensor:
    """Return the frequencies of a spectrum of `n` values, in cycles per unit of the sample spacing `d`."""
    return _made("fftfreq", np.fft.fftfreq(n, d) if n else np.zeros(0), options)


def rfftfreq(n: int, d: float = 1.0, **options: Unpack[Options]) -> Tensor:
    """Return the non-negative frequencies of `fftfreq`, those of the spectrum of a real signal."""
    if n < 1:
        raise RangeError(f"rfftfreq(): n must be at least 1, not {n}")
    return _made("rfftfreq", np.fft.rfftfreq(n, d), options)


def fftshift(input: Tensor, dim: int | Sequence[int] | None = None) -> Tensor:
    """Shift the zero frequency to the middle, along `dim` or all dimensions."""
    dims = _dims(input, dim)
    return input.roll([input.shape[one] // 2 for one in dims], dims)


def ifftshift(input: Tensor, dim: int | Sequence[int] | None = None) -> Tensor:
    """Undo `fftshift`: shift the zero frequency to the start."""
    dims = _dims(input, dim)
    return input.roll([(input.shape[one] + 1) // 2 for one in dims], dims)


def _made(name: str, values: Any, options: Options) -> Tensor:
    dtype = optional(name, options.get("dtype"))
    if dtype is not None and not dtype.is_floating_point:
        raise DTypeError(f"{name}(): frequencies have fractions; dtype must be a floating-point one, not {dtype.name}")
    return made(name, lambda xp, _, kind: xp.asarray(values.astype(kind)), values.shape, None, options)


def _dims(input: Tensor, dim: int | Sequence[int] | None) -> list[int]:
    return list(range(input.ndim)) if dim is None else [dim] if isinstance(dim, int) else list(dim)


__all__ = ["fftfreq", "fftshift", "ifftshift", "rfftfreq"]

globals().update({name: as_public_function(globals()[name]) for name in __all__})
