"""The IDX format of MNIST: a magic number, sizes, then big-endian numbers. Plain or gzipped.

Source: Y. LeCun, C. Cortes, C. Burges, "The MNIST database of handwritten digits", section File formats.
"""

from __future__ import annotations

import gzip
import math
from dataclasses import dataclass
from io import BufferedReader
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from engine.data.file_access import DEFLATE_RATIO, ReadErrorContext, check_memory, format_bytes
from engine.data.memory_map import open_memory_map
from engine.errors import DataError
from engine.system.files import open_regular

_DTYPES = {0x08: "u1", 0x09: "i1", 0x0B: ">i2", 0x0C: ">i4", 0x0D: ">f4", 0x0E: ">f8"}
_MAX_DIMENSIONS = 8


@dataclass(frozen=True, slots=True)
class IDXHeader:
    """The header of an IDX file, checked against the file size."""

    path: Path
    dtype: np.dtype[Any]
    shape: tuple[int, ...]
    gzipped: bool

    @property
    def offset(self) -> int:
        return 4 + 4 * len(self.shape)

    @property
    def size(self) -> int:
        """Size of the data in bytes."""
        return math.prod(self.shape) * self.dtype.itemsize


def read_header(path: Path) -> IDXHeader:
    """Read and check the header of an IDX file.

    Raises DataError for a file that cannot be opened, has another format, or does not match the declared size.
    """
    gzipped = path.suffix == ".gz"
    with ReadErrorContext(path), open_regular(path) as raw, _unpacked(raw, gzipped) as file:
        start = file.read(4)
        if len(start) < 4 or start[:2] != b"\0\0" or start[2] not in _DTYPES or not 1 <= start[3] <= _MAX_DIMENSIONS:
            found = f"it begins with the bytes {start.hex(' ')}" if start else "it is empty"
            raise DataError(
                f"{path}: not an IDX file: {found}, but an IDX file of images begins with 00 00 08 03 and one of "
                "labels with 00 00 08 01. Check the path, or download the file again."
            )
        count = start[3]
        sizes = file.read(4 * count)
        if len(sizes) < 4 * count:
            raise DataError(f"{path}: ends inside the header, at byte {4 + len(sizes)}. Download the file again.")
    shape = tuple(int(size) for size in np.frombuffer(sizes, ">u4"))
    header = IDXHeader(path, np.dtype(_DTYPES[start[2]]), shape, gzipped)
    _check_size(header)
    return header


def read(header: IDXHeader) -> NDArray[Any]:
    """The data: a read-only memory map, or an array in memory if the file is gzipped.

    Raises DataError if the data are shorter or longer than declared, damaged, or larger than the free memory.
    """
    if not header.gzipped:
        return (
            open_memory_map(header.path, header.dtype, header.offset, header.shape) if header.size else _empty(header)
        )
    check_memory(header.path, header.size, "Unpack the file, so that it can be memory-mapped.")
    array = np.empty(header.shape, header.dtype)
    view = array.reshape(-1).view(np.uint8).data
    with ReadErrorContext(header.path), open_regular(header.path) as raw, _unpacked(raw, gzipped=True) as file:
        file.read(header.offset)
        filled = 0
        while filled < header.size:
            count_read = file.readinto(view[filled:])
            if not count_read:
                raise _wrong_size(header, f"only {format_bytes(filled)} follow")
            filled += count_read
        if file.read(1):
            raise _wrong_size(header, "more data follow")
    return array


def _check_size(header: IDXHeader) -> None:
    """Raises DataError for a wrong declared size before allocation. For gzip only the maximum ratio is checked."""
    on_disk = header.path.stat().st_size
    if header.gzipped:
        if header.size > on_disk * DEFLATE_RATIO:
            raise _wrong_size(header, f"{format_bytes(on_disk)} of gzip cannot hold them")
    elif header.offset + header.size != on_disk:
        raise _wrong_size(header, f"{format_bytes(on_disk - header.offset)} follow")


def _wrong_size(header: IDXHeader, found: str) -> DataError:
    sizes = "×".join(map(str, header.shape))
    return DataError(
        f"{header.path}: the header declares {sizes} numbers of {header.dtype.itemsize} bytes, "
        f"{format_bytes(header.size)}, but {found}. Download the file again."
    )


def _unpacked(file: BufferedReader, gzipped: bool) -> gzip.GzipFile | BufferedReader:
    return gzip.GzipFile(fileobj=file) if gzipped else file


def _empty(header: IDXHeader) -> NDArray[Any]:
    return np.empty(header.shape, header.dtype)
