"""The bundled handwritten digits."""

from __future__ import annotations

from engine.data.images.idx_folder import IDXSplits, ImageLabelPair
from engine.data.splits import Share
from engine.registry import DATASETS
from engine.system.assets import asset


@DATASETS.register(category="Images", outputs=("samples",), tags=("handwritten", "UCI", "bundled", "example"))
class Digits(IDXSplits):
    """1,797 handwritten digits of 8×8 pixels with values from 0 to 16. Bundled with Gradwire; no download.

    Source: E. Alpaydin, C. Kaynak, "Optical Recognition of Handwritten Digits", UCI Machine Learning Repository, 1998.

    Args:
        validation: fraction of the digits used for validation
    """

    def __init__(self, validation: Share = 0.2) -> None:
        folder = asset("data/digits")
        super().__init__(ImageLabelPair(folder / "images-idx3-ubyte.gz", folder / "labels-idx1-ubyte.gz"), validation)
