"""What all distributions have."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any, ClassVar, Self

from engine.errors import RangeError
from engine.functions import broadcast_tensors
from engine.modes import no_grad
from engine.shape import Size
from engine.tensors import Tensor
from engine.tensors.creation import full

Shape = Sequence[int]


class Distribution(ABC):
    """A distribution, or a batch of them.

    A sample's shape is the one asked for, then `batch_shape` (which distribution), then `event_shape` (one draw).

    Args:
        batch_shape: how many independent distributions
        event_shape: the shape of one draw
        validate_args: whether parameters, and values whose density is asked for, are looked at
    """

    PARAMETERS: ClassVar[tuple[str, ...]] = ()
    has_rsample: ClassVar[bool] = False
    """Gradients go through samples to the parameters."""
    _validates: ClassVar[bool] = True

    def __init__(self, batch_shape: Shape = (), event_shape: Shape = (), validate_args: bool | None = None) -> None:
        self._batch_shape, self._event_shape = Size(batch_shape), Size(event_shape)
        self._validate_args = self._validates if validate_args is None else validate_args

    @staticmethod
    def set_default_validate_args(value: bool) -> None:
        """Whether distributions that do not say so look at what they are given."""
        Distribution._validates = value

    @property
    def batch_shape(self) -> Size:
        """How many independent distributions these are."""
        return self._batch_shape

    @property
    def event_shape(self) -> Size:
        """The shape of one draw."""
        return self._event_shape

    @property
    @abstractmethod
    def mean(self) -> Tensor:
        """The mean."""

    @property
    @abstractmethod
    def variance(self) -> Tensor:
        """The variance."""

    @property
    def stddev(self) -> Tensor:
        """The standard deviation."""
        return self.variance.sqrt()

    def sample(self, sample_shape: Shape = ()) -> Tensor:
        """Draws; no gradient goes through them."""
        with no_grad():
            return self.rsample(sample_shape)

    def sample_n(self, n: int) -> Tensor:
        """`n` draws."""
        return self.sample((n,))

    def rsample(self, sample_shape: Shape = ()) -> Tensor:
        """Draws through which gradients go to the parameters."""
        raise NotImplementedError(f"{type(self).__name__} has no samples with gradients. Use sample().")

    @abstractmethod
    def log_prob(self, value: Any) -> Tensor:
        """The logarithm of the density, or of the probability, of a value."""

    def cdf(self, value: Tensor) -> Tensor:
        """The probability of no more than a value."""
        raise NotImplementedError(f"{type(self).__name__} has no cdf()")

    def icdf(self, value: Tensor) -> Tensor:
        """The number that a draw is below with a given probability."""
        raise NotImplementedError(f"{type(self).__name__} has no icdf()")

    def entropy(self) -> Tensor:
        """The entropy, in nats."""
        raise NotImplementedError(f"{type(self).__name__} has no entropy()")

    def perplexity(self) -> Tensor:
        """e to the entropy."""
        return self.entropy().exp()

    def enumerate_support(self, expand: bool = True) -> Tensor:
        """All values of a draw, in the first dimension."""
        raise NotImplementedError(f"{type(self).__name__} has too many values to list")

    def expand(self, batch_shape: Shape) -> Self:
        """The same distributions over and over."""
        parameters: dict[str, Any] = {name: self._expanded(name, tuple(batch_shape)) for name in self._given()}
        return type(self)(**parameters, validate_args=False)

    def _expanded(self, name: str, batch_shape: tuple[int, ...]) -> Tensor:
        value: Tensor = getattr(self, name)
        return value.expand((*batch_shape, *value.shape[len(self.batch_shape) :]))

    def _given(self) -> tuple[str, ...]:
        """The parameters that it was made with."""
        return self.PARAMETERS

    def _extended_shape(self, sample_shape: Shape = ()) -> Size:
        return Size((*sample_shape, *self.batch_shape, *self.event_shape))

    def _require(self, name: str, holds: Tensor, what: str) -> None:
        """Raises RangeError unless a parameter is as it must be."""
        if self._validate_args and not bool(holds.all()):
            raise RangeError(f"{type(self).__name__}: {name} must be {what}")

    def _require_value(self, holds: Tensor, what: str) -> None:
        if self._validate_args and not bool(holds.all()):
            raise RangeError(f"{type(self).__name__}: a value must be {what}")

    def __repr__(self) -> str:
        values = ((name, getattr(self, name)) for name in self._given())
        texts = [f"{name}: {value if value.numel() == 1 else value.size()}" for name, value in values]
        return f"{type(self).__name__}({', '.join(texts)})"


def together(*values: Any) -> tuple[Tensor, ...]:
    """Numbers and tensors as tensors of one shape."""
    like = next((value for value in values if isinstance(value, Tensor)), None)
    kind = {} if like is None else {"dtype": like.dtype, "device": like.device}
    return broadcast_tensors(*[v if isinstance(v, Tensor) else full((), float(v), **kind) for v in values])
