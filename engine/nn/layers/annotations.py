"""Types of arguments that several layers share."""

from __future__ import annotations

from typing import Annotated, Any, TypeAlias

from engine.registry import Count, Range, Size

SizePerDim: TypeAlias = Size | tuple[Size, ...]
"""One number for all directions, or one for each."""

CountPerDim: TypeAlias = Count | tuple[Count, ...]

Scale: TypeAlias = Annotated[float, Range(gt=0, le=10_000)]
ScalePerDim: TypeAlias = Scale | tuple[Scale, ...]

ScriptOnly: TypeAlias = Any
"""An argument that only code gives. Typed loosely so that forms leave it out."""

DeviceArgument: TypeAlias = ScriptOnly
"""A `Device` or its name; None for the default."""
