"""Range and shape checks of index tensors."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from engine.errors import DTypeError, IndexRangeError, ShapeError
from engine.ops.shape_rules import wrap_dim
from engine.shape import Shape, Spec, format_shape


class IndexCaller(NamedTuple):
    """Function name, and what its indices count, for messages about indices out of range."""

    name: str = "gather"
    items: str = ""

    def out_of_range(self, index: int, size: int, dim: int) -> IndexRangeError:
        """The error for `index`, which is not in 0 to `size` − 1."""
        if self.items:
            return IndexRangeError(f"{self.name}: {index} is not one of the {size} {self.items}. Use 0 to {size - 1}.")
        return IndexRangeError(
            f"{self.name}: index {index} is out of range for dimension {dim} of size {size}. Use 0 to {size - 1}."
        )


def check_range(owner: IndexCaller, index: Any, size: int, dim: int) -> None:
    """Raise IndexRangeError for an index outside dimension `dim`."""
    # As unsigned integers negative indices are large, so one comparison finds both errors.
    if index.size and index.view(_UNSIGNED[index.itemsize]).max() >= size:
        raise owner.out_of_range(int(index.min()) if index.min() < 0 else int(index.max()), size, dim)


_UNSIGNED = {1: np.uint8, 2: np.uint16, 4: np.uint32, 8: np.uint64}


def check_index(name: str, index: Spec, shape: Shape, dim: int) -> None:
    """Raise unless `index` is integers with as many dimensions as `shape`, none larger except `dim`."""
    axis = wrap_dim(name, dim, len(shape))
    if index.dtype.kind != 1:
        raise DTypeError(
            f"{name}: the index must be an integer tensor, not {index.dtype.name}.",
            in_code="Convert with .long().",
        )
    if index.ndim != len(shape):
        raise ShapeError(f"{name}: the index must have {len(shape)} dimensions like the tensor, not {index.ndim}")
    for i, (a, b) in enumerate(zip(index.shape, shape, strict=True)):
        if i != axis and a > b:
            raise ShapeError(
                f"{name}: index {format_shape(index.shape)} is larger than {format_shape(shape)} in dimension {i}"
            )
