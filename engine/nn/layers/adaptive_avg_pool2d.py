"""Mean over as many windows as the output shall have pixels."""

from __future__ import annotations

from engine.nn import functional as F
from engine.nn.layers.annotations import SizePair
from engine.nn.module import Module
from engine.registry import LAYERS
from engine.tensor import Tensor


@LAYERS.register(category="Pooling", tags=("global average pooling", "adaptive"))
class AdaptiveAvgPool2d(Module):
    """Averages each channel down to a fixed size: ``N×C×H×W`` becomes ``N×C×output height×output width``.

    Row ``i`` of ``h`` is the mean of the input rows from ``⌊i H / h⌋`` to below ``⌈(i + 1) H / h⌉``.

    Args:
        output_size: height and width of the output; 1 for one mean per channel
    """

    def __init__(self, output_size: SizePair) -> None:
        super().__init__()
        self.output_size = output_size

    def forward(self, input: Tensor) -> Tensor:
        return F.adaptive_avg_pool2d(input, self.output_size)

    def extra_repr(self) -> str:
        return f"output_size={self.output_size}"
