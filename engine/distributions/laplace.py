"""Laplace's distribution."""

from __future__ import annotations

import math
from typing import Any, ClassVar

from engine.creation import rand
from engine.distributions.distribution import Distribution, Shape, together
from engine.functions import expm1, log1p
from engine.tensor import Tensor


class Laplace(Distribution):
    """Two exponential distributions back to back, with mean `loc`.

    Args:
        loc: the mean
        scale: the mean distance from it
        validate_args: as of a Distribution
    """

    PARAMETERS: ClassVar[tuple[str, ...]] = ("loc", "scale")
    has_rsample = True

    def __init__(self, loc: Any, scale: Any, validate_args: bool | None = None) -> None:
        self.loc, self.scale = together(loc, scale)
        super().__init__(self.loc.shape, validate_args=validate_args)
        self._require("scale", self.scale > 0, "positive")

    @property
    def mean(self) -> Tensor:
        return self.loc

    @property
    def mode(self) -> Tensor:
        """The most probable value."""
        return self.loc

    @property
    def variance(self) -> Tensor:
        return 2 * self.scale**2

    def rsample(self, sample_shape: Shape = ()) -> Tensor:
        shape = self._extended_shape(sample_shape)
        return self.icdf(rand(shape, dtype=self.loc.dtype, device=self.loc.device))

    def log_prob(self, value: Any) -> Tensor:
        return -(2 * self.scale).log() - (value - self.loc).abs() / self.scale

    def cdf(self, value: Tensor) -> Tensor:
        away = value - self.loc
        return 0.5 - 0.5 * away.sign() * expm1(-away.abs() / self.scale)

    def icdf(self, value: Tensor) -> Tensor:
        term = value - 0.5
        return self.loc - self.scale * term.sign() * log1p(-2 * term.abs())

    def entropy(self) -> Tensor:
        return 1 + math.log(2) + self.scale.log()
