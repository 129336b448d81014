"""`tensor[index]` and `tensor[index] = value`: from what users write to the index ops."""

from __future__ import annotations

from typing import Any

import numpy as np

from engine.backend import namespace
from engine.dispatch import run_in_place
from engine.ops.index import Index, Place, put, slice_, take
from engine.ops.update import assign
from engine.tensor import Storage, Tensor


def getitem(x: Tensor, index: Any) -> Tensor:
    """Slices give a view, index tensors and masks a copy."""
    layout, tensors = _layout(x, index)
    return take((x, *tensors), layout=layout) if tensors else slice_(x, index=layout)


def setitem(x: Tensor, index: Any, value: Any) -> None:
    """Writes `value`, broadcast, into the memory of `x`."""
    layout, tensors = _layout(x, index)
    if not isinstance(value, Tensor):
        array = np.asarray(value, x.dtype.numpy) if not x.is_meta else np.zeros(np.shape(value), x.dtype.numpy)
        value = Tensor(array) if x.is_meta else Tensor(namespace(x.device).asarray(array), Storage(x.device))
    while value.ndim and value.shape[0] == 1:  # leading ones may outnumber the dimensions written to
        value = value.squeeze(0)
    if tensors:
        run_in_place(put, x, (value.to(x.dtype), *tensors), {"layout": layout})
    else:
        run_in_place(assign, slice_(x, index=layout), (value.to(x.dtype),), {})


def _layout(x: Tensor, index: Any) -> tuple[Index, list[Tensor]]:
    """The index as whole numbers, slices, None, an ellipsis and places of tensors; and those tensors."""
    items = index if isinstance(index, tuple) else (index,)
    tensors: list[Tensor] = []
    layout: list[Any] = []
    for item in items:
        if isinstance(item, (bool, np.bool_, list, range, np.ndarray)):
            array = np.asarray(item)
            item = Tensor(array.astype(np.int64) if array.size == 0 else array)
        if isinstance(item, Tensor):
            if item.ndim == 0 and item.dtype.kind == 1 and not item.is_meta:
                layout.append(int(item))
                continue
            layout.append(Place(len(tensors)))
            tensors.append(item.detach())
        elif item is None or item is Ellipsis or isinstance(item, slice):
            layout.append(_plain(item) if isinstance(item, slice) else item)
        else:
            layout.append(item.__index__())
    return tuple(layout), tensors


def _plain(item: slice) -> slice:
    """A slice of Python numbers; PyTorch has no negative steps."""
    step = None if item.step is None else int(item.step)
    if step is not None and step < 1:
        raise ValueError(f"slice step must be positive, not {step}. Use flip() to turn an order around.")
    return slice(item.start, item.stop, step)
