"""The bundled text by Shakespeare."""

from __future__ import annotations

from engine.data.splits import Share
from engine.data.text_encoding import UnitKind
from engine.data.text_file import Text
from engine.registry import DATASETS, Size
from engine.system.assets import asset


@DATASETS.register(
    category="Text", outputs=("samples",), tags=("language model", "characters", "GPT", "bundled", "example")
)
class Shakespeare(Text):
    """The first 100,000 characters of Coriolanus by William Shakespeare. Bundled with Gradwire; no download.

    Inputs and targets are N×T token numbers; the target of each token is the next token.

    Args:
        unit: tokens are characters, or words and punctuation marks
        length: tokens per window
        stride: distance between the starts of two windows; equal to length if empty, so windows do not overlap
        validation: fraction of the text, at its end, used for validation
    """

    def __init__(
        self,
        unit: UnitKind = "characters",
        length: Size = 64,
        stride: Size | None = None,
        validation: Share = 0.1,
    ) -> None:
        path = str(asset("data/shakespeare/coriolanus.txt"))
        super().__init__(path, unit, length, stride, validation=validation)
