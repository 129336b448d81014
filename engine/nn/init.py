"""Filling parameters with their first values. Every function writes in place, records nothing, and returns the tensor.

Values are drawn on the CPU in the tensor's precision, so a seed gives the same model on every device. A tensor on the
meta device is left as it is.
"""

from __future__ import annotations

import functools
import math
import warnings
from collections.abc import Callable
from typing import Any, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from engine.errors import ShapeError
from engine.modes import no_grad
from engine.random import Generator, default_generator
from engine.shape import format_shape
from engine.tensors import Tensor
from engine.tensors.creation import from_numpy

Nonlinearity: TypeAlias = Literal[
    "linear",
    "conv1d",
    "conv2d",
    "conv3d",
    "conv_transpose1d",
    "conv_transpose2d",
    "conv_transpose3d",
    "sigmoid",
    "tanh",
    "relu",
    "leaky_relu",
    "selu",
]
FanMode: TypeAlias = Literal["fan_in", "fan_out"]

_CONVOLUTIONS = {f"conv{kind}{d}d" for kind in ("", "_transpose") for d in (1, 2, 3)}
_GAINS = {"tanh": 5 / 3, "relu": math.sqrt(2), "selu": 3 / 4}


def calculate_gain(nonlinearity: Nonlinearity, param: float | None = None) -> float:
    """The factor by which an activation shrinks the standard deviation; `param` is leaky_relu's slope."""
    if nonlinearity in ("linear", "sigmoid") or nonlinearity in _CONVOLUTIONS:
        return 1.0
    if nonlinearity == "leaky_relu":
        slope = 0.01 if param is None else param
        return math.sqrt(2 / (1 + slope**2))
    if nonlinearity in _GAINS:
        return _GAINS[nonlinearity]
    raise ValueError(
        f"unknown nonlinearity {nonlinearity!r}; known: linear, conv1d … conv_transpose3d, sigmoid, tanh, relu, "
        "leaky_relu, selu"
    )


# -- plain distributions ------------------------------------------------------------------------


def uniform_(tensor: Tensor, a: float = 0.0, b: float = 1.0, generator: Generator | None = None) -> Tensor:
    """Equally likely numbers from `a` to `b`."""
    return tensor if tensor.is_meta else _write(tensor, _draws(generator).uniform(tensor.shape, tensor.dtype, a, b))


def normal_(tensor: Tensor, mean: float = 0.0, std: float = 1.0, generator: Generator | None = None) -> Tensor:
    """Normal numbers."""
    return tensor if tensor.is_meta else _write(tensor, _draws(generator).normal(tensor.shape, tensor.dtype, mean, std))


def trunc_normal_(
    tensor: Tensor,
    mean: float = 0.0,
    std: float = 1.0,
    a: float = -2.0,
    b: float = 2.0,
    generator: Generator | None = None,
) -> Tensor:
    """Normal numbers, those outside [a, b] drawn again."""
    if mean < a - 2 * std or mean > b + 2 * std:
        warnings.warn(
            f"the mean {mean} lies more than two standard deviations outside [{a}, {b}]: few numbers of that "
            "distribution are there. Move the bounds or the mean.",
            stacklevel=2,
        )
    if tensor.is_meta:
        return tensor
    draws, count = _draws(generator), math.prod(tensor.shape)
    below = 0.5 * (1 + math.erf((a - mean) / (std * math.sqrt(2))))
    within = 0.5 * (1 + math.erf((b - mean) / (std * math.sqrt(2)))) - below
    values = np.empty(count, tensor.dtype.numpy)
    open_places = np.arange(count)
    while len(open_places):
        candidates, accepted = _truncated_candidates(
            draws, tensor, len(open_places), mean, std, a, b, plenty=within > 0.3
        )
        values[open_places[accepted]] = candidates[accepted]
        open_places = open_places[~accepted]
    return _write(tensor, values.reshape(tensor.shape))


def constant_(tensor: Tensor, val: float) -> Tensor:
    """`val` everywhere."""
    with no_grad():
        return tensor.fill_(val)


def ones_(tensor: Tensor) -> Tensor:
    return constant_(tensor, 1.0)


def zeros_(tensor: Tensor) -> Tensor:
    return constant_(tensor, 0.0)


def eye_(tensor: Tensor) -> Tensor:
    """The identity matrix, cut or padded to the shape."""
    if tensor.ndim != 2:
        raise ShapeError(f"eye_ needs a matrix, but the tensor is {format_shape(tensor.shape)}")
    return tensor if tensor.is_meta else _write(tensor, np.eye(*tensor.shape, dtype=tensor.dtype.numpy))


def dirac_(tensor: Tensor, groups: int = 1) -> Tensor:
    """A convolution's weight that passes as many channels on as there are, in each group."""
    if tensor.ndim not in (3, 4, 5):
        raise ShapeError(f"dirac_ needs a weight of 3 to 5 dimensions, but the tensor is {format_shape(tensor.shape)}")
    if tensor.shape[0] % groups:
        raise ValueError(f"dirac_: {tensor.shape[0]} outputs do not divide into {groups} groups")
    if tensor.is_meta:
        return tensor
    values = np.zeros(tensor.shape, np.float64)
    each = tensor.shape[0] // groups
    middle = tuple(size // 2 for size in tensor.shape[2:])
    for group in range(groups):
        for channel in range(min(each, tensor.shape[1])):
            values[(group * each + channel, channel, *middle)] = 1
    return _write(tensor, values.astype(tensor.dtype.numpy))


def sparse_(tensor: Tensor, sparsity: float, std: float = 0.01, generator: Generator | None = None) -> Tensor:
    """A matrix of normal numbers, with a share of `sparsity` zeros in each column (Martens, ICML 2010)."""
    if tensor.ndim != 2:
        raise ShapeError(f"sparse_ needs a matrix, but the tensor is {format_shape(tensor.shape)}")
    normal_(tensor, 0.0, std, generator)
    if tensor.is_meta:
        return tensor
    rows, columns = tensor.shape
    keep = np.ones((rows, columns), tensor.dtype.numpy)
    for column in range(columns):
        keep[_draws(generator).permutation(rows)[: math.ceil(sparsity * rows)], column] = 0
    with no_grad():
        return tensor.mul_(from_numpy(keep).to(device=tensor.device))


# -- by the number of connections ---------------------------------------------------------------


def xavier_uniform_(tensor: Tensor, gain: float = 1.0, generator: Generator | None = None) -> Tensor:
    """Uniform with the variance ``2 gain² / (fan_in + fan_out)`` (Glorot and Bengio, AISTATS 2010)."""
    bound = gain * math.sqrt(6 / sum(fans(tensor)))
    return uniform_(tensor, -bound, bound, generator)


def xavier_normal_(tensor: Tensor, gain: float = 1.0, generator: Generator | None = None) -> Tensor:
    """Normal with the variance ``2 gain² / (fan_in + fan_out)`` (Glorot and Bengio, AISTATS 2010)."""
    return normal_(tensor, 0.0, gain * math.sqrt(2 / sum(fans(tensor))), generator)


def kaiming_uniform_(
    tensor: Tensor,
    a: float = 0.0,
    mode: FanMode = "fan_in",
    nonlinearity: Nonlinearity = "leaky_relu",
    generator: Generator | None = None,
) -> Tensor:
    """Uniform with the variance ``gain² / fan`` (He et al., arXiv 1502.01852); `a` is leaky_relu's slope."""
    if 0 in tensor.shape:
        return tensor
    bound = math.sqrt(3) * calculate_gain(nonlinearity, a) / math.sqrt(_fan(tensor, mode))
    return uniform_(tensor, -bound, bound, generator)


def kaiming_normal_(
    tensor: Tensor,
    a: float = 0.0,
    mode: FanMode = "fan_in",
    nonlinearity: Nonlinearity = "leaky_relu",
    generator: Generator | None = None,
) -> Tensor:
    """Normal with the variance ``gain² / fan`` (He et al., arXiv 1502.01852); `a` is leaky_relu's slope."""
    if 0 in tensor.shape:
        return tensor
    return normal_(tensor, 0.0, calculate_gain(nonlinearity, a) / math.sqrt(_fan(tensor, mode)), generator)


def orthogonal_(tensor: Tensor, gain: float = 1.0, generator: Generator | None = None) -> Tensor:
    """Orthonormal rows or columns, whichever are fewer, times `gain` (Saxe et al., arXiv 1312.6120)."""
    if tensor.ndim < 2:
        raise ShapeError(f"orthogonal_ needs two dimensions or more, but the tensor is {format_shape(tensor.shape)}")
    if tensor.is_meta or 0 in tensor.shape:
        return tensor
    rows = tensor.shape[0]
    matrix = _draws(generator).normal((rows, math.prod(tensor.shape[1:])), tensor.dtype).astype(np.float64)
    tall = matrix if matrix.shape[0] >= matrix.shape[1] else matrix.T
    q, r = np.linalg.qr(tall)
    q *= np.sign(np.diagonal(r))  # without it the matrices are not equally likely (Mezzadri, math-ph/0609050)
    q = q if tall is matrix else q.T
    return _write(tensor, (gain * q).astype(tensor.dtype.numpy).reshape(tensor.shape))


def fans(tensor: Tensor) -> tuple[int, int]:
    """(fan_in, fan_out): how many numbers feed an output of this weight, and how many outputs an input feeds."""
    if tensor.ndim < 2:
        raise ShapeError(
            "fan in and fan out need a weight of two dimensions or more, "
            f"but the tensor is {format_shape(tensor.shape)}. Use uniform_ or normal_ for it."
        )
    field = math.prod(tensor.shape[2:])
    return tensor.shape[1] * field, tensor.shape[0] * field


_calculate_fan_in_and_fan_out = fans
"""The name under which programs reach into PyTorch for it."""


def _fan(tensor: Tensor, mode: FanMode) -> int:
    if mode not in ("fan_in", "fan_out"):
        raise ValueError(f"mode must be 'fan_in' or 'fan_out', not {mode!r}")
    return fans(tensor)[mode == "fan_out"]


def _draws(generator: Generator | None) -> Generator:
    return default_generator if generator is None else generator


def _write(tensor: Tensor, values: NDArray[Any]) -> Tensor:
    with no_grad():
        return tensor.copy_(from_numpy(values).to(device=tensor.device))


def _truncated_candidates(
    draws: Generator, tensor: Tensor, count: int, mean: float, std: float, a: float, b: float, *, plenty: bool
) -> tuple[NDArray[Any], NDArray[np.bool_]]:
    """Numbers, and which of them to take: normal ones inside the bounds, or uniform ones by their density.

    The second way is for bounds that few normal numbers would meet.
    """
    if plenty:
        candidates = draws.normal(count, tensor.dtype, mean, std)
        return candidates, (candidates >= a) & (candidates <= b)
    candidates = draws.uniform(count, tensor.dtype, a, b)
    peak = max(a, min(mean, b))
    log_density = 0.5 * ((peak - mean) / std) ** 2 - 0.5 * ((candidates.astype(np.float64) - mean) / std) ** 2
    return candidates, draws.uniform(count, tensor.dtype) < np.exp(log_density)


# -- PyTorch's old names ------------------------------------------------------------------------


def _old_name(function: Callable[..., Tensor]) -> Callable[..., Tensor]:
    """`function` under its name without the underscore, with a warning."""
    new = function.__name__

    @functools.wraps(function)
    def call(*args: Any, **kwargs: Any) -> Tensor:
        warnings.warn(f"nn.init.{new[:-1]} is the old name of nn.init.{new}", FutureWarning, stacklevel=2)
        return function(*args, **kwargs)

    return call


constant = _old_name(constant_)
dirac = _old_name(dirac_)
eye = _old_name(eye_)
kaiming_normal = _old_name(kaiming_normal_)
kaiming_uniform = _old_name(kaiming_uniform_)
normal = _old_name(normal_)
orthogonal = _old_name(orthogonal_)
sparse = _old_name(sparse_)
uniform = _old_name(uniform_)
xavier_normal = _old_name(xavier_normal_)
xavier_uniform = _old_name(xavier_uniform_)
