"""The format of statistics.bin: a header that names the columns, then records of one size.

| bytes | content |
|---|---|
| 32 | magic, length of the header, size of a record, number of the file, checksum of the header |
| header | JSON: names of figures by output and by parameter, `interval` in steps; spaces up to a multiple of 8 bytes |
| records | step (int64), whether gradients were measured (uint32), checksum (uint32), figures (float32) |

All numbers are little-endian. A file that replaces another has another number. Records are only appended: while the
file is written, and after a crash, the last one may be incomplete.
"""

from __future__ import annotations

import secrets
import struct
import zlib
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

import msgspec
import numpy as np
from numpy.typing import NDArray

from studio.document.document_errors import FileError
from studio.training.statistics.step_statistics import StatisticsLayout

STATISTICS_FILE = "statistics.bin"

_MAGIC = b"GWSTATS1"
_PREFIX = struct.Struct("<8sIIQI4x")
_NUMBER_AT = 16
_MAX_HEADER = 64 * 2**20
_CHECKED = 16
"""Bytes of a record before its figures; the last four of them are the checksum."""


class _Header(msgspec.Struct, forbid_unknown_fields=False):
    outputs: dict[str, tuple[str, ...]]
    parameters: dict[str, tuple[str, ...]]
    interval: int


@dataclass(frozen=True, slots=True)
class StatisticsHeader:
    """What the beginning of a file says."""

    layout: StatisticsLayout
    interval: int
    """Steps for which at most one record is stored."""
    number: int
    """Random number of the file."""
    begin: int
    """Position of the first record."""
    record: np.dtype[Any]

    def count(self, size: int) -> int:
        """Number of complete records in a file of a size in bytes."""
        return max(size - self.begin, 0) // self.record.itemsize

    def position(self, index: int) -> int:
        return self.begin + index * self.record.itemsize


def record_type(layout: StatisticsLayout) -> np.dtype[Any]:
    numbers = ("numbers", "<f4", (len(layout.columns),))
    return np.dtype([("step", "<i8"), ("gradients", "<u4"), ("check", "<u4"), numbers])


def encode_header(layout: StatisticsLayout, interval: int) -> bytes:
    """The bytes before the first record of a new file."""
    text = msgspec.json.encode(_Header(dict(layout.outputs), dict(layout.parameters), interval))
    text += b" " * (-len(text) % 8)
    size = record_type(layout).itemsize
    return _PREFIX.pack(_MAGIC, len(text), size, secrets.randbits(64), zlib.crc32(text)) + text


def encode_record(step: int, numbers: NDArray[np.float32], *, has_gradients: bool) -> bytes:
    head = struct.pack("<qI", step, has_gradients)
    content = np.ascontiguousarray(numbers, dtype="<f4").tobytes()
    return head + struct.pack("<I", zlib.crc32(content, zlib.crc32(head))) + content


def is_intact(record: bytes | memoryview) -> bool:
    """Whether the checksum of a record fits."""
    head, content = record[: _CHECKED - 4], record[_CHECKED:]
    return struct.unpack_from("<I", record, _CHECKED - 4)[0] == zlib.crc32(content, zlib.crc32(head))


def renumber(file: BinaryIO) -> None:
    """Give a file another number, because records were removed: readers may have kept some of them."""
    file.seek(_NUMBER_AT)
    file.write(secrets.token_bytes(8))


def read_prefix(file: BinaryIO) -> bytes:
    """The first bytes of a file, which tell whether it was replaced."""
    file.seek(0)
    return file.read(_PREFIX.size)


def read_header(file: BinaryIO, path: Path) -> StatisticsHeader | None:
    """The header of a file; None for an empty file. Raises FileError if it is damaged."""
    prefix = read_prefix(file)
    if not prefix:
        return None
    if len(prefix) < _PREFIX.size or prefix[: len(_MAGIC)] != _MAGIC:
        raise damaged(path, "it does not begin with a header of statistics")
    _, length, size, number, check = _PREFIX.unpack(prefix)
    text = file.read(length) if length <= _MAX_HEADER else b""
    if len(text) != length or zlib.crc32(text) != check:
        raise damaged(path, "its header is incomplete or was changed")
    try:
        header = msgspec.json.decode(text, type=_Header)
    except (msgspec.MsgspecError, ValueError, RecursionError) as error:
        raise damaged(path, str(error)) from None
    layout = StatisticsLayout(header.outputs, header.parameters)
    record = record_type(layout)
    if record.itemsize != size:
        raise damaged(path, "the size of its records does not fit its columns")
    return StatisticsHeader(layout, max(header.interval, 1), number, _PREFIX.size + length, record)


def damaged(path: Path, why: str) -> FileError:
    return FileError(
        str(path), "", f"is damaged ({why})", "Delete this file. The other files of the run do not need it."
    )


def same_layout(first: StatisticsLayout, second: StatisticsLayout) -> bool:
    """Whether two layouts have equal columns in the same order."""
    return first.columns == second.columns


__all__ = [
    "STATISTICS_FILE",
    "StatisticsHeader",
    "damaged",
    "encode_header",
    "encode_record",
    "is_intact",
    "read_header",
    "read_prefix",
    "record_type",
    "renumber",
    "same_layout",
]
