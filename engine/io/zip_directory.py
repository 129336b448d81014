"""A strict reader of the directory of a zip archive. It reads no data, and checks all positions before it uses them.

Stricter than `zipfile`: duplicate names, overlapping members, encrypted members, names that lead out of a folder and
differences between the directory and the members raise, because programs disagree about such archives.

Source: PKWARE, .ZIP File Format Specification 6.3.10.
"""

from __future__ import annotations

import re
import struct
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import BinaryIO

from engine.io.byte_source import ByteRange, ByteSource

STORED, DEFLATED = 0, 8
"""Compression methods."""

_END = struct.Struct("<4s4H2IH")
_END64 = struct.Struct("<4sQ2H2I4Q")
_LOCATOR64 = struct.Struct("<4sIQI")
_ENTRY = struct.Struct("<4s6H3I5H2I")
_LOCAL = struct.Struct("<4s5H3I2H")
_MAX_COMMENT = 65_535
_MAX_MEMBERS = 200_000
_MAX_DIRECTORY = 64 << 20
"""Limits of the number of members, and of the bytes that describe them."""
_ZIP64_FIELD = 1
_UNSAFE = re.compile(r"^/|^[A-Za-z]:|\\|\x00|(^|/)\.\.(/|$)")
"""Names that are absolute or lead out of the folder of an archive."""


class ZipError(ValueError):
    """An archive that is damaged or that this reader refuses. The text completes "FILE: …"."""


@dataclass(frozen=True, slots=True)
class Member:
    """A member of an archive."""

    name: str
    method: int
    stored: int
    """Bytes in the archive."""
    size: int
    """Bytes of the content, as declared."""
    header: int
    """Position of the local header."""
    data: int
    """Position of the data."""

    def range_in(self, source: ByteSource) -> ByteRange:
        return ByteRange(source, self.data, self.stored)


def read_directory(source: ByteSource) -> dict[str, Member]:
    """The members of an archive by name, without folders. Raises ZipError, and OSError if it cannot be read."""
    with source.open() as file:
        start, size, count = _find_directory(file, source.size)
        file.seek(start)
        content = file.read(size)
        members: dict[str, Member] = {}
        for name, raw_name, method, stored, length, header in _entries(content, count):
            if name in members:
                raise ZipError(f"contains {name[:80]!r} twice")
            data = _data_position(file, header, raw_name, start)
            if data + stored > start:
                raise ZipError(f"is damaged or incomplete: {name[:80]!r} extends beyond the data of the archive")
            members[name] = Member(name, method, stored, length, header, data)
    ordered = sorted(members.values(), key=lambda member: member.header)
    for first, second in pairwise(ordered):
        if first.data + first.stored > second.header:
            raise ZipError(f"has overlapping members, {first.name[:80]!r} and {second.name[:80]!r}")
    return {name: member for name, member in members.items() if not name.endswith("/")}


def _find_directory(file: BinaryIO, size: int) -> tuple[int, int, int]:
    """Position and size of the directory, and the number of its entries."""
    tail_size = min(size, _END.size + _MAX_COMMENT)
    file.seek(size - tail_size)
    tail = file.read(tail_size)
    found = tail.rfind(b"PK\x05\x06")
    if found < 0 or len(tail) - found < _END.size:
        raise ZipError("is incomplete: the directory at the end of the archive is missing")
    end = size - tail_size + found
    _, disk, first_disk, here, count, length, start, comment = _END.unpack_from(tail, found)
    if end + _END.size + comment != size:
        raise ZipError("is damaged: the archive does not end after its directory")
    if found >= _LOCATOR64.size and tail[found - _LOCATOR64.size :].startswith(b"PK\x06\x07"):
        _, _, position, _ = _LOCATOR64.unpack_from(tail, found - _LOCATOR64.size)
        end = _checked_end(position, end - _LOCATOR64.size)
        file.seek(end)
        fields = _END64.unpack(file.read(_END64.size))
        if fields[0] != b"PK\x06\x06":
            raise ZipError("is damaged: its 64-bit directory is missing")
        disk, first_disk, here, count, length, start = fields[4:]
    if disk or first_disk or here != count:
        raise ZipError("is a part of a split archive")
    if start + length > end or count * _ENTRY.size > length:
        raise ZipError("is damaged: its directory is larger than the archive")
    if count > _MAX_MEMBERS or length > _MAX_DIRECTORY:
        raise ZipError(f"has {count:,} members, described by {length:,} bytes; at most {_MAX_MEMBERS:,} are read")
    return start, length, count


def _checked_end(position: int, limit: int) -> int:
    if position + _END64.size > limit:
        raise ZipError("is damaged: its 64-bit directory lies outside the archive")
    return position


def _entries(content: bytes, count: int) -> Iterator[tuple[str, bytes, int, int, int, int]]:
    """Name, raw name, method, stored size, size and header position of each entry of the directory."""
    position = 0
    for _ in range(count):
        if len(content) - position < _ENTRY.size:
            raise ZipError("is damaged: its directory is incomplete")
        signature, _, _, flags, method, _, _, _, stored, size, *rest = _ENTRY.unpack_from(content, position)
        name_size, extra_size, comment_size, _, _, _, header = rest
        names = position + _ENTRY.size
        extra_start = names + name_size
        position = extra_start + extra_size + comment_size
        if signature != b"PK\x01\x02" or position > len(content):
            raise ZipError("is damaged: its directory has a damaged entry")
        raw_name = content[names:extra_start]
        name = _name(raw_name, flags)
        if flags & 1:
            raise ZipError(f"contains {name[:80]!r}, which is encrypted")
        extra = content[extra_start : extra_start + extra_size]
        size, stored, header = _wide(extra, size, stored, header)
        if method == STORED and size != stored:
            raise ZipError(f"is damaged: {name[:80]!r} declares {size:,} bytes, but has {stored:,}")
        yield name, raw_name, method, stored, size, header


def _name(raw: bytes, flags: int) -> str:
    try:
        name = raw.decode("utf-8" if flags & 0x800 else "cp437")
    except UnicodeDecodeError:
        raise ZipError("has a member whose name cannot be decoded") from None
    if not name or _UNSAFE.search(name):
        raise ZipError(f"has a member {name[:80]!r}, whose name is absolute or leads out of the archive")
    return name


def _wide(extra: bytes, *fields: int) -> list[int]:
    """Sizes and position, with those that did not fit into 32 bits from the extra field."""
    position = 0
    while position + 4 <= len(extra):
        kind, size = struct.unpack_from("<HH", extra, position)
        if kind == _ZIP64_FIELD:
            content = extra[position + 4 : position + 4 + size]
            wide = iter(struct.unpack(f"<{len(content) // 8}Q", content[: len(content) // 8 * 8]))
            return [next(wide, value) if value == 0xFFFFFFFF else value for value in fields]
        position += 4 + size
    return list(fields)


def _data_position(file: BinaryIO, header: int, raw_name: bytes, limit: int) -> int:
    """Position of a member's data, behind its local header."""
    if header + _LOCAL.size > limit:
        raise ZipError("is damaged: a member lies outside the archive")
    file.seek(header)
    content = file.read(_LOCAL.size + len(raw_name))
    if len(content) < _LOCAL.size + len(raw_name) or not content.startswith(b"PK\x03\x04"):
        raise ZipError("is damaged: a member is not where the directory says")
    *_, name_size, extra_size = _LOCAL.unpack_from(content)
    if name_size != len(raw_name) or content[_LOCAL.size :] != raw_name:
        raise ZipError("is damaged: a member has another name than in the directory")
    return header + _LOCAL.size + name_size + extra_size


__all__ = ["DEFLATED", "STORED", "Member", "ZipError", "read_directory"]
