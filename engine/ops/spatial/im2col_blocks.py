"""What is copied for the matrix products of a convolution, and added up from them, a block at a time.

There is no padding: what a position sees beyond the edge is zero in the columns, and what would be added there is made
zero. So both are done flat, in runs as long as there are positions.
"""

from __future__ import annotations

from typing import Any

from engine.ops.spatial.column_tiles import GridTile, TileCopy, TileTerm, ZeroEdge
from engine.shape import count


class ScratchBuffers:
    """Arrays that blocks use one after the other, by name."""

    def __init__(self, xp: Any, dtype: Any) -> None:
        self._xp, self._dtype = xp, dtype
        self._arrays: dict[str, Any] = {}

    def __call__(self, name: str, *shape: int) -> Any:
        size = count(shape)
        found = self._arrays.get(name)
        if found is None or found.size < size:
            found = self._arrays[name] = self._xp.empty(size, self._dtype)
        return found[:size].reshape(shape)


def columns(part: GridTile, x: Any, scratch: ScratchBuffers) -> Any:
    """groups × (positions in columns · C/groups) × positions: what they see of N×C×…, and zeros beyond its edge."""
    return _gather("columns", part, part.columns, _channels_first(x, part.grid.inner), scratch)


def rows(part: GridTile, g: Any, scratch: ScratchBuffers) -> Any:
    """groups × (positions in the product · O/groups) × positions: what of N×O×… they add to."""
    return _gather("rows", part, part.added_to, _channels_first(g, part.grid.outer), scratch)


def _gather(name: str, part: GridTile, copies: list[TileCopy], source: Any, scratch: ScratchBuffers) -> Any:
    out = scratch(name, source.shape[0], len(copies), *source.shape[1:3], *part.extent)
    flat = out.reshape(*out.shape[:2], -1)
    for number, model, distance, here, there, edges in copies:
        if number == model:
            out[(slice(None), number, ..., *here)] = source[(..., *there)]
        else:
            start, end = max(0, -distance), flat.shape[2] - max(0, distance)
            flat[:, number, start:end] = flat[:, model, start + distance : end + distance]
        _clear(out[:, number], edges)
    return out.reshape(out.shape[0], out.shape[1] * out.shape[2], -1)


def write_product(out: Any, part: GridTile, product: Any, bias: Any, scratch: ScratchBuffers) -> None:
    """Adds up the product, positions × groups × O/groups × positions, and writes the sums into N×O×…."""
    upper = _channels_first(out, part.grid.outer)
    parts = product.reshape(product.shape[0], *upper.shape[:3], *part.extent)
    for base, terms, here, there in part.sums:
        if base is None:
            total = scratch("sum", *parts.shape[1:])
            total[...] = 0
        else:
            total = parts[base]
        for term in terms:
            _add(total, parts[term.number], term)
        if bias is not None:
            total += bias.reshape(*total.shape[:2], *(1,) * (total.ndim - 2))
        upper[(..., *there)] = total[(..., *here)]


def _add(total: Any, part: Any, term: TileTerm) -> None:
    """Flat, because NumPy copies rows shorter than its buffer there before it adds them: four times as slow."""
    _clear(part, term.edges)
    total, part = total.reshape(-1), part.reshape(-1)
    start, end = max(0, -term.distance), total.size - max(0, term.distance)
    if start < end:
        total[start:end] += part[start + term.distance : end + term.distance]


def _clear(x: Any, edges: list[ZeroEdge]) -> None:
    for axis, positions in edges:
        x[(slice(None),) * (axis + 3) + (positions,)] = 0


def _channels_first(x: Any, channels: int) -> Any:
    """N×C×… as groups × channels × N × …."""
    split = x.reshape(x.shape[0], x.shape[1] // channels, channels, *x.shape[2:])
    return split.transpose(1, 2, 0, *range(3, split.ndim))
