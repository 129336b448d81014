"""Images in one folder per class."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated

import numpy as np

from engine.data.file_access import ReadErrorContext, required_path
from engine.data.images.image_decoding import SUFFIXES, ColorMode
from engine.data.images.image_samples import ImageSamples, OnError, image_spec
from engine.data.samples import Samples
from engine.data.splits import Share, Splits, train_validation_split
from engine.dtypes import int64
from engine.errors import DataError
from engine.registry import DATASETS, PathTo
from engine.shape import Spec

_TRAIN_NAMES = ("train", "training")
_VALIDATION_NAMES = ("val", "valid", "validation", "test")


@DATASETS.register(
    category="Images",
    title="Image folder",
    outputs=("samples",),
    tags=("JPEG", "PNG", "photos", "ImageFolder"),
)
class ImageFolder(Splits):
    """Images in one folder per class, named after the class: ``cats/1.jpg``, ``dogs/2.png``.

    Classes are numbered in alphabetical order. If the folder has subfolders train and val, val is the validation data.
    Images are decoded on access and rotated by their EXIF orientation; transparent pixels become white. Images of
    different sizes need Resize or a crop.

    Args:
        folder: folder with one subfolder per class
        validation: fraction of the images used for validation if there is no val folder
        channels: three color channels, or one grayscale channel
        on_error: if an image cannot be decoded, stop the run or skip to the next image
    """

    def __init__(
        self,
        folder: Annotated[str, PathTo("folder")],
        validation: Share = 0.2,
        channels: ColorMode = "colour",
        on_error: OnError = "stop",
    ) -> None:
        root = required_path("ImageFolder", "folder", folder, "folder")
        train_folder, validation_folder = _find_split_folders(root)
        self._names = _folders(train_folder)
        if not self._names:
            raise DataError(
                f"{train_folder}: has no class folders. Put the images of each class into a separate folder, "
                "for example cats and dogs."
            )
        self._channels: ColorMode = channels
        self._share = validation
        self._train = _ClassImages(train_folder, self._names, channels, on_error)
        self._validation = (
            None if validation_folder is None else _ClassImages(validation_folder, self._names, channels, on_error)
        )
        extra = sorted(set(_folders(validation_folder)) - set(self._names)) if validation_folder else []
        if extra:
            raise DataError(
                f"{validation_folder}: has class {extra[0]!r}, but {train_folder} does not. Add it to both folders."
            )

    @property
    def input(self) -> Spec:
        return image_spec(self._channels)

    @property
    def target(self) -> Spec:
        return Spec((), int64)

    @property
    def classes(self) -> int:
        return len(self._names)

    @property
    def class_names(self) -> tuple[str, ...]:
        return tuple(self._names)

    @property
    def train(self) -> Samples:
        return self._train if self._validation is not None else train_validation_split(self._train, self._share)[0]

    @property
    def validation(self) -> Samples | None:
        return self._validation if self._validation is not None else train_validation_split(self._train, self._share)[1]

    @property
    def files(self) -> tuple[Path, ...]:
        return self._train.folders + (() if self._validation is None else self._validation.folders)

    def unlabeled(self, path: Path) -> Samples:
        """Samples of an image file, or of all images in a folder and its subfolders, sorted by name."""
        return _UnlabeledImages(path, self._channels)


def _find_split_folders(root: Path) -> tuple[Path, Path | None]:
    """The training and the validation folder, or `root` and None."""
    train_folder, validation_folder = (
        next((root / name for name in names if (root / name).is_dir()), None)
        for names in (_TRAIN_NAMES, _VALIDATION_NAMES)
    )
    return (root, None) if train_folder is None or validation_folder is None else (train_folder, validation_folder)


class _ClassImages(ImageSamples):
    """The images of all classes, sorted by class and name."""

    def __init__(self, root: Path, names: list[str], color: ColorMode, on_error: OnError) -> None:
        self.folders = tuple(root / name for name in names)
        found = [_images(folder) for folder in self.folders]
        empty = next((folder for folder, images in zip(self.folders, found, strict=True) if not images), None)
        if empty is not None:
            suffixes = ", ".join(SUFFIXES)
            raise DataError(f"{empty}: contains no images ({suffixes}). Add images, or remove this class folder.")
        self._images = [name for images in found for name in images]
        super().__init__(np.repeat(np.arange(len(names)), [len(images) for images in found]), color, on_error)

    def source(self, row: int) -> tuple[Path, str]:
        path = self.folders[self._targets[row]] / self._images[row]
        return path, str(path)


class _UnlabeledImages(ImageSamples):
    """Images without class labels."""

    def __init__(self, path: Path, color: ColorMode) -> None:
        with ReadErrorContext(path):
            found = [path] if path.is_file() else sorted(each for each in path.rglob("*") if each.is_file())
        self._paths = [each for each in found if each.name.lower().endswith(SUFFIXES)]
        if not self._paths:
            raise DataError(f"{path}: contains no images ({', '.join(SUFFIXES)}). Choose another file or folder.")
        super().__init__(np.zeros(len(self._paths), np.int64), color, "stop")

    def source(self, row: int) -> tuple[Path, str]:
        return self._paths[row], str(self._paths[row])


def _folders(root: Path) -> list[str]:
    with ReadErrorContext(root), os.scandir(root) as entries:
        return sorted(entry.name for entry in entries if entry.is_dir() and not entry.name.startswith("."))


def _images(folder: Path) -> list[str]:
    if not folder.is_dir():
        return []
    with ReadErrorContext(folder), os.scandir(folder) as entries:
        return sorted(entry.name for entry in entries if entry.name.lower().endswith(SUFFIXES) and entry.is_file())
