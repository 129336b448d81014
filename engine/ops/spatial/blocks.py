"""What is copied for the matrix products of a convolution, and added up from them, a block at a time.

There is no padding: what a place sees beyond the edge is zero in the columns, and what would be added there is made
zero. So both are done flat, in runs as long as there are positions.
"""

from __future__ import annotations

import itertools
from typing import Any

from engine.ops.spatial.grid import Block, Grid, Pair, Sizes
from engine.shape import count


class Scratch:
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


def columns(grid: Grid, block: Block, x: Any, scratch: Scratch) -> Any:
    """groups × (places in columns · C/groups) × positions: what they see of N×C×…, and zeros beyond its edge."""
    source = channels_first(x[block.samples], grid.groups)
    out = scratch("columns", grid.groups, len(grid.in_columns), *source.shape[1:3], *grid.extent(block))
    return _gather(out, source, grid.sees(block))


def rows(grid: Grid, block: Block, g: Any, scratch: Scratch) -> Any:
    """groups × (places in the product · O/groups) × positions: what of N×O×… they add to."""
    source = channels_first(g[block.samples], grid.groups)
    out = scratch("rows", grid.groups, len(grid.in_product), *source.shape[1:3], *grid.extent(block))
    return _gather(out, source, grid.takes(block))


def _gather(out: Any, source: Any, dimensions: list[list[Pair]]) -> Any:
    """Copies what each place sees: from the source, or flat from a place that sees it and more, at every phase."""
    parts = out.reshape(out.shape[0], *map(len, dimensions), *out.shape[2:])
    models = [[_model(pairs, pair) for pair in pairs] for pairs in dimensions]
    chosen = [list(zip(pairs, wider, strict=True)) for pairs, wider in zip(dimensions, models, strict=True)]
    order = itertools.product(*map(enumerate, chosen))
    for place in sorted(order, key=lambda place: any(number != model for number, (_, model) in place)):
        part = parts[(slice(None), *(number for number, _ in place))]
        taken = [pair[0] for _, (pair, _) in place]
        if all(number == model for number, (_, model) in place):
            part[(..., *taken)] = source[(..., *(pair[1] for _, (pair, _) in place))]
        else:
            shift = tuple(
                _shift(pair, pairs[model]) for (_, (pair, model)), pairs in zip(place, dimensions, strict=True)
            )
            _copy_shifted(part, parts[(slice(None), *(model for _, (_, model) in place))], shift)
        for axis, here in enumerate(taken, 3):
            _clear(part, axis, 0, here.start)
            _clear(part, axis, here.stop, part.shape[axis])
    return out.reshape(out.shape[0], out.shape[1] * out.shape[2], -1)


def _model(pairs: list[Pair], pair: Pair) -> int:
    """The place in this dimension that sees what `pair` does, and most besides."""
    there = pair[1]
    around = [
        number
        for number, (_, seen) in enumerate(pairs)
        if seen.start <= there.start and there.stop <= seen.stop and (there.start - seen.start) % there.step == 0
    ]
    return max(around, key=lambda number: pairs[number][1].stop - pairs[number][1].start)


def _shift(pair: Pair, model: Pair) -> int:
    """How much further on what a place sees stands among what its model sees."""
    (here, there), (first, seen) = pair, model
    return (there.start - seen.start) // there.step - (here.start - first.start)


def _copy_shifted(part: Any, whole: Any, shift: Sizes) -> None:
    """Copies what lies further on by `shift` in the last dimensions, flat: with what comes from beyond an edge."""
    distance = _flat(shift, whole.shape[3:])
    part, whole = part.reshape(part.shape[0], -1), whole.reshape(whole.shape[0], -1)
    start, end = max(0, -distance), whole.shape[1] - max(0, distance)
    if start < end:
        part[:, start:end] = whole[:, start + distance : end + distance]


def _flat(shift: Sizes, sizes: Sizes) -> int:
    """How far apart what is shifted in some dimensions lies in memory."""
    distance = 0
    for far, size in itertools.zip_longest(shift, sizes, fillvalue=0):
        distance = distance * size + far
    return distance


def write_product(out: Any, grid: Grid, block: Block, product: Any, bias: Any, scratch: Scratch) -> None:
    """Adds up the product, places × groups × O/groups × positions, and writes the sums into N×O×…."""
    upper = channels_first(out[block.samples], grid.groups)
    phases: dict[Sizes, list[tuple[Any, Sizes]]] = {}
    for part, at in zip(product, grid.in_product, strict=True):
        phase, shift = grid.shift(at)
        phases.setdefault(phase, []).append((part.reshape(*upper.shape[:3], *grid.extent(block)), shift))
    for phase, parts in phases.items():
        total = next((part for part, shift in parts if not any(shift)), None)
        if total is None:
            total = scratch("sum", *parts[0][0].shape)
            total[...] = 0
        for part, shift in parts:
            if any(shift):
                _add_shifted(total, part, shift)
        if bias is not None:
            total += bias.reshape(*total.shape[:2], *(1,) * (total.ndim - 2))
        here, there = grid.writes(block, phase)
        upper[(..., *there)] = total[(..., *here)]


def _add_shifted(total: Any, part: Any, shift: Sizes) -> None:
    """Adds what lies further on by `shift` in the first spatial dimensions, after zeros for what comes from an edge.

    Flat, because NumPy copies rows shorter than its buffer there before it adds them, which takes four times as long.
    """
    for axis, far in enumerate(shift, 3):
        _clear(part, axis, 0, far)
        _clear(part, axis, part.shape[axis] + min(0, far), part.shape[axis])
    distance = _flat(shift, part.shape[3:])
    total, part = total.reshape(-1), part.reshape(-1)
    start, end = max(0, -distance), total.size - max(0, distance)
    if start < end:
        total[start:end] += part[start + distance : end + distance]


def _clear(x: Any, axis: int, start: int, stop: int) -> None:
    if start < stop:
        x[(slice(None),) * axis + (slice(max(0, start), stop),)] = 0


def channels_first(x: Any, groups: int) -> Any:
    """N×C×… as groups × C/groups × N × …."""
    split = x.reshape(x.shape[0], groups, x.shape[1] // groups, *x.shape[2:])
    return split.transpose(1, 2, 0, *range(3, split.ndim))
