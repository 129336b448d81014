"""Parameter initialization. Every function writes in place without autograd and returns the tensor.

Random numbers are generated on the CPU in the tensor's precision, so a seed gives the same model on every device.
Tensors on the meta device are not changed.
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
from engine.system.blas_threads import ONE_THREAD
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
    """Recommended gain for an activation function; `param` is the negative slope of leaky_relu."""
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


# -- constants and distributions ------------------------------------------------------------------------


def uniform_(tensor: Tensor, a: float = 0.0, b: float = 1.0, generator: Generator | None = None) -> Tensor:
    """Fill with the uniform distribution from `a` to `b`."""
    return (
        tensor
        if tensor.is_meta
        else _write(tensor, _generator_or_default(generator).uniform(tensor.shape, tensor.dtype, a, b))
    )


def normal_(tensor: Tensor, mean: float = 0.0, std: float = 1.0, generator: Generator | None = None) -> Tensor:
    """Fill with the normal distribution."""
    return (
        tensor
        if tensor.is_meta
        else _write(tensor, _generator_or_default(generator).normal(tensor.shape, tensor.dtype, mean, std))
    )


def trunc_normal_(
    tensor: Tensor,
    mean: float = 0.0,
    std: float = 1.0,
    a: float = -2.0,
    b: float = 2.0,
    generator: Generator | None = None,
) -> Tensor:
    """Fill with the normal distribution, truncated to [a, b]."""
    if mean < a - 2 * std or mean > b + 2 * std:
        warnings.warn(
            f"the mean {mean} is more than two standard deviations outside [{a}, {b}], so few samples fall inside. "
            "Change the bounds or the mean.",
            stacklevel=2,
        )
    if tensor.is_meta:
        return tensor
    draws, count = _generator_or_default(generator), math.prod(tensor.shape)
    below_a = 0.5 * (1 + math.erf((a - mean) / (std * math.sqrt(2))))
    probability = 0.5 * (1 + math.erf((b - mean) / (std * math.sqrt(2)))) - below_a
    values = np.empty(count, tensor.dtype.numpy)
    unset = np.arange(count)
    while len(unset):
        candidates, accepted = _truncated_candidates(
            draws, tensor, len(unset), mean, std, a, b, from_normal=probability > 0.3
        )
        values[unset[accepted]] = candidates[accepted]
        unset = unset[~accepted]
    return _write(tensor, values.reshape(tensor.shape))


def constant_(tensor: Tensor, val: float) -> Tensor:
    """Fill with `val`."""
    with no_grad():
        return tensor.fill_(val)


def ones_(tensor: Tensor) -> Tensor:
    return constant_(tensor, 1.0)


def zeros_(tensor: Tensor) -> Tensor:
    return constant_(tensor, 0.0)


def eye_(tensor: Tensor) -> Tensor:
    """Fill with the identity matrix."""
    if tensor.ndim != 2:
        raise ShapeError(f"eye_ requires a matrix, but the tensor is {format_shape(tensor.shape)}")
    return tensor if tensor.is_meta else _write(tensor, np.eye(*tensor.shape, dtype=tensor.dtype.numpy))


def dirac_(tensor: Tensor, groups: int = 1) -> Tensor:
    """Fill a convolution weight so that it passes input channels on unchanged, per group."""
    if tensor.ndim not in (3, 4, 5):
        raise ShapeError(f"dirac_ requires a weight of 3 to 5 dimensions, not {format_shape(tensor.shape)}")
    if tensor.shape[0] % groups:
        raise ValueError(f"dirac_: {tensor.shape[0]} output channels are not divisible by groups={groups}")
    if tensor.is_meta:
        return tensor
    values = np.zeros(tensor.shape, np.float64)
    channels_per_group = tensor.shape[0] // groups
    middle = tuple(size // 2 for size in tensor.shape[2:])
    for group in range(groups):
        for channel in range(min(channels_per_group, tensor.shape[1])):
            values[(group * channels_per_group + channel, channel, *middle)] = 1
    return _write(tensor, values.astype(tensor.dtype.numpy))


def sparse_(tensor: Tensor, sparsity: float, std: float = 0.01, generator: Generator | None = None) -> Tensor:
    """Fill a matrix with normal values and a fraction `sparsity` of zeros per column (Martens, ICML 2010)."""
    if tensor.ndim != 2:
        raise ShapeError(f"sparse_ requires a matrix, but the tensor is {format_shape(tensor.shape)}")
    normal_(tensor, 0.0, std, generator)
    if tensor.is_meta:
        return tensor
    rows, columns = tensor.shape
    keep = np.ones((rows, columns), tensor.dtype.numpy)
    for column in range(columns):
        keep[_generator_or_default(generator).permutation(rows)[: math.ceil(sparsity * rows)], column] = 0
    with no_grad():
        return tensor.mul_(from_numpy(keep).to(device=tensor.device))


# -- by fan-in and fan-out ---------------------------------------------------------------


def xavier_uniform_(tensor: Tensor, gain: float = 1.0, generator: Generator | None = None) -> Tensor:
    """Fill uniformly with variance ``2 gain² / (fan_in + fan_out)`` (Glorot and Bengio, AISTATS 2010)."""
    bound = gain * math.sqrt(6 / sum(fans(tensor)))
    return uniform_(tensor, -bound, bound, generator)


def xavier_normal_(tensor: Tensor, gain: float = 1.0, generator: Generator | None = None) -> Tensor:
    """Fill normally with variance ``2 gain² / (fan_in + fan_out)`` (Glorot and Bengio, AISTATS 2010)."""
    return normal_(tensor, 0.0, gain * math.sqrt(2 / sum(fans(tensor))), generator)


def kaiming_uniform_(
    tensor: Tensor,
    a: float = 0.0,
    mode: FanMode = "fan_in",
    nonlinearity: Nonlinearity = "leaky_relu",
    generator: Generator | None = None,
) -> Tensor:
    """Fill uniformly with variance ``gain² / fan`` (He et al., arXiv 1502.01852); `a` is the slope of leaky_relu."""
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
    """Fill normally with variance ``gain² / fan`` (He et al., arXiv 1502.01852); `a` is the slope of leaky_relu."""
    if 0 in tensor.shape:
        return tensor
    return normal_(tensor, 0.0, calculate_gain(nonlinearity, a) / math.sqrt(_fan(tensor, mode)), generator)


def orthogonal_(tensor: Tensor, gain: float = 1.0, generator: Generator | None = None) -> Tensor:
    """Fill with a (semi-)orthogonal matrix times `gain` (Saxe et al., arXiv 1312.6120)."""
    if tensor.ndim < 2:
        raise ShapeError(f"orthogonal_ requires two dimensions or more, but the tensor is {format_shape(tensor.shape)}")
    if tensor.is_meta or 0 in tensor.shape:
        return tensor
    rows = tensor.shape[0]
    matrix = (
        _generator_or_default(generator).normal((rows, math.prod(tensor.shape[1:])), tensor.dtype).astype(np.float64)
    )
    tall = matrix if matrix.shape[0] >= matrix.shape[1] else matrix.T
    with ONE_THREAD:
        q, r = np.linalg.qr(tall)
    q *= np.sign(np.diagonal(r))  # makes the distribution uniform (Mezzadri, math-ph/0609050)
    q = q if tall is matrix else q.T
    return _write(tensor, (gain * q).astype(tensor.dtype.numpy).reshape(tensor.shape))


def fans(tensor: Tensor) -> tuple[int, int]:
    """(fan_in, fan_out): number of inputs per output, and of outputs per input, of a weight."""
    if tensor.ndim < 2:
        raise ShapeError(
            "fan-in and fan-out require a weight of two dimensions or more, "
            f"but the tensor is {format_shape(tensor.shape)}. Use uniform_ or normal_ instead."
        )
    field = math.prod(tensor.shape[2:])
    return tensor.shape[1] * field, tensor.shape[0] * field


_calculate_fan_in_and_fan_out = fans
"""PyTorch's private name, which user code imports."""


def _fan(tensor: Tensor, mode: FanMode) -> int:
    if mode not in ("fan_in", "fan_out"):
        raise ValueError(f"mode must be 'fan_in' or 'fan_out', not {mode!r}")
    return fans(tensor)[mode == "fan_out"]


def _generator_or_default(generator: Generator | None) -> Generator:
    return default_generator if generator is None else generator


def _write(tensor: Tensor, values: NDArray[Any]) -> Tensor:
    with no_grad():
        return tensor.copy_(from_numpy(values).to(device=tensor.device))


def _truncated_candidates(
    draws: Generator, tensor: Tensor, count: int, mean: float, std: float, a: float, b: float, *, from_normal: bool
) -> tuple[NDArray[Any], NDArray[np.bool_]]:
    """Candidates and the mask of accepted ones: normal samples inside the bounds, or rejection-sampled uniform ones.

    Rejection sampling is used if few normal samples would fall inside the bounds.
    """
    if from_normal:
        candidates = draws.normal(count, tensor.dtype, mean, std)
        return candidates, (candidates >= a) & (candidates <= b)
    candidates = draws.uniform(count, tensor.dtype, a, b)
    peak = max(a, min(mean, b))
    log_density = 0.5 * ((peak - mean) / std) ** 2 - 0.5 * ((candidates.astype(np.float64) - mean) / std) ** 2
    return candidates, draws.uniform(count, tensor.dtype) < np.exp(log_density)


# -- deprecated names ------------------------------------------------------------------------


def _deprecated_alias(function: Callable[..., Tensor]) -> Callable[..., Tensor]:
    """Deprecated alias of `function` without the underscore."""
    new = function.__name__

    @functools.wraps(function)
    def call(*args: Any, **kwargs: Any) -> Tensor:
        warnings.warn(f"nn.init.{new[:-1]} is deprecated. Use nn.init.{new}.", FutureWarning, stacklevel=2)
        return function(*args, **kwargs)

    return call


constant = _deprecated_alias(constant_)
dirac = _deprecated_alias(dirac_)
eye = _deprecated_alias(eye_)
kaiming_normal = _deprecated_alias(kaiming_normal_)
kaiming_uniform = _deprecated_alias(kaiming_uniform_)
normal = _deprecated_alias(normal_)
orthogonal = _deprecated_alias(orthogonal_)
sparse = _deprecated_alias(sparse_)
uniform = _deprecated_alias(uniform_)
xavier_normal = _deprecated_alias(xavier_normal_)
xavier_uniform = _deprecated_alias(xavier_uniform_)
