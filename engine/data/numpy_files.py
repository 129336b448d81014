"""Arrays in NumPy's files, memory-mapped where that is possible. Nothing in them is ever unpickled."""

from __future__ import annotations

import lzma
import math
import struct
import zipfile
import zlib
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, BinaryIO, Literal

import numpy as np
from numpy.lib import format as npy_format
from numpy.typing import NDArray

from engine.data.mapped import mapped
from engine.data.reading import Reading, check_memory, existing, in_bytes
from engine.data.samples import ArraySamples, Samples
from engine.data.splits import HeldOutSplits, Share
from engine.dtypes import DType, float32, from_numpy, int64
from engine.errors import DataError
from engine.registry import DATASETS, PathTo
from engine.shape import Spec, format_shape

_DAMAGE = (zipfile.BadZipFile, zlib.error, lzma.LZMAError, struct.error, EOFError, IndexError, RuntimeError, ValueError)
"""What zipfile raises on damaged archives."""
_LONGEST_HEADER = 65_536
_MOST_DIMENSIONS = 32


@dataclass(frozen=True, slots=True)
class Stored:
    """An array in a file: what its header says, checked against the size that is there."""

    path: Path
    member: str
    """Its name in an archive; empty if the file is the array."""
    shape: tuple[int, ...]
    dtype: np.dtype[Any]
    fortran: bool
    offset: int
    """Where its numbers begin, from the start of the file; -1 if they have to be unpacked."""

    @property
    def size(self) -> int:
        return math.prod(self.shape) * self.dtype.itemsize

    @property
    def name(self) -> str:
        return f"{self.path}: {self.member}" if self.member else str(self.path)

    def read(self) -> NDArray[Any]:
        """A read-only memory map; an array in memory of what is packed. Raises DataError if the data are damaged."""
        order = "F" if self.fortran else "C"
        if not self.size:
            return np.empty(self.shape, self.dtype)
        if self.offset >= 0:
            return mapped(self.path, self.dtype, self.offset, self.shape, order)
        with Reading(self.path):
            check_memory(self.path, self.size, "Save it with np.savez instead of np.savez_compressed.")
            try:
                with zipfile.ZipFile(self.path) as archive, archive.open(f"{self.member}.npy") as file:
                    _header(file, self.name)
                    content = file.read(self.size + 1)
            except DataError:
                raise
            except _DAMAGE as error:
                raise DataError(f"{self.name}: is damaged ({error}). Save the file again.") from None
        if len(content) != self.size:
            raise DataError(f"{self.name}: has another size than its header declares. Save the file again.")
        return np.frombuffer(content, self.dtype).reshape(self.shape, order=order)


def stored(path: Path) -> dict[str, Stored]:
    """The arrays of a .npy file, under an empty name, or of a .npz file. Reads headers only.

    Raises DataError for what is no such file, holds Python objects, or declares more than is there.
    """
    with Reading(path), path.open("rb") as file:
        start = file.read(len(npy_format.MAGIC_PREFIX))
        file.seek(0)
        if start == npy_format.MAGIC_PREFIX:
            shape, fortran, dtype = _header(file, str(path))
            found = Stored(path, "", shape, dtype, fortran, file.tell())
            _check_size(found, path.stat().st_size - file.tell())
            return {"": found}
    if start[:4] not in (b"PK\x03\x04", b"PK\x05\x06"):
        raise DataError(f"{path}: is neither a .npy nor a .npz file. Save the array with np.save or np.savez.")
    try:
        with Reading(path), zipfile.ZipFile(path) as archive:
            members = [info for info in archive.infolist() if info.filename.endswith(".npy")]
            return {info.filename[:-4]: _member(path, archive, info) for info in members}
    except DataError:
        raise
    except _DAMAGE as error:
        raise DataError(f"{path}: is damaged ({error}). Save the file again.") from None


@DATASETS.register(
    category="Arrays", title="NumPy arrays", outputs=("samples",), tags=("npy", "npz", "array", "savez", "memory map")
)
class NPY(HeldOutSplits):
    """Inputs and targets in NumPy's files, one sample a row: two .npy files, or a .npz file with both.

    Files that are not compressed stay on disk and are read as they are needed. Python objects are refused, as reading
    them could run any code.

    Args:
        path: the .npy file of inputs, or the .npz file
        targets: the .npy file of targets; only if the inputs are in a .npy file
        input_name: name of the inputs in the .npz file
        target_name: name of the targets in the .npz file
        task: learn classes or numbers; "auto" takes whole numbers in one column for classes
        validation: the share of the rows to keep for validation
    """

    def __init__(
        self,
        path: Annotated[str, PathTo("file", (".npy", ".npz"))],
        targets: Annotated[str, PathTo("file", (".npy",))] = "",
        input_name: str = "x",
        target_name: str = "y",
        task: Literal["auto", "classes", "numbers"] = "auto",
        validation: Share = 0.2,
    ) -> None:
        arrays = stored(existing("NPY", "path", path, "file"))
        if "" in arrays:
            if not targets:
                raise DataError(f"{path}: holds one array. Set targets to the file of the targets.")
            self._inputs = arrays[""]
            self._targets = _named(stored(existing("NPY", "targets", targets, "file")), "", targets)
        else:
            self._inputs, self._targets = (_named(arrays, name, path) for name in (input_name, target_name))
        for array in (self._inputs, self._targets):
            if not array.shape:
                raise DataError(f"{array.name}: is a single number, but samples are rows. Save an array.")
        count, other = self._inputs.shape[0], self._targets.shape[0]
        if count != other:
            raise DataError(f"{self._targets.name}: has {other} rows, but {self._inputs.name} has {count}.")
        if not count:
            raise DataError(f"{self._inputs.name}: has no rows. Save an array with a row for each sample.")
        shape, is_whole = self._targets.shape[1:], self._targets.dtype.kind in "iub"
        may_be_classes = is_whole and math.prod(shape) == 1
        if task == "classes" and not may_be_classes:
            raise DataError(
                f"{self._targets.name}: holds {format_shape(self._targets.shape)} {self._targets.dtype}, but classes "
                "are one whole number for each sample. Set task to numbers."
            )
        self._are_classes = may_be_classes and task != "numbers"
        learned = float32 if is_whole and task == "numbers" else _kind(self._targets)
        target = Spec((), int64) if self._are_classes else Spec(shape or (1,), learned)
        super().__init__(Spec(self._inputs.shape[1:], _kind(self._inputs)), target, validation)

    @property
    def classes(self) -> int | None:
        return int(self._learned().max()) + 1 if self._are_classes else None

    @property
    def class_names(self) -> tuple[str, ...]:
        return ()

    @property
    def samples(self) -> Samples:
        return ArraySamples(self._inputs.read(), self._learned())

    @property
    def files(self) -> tuple[Path, ...]:
        return tuple(dict.fromkeys((self._inputs.path, self._targets.path)))

    def _learned(self) -> NDArray[Any]:
        targets = self._targets.read()
        if not self._are_classes:
            if self.target.dtype == float32 and targets.dtype.kind in "iub":
                targets = targets.astype(np.float32)
            return targets[:, np.newaxis] if targets.ndim == 1 else targets
        labels = targets.reshape(-1).astype(np.int64)
        if labels.min() < 0:
            raise DataError(
                f"{self._targets.name}: holds the label {labels.min()}, but classes are counted from 0. "
                "Set task to numbers if they are no classes."
            )
        return labels


def _header(file: BinaryIO | Any, name: str) -> tuple[tuple[int, ...], bool, np.dtype[Any]]:
    """Shape, order and dtype; afterwards the file stands where the numbers begin."""
    try:
        version = npy_format.read_magic(file)
        if version not in ((1, 0), (2, 0), (3, 0)):
            raise ValueError(f"format version {version}")
        read = npy_format.read_array_header_1_0 if version == (1, 0) else npy_format.read_array_header_2_0
        shape, fortran, dtype = read(file, max_header_size=_LONGEST_HEADER)
    except (ValueError, EOFError, TypeError, SyntaxError) as error:
        raise DataError(
            f"{name}: its header is damaged ({str(error).splitlines()[0]}). Save the array again."
        ) from None
    if dtype.hasobject:
        raise DataError(f"{name}: holds Python objects, which are never read. Save an array of numbers.")
    if dtype.kind not in "iufb" or dtype.itemsize > 8:
        raise DataError(f"{name}: holds {dtype}, but numbers are needed. Save an array of numbers.")
    if len(shape) > _MOST_DIMENSIONS or any(size < 0 for size in shape):
        raise DataError(f"{name}: its header declares the shape {shape}. Save the array again.")
    return shape, fortran, dtype


def _member(path: Path, archive: zipfile.ZipFile, info: zipfile.ZipInfo) -> Stored:
    name = info.filename[:-4]
    with archive.open(info) as file:
        shape, fortran, dtype = _header(file, f"{path}: {name}")
        header = file.tell()
    offset = _data_offset(path, info) + header if info.compress_type == zipfile.ZIP_STORED else -1
    found = Stored(path, name, shape, dtype, fortran, offset)
    _check_size(found, info.file_size - header)
    return found


def _data_offset(path: Path, info: zipfile.ZipInfo) -> int:
    """Where a member's bytes begin: its local header has names of lengths of its own."""
    with path.open("rb") as file:
        file.seek(info.header_offset + 26)
        lengths = np.frombuffer(file.read(4), "<u2")
    return info.header_offset + 30 + int(lengths.sum())


def _check_size(array: Stored, there: int) -> None:
    if array.size != there:
        raise DataError(
            f"{array.name}: the header declares {format_shape(array.shape)} {array.dtype}, {in_bytes(array.size)}, "
            f"but {in_bytes(there)} follow. Save the array again."
        )


def _named(arrays: dict[str, Stored], name: str, path: str) -> Stored:
    if name not in arrays:
        known = ", ".join(map(repr, arrays)) or "none"
        raise DataError(f"{path}: has no array {name!r}, only {known}. Set input_name and target_name.")
    return arrays[name]


def _kind(array: Stored) -> DType:
    return from_numpy(array.dtype.newbyteorder("="))
