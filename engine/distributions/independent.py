"""Batch dimensions as event dimensions."""

from __future__ import annotations

from typing import Any, Self

from engine.distributions.distribution import Distribution, Shape
from engine.errors import RangeError
from engine.tensors import Tensor


class Independent(Distribution):
    """Treats the last batch dimensions of a distribution as event dimensions.

    Args:
        base_distribution: batch of distributions
        reinterpreted_batch_ndims: number of batch dimensions to treat as event dimensions
        validate_args: check parameters and values (default: that of `Distribution`)
    """

    def __init__(
        self, base_distribution: Distribution, reinterpreted_batch_ndims: int, validate_args: bool | None = None
    ) -> None:
        batch = tuple(base_distribution.batch_shape)
        if reinterpreted_batch_ndims > len(batch):
            raise RangeError(
                f"Independent: reinterpreted_batch_ndims={reinterpreted_batch_ndims} exceeds the {len(batch)} batch "
                "dimensions"
            )
        n_batch_dims = len(batch) - reinterpreted_batch_ndims
        self.base_dist, self.reinterpreted_batch_ndims = base_distribution, reinterpreted_batch_ndims
        super().__init__(batch[:n_batch_dims], (*batch[n_batch_dims:], *base_distribution.event_shape), validate_args)

    @property
    def has_rsample(self) -> bool:  # pyright: ignore[reportIncompatibleVariableOverride]
        """Whether `rsample` is available."""
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
        return self.sum_event_dims(self.base_dist.log_prob(value))

    def entropy(self) -> Tensor:
        return self.sum_event_dims(self.base_dist.entropy())

    def expand(self, batch_shape: Shape) -> Self:
        event_dims = tuple(self.event_shape)[: self.reinterpreted_batch_ndims]
        return type(self)(self.base_dist.expand((*batch_shape, *event_dims)), self.reinterpreted_batch_ndims, False)

    def sum_event_dims(self, value: Tensor) -> Tensor:
        """Sum over the reinterpreted dimensions."""
        count = self.reinterpreted_batch_ndims
        return value.sum(tuple(range(-count, 0))) if count else value

    def __repr__(self) -> str:
        return f"Independent({self.base_dist}, {self.reinterpreted_batch_ndims})"
