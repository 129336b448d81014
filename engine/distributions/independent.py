"""A batch of distributions as one."""

from __future__ import annotations

from typing import Any, Self

from engine.distributions.distribution import Distribution, Shape
from engine.errors import RangeError
from engine.tensors import Tensor


class Independent(Distribution):
    """The last dimensions of a batch of distributions together are one draw.

    Args:
        base_distribution: the distributions
        reinterpreted_batch_ndims: how many dimensions
        validate_args: as of a Distribution
    """

    def __init__(
        self, base_distribution: Distribution, reinterpreted_batch_ndims: int, validate_args: bool | None = None
    ) -> None:
        batch = tuple(base_distribution.batch_shape)
        if reinterpreted_batch_ndims > len(batch):
            raise RangeError(f"Independent: {len(batch)} dimensions of a batch are not {reinterpreted_batch_ndims}")
        kept = len(batch) - reinterpreted_batch_ndims
        self.base_dist, self.reinterpreted_batch_ndims = base_distribution, reinterpreted_batch_ndims
        super().__init__(batch[:kept], (*batch[kept:], *base_distribution.event_shape), validate_args)

    @property
    def has_rsample(self) -> bool:  # pyright: ignore[reportIncompatibleVariableOverride]
        """Whether gradients go through samples."""
        return self.base_dist.has_rsample

    @property
    def mean(self) -> Tensor:
        return self.base_dist.mean

    @property
    def variance(self) -> Tensor:
        return self.base_dist.variance

    def sample(self, sample_shape: Shape = ()) -> Tensor:
        return self.base_dist.sample(sample_shape)

    def rsample(self, sample_shape: Shape = ()) -> Tensor:
        return self.base_dist.rsample(sample_shape)

    def log_prob(self, value: Any) -> Tensor:
        return self.summed(self.base_dist.log_prob(value))

    def entropy(self) -> Tensor:
        return self.summed(self.base_dist.entropy())

    def expand(self, batch_shape: Shape) -> Self:
        inner = tuple(self.event_shape)[: self.reinterpreted_batch_ndims]
        return type(self)(self.base_dist.expand((*batch_shape, *inner)), self.reinterpreted_batch_ndims, False)

    def summed(self, value: Tensor) -> Tensor:
        """The sum over the dimensions of one draw."""
        count = self.reinterpreted_batch_ndims
        return value.sum(tuple(range(-count, 0))) if count else value

    def __repr__(self) -> str:
        return f"Independent({self.base_dist}, {self.reinterpreted_batch_ndims})"
