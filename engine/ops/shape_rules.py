"""Shape rules that kinds of ops share. Sizes may be symbolic."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeAlias

from engine.errors import DTypeError, PositionError, ShapeError
from engine.shape import Dim, Shape, Spec, count, format_shape

Dims: TypeAlias = int | tuple[int, ...] | None


def broadcast_shapes(name: str, shapes: Sequence[Shape]) -> Shape:
    """The common shape. Raises ShapeError naming the first dimension that does not fit."""
    length = max((len(shape) for shape in shapes), default=0)
    result: list[Any] = []
    for index in range(-length, 0):
        size: Any = 1
        for shape in shapes:
            other = shape[index] if len(shape) >= -index else 1
            if other == 1 or other == size:
                continue
            if size != 1:
                named = " and ".join(map(format_shape, shapes))
                raise ShapeError(
                    f"{name}: {named} do not broadcast: dimension {index} is {size} in one and {other} in another. "
                    "Sizes must be equal, or 1."
                )
            size = other
        result.append(size)
    return tuple(result)


def wrap_dim(name: str, dim: int, ndim: int) -> int:
    """A dimension counted from the front. A scalar counts as having one."""
    if 0 <= dim < ndim:
        return dim
    limit = max(ndim, 1)
    if not -limit <= dim < limit:
        raise PositionError(f"{name}: there is no dimension {dim}: the tensor has {ndim}. Use {-limit} to {limit - 1}.")
    return dim % limit


def wrap_dims(name: str, dim: Dims, ndim: int) -> tuple[int, ...]:
    """The dimensions that `dim` means, from the front; None and () mean all."""
    if dim is None or dim == ():
        return tuple(range(ndim))
    dims = tuple(wrap_dim(name, d, ndim) for d in (dim if isinstance(dim, (tuple, list)) else (dim,)))
    if len(set(dims)) < len(dims):
        raise ShapeError(f"{name}: dimension {max(dims, key=dims.count)} is named twice in dim={dim}")
    return tuple(d for d in dims if d < ndim)


def copy_checked(name: str, target: Any, src: Any) -> None:
    """Copies `src` to a view that must have its shape. Raises ShapeError for one that would have to be repeated."""
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
    """`shape` with its −1 filled in."""
    sizes = list(shape)
    if any(isinstance(size, int) and size < -1 for size in sizes):
        raise ShapeError(f"{name}: sizes must be at least 0, except one -1: {tuple(shape)}")
    total = count(x.shape)
    unknown = [i for i, size in enumerate(sizes) if not isinstance(size, Dim) and size == -1]
    if len(unknown) > 1:
        raise ShapeError(f"{name}: only one size can be -1, in {tuple(shape)}")
    known = count(size for i, size in enumerate(sizes) if i not in unknown)
    if unknown:
        if known == 0 or (isinstance(total, int) and isinstance(known, int) and total % known) or _uneven(total, known):
            raise ShapeError(f"{name}: {format_shape(x.shape)} ({total} elements) does not divide into {_given(shape)}")
        sizes[unknown[0]] = total // known
    elif known != total:
        raise ShapeError(f"{name}: {format_shape(x.shape)} has {total} elements, {_given(shape)} has {known}")
    return tuple(sizes)


def _given(shape: Sequence[Any]) -> str:
    return format_shape("?" if not isinstance(s, Dim) and s == -1 else s for s in shape)


def _uneven(total: Any, known: Any) -> bool:
    return (isinstance(total, Dim) or isinstance(known, Dim)) and (total // known) * known != total


def matmul_shape(name: str, x: Spec, y: Spec) -> Shape:
    """PyTorch's matmul: vectors, matrices, and batches of matrices that broadcast."""
    if x.ndim == 0 or y.ndim == 0:
        raise ShapeError(
            f"{name}: both tensors need at least one dimension; got {format_shape(x.shape)} and {format_shape(y.shape)}"
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
    """Raises DTypeError unless all tensors have one dtype."""
    found = [spec.dtype for spec in specs if isinstance(spec, Spec)]
    if any(dtype is not found[0] for dtype in found):
        names = ", ".join(dtype.name for dtype in found)
        raise DTypeError(f"{name}: the tensors must have one dtype, not {names}.", in_code="Convert with .to(dtype).")


def window_size(size: Any, kernel: int, stride: int, padding: int, dilation: int = 1, ceil_mode: bool = False) -> Any:
    """How many positions a sliding window has along one dimension."""
    span = size + 2 * padding - dilation * (kernel - 1) - 1
    if not ceil_mode:
        return span // stride + 1
    window_count = (span + stride - 1) // stride + 1
    # The last window must start inside the input or its left padding.
    return window_count - 1 if (window_count - 1) * stride >= size + padding else window_count
