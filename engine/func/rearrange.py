"""`rearrange`: transpose, split and merge dimensions by name, as in einops (Rogozhnikov, "Einops", ICLR 2022)."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Sequence

from engine.errors import ShapeError
from engine.ops.movement.joining import stack
from engine.shape import format_shape
from engine.tensors import Tensor

Group = tuple[str, ...]
"""Names of a dimension; several if merged in brackets, none for a dimension of size 1."""


def rearrange(tensor: Tensor | Sequence[Tensor], pattern: str, **axes_lengths: int) -> Tensor:
    """Reorder, merge and split the dimensions of a tensor as the pattern describes.

    ``rearrange(images, "b h w c -> b c h w")``; ``rearrange(x, "b (h w) -> b h w", h=8)``.

    Args:
        tensor: one tensor, or several of one shape, which are stacked along a new first dimension
        pattern: dimension names before and after "->"; "(a b)": merged dimensions, "1": size 1, "...": any dimensions
        axes_lengths: sizes of dimensions that cannot be inferred
    """
    x = tensor if isinstance(tensor, Tensor) else stack(list(tensor))
    before, after = _parse_pattern(pattern, x.ndim)
    sizes = _sizes(pattern, before, x, axes_lengths)
    names, new_names = [n for group in before for n in group], [n for group in after for n in group]
    if sorted(names) != sorted(new_names) or len(set(names)) < len(names):
        raise ShapeError(f"rearrange: both sides of {pattern!r} must have the same names, each once")
    split = x.reshape([sizes[name] for name in names])
    ordered = split.permute([names.index(name) for name in new_names])
    return ordered.reshape([math.prod(sizes[name] for name in group) for group in after])


def _parse_pattern(pattern: str, ndim: int) -> tuple[list[Group], list[Group]]:
    parts = pattern.split("->")
    if len(parts) != 2:
        raise ShapeError(f"rearrange: a pattern must have one '->', but {pattern!r} has {len(parts) - 1}")
    left, right = (list(_groups(part, pattern)) for part in parts)
    extra_dims = ndim - sum(group != ("...",) for group in left)
    dots = [(f"...{i}",) for i in range(max(extra_dims, 0))]

    def expanded(groups: list[Group]) -> Iterator[Group]:
        for group in groups:
            if group == ("...",):
                yield from dots
            else:
                yield tuple(n for name in group for n in ([d[0] for d in dots] if name == "..." else [name]))

    return list(expanded(left)), list(expanded(right))


def _groups(text: str, pattern: str) -> Iterator[Group]:
    for found in re.finditer(r"\(([^()]*)\)|(\.\.\.|\w+)|(\S)", text):
        if found[3]:
            raise ShapeError(f"rearrange: invalid text {found[3]!r} in {pattern!r}")
        group = found[1].split() if found[1] is not None else [found[2]]
        yield tuple(name for name in group if name != "1")


def _sizes(pattern: str, before: list[Group], x: Tensor, axes_lengths: dict[str, int]) -> dict[str, int]:
    if len(before) != x.ndim:
        raise ShapeError(
            f"rearrange: {pattern!r} requires {len(before)} dimensions, but the tensor is {format_shape(x.shape)}"
        )
    sizes: dict[str, int] = dict(axes_lengths)
    for group, size in zip(before, x.shape, strict=True):
        unknown = [name for name in group if name not in sizes]
        known_product = math.prod(sizes[name] for name in group if name in sizes)
        if len(unknown) > 1:
            raise ShapeError(
                f"rearrange: the sizes of {' and '.join(unknown)} cannot be inferred.",
                in_code=f"Pass one, as {unknown[0]}=…",
            )
        if size % known_product if unknown and known_product else size != known_product:
            raise ShapeError(
                f"rearrange: cannot split a dimension of size {size} into ({' '.join(group)}): {axes_lengths}"
            )
        if unknown:
            sizes[unknown[0]] = size // known_product
    return sizes
