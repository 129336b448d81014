"""Functions that create random tensors."""

from __future__ import annotations

from typing import Any, Unpack

import numpy as np

from engine import dtypes, random
from engine.backend import CPU
from engine.dtypes import DType
from engine.errors import DTypeError, RangeError, ShapeError
from engine.random import Generator, RandomNumbers
from engine.tensors.creation.creation_options import CreationOptions, create_tensor, like, number, sizes
from engine.tensors.creation.random_fill import bernoulli_like, check_floating_point, check_limits, new_like
from engine.tensors.storage import Storage
from engine.tensors.tensor import Tensor


def _random_tensor(
    name: str,
    distribution: str,
    shape: tuple[Any, ...],
    default: DType | None,
    options: CreationOptions,
    first: Any = 0,
    second: Any = 0,
) -> Tensor:
    """Return a tensor of random numbers. They are drawn on the CPU, so that every device gets the same numbers."""
    drawn = RandomNumbers(options.get("generator") or random.default_generator, distribution, first, second)

    def fill(xp: Any, shape: tuple[Any, ...], dtype: Any) -> Any:
        return xp.asarray(drawn.draw(shape, dtypes.from_numpy(dtype))).astype(dtype, copy=False)

    return create_tensor(name, fill, shape, default, options, drawn=drawn)


def rand(*size: Any, **options: Unpack[CreationOptions]) -> Tensor:
    """Return numbers from the uniform distribution on [0, 1)."""
    return _random_tensor("rand", "uniform", sizes(size, options), None, options, 0.0, 1.0)


def randn(*size: Any, **options: Unpack[CreationOptions]) -> Tensor:
    """Return numbers from the standard normal distribution."""
    return _random_tensor("randn", "normal", sizes(size, options), None, options, 0.0, 1.0)


def randint(
    *bounds: Any, low: int | None = None, high: int | None = None, size: Any = None, **options: Unpack[CreationOptions]
) -> Tensor:
    """Return random integers: `randint(high, size)` from [0, high), `randint(low, high, size)` from [low, high)."""
    *positional, shape = (*bounds, size) if size is not None else bounds or (None,)
    limits = [number(limit) for limit in (*positional, low, high) if limit is not None]
    if not 1 <= len(limits) <= 2:
        raise TypeError("randint() takes (high, size) or (low, high, size)")
    if low is not None and len(positional) == 1:
        limits.reverse()
    first, last = limits if len(limits) == 2 else (0, limits[0])
    check_limits("randint", first, last, dtypes.as_optional_dtype("randint", options.get("dtype")) or dtypes.int64)
    return _random_tensor("randint", "integers", sizes((shape,)), dtypes.int64, options, first, last)


def randperm(n: int, **options: Unpack[CreationOptions]) -> Tensor:
    """Return a random permutation of the integers 0 to n - 1."""
    return _random_tensor("randperm", "permutation", sizes((n,)), dtypes.int64, options)


def rand_like(input: Tensor, **options: Unpack[CreationOptions]) -> Tensor:
    """Return numbers from the uniform distribution on [0, 1), with the shape, dtype and device of `input`."""
    return rand(tuple(input.shape), **like(input, options))


def randn_like(input: Tensor, **options: Unpack[CreationOptions]) -> Tensor:
    """Return numbers from the standard normal distribution, with the shape, dtype and device of `input`."""
    return randn(tuple(input.shape), **like(input, options))


def randint_like(
    input: Tensor, *bounds: Any, low: int | None = None, high: int | None = None, **options: Unpack[CreationOptions]
) -> Tensor:
    """Return random integers shaped like `input`: `randint_like(x, high)` or `randint_like(x, low, high)`."""
    return randint(*bounds, low=low, high=high, size=tuple(input.shape), **like(input, options))


def normal(mean: Any, std: Any = 1.0, size: Any = None, **options: Unpack[CreationOptions]) -> Tensor:
    """Return normal numbers. `mean` and `std` are numbers, with a size, or tensors with one value per element."""
    deviations = std._numbers() if isinstance(std, Tensor) else std
    if np.any(np.asarray(deviations.tolist() if isinstance(std, Tensor) else deviations) < 0):
        raise RangeError(f"normal(): a standard deviation cannot be negative: {std}")
    if size is not None:
        center = number(mean)
        return _random_tensor("normal", "normal", sizes((size,)), None, options, center, number(std))
    first = mean if isinstance(mean, Tensor) else std
    if not isinstance(first, Tensor):
        raise TypeError("normal() needs a size if mean and std are numbers")
    shape = tuple((mean.detach() + std.detach()).shape if isinstance(mean, Tensor) and isinstance(std, Tensor) else
                  first.shape)  # fmt: skip
    noise = randn(shape, dtype=first.dtype, device=first.device, generator=options.pop("generator", None))
    result = (noise * std + mean).detach()
    out = options.get("out")
    return result if out is None else out.resize_(shape).copy_(result)


def bernoulli(
    input: Tensor, p: float | None = None, *, generator: Generator | None = None, out: Tensor | None = None
) -> Tensor:
    """Return 1 with the probability given by each element of `input`, or with probability `p`; else 0."""
    result = bernoulli_like(input.detach(), input if p is None else p, generator)
    return result if out is None else out.resize_(result.shape).copy_(result)


def multinomial(
    input: Tensor,
    num_samples: int,
    replacement: bool = False,
    *,
    generator: Generator | None = None,
    out: Tensor | None = None,
) -> Tensor:
    """Sample indices with the probabilities, or weights, in the last dimension of `input`."""
    if not input.is_floating_point():
        raise DTypeError(
            f"multinomial() takes floating-point weights, not {input.dtype.name}.", in_code="Convert with .float()."
        )
    if input.ndim not in (1, 2):
        raise ShapeError(f"multinomial() takes one or two dimensions, not {input.ndim}")
    if num_samples <= 0 or (not replacement and num_samples > input.shape[-1]):
        raise ShapeError(
            f"multinomial() cannot draw {num_samples} samples from {input.shape[-1]} categories without replacement.",
            in_code="Draw at least 1 and at most one per category, or pass replacement=True.",
        )
    if input.is_meta:
        return input.detach().new_empty((*input.shape[:-1], num_samples), dtype=dtypes.int64)
    weights = input.detach().cpu().double().numpy()
    if not np.isfinite(weights).all() or (weights < 0).any() or (weights.sum(-1) <= 0).any():
        raise RangeError("multinomial(): weights must be finite and not negative, at least one per row positive")
    sample = _with_replacement if replacement else _without_replacement
    found = sample(generator or random.default_generator, weights, num_samples)
    result = Tensor(found.astype(np.int64), Storage(CPU)).to(input.device)
    return result if out is None else out.resize_(result.shape).copy_(result)


def _with_replacement(generator: Generator, weights: Any, count: int) -> Any:
    """Sample by inverting the cumulative sums of the weights."""
    sums = np.cumsum(weights, -1)
    points = generator.uniform((*weights.shape[:-1], count), dtypes.float64) * sums[..., -1:]
    if weights.ndim == 1:
        return np.searchsorted(sums, points, side="right")
    return np.stack([np.searchsorted(*row, side="right") for row in zip(sums, points, strict=True)])


def _without_replacement(generator: Generator, weights: Any, count: int) -> Any:
    """Sample by the smallest exponential variates with the weights as rates (Efraimidis and Spirakis, 2006)."""
    with np.errstate(divide="ignore"):
        arrival_times = -np.log1p(-generator.uniform(weights.shape, dtypes.float64)) / weights
    return np.argsort(np.where(weights > 0, arrival_times, np.inf), -1, kind="stable")[..., :count]


def poisson(input: Tensor, generator: Generator | None = None) -> Tensor:
    """Return numbers from Poisson distributions whose means are the elements of `input`."""
    check_floating_point("poisson", input)
    if input.is_meta:
        return new_like(input)
    rates = input.detach().cpu().double().numpy()
    if not (rates >= 0).all():
        raise RangeError("poisson(): a mean cannot be negative")
    drawn = (generator or random.default_generator).poisson(rates)
    return Tensor(np.asarray(drawn).astype(input.dtype.numpy), Storage(CPU)).to(input.device)
