"""Uniform distribution."""

from __future__ import annotations

from typing import Any, ClassVar

from engine.distributions.distribution import Distribution, Shape, broadcast_tensors_and_numbers
from engine.tensors import Tensor
from engine.tensors.creation import rand


class Uniform(Distribution):
    """Uniform distribution on the interval from `low` to `high`.

    Args:
        low: lower bound (inclusive)
        high: upper bound (exclusive)
        validate_args: check parameters and values (default: that of `Distribution`)
    """

    PARAMETERS: ClassVar[tuple[str, ...]] = ("low", "high")
    has_rsample = True

    def __init__(self, low: Any, high: Any, validate_args: bool | None = None) -> None:
        self.low, self.high = broadcast_tensors_and_numbers(low, high)
        super().__init__(self.low.shape, validate_args=validate_args)
        self._require("low", self.low < self.high, "below high")

    @property
    def mean(self) -> Tensor:
        return (self.high + self.low) / 2

    @property
    def variance(self) -> Tensor:
        return (self.high - self.low) ** 2 / 12

    def rsample(self, sample_shape: Shape = ()) -> Tensor:
        shape = self._extended_shape(sample_shape)
        return self.icdf(rand(shape, dtype=self.low.dtype, device=self.low.device))

    def log_prob(self, value: Any) -> Tensor:
        (value,) = broadcast_tensors_and_numbers(value)
        self._require_value((value >= self.low) & (value <= self.high), "between low and high")
        inside = (self.low <= value) & (self.high > value)
        return inside.to(self.low.dtype).log() - (self.high - self.low).log()

    def cdf(self, value: Tensor) -> Tensor:
        return ((value - self.low) / (self.high - self.low)).clamp(min=0, max=1)

    def icdf(self, value: Tensor) -> Tensor:
        return value * (self.high - self.low) + self.low

    def entropy(self) -> Tensor:
        return (self.high - self.low).log()
