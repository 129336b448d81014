"""Laplace distribution."""

from __future__ import annotations

import math
from typing import Any

from engine.distributions.distribution import Shape
from engine.distributions.location_scale import LocationScale
from engine.functions import expm1, log1p
from engine.tensors import Tensor
from engine.tensors.creation import rand


class Laplace(LocationScale):
    """Laplace distribution (double exponential) with mean `loc`.

    Args:
        loc: mean
        scale: scale; the mean absolute deviation
        validate_args: check parameters and values (default: that of `Distribution`)
    """

    @property
    def variance(self) -> Tensor:
        return 2 * self.scale**2

    def rsample(self, sample_shape: Shape = ()) -> Tensor:
        shape = self._extended_shape(sample_shape)
        return self.icdf(rand(shape, dtype=self.loc.dtype, device=self.loc.device))

    def log_prob(self, value: Any) -> Tensor:
        return -(2 * self.scale).log() - (value - self.loc).abs() / self.scale

    def cdf(self, value: Tensor) -> Tensor:
        offset = value - self.loc
        return 0.5 - 0.5 * offset.sign() * expm1(-offset.abs() / self.scale)

    def icdf(self, value: Tensor) -> Tensor:
        term = value - 0.5
        return self.loc - self.scale * term.sign() * log1p(-2 * term.abs())

    def entropy(self) -> Tensor:
        return 1 + math.log(2) + self.scale.log()
