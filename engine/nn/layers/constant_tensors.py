"""Layers that output constant tensors: given values, ranges of numbers and identity matrices."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Literal, TypeAlias

from engine.dtypes import DType, bool_, int64
from engine.nn.layers.annotations import DeviceArgument
from engine.nn.layers.learned_tensors import GROUP, expand_to_batch
from engine.nn.module import Module
from engine.registry import LAYERS, Size
from engine.tensors import Tensor
from engine.tensors.creation import arange, empty, eye, linspace, tensor

ElementType: TypeAlias = Literal["float", "int64", "bool"]
RangeType: TypeAlias = Literal["int64", "float"]

FITTING: Mapping[str, tuple[str, Callable[[float], bool]]] = {
    "float": ("numbers", lambda value: True),
    "int64": ("whole numbers", lambda value: float(value).is_integer()),
    "bool": ("0 or 1", lambda value: value in (0, 1)),
}
"""What the values of a constant must be by its dtype, and whether one is."""

MAX_ELEMENTS = 2**24
"""Of a range, whose size is easily mistyped."""


class BufferTensor(Module):
    """A tensor that is a buffer: not trained, and on the device of the module."""

    weight: Tensor

    def forward(self, batch: Tensor | None = None) -> Tensor:
        """The tensor.

        Args:
            batch: a tensor whose batch size the output is expanded to
        """
        return self.weight if batch is None else expand_to_batch(self.weight, batch)


@LAYERS.register(
    category=GROUP, title="Constant", tags=("buffer", "fixed", "mask", "mean", "scale", "full", "zeros", "ones")
)
class ConstantTensor(BufferTensor):
    """A constant tensor: ``→ (size)``, with a batch ``(N, *) → (N, size)``.

    It is a buffer: not trained, but saved with the weights. The output has no batch dimension and broadcasts with
    batches. If `batch` is connected, the output is expanded to its batch size.

    Args:
        size: shape of the tensor
        values: one value for all elements, or the values of all elements in row-major order
        dtype: dtype of the elements; float is the default dtype, float32
    """

    def __init__(
        self,
        size: Size | tuple[Size, ...] = (1,),
        values: float | tuple[float, ...] = 0.0,
        dtype: ElementType = "float",
        device: DeviceArgument = None,
    ) -> None:
        super().__init__()
        self.size = (size,) if isinstance(size, int) else tuple(size)
        self.dtype = dtype
        listed = (values,) if isinstance(values, (int, float)) else tuple(values)
        count = math.prod(self.size)
        if len(listed) not in (1, count):
            raise ValueError(f"values must be 1 or {count} numbers for the size {self.size}, not {len(listed)}")
        kind, fits = FITTING[dtype]
        unfit = next((value for value in listed if not fits(value)), None)
        if unfit is not None:
            raise ValueError(f"values must be {kind} for the dtype {dtype}, not {unfit:g}")
        constant = tensor(listed, device=device, dtype=_dtype(dtype))
        whole = constant.expand(self.size) if len(listed) == 1 else constant.reshape(self.size)
        self.register_buffer("weight", whole.clone())

    def extra_repr(self) -> str:
        return f"size={self.size}" + (f", dtype={self.dtype}" if self.dtype != "float" else "")


@LAYERS.register(category=GROUP, title="Range", tags=("arange", "positions", "indices", "count", "sequence"))
class RangeTensor(BufferTensor):
    """Whole numbers with a constant step, as `engine.arange`: ``→ (L)``, with a batch ``(N, *) → (N, L)``.

    L is ``(end - start) / step``, rounded up. It is a buffer that is neither trained nor saved. If `batch` is
    connected, the output is expanded to its batch size.

    Args:
        end: limit, which is not part of the range
        start: first number
        step: difference of neighbors
        dtype: dtype of the elements; float is the default dtype, float32
    """

    def __init__(
        self,
        end: int,
        start: int = 0,
        step: int = 1,
        dtype: RangeType = "int64",
        device: DeviceArgument = None,
    ) -> None:
        super().__init__()
        self.start, self.end, self.step = start, end, step
        count = len(range(start, end, step)) if step else 0
        if not 0 < count <= MAX_ELEMENTS:
            raise ValueError(
                f"a range must have 1 to {MAX_ELEMENTS:,} elements; from {start:,} to {end:,} in steps of {step:,} it "
                f"has {count:,}"
            )
        numbers = arange(start, end, step, device=device, dtype=_dtype(dtype))
        self.register_buffer("weight", numbers, persistent=False)

    def extra_repr(self) -> str:
        return f"end={self.end}, start={self.start}, step={self.step}"


@LAYERS.register(category=GROUP, title="Evenly spaced numbers", tags=("linspace", "grid", "coordinates", "interval"))
class LinspaceTensor(BufferTensor):
    """Numbers from `start` to `end`, as `engine.linspace`: ``→ (steps)``, with a batch ``(N, *) → (N, steps)``.

    Both limits are included. It is a buffer that is neither trained nor saved. If `batch` is connected, the output is
    expanded to its batch size.

    Args:
        steps: count of numbers
        start: first number
        end: last number
    """

    def __init__(self, steps: Size, start: float = 0.0, end: float = 1.0, device: DeviceArgument = None) -> None:
        super().__init__()
        self.steps, self.start, self.end = steps, start, end
        self.register_buffer("weight", linspace(start, end, steps, device=device), persistent=False)

    def extra_repr(self) -> str:
        return f"steps={self.steps}, start={self.start:g}, end={self.end:g}"


@LAYERS.register(category=GROUP, title="Identity matrix", tags=("eye", "unit matrix", "diagonal", "ones"))
class IdentityMatrix(BufferTensor):
    """Ones on the diagonal, as `engine.eye`: ``→ (rows, columns)``, with a batch ``(N, *) → (N, rows, columns)``.

    It is a buffer that is neither trained nor saved. If `batch` is connected, the output is
    expanded to its batch size.

    Args:
        rows: number of rows
        columns: number of columns; as many as rows if not given
    """

    def __init__(self, rows: Size, columns: Size | None = None, device: DeviceArgument = None) -> None:
        super().__init__()
        self.rows, self.columns = rows, rows if columns is None else columns
        self.register_buffer("weight", eye(self.rows, self.columns, device=device), persistent=False)

    def extra_repr(self) -> str:
        return f"rows={self.rows}, columns={self.columns}"


def _dtype(name: str) -> DType:
    return {"int64": int64, "bool": bool_}.get(name) or empty(0).dtype
