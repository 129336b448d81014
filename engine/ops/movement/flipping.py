"""Flip, rotate and roll along dimensions."""

from __future__ import annotations

from typing import Any, TypeAlias

from engine.errors import ShapeError
from engine.ops.composite import composite
from engine.ops.record import op
from engine.ops.shape_rules import wrap_dim, wrap_dims
from engine.shape import Spec

Sizes: TypeAlias = tuple[int, ...]


@op("movement", varargs="dims", sample=lambda s: [
    ((s.normal(2, 3),), {"dims": dims}) for dims in ((0,), (0, 1), (-1,))
])  # fmt: skip
def flip(xp, x, dims: Sizes):
    """Reverse the order of elements along `dims`."""
    dims = (dims,) if isinstance(dims, int) else tuple(dims)
    return xp.flip(x, dims if x.ndim else ()).copy()


@flip.shape
def _(x: Spec, dims: Sizes):
    wrap_dims("flip", dims if isinstance(dims, int) else tuple(dims), x.ndim)
    return x.shape


@flip.gradient
def _(g, dims):
    return g.flip(dims)


@composite(sample=lambda s: [((s.normal(2, 3),), {})])
def fliplr(x: Any) -> Any:
    """Reverse the order of columns (dimension 1)."""
    if x.ndim < 2:
        raise ShapeError(f"fliplr: the input must have at least 2 dimensions, not {x.ndim}")
    return flip(x, (1,))


@composite(sample=lambda s: [((s.normal(2, 3),), {}), ((s.normal(3),), {})])
def flipud(x: Any) -> Any:
    """Reverse the order of rows (dimension 0)."""
    if x.ndim < 1:
        raise ShapeError("flipud: a 0-d tensor has no rows")
    return flip(x, (0,))


@op("movement", sample=lambda s: [
    ((s.normal(3, 4),), {"shifts": 1}), ((s.normal(3, 4),), {"shifts": -2, "dims": 1}),
    ((s.normal(3, 4),), {"shifts": (1, 2), "dims": (0, 1)}), ((s.normal(3, 4),), {"shifts": (1, 5), "dims": (0, 0)}),
])  # fmt: skip
def roll(xp, x, shifts: int | Sizes, dims: int | Sizes | None = None):
    """Roll elements by `shifts` along `dims`, or in the flattened tensor; the last ones wrap to the start.

    Args:
        x: any tensor
        shifts: number of positions, one for each of `dims`; negative ones roll toward the start
        dims: dimension or dimensions (default: roll the flattened tensor)
    """
    shifts, dims = _check_shifts(shifts, dims, x.ndim)
    return xp.roll(x, shifts if dims else shifts[0], axis=dims or None)


def _check_shifts(shifts: int | Sizes, dims: int | Sizes | None, ndim: int) -> tuple[Sizes, Sizes]:
    shift_list, axes = _as_tuple(shifts), tuple(wrap_dim("roll", dim, ndim) for dim in _as_tuple(dims))
    if len(shift_list) != (len(axes) or 1):
        raise ShapeError(
            f"roll: {len(shift_list)} shifts for {len(axes) or 1} dimensions. Pass one shift for each dimension."
        )
    return shift_list, axes


def _as_tuple(number: int | Sizes | None) -> Sizes:
    return () if number is None else (number,) if isinstance(number, int) else tuple(number)


@roll.shape
def _(x: Spec, shifts: int | Sizes, dims: int | Sizes | None = None):
    _check_shifts(shifts, dims, x.ndim)
    return x.shape


@roll.gradient
def _(g, shifts, dims):
    return g.roll(-shifts if isinstance(shifts, int) else tuple(-shift for shift in shifts), dims)


@composite(
    sample=lambda s: [((s.normal(2, 3), k), {}) for k in (-1, 0, 1, 2, 3)] + [((s.normal(2, 3, 4), 1, (1, 2)), {})]
)
def rot90(x: Any, k: int = 1, dims: Sizes = (0, 1)) -> Any:
    """Rotate by k · 90° in the plane of `dims`, from the first dimension toward the second.

    Args:
        x: any tensor
        k: number of quarter turns; negative ones turn the other way
        dims: the two dimensions of the plane
    """
    if len(dims) != 2:
        raise ShapeError(f"rot90: dims must be 2 dimensions, not {tuple(dims)}")
    a, b = wrap_dims("rot90", tuple(dims), x.ndim)
    quarter = k % 4
    if quarter == 2:
        return flip(x, (a, b))
    if quarter == 0:
        return x.clone()
    return flip(x, (b,)).transpose(a, b) if quarter == 1 else flip(x, (a,)).transpose(a, b)
