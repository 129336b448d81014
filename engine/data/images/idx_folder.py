"""Folders of IDX files, as MNIST and its relatives come."""

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
    """A file of images and one of labels. Headers are read at once, data when asked for, and once.

    Raises DataError if the two do not belong together.
    """

    def __init__(self, images: Path, labels: Path) -> None:
        self.images = idx_format.read_header(images)
        self.labels = idx_format.read_header(labels)
        if len(self.images.shape) < 3:
            found = format_shape(self.images.shape)
            raise DataError(f"{images}: holds {found} numbers, but images are at least N×H×W.")
        if len(self.labels.shape) != 1 or self.labels.dtype.kind not in "iu":
            found = f"{format_shape(self.labels.shape)} {self.labels.dtype.name}"
            raise DataError(f"{labels}: holds {found}, but labels are one whole number an image.")
        if self.labels.shape[0] != self.images.shape[0]:
            raise DataError(
                f"{labels}: has {self.labels.shape[0]} labels, but {images.name} has {self.images.shape[0]} images. "
                "Download both files again, from the same place."
            )
        if self.images.shape[0] == 0:
            raise DataError(f"{images}: has no images. Download the file again.")

    def __len__(self) -> int:
        return self.images.shape[0]

    @property
    def shape(self) -> tuple[int, ...]:
        """Of one image: grey ones, N×H×W in the file, get a dimension of one channel."""
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
            raise DataError(f"{self.labels.path}: holds the label {targets.min()}, but classes are counted from 0.")
        return targets

    @property
    def files(self) -> tuple[Path, ...]:
        return self.images.path, self.labels.path


class IDXSplits(Splits):
    """Splits of one or two pairs of files.

    Args:
        train: images and labels to train with
        validation: images and labels to validate with, or the share of `train` to keep for it
    """

    def __init__(self, train: ImageLabelPair, validation: ImageLabelPair | float) -> None:
        self._pair = train
        self._held = validation
        if isinstance(validation, ImageLabelPair) and validation.input != train.input:
            raise DataError(
                f"{validation.images.path}: images are {validation.input}, but those of {train.images.path.name} are "
                f"{train.input}. Use files of one data set."
            )

    @property
    def input(self) -> Spec:
        return self._pair.input

    @property
    def target(self) -> Spec:
        return Spec((), int64)

    @property
    def classes(self) -> int:
        pairs = [self._pair, self._held] if isinstance(self._held, ImageLabelPair) else [self._pair]
        return max(int(pair.targets.max()) for pair in pairs) + 1

    @property
    def class_names(self) -> tuple[str, ...]:
        return ()

    @property
    def train(self) -> Samples:
        rows = None if isinstance(self._held, ImageLabelPair) else validation_split(len(self._pair), self._held)[0]
        return ArraySamples(self._pair.inputs, self._pair.targets, rows)

    @property
    def validation(self) -> Samples | None:
        if isinstance(self._held, ImageLabelPair):
            return ArraySamples(self._held.inputs, self._held.targets)
        rows = validation_split(len(self._pair), self._held)[1]
        return ArraySamples(self._pair.inputs, self._pair.targets, rows) if len(rows) else None

    @property
    def files(self) -> tuple[Path, ...]:
        return self._pair.files + (self._held.files if isinstance(self._held, ImageLabelPair) else ())


@DATASETS.register(
    category="Images", title="IDX images", outputs=("samples",), tags=("MNIST", "Fashion-MNIST", "EMNIST", "ubyte")
)
class IDX(IDXSplits):
    """Images and labels in a folder of IDX files, such as MNIST: train-images-idx3-ubyte and so on, gzipped or not.

    Unpacked files stay on disk and are read as they are needed.

    Args:
        folder: where the files are
        validation: the share of the training images to keep for validation; only if the folder has no t10k files
    """

    def __init__(self, folder: Annotated[str, PathTo("folder")], validation: Share = 0.1) -> None:
        if not folder:
            raise DataError("IDX: no folder is chosen. Set folder to the one that holds train-images-idx3-ubyte.")
        path = Path(folder)
        if not path.is_dir():
            raise DataError(f"{path}: there is no such folder. Check the path.")
        held = _pair(path, "t10k")
        train = _pair(path, "train")
        if train is None:
            raise DataError(
                f"{path}: has no train-{_IMAGES} and train-{_LABELS}, with or without .gz. "
                "Choose the folder that holds the four files of MNIST or a data set like it."
            )
        super().__init__(train, validation if held is None else held)


def _pair(folder: Path, part: str) -> ImageLabelPair | None:
    images, labels = _find(folder, f"{part}-{_IMAGES}"), _find(folder, f"{part}-{_LABELS}")
    if (images is None) != (labels is None):
        there, lacking = (_LABELS, _IMAGES) if images is None else (_IMAGES, _LABELS)
        raise DataError(f"{folder}: has {part}-{there} but no {part}-{lacking}. Add it, with or without .gz.")
    return ImageLabelPair(images, labels) if images and labels else None


def _find(folder: Path, name: str) -> Path | None:
    """The unpacked file before the gzipped one. Some copies have a dot before `idx`."""
    names = (name, name.replace("-idx", ".idx"))
    paths = (folder / (each + suffix) for suffix in ("", ".gz") for each in names)
    return next((path for path in paths if path.is_file()), None)
