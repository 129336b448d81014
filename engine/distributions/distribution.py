"""Base class of distributions."""

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
    """Base class of distributions and batches of distributions.

    The shape of samples is ``sample_shape + batch_shape + event_shape``.

    Args:
        batch_shape: shape of the batch of independent distributions
        event_shape: shape of one sample
        validate_args: check parameters and values
    """

    PARAMETERS: ClassVar[tuple[str, ...]] = ()
    has_rsample: ClassVar[bool] = False
    """Whether `rsample` gives samples with gradients for the parameters."""
    _validate_args_default: ClassVar[bool] = True

    def __init__(self, batch_shape: Shape = (), event_shape: Shape = (), validate_args: bool | None = None) -> None:
        self._batch_shape, self._event_shape = Size(batch_shape), Size(event_shape)
        self._validate_args = self._validate_args_default if validate_args is None else validate_args

    @staticmethod
    def set_default_validate_args(value: bool) -> None:
        """Set the default of `validate_args`."""
        Distribution._validate_args_default = value

    @property
    def batch_shape(self) -> Size:
        """Shape of the batch of independent distributions."""
        return self._batch_shape

    @property
    def event_shape(self) -> Size:
        """Shape of one sample."""
        return self._event_shape

    @property
    @abstractmethod
    def mean(self) -> Tensor:
        """Mean."""

    @property
    @abstractmethod
    def variance(self) -> Tensor:
        """Variance."""

    @property
    def stddev(self) -> Tensor:
        """Standard deviation."""
        return self.variance.sqrt()

    def sample(self, sample_shape: Shape = ()) -> Tensor:
        """Draw samples, without gradients."""
        with no_grad():
            return self.rsample(sample_shape)

    def sample_n(self, n: int) -> Tensor:
        """Draw `n` samples."""
        return self.sample((n,))

    def rsample(self, sample_shape: Shape = ()) -> Tensor:
        """Draw reparameterized samples, with gradients for the parameters."""
        raise NotImplementedError(f"{type(self).__name__} has no rsample(). Use sample().")

    @abstractmethod
    def log_prob(self, value: Any) -> Tensor:
        """Log density or log probability of a value."""

    def cdf(self, value: Tensor) -> Tensor:
        """Cumulative distribution function: probability of at most `value`."""
        raise NotImplementedError(f"{type(self).__name__} has no cdf()")

    def icdf(self, value: Tensor) -> Tensor:
        """Quantile function, the inverse of `cdf`."""
        raise NotImplementedError(f"{type(self).__name__} has no icdf()")

    def entropy(self) -> Tensor:
        """Entropy in nats."""
        raise NotImplementedError(f"{type(self).__name__} has no entropy()")

    def perplexity(self) -> Tensor:
        """Exponential of the entropy."""
        return self.entropy().exp()

    def enumerate_support(self, expand: bool = True) -> Tensor:
        """All possible values, along the first dimension."""
        raise NotImplementedError(f"{type(self).__name__} has no finite support to enumerate")

    def expand(self, batch_shape: Shape) -> Self:
        """Expand the batch shape without copying parameters."""
        parameters: dict[str, Any] = {
            name: self._expand_parameter(name, tuple(batch_shape)) for name in self._constructor_parameters()
        }
        return type(self)(**parameters, validate_args=False)

    def _expand_parameter(self, name: str, batch_shape: tuple[int, ...]) -> Tensor:
        value: Tensor = getattr(self, name)
        return value.expand((*batch_shape, *value.shape[len(self.batch_shape) :]))

    def _constructor_parameters(self) -> tuple[str, ...]:
        """Parameters passed to the constructor."""
        return self.PARAMETERS

    def _extended_shape(self, sample_shape: Shape = ()) -> Size:
        return Size((*sample_shape, *self.batch_shape, *self.event_shape))

    def _require(self, name: str, is_valid: Tensor, requirement: str) -> None:
        """Raise RangeError if a parameter is out of range."""
        if self._validate_args and not bool(is_valid.all()):
            raise RangeError(f"{type(self).__name__}: {name} must be {requirement}")

    def _require_value(self, is_valid: Tensor, requirement: str) -> None:
        if self._validate_args and not bool(is_valid.all()):
            raise RangeError(f"{type(self).__name__}: value must be {requirement}")

    def __repr__(self) -> str:
        values = ((name, getattr(self, name)) for name in self._constructor_parameters())
        texts = [f"{name}: {value if value.numel() == 1 else value.size()}" for name, value in values]
        return f"{type(self).__name__}({', '.join(texts)})"


def broadcast_tensors_and_numbers(*values: Any) -> tuple[Tensor, ...]:
    """Broadcast numbers and tensors to tensors of the same shape."""
    like = next((value for value in values if isinstance(value, Tensor)), None)
    options = {} if like is None else {"dtype": like.dtype, "device": like.device}
    return broadcast_tensors(*[v if isinstance(v, Tensor) else full((), float(v), **options) for v in values])
