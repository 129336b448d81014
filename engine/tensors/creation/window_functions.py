"""Windows of signal processing: weights that fade towards both ends."""

from __future__ import annotations

from typing import Any, Unpack

import numpy as np

from engine.dtypes import optional
from engine.errors import DTypeError, ShapeError
from engine.tensors.creation.creation_options import Options, made, sizes
from engine.tensors.tensor import Tensor


def bartlett_window(window_length: int, periodic: bool = True, **options: Unpack[Options]) -> Tensor:
    """A triangle from 0 to 1 to 0. A periodic window leaves out the last of one weight more."""
    return _window("bartlett_window", window_length, periodic, lambda x: 1 - np.abs(2 * x - 1), options)


def blackman_window(window_length: int, periodic: bool = True, **options: Unpack[Options]) -> Tensor:
    """Blackman's sum of three cosines; see `bartlett_window` for `periodic`."""
    return _window(
        "blackman_window",
        window_length,
        periodic,
        lambda x: np.maximum(0.42 - 0.5 * np.cos(2 * np.pi * x) + 0.08 * np.cos(4 * np.pi * x), 0),
        options,
    )


def hamming_window(
    window_length: int, periodic: bool = True, alpha: float = 0.54, beta: float = 0.46, **options: Unpack[Options]
) -> Tensor:
    """Hamming's cosine on a pedestal: alpha - beta cos 2πx; see `bartlett_window` for `periodic`."""
    return _window("hamming_window", window_length, periodic, lambda x: alpha - beta * np.cos(2 * np.pi * x), options)


def hann_window(window_length: int, periodic: bool = True, **options: Unpack[Options]) -> Tensor:
    """Hann's square of a sine; see `bartlett_window` for `periodic`."""
    return _window("hann_window", window_length, periodic, lambda x: np.sin(np.pi * x) ** 2, options)


def kaiser_window(window_length: int, periodic: bool = True, beta: float = 12.0, **options: Unpack[Options]) -> Tensor:
    """Kaiser's window: the Bessel function I0 of beta times a half circle; see `bartlett_window` for `periodic`."""
    return _window(
        "kaiser_window",
        window_length,
        periodic,
        lambda x: np.i0(beta * np.sqrt(np.maximum(1 - (2 * x - 1) ** 2, 0))) / np.i0(beta),
        options,
    )


def _window(name: str, length: int, periodic: bool, shape: Any, options: Options) -> Tensor:
    """`shape` maps places from 0 to 1 to weights."""
    if length < 0:
        raise ShapeError(f"{name}(): a window cannot have {length} weights")
    dtype = optional(name, options.get("dtype"))
    if dtype is not None and not dtype.is_floating_point:
        raise DTypeError(f"{name}(): weights have fractions; dtype must be a floating-point one, not {dtype.name}")
    if length == 1:
        values = np.ones(1)
    else:
        values = np.asarray(shape(np.arange(length) / max(length if periodic else length - 1, 1)), np.float64)
    return made(name, lambda xp, _, kind: xp.asarray(values.astype(kind)), sizes((length,)), None, options)
