"""Exponential distribution."""

from __future__ import annotations

from typing import Any, ClassVar

from engine.distributions.distribution import Distribution, Shape, broadcast_tensors_and_numbers
from engine.functions import log1p
from engine.tensors import Tensor
from engine.tensors.creation import rand, zeros_like


class Exponential(Distribution):
    """Exponential distribution with a given `rate`.

    Args:
        rate: rate; the mean is ``1 / rate``
        validate_args: check parameters and values (default: that of `Distribution`)
    """

    PARAMETERS: ClassVar[tuple[str, ...]] = ("rate",)
    has_rsample = True

    def __init__(self, rate: Any, validate_args: bool | None = None) -> None:
        (self.rate,) = broadcast_tensors_and_numbers(rate)
        super().__init__(self.rate.shape, validate_args=validate_args)
        self._require("rate", self.rate > 0, "positive")

    @property
    def mean(self) -> Tensor:
        return self.rate.reciprocal()

    @property
    def mode(self) -> Tensor:
        """Most probable value."""
        return zeros_like(self.rate)

    @property
    def variance(self) -> Tensor:
        return self.rate**-2

    def rsample(self, sample_shape: Shape = ()) -> Tensor:
        shape = self._extended_shape(sample_shape)
        return self.icdf(rand(shape, dtype=self.rate.dtype, device=self.rate.device))

    def log_prob(self, value: Any) -> Tensor:
        (value,) = broadcast_tensors_and_numbers(value)
        self._require_value(value >= 0, "at least 0")
        return self.rate.log() - self.rate * value

    def cdf(self, value: Tensor) -> Tensor:
        return 1 - (-self.rate * value).exp()

    def icdf(self, value: Tensor) -> Tensor:
        return -log1p(-value) / self.rate

    def entropy(self) -> Tensor:
        return 1 - self.rate.log()
