"""A layer that outputs a learned tensor, independent of the values of its input."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Literal, TypeAlias

from engine.nn import init
from engine.nn.layers.annotations import DeviceArgument
from engine.nn.module import Module
from engine.nn.parameter import Parameter
from engine.registry import LAYERS, Positive, Size
from engine.tensors import Tensor
from engine.tensors.creation import empty

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


def expand_to_batch(constant: Tensor, batch: Tensor) -> Tensor:
    """``(*) → (N, *)``, with the batch size N of another tensor."""
    return constant.expand(batch.shape[0], *constant.shape)
