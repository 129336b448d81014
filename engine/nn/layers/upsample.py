"""Upsampling layers."""

from __future__ import annotations

from typing import Literal

from engine.nn import functional as F
from engine.nn.layers.annotations import ScalePerDim, SizePerDim
from engine.nn.module import Module
from engine.registry import LAYERS
from engine.tensors import Tensor


class UpsampleBase(Module):
    """Base of upsampling layers."""

    def __init__(
        self,
        size: SizePerDim | None,
        scale_factor: ScalePerDim | None,
        mode: Literal["nearest", "linear", "bilinear", "bicubic", "trilinear"],
        align_corners: bool | None,
        recompute_scale_factor: bool | None,
    ) -> None:
        super().__init__()
        self.size = size
        self.scale_factor = (
            tuple(map(float, scale_factor))
            if isinstance(scale_factor, (tuple, list))
            else scale_factor and float(scale_factor)
        )
        self.mode: Literal["nearest", "linear", "bilinear", "bicubic", "trilinear"] = mode
        self.align_corners = align_corners
        self.recompute_scale_factor = recompute_scale_factor

    def forward(self, input: Tensor) -> Tensor:
        return F.interpolate(
            input, self.size, self.scale_factor, self.mode, self.align_corners, self.recompute_scale_factor
        )

    def extra_repr(self) -> str:
        sizes = f"size={self.size}" if self.scale_factor is None else f"scale_factor={self.scale_factor}"
        return f"{sizes}, mode={self.mode!r}"


@LAYERS.register(category="Shape", tags=("interpolate", "resize", "scale"))
class Upsample(UpsampleBase):
    """Resizes the spatial dimensions by interpolation: ``(N, C, L)``, ``(N, C, H, W)`` or ``(N, C, D, H, W)``.

    Args:
        size: output size of the spatial dimensions
        scale_factor: factor of the spatial sizes, instead of `size`; sizes are rounded down
        mode: interpolation: nearest neighbor, linear (3D input), bilinear or bicubic (4D), trilinear (5D)
        align_corners: align the centers of the corner pixels of input and output instead of their outer edges
        recompute_scale_factor: recompute the scale factor from the rounded output size
    """

    def __init__(
        self,
        size: SizePerDim | None = None,
        scale_factor: ScalePerDim | None = None,
        mode: Literal["nearest", "linear", "bilinear", "bicubic", "trilinear"] = "nearest",
        align_corners: bool | None = None,
        recompute_scale_factor: bool | None = None,
    ) -> None:
        super().__init__(size, scale_factor, mode, align_corners, recompute_scale_factor)


@LAYERS.register(category="Shape", tags=("interpolate", "resize", "scale"))
class UpsamplingNearest2d(UpsampleBase):
    """Nearest-neighbor upsampling of images: ``(N, C, H, W) → (N, C, H_out, W_out)``.

    Args:
        size: output size of the spatial dimensions
        scale_factor: factor of the spatial sizes, instead of `size`; sizes are rounded down
    """

    def __init__(self, size: SizePerDim | None = None, scale_factor: ScalePerDim | None = None) -> None:
        super().__init__(size, scale_factor, "nearest", None, None)


@LAYERS.register(category="Shape", tags=("interpolate", "resize", "scale"))
class UpsamplingBilinear2d(UpsampleBase):
    """Bilinear upsampling of images with aligned corners: ``(N, C, H, W) → (N, C, H_out, W_out)``.

    Args:
        size: output size of the spatial dimensions
        scale_factor: factor of the spatial sizes, instead of `size`; sizes are rounded down
    """

    def __init__(self, size: SizePerDim | None = None, scale_factor: ScalePerDim | None = None) -> None:
        super().__init__(size, scale_factor, "bilinear", True, None)
