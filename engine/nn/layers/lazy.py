"""Layers that infer their input size from the first input."""

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
    """Base of lazy layers, which become a `cls_to_become` when first called.

    They take the arguments of that class except the first, which is inferred from the input. Until then the parameters
    are `UninitializedParameter`: they can be moved, converted and passed to an optimizer, and loading a state dict
    gives them their shapes.
    """

    cls_to_become: ClassVar[Any]
    defaults: ClassVar[dict[str, Any]] = {}
    """Defaults that differ from the regular layer, as in PyTorch."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__()
        bound = inspect.signature(self.cls_to_become).bind(1, *args, **kwargs).arguments
        kwargs = {name: value for name, value in self.defaults.items() if name not in bound} | kwargs
        # A regular layer of size 1 on the meta device provides everything that does not depend on the size.
        model = self.cls_to_become(1, *args, **kwargs, **({} if "device" in kwargs else {"device": META}))
        if "device" in kwargs:
            model = model.to(META)
        device = kwargs.get("device")
        self.__dict__.update({name: value for name, value in vars(model).items() if name not in vars(self)})
        self.__dict__[_size_argument(self.cls_to_become)] = 0
        self._arguments = (args, kwargs)
        for name, parameter in model._parameters.items():
            lazy = None if parameter is None else UninitializedParameter(device=device, dtype=parameter.dtype)
            self.register_parameter(name, lazy)
        for name, buffer in model._buffers.items():
            if buffer is None or not buffer.ndim:
                self.register_buffer(name, None if buffer is None else zeros((), device=device, dtype=buffer.dtype))
            else:
                self.register_buffer(name, UninitializedBuffer(device=device, dtype=buffer.dtype))

    def forward(self, *inputs: Tensor) -> Tensor:
        self.initialize_parameters(*inputs)
        return self.forward(*inputs)

    def has_uninitialized_params(self) -> bool:
        """Whether a parameter or buffer has no shape yet."""
        return any(is_lazy(tensor) for tensor in (*self._parameters.values(), *self._buffers.values()))

    def initialize_parameters(self, *inputs: Tensor) -> None:
        """Infer the parameter shapes from an input and become the regular layer."""
        args, kwargs = self.__dict__.pop("_arguments")
        regular = self.cls_to_become(_size(self.cls_to_become, inputs[0]), *args, **kwargs)
        for current, new in ((self._parameters, regular._parameters), (self._buffers, regular._buffers)):
            for name, tensor in current.items():
                if is_lazy(tensor):
                    tensor.materialize(new[name].shape)
                    with no_grad():
                        tensor.copy_(new[name])
        size = _size_argument(self.cls_to_become)
        self.__dict__[size] = getattr(regular, size)
        self.__class__ = self.cls_to_become

    def extra_repr(self) -> str:
        regular = self.cls_to_become.__new__(self.cls_to_become)
        regular.__dict__.update(self.__dict__)
        return regular.extra_repr()


def _size_argument(cls_to_become: Any) -> str:
    """Name of the argument that is inferred from the input."""
    return next(iter(inspect.signature(cls_to_become).parameters))


def _size(cls_to_become: Any, input: Tensor) -> Any:
    """Number of features or channels: the size of dimension 1, or 0 without a batch dimension."""
    if cls_to_become is Linear:
        return input.shape[-1]
    spatial = getattr(cls_to_become, "spatial", None)
    return input.shape[0 if input.ndim - 1 == spatial else 1]


class LazyLinear(Lazy):
    """`Linear` that infers in_features from its first input: ``LazyLinear(out_features, bias=True)``."""

    cls_to_become = Linear


class LazyConv1d(Lazy):
    """`Conv1d` that infers in_channels from its first input."""

    cls_to_become = Conv1d


class LazyConv2d(Lazy):
    """`Conv2d` that infers in_channels from its first input."""

    cls_to_become = Conv2d


class LazyConv3d(Lazy):
    """`Conv3d` that infers in_channels from its first input."""

    cls_to_become = Conv3d


class LazyConvTranspose1d(Lazy):
    """`ConvTranspose1d` that infers in_channels from its first input."""

    cls_to_become = ConvTranspose1d


class LazyConvTranspose2d(Lazy):
    """`ConvTranspose2d` that infers in_channels from its first input."""

    cls_to_become = ConvTranspose2d


class LazyConvTranspose3d(Lazy):
    """`ConvTranspose3d` that infers in_channels from its first input."""

    cls_to_become = ConvTranspose3d


class LazyBatchNorm1d(Lazy):
    """`BatchNorm1d` that infers num_features from its first input."""

    cls_to_become = BatchNorm1d


class LazyBatchNorm2d(Lazy):
    """`BatchNorm2d` that infers num_features from its first input."""

    cls_to_become = BatchNorm2d


class LazyBatchNorm3d(Lazy):
    """`BatchNorm3d` that infers num_features from its first input."""

    cls_to_become = BatchNorm3d


_AFFINE_AND_TRACKED = {"affine": True, "track_running_stats": True}


class LazyInstanceNorm1d(Lazy):
    """`InstanceNorm1d` that infers num_features from its first input; with weights and running statistics."""

    cls_to_become = InstanceNorm1d
    defaults: ClassVar[dict[str, Any]] = _AFFINE_AND_TRACKED


class LazyInstanceNorm2d(Lazy):
    """`InstanceNorm2d` that infers num_features from its first input; with weights and running statistics."""

    cls_to_become = InstanceNorm2d
    defaults: ClassVar[dict[str, Any]] = _AFFINE_AND_TRACKED


class LazyInstanceNorm3d(Lazy):
    """`InstanceNorm3d` that infers num_features from its first input; with weights and running statistics."""

    cls_to_become = InstanceNorm3d
    defaults: ClassVar[dict[str, Any]] = _AFFINE_AND_TRACKED
