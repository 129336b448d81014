"""Ops on the elements selected by a mask, and indices of nonzero elements."""

from __future__ import annotations

from typing import Any

from engine.dtypes import int64
from engine.errors import DTypeError, ShapeError
from engine.modes import MODES
from engine.ops.composite import composite
from engine.ops.elementwise.selection import where_op
from engine.ops.indexing.index import TensorSlot, index_op
from engine.ops.record import op
from engine.ops.shape_rules import broadcast_shapes
from engine.shape import Spec


def _masked(s: Any) -> Any:
    return [(s.normal(3, 4), s.booleans(3, 4)), (s.normal(3, 4), s.booleans(4)), (s.normal(3, 1), s.booleans(3, 1))]


@composite(in_place=True, sample=lambda s: [
    *(((x, mask, 2), {}) for x, mask in _masked(s)), ((s.normal(3, 4), s.booleans(3, 1), s.normal()), {}),
    ((s.normal(3), s.booleans(2, 3), -float("inf")), {}),
])  # fmt: skip
def masked_fill(x: Any, mask: Any, value: Any) -> Any:
    """x with `value` where the mask is True.

    Args:
        x: any tensor
        mask: boolean tensor that broadcasts to x
        value: the number where the mask is True, such as −1e9 for scores that softmax is to ignore
    """
    _check_mask("masked_fill", mask)
    if hasattr(value, "dtype"):
        if value.ndim:
            raise ShapeError(f"masked_fill: value must be 0-d, not {tuple(value.shape)}.", in_code="Use where().")
        value = value.to(x.dtype)
    elif isinstance(value, float) and x.dtype.kind == 1:
        if value != value or abs(value) == float("inf"):
            raise DTypeError(
                f"masked_fill: {value} cannot be written into {x.dtype.name}.", in_code="Convert with .float()."
            )
        value = int(value)
    if not x.dtype.kind and not hasattr(value, "dtype"):
        value = bool(value)
    return where_op(mask, value, x)


def _check_mask(name: str, mask: Any) -> None:
    if mask.dtype.kind:
        raise DTypeError(f"{name}: the mask must be booleans, not {mask.dtype.name}.", in_code="Convert with .bool().")


@composite(sample=lambda s: [((x, mask), {}) for x, mask in _masked(s)])
def masked_select(x: Any, mask: Any) -> Any:
    """Vector of the elements of x where the mask is True."""
    _check_mask("masked_select", mask)
    shape = broadcast_shapes("masked_select", [tuple(x.shape), tuple(mask.shape)])
    if not shape:
        x, mask = x.reshape(1), mask.reshape(1)
        shape = (1,)
    return index_op((x.expand(shape), mask.expand(shape)), layout=(TensorSlot(0),))


@composite(in_place=True, sample=lambda s: [((x, mask, s.normal(12)), {}) for x, mask in _masked(s)])
def masked_scatter(x: Any, mask: Any, source: Any) -> Any:
    """x with consecutive elements of `source` written where the mask is True."""
    _check_mask("masked_scatter", mask)
    if source.dtype is not x.dtype:
        raise DTypeError(
            f"masked_scatter: x and source must have the same dtype, not {x.dtype.name} and {source.dtype.name}"
        )
    shape = broadcast_shapes("masked_scatter", [tuple(x.shape), tuple(mask.shape)])
    wide = mask.expand(shape)
    if source.numel() == 0 or wide.numel() == 0:
        return x.expand(shape).clone()
    order = wide.reshape(-1).cumsum(0) - 1
    if not x.is_meta and int(order[-1]) >= source.numel():
        raise ShapeError(
            f"masked_scatter: the mask selects {int(order[-1]) + 1} elements, but source has {source.numel()}"
        )
    return where_op(mask, source.reshape(-1).take(order.clamp(min=0)).reshape(shape), x)


@op("other", sample=lambda s: [((s.repeated(3, 4),), {}), ((s.repeated(5),), {})])
def argwhere(xp, x):
    """Indices of nonzero elements, one per row."""
    return xp.asarray(xp.argwhere(x), xp.int64)


@argwhere.shape
def _(x: Spec):
    raise ShapeError(
        "nonzero: the shape of the result depends on the values, which a tensor on the meta device does not have.",
        in_code="Use where() with three arguments.",
    )


@composite(result="Any", sample=lambda s: [
    ((s.repeated(3, 4),), {}), ((s.repeated(3, 4),), {"as_tuple": True}), ((s.booleans(5),), {}), ((s.repeated(),), {}),
])  # fmt: skip
def nonzero(x: Any, *, as_tuple: bool = False) -> Any:
    """Indices of nonzero elements: one per row, or a tuple with one index tensor per dimension."""
    if as_tuple and x.ndim == 0:
        return nonzero(x.reshape(1), as_tuple=True)
    indices = argwhere(x.detach())
    return indices.unbind(1) if as_tuple else indices


@composite(sample=lambda s: [((s.repeated(3, 4),), {"size": 5}), ((s.repeated(3),), {"size": 9, "fill_value": 7})])
def nonzero_static(x: Any, *, size: int, fill_value: int = -1) -> Any:
    """Indices of the first `size` nonzero elements, one per row, padded with `fill_value`."""
    if size < 0:
        raise ShapeError(f"nonzero_static(): size must be 0 or more, not {size}")
    out = x.new_full((size, x.ndim), fill_value, dtype=int64)
    if not x.is_meta or MODES.tracer is not None:
        indices = nonzero(x)[:size]
        out[: len(indices)] = indices
    return out
