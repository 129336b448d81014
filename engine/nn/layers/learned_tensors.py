"""Layers that output learned or constant tensors, independent of the values of their input."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from typing import Literal, TypeAlias

from engine.nn import init
from engine.nn.layers.annotations import DeviceArgument
from engine.nn.module import Module
from engine.nn.parameter import Parameter
from engine.registry import LAYERS, Positive, Size
from engine.tensors import Tensor
from engine.tensors.creation import empty, tensor

GROUP = "Parameters and constants"

Initialization: TypeAlias = Literal[
    "zeros", "ones", "normal", "uniform", "xavier_uniform", "xavier_normal", "kaiming_uniform", "kaiming_normal"
]


@LAYERS.register(
    category=GROUP,
    title="Learned parameter",
    tags=("parameter", "weight", "bias", "class token", "positional embedding", "temperature", "query", "prompt"),
)
class LearnedTensor(Module):
    """A learned tensor: ``→ (size)``, with a batch ``(N, *) → (N, size)``.

    The output has no batch dimension and broadcasts with batches, as in ``scores * temperature``. If `batch` is
    connected, the output is expanded to its batch size, so that it can be concatenated with it.

    Args:
        size: shape of the tensor
        initialization: initial values; the Xavier and Kaiming methods need two dimensions or more
        scale: standard deviation of normal, bound of uniform initial values
    """

    def __init__(
        self,
        size: Size | tuple[Size, ...],
        initialization: Initialization = "normal",
        scale: Positive = 0.02,
        device: DeviceArgument = None,
    ) -> None:
        super().__init__()
        self.size = (size,) if isinstance(size, int) else tuple(size)
        self.initialization = initialization
        self.scale = scale
        self.weight = Parameter(empty(self.size, device=device))
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Reinitialize the parameter."""
        initializers: dict[str, Callable[[Tensor], Tensor]] = {
            "zeros": init.zeros_,
            "ones": init.ones_,
            "normal": partial(init.normal_, std=self.scale),
            "uniform": partial(init.uniform_, a=-self.scale, b=self.scale),
            "xavier_uniform": init.xavier_uniform_,
            "xavier_normal": init.xavier_normal_,
            "kaiming_uniform": init.kaiming_uniform_,
            "kaiming_normal": init.kaiming_normal_,
        }
        if self.initialization not in initializers:
            raise ValueError(f"initialization must be one of {', '.join(initializers)}, not {self.initialization!r}")
        initializers[self.initialization](self.weight)

    def forward(self, batch: Tensor | None = None) -> Tensor:
        """The tensor.

        Args:
            batch: a tensor whose batch size the output is expanded to
        """
        return self.weight if batch is None else expand_to_batch(self.weight, batch)

    def extra_repr(self) -> str:
        return f"size={self.size}, initialization={self.initialization!r}"


@LAYERS.register(category=GROUP, title="Constant", tags=("buffer", "fixed", "mask", "mean", "scale", "full"))
class ConstantTensor(Module):
    """A constant tensor: ``→ (size)``, with a batch ``(N, *) → (N, size)``.

    It is a buffer: not trained, but saved with the weights. The output has no batch dimension and broadcasts with
    batches. If `batch` is connected, the output is expanded to its batch size.

    Args:
        size: shape of the tensor
        values: one value for all elements, or the values of all elements in row-major order
    """

    weight: Tensor

    def __init__(
        self,
        size: Size | tuple[Size, ...] = (1,),
        values: float | tuple[float, ...] = 0.0,
        device: DeviceArgument = None,
    ) -> None:
        super().__init__()
        self.size = (size,) if isinstance(size, int) else tuple(size)
        listed = (values,) if isinstance(values, (int, float)) else tuple(values)
        count = math.prod(self.size)
        if len(listed) not in (1, count):
            raise ValueError(f"values must be 1 or {count} numbers for the size {self.size}, not {len(listed)}")
        constant = tensor(listed, device=device, dtype=empty(0).dtype)
        whole = constant.expand(self.size) if len(listed) == 1 else constant.reshape(self.size)
        self.register_buffer("weight", whole.clone())

    def forward(self, batch: Tensor | None = None) -> Tensor:
        """The tensor.

        Args:
            batch: a tensor whose batch size the output is expanded to
        """
        return self.weight if batch is None else expand_to_batch(self.weight, batch)

    def extra_repr(self) -> str:
        return f"size={self.size}"


def expand_to_batch(constant: Tensor, batch: Tensor) -> Tensor:
    """``(*) → (N, *)``, with the batch size N of another tensor."""
    return constant.expand(batch.shape[0], *constant.shape)
