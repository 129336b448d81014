"""Bernoulli distribution."""

from __future__ import annotations

from typing import Any, ClassVar

from engine.distributions.distribution import Distribution, Shape, broadcast_tensors_and_numbers
from engine.distributions.distribution_parameters import probs_to_logits
from engine.functions import where
from engine.nn.functional import binary_cross_entropy_with_logits
from engine.tensors import Tensor
from engine.tensors.creation import arange, bernoulli


class Bernoulli(Distribution):
    """Bernoulli distribution: 1 with probability `probs`, else 0. Takes `probs` or `logits`.

    Args:
        probs: probability of 1
        logits: log odds of 1
        validate_args: check parameters and values (default: that of `Distribution`)
    """

    PARAMETERS: ClassVar[tuple[str, ...]] = ("probs", "logits")

    def __init__(self, probs: Any = None, logits: Any = None, validate_args: bool | None = None) -> None:
        if (probs is None) == (logits is None):
            raise ValueError("Bernoulli requires either probs or logits")
        (self._value,) = broadcast_tensors_and_numbers(logits if probs is None else probs)
        self._name = "logits" if probs is None else "probs"
        super().__init__(self._value.shape, validate_args=validate_args)
        if probs is not None:
            self._require("probs", (self._value >= 0) & (self._value <= 1), "between 0 and 1")

    def _constructor_parameters(self) -> tuple[str, ...]:
        return (self._name,)

    @property
    def probs(self) -> Tensor:
        """Probability of 1."""
        return self._value if self._name == "probs" else self._value.sigmoid()

    @property
    def logits(self) -> Tensor:
        """Log odds of 1."""
        if self._name == "logits":
            return self._value
        return probs_to_logits(self._value, is_binary=True)

    @property
    def param_shape(self) -> Any:
        """Shape of the parameter."""
        return self._value.shape

    @property
    def mean(self) -> Tensor:
        return self.probs

    @property
    def mode(self) -> Tensor:
        """More probable value; NaN if both are equally probable."""
        found = (self.probs >= 0.5).to(self.probs.dtype)
        return where(self.probs == 0.5, float("nan"), found)

    @property
    def variance(self) -> Tensor:
        return self.probs * (1 - self.probs)

    def sample(self, sample_shape: Shape = ()) -> Tensor:
        return bernoulli(self.probs.detach().expand(self._extended_shape(sample_shape)))

    def log_prob(self, value: Any) -> Tensor:
        (value,) = broadcast_tensors_and_numbers(value)
        self._require_value((value == 0) | (value == 1), "0 or 1")
        logits, value = broadcast_tensors_and_numbers(self.logits, value)
        return -binary_cross_entropy_with_logits(logits, value.to(logits.dtype), reduction="none")

    def entropy(self) -> Tensor:
        return binary_cross_entropy_with_logits(self.logits, self.probs, reduction="none")

    def enumerate_support(self, expand: bool = True) -> Tensor:
        values = arange(2, dtype=self._value.dtype, device=self._value.device)
        values = values.reshape(-1, *(1,) * len(self.batch_shape))
        return values.expand(-1, *self.batch_shape) if expand else values
