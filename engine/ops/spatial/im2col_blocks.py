"""Copies for the matrix products of a convolution, and sums of the products, one block at a time.

The input is not padded. Positions outside the input are set to zero in the columns, and products that would be added
outside the output are set to zero. So both work on flattened arrays, which run over long contiguous memory.
"""

from __future__ import annotations

from typing import Any

from engine.ops.spatial.column_tiles import GridTile, TileCopy, TileTerm, ZeroEdge
from engine.shape import count


class ScratchBuffers:
    """Named temporary arrays that blocks reuse."""

    def __init__(self, xp: Any, dtype: Any) -> None:
        self._xp, self._dtype = xp, dtype
        self._arrays: dict[str, Any] = {}

    def __call__(self, name: str, *shape: int) -> Any:
        size = count(shape)
        buffer = self._arrays.get(name)
        if buffer is None or buffer.size < size:
            buffer = self._arrays[name] = self._xp.empty(size, self._dtype)
        return buffer[:size].reshape(shape)


def columns(tile: GridTile, x: Any, scratch: ScratchBuffers) -> Any:
    """Column matrix of N×C×…: groups × (column positions · C/groups) × grid positions, zero outside the input."""
    return _gather("columns", tile, tile.columns, _channels_first(x, tile.grid.inner), scratch)


def rows(tile: GridTile, g: Any, scratch: ScratchBuffers) -> Any:
    """Matrix of the output gradient N×O×…: groups × (product positions · O/groups) × grid positions."""
    return _gather("rows", tile, tile.product_copies, _channels_first(g, tile.grid.outer), scratch)


def _gather(name: str, tile: GridTile, copies: list[TileCopy], source: Any, scratch: ScratchBuffers) -> Any:
    out = scratch(name, source.shape[0], len(copies), *source.shape[1:3], *tile.extent)
    flat = out.reshape(*out.shape[:2], -1)
    for number, model, shift, target, origin, edges in copies:
        if number == model:
            out[(slice(None), number, ..., *target)] = source[(..., *origin)]
        else:
            start, end = max(0, -shift), flat.shape[2] - max(0, shift)
            flat[:, number, start:end] = flat[:, model, start + shift : end + shift]
        _clear(out[:, number], edges)
    return out.reshape(out.shape[0], out.shape[1] * out.shape[2], -1)


def write_product(out: Any, tile: GridTile, product: Any, bias: Any, scratch: ScratchBuffers) -> None:
    """Sum a product of product positions × groups × O/groups × grid positions and write it into N×O×…."""
    channels = _channels_first(out, tile.grid.outer)
    parts = product.reshape(product.shape[0], *channels.shape[:3], *tile.extent)
    for base, terms, origin, target in tile.sums:
        if base is None:
            total = scratch("sum", *parts.shape[1:])
            total[...] = 0
        else:
            total = parts[base]
        for term in terms:
            _add(total, parts[term.number], term)
        if bias is not None:
            total += bias.reshape(*total.shape[:2], *(1,) * (total.ndim - 2))
        channels[(..., *target)] = total[(..., *origin)]


def _add(total: Any, part: Any, term: TileTerm) -> None:
    """Add `part`, shifted and flattened. NumPy buffers short rows of strided arrays, which is four times slower."""
    _clear(part, term.edges)
    total, part = total.reshape(-1), part.reshape(-1)
    start, end = max(0, -term.flat_shift), total.size - max(0, term.flat_shift)
    if start < end:
        total[start:end] += part[start + term.flat_shift : end + term.flat_shift]


def _clear(x: Any, edges: list[ZeroEdge]) -> None:
    for axis, positions in edges:
        x[(slice(None),) * (axis + 3) + (positions,)] = 0


def _channels_first(x: Any, channels: int) -> Any:
    """N×C×… as groups × channels × N × …."""
    split = x.reshape(x.shape[0], x.shape[1] // channels, channels, *x.shape[2:])
    return split.transpose(1, 2, 0, *range(3, split.ndim))
