"""The same memory read as another dtype."""

from __future__ import annotations

from typing import Any

import numpy as np

from engine.dtypes import BY_NAME
from engine.errors import ShapeError
from engine.ops.record import op
from engine.shape import Dim, Spec


@op("movement", view=True, method=False, public=False, sample=lambda s: [
    ((s.normal(2, 4),), {"dtype": "int64"}),
])  # fmt: skip
def view_dtype(xp, x, dtype: str):
    """View the bytes of x as another dtype; the last dimension is resized."""
    target = BY_NAME[dtype].numpy
    if x.itemsize != target.itemsize:
        _check(x.ndim, x.shape, x.itemsize, target, x.strides[-1] if x.ndim else 0)
    return x.view(target)


@view_dtype.shape
def _(x: Spec, dtype: str):
    target = BY_NAME[dtype]
    if x.dtype.itemsize == target.itemsize:
        return Spec(x.shape, target)
    _check(x.ndim, x.shape, x.dtype.itemsize, target.numpy, x.dtype.itemsize)
    return Spec((*x.shape[:-1], x.shape[-1] * x.dtype.itemsize // target.itemsize), target)


def _check(ndim: int, shape: Any, itemsize: int, target: np.dtype[Any], step: int) -> None:
    if ndim == 0:
        raise ShapeError("view: a 0-d tensor can only be viewed as a dtype of the same item size")
    if step != itemsize and shape[-1] != 1:
        raise ShapeError("view: the last dimension must be contiguous.", in_code="Call contiguous() first.")
    if not isinstance(shape[-1], Dim) and shape[-1] * itemsize % target.itemsize:
        raise ShapeError(f"view: {shape[-1]} elements of {itemsize} bytes do not divide into {target} elements")
