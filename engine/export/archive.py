"""The zip archive of an artifact. Its members are not compressed: reading them needs the memory of the file at most."""

from __future__ import annotations

import hashlib
import io
import zipfile
from collections.abc import Mapping

import psutil

from engine.errors import WeightsError
from engine.export.artifact_records import MANIFEST, NETWORK, PREPROCESSING, SAMPLE, WEIGHTS
from engine.export.errors import ArtifactError
from engine.io.byte_source import ByteSource
from engine.io.zip_directory import STORED, ZipError, read_directory

_MEMBERS = (MANIFEST, NETWORK, PREPROCESSING, WEIGHTS, SAMPLE)
_OPTIONAL = frozenset((PREPROCESSING,))
_LIMITS = {MANIFEST: 1 << 20, NETWORK: 1 << 24, PREPROCESSING: 1 << 20}
"""Bytes of the JSON members. Decoded, they need up to twenty times as much."""
_TIME = (1980, 1, 1, 0, 0, 0)
"""Time of all members, so that equal artifacts are equal files."""

_UNIX = 3
"""Writing system of all members; Windows would write another one."""


def pack(members: Mapping[str, bytes | bytearray]) -> bytes:
    """The archive of members, the same bytes for the same members."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_STORED) as archive:
        for name in _MEMBERS:
            if name in members:
                member = zipfile.ZipInfo(name, _TIME)
                member.create_system = _UNIX
                archive.writestr(member, bytes(members[name]))
    return buffer.getvalue()


def read_members(source: ByteSource) -> dict[str, bytes]:
    """The members of an archive. Names, sizes and compression are checked before anything is read.

    Raises:
        ArtifactError: it is no archive of an artifact, damaged, or larger than the free memory.
        OSError: it cannot be read.
    """
    try:
        found = read_directory(source)
    except ZipError as error:
        raise ArtifactError(f"{source.name}: {error}, so it is no artifact. Copy or export it again.") from None
    except WeightsError as error:  # it changed since it was opened
        raise ArtifactError(str(error)) from None
    unknown = [name for name in found if name not in _MEMBERS]
    missing = [name for name in _MEMBERS if name not in found and name not in _OPTIONAL]
    if unknown or missing:
        problem = f"contains {unknown[0][:80]!r}" if unknown else f"does not contain {missing[0]}"
        raise ArtifactError(f"{source.name}: {problem}, so it is no artifact. Export the project with --to artifact.")
    for name, member in found.items():
        limit = _LIMITS.get(name, source.size)
        if member.method != STORED:
            raise ArtifactError(f"{source.name}: {name} is compressed. Store the members without compression.")
        if member.size > limit:
            raise ArtifactError(
                f"{source.name}: {name} has {member.size:,} bytes; at most {limit:,} are read. Export a smaller model."
            )
    free = psutil.virtual_memory().available
    if source.size > free:
        raise ArtifactError(
            f"{source.name}: needs {source.size:,} bytes of memory, but {free:,} are free. Close other programs."
        )
    try:
        return {name: bytes(member.range_in(source).read()) for name, member in found.items()}
    except WeightsError as error:  # it became shorter since the directory was read
        raise ArtifactError(str(error)) from None


def sha256(content: bytes | bytearray) -> str:
    return hashlib.sha256(content).hexdigest()


__all__ = ["pack", "read_members", "sha256"]
