"""Shape rules and argument checks for several ops. Sizes may be symbolic."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeAlias

from engine.dtypes import DType, uint8
from engine.errors import DTypeError, IndexRangeError, ShapeError
from engine.shape import Dim, Shape, Spec, count, format_shape

Dims: TypeAlias = int | tuple[int, ...] | None


def broadcast_shapes(name: str, shapes: Sequence[Shape]) -> Shape:
    """The broadcast shape. Raises ShapeError with the first dimension that does not broadcast."""
    length = max((len(shape) for shape in shapes), default=0)
    result: list[Any] = []
    for index in range(-length, 0):
        size: Any = 1
        for shape in shapes:
            other = shape[index] if len(shape) >= -index else 1
            if other == 1 or other == size:
                continue
            if size != 1:
                listed = " and ".join(map(format_shape, shapes))
                raise ShapeError(
                    f"{name}: {listed} do not broadcast: dimension {index} is {size} in one and {other} in another. "
                    "Sizes must be equal, or 1."
                )
            size = other
        result.append(size)
    return tuple(result)


def wrap_dim(name: str, dim: int, ndim: int) -> int:
    """`dim` as a non-negative number. A scalar counts as having one dimension."""
    if 0 <= dim < ndim:
        return dim
    limit = max(ndim, 1)
    if not -limit <= dim < limit:
        raise IndexRangeError(
            f"{name}: dimension {dim} is out of range for a tensor of {ndim} dimensions. Use {-limit} to {limit - 1}."
        )
    return dim % limit


def wrap_dims(name: str, dim: Dims, ndim: int) -> tuple[int, ...]:
    """`dim` as a tuple of non-negative numbers. None and () mean all dimensions."""
    if dim is None or dim == ():
        return tuple(range(ndim))
    dims = tuple(wrap_dim(name, d, ndim) for d in (dim if isinstance(dim, (tuple, list)) else (dim,)))
    if len(set(dims)) < len(dims):
        raise ShapeError(f"{name}: dimension {max(dims, key=dims.count)} appears twice in dim={dim}")
    return tuple(d for d in dims if d < ndim)


def copy_checked(name: str, target: Any, src: Any) -> None:
    """Copy `src` to the view `target`. Raises ShapeError if the shapes differ: `src` is not broadcast."""
    if tuple(target.shape) != tuple(src.shape):
        raise ShapeError(
            f"{name}: the target shape is {format_shape(target.shape)}, but src is {format_shape(src.shape)}"
        )
    target.copy_(src)


def reduced(name: str, x: Spec, dim: Dims, keepdim: bool) -> Shape:
    """The shape after reducing over `dim`."""
    dims = wrap_dims(name, dim, x.ndim)
    if keepdim:
        return tuple(1 if i in dims else size for i, size in enumerate(x.shape))
    return tuple(size for i, size in enumerate(x.shape) if i not in dims)


def reshaped(name: str, x: Spec, shape: Sequence[Any]) -> Shape:
    """`shape` for reshaping x, with −1 replaced by its size."""
    sizes = list(shape)
    if any(isinstance(size, int) and size < -1 for size in sizes):
        raise ShapeError(f"{name}: sizes must be at least 0, except a single -1, not {tuple(shape)}")
    total = count(x.shape)
    unknown = [i for i, size in enumerate(sizes) if not isinstance(size, Dim) and size == -1]
    if len(unknown) > 1:
        raise ShapeError(f"{name}: only one size can be -1, not {tuple(shape)}")
    elements = count(size for i, size in enumerate(sizes) if i not in unknown)
    if unknown:
        if elements == 0 or not _divides(elements, total):
            raise ShapeError(
                f"{name}: {format_shape(x.shape)} ({total} elements) does not divide into {_requested(shape)}"
            )
        sizes[unknown[0]] = total // elements
    elif elements != total:
        raise ShapeError(f"{name}: {format_shape(x.shape)} has {total} elements, {_requested(shape)} has {elements}")
    return tuple(sizes)


def _requested(shape: Sequence[Any]) -> str:
    """The requested shape with ? for −1."""
    return format_shape("?" if not isinstance(s, Dim) and s == -1 else s for s in shape)


def _divides(divisor: Any, total: Any) -> bool:
    """Whether `total` is a multiple of `divisor`; either may be symbolic."""
    return (total // divisor) * divisor == total


def matmul_shape(name: str, x: Spec, y: Spec) -> Shape:
    """Shape of PyTorch's matmul: vectors, matrices, and batches of matrices that broadcast."""
    if x.ndim == 0 or y.ndim == 0:
        raise ShapeError(
            f"{name}: both tensors must have at least one dimension, not {format_shape(x.shape)} and "
            f"{format_shape(y.shape)}"
        )
    inner_x = x.shape[-1]
    inner_y = y.shape[0] if y.ndim == 1 else y.shape[-2]
    if inner_x != inner_y:
        raise ShapeError(
            f"{name}: {format_shape(x.shape)} and {format_shape(y.shape)} do not multiply: "
            f"the first has {inner_x} columns, the second {inner_y} rows."
        )
    batch = broadcast_shapes(f"{name}, leading dimensions", [x.shape[:-2], y.shape[:-2]])
    return (*batch, *x.shape[-2:-1], *(y.shape[-1:] if y.ndim > 1 else ()))


def same_dtype(name: str, *specs: Any) -> None:
    """Raise DTypeError unless all tensors have the same dtype."""
    tensor_dtypes = [spec.dtype for spec in specs if isinstance(spec, Spec)]
    if any(dtype is not tensor_dtypes[0] for dtype in tensor_dtypes):
        names = ", ".join(dtype.name for dtype in tensor_dtypes)
        raise DTypeError(
            f"{name}: the tensors must have the same dtype, not {names}.", in_code="Convert with .to(dtype)."
        )


def window_size(size: Any, kernel: int, stride: int, padding: int, dilation: int = 1, ceil_mode: bool = False) -> Any:
    """Number of positions of a sliding window along one dimension."""
    span = size + 2 * padding - dilation * (kernel - 1) - 1
    if not ceil_mode:
        return span // stride + 1
    window_count = (span + stride - 1) // stride + 1
    # The last window must start inside the input or its left padding.
    return window_count - 1 if (window_count - 1) * stride >= size + padding else window_count


def bytes_spec(x: Spec) -> Spec:
    """Spec of the rows of `x` viewed as bytes, for results that have no gradient."""
    return Spec((*x.shape[:-1], x.shape[-1] * kernel_itemsize(x.dtype)), uint8)


def kernel_itemsize(dtype: DType) -> int:
    """Bytes of a number inside a kernel, where bfloat16 is stored as float32."""
    return dtype.itemsize if dtype.numpy.kind == "f" else 4
