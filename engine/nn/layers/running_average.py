"""A buffer with a running average."""

from __future__ import annotations

from typing import Annotated

from engine import dtypes
from engine.dtypes import DType
from engine.errors import ShapeError
from engine.modes import MODES, no_grad
from engine.nn.layers.annotations import DeviceArgument
from engine.nn.layers.learned_tensors import GROUP
from engine.nn.module import Module
from engine.registry import LAYERS, FromInput, Probability, Size
from engine.shape import format_shape
from engine.tensors import Tensor
from engine.tensors.creation import zeros


@LAYERS.register(
    category=GROUP,
    title="Running average",
    tags=("buffer", "exponential moving average", "EMA", "running mean", "center", "baseline"),
)
class RunningAverage(Module):
    """The running average of each feature over all batches so far, in the shape of the input.

    ``average ← (1 - momentum) · average + momentum · mean of the batch`` in training; the first ``1 / momentum``
    batches have equal weights. Evaluation reads the average. It is a buffer: not trained, without gradient, but saved
    with the weights. Subtract it from the input to center features.

    Args:
        num_features: size of the last dimension
        momentum: weight of a new batch
    """

    average: Tensor
    num_batches_tracked: Tensor

    def __init__(
        self,
        num_features: Annotated[Size, FromInput(-1)],
        momentum: Probability = 0.1,
        device: DeviceArgument = None,
        dtype: DType | None = None,
    ) -> None:
        super().__init__()
        self.num_features = num_features
        self.momentum = momentum
        self.register_buffer("average", zeros(num_features, device=device, dtype=dtype))
        self.register_buffer("num_batches_tracked", zeros((), device=device, dtype=dtypes.int64))

    def forward(self, input: Tensor) -> Tensor:
        """The average of each feature, which training updates, expanded to the shape of the input."""
        if not input.ndim or input.shape[-1] != self.num_features:
            raise ShapeError(
                f"expected {self.num_features} features in the last dimension, got {format_shape(input.shape)}. "
                "Set num_features to its size."
            )
        with no_grad():
            if self.training and not MODES.recomputation:  # a recomputed batch counts once
                mean = input.detach().to(self.average.dtype).reshape(-1, self.num_features).mean(0)
                self.num_batches_tracked.add_(1)
                weight = (1.0 / self.num_batches_tracked.to(self.average.dtype)).clamp(min=self.momentum)
                self.average.add_((mean - self.average) * weight)
            return self.average.clone().expand(input.shape)

    def extra_repr(self) -> str:
        return f"{self.num_features}, momentum={self.momentum}"
