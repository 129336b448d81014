"""Conversion of tensors to another dtype, device or memory format."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

from engine import dtypes
from engine.backend import CPU, Device, resolve
from engine.dtypes import DType
from engine.errors import DTypeError, RangeError
from engine.ops.movement import primitives
from engine.tensors.memory_format import memory_format

if TYPE_CHECKING:
    from engine.tensors.methods import Tensor


class ConversionMixin:
    """Base of Tensor: `to` in all of PyTorch's call forms, and its shorthands."""

    __slots__ = ()

    _array: Any
    _storage: Any

    @property
    def dtype(self) -> DType:
        return dtypes.from_numpy(self._array.dtype)

    @property
    def device(self) -> Device:
        return self._storage.device

    def is_floating_point(self) -> bool:
        """Return whether the dtype is floating-point."""
        return self.dtype.is_floating_point

    def is_complex(self) -> bool:
        """Return False: there are no complex dtypes."""
        return False

    def is_signed(self) -> bool:
        """Return whether the dtype has negative values."""
        return self.dtype.is_signed

    @property
    def real(self) -> Tensor:
        """Real part: the tensor itself, since there are no complex dtypes."""
        return cast("Tensor", self)

    @property
    def imag(self) -> Tensor:
        raise DTypeError(f"a {self.dtype.name} tensor has no imaginary part: complex dtypes are not supported")

    def to_dense(self, dtype: DType | None = None, *, masked_grad: bool = True) -> Tensor:
        """Return the tensor itself: all tensors are dense."""
        return self.to(dtype=dtype)

    def to(self, *args: Any, **kwargs: Any) -> Tensor:
        """Convert dtype or device. Returns the tensor itself if nothing changes and `copy` is False.

        Call forms: `to(dtype)`, `to(device)`, `to(device, dtype)`, `to(other)`. All take `copy`, `memory_format`.
        """
        dtype, device, copy, order = _parse_arguments(args, kwargs)
        me = result = cast("Tensor", self)
        if device is not None and device is not self._storage.device:
            result = result._move(device)
        if dtype is not None and dtype is not result.dtype:
            result = primitives.cast(result, dtype=dtype)
        if order is not None and order.order:
            result = primitives.contiguous(result, order)
        return result.clone() if copy and result is me else result

    def type(self, dtype: DType | str | type | None = None, non_blocking: bool = False) -> Any:
        """Return the type's name, or convert to `dtype`: a dtype, a tensor type, or a name such as "FloatTensor"."""
        if dtype is None:
            module = "" if self.device is CPU else f"{self.device.type}."
            return f"engine.{module}{self.dtype.title}Tensor"
        if isinstance(dtype, DType):
            return self.to(dtype)
        type_name = f"{getattr(dtype, '__module__', '')}.{dtype}"
        return self.to("cuda" if "cuda." in type_name else self.device, dtype_from_type_name(dtype))

    def type_as(self, other: Tensor) -> Tensor:
        """Convert to the dtype and device of `other`."""
        return self.to(other)

    def cpu(self, memory_format: memory_format | None = None) -> Tensor:
        """Copy to the CPU. Returns the tensor itself if it is there already."""
        return self.to(CPU, memory_format=memory_format)

    def cuda(
        self,
        device: Device | str | int | None = None,
        non_blocking: bool = False,
        memory_format: memory_format | None = None,
    ) -> Tensor:
        """Copy to a GPU. Returns the tensor itself if it is there already."""
        return self.to("cuda" if device is None else device, memory_format=memory_format)

    def double(self) -> Tensor:
        """Convert to float64."""
        return self.to(dtypes.float64)

    def half(self) -> Tensor:
        """Convert to float16."""
        return self.to(dtypes.float16)

    def bfloat16(self) -> Tensor:
        """Convert to bfloat16."""
        return self.to(dtypes.bfloat16)

    def long(self) -> Tensor:
        """Convert to int64."""
        return self.to(dtypes.int64)

    def short(self) -> Tensor:
        """Convert to int16."""
        return self.to(dtypes.int16)

    def char(self) -> Tensor:
        """Convert to int8."""
        return self.to(dtypes.int8)

    def byte(self) -> Tensor:
        """Convert to uint8."""
        return self.to(dtypes.uint8)

    # Last in the class: below them, float, int and bool would mean these methods.

    def float(self) -> Tensor:
        """Convert to float32."""
        return self.to(dtypes.float32)

    def int(self) -> Tensor:
        """Convert to int32."""
        return self.to(dtypes.int32)

    def bool(self) -> Tensor:
        """Convert to bool."""
        return self.to(dtypes.bool_)


def _parse_arguments(
    args: tuple[Any, ...], kwargs: dict[str, Any]
) -> tuple[DType | None, Device | None, bool, memory_format | None]:
    """Return the dtype, device, copy flag and memory format from the arguments of `to`."""
    unknown = kwargs.keys() - {"dtype", "device", "non_blocking", "copy", "memory_format", "other"}
    if unknown:
        raise TypeError(f"to() has no argument {min(unknown)!r}")
    dtype, device = kwargs.get("dtype"), kwargs.get("device")
    remaining: list[Any] = []
    if args or "other" in kwargs:
        first, *remaining = (kwargs["other"], *args) if "other" in kwargs else args
        if isinstance(first, (DType, type)):
            dtype = first
        elif hasattr(first, "_storage"):
            dtype, device = first.dtype, first.device
        else:
            device = first
            if remaining and (remaining[0] is None or isinstance(remaining[0], (DType, type))):
                dtype = remaining.pop(0) or dtype
    dtype = dtypes.as_optional_dtype("to", dtype)
    copy = remaining[1] if len(remaining) > 1 else kwargs.get("copy", False)  # rest: non_blocking, copy
    return dtype, None if device is None else resolve(device), copy, kwargs.get("memory_format")


def dtype_from_type_name(name: Any) -> DType:
    """Return the dtype of a legacy type: a class or a name such as "FloatTensor". "Tensor" is the default dtype."""
    text = (name if isinstance(name, str) else name.__name__).rpartition(".")[2]
    if text == "Tensor":
        return dtypes.get_default_dtype()
    title = text.removesuffix("Tensor")
    for dtype in dtypes.ALL:
        if dtype.title == title:
            return dtype
    raise RangeError(f"type(): {name!r} is not a tensor type.", in_code="Use a dtype such as engine.float32.")
