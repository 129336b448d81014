"""Images in tar files, as the WebDataset library lays them out.

Files of one sample follow each other and have one name up to the first dot: ``0001.jpg``, ``0001.cls``. Nothing is ever
unpacked to disk: the places of images in a shard are noted, and their bytes are read from it.
"""

from __future__ import annotations

import tarfile
from collections.abc import Iterator
from functools import cached_property
from pathlib import Path
from typing import Annotated, Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from engine.data.columns import class_codes
from engine.data.picture_samples import OnError, PictureSamples, picture_spec
from engine.data.pictures import SUFFIXES, Colour
from engine.data.reading import Reading, existing
from engine.data.samples import Samples
from engine.data.splits import HeldOutSplits, Share
from engine.dtypes import int64
from engine.errors import DataError
from engine.registry import DATASETS, PathTo
from engine.shape import Spec

_LONGEST_LABEL = 1000
_MOST_DIGITS = 6
"""Of a class number: a network has an output for each class."""


class Member(NamedTuple):
    """A file in a shard."""

    shard: int
    name: str
    offset: int
    size: int


@DATASETS.register(
    category="Images", title="WebDataset shards", outputs=("samples",), tags=("tar", "shards", "archive", "streaming")
)
class WebDataset(HeldOutSplits):
    """Images and their classes in the tar files of a folder, as WebDataset writes them: 0001.jpg, 0001.cls and so on.

    The shards stay as they are; images are read and decoded as they are needed, as by Image folder.

    Args:
        folder: where the tar files are
        label: whether classes are numbers in files .cls, or names in files .txt
        validation: the share of the images to keep for validation
        channels: three channels of colour, or a grey one
        on_error: what an image does that does not decode: end the training, or leave its place to the next
    """

    def __init__(
        self,
        folder: Annotated[str, PathTo("folder")],
        label: Literal["cls", "txt"] = "cls",
        validation: Share = 0.2,
        channels: Colour = "colour",
        on_error: OnError = "stop",
    ) -> None:
        root = existing("WebDataset", "folder", folder, "folder")
        self._shards = tuple(sorted(root.glob("*.tar")))
        if not self._shards:
            packed = next(iter(sorted(root.glob("*.tar.*")) + sorted(root.glob("*.tgz"))), None)
            remedy = f"Unpack {packed.name} with gunzip or the like." if packed else "Choose the folder of the shards."
            raise DataError(f"{folder}: has no tar files. {remedy}")
        self._label = label
        self._channels: Colour = channels
        self._on_error: OnError = on_error
        super().__init__(picture_spec(channels), Spec((), int64), validation)

    @property
    def classes(self) -> int:
        targets, names = self._indexed[1:]
        return len(names) or int(targets.max()) + 1

    @property
    def class_names(self) -> tuple[str, ...]:
        return self._indexed[2]

    @property
    def samples(self) -> Samples:
        images, targets, _ = self._indexed
        return _Members(self._shards, images, targets, self._channels, self._on_error)

    @property
    def files(self) -> tuple[Path, ...]:
        return self._shards

    @cached_property
    def _indexed(self) -> tuple[list[Member], NDArray[np.int64], tuple[str, ...]]:
        """Images, class numbers and class names. Reads the headers of all shards, and the labels."""
        images: list[Member] = []
        labels: list[str] = []
        for number, shard in enumerate(self._shards):
            for image, text in _pairs(shard, number, self._label):
                images.append(image)
                labels.append(text)
        if not images:
            raise DataError(
                f"{self._shards[0].parent}: the tar files have no images with labels. Choose the folder of the shards."
            )
        if self._label == "txt":
            return images, *class_codes(np.array(labels))
        return images, np.array([self._number(*pair) for pair in zip(images, labels, strict=True)], np.int64), ()

    def _number(self, image: Member, text: str) -> int:
        if not text.isdecimal() or len(text) > _MOST_DIGITS:
            name = f"{self._shards[image.shard]}: the label of {image.name}"
            raise DataError(
                f"{name} is {text[:40]!r}, which is no class number. Write a whole number from 0, with "
                f"{_MOST_DIGITS} digits at most."
            )
        return int(text)


class _Members(PictureSamples):
    """Images in shards."""

    def __init__(
        self,
        shards: tuple[Path, ...],
        images: list[Member],
        targets: NDArray[np.int64],
        colour: Colour,
        on_error: OnError,
    ) -> None:
        super().__init__(targets, colour, on_error)
        self._shards = shards
        self._images = images

    def source(self, row: int) -> tuple[bytes, str]:
        image = self._images[row]
        shard = self._shards[image.shard]
        with Reading(shard), shard.open("rb") as file:
            file.seek(image.offset)
            return file.read(image.size), f"{shard}: {image.name}"


def _pairs(shard: Path, number: int, label: str) -> Iterator[tuple[Member, str]]:
    """The images of a shard with their labels."""
    images: dict[str, Member] = {}
    texts: dict[str, str] = {}
    with Reading(shard), shard.open("rb") as file:
        for found in _members(shard, file, number):
            folder, _, name = found.name.rpartition("/")
            stem, _, suffix = name.lower().partition(".")
            key = f"{folder}/{stem}"
            if f".{suffix}" in SUFFIXES:
                if key in images:
                    raise DataError(f"{shard}: {found.name} is a second image of one sample. Give each its own name.")
                images[key] = found
            elif suffix == label:
                file.seek(found.offset)
                texts[key] = file.read(min(found.size, _LONGEST_LABEL)).decode("utf-8", "replace").strip()
    for key, image in images.items():
        if key not in texts:
            raise DataError(f"{shard}: {image.name} has no file .{label} beside it. Add it, or set label.")
        yield image, texts[key]


def _members(shard: Path, file: Any, number: int) -> Iterator[Member]:
    """All files of a shard. Raises DataError for what is none, or could not have been meant."""
    end = shard.stat().st_size
    try:
        with tarfile.open(fileobj=file, mode="r:") as archive:
            for info in archive:
                name = info.name
                if info.isdir():
                    continue
                if not info.isreg() or name.startswith("/") or ".." in name.split("/"):
                    what = "is no ordinary file" if not info.isreg() else "leads out of the archive"
                    raise DataError(f"{shard}: {name[:200]!r} {what}. Make the shard again without it.")
                if info.size < 0 or info.offset_data + info.size > end:
                    raise DataError(f"{shard}: ends inside {name!r}. Download the shard again.")
                yield Member(number, name, info.offset_data, info.size)
    except DataError:
        raise
    except (tarfile.TarError, EOFError, ValueError, OverflowError) as error:
        raise DataError(f"{shard}: is no tar file, or damaged ({error}). Download the shard again.") from None
