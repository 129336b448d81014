"""The parts of torch.fft with real results: frequencies, and the order of spectra.

The transforms are missing, because there are no complex dtypes. Use `numpy.fft` on arrays.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Unpack

import numpy as np

from engine.dtypes import as_optional_dtype
from engine.errors import DTypeError, RangeError
from engine.ops.argument_names import as_public_function
from engine.tensors import Tensor
from engine.tensors.creation.creation_options import CreationOptions, create_tensor


def fftfreq(n: int, d: float = 1.0, **options: Unpack[CreationOptions]) -> Tensor:
    """Return the frequencies of a spectrum of `n` values, in cycles per unit of the sample spacing `d`."""
    return _create("fftfreq", np.fft.fftfreq(n, d) if n else np.zeros(0), options)


def rfftfreq(n: int, d: float = 1.0, **options: Unpack[CreationOptions]) -> Tensor:
    """Return the non-negative frequencies of `fftfreq`, those of the spectrum of a real signal."""
    if n < 1:
        raise RangeError(f"rfftfreq(): n must be at least 1, not {n}")
    return _create("rfftfreq", np.fft.rfftfreq(n, d), options)


def fftshift(input: Tensor, dim: int | Sequence[int] | None = None) -> Tensor:
    """Shift the zero frequency to the middle, along `dim` or all dimensions."""
    dims = _dims(input, dim)
    return input.roll([input.shape[one] // 2 for one in dims], dims)


def ifftshift(input: Tensor, dim: int | Sequence[int] | None = None) -> Tensor:
    """Undo `fftshift`: shift the zero frequency to the start."""
    dims = _dims(input, dim)
    return input.roll([(input.shape[one] + 1) // 2 for one in dims], dims)


def _create(name: str, values: Any, options: CreationOptions) -> Tensor:
    dtype = as_optional_dtype(name, options.get("dtype"))
    if dtype is not None and not dtype.is_floating_point:
        raise DTypeError(f"{name}(): dtype must be a floating-point dtype, not {dtype.name}")
    return create_tensor(name, lambda xp, _, kind: xp.asarray(values.astype(kind)), values.shape, None, options)


def _dims(input: Tensor, dim: int | Sequence[int] | None) -> list[int]:
    return list(range(input.ndim)) if dim is None else [dim] if isinstance(dim, int) else list(dim)


__all__ = ["fftfreq", "fftshift", "ifftshift", "rfftfreq"]

globals().update({name: as_public_function(globals()[name]) for name in __all__})
