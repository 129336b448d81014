"""Images in tar files in the layout of the WebDataset library.

Files of one sample are adjacent and share their name up to the first dot: ``0001.jpg``, ``0001.cls``. Nothing is
unpacked to disk: images are read from the shard at their byte offsets. A stream keeps the offsets of the next images
only, so training starts at once and memory use does not depend on the number of shards.
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

_MAX_LABEL_BYTES = 1000
_MAX_HEADER_BYTES = 2**20
"""Maximum size in bytes of long names and other properties of a member."""
_MAX_LABEL_DIGITS = 6
"""Maximum digits of a class number: a network has one output per class."""


class Member(NamedTuple):
    """A file in a shard, by its byte offset."""

    shard: int
    name: str
    offset: int
    size: int


@DATASETS.register(
    category="Images", title="WebDataset shards", outputs=("samples",), tags=("tar", "shards", "archive", "streaming")
)
class WebDataset(HeldOutSplits):
    """Images and class labels in tar files (shards), as WebDataset writes them: 0001.jpg, 0001.cls and so on.

    Images are read from the shards and decoded on access, as in Image folder. As a stream, shards are read one after
    the other without listing their files first, for data that take long to list.

    Args:
        folder: folder of the tar files
        label: class numbers in .cls files, or class names in .txt files
        validation: fraction of the images used for validation; for a stream, fraction of the shards
        channels: three color channels, or one grayscale channel
        on_error: if an image cannot be decoded, stop the run or skip to another image
        stream: read the shards one after the other without counting their images; with a shuffling loader, shards
            come in random order and images are drawn from a buffer
        buffer: size of a stream's shuffle buffer in images; only their byte offsets are in memory
        classes: number of classes; counted if empty, except for a stream
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
        classes: Annotated[int, Range(ge=1, le=10**_MAX_LABEL_DIGITS)] | None = None,
    ) -> None:
        root = required_path("WebDataset", "folder", folder, "folder")
        self._shards = tuple(sorted(root.glob("*.tar")))
        if not self._shards:
            packed = next(iter(sorted(root.glob("*.tar.*")) + sorted(root.glob("*.tgz"))), None)
            remedy = f"Unpack {packed.name} with gunzip." if packed else "Choose the folder with the shards."
            raise DataError(f"{folder}: has no tar files. {remedy}")
        self._label = label
        self._channels: ColorMode = channels
        self._on_error: OnError = on_error
        self._is_stream = stream
        self._buffer = buffer
        self._classes = classes
        super().__init__(image_spec(channels), Spec((), int64), validation)
        if stream:
            self._check_stream(folder, validation)

    @property
    def classes(self) -> int | None:
        """Number of classes; None for a stream if `classes` is not set."""
        if self._classes is not None or self._is_stream:
            return self._classes
        targets, names = self._index[1:]
        return len(names) or int(targets.max()) + 1

    @property
    def class_names(self) -> tuple[str, ...]:
        return () if self._is_stream else self._index[2]

    @property
    def train(self) -> Samples:
        return self._parts[0] if self._is_stream else super().train

    @property
    def validation(self) -> Samples | None:
        return self._parts[1] if self._is_stream else super().validation

    @property
    def samples(self) -> Samples:
        images, targets, _ = self._index
        return _ShardImages(self._shards, images, targets, self._channels, self._on_error)

    @property
    def is_stream(self) -> bool:
        return self._is_stream

    @property
    def files(self) -> tuple[Path, ...]:
        return self._shards

    def _check_stream(self, folder: str, validation: float) -> None:
        if self._label == "txt":
            raise DataError(
                f"{folder}: a stream cannot number class names before it has read all of them. Write class numbers "
                "to .cls files, or turn stream off."
            )
        if validation and len(self._shards) == 1:
            raise DataError(
                f"{folder}: a stream uses whole shards for validation, but has only one. Set validation to 0, split "
                "the shard, or turn stream off."
            )

    @cached_property
    def _parts(self) -> tuple[SampleStream, SampleStream | None]:
        """Streams of the training shards and of the validation shards."""
        train, validation = validation_split(len(self._shards), self._share)
        parts = [
            _ShardStream(
                tuple(self._shards[n] for n in rows), self._channels, self._on_error, self._classes, self._buffer
            )
            for rows in (train, validation)
        ]
        return parts[0], parts[1] if len(validation) else None

    @cached_property
    def _index(self) -> tuple[list[Member], NDArray[np.int64], tuple[str, ...]]:
        """Images, class numbers and class names. Reads the headers of all shards, and the labels."""
        images: list[Member] = []
        labels: list[str] = []
        for number, shard in enumerate(self._shards):
            for image, text in _pairs(shard, number, self._label):
                images.append(image)
                labels.append(text)
        if not images:
            raise DataError(
                f"{self._shards[0].parent}: no labeled images in the tar files. Choose the folder with the shards."
            )
        if self._label == "txt":
            return images, *class_codes(np.array(labels))
        numbers = (
            _class_number(self._shards[image.shard], image, text, self._classes)
            for image, text in zip(images, labels, strict=True)
        )
        return images, np.fromiter(numbers, np.int64, len(images)), ()


class _ShardImages(ImageSamples):
    """Images in shards."""

    def __init__(
        self,
        shards: tuple[Path, ...],
        images: list[Member],
        targets: NDArray[np.int64],
        color: ColorMode,
        on_error: OnError,
    ) -> None:
        super().__init__(targets, color, on_error)
        self._shards = shards
        self._images = images

    def source(self, row: int) -> tuple[bytes, str]:
        image = self._images[row]
        shard = self._shards[image.shard]
        with ReadErrorContext(shard), open_regular(shard) as file:
            file.seek(image.offset)
            return file.read(image.size), f"{shard}: {image.name}"


class _ShardStream(SampleStream):
    """A stream of the images in shards, one shard after the other.

    Args:
        shards: tar files
        color: three color channels, or one grayscale channel
        on_error: whether an undecodable image stops the run or is skipped
        classes: number of classes, if known
        buffer: size of the shuffle buffer in images
    """

    def __init__(
        self, shards: tuple[Path, ...], color: ColorMode, on_error: OnError, classes: int | None, buffer: int
    ) -> None:
        super().__init__([("shard", "i4"), ("offset", "i8"), ("size", "i8"), ("label", "i8")], buffer)
        self._shards = shards
        self._color: ColorMode = color
        self._on_error: OnError = on_error
        self._classes = classes

    def records(self, generator: Generator | None) -> Iterator[Record]:
        count = len(self._shards)
        for number in range(count) if generator is None else generator.permutation(count).tolist():
            shard = self._shards[number]
            for image, text in _pairs(shard, number, "cls"):
                yield number, image.offset, image.size, _class_number(shard, image, text, self._classes)

    def targets(self, rows: NDArray[Any]) -> Batch:
        return rows["label"].copy()

    def arrays(self, rows: NDArray[Any]) -> tuple[Batch, Batch]:
        read = [self._read(rows, index) for index in range(len(rows))]
        return [image for image, _ in read], self.targets(rows[[index for _, index in read]])

    def _read(self, rows: NDArray[Any], index: int) -> tuple[NDArray[np.uint8], int]:
        """A decoded image and its index in the batch; another image if this one is skipped."""
        for step in range(len(rows) if self._on_error == "skip" else 1):
            candidate = (index + step) % len(rows)
            try:
                return self._decoded(rows[candidate]), candidate
            except DataError as error:
                if self._on_error == "stop":
                    raise
                warnings.warn(skipped_image_warning(error, "Another image"), stacklevel=2)
        name = self._shards[int(rows[index]["shard"])]
        raise DataError(f"{name}: none of the {len(rows)} images of a batch can be decoded. Check the shards.")

    def _decoded(self, record: Any) -> NDArray[np.uint8]:
        shard, start = self._shards[record["shard"]], int(record["offset"])
        with ReadErrorContext(shard), open_regular(shard) as file:
            file.seek(start - tarfile.BLOCKSIZE)
            header, content = file.read(tarfile.BLOCKSIZE), file.read(int(record["size"]))
        name = header[:100].partition(b"\0")[0].decode("utf-8", "replace")
        return decode_image(content, self._color, f"{shard}: {name}")


def _class_number(shard: Path, image: Member, text: str, classes: int | None) -> int:
    """The class of an image."""
    name = f"{shard}: the label of {image.name}"
    if not text.isdecimal() or len(text) > _MAX_LABEL_DIGITS:
        raise DataError(
            f"{name} is {text[:40]!r}, not a class number. Write an integer from 0 with at most "
            f"{_MAX_LABEL_DIGITS} digits."
        )
    if classes is not None and int(text) >= classes:
        raise DataError(f"{name} is {text}, but classes are 0 to {classes - 1}. Set classes, or correct it.")
    return int(text)


def _pairs(shard: Path, number: int, label: str) -> Iterator[tuple[Member, str]]:
    """The images of a shard with their label texts, in file order."""
    images: dict[str, Member] = {}
    texts: dict[str, str] = {}
    keys_with_image: set[str] = set()
    with ReadErrorContext(shard), open_regular(shard) as file:
        for member in _members(shard, file, number):
            folder, _, name = member.name.rpartition("/")
            stem, _, suffix = name.lower().partition(".")
            key = f"{folder}/{stem}"
            if f".{suffix}" in SUFFIXES:
                if key in keys_with_image:
                    raise DataError(f"{shard}: {member.name} is a second image of one sample. Use unique sample names.")
                images[key] = member
                keys_with_image.add(key)
            elif suffix == label:
                file.seek(member.offset)
                texts[key] = file.read(min(member.size, _MAX_LABEL_BYTES)).decode("utf-8", "replace").strip()
            if key in images and key in texts:
                yield images.pop(key), texts.pop(key)
    for image in images.values():
        raise DataError(f"{shard}: {image.name} has no .{label} file. Add it, or change label.")


def _members(shard: Path, file: Any, number: int) -> Iterator[Member]:
    """The files in a shard. Raises DataError for a damaged shard or an unsafe member."""
    end = shard.stat().st_size
    try:
        with tarfile.open(fileobj=cast("IO[bytes]", _HeaderReader(file)), mode="r:") as archive:
            for info in archive:
                name = info.name
                if info.isdir():
                    continue
                if not info.isreg() or name.startswith("/") or ".." in name.split("/"):
                    reason = "is not a regular file" if not info.isreg() else "points outside the archive"
                    raise DataError(f"{shard}: {name[:200]!r} {reason}. Create the shard again without it.")
                if info.size < 0 or info.offset_data + info.size > end:
                    raise DataError(f"{shard}: ends inside {name!r}. Download the shard again.")
                yield Member(number, name, info.offset_data, info.size)
    except DataError:
        raise
    except (tarfile.TarError, EOFError, ValueError, OverflowError, RecursionError) as error:
        raise DataError(f"{shard}: is not a tar file, or is damaged ({error}). Download the shard again.") from None


class _HeaderReader:
    """Limits the reads of `tarfile` to the size of a header: a damaged header may declare any size."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        self.seek, self.tell = file.seek, file.tell

    def read(self, size: int) -> bytes:
        if size > _MAX_HEADER_BYTES:
            raise tarfile.ReadError(f"a header declares {size:,} bytes")
        return self._file.read(size)
