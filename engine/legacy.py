"""PyTorch's tensor types of old, which tutorials still use: FloatTensor, LongTensor and the like."""

from __future__ import annotations

from typing import Any

from engine import backend, dtypes
from engine.backend import Device
from engine.conversion import named
from engine.dtypes import DType
from engine.tensor import Tensor, legacy_memory


class TensorType(type):
    """A class whose instances are the tensors of one dtype; called, it makes one of sizes or of data."""

    dtype: DType

    def __call__(cls, *data: Any, device: Any = None) -> Tensor:
        return Tensor(*legacy_memory(data, cls.dtype, backend.resolve(device)))

    def __instancecheck__(cls, instance: Any) -> bool:
        return isinstance(instance, Tensor) and instance.dtype is cls.dtype and not instance.is_cuda

    def __repr__(cls) -> str:
        return f"<class 'engine.{cls.__name__}'>"


def _type_of(dtype: DType) -> Any:
    name = f"{dtype.title}Tensor"
    return TensorType(name, (), {"dtype": dtype, "__doc__": f"Tensors of {dtype.name}.", "__module__": "engine"})


BoolTensor = _type_of(dtypes.bool_)
ByteTensor = _type_of(dtypes.uint8)
CharTensor = _type_of(dtypes.int8)
ShortTensor = _type_of(dtypes.int16)
IntTensor = _type_of(dtypes.int32)
LongTensor = _type_of(dtypes.int64)
HalfTensor = _type_of(dtypes.float16)
BFloat16Tensor = _type_of(dtypes.bfloat16)
FloatTensor = _type_of(dtypes.float32)
DoubleTensor = _type_of(dtypes.float64)


def set_default_tensor_type(t: Any) -> None:
    """PyTorch's old way to set the default dtype, and with "cuda" in the name the default device."""
    dtypes.set_default_dtype(named(t))
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
