"""Categorical distribution of one-hot vectors."""

from __future__ import annotations

from typing import Any, ClassVar

from engine.distributions.categorical import Categorical
from engine.distributions.distribution import Distribution, Shape
from engine.nn.functional import one_hot
from engine.tensors import Tensor
from engine.tensors.creation import eye


class OneHotCategorical(Distribution):
    """Categorical distribution of one-hot vectors of size K. Takes `probs` or `logits`.

    Args:
        probs: probabilities along the last dimension, which are normalized
        logits: unnormalized log probabilities
        validate_args: check parameters and values (default: that of `Distribution`)
    """

    PARAMETERS: ClassVar[tuple[str, ...]] = ("probs", "logits")

    def __init__(self, probs: Any = None, logits: Any = None, validate_args: bool | None = None) -> None:
        self._categorical = Categorical(probs, logits, validate_args)
        super().__init__(self._categorical.batch_shape, self._categorical.param_shape[-1:], validate_args)

    def _constructor_parameters(self) -> tuple[str, ...]:
        return self._categorical._constructor_parameters()

    @property
    def probs(self) -> Tensor:
        """Normalized probabilities."""
        return self._categorical.probs

    @property
    def logits(self) -> Tensor:
        """Normalized log probabilities."""
        return self._categorical.logits

    @property
    def param_shape(self) -> Any:
        """Shape of the parameter."""
        return self._categorical.param_shape

    @property
    def mean(self) -> Tensor:
        return self.probs

    @property
    def mode(self) -> Tensor:
        """One-hot vector of the most probable category."""
        return self._one_hot(self._categorical.mode)

    @property
    def variance(self) -> Tensor:
        return self.probs * (1 - self.probs)

    def sample(self, sample_shape: Shape = ()) -> Tensor:
        return self._one_hot(self._categorical.sample(sample_shape))

    def log_prob(self, value: Tensor) -> Tensor:
        is_one_hot = ((value == 0) | (value == 1)).all(-1) & (value.sum(-1) == 1)
        self._require_value(is_one_hot, "a one-hot vector")
        return self._categorical.log_prob(value.argmax(-1))

    def entropy(self) -> Tensor:
        return self._categorical.entropy()

    def enumerate_support(self, expand: bool = True) -> Tensor:
        count = self.event_shape[0]
        values = eye(count, dtype=self.probs.dtype, device=self.probs.device)
        values = values.reshape(count, *(1,) * len(self.batch_shape), count)
        return values.expand(count, *self.batch_shape, count) if expand else values

    def _one_hot(self, categories: Tensor) -> Tensor:
        return one_hot(categories, self.event_shape[0]).to(self.probs.dtype)


class OneHotCategoricalStraightThrough(OneHotCategorical):
    """`OneHotCategorical` whose `rsample` passes the gradient of a sample to the probabilities unchanged.

    Source: Bengio, Léonard and Courville, "Estimating or Propagating Gradients Through Stochastic Neurons for
    Conditional Computation", 2013.
    """

    has_rsample: ClassVar[bool] = True

    def rsample(self, sample_shape: Shape = ()) -> Tensor:
        return self.sample(sample_shape) + (self.probs - self.probs.detach())
