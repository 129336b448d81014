"""Categorical distribution."""

from __future__ import annotations

import math
from typing import Any, ClassVar

from engine.distributions.distribution import Distribution, Shape, broadcast_tensors_and_numbers
from engine.distributions.distribution_parameters import probs_to_logits
from engine.dtypes import finfo
from engine.errors import ShapeError
from engine.functions import broadcast_tensors
from engine.tensors import Tensor
from engine.tensors.creation import arange, multinomial


class Categorical(Distribution):
    """Categorical distribution over 0 to K - 1. Takes `probs` or `logits`, with K in the last dimension.

    Args:
        probs: probabilities, which are normalized
        logits: unnormalized log probabilities
        validate_args: check parameters and values (default: that of `Distribution`)
    """

    PARAMETERS: ClassVar[tuple[str, ...]] = ("probs", "logits")

    def __init__(self, probs: Any = None, logits: Any = None, validate_args: bool | None = None) -> None:
        if (probs is None) == (logits is None):
            raise ValueError("Categorical requires either probs or logits")
        (value,) = broadcast_tensors_and_numbers(logits if probs is None else probs)
        if value.ndim < 1:
            raise ShapeError("Categorical: the parameters must have at least one dimension, that of the categories")
        self._name = "logits" if probs is None else "probs"
        super().__init__(value.shape[:-1], validate_args=validate_args)
        if probs is not None:
            self._require("probs", (value >= 0) & (value.sum(-1, True) > 0), "at least 0, and not all 0")
            self._value = value / value.sum(-1, True)
        else:
            self._value = value - value.logsumexp(-1, True)

    def _constructor_parameters(self) -> tuple[str, ...]:
        return (self._name,)

    @property
    def probs(self) -> Tensor:
        """Normalized probabilities."""
        return self._value if self._name == "probs" else self._value.softmax(-1)

    @property
    def logits(self) -> Tensor:
        """Normalized log probabilities."""
        return self._value if self._name == "logits" else probs_to_logits(self._value)

    @property
    def param_shape(self) -> Any:
        """Shape of the parameter."""
        return self._value.shape

    @property
    def mean(self) -> Tensor:
        return self._nan()

    @property
    def mode(self) -> Tensor:
        """Most probable category."""
        return self.probs.argmax(-1)

    @property
    def variance(self) -> Tensor:
        return self._nan()

    def _nan(self) -> Tensor:
        return self._value.new_full(self.batch_shape, float("nan"))

    def sample(self, sample_shape: Shape = ()) -> Tensor:
        shape = self._extended_shape(sample_shape)
        rows = self.probs.detach().reshape(-1, self._value.shape[-1])
        count = math.prod(sample_shape)
        return multinomial(rows, count, True).T.reshape(shape)

    def log_prob(self, value: Any) -> Tensor:
        (value,) = broadcast_tensors_and_numbers(value)
        self._require_value(
            (value >= 0) & (value < self._value.shape[-1]) & (value == value.long()), "a category index"
        )
        indices, logits = broadcast_tensors(value.long().unsqueeze(-1), self.logits)
        return logits.gather(-1, indices[..., :1]).squeeze(-1)

    def entropy(self) -> Tensor:
        logits = self.logits.clamp(min=float(finfo(self._value.dtype).min))
        return -(logits * self.probs).sum(-1)

    def enumerate_support(self, expand: bool = True) -> Tensor:
        values = arange(self._value.shape[-1], device=self._value.device)
        values = values.reshape(-1, *(1,) * len(self.batch_shape))
        return values.expand(-1, *self.batch_shape) if expand else values
