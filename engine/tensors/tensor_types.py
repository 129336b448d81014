"""PyTorch's legacy tensor types, which tutorials still use, such as FloatTensor and LongTensor."""

from __future__ import annotations

from typing import Any

from engine import backend, dtypes
from engine.backend import Device
from engine.dtypes import DType
from engine.tensors.conversion_mixin import dtype_from_type_name
from engine.tensors.tensor import Tensor, legacy_memory


class TensorType(type):
    """Metaclass of tensor types. Instances are the tensors of a dtype; calling it creates one from sizes or data."""

    dtype: DType
    device_type: str

    def __call__(cls, *data: Any, device: Any = None) -> Tensor:
        return Tensor(*legacy_memory(data, cls.dtype, backend.resolve(device or cls.device_type)))

    def __instancecheck__(cls, instance: Any) -> bool:
        return isinstance(instance, Tensor) and instance.dtype is cls.dtype and instance.device.type == cls.device_type

    def __repr__(cls) -> str:
        return f"<class '{cls.__module__}.{cls.__name__}'>"


def type_of(dtype: DType, device_type: str = "cpu") -> Any:
    """Return the tensor type of a dtype on a device type."""
    name, module = f"{dtype.title}Tensor", "engine" if device_type == "cpu" else f"engine.{device_type}"
    members = {"dtype": dtype, "device_type": device_type, "__doc__": f"Tensors of {dtype.name}.", "__module__": module}
    return TensorType(name, (), members)


BoolTensor = type_of(dtypes.bool_)
ByteTensor = type_of(dtypes.uint8)
CharTensor = type_of(dtypes.int8)
ShortTensor = type_of(dtypes.int16)
IntTensor = type_of(dtypes.int32)
LongTensor = type_of(dtypes.int64)
HalfTensor = type_of(dtypes.float16)
BFloat16Tensor = type_of(dtypes.bfloat16)
FloatTensor = type_of(dtypes.float32)
DoubleTensor = type_of(dtypes.float64)


def set_default_tensor_type(t: Any) -> None:
    """Set the default dtype, and for a type of "cuda" the default device."""
    dtypes.set_default_dtype(dtype_from_type_name(t))
    text = t if isinstance(t, str) else f"{t.__module__}.{t.__name__}"
    if ".cuda." in text:
        backend.set_default_device(Device("cuda"))


__all__ = [
    "BFloat16Tensor",
    "BoolTensor",
    "ByteTensor",
    "CharTensor",
    "DoubleTensor",
    "FloatTensor",
    "HalfTensor",
    "IntTensor",
    "LongTensor",
    "ShortTensor",
    "set_default_tensor_type",
]
