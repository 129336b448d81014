"""Images of another size."""

from __future__ import annotations

from typing import Literal

from engine.nn import functional as F
from engine.nn.layers.annotations import ScalePerDim, SizePerDim
from engine.nn.module import Module
from engine.registry import LAYERS
from engine.tensors import Tensor


class UpsampleBase(Module):
    """What layers that change the spatial sizes share."""

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
    """Sequences, images or volumes of another size: ``N×C×…`` with its spatial sizes changed.

    Args:
        size: the new spatial sizes; one number for all of them
        scale_factor: instead of the size; the new sizes are rounded down
        mode: how new places are computed: the nearest old one, or between two (linear), 2×2 (bilinear), 4×4 (bicubic)
            or 2×2×2 (trilinear)
        align_corners: the outermost places keep theirs; otherwise the borders of the outermost places do
        recompute_scale_factor: compute positions from the ratio of the sizes
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
    """Images of another size, each pixel the nearest old one: ``N×C×H×W`` becomes ``N×C×H'×W'``.

    Args:
        size: the new height and width; one number for both
        scale_factor: instead of the size; the new sizes are rounded down
    """

    def __init__(self, size: SizePerDim | None = None, scale_factor: ScalePerDim | None = None) -> None:
        super().__init__(size, scale_factor, "nearest", None, None)


@LAYERS.register(category="Shape", tags=("interpolate", "resize", "scale"))
class UpsamplingBilinear2d(UpsampleBase):
    """Images of another size, each pixel between 2×2 old ones, corners kept: ``N×C×H×W`` becomes ``N×C×H'×W'``.

    Args:
        size: the new height and width; one number for both
        scale_factor: instead of the size; the new sizes are rounded down
    """

    def __init__(self, size: SizePerDim | None = None, scale_factor: ScalePerDim | None = None) -> None:
        super().__init__(size, scale_factor, "bilinear", True, None)
