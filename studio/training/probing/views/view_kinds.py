"""The views of a probe, and which of them make sense for a shape."""

from __future__ import annotations

from collections.abc import Mapping
from math import prod
from typing import Literal, TypeAlias, get_args

ViewKind: TypeAlias = Literal["statistics", "histogram", "heat map", "images", "attention", "projection"]
VIEW_KINDS: tuple[ViewKind, ...] = get_args(ViewKind)

TITLES: Mapping[ViewKind, str] = {
    "statistics": "Statistics",
    "histogram": "Histogram",
    "heat map": "Heat map",
    "images": "Images",
    "attention": "Attention map",
    "projection": "Projection (PCA)",
}

_MIN_POINTS = 3
"""Fewest points of a projection."""


def unavailable_views(shape: tuple[int, ...], *, is_number: bool = True) -> dict[ViewKind, str]:
    """The views that do not make sense for a tensor, each with the reason.

    Args:
        shape: sizes of the tensor
        is_number: whether the elements are numbers or truth values
    """
    shown = "×".join(map(str, shape)) or "scalar"
    count = prod(shape)
    found: dict[ViewKind, str] = {}
    if not is_number or not count:
        reason = "The tensor has no elements." if is_number else "The elements are complex numbers."
        return dict.fromkeys(VIEW_KINDS[1:], reason)
    if count < 2:
        return dict.fromkeys(VIEW_KINDS[1:], "The tensor has a single element.")
    if len(shape) != 4 or min(shape[-2:]) < 2:
        found["images"] = f"Images need four dimensions, N×C×H×W, but the shape is {shown}."
    if len(shape) < 3 or shape[-1] != shape[-2] or shape[-1] < 2:
        found["attention"] = f"Attention maps need two equal last dimensions, ×T×T, but the shape is {shown}."
    if len(shape) < 2 or shape[0] < _MIN_POINTS or prod(shape[1:]) < 2:
        found["projection"] = (
            f"A projection needs at least {_MIN_POINTS} rows of 2 or more values, but the shape is {shown}."
        )
    return found


def default_view(shape: tuple[int, ...], *, is_number: bool = True) -> ViewKind:
    """The view that a new probe shows."""
    missing = unavailable_views(shape, is_number=is_number)
    if "images" not in missing:
        return "images"
    return "statistics" if "histogram" in missing else "histogram"


__all__ = ["TITLES", "VIEW_KINDS", "ViewKind", "default_view", "unavailable_views"]
