"""Images listed in a CSV file, with their targets."""

from __future__ import annotations

from functools import cached_property
from pathlib import Path
from typing import Annotated, Any, Literal

import numpy as np
from numpy.typing import NDArray

from engine.data.file_access import required_path
from engine.data.images.image_decoding import ColorMode
from engine.data.images.image_samples import ImageSamples, OnError, image_spec
from engine.data.samples import Samples
from engine.data.splits import HeldOutSplits, Share
from engine.data.tables.csv_columns import class_codes, column_list, column_names, read_columns
from engine.data.tables.csv_dialect import Dialect, Separator
from engine.dtypes import float32, int64
from engine.errors import DataError
from engine.registry import DATASETS, PathTo
from engine.shape import Spec


@DATASETS.register(
    category="Images", title="Image list", outputs=("samples",), tags=("CSV", "JPEG", "PNG", "photos", "regression")
)
class ImageList(HeldOutSplits):
    """Images listed in a CSV file, with a class or number per image.

    Paths are relative to the folder of the CSV file. Images are decoded on access, as in Image folder.

    Args:
        path: CSV file in UTF-8 with a header line
        image: name of the column with image paths
        target: name of the target column
        task: learn classes (any text) or a number
        validation: fraction of the images used for validation
        channels: three color channels, or one grayscale channel
        on_error: if an image cannot be decoded, stop the run or skip to the next image
        separator: column separator
    """

    def __init__(
        self,
        path: Annotated[str, PathTo("file", (".csv", ".tsv", ".txt"))],
        image: str = "image",
        target: str = "label",
        task: Literal["classes", "number"] = "classes",
        validation: Share = 0.2,
        channels: ColorMode = "colour",
        on_error: OnError = "stop",
        separator: Separator = "comma",
    ) -> None:
        self._path = required_path("ImageList", "path", path, "file")
        names = column_names(self._path, Dialect(separator))
        for name in (image, target):
            if name not in names:
                raise DataError(f"{path}: has no column {name!r}. It has {column_list(path, names)}.")
        self._columns = (image, target)
        self._task = task
        self._dialect = Dialect(separator)
        self._color: ColorMode = channels
        self._on_error: OnError = on_error
        learned = Spec((), int64) if task == "classes" else Spec((1,), float32)
        super().__init__(image_spec(channels), learned, validation)

    @property
    def classes(self) -> int | None:
        return len(self.class_names) if self._task == "classes" else None

    @property
    def class_names(self) -> tuple[str, ...]:
        return self._listed[2]

    @property
    def samples(self) -> Samples:
        images, targets, _ = self._listed
        return _Listed(self._path.parent, images, targets, self._color, self._on_error)

    @property
    def files(self) -> tuple[Path, ...]:
        return (self._path,)

    def unlabeled(self, path: Path) -> Samples:
        """Samples of a list whose target column may be missing; targets are zeros."""
        image = self._columns[0]
        names = column_names(path, self._dialect)
        if image not in names:
            raise DataError(f"{path}: has no column {image!r}. It has {column_list(path, names)}.")
        images = read_columns(path, self._dialect, [image], [])[image].tolist()
        return _Listed(path.parent, images, np.zeros(len(images), np.int64), self._color, "stop")

    @cached_property
    def _listed(self) -> tuple[list[str], NDArray[Any], tuple[str, ...]]:
        """Image paths, targets and class names."""
        image, target = self._columns
        number = self._task == "number"
        texts, numbers = ([image], [target]) if number else ([image, target], [])
        table = read_columns(self._path, self._dialect, texts, numbers)
        images = table[image].tolist()
        if number:
            return images, table[target].astype(np.float32)[:, np.newaxis], ()
        codes, names = class_codes(table[target])
        return images, codes, names


class _Listed(ImageSamples):
    """The listed images."""

    def __init__(
        self, folder: Path, images: list[str], targets: NDArray[Any], color: ColorMode, on_error: OnError
    ) -> None:
        super().__init__(targets, color, on_error)
        self._folder = folder
        self._images = images

    def source(self, row: int) -> tuple[Path, str]:
        path = self._folder / self._images[row]
        return path, str(path)
