"""Samples of which the inputs are images that are decoded when asked for."""

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


def image_spec(colour: ColorMode) -> Spec:
    """Of images of any size."""
    return Spec((3 if colour == "colour" else 1, Dim("H"), Dim("W")), uint8)


def skipped_image_warning(error: DataError, instead: str) -> DataWarning:
    """What is said of an image that another one stands in for."""
    return DataWarning(f"{str(error).replace(', or set on_error to skip', '')} {instead} takes its place.")


class ImageSamples(Samples):
    """Images with targets. Subclasses give `source`.

    Args:
        targets: of all images, N×…
        colour: whether images have three channels or a grey one
        on_error: whether an image that does not decode ends the training, or the next one takes its place
    """

    def __init__(self, targets: NDArray[Any], colour: ColorMode, on_error: OnError) -> None:
        self._targets = targets
        self.colour: ColorMode = colour
        self.on_error: OnError = on_error

    @abstractmethod
    def source(self, row: int) -> tuple[Any, str]:
        """Where an image is, or its bytes, and what it is called in errors."""

    def __len__(self) -> int:
        return len(self._targets)

    def targets(self, rows: Indices) -> Batch:
        return self._targets[rows]

    def arrays(self, rows: Indices) -> tuple[Batch, Batch]:
        read = [self._read(row) for row in rows.tolist()]
        return [image for image, _ in read], self.targets(np.array([row for _, row in read], np.int64))

    def _read(self, row: int) -> tuple[NDArray[np.uint8], int]:
        """An image and its row: another one if the first is skipped."""
        for step in range(len(self) if self.on_error == "skip" else 1):
            place = (row + step) % len(self)
            try:
                source, name = self.source(place)
                return decode_image(source, self.colour, name), place
            except DataError as error:
                if self.on_error == "stop":
                    raise
                warnings.warn(skipped_image_warning(error, "The next image"), stacklevel=2)
        raise DataError(f"none of the {len(self)} images can be read. Check the folder.")
