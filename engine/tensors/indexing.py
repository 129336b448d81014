"""`tensor[index]` and `tensor[index] = value`: converts indices to calls of the index ops."""

from __future__ import annotations

import operator
import warnings
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from engine.backend import namespace
from engine.dtypes import bool_, uint8
from engine.errors import AutogradError, DTypeError, EngineWarning, IndexRangeError, IndexTypeError, ShapeError
from engine.ops.elementwise.selection import where
from engine.ops.elementwise.update import assign
from engine.ops.indexing.index import Index, TensorSlot, index_backward, index_op, index_put_op, slice_
from engine.ops.op_executor import OP_EXECUTOR
from engine.shape import Dim, format_shape
from engine.tensors.creation import from_array
from engine.tensors.dispatch import run_in_place
from engine.tensors.tensor import Tensor

newaxis = None
"""New dimension of size 1 in an index."""


def getitem(x: Tensor, index: Any) -> Tensor:
    """Index a tensor. Slices return a view; index tensors and masks return a copy."""
    if type(index) is int:
        return OP_EXECUTOR.run(slice_, (x,), {"index": (index,)})
    basic, layout, tensors = _split(x, index)
    if not tensors:
        return OP_EXECUTOR.run(slice_, (x,), {"index": basic})
    return index_op((_basic_view(x, basic), *tensors), layout=layout)


def setitem(x: Tensor, index: Any, value: Any) -> None:
    """Write `value`, broadcast, to the indexed elements of `x`."""
    basic, layout, tensors = ((index,), (), []) if type(index) is int else _split(x, index)
    if not isinstance(value, Tensor):
        if not tensors and type(value) in (bool, int, float):
            slice_(x, index=basic).fill_(value)
            return
        if value is None or isinstance(value, (str, bytes)):
            raise TypeError(f"only numbers and tensors can be assigned to a tensor, not {type(value).__name__}")
        value = x.new_tensor(value)
    while value.ndim and value.shape[0] == 1:  # the value may have more leading dimensions of size 1 than the target
        value = value.squeeze(0)
    value = value.to(x.device, x.dtype)
    if tensors:
        inputs, statics = index_put_op.bind(((_basic_view(x, basic), value, *tensors),), {"layout": layout})
        run_in_place(index_put_op, inputs, statics)
    else:
        run_in_place(assign, (slice_(x, index=basic), value), assign.defaults)


def _basic_view(x: Tensor, basic: Index) -> Tensor:
    """Return the view that index tensors then select from."""
    return x if all(item == _ALL for item in basic) else slice_(x, index=basic)


_ALL = slice(None)


def _split(x: Tensor, index: Any) -> tuple[Index, Index, list[Tensor]]:
    """Split an index into two steps, as PyTorch does: basic indexing gives a view, then index tensors select from it.

    NumPy does both in one step, and orders the dimensions differently when integers and index arrays are mixed.
    """
    items = [_item(item) for item in _items(index)]
    if sum(item is Ellipsis for item in items) > 1:
        raise IndexRangeError("an index can have only one ellipsis (...)")
    n_indexed = sum(_dimensions(item) for item in items)
    if n_indexed > x.ndim:
        raise IndexRangeError(
            f"too many indices: got {n_indexed} for a tensor of {x.ndim} dimensions ({format_shape(x.shape)})"
        )
    basic: list[Any] = []
    layout: list[Any] = []
    tensors: list[Tensor] = []
    for item in items:
        if isinstance(item, Tensor):
            _check_mask(item, x, sum(one is not None for one in basic))
            basic += (
                [_ALL] * item.ndim if item.dtype.kind == 0 and item.ndim else [None if item.dtype.kind == 0 else _ALL]
            )
            layout.append(TensorSlot(len(tensors)))
            tensors.append((item if item.ndim or item.dtype.kind else item.reshape(1)).to(x.device))
            continue
        found = [_ALL] * (x.ndim - n_indexed) if item is Ellipsis else [item]
        basic += found
        layout += [_ALL for one in found if one is None or isinstance(one, slice)]
    if len(tensors) > 1 and any(item.dtype.kind == 0 and not item.is_meta for item in tensors):
        layout, tensors = _without_masks(layout, tensors)
    return tuple(basic), tuple(layout), tensors


def _without_masks(layout: list[Any], tensors: list[Tensor]) -> tuple[list[Any], list[Tensor]]:
    """Replace masks that are combined with other index tensors by the indices of their true elements."""
    order: list[Any] = []
    found: list[Tensor] = []
    for item in layout:
        if not isinstance(item, TensorSlot):
            order.append(item)
            continue
        one = tensors[item.number]
        is_mask = one.dtype.kind == 0 and not one.is_meta
        for positions in map(from_array, namespace(one.device).nonzero(one._numbers())) if is_mask else (one,):
            order.append(TensorSlot(len(found)))
            found.append(positions)
    return order, found


def _check_mask(mask: Tensor, x: Tensor, dim: int) -> None:
    """Raise IndexRangeError for a mask whose sizes differ from the dimensions that it indexes."""
    if mask.dtype.kind == 0 and tuple(mask.shape) != tuple(x.shape[dim : dim + mask.ndim]):
        raise IndexRangeError(
            f"a mask of {format_shape(mask.shape)} does not match {format_shape(x.shape)} from dimension {dim} on: "
            "their sizes must be equal"
        )


def _items(index: Any) -> Sequence[Any]:
    """Return the items of an index as a list."""
    if isinstance(index, tuple):
        return index
    if isinstance(index, list) and any(_is_index_item(item) for item in index):
        warnings.warn(
            EngineWarning(
                "as in PyTorch, an index that is a list of lists, slices or tensors is treated as a tuple.",
                in_code="Write x[tuple(list)], or x[engine.tensor(list)].",
            ),
            stacklevel=4,
        )
        return index
    return (index,)


def _is_index_item(item: Any) -> bool:
    return item is None or item is Ellipsis or isinstance(item, (list, tuple, slice, Tensor, np.ndarray))


def _item(item: Any) -> Any:
    """Normalize an index item: int, slice, None, ellipsis, or a tensor of integers or booleans."""
    if item is None or item is Ellipsis:
        return item
    if isinstance(item, slice):
        return _to_plain_slice(item)
    if isinstance(item, (bool, np.bool_, list, tuple, range, np.ndarray)):
        array = np.asarray(item)
        item = from_array(array.astype(np.int64) if array.size == 0 and array.dtype.kind == "f" else array)
    if not isinstance(item, Tensor):
        return _to_int(item)
    if item.dtype.kind == 2:
        raise IndexTypeError(
            f"an index tensor must have an integer dtype or bool, not {item.dtype.name}.",
            in_code="Convert with .long().",
        )
    if item.dtype is uint8:
        warning = EngineWarning("as in PyTorch, a uint8 index is treated as a mask.", in_code="Use .bool().")
        warnings.warn(warning, stacklevel=5)
        return item.detach().to(bool_)
    return int(item) if item.ndim == 0 and item.dtype.kind == 1 and not item.is_meta else item.detach()


def _to_int(item: Any) -> int:
    try:
        return operator.index(item)
    except TypeError:
        raise IndexTypeError(
            "an index can contain integers, slices, None, an ellipsis, and lists or tensors of integers or "
            f"booleans, not of {type(item).__name__}"
        ) from None


def _dimensions(item: Any) -> int:
    """Return the number of tensor dimensions that an item indexes."""
    if isinstance(item, Tensor) and item.dtype.kind == 0:
        return item.ndim
    return 0 if item is None or item is Ellipsis else 1


def _to_plain_slice(item: slice) -> slice:
    """Convert a slice to Python integers now, since tensors in it may change before the backward pass."""
    try:
        start, stop, step = _slice_bound(item.start), _slice_bound(item.stop), _slice_bound(item.step)
    except TypeError:
        types = ", ".join(type(one).__name__ for one in (item.start, item.stop, item.step) if one is not None)
        raise IndexTypeError(f"slice bounds must be integers or tensors with one integer, not {types}") from None
    if step is not None and step < 1:
        raise ValueError(f"slice step must be positive, not {step}. Use flip() to reverse a dimension.")
    return slice(start, stop, step)


def _slice_bound(item: Any) -> Any:
    return item if type(item) is int or item is None or type(item) is Dim else operator.index(item)


# -- methods ----------------------------------------------------------------------------------


def index_put_(self: Tensor, indices: Sequence[Tensor | None], values: Tensor, accumulate: bool = False) -> Tensor:
    """Write `values` at the positions given by the index tensors, or add them if `accumulate` is True."""
    if values.dtype is not self.dtype:
        raise DTypeError(
            f"index_put: values must have the tensor's dtype {self.dtype.name}, not {values.dtype.name}.",
            in_code="Convert with .to().",
        )
    index = tuple(_ALL if item is None else item for item in indices)
    if not accumulate:
        setitem(self, index, values)
        return self
    _, layout, tensors = _split(self, index)
    target = index_op((self.detach(), *tensors), layout=layout)
    values = values.to(self.device, self.dtype).expand(target.shape)
    return self.add_(index_backward((values, *tensors), shape=tuple(self.shape), layout=layout))


def index_put(self: Tensor, indices: Sequence[Tensor | None], values: Tensor, accumulate: bool = False) -> Tensor:
    """Out-of-place version of `index_put_`."""
    return index_put_(self.clone(), indices, values, accumulate)


def put_(self: Tensor, index: Tensor, source: Tensor, accumulate: bool = False) -> Tensor:
    """Write `source` at positions in the flattened tensor, or add it if `accumulate` is True."""
    if index.numel() != source.numel():
        raise IndexRangeError(f"put_(): {index.numel()} positions but {source.numel()} values. Pass one per value.")
    if not self.is_meta and index.numel():
        lowest, highest = int(index.min()), int(index.max())
        if lowest < -self.numel() or highest >= self.numel():
            position = lowest if lowest < -self.numel() else highest
            raise IndexRangeError(f"put_(): position {position} in a tensor of {self.numel()} elements")
    changed = index_put(self.reshape(-1), (index.reshape(-1),), source.reshape(-1), accumulate)
    return self.copy_(changed.reshape(self.shape))


def put(self: Tensor, index: Tensor, source: Tensor, accumulate: bool = False) -> Tensor:
    """Out-of-place version of `put_`."""
    return put_(self.clone(), index, source, accumulate)


def fill_diagonal_(self: Tensor, fill_value: float, wrap: bool = False) -> Tensor:
    """Fill the main diagonal with a number; `wrap` repeats the diagonal in a tall matrix."""
    if self.ndim < 2 or (self.ndim > 2 and len(set(self.shape)) > 1):
        raise ShapeError(f"fill_diagonal_(): {format_shape(self.shape)} must be a matrix or have equal sizes")
    mask = np.zeros(tuple(self.shape), bool)
    if mask.size:
        np.fill_diagonal(mask, True, wrap)
    return self.copy_(where(from_array(mask).to(self.device), self.new_tensor(fill_value), self))


def apply_(self: Tensor, callable: Callable[[Any], Any]) -> Tensor:
    """Replace each element by the result of a Python function. Slow; CPU only."""
    return _apply_function("apply_", self, self, callable)


def map_(self: Tensor, other: Tensor, callable: Callable[[Any, Any], Any]) -> Tensor:
    """Replace each element by a Python function of it and the element of the other tensor. Slow; CPU only."""
    return _apply_function("map_", self, self, callable, other)


def _apply_function(name: str, x: Tensor, first: Tensor, function: Callable[..., Any], *others: Tensor) -> Tensor:
    if x.requires_grad:
        raise AutogradError(f"{name}() does not support autograd.", in_code=f"Use tensor.detach().{name}().")
    sources = [np.broadcast_to(one.detach().numpy(), tuple(x.shape)).reshape(-1).tolist() for one in (first, *others)]
    found = [function(*elements) for elements in zip(*sources, strict=True)]
    return x.copy_(from_array(np.array(found, x.dtype.numpy).reshape(tuple(x.shape))))


METHODS: dict[str, Callable[..., Any]] = {
    "__getitem__": getitem,
    "__setitem__": setitem,
    "apply_": apply_,
    "fill_diagonal_": fill_diagonal_,
    "index_put": index_put,
    "index_put_": index_put_,
    "map_": map_,
    "put": put,
    "put_": put_,
}
"""Methods that `methods.install` adds to Tensor."""
