"""Argument types that several layers share."""

from __future__ import annotations

from typing import Annotated, Any, TypeAlias

from engine.registry import Count, Preset, Range, Size
from engine.relative_sizes import RelativeTo

SizePerDim: TypeAlias = Size | tuple[Size, ...]
"""One size for all spatial dimensions, or one for each."""

Width: TypeAlias = Annotated[Size, RelativeTo(-1)]
Channels: TypeAlias = Annotated[Size, RelativeTo(1)]
"""Sizes that project files can give relative to the last dimension, or the channels, of the input."""

CountPerDim: TypeAlias = Count | tuple[Count, ...]

Scale: TypeAlias = Annotated[float, Range(gt=0, le=10_000)]
ScalePerDim: TypeAlias = Scale | tuple[Scale, ...]

ScriptOnly: TypeAlias = Any
"""An argument available in scripts only; the loose type keeps it out of forms."""

DeviceArgument: TypeAlias = ScriptOnly
"""A `Device` or its name; None for the default device."""

BatchFirst: TypeAlias = Annotated[bool, Preset(True)]
"""False by default in scripts, as in PyTorch. Data loaders give batches first, so forms and project files use True."""
