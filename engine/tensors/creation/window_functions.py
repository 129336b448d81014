"""Window functions for signal processing."""

from __future__ import annotations

from typing import Any, Unpack

import numpy as np

from engine.dtypes import as_optional_dtype
from engine.errors import DTypeError, ShapeError
from engine.tensors.creation.creation_options import CreationOptions, create_tensor, sizes
from engine.tensors.tensor import Tensor


def bartlett_window(window_length: int, periodic: bool = True, **options: Unpack[CreationOptions]) -> Tensor:
    """Return the Bartlett (triangular) window. `periodic` drops the last value of a window one longer."""
    return _window("bartlett_window", window_length, periodic, lambda x: 1 - np.abs(2 * x - 1), options)


def blackman_window(window_length: int, periodic: bool = True, **options: Unpack[CreationOptions]) -> Tensor:
    """Return the Blackman window. `periodic`: see `bartlett_window`."""
    return _window(
        "blackman_window",
        window_length,
        periodic,
        lambda x: np.maximum(0.42 - 0.5 * np.cos(2 * np.pi * x) + 0.08 * np.cos(4 * np.pi * x), 0),
        options,
    )


def hamming_window(
    window_length: int,
    periodic: bool = True,
    alpha: float = 0.54,
    beta: float = 0.46,
    **options: Unpack[CreationOptions],
) -> Tensor:
    """Return the Hamming window, alpha - beta cos 2πx. `periodic`: see `bartlett_window`."""
    return _window("hamming_window", window_length, periodic, lambda x: alpha - beta * np.cos(2 * np.pi * x), options)


def hann_window(window_length: int, periodic: bool = True, **options: Unpack[CreationOptions]) -> Tensor:
    """Return the Hann window. `periodic`: see `bartlett_window`."""
    return _window("hann_window", window_length, periodic, lambda x: np.sin(np.pi * x) ** 2, options)


def kaiser_window(
    window_length: int, periodic: bool = True, beta: float = 12.0, **options: Unpack[CreationOptions]
) -> Tensor:
    """Return the Kaiser window with shape parameter `beta`. `periodic`: see `bartlett_window`."""
    return _window(
        "kaiser_window",
        window_length,
        periodic,
        lambda x: np.i0(beta * np.sqrt(np.maximum(1 - (2 * x - 1) ** 2, 0))) / np.i0(beta),
        options,
    )


def _window(name: str, length: int, periodic: bool, shape: Any, options: CreationOptions) -> Tensor:
    """Return a window; `shape` maps positions from 0 to 1 to values."""
    if length < 0:
        raise ShapeError(f"{name}(): window_length cannot be negative: {length}")
    dtype = as_optional_dtype(name, options.get("dtype"))
    if dtype is not None and not dtype.is_floating_point:
        raise DTypeError(f"{name}(): dtype must be floating-point, not {dtype.name}")
    if length == 1:
        values = np.ones(1)
    else:
        values = np.asarray(shape(np.arange(length) / max(length if periodic else length - 1, 1)), np.float64)
    return create_tensor(name, lambda xp, _, kind: xp.asarray(values.astype(kind)), sizes((length,)), None, options)
