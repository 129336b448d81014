"""Layers that learn the size of their input from the first one they see."""

from __future__ import annotations

from typing import Any, ClassVar

from engine.nn.layers.batch_norm import BatchNorm1d, BatchNorm2d, BatchNorm3d
from engine.nn.layers.conv import Conv1d, Conv2d, Conv3d
from engine.nn.layers.conv_transpose import ConvTranspose1d, ConvTranspose2d, ConvTranspose3d
from engine.nn.layers.instance_norm import InstanceNorm1d, InstanceNorm2d, InstanceNorm3d
from engine.nn.layers.linear import Linear
from engine.nn.module import Module
from engine.tensor import Tensor


class Lazy(Module):
    """Turns into `becomes` when first called: takes that class's arguments but for the first, which it reads off."""

    becomes: ClassVar[Any]

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__()
        self._arguments = (args, kwargs)

    def forward(self, *inputs: Tensor) -> Tensor:
        self.initialize_parameters(*inputs)
        return self.forward(*inputs)

    def has_uninitialized_params(self) -> bool:
        """Whether it has not been called yet."""
        return True

    def initialize_parameters(self, *inputs: Tensor) -> None:
        """Make the parameters for an input like this one, and become the plain layer."""
        args, kwargs = self.__dict__.pop("_arguments")
        own = self.__dict__
        made = self.becomes(_size(self.becomes, inputs[0]), *args, **kwargs).__dict__
        tables = {name: made[name] for name in ("_parameters", "_buffers", "_modules", "_unsaved")}
        own.update({name: value for name, value in made.items() if name not in own} | tables)
        self.__class__ = self.becomes

    def extra_repr(self) -> str:
        args, kwargs = self._arguments
        return ", ".join(["0", *map(repr, args), *(f"{name}={value!r}" for name, value in kwargs.items())])


def _size(becomes: Any, input: Tensor) -> Any:
    """The number of features or channels; dimension 1, or 0 where the batch is missing."""
    if becomes is Linear:
        return input.shape[-1]
    spatial = getattr(becomes, "spatial", None)
    return input.shape[0 if input.ndim - 1 == spatial else 1]


class LazyLinear(Lazy):
    """`Linear` whose in_features is that of its first input: ``LazyLinear(out_features, bias=True)``."""

    becomes = Linear


class LazyConv1d(Lazy):
    """`Conv1d` whose in_channels is that of its first input."""

    becomes = Conv1d


class LazyConv2d(Lazy):
    """`Conv2d` whose in_channels is that of its first input."""

    becomes = Conv2d


class LazyConv3d(Lazy):
    """`Conv3d` whose in_channels is that of its first input."""

    becomes = Conv3d


class LazyConvTranspose1d(Lazy):
    """`ConvTranspose1d` whose in_channels is that of its first input."""

    becomes = ConvTranspose1d


class LazyConvTranspose2d(Lazy):
    """`ConvTranspose2d` whose in_channels is that of its first input."""

    becomes = ConvTranspose2d


class LazyConvTranspose3d(Lazy):
    """`ConvTranspose3d` whose in_channels is that of its first input."""

    becomes = ConvTranspose3d


class LazyBatchNorm1d(Lazy):
    """`BatchNorm1d` whose num_features is that of its first input."""

    becomes = BatchNorm1d


class LazyBatchNorm2d(Lazy):
    """`BatchNorm2d` whose num_features is that of its first input."""

    becomes = BatchNorm2d


class LazyBatchNorm3d(Lazy):
    """`BatchNorm3d` whose num_features is that of its first input."""

    becomes = BatchNorm3d


class LazyInstanceNorm1d(Lazy):
    """`InstanceNorm1d` whose num_features is that of its first input."""

    becomes = InstanceNorm1d


class LazyInstanceNorm2d(Lazy):
    """`InstanceNorm2d` whose num_features is that of its first input."""

    becomes = InstanceNorm2d


class LazyInstanceNorm3d(Lazy):
    """`InstanceNorm3d` whose num_features is that of its first input."""

    becomes = InstanceNorm3d
