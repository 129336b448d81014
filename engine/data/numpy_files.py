"""NumPy array files, memory-mapped if they are not compressed. Never unpickles."""

from __future__ import annotations

import lzma
import math
import os
import struct
import zipfile
import zlib
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Annotated, Any, BinaryIO, Literal

import numpy as np
from numpy.typing import NDArray

from engine.data.file_access import DEFLATE_RATIO, ReadErrorContext, check_memory, format_bytes, required_path
from engine.data.lru_cache import LRUCache, file_fingerprint
from engine.data.memory_map import open_memory_map
from engine.data.npy_header import MAGIC, read_header
from engine.data.samples import ArraySamples, Samples
from engine.data.splits import HeldOutSplits, Share
from engine.dtypes import DType, float32, from_numpy, int64
from engine.errors import DataError
from engine.registry import DATASETS, PathTo
from engine.shape import Spec, format_shape
from engine.system.files import open_regular

_DAMAGE_ERRORS = (
    zipfile.BadZipFile,
    zlib.error,
    lzma.LZMAError,
    struct.error,
    EOFError,
    IndexError,
    RuntimeError,
    ValueError,
)
"""Exceptions of zipfile for damaged archives."""
_RATIOS = {zipfile.ZIP_STORED: 1, zipfile.ZIP_DEFLATED: DEFLATE_RATIO}
"""Maximum compression ratio by method."""
_CHUNK = 2**20
"""Bytes per read."""


@dataclass(frozen=True, slots=True)
class StoredArray:
    """The header of an array in a file, checked against the size of its data."""

    path: Path
    member: str
    """Name in the archive; empty for a .npy file."""
    shape: tuple[int, ...]
    dtype: np.dtype[Any]
    is_fortran: bool
    offset: int
    """Byte offset of the data in the file; -1 if the data are compressed."""
    header: int = 0
    """Size of the header in bytes."""
    checksum: int | None = None
    """CRC-32 of header and data as stored in the archive."""
    fingerprint: tuple[str, int, int] | None = None
    """The `file_fingerprint` when the checksum was read."""

    @property
    def size(self) -> int:
        return math.prod(self.shape) * self.dtype.itemsize

    @property
    def name(self) -> str:
        return f"{self.path}: {self.member}" if self.member else str(self.path)

    def read(self) -> NDArray[Any]:
        """A read-only memory map, or an array in memory if compressed. Raises DataError for damaged data."""
        order = "F" if self.is_fortran else "C"
        if not self.size:
            return np.empty(self.shape, self.dtype)
        if self.offset >= 0:
            if self.checksum is not None:
                verified_members.get((file_fingerprint(self.path), self.offset), self._check_intact)
            return open_memory_map(self.path, self.dtype, self.offset, self.shape, order)
        with ReadErrorContext(self.path):
            check_memory(self.path, self.size, "Save it with np.savez instead of np.savez_compressed.")
            try:
                with (
                    open_regular(self.path) as raw,
                    zipfile.ZipFile(raw) as archive,
                    archive.open(f"{self.member}.npy") as file,
                ):
                    file.read(self.header)
                    content = file.read(self.size + 1)
            except DataError:
                raise
            except _DAMAGE_ERRORS as error:
                raise DataError(f"{self.name}: is damaged ({error}). Save the file again.") from None
        if len(content) != self.size:
            raise DataError(f"{self.name}: does not have the size that its header declares. Save the file again.")
        return np.frombuffer(content, self.dtype).reshape(self.shape, order=order)

    def _check_intact(self) -> None:
        """Raises DataError if the checksum differs. Reads the whole array once per version of the file."""
        remaining, found = self.header + self.size, 0
        with ReadErrorContext(self.path), open_regular(self.path) as file:
            file.seek(self.offset - self.header)
            while remaining and (chunk := file.read(min(remaining, _CHUNK))):
                found = zlib.crc32(chunk, found)
                remaining -= len(chunk)
        if remaining or found != self.checksum:
            if file_fingerprint(self.path) != self.fingerprint:
                raise DataError(f"{self.name}: changed after it was opened. Open it again.")
            raise DataError(f"{self.name}: is damaged (its CRC-32 does not match). Save the file again.")


verified_members: LRUCache[None] = LRUCache(256)
"""Archive members whose checksum was correct."""


def read_array_headers(path: Path, *, allow_text: bool = False) -> dict[str, StoredArray]:
    """The arrays of a .npz file by name, or of a .npy file under an empty name. Reads headers only.

    Args:
        allow_text: accept arrays of text

    Raises DataError for another format, for Python objects, and for a wrong size.
    """
    with ReadErrorContext(path), open_regular(path) as file:
        start = file.read(len(MAGIC))
        file.seek(0)
        if start == MAGIC:
            shape, is_fortran, dtype = read_header(file, str(path), allow_text=allow_text)
            found = StoredArray(path, "", shape, dtype, is_fortran, file.tell())
            _check_size(found, os.fstat(file.fileno()).st_size - file.tell())
            return {"": found}
        if start[:4] not in (b"PK\x03\x04", b"PK\x05\x06"):
            raise DataError(f"{path}: is not a .npy or .npz file. Save the array with np.save or np.savez.")
        try:
            with zipfile.ZipFile(file) as archive:
                members = [info for info in archive.infolist() if info.filename.endswith(".npy")]
                return {
                    info.filename[:-4]: _read_member_header(path, file, archive, info, allow_text) for info in members
                }
        except DataError:
            raise
        except _DAMAGE_ERRORS as error:
            raise DataError(f"{path}: is damaged ({error}). Save the file again.") from None


@DATASETS.register(
    category="Arrays", title="NumPy arrays", outputs=("samples",), tags=("npy", "npz", "array", "savez", "memory map")
)
class NPY(HeldOutSplits):
    """Inputs and targets in two .npy files or one .npz file, one sample per row.

    Targets of text, and the labels -1 and 1, become class numbers in ascending order. Uncompressed files are
    memory-mapped. Python objects are rejected, because unpickling them could run code.

    Args:
        path: .npy file of the inputs, or .npz file
        targets: .npy file of the targets, if the inputs are in a .npy file
        input_name: name of the inputs in the .npz file
        target_name: name of the targets in the .npz file
        task: learn classes or numbers; auto treats one column of integers as classes
        validation: fraction of the rows used for validation
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
        arrays = read_array_headers(required_path("NPY", "path", path, "file"), allow_text=True)
        if "" in arrays:
            if not targets:
                raise DataError(f"{path}: contains only one array. Set targets to the file with the targets.")
            self._inputs = arrays[""]
            self._targets = _get_array(
                read_array_headers(required_path("NPY", "targets", targets, "file"), allow_text=True), "", targets
            )
        else:
            self._inputs, self._targets = (_get_array(arrays, name, path) for name in (input_name, target_name))
        for array in (self._inputs, *([self._targets] if task == "numbers" else [])):
            if _is_text(array):
                raise DataError(
                    f"{array.name}: has dtype {array.dtype}, but numbers are needed. Save an array of numbers."
                )
        for array in (self._inputs, self._targets):
            if not array.shape:
                raise DataError(f"{array.name}: is a single number. Save an array with one row per sample.")
        count, other = self._inputs.shape[0], self._targets.shape[0]
        if count != other:
            raise DataError(
                f"{self._targets.name}: has {other} rows, but {self._inputs.name} has {count}. Save a target per input."
            )
        if not count:
            raise DataError(f"{self._inputs.name}: has no rows. Save an array with one row per sample.")
        shape, is_whole = self._targets.shape[1:], self._targets.dtype.kind in "iub"
        may_be_classes = (is_whole or _is_text(self._targets)) and math.prod(shape) == 1
        if _is_text(self._targets) and not may_be_classes:
            raise DataError(
                f"{self._targets.name}: is {format_shape(self._targets.shape)} texts, but classes need one text per "
                "sample. Save an array with one label per row."
            )
        if task == "classes" and not may_be_classes:
            raise DataError(
                f"{self._targets.name}: is {format_shape(self._targets.shape)} {self._targets.dtype}, but classes need "
                "one integer per sample. Set task to numbers."
            )
        self._are_classes = may_be_classes and task != "numbers"
        if self._are_classes:
            target = Spec((), int64)
        else:
            target_dtype = float32 if is_whole and task == "numbers" else _native_dtype(self._targets)
            target = Spec(shape or (1,), target_dtype)
        super().__init__(Spec(self._inputs.shape[1:], _native_dtype(self._inputs)), target, validation)

    @property
    def classes(self) -> int | None:
        if self._labels is not None:
            return len(self._labels)
        return int(self._read_targets().max()) + 1 if self._are_classes else None

    @property
    def class_names(self) -> tuple[str, ...]:
        if self._labels is None:
            return ()
        is_bytes = self._labels.dtype.kind == "S"
        return tuple(each.decode("utf-8", "replace") if is_bytes else str(each) for each in self._labels.tolist())

    @cached_property
    def _labels(self) -> NDArray[Any] | None:
        """Labels in the order of their class numbers: texts, or -1 and 1. None if the targets are class numbers."""
        if not self._are_classes:
            return None
        targets = self._targets.read().reshape(-1)
        if _is_text(self._targets):
            return np.unique(targets)
        is_signs = self._targets.dtype.kind == "i" and targets.min() == -1 and bool((np.abs(targets) == 1).all())
        return np.array([-1, 1]) if is_signs else None

    @property
    def samples(self) -> Samples:
        return ArraySamples(self._inputs.read(), self._read_targets())

    @property
    def files(self) -> tuple[Path, ...]:
        return tuple(dict.fromkeys((self._inputs.path, self._targets.path)))

    def _read_targets(self) -> NDArray[Any]:
        targets = self._targets.read()
        if not self._are_classes:
            if self.target.dtype == float32 and targets.dtype.kind in "iub":
                targets = targets.astype(np.float32)
            return targets[:, np.newaxis] if targets.ndim == 1 else targets
        if self._labels is not None:
            return np.searchsorted(self._labels, targets.reshape(-1)).astype(np.int64)
        labels = targets.reshape(-1).astype(np.int64)
        if labels.min() < 0:
            raise DataError(
                f"{self._targets.name}: contains label {labels.min()}, but class numbers start at 0. "
                "If these are not classes, set task to numbers."
            )
        return labels


def _read_member_header(
    path: Path, raw: BinaryIO, archive: zipfile.ZipFile, info: zipfile.ZipInfo, allow_text: bool
) -> StoredArray:
    name = info.filename[:-4]
    with archive.open(info) as file:
        shape, is_fortran, dtype = read_header(file, f"{path}: {name}", allow_text=allow_text)
        header = file.tell()
    is_compressed = info.compress_type != zipfile.ZIP_STORED
    offset = -1 if is_compressed else _data_offset(raw, info) + header
    found = StoredArray(
        path,
        name,
        shape,
        dtype,
        is_fortran,
        offset,
        header,
        None if is_compressed else info.CRC,
        file_fingerprint(path),
    )
    _check_size(found, info.file_size - header)
    ratio = _RATIOS.get(info.compress_type)
    is_too_small = ratio is not None and info.file_size > info.compress_size * ratio
    if is_too_small or info.compress_size > os.fstat(raw.fileno()).st_size:
        raise DataError(
            f"{found.name}: declares {format_bytes(info.file_size)}, but its {format_bytes(info.compress_size)} in the "
            "archive cannot hold this amount of data. Save the file again."
        )
    return found


def _data_offset(file: BinaryIO, info: zipfile.ZipInfo) -> int:
    """Byte offset of a member's data, after the local header of variable length."""
    position = file.tell()
    file.seek(info.header_offset + 26)
    lengths = np.frombuffer(file.read(4), "<u2")
    file.seek(position)
    return info.header_offset + 30 + int(lengths.sum())


def _check_size(array: StoredArray, available: int) -> None:
    if array.size != available:
        raise DataError(
            f"{array.name}: the header declares {format_shape(array.shape)} {array.dtype}, {format_bytes(array.size)}, "
            f"but {format_bytes(available)} follow. Save the array again."
        )


def _get_array(arrays: dict[str, StoredArray], name: str, path: str) -> StoredArray:
    if name not in arrays:
        names = ", ".join(map(repr, arrays)) or "none"
        raise DataError(f"{path}: has no array {name!r}. It has {names}. Set input_name and target_name.")
    return arrays[name]


def _is_text(array: StoredArray) -> bool:
    return array.dtype.kind in "US"


def _native_dtype(array: StoredArray) -> DType:
    return from_numpy(array.dtype.newbyteorder("="))
