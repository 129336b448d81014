"""`tensor[index]` and `tensor[index] = value`: from what users write to the index ops."""

from __future__ import annotations

import operator
from typing import Any

import numpy as np

from engine.dispatch import run_in_place
from engine.errors import DTypeError, ShapeError
from engine.ops.index import Index, Place, put, slice_, take
from engine.ops.update import assign
from engine.shape import format_shape
from engine.tensor import Tensor


def getitem(x: Tensor, index: Any) -> Tensor:
    """Slices give a view, index tensors and masks a copy."""
    basic, layout, tensors = _split(x, index)
    if not tensors:
        return slice_(x, index=basic)
    return take((_part(x, basic), *tensors), layout=layout)


def setitem(x: Tensor, index: Any, value: Any) -> None:
    """Writes `value`, broadcast, into the memory of `x`."""
    basic, layout, tensors = _split(x, index)
    if not isinstance(value, Tensor):
        value = x.new_tensor(value)
    while value.ndim and value.shape[0] == 1:  # leading ones may outnumber the dimensions written to
        value = value.squeeze(0)
    value = value.to(x.device, x.dtype)
    if tensors:
        run_in_place(put, _part(x, basic), (value, *tensors), {"layout": layout})
    else:
        run_in_place(assign, slice_(x, index=basic), (value,), {})


def _part(x: Tensor, basic: Index) -> Tensor:
    """The view that index tensors then pick from."""
    return x if all(item == _ALL for item in basic) else slice_(x, index=basic)


_ALL = slice(None)


def _split(x: Tensor, index: Any) -> tuple[Index, Index, list[Tensor]]:
    """An index in two steps, as PyTorch takes it: a view by numbers, slices and None; then positions by tensors in it.

    NumPy takes both in one step, and puts the dimensions elsewhere when numbers and index arrays meet.
    """
    items = [_item(item) for item in (index if isinstance(index, tuple) else (index,))]
    if sum(item is Ellipsis for item in items) > 1:
        raise ShapeError("an index can have only one ellipsis (...)")
    used = sum(_dimensions(item) for item in items)
    if used > x.ndim:
        raise ShapeError(f"{used} indices for a tensor of {x.ndim} dimensions ({format_shape(x.shape)})")
    basic: list[Any] = []
    layout: list[Any] = []
    tensors: list[Tensor] = []
    for item in items:
        if isinstance(item, Tensor):
            _check_mask(item, x, sum(one is not None for one in basic))
            basic += (
                [_ALL] * item.ndim if item.dtype.kind == 0 and item.ndim else [None if item.dtype.kind == 0 else _ALL]
            )
            layout.append(Place(len(tensors)))
            tensors.append((item if item.ndim or item.dtype.kind else item.reshape(1)).to(x.device))
            continue
        found = [_ALL] * (x.ndim - used) if item is Ellipsis else [item]
        basic += found
        layout += [_ALL for one in found if one is None or isinstance(one, slice)]
    return tuple(basic), tuple(layout), tensors


def _check_mask(mask: Tensor, x: Tensor, place: int) -> None:
    """Raises ShapeError for a mask whose sizes are not those of the dimensions that it is for."""
    if mask.dtype.kind == 0 and tuple(mask.shape) != tuple(x.shape[place : place + mask.ndim]):
        raise ShapeError(
            f"a mask of {format_shape(mask.shape)} is not for {format_shape(x.shape)} from dimension {place} on: "
            "its sizes must be the tensor's"
        )


def _item(item: Any) -> Any:
    """One item of an index: an int, a slice, None, an ellipsis, or a tensor of whole numbers or booleans."""
    if item is None or item is Ellipsis:
        return item
    if isinstance(item, slice):
        return _plain(item)
    if isinstance(item, (bool, np.bool_, list, range, np.ndarray)):
        array = np.asarray(item)
        item = Tensor(array.astype(np.int64) if array.size == 0 and array.dtype.kind == "f" else array)
    if not isinstance(item, Tensor):
        return _whole(item)
    if item.dtype.kind == 2:
        raise DTypeError(
            f"an index tensor must be whole numbers or booleans, not {item.dtype.name}. Convert with .long()."
        )
    return int(item) if item.ndim == 0 and item.dtype.kind == 1 and not item.is_meta else item.detach()


def _whole(item: Any) -> int:
    try:
        return operator.index(item)
    except TypeError:
        raise TypeError(
            "an index is made of whole numbers, slices, None, an ellipsis, and lists or tensors of whole numbers or "
            f"booleans, not of {type(item).__name__}"
        ) from None


def _dimensions(item: Any) -> int:
    """How many dimensions of the tensor an item takes up."""
    if isinstance(item, Tensor) and item.dtype.kind == 0:
        return item.ndim
    return 0 if item is None or item is Ellipsis else 1


def _plain(item: slice) -> slice:
    """A slice of Python numbers; PyTorch has no negative steps."""
    step = None if item.step is None else int(item.step)
    if step is not None and step < 1:
        raise ValueError(f"slice step must be positive, not {step}. Use flip() to turn an order around.")
    return slice(item.start, item.stop, step)
