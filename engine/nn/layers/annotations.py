"""Types of arguments that several layers share."""

from __future__ import annotations

from typing import Any, TypeAlias

from engine.registry import Count, Size

SizePair: TypeAlias = Size | tuple[Size, Size]
"""One number for both directions, or (height, width)."""

CountPair: TypeAlias = Count | tuple[Count, Count]

AnyDevice: TypeAlias = Any
"""A `Device` or its name; None for the default. Typed loosely so that forms, which show texts, leave it out."""


def pair(value: Any) -> tuple[int, int]:
    """(height, width) from one number or two."""
    if isinstance(value, (tuple, list)):
        height, width = value
        return height, width
    return value, value
