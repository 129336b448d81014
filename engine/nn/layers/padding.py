"""Padding layers."""

from __future__ import annotations

from typing import ClassVar, TypeAlias

from engine.errors import ShapeError
from engine.nn import functional as F
from engine.nn.functional.padding import PaddingMode
from engine.nn.module import Module
from engine.registry import LAYERS
from engine.shape import format_shape
from engine.tensors import Tensor

PaddingAmounts: TypeAlias = int | tuple[int, ...]


class Padding(Module):
    """Base of padding layers: pads the last `spatial` dimensions with `mode`."""

    spatial: ClassVar[int]
    mode: ClassVar[PaddingMode]

    def __init__(self, padding: PaddingAmounts) -> None:
        super().__init__()
        self.padding = padding if isinstance(padding, tuple) else _padding_per_side(padding, self.spatial)
        if len(self.padding) != 2 * self.spatial:
            raise ValueError(
                f"padding must be one number, or two per dimension ({2 * self.spatial} numbers), not {padding}"
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
    """Base of padding with a constant."""

    spatial: ClassVar[int]

    def __init__(self, padding: PaddingAmounts, value: float) -> None:
        super().__init__()
        self.padding = padding if isinstance(padding, tuple) else _padding_per_side(padding, self.spatial)
        self.value = value

    def forward(self, input: Tensor) -> Tensor:
        return F.pad(input, self.padding, "constant", self.value)

    def extra_repr(self) -> str:
        return f"padding={self.padding}, value={self.value}"


def _padding_per_side(padding: int | list[int], spatial: int) -> tuple[int, ...]:
    return tuple(padding) if isinstance(padding, list) else (padding,) * (2 * spatial)


@LAYERS.register(category="Shape", tags=("padding", "zeros", "border"))
class ZeroPad2d(Padding):
    """2D zero padding: ``(N, C, H, W) → (N, C, H_out, W_out)``.

    Args:
        padding: padding of all sides, or ``(left, right, top, bottom)``; negative values crop
    """

    spatial = 2
    mode = "constant"


@LAYERS.register(category="Shape", tags=("padding", "zeros", "border"))
class ZeroPad1d(Padding):
    """1D zero padding: ``(N, C, L) → (N, C, L_out)``.

    Args:
        padding: padding of all sides, or ``(left, right)``; negative values crop
    """

    spatial = 1
    mode = "constant"


@LAYERS.register(category="Shape", tags=("padding", "zeros", "border"))
class ZeroPad3d(Padding):
    """3D zero padding: ``(N, C, D, H, W) → (N, C, D_out, H_out, W_out)``.

    Args:
        padding: padding of all sides, or ``(left, right, top, bottom, front, back)``; negative values crop
    """

    spatial = 3
    mode = "constant"


@LAYERS.register(category="Shape", tags=("padding", "mirror", "border"))
class ReflectionPad2d(Padding):
    """2D reflection padding without repeating the border: ``(N, C, H, W) → (N, C, H_out, W_out)``.

    Args:
        padding: padding of all sides, or ``(left, right, top, bottom)``; negative values crop
    """

    spatial = 2
    mode = "reflect"


@LAYERS.register(category="Shape", tags=("padding", "mirror", "border"))
class ReflectionPad1d(Padding):
    """1D reflection padding without repeating the border: ``(N, C, L) → (N, C, L_out)``.

    Args:
        padding: padding of all sides, or ``(left, right)``; negative values crop
    """

    spatial = 1
    mode = "reflect"


@LAYERS.register(category="Shape", tags=("padding", "mirror", "border"))
class ReflectionPad3d(Padding):
    """3D reflection padding without repeating the border: ``(N, C, D, H, W) → (N, C, D_out, H_out, W_out)``.

    Args:
        padding: padding of all sides, or ``(left, right, top, bottom, front, back)``; negative values crop
    """

    spatial = 3
    mode = "reflect"


@LAYERS.register(category="Shape", tags=("padding", "edge", "border"))
class ReplicationPad2d(Padding):
    """2D replication padding with the border values: ``(N, C, H, W) → (N, C, H_out, W_out)``.

    Args:
        padding: padding of all sides, or ``(left, right, top, bottom)``; negative values crop
    """

    spatial = 2
    mode = "replicate"


@LAYERS.register(category="Shape", tags=("padding", "edge", "border"))
class ReplicationPad1d(Padding):
    """1D replication padding with the border values: ``(N, C, L) → (N, C, L_out)``.

    Args:
        padding: padding of all sides, or ``(left, right)``; negative values crop
    """

    spatial = 1
    mode = "replicate"


@LAYERS.register(category="Shape", tags=("padding", "edge", "border"))
class ReplicationPad3d(Padding):
    """3D replication padding with the border values: ``(N, C, D, H, W) → (N, C, D_out, H_out, W_out)``.

    Args:
        padding: padding of all sides, or ``(left, right, top, bottom, front, back)``; negative values crop
    """

    spatial = 3
    mode = "replicate"


@LAYERS.register(category="Shape", tags=("padding", "periodic", "border"))
class CircularPad2d(Padding):
    """2D circular padding with the opposite side: ``(N, C, H, W) → (N, C, H_out, W_out)``.

    Args:
        padding: padding of all sides, or ``(left, right, top, bottom)``; negative values crop
    """

    spatial = 2
    mode = "circular"


@LAYERS.register(category="Shape", tags=("padding", "periodic", "border"))
class CircularPad1d(Padding):
    """1D circular padding with the opposite side: ``(N, C, L) → (N, C, L_out)``.

    Args:
        padding: padding of all sides, or ``(left, right)``; negative values crop
    """

    spatial = 1
    mode = "circular"


@LAYERS.register(category="Shape", tags=("padding", "periodic", "border"))
class CircularPad3d(Padding):
    """3D circular padding with the opposite side: ``(N, C, D, H, W) → (N, C, D_out, H_out, W_out)``.

    Args:
        padding: padding of all sides, or ``(left, right, top, bottom, front, back)``; negative values crop
    """

    spatial = 3
    mode = "circular"


@LAYERS.register(category="Shape", tags=("padding", "constant", "border"))
class ConstantPad2d(ConstantPadding):
    """2D constant padding: ``(N, C, H, W) → (N, C, H_out, W_out)``.

    Args:
        padding: padding of all sides, or ``(left, right, top, bottom)``; negative values crop
        value: value of the padding
    """

    spatial = 2


@LAYERS.register(category="Shape", tags=("padding", "constant", "border"))
class ConstantPad1d(ConstantPadding):
    """1D constant padding: ``(N, C, L) → (N, C, L_out)``.

    Args:
        padding: padding of all sides, or ``(left, right)``; negative values crop
        value: value of the padding
    """

    spatial = 1


@LAYERS.register(category="Shape", tags=("padding", "constant", "border"))
class ConstantPad3d(ConstantPadding):
    """3D constant padding: ``(N, C, D, H, W) → (N, C, D_out, H_out, W_out)``.

    Args:
        padding: padding of all sides, or ``(left, right, top, bottom, front, back)``; negative values crop
        value: value of the padding
    """

    spatial = 3
