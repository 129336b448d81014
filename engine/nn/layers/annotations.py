"""Types of arguments that several layers share."""

from __future__ import annotations

from typing import Any, TypeAlias

from engine.registry import Count, Positive, Size

SizeSides: TypeAlias = Size | tuple[Size, ...]
"""One number for all directions, or one for each."""

CountSides: TypeAlias = Count | tuple[Count, ...]

PositiveSides: TypeAlias = Positive | tuple[Positive, ...]

InCode: TypeAlias = Any
"""An argument that only code gives. Typed loosely so that forms leave it out."""

AnyDevice: TypeAlias = InCode
"""A `Device` or its name; None for the default."""
