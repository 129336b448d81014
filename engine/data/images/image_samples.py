"""Samples whose inputs are images, decoded on access."""

from __future__ import annotations

import warnings
from abc import abstractmethod
from typing import Any, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from engine.data.dataset import Indices
from engine.data.images.image_decoding import ColorMode, decode_image
from engine.data.samples import Samples
from engine.data.transforms.transform import Batch
from engine.dtypes import uint8
from engine.errors import DataError, DataWarning
from engine.shape import Dim, Spec

OnError: TypeAlias = Literal["stop", "skip"]


def image_spec(color: ColorMode) -> Spec:
    """Shape and dtype of images with symbolic height and width."""
    return Spec((3 if color == "colour" else 1, Dim("H"), Dim("W")), uint8)


def skipped_image_warning(error: DataError, instead: str) -> DataWarning:
    """The warning about an undecodable image that another image replaces."""
    return DataWarning(f"{str(error).replace(', or set on_error to skip', '')} {instead} replaces it.")


class ImageSamples(Samples):
    """Images with targets. Subclasses implement `source`.

    Args:
        targets: targets of all images, N×…
        color: three color channels, or one grayscale channel
        on_error: whether an undecodable image stops the run or is replaced by the next image
    """

    def __init__(self, targets: NDArray[Any], color: ColorMode, on_error: OnError) -> None:
        self._targets = targets
        self.color: ColorMode = color
        self.on_error: OnError = on_error

    @abstractmethod
    def source(self, row: int) -> tuple[Any, str]:
        """The path or content of an image, and its name in errors."""

    def __len__(self) -> int:
        return len(self._targets)

    def targets(self, rows: Indices) -> Batch:
        return self._targets[rows]

    def arrays(self, rows: Indices) -> tuple[Batch, Batch]:
        read = [self._read(row) for row in rows.tolist()]
        return [image for image, _ in read], self.targets(np.array([row for _, row in read], np.int64))

    def _read(self, row: int) -> tuple[NDArray[np.uint8], int]:
        """A decoded image and its row; another image if this one is skipped."""
        for step in range(len(self) if self.on_error == "skip" else 1):
            candidate = (row + step) % len(self)
            try:
                source, name = self.source(candidate)
                return decode_image(source, self.color, name), candidate
            except DataError as error:
                if self.on_error == "stop":
                    raise
                warnings.warn(skipped_image_warning(error, "The next image"), stacklevel=2)
        raise DataError(f"none of the {len(self)} images can be decoded. Check the folder.")
