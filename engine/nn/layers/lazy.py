"""Layers that learn the size of their input from the first one they see."""

from __future__ import annotations

import inspect
from typing import Any, ClassVar

from engine.backend import META
from engine.modes import no_grad
from engine.nn.layers.batch_norm import BatchNorm1d, BatchNorm2d, BatchNorm3d
from engine.nn.layers.conv import Conv1d, Conv2d, Conv3d
from engine.nn.layers.conv_transpose import ConvTranspose1d, ConvTranspose2d, ConvTranspose3d
from engine.nn.layers.instance_norm import InstanceNorm1d, InstanceNorm2d, InstanceNorm3d
from engine.nn.layers.linear import Linear
from engine.nn.module import Module
from engine.nn.parameter import UninitializedBuffer, UninitializedParameter, is_lazy
from engine.tensors import Tensor
from engine.tensors.creation import zeros


class Lazy(Module):
    """Turns into `cls_to_become` when first called: takes that class's arguments but for the first, which it reads off.

    Until then its parameters are there without a shape (`UninitializedParameter`). They may be moved, converted and
    given to an optimizer, and loading weights gives them theirs.
    """

    cls_to_become: ClassVar[Any]
    defaults: ClassVar[dict[str, Any]] = {}
    """Where PyTorch has other defaults than in the plain layer."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__()
        given = inspect.signature(self.cls_to_become).bind(1, *args, **kwargs).arguments
        kwargs = {name: value for name, value in self.defaults.items() if name not in given} | kwargs
        # The layer without numbers, for a size of 1: what does not depend on the size is taken over from it.
        model = self.cls_to_become(1, *args, **kwargs, **({} if "device" in kwargs else {"device": META}))
        if "device" in kwargs:
            model = model.to(META)
        place = kwargs.get("device")
        self.__dict__.update({name: value for name, value in vars(model).items() if name not in vars(self)})
        self.__dict__[_sized(self.cls_to_become)] = 0
        self._arguments = (args, kwargs)
        for name, parameter in model._parameters.items():
            lazy = None if parameter is None else UninitializedParameter(device=place, dtype=parameter.dtype)
            self.register_parameter(name, lazy)
        for name, buffer in model._buffers.items():
            if buffer is None or not buffer.ndim:
                self.register_buffer(name, None if buffer is None else zeros((), device=place, dtype=buffer.dtype))
            else:
                self.register_buffer(name, UninitializedBuffer(device=place, dtype=buffer.dtype))

    def forward(self, *inputs: Tensor) -> Tensor:
        self.initialize_parameters(*inputs)
        return self.forward(*inputs)

    def has_uninitialized_params(self) -> bool:
        """Whether the shape of a parameter or buffer is not known yet."""
        return any(is_lazy(tensor) for tensor in (*self._parameters.values(), *self._buffers.values()))

    def initialize_parameters(self, *inputs: Tensor) -> None:
        """Give the parameters the shape for an input like this one, and become the plain layer."""
        args, kwargs = self.__dict__.pop("_arguments")
        made = self.cls_to_become(_size(self.cls_to_become, inputs[0]), *args, **kwargs)
        for mine, new in ((self._parameters, made._parameters), (self._buffers, made._buffers)):
            for name, tensor in mine.items():
                if is_lazy(tensor):
                    tensor.materialize(new[name].shape)
                    with no_grad():
                        tensor.copy_(new[name])
        size = _sized(self.cls_to_become)
        self.__dict__[size] = getattr(made, size)
        self.__class__ = self.cls_to_become

    def extra_repr(self) -> str:
        shown = self.cls_to_become.__new__(self.cls_to_become)
        shown.__dict__.update(self.__dict__)
        return shown.extra_repr()


def _sized(cls_to_become: Any) -> str:
    """The argument that is read off the input."""
    return next(iter(inspect.signature(cls_to_become).parameters))


def _size(cls_to_become: Any, input: Tensor) -> Any:
    """The number of features or channels; dimension 1, or 0 where the batch is missing."""
    if cls_to_become is Linear:
        return input.shape[-1]
    spatial = getattr(cls_to_become, "spatial", None)
    return input.shape[0 if input.ndim - 1 == spatial else 1]


class LazyLinear(Lazy):
    """`Linear` whose in_features is that of its first input: ``LazyLinear(out_features, bias=True)``."""

    cls_to_become = Linear


class LazyConv1d(Lazy):
    """`Conv1d` whose in_channels is that of its first input."""

    cls_to_become = Conv1d


class LazyConv2d(Lazy):
    """`Conv2d` whose in_channels is that of its first input."""

    cls_to_become = Conv2d


class LazyConv3d(Lazy):
    """`Conv3d` whose in_channels is that of its first input."""

    cls_to_become = Conv3d


class LazyConvTranspose1d(Lazy):
    """`ConvTranspose1d` whose in_channels is that of its first input."""

    cls_to_become = ConvTranspose1d


class LazyConvTranspose2d(Lazy):
    """`ConvTranspose2d` whose in_channels is that of its first input."""

    cls_to_become = ConvTranspose2d


class LazyConvTranspose3d(Lazy):
    """`ConvTranspose3d` whose in_channels is that of its first input."""

    cls_to_become = ConvTranspose3d


class LazyBatchNorm1d(Lazy):
    """`BatchNorm1d` whose num_features is that of its first input."""

    cls_to_become = BatchNorm1d


class LazyBatchNorm2d(Lazy):
    """`BatchNorm2d` whose num_features is that of its first input."""

    cls_to_become = BatchNorm2d


class LazyBatchNorm3d(Lazy):
    """`BatchNorm3d` whose num_features is that of its first input."""

    cls_to_become = BatchNorm3d


_LEARNING = {"affine": True, "track_running_stats": True}


class LazyInstanceNorm1d(Lazy):
    """`InstanceNorm1d` whose num_features is that of its first input; with weights and running statistics."""

    cls_to_become = InstanceNorm1d
    defaults: ClassVar[dict[str, Any]] = _LEARNING


class LazyInstanceNorm2d(Lazy):
    """`InstanceNorm2d` whose num_features is that of its first input; with weights and running statistics."""

    cls_to_become = InstanceNorm2d
    defaults: ClassVar[dict[str, Any]] = _LEARNING


class LazyInstanceNorm3d(Lazy):
    """`InstanceNorm3d` whose num_features is that of its first input; with weights and running statistics."""

    cls_to_become = InstanceNorm3d
    defaults: ClassVar[dict[str, Any]] = _LEARNING
