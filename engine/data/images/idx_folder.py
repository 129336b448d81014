"""Image data sets in folders of IDX files, such as MNIST."""

from __future__ import annotations

from functools import cached_property
from pathlib import Path
from typing import Annotated, Any

import numpy as np
from numpy.typing import NDArray

from engine.data.images import idx_format
from engine.data.samples import ArraySamples, Samples, validation_split
from engine.data.splits import Share, Splits
from engine.dtypes import from_numpy, int64
from engine.errors import DataError
from engine.registry import DATASETS, PathTo
from engine.shape import Spec, format_shape

_IMAGES, _LABELS = "images-idx3-ubyte", "labels-idx1-ubyte"


class ImageLabelPair:
    """A file of images and a file of labels. Reads the headers at once and the data on first use.

    Raises DataError if the two files do not match.
    """

    def __init__(self, images: Path, labels: Path) -> None:
        self.images = idx_format.read_header(images)
        self.labels = idx_format.read_header(labels)
        if len(self.images.shape) < 3:
            found = format_shape(self.images.shape)
            raise DataError(f"{images}: has shape {found}, but images need at least N×H×W. Use a file of images.")
        if len(self.labels.shape) != 1 or self.labels.dtype.kind not in "iu":
            found = f"{format_shape(self.labels.shape)} {self.labels.dtype.name}"
            raise DataError(f"{labels}: holds {found}, but labels must be one integer per image. Use a file of labels.")
        if self.labels.shape[0] != self.images.shape[0]:
            raise DataError(
                f"{labels}: has {self.labels.shape[0]} labels, but {images.name} has {self.images.shape[0]} images. "
                "Download both files again from the same source."
            )
        if self.images.shape[0] == 0:
            raise DataError(f"{images}: contains no images. Download the file again.")

    def __len__(self) -> int:
        return self.images.shape[0]

    @property
    def shape(self) -> tuple[int, ...]:
        """Shape of one image, C×H×W. Grayscale images, N×H×W in the file, get one channel."""
        sizes = self.images.shape[1:]
        return (1, *sizes) if len(sizes) == 2 else sizes

    @property
    def input(self) -> Spec:
        return Spec(self.shape, from_numpy(self.images.dtype))

    @cached_property
    def inputs(self) -> NDArray[Any]:
        return idx_format.read(self.images).reshape(len(self), *self.shape)

    @cached_property
    def targets(self) -> NDArray[np.int64]:
        targets = np.asarray(idx_format.read(self.labels), np.int64)
        if targets.min() < 0:
            raise DataError(f"{self.labels.path}: contains label {targets.min()}, but class numbers start at 0.")
        return targets

    @property
    def files(self) -> tuple[Path, ...]:
        return self.images.path, self.labels.path


class IDXSplits(Splits):
    """Training and validation samples from one or two pairs of IDX files.

    Args:
        train: training images and labels
        validation: validation images and labels, or the fraction of `train` used for validation
    """

    def __init__(self, train: ImageLabelPair, validation: ImageLabelPair | float) -> None:
        self._pair = train
        self._validation = validation
        if isinstance(validation, ImageLabelPair) and validation.input != train.input:
            raise DataError(
                f"{validation.images.path}: images are {validation.input}, but those of {train.images.path.name} are "
                f"{train.input}. Use files of the same data set."
            )

    @property
    def input(self) -> Spec:
        return self._pair.input

    @property
    def target(self) -> Spec:
        return Spec((), int64)

    @property
    def classes(self) -> int:
        pairs = [self._pair, self._validation] if isinstance(self._validation, ImageLabelPair) else [self._pair]
        return max(int(pair.targets.max()) for pair in pairs) + 1

    @property
    def class_names(self) -> tuple[str, ...]:
        return ()

    @property
    def train(self) -> Samples:
        rows = (
            None
            if isinstance(self._validation, ImageLabelPair)
            else validation_split(len(self._pair), self._validation)[0]
        )
        return ArraySamples(self._pair.inputs, self._pair.targets, rows)

    @property
    def validation(self) -> Samples | None:
        if isinstance(self._validation, ImageLabelPair):
            return ArraySamples(self._validation.inputs, self._validation.targets)
        rows = validation_split(len(self._pair), self._validation)[1]
        return ArraySamples(self._pair.inputs, self._pair.targets, rows) if len(rows) else None

    @property
    def files(self) -> tuple[Path, ...]:
        return self._pair.files + (self._validation.files if isinstance(self._validation, ImageLabelPair) else ())


@DATASETS.register(
    category="Images", title="IDX images", outputs=("samples",), tags=("MNIST", "Fashion-MNIST", "EMNIST", "ubyte")
)
class IDX(IDXSplits):
    """Images and labels in IDX files, such as MNIST: train-images-idx3-ubyte and so on, optionally gzipped.

    Uncompressed files are memory-mapped.

    Args:
        folder: folder of the files
        validation: fraction of the training images used for validation if the folder has no t10k files
    """

    def __init__(self, folder: Annotated[str, PathTo("folder")], validation: Share = 0.1) -> None:
        if not folder:
            raise DataError("IDX: no folder selected. Set folder to the one with train-images-idx3-ubyte.")
        path = Path(folder)
        if not path.is_dir():
            raise DataError(f"{path}: folder not found. Check the path.")
        validation_pair = _pair(path, "t10k")
        train = _pair(path, "train")
        if train is None:
            raise DataError(
                f"{path}: has no train-{_IMAGES} and train-{_LABELS}, with or without .gz. "
                "Choose a folder with the four files of MNIST or a similar data set."
            )
        super().__init__(train, validation if validation_pair is None else validation_pair)


def _pair(folder: Path, part: str) -> ImageLabelPair | None:
    images, labels = _find(folder, f"{part}-{_IMAGES}"), _find(folder, f"{part}-{_LABELS}")
    if (images is None) != (labels is None):
        present, missing = (_LABELS, _IMAGES) if images is None else (_IMAGES, _LABELS)
        raise DataError(f"{folder}: has {part}-{present} but no {part}-{missing}. Add it, with or without .gz.")
    return ImageLabelPair(images, labels) if images and labels else None


def _find(folder: Path, name: str) -> Path | None:
    """The uncompressed file if there is one, else the gzipped one. Some copies have a dot before `idx`."""
    names = (name, name.replace("-idx", ".idx"))
    paths = (folder / (each + suffix) for suffix in ("", ".gz") for each in names)
    return next((path for path in paths if path.is_file()), None)
