"""Images in tar files, as the WebDataset library lays them out.

Files of one sample follow each other and have one name up to the first dot: ``0001.jpg``, ``0001.cls``. Nothing is ever
unpacked to disk: the places of images in a shard are noted, and their bytes are read from it. A stream notes those of
the images that come next, so that training begins at once and what is held in memory does not depend on the shards.
"""

from __future__ import annotations

import tarfile
import warnings
from collections.abc import Iterator
from functools import cached_property
from pathlib import Path
from typing import IO, Annotated, Any, BinaryIO, Literal, NamedTuple, cast

import numpy as np
from numpy.typing import NDArray

from engine.data.file_access import ReadErrorContext, required_path
from engine.data.images.image_decoding import SUFFIXES, ColorMode, decode_image
from engine.data.images.image_samples import ImageSamples, OnError, image_spec, skipped_image_warning
from engine.data.sample_stream import Record, SampleStream
from engine.data.samples import Samples, validation_split
from engine.data.splits import HeldOutSplits, Share
from engine.data.tables.csv_columns import class_codes
from engine.data.transforms.transform import Batch
from engine.dtypes import int64
from engine.errors import DataError
from engine.random import Generator
from engine.registry import DATASETS, PathTo, Range, Size
from engine.shape import Spec
from engine.system.files import open_regular

_LONGEST_LABEL = 1000
_LONGEST_HEADER = 2**20
"""Bytes that long names and other properties of a file may take."""
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

    The shards stay as they are; images are read and decoded as they are needed, as by Image folder. As a stream, shards
    are read one after the other and nothing is listed before: for data of which listing alone takes long.

    Args:
        folder: where the tar files are
        label: whether classes are numbers in files .cls, or names in files .txt
        validation: the share of the images to keep for validation; of a stream, of the shards
        channels: three channels of colour, or a grey one
        on_error: what an image does that does not decode: end the training, or leave its place to the next
        stream: take images in the order of the shards, which nobody counts before. Where the loader shuffles, shards
            come in random order, and images are drawn from those that are next
        buffer: of a stream, how many images are next; only their places are held in memory
        classes: how many classes there are; counted unless given, which a stream cannot do
    """

    def __init__(
        self,
        folder: Annotated[str, PathTo("folder")],
        label: Literal["cls", "txt"] = "cls",
        validation: Share = 0.2,
        channels: ColorMode = "colour",
        on_error: OnError = "stop",
        stream: bool = False,
        buffer: Size = 1000,
        classes: Annotated[int, Range(ge=1, le=10**_MOST_DIGITS)] | None = None,
    ) -> None:
        root = required_path("WebDataset", "folder", folder, "folder")
        self._shards = tuple(sorted(root.glob("*.tar")))
        if not self._shards:
            packed = next(iter(sorted(root.glob("*.tar.*")) + sorted(root.glob("*.tgz"))), None)
            remedy = f"Unpack {packed.name} with gunzip or the like." if packed else "Choose the folder of the shards."
            raise DataError(f"{folder}: has no tar files. {remedy}")
        self._label = label
        self._channels: ColorMode = channels
        self._on_error: OnError = on_error
        self._streams = stream
        self._buffer = buffer
        self._classes = classes
        super().__init__(image_spec(channels), Spec((), int64), validation)
        if stream:
            self._check_stream(folder, validation)

    @property
    def classes(self) -> int | None:
        """None for a stream of which nobody said."""
        if self._classes is not None or self._streams:
            return self._classes
        targets, names = self._indexed[1:]
        return len(names) or int(targets.max()) + 1

    @property
    def class_names(self) -> tuple[str, ...]:
        return () if self._streams else self._indexed[2]

    @property
    def train(self) -> Samples:
        return self._parts[0] if self._streams else super().train

    @property
    def validation(self) -> Samples | None:
        return self._parts[1] if self._streams else super().validation

    @property
    def samples(self) -> Samples:
        images, targets, _ = self._indexed
        return _Members(self._shards, images, targets, self._channels, self._on_error)

    @property
    def is_stream(self) -> bool:
        return self._streams

    @property
    def files(self) -> tuple[Path, ...]:
        return self._shards

    def _check_stream(self, folder: str, validation: float) -> None:
        if self._label == "txt":
            raise DataError(
                f"{folder}: a stream does not know all names of classes before it has ended. Write class numbers to "
                "files .cls, or turn stream off."
            )
        if validation and len(self._shards) == 1:
            raise DataError(
                f"{folder}: a stream keeps whole shards for validation, but there is one alone. Set validation to 0, "
                "make several shards of it, or turn stream off."
            )

    @cached_property
    def _parts(self) -> tuple[SampleStream, SampleStream | None]:
        """A stream of some shards to train with, and of the others to validate with."""
        train, held = validation_split(len(self._shards), self._share)
        parts = [
            _Shards(tuple(self._shards[n] for n in rows), self._channels, self._on_error, self._classes, self._buffer)
            for rows in (train, held)
        ]
        return parts[0], parts[1] if len(held) else None

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
        numbers = (
            _number(self._shards[image.shard], image, text, self._classes)
            for image, text in zip(images, labels, strict=True)
        )
        return images, np.fromiter(numbers, np.int64, len(images)), ()


class _Members(ImageSamples):
    """Images in shards."""

    def __init__(
        self,
        shards: tuple[Path, ...],
        images: list[Member],
        targets: NDArray[np.int64],
        colour: ColorMode,
        on_error: OnError,
    ) -> None:
        super().__init__(targets, colour, on_error)
        self._shards = shards
        self._images = images

    def source(self, row: int) -> tuple[bytes, str]:
        image = self._images[row]
        shard = self._shards[image.shard]
        with ReadErrorContext(shard), open_regular(shard) as file:
            file.seek(image.offset)
            return file.read(image.size), f"{shard}: {image.name}"


class _Shards(SampleStream):
    """Images in shards, one shard after the other.

    Args:
        shards: their files
        colour: whether images have three channels or a grey one
        on_error: whether an image that does not decode ends the training, or another one takes its place
        classes: how many there are, if that is known
        buffer: how many images are drawn from
    """

    def __init__(
        self, shards: tuple[Path, ...], colour: ColorMode, on_error: OnError, classes: int | None, buffer: int
    ) -> None:
        super().__init__([("shard", "i4"), ("offset", "i8"), ("size", "i8"), ("label", "i8")], buffer)
        self._shards = shards
        self._colour: ColorMode = colour
        self._on_error: OnError = on_error
        self._classes = classes

    def records(self, generator: Generator | None) -> Iterator[Record]:
        count = len(self._shards)
        for place in range(count) if generator is None else generator.permutation(count).tolist():
            shard = self._shards[place]
            for image, text in _pairs(shard, place, "cls"):
                yield place, image.offset, image.size, _number(shard, image, text, self._classes)

    def targets(self, rows: NDArray[Any]) -> Batch:
        return rows["label"].copy()

    def arrays(self, rows: NDArray[Any]) -> tuple[Batch, Batch]:
        read = [self._read(rows, place) for place in range(len(rows))]
        return [image for image, _ in read], self.targets(rows[[place for _, place in read]])

    def _read(self, rows: NDArray[Any], place: int) -> tuple[NDArray[np.uint8], int]:
        """An image and its place in the batch: another one if the first is skipped."""
        for step in range(len(rows) if self._on_error == "skip" else 1):
            found = (place + step) % len(rows)
            try:
                return self._decoded(rows[found]), found
            except DataError as error:
                if self._on_error == "stop":
                    raise
                warnings.warn(skipped_image_warning(error, "Another image"), stacklevel=2)
        name = self._shards[int(rows[place]["shard"])]
        raise DataError(f"{name}: none of the {len(rows)} images of a batch can be read. Check the shards.")

    def _decoded(self, record: Any) -> NDArray[np.uint8]:
        shard, start = self._shards[record["shard"]], int(record["offset"])
        with ReadErrorContext(shard), open_regular(shard) as file:
            file.seek(start - tarfile.BLOCKSIZE)
            header, content = file.read(tarfile.BLOCKSIZE), file.read(int(record["size"]))
        name = header[:100].partition(b"\0")[0].decode("utf-8", "replace")
        return decode_image(content, self._colour, f"{shard}: {name}")


def _number(shard: Path, image: Member, text: str, classes: int | None) -> int:
    """The class of an image."""
    name = f"{shard}: the label of {image.name}"
    if not text.isdecimal() or len(text) > _MOST_DIGITS:
        raise DataError(
            f"{name} is {text[:40]!r}, which is no class number. Write a whole number from 0, with "
            f"{_MOST_DIGITS} digits at most."
        )
    if classes is not None and int(text) >= classes:
        raise DataError(f"{name} is {text}, but there are {classes} classes, counted from 0. Set classes, or mend it.")
    return int(text)


def _pairs(shard: Path, number: int, label: str) -> Iterator[tuple[Member, str]]:
    """The images of a shard with their labels, as they come."""
    images: dict[str, Member] = {}
    texts: dict[str, str] = {}
    known: set[str] = set()
    with ReadErrorContext(shard), open_regular(shard) as file:
        for found in _members(shard, file, number):
            folder, _, name = found.name.rpartition("/")
            stem, _, suffix = name.lower().partition(".")
            key = f"{folder}/{stem}"
            if f".{suffix}" in SUFFIXES:
                if key in known:
                    raise DataError(f"{shard}: {found.name} is a second image of one sample. Give each its own name.")
                images[key] = found
                known.add(key)
            elif suffix == label:
                file.seek(found.offset)
                texts[key] = file.read(min(found.size, _LONGEST_LABEL)).decode("utf-8", "replace").strip()
            if key in images and key in texts:
                yield images.pop(key), texts.pop(key)
    for image in images.values():
        raise DataError(f"{shard}: {image.name} has no file .{label} beside it. Add it, or set label.")


def _members(shard: Path, file: Any, number: int) -> Iterator[Member]:
    """All files of a shard. Raises DataError for what is none, or could not have been meant."""
    end = shard.stat().st_size
    try:
        with tarfile.open(fileobj=cast("IO[bytes]", _Headers(file)), mode="r:") as archive:
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
    except (tarfile.TarError, EOFError, ValueError, OverflowError, RecursionError) as error:
        raise DataError(f"{shard}: is no tar file, or damaged ({error}). Download the shard again.") from None


class _Headers:
    """Limits each read of `tarfile` to the size of a header, whatever size the header declares."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        self.seek, self.tell = file.seek, file.tell

    def read(self, size: int) -> bytes:
        if size > _LONGEST_HEADER:
            raise tarfile.ReadError(f"a header declares {size:,} bytes")
        return self._file.read(size)
