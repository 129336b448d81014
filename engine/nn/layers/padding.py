"""Widening sequences, images and volumes at their borders."""

from __future__ import annotations

from typing import ClassVar, TypeAlias

from engine.errors import ShapeError
from engine.nn import functional as F
from engine.nn.functional.padding import PaddingMode
from engine.nn.module import Module
from engine.registry import LAYERS
from engine.shape import format_shape
from engine.tensors import Tensor

Borders: TypeAlias = int | tuple[int, ...]


class Padding(Module):
    """What padding layers share: `spatial` dimensions at the end are widened, as `mode` says."""

    spatial: ClassVar[int]
    mode: ClassVar[PaddingMode]

    def __init__(self, padding: Borders) -> None:
        super().__init__()
        self.padding = padding if isinstance(padding, tuple) else _every_side(padding, self.spatial)
        if len(self.padding) != 2 * self.spatial:
            raise ValueError(
                f"padding takes one number, or two for each of {self.spatial} dimensions, last one first, not {padding}"
            )

    def forward(self, input: Tensor) -> Tensor:
        if self.mode != "constant" and input.ndim not in (self.spatial + 1, self.spatial + 2):
            raise ShapeError(
                f"expected an input of {self.spatial + 2} dimensions, or {self.spatial + 1} without batch, "
                f"got {format_shape(input.shape)}"
            )
        return F.pad(input, self.padding, self.mode)

    def extra_repr(self) -> str:
        return f"{self.padding}"


class ConstantPadding(Module):
    """What layers that pad with a number share."""

    spatial: ClassVar[int]

    def __init__(self, padding: Borders, value: float) -> None:
        super().__init__()
        self.padding = padding if isinstance(padding, tuple) else _every_side(padding, self.spatial)
        self.value = value

    def forward(self, input: Tensor) -> Tensor:
        return F.pad(input, self.padding, "constant", self.value)

    def extra_repr(self) -> str:
        return f"padding={self.padding}, value={self.value}"


def _every_side(padding: int | list[int], spatial: int) -> tuple[int, ...]:
    return tuple(padding) if isinstance(padding, list) else (padding,) * (2 * spatial)


@LAYERS.register(category="Shape", tags=("padding", "zeros", "border"))
class ZeroPad2d(Padding):
    """Widens an image with zeros: ``N×C×H×W`` grows in its last two dimensions.

    Args:
        padding: places added on every side, or ``(left, right, top, bottom)``; negative numbers take away
    """

    spatial = 2
    mode = "constant"


@LAYERS.register(category="Shape", tags=("padding", "zeros", "border"))
class ZeroPad1d(Padding):
    """Widens a sequence with zeros: ``N×C×L`` grows in its last dimension.

    Args:
        padding: places added on every side, or ``(left, right)``; negative numbers take away
    """

    spatial = 1
    mode = "constant"


@LAYERS.register(category="Shape", tags=("padding", "zeros", "border"))
class ZeroPad3d(Padding):
    """Widens a volume with zeros: ``N×C×D×H×W`` grows in its last three dimensions.

    Args:
        padding: places added on every side, or ``(left, right, top, bottom, front, back)``; negative numbers take away
    """

    spatial = 3
    mode = "constant"


@LAYERS.register(category="Shape", tags=("padding", "mirror", "border"))
class ReflectionPad2d(Padding):
    """Widens an image with its mirror image, without the border: ``N×C×H×W`` grows in its last two dimensions.

    Args:
        padding: places added on every side, or ``(left, right, top, bottom)``; negative numbers take away
    """

    spatial = 2
    mode = "reflect"


@LAYERS.register(category="Shape", tags=("padding", "mirror", "border"))
class ReflectionPad1d(Padding):
    """Widens a sequence with its mirror image, without the border: ``N×C×L`` grows in its last dimension.

    Args:
        padding: places added on every side, or ``(left, right)``; negative numbers take away
    """

    spatial = 1
    mode = "reflect"


@LAYERS.register(category="Shape", tags=("padding", "mirror", "border"))
class ReflectionPad3d(Padding):
    """Widens a volume with its mirror image, without the border: ``N×C×D×H×W`` grows in its last three dimensions.

    Args:
        padding: places added on every side, or ``(left, right, top, bottom, front, back)``; negative numbers take away
    """

    spatial = 3
    mode = "reflect"


@LAYERS.register(category="Shape", tags=("padding", "border", "border"))
class ReplicationPad2d(Padding):
    """Widens an image with its border: ``N×C×H×W`` grows in its last two dimensions.

    Args:
        padding: places added on every side, or ``(left, right, top, bottom)``; negative numbers take away
    """

    spatial = 2
    mode = "replicate"


@LAYERS.register(category="Shape", tags=("padding", "border", "border"))
class ReplicationPad1d(Padding):
    """Widens a sequence with its border: ``N×C×L`` grows in its last dimension.

    Args:
        padding: places added on every side, or ``(left, right)``; negative numbers take away
    """

    spatial = 1
    mode = "replicate"


@LAYERS.register(category="Shape", tags=("padding", "border", "border"))
class ReplicationPad3d(Padding):
    """Widens a volume with its border: ``N×C×D×H×W`` grows in its last three dimensions.

    Args:
        padding: places added on every side, or ``(left, right, top, bottom, front, back)``; negative numbers take away
    """

    spatial = 3
    mode = "replicate"


@LAYERS.register(category="Shape", tags=("padding", "periodic", "border"))
class CircularPad2d(Padding):
    """Widens an image with its other side: ``N×C×H×W`` grows in its last two dimensions.

    Args:
        padding: places added on every side, or ``(left, right, top, bottom)``; negative numbers take away
    """

    spatial = 2
    mode = "circular"


@LAYERS.register(category="Shape", tags=("padding", "periodic", "border"))
class CircularPad1d(Padding):
    """Widens a sequence with its other side: ``N×C×L`` grows in its last dimension.

    Args:
        padding: places added on every side, or ``(left, right)``; negative numbers take away
    """

    spatial = 1
    mode = "circular"


@LAYERS.register(category="Shape", tags=("padding", "periodic", "border"))
class CircularPad3d(Padding):
    """Widens a volume with its other side: ``N×C×D×H×W`` grows in its last three dimensions.

    Args:
        padding: places added on every side, or ``(left, right, top, bottom, front, back)``; negative numbers take away
    """

    spatial = 3
    mode = "circular"


@LAYERS.register(category="Shape", tags=("padding", "constant", "border"))
class ConstantPad2d(ConstantPadding):
    """Widens an image with one number: ``N×C×H×W`` grows in its last two dimensions.

    Args:
        padding: places added on every side, or ``(left, right, top, bottom)``; negative numbers take away
        value: what the new places hold
    """

    spatial = 2


@LAYERS.register(category="Shape", tags=("padding", "constant", "border"))
class ConstantPad1d(ConstantPadding):
    """Widens a sequence with one number: ``N×C×L`` grows in its last dimension.

    Args:
        padding: places added on every side, or ``(left, right)``; negative numbers take away
        value: what the new places hold
    """

    spatial = 1


@LAYERS.register(category="Shape", tags=("padding", "constant", "border"))
class ConstantPad3d(ConstantPadding):
    """Widens a volume with one number: ``N×C×D×H×W`` grows in its last three dimensions.

    Args:
        padding: places added on every side, or ``(left, right, top, bottom, front, back)``; negative numbers take away
        value: what the new places hold
    """

    spatial = 3
