"""PyTorch checkpoints in the zip format and in the legacy format, checked as a whole before tensors are read.

Source: torch/serialization.py; the legacy format is that of `torch.save(_use_new_zipfile_serialization=False)`.
"""

from __future__ import annotations

import io
import struct
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, BinaryIO, NoReturn

import numpy as np
from numpy.typing import NDArray

from engine.errors import WeightsError
from engine.io.byte_source import ByteRange, ByteSource
from engine.io.pytorch.pickle_reader import MAX_BYTES, read_pickle
from engine.io.pytorch.records import (
    PickleError,
    RefusedError,
    StorageRecord,
    StorageType,
    TensorFactory,
    TensorRecord,
    is_size,
)
from engine.io.zip_directory import STORED, Member, ZipError, read_directory

_MAGIC = 0x1950A86A20F9469CFC6C
_PROTOCOL = 1001
ZIP_START = b"PK\x03\x04"
_TAR_MEMBERS = (b"sys_info", b"storages", b"tensors", b"pickle")
_TAR_REFUSAL = (
    "is in the tar format of PyTorch before 0.1.10, whose loader can execute code (CVE-2025-32434). If you trust the "
    "file, convert it in PyTorch: torch.save(torch.load(FILE, weights_only=False), NEW_FILE)."
)
_PLAIN_PICKLE = (
    "is a pickle, not a checkpoint of torch.save, and may contain code. Save the weights with torch.save, or as "
    "safetensors."
)
_COPY = "Copy or save it again."


class RecordFactory:
    """Keeps the records of tensors as they are."""

    def tensor(self, record: TensorRecord) -> TensorRecord:
        return record

    def parameter(self, data: TensorRecord, requires_grad: bool) -> TensorRecord:
        return replace(data, requires_grad=requires_grad, is_parameter=True)

    def is_tensor(self, value: Any) -> bool:
        return isinstance(value, TensorRecord)


@dataclass(frozen=True, slots=True)
class TorchFile:
    """A checkpoint whose content was checked. Tensors are records until they are read."""

    content: Any
    """The saved object, with a `TensorRecord` in place of each tensor."""
    storages: Mapping[str, ByteRange]
    """Where the storage of each key is."""
    is_big_endian: bool
    _read: Callable[[TensorFactory], Any]

    def build(self, factory: TensorFactory) -> Any:
        """The saved object with tensors made by a factory."""
        return self._read(factory)

    def read_elements(self, record: StorageRecord, dtype: np.dtype[Any], first: int, count: int) -> NDArray[Any]:
        """Copy of some elements of a storage, in native byte order."""
        storage = self.storages[record.key]
        part = ByteRange(storage.source, storage.offset + first * dtype.itemsize, count * dtype.itemsize)
        data = np.frombuffer(part.read(), np.uint8)
        if self.is_big_endian != (sys.byteorder == "big"):
            width = dtype.itemsize // (2 if dtype.kind == "c" else 1)
            data = data.reshape(-1, width)[:, ::-1].reshape(-1)
        return data.view(dtype) if dtype != np.bool else data != 0


def is_torch_file(start: bytes) -> bool:
    """Whether the first 512 bytes of a file are those of a checkpoint of PyTorch, or of a pickle.

    The length at the start of a safetensors file may equal the first two bytes of a pickle.
    """
    if start.startswith(ZIP_START) or _is_tar(start):
        return True
    return start[:1] == b"\x80" and start[1:2] in b"\x02\x03\x04\x05" and start[8:9] != b"{"


def open_torch(source: ByteSource) -> TorchFile:
    """Read and check everything of a checkpoint except the elements of its tensors.

    Raises:
        OSError: the file cannot be read.
        WeightsError: it is damaged, has another format, or contains something that is not data.
    """
    try:
        with source.open() as file:
            start = file.read(512)
        if _is_tar(start):
            raise RefusedError(_TAR_REFUSAL)
        return _open_zip(source) if start.startswith(ZIP_START) else _open_legacy(source)
    except RefusedError as error:
        raise WeightsError(f"{source.name}: {error}") from None
    except ZipError as error:
        raise WeightsError(f"{source.name}: {error}. {_COPY}") from None
    except PickleError as error:
        raise WeightsError(f"{source.name}: is damaged: {error}. {_COPY}") from None


def _is_tar(start: bytes) -> bool:
    if len(start) < 512:
        return False
    name = start[:100].rstrip(b"\0").removeprefix(b"./")
    if name not in _TAR_MEMBERS and start[257:262] != b"ustar":
        return False
    return sum(start[:148]) + sum(start[156:512]) + 8 * 32 == _octal(start[148:156])


def _octal(field: bytes) -> int:
    try:
        return int(field.rstrip(b"\0 ") or b"0", 8)
    except ValueError:
        return -1


# -- the zip format


def _open_zip(source: ByteSource) -> TorchFile:
    members = read_directory(source)
    prefix = _prefix(members)
    pickled = _small(members[f"{prefix}data.pkl"], source, MAX_BYTES)
    byte_order = b"little"
    if (member := members.get(f"{prefix}byteorder")) is not None:
        byte_order = _small(member, source, 16)
    if byte_order not in (b"little", b"big"):
        raise PickleError(f"its byte order is {byte_order!r}")
    storages: dict[str, ByteRange] = {}
    declared = _Storages()

    def find(identity: tuple[Any, ...]) -> StorageRecord:
        record = declared.declare(identity, 5)
        member = members.get(f"{prefix}data/{record.key}")
        if member is None:
            raise PickleError(f"the storage {record.key[:40]!r} is missing")
        if member.method != STORED:
            raise RefusedError(f"has compressed tensors, which PyTorch does not write. {_COPY}")
        if member.size != record.size:
            raise PickleError(
                f"the storage {record.key[:40]!r} has {member.size:,} bytes, but the pickle declares {record.size:,}"
            )
        storages[record.key] = member.range_in(source)
        return record

    def read(factory: TensorFactory) -> Any:
        return read_pickle(io.BytesIO(pickled), factory, find)

    return TorchFile(read(RecordFactory()), storages, byte_order == b"big", read)


def _prefix(members: Mapping[str, Member]) -> str:
    """The folder of the archive that contains a checkpoint."""
    found = [name.removesuffix("data.pkl") for name in members if name == "data.pkl" or name.endswith("/data.pkl")]
    if not found:
        arrays = any(name.endswith(".npy") for name in members)
        what = "an archive of NumPy arrays" if arrays else "a zip archive"
        raise RefusedError(f"is {what}, not a checkpoint of PyTorch: it has no data.pkl. Choose another file.")
    prefix = min(found, key=len)
    if f"{prefix}constants.pkl" in members or any(name.startswith(f"{prefix}code/") for name in members):
        raise RefusedError(
            "is a TorchScript program. In PyTorch, save its weights: "
            "torch.save(torch.jit.load(FILE).state_dict(), NEW_FILE)."
        )
    if len(found) > 1:
        raise ZipError(f"contains {len(found)} checkpoints")
    return prefix


def _small(member: Member, source: ByteSource, limit: int) -> bytes:
    if member.method != STORED:
        raise RefusedError(f"has a compressed {member.name[:40]}, which PyTorch does not write. {_COPY}")
    if member.size > limit:
        raise ZipError(f"has {member.name[:40]!r} of {member.size:,} bytes; at most {limit:,} are read")
    return bytes(member.range_in(source).read())


class _Storages:
    """The storages that a pickle declares. One key always means the same storage."""

    def __init__(self) -> None:
        self.records: dict[str, StorageRecord] = {}

    def declare(self, identity: tuple[Any, ...], length: int) -> StorageRecord:
        if len(identity) != length or identity[0] != "storage":
            raise PickleError("a persistent id does not describe a storage")
        _, kind, key, location, numel, *view = identity
        if not isinstance(kind, StorageType) or type(key) is not str or type(location) is not str:
            raise PickleError("a storage has no type, key or location")
        if not is_size(numel):
            raise PickleError(f"a storage has {str(numel)[:40]} elements")
        if view and view[0] is not None:
            raise RefusedError("has views of storages, as PyTorch before 0.4 wrote them. Save it with a newer PyTorch.")
        record = StorageRecord(key, kind.dtype, numel)
        if self.records.setdefault(key, record) != record:
            raise PickleError(f"the storage {key[:40]!r} is declared with two types or sizes")
        return record


# -- the legacy format


def _open_legacy(source: ByteSource) -> TorchFile:
    declared = _Storages()
    with source.open() as file:
        _check_magic(file)
        _expect(_plain(file) == _PROTOCOL, "it has another protocol version")
        info = _plain(file)
        _expect(isinstance(info, dict) and type(info.get("little_endian")) is bool, "its system information is missing")
        position = file.tell()

        def read(factory: TensorFactory) -> Any:
            with source.open() as again:
                again.seek(position)
                return _read_legacy(again, factory, declared)

        content = _read_legacy(file, RecordFactory(), declared)
        keys = _plain(file)
        _expect(isinstance(keys, list) and all(type(key) is str for key in keys), "the list of storages is missing")
        storages = _locate(file, source, keys, declared.records)
    return TorchFile(content, storages, not info["little_endian"], read)


def _read_legacy(file: BinaryIO, factory: TensorFactory, declared: _Storages) -> Any:
    return read_pickle(file, factory, lambda identity: declared.declare(identity, 6))


def _check_magic(file: BinaryIO) -> None:
    try:
        found = _plain(file)
    except (PickleError, RefusedError):
        found = None
    if found != _MAGIC:
        raise RefusedError(_PLAIN_PICKLE)


def _plain(file: BinaryIO) -> Any:
    """A pickle without tensors."""
    return read_pickle(file, RecordFactory(), _no_storage)


def _no_storage(_: tuple[Any, ...]) -> NoReturn:
    raise PickleError("a storage occurs before the saved object")


def _locate(
    file: BinaryIO, source: ByteSource, keys: list[str], records: Mapping[str, StorageRecord]
) -> dict[str, ByteRange]:
    """Find the storages, which follow each other: a number of elements, then the elements."""
    _expect(len(set(keys)) == len(keys) and set(keys) == set(records), "its storages are not those of its tensors")
    storages: dict[str, ByteRange] = {}
    for key in keys:
        count = file.read(8)
        _expect(len(count) == 8, f"the storage {key[:40]!r} is missing")
        (numel,) = struct.unpack("<q", count)
        record = records[key]
        if numel != record.numel:
            raise PickleError(
                f"the storage {key[:40]!r} has {numel:,} elements, but the pickle declares {record.numel:,}"
            )
        offset = file.tell()
        _expect(record.size <= source.size - offset, f"the storage {key[:40]!r} is incomplete")
        storages[key] = ByteRange(source, offset, record.size)
        file.seek(offset + record.size)
    return storages


def _expect(is_true: bool, problem: str) -> None:
    if not is_true:
        raise PickleError(problem)


__all__ = ["ZIP_START", "RecordFactory", "TorchFile", "is_torch_file", "open_torch"]
