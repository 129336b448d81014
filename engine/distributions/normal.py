"""Normal distribution."""

from __future__ import annotations

import math
from typing import Any

from engine.distributions.distribution import Shape
from engine.distributions.location_scale import LocationScale
from engine.functions import erf, erfinv
from engine.tensors import Tensor
from engine.tensors.creation import randn


class Normal(LocationScale):
    """Normal distribution with mean `loc` and standard deviation `scale`.

    Args:
        loc: mean
        scale: standard deviation
        validate_args: check parameters and values (default: that of `Distribution`)
    """

    @property
    def variance(self) -> Tensor:
        return self.scale**2

    def rsample(self, sample_shape: Shape = ()) -> Tensor:
        shape = self._extended_shape(sample_shape)
        return self.loc + self.scale * randn(shape, dtype=self.loc.dtype, device=self.loc.device)

    def log_prob(self, value: Any) -> Tensor:
        return -((value - self.loc) ** 2) / (2 * self.variance) - self.scale.log() - math.log(2 * math.pi) / 2

    def cdf(self, value: Tensor) -> Tensor:
        return 0.5 * (1 + erf((value - self.loc) * self.scale.reciprocal() / math.sqrt(2)))

    def icdf(self, value: Tensor) -> Tensor:
        return self.loc + self.scale * erfinv(2 * value - 1) * math.sqrt(2)

    def entropy(self) -> Tensor:
        return 0.5 + 0.5 * math.log(2 * math.pi) + self.scale.log()
