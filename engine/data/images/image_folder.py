"""Images in folders: one folder for each class."""

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

_TRAIN = ("train", "training")
_HELD = ("val", "valid", "validation", "test")


@DATASETS.register(
    category="Images",
    title="Image folder",
    outputs=("samples",),
    tags=("JPEG", "PNG", "photos", "ImageFolder"),
)
class ImageFolder(Splits):
    """Images in one folder for each class, which is its name: ``cats/1.jpg``, ``dogs/2.png``.

    Classes are numbered in the order of their names. A folder with the two parts train and val, each with folders of
    classes, is taken as divided. Images are decoded as they are needed, turned as their EXIF data say; what is
    transparent becomes white. They may differ in size: add Resize or a crop.

    Args:
        folder: the folder that holds those of the classes
        validation: the share of the images to keep for validation; only if there is no folder val
        channels: three channels of colour, or a grey one
        on_error: what an image does that does not decode: end the training, or leave its place to the next
    """

    def __init__(
        self,
        folder: Annotated[str, PathTo("folder")],
        validation: Share = 0.2,
        channels: ColorMode = "colour",
        on_error: OnError = "stop",
    ) -> None:
        root = required_path("ImageFolder", "folder", folder, "folder")
        train, held = _parts_of(root)
        self._names = _folders(train)
        if not self._names:
            raise DataError(
                f"{train}: has no folders of classes. Put the images of each class into a folder of its own, "
                "for instance cats and dogs."
            )
        self._channels: ColorMode = channels
        self._share = validation
        self._train = _Files(train, self._names, channels, on_error)
        self._held = None if held is None else _Files(held, self._names, channels, on_error)
        extra = sorted(set(_folders(held)) - set(self._names)) if held else []
        if extra:
            raise DataError(f"{held}: has the class {extra[0]!r}, but {train} has none of that name. Add it to both.")

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
        return self._train if self._held is not None else train_validation_split(self._train, self._share)[0]

    @property
    def validation(self) -> Samples | None:
        return self._held if self._held is not None else train_validation_split(self._train, self._share)[1]

    @property
    def files(self) -> tuple[Path, ...]:
        return self._train.folders + (() if self._held is None else self._held.folders)

    def unlabelled(self, path: Path) -> Samples:
        """An image, or all that are in a folder and in the folders in it, in the order of their names."""
        return _Unlabelled(path, self._channels)


def _parts_of(root: Path) -> tuple[Path, Path | None]:
    """The folders of the two parts, or the whole one."""
    train, held = (next((root / name for name in names if (root / name).is_dir()), None) for names in (_TRAIN, _HELD))
    return (root, None) if train is None or held is None else (train, held)


class _Files(ImageSamples):
    """The images of all classes, by class and name."""

    def __init__(self, root: Path, names: list[str], colour: ColorMode, on_error: OnError) -> None:
        self.folders = tuple(root / name for name in names)
        found = [_images(folder) for folder in self.folders]
        empty = next((folder for folder, images in zip(self.folders, found, strict=True) if not images), None)
        if empty is not None:
            known = ", ".join(SUFFIXES)
            raise DataError(f"{empty}: has no images ({known}). Add some, or remove the folder of this class.")
        self._images = [name for images in found for name in images]
        super().__init__(np.repeat(np.arange(len(names)), [len(images) for images in found]), colour, on_error)

    def source(self, row: int) -> tuple[Path, str]:
        path = self.folders[self._targets[row]] / self._images[row]
        return path, str(path)


class _Unlabelled(ImageSamples):
    """Images of no known class."""

    def __init__(self, path: Path, colour: ColorMode) -> None:
        with ReadErrorContext(path):
            found = [path] if path.is_file() else sorted(each for each in path.rglob("*") if each.is_file())
        self._paths = [each for each in found if each.name.lower().endswith(SUFFIXES)]
        if not self._paths:
            raise DataError(f"{path}: has no images ({', '.join(SUFFIXES)}).")
        super().__init__(np.zeros(len(self._paths), np.int64), colour, "stop")

    def source(self, row: int) -> tuple[Path, str]:
        return self._paths[row], str(self._paths[row])


def _folders(root: Path | None) -> list[str]:
    if root is None or not root.is_dir():
        return []
    with ReadErrorContext(root), os.scandir(root) as entries:
        return sorted(entry.name for entry in entries if entry.is_dir() and not entry.name.startswith("."))


def _images(folder: Path) -> list[str]:
    if not folder.is_dir():
        return []
    with ReadErrorContext(folder), os.scandir(folder) as entries:
        return sorted(entry.name for entry in entries if entry.name.lower().endswith(SUFFIXES) and entry.is_file())
