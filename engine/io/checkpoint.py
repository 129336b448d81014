"""Checkpoints: `engine.save` and `engine.load` for nested dicts and lists of tensors, numbers and strings.

The format is safetensors; `engine.load` also reads the files of `torch.save`. The metadata describes the structure as
JSON, which refers to tensors by name. The names are the key paths, so that other programs can read the weights.
Loading a file never executes code.

The metadata also contains the SHA-256 of the file, computed with zeros in place of the checksum, to detect damage.
"""

from __future__ import annotations

import hashlib
import json
import struct
from collections.abc import Mapping
from pathlib import Path
from typing import IO, Any

import psutil

from engine.backend import Device
from engine.errors import WeightsError
from engine.io import atomic_file
from engine.io.byte_source import ByteSource, FileSource, MemorySource
from engine.io.checkpoint_structure import decode_structure, encode_structure
from engine.io.pytorch.engine_tensors import EngineTensors
from engine.io.pytorch.torch_file import is_torch_file, open_torch
from engine.io.safetensors_files import decode, encode, read_content
from engine.tensors import Tensor

STRUCTURE, CHECKSUM = "gradwire.structure", "gradwire.sha256"
_ZEROS = "0" * 64
"""Placeholder of the checksum."""
_CLOSE = "Close other programs."

File = str | Path | IO[bytes]


def save(obj: Any, f: File) -> None:
    """Write tensors, or dicts, lists and tuples of tensors, numbers and strings, such as a `state_dict()`.

    Args:
        obj: object to save; for a model or an optimizer, its `state_dict()`
        f: a path, replaced atomically and unchanged on errors, or a binary file open for writing

    Raises:
        WeightsError: `obj` contains a value of an unsupported type.
    """
    content = dumps(obj, _name(f))
    if isinstance(f, (str, Path)):
        atomic_file.write(Path(f), content)
    else:
        f.write(content)


def dumps(obj: Any, source: str) -> bytearray:
    """The content of the file that `save` writes; `source` names it in errors."""
    tensors: dict[str, Tensor] = {}
    structure = encode_structure(obj, (), tensors, source)
    content = encode(tensors, {STRUCTURE: json.dumps(structure), CHECKSUM: _ZEROS}, source)
    offset = _checksum_offset(content)
    assert offset is not None
    content[offset : offset + len(_ZEROS)] = _checksum(content, offset)
    return content


def load(f: File, map_location: Any = None, *, weights_only: bool = True) -> Any:
    """Load an object written by `save` or by `torch.save`, or the tensors of any safetensors file as a dict.

    PyTorch need not be installed. Tensors of a PyTorch file that share memory share it again, on the CPU.

    Args:
        f: a path, or a binary file open for reading
        map_location: device of the tensors; the CPU if None
        weights_only: ignored, for compatibility with PyTorch; code in a file is never executed

    Raises:
        OSError: the file is missing (FileNotFoundError), not a regular file, or cannot be read.
        WeightsError: the file is damaged, has another format, or contains something else than data.
    """
    source = _name(f)
    data = b"" if isinstance(f, (str, Path)) else f.read()
    content = FileSource.of(f) if isinstance(f, (str, Path)) else MemorySource(data, source)
    if _is_torch(content):
        return _load_torch(content, _device(map_location))
    if isinstance(f, (str, Path)):
        data = read_content(Path(f))
    tensors = decode(data, source, _device(map_location))
    metadata = _metadata(data)
    if CHECKSUM in metadata:
        offset = _checksum_offset(data)
        if offset is None or _checksum(data, offset) != metadata[CHECKSUM].encode():
            raise WeightsError(f"{source}: is damaged: its checksum does not match. Copy or save it again.")
    return decode_structure(metadata[STRUCTURE], tensors, source) if STRUCTURE in metadata else tensors


def _is_torch(content: ByteSource) -> bool:
    with content.open() as file:
        return is_torch_file(file.read(512))


def _load_torch(content: ByteSource, device: Device | str) -> Any:
    file = open_torch(content)
    size, free = sum(each.size for each in file.storages.values()), psutil.virtual_memory().available
    if size > free:
        raise WeightsError(f"{content.name}: needs {size:,} bytes of memory, but {free:,} are free. {_CLOSE}")
    return file.build(EngineTensors(file, content.name, device))


def _metadata(content: bytes) -> dict[str, str]:
    """The metadata of a safetensors file whose header has been validated."""
    (length,) = struct.unpack("<Q", content[:8])
    return json.loads(content[8 : 8 + length]).get("__metadata__") or {}


def _checksum_offset(content: bytes | bytearray) -> int | None:
    """Byte offset of the checksum; None if the metadata does not have the form that `save` writes."""
    key = f'"{CHECKSUM}":"'.encode()
    (length,) = struct.unpack("<Q", content[:8])
    found = content.find(key, 8, 8 + length)
    return None if found < 0 else found + len(key)


def _checksum(content: bytes | bytearray, offset: int) -> bytes:
    """SHA-256 of a file, with zeros in place of the checksum at `offset`."""
    digest = hashlib.sha256(content[:offset])
    digest.update(_ZEROS.encode())
    digest.update(memoryview(content)[offset + len(_ZEROS) :])
    return digest.hexdigest().encode()


def _device(map_location: Any) -> Device | str:
    if isinstance(map_location, Mapping):
        return map_location.get("cpu", "cpu")
    return "cpu" if map_location is None or callable(map_location) else map_location


def _name(f: File) -> str:
    return str(f) if isinstance(f, (str, Path)) else str(getattr(f, "name", "file"))
