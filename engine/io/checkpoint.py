"""Whole checkpoints in one file, as `engine.save` and `engine.load`: dicts and lists of tensors, numbers and texts.

The file is safetensors. Its metadata holds the structure as JSON, in which tensors stand by their names; the names are
the keys that lead to them, so that other programs can read the weights. Nothing in such a file is ever executed.

The metadata also holds the SHA-256 of the file, computed with zeros in its place, by which a damaged one is noticed.
"""

from __future__ import annotations

import hashlib
import json
import struct
from collections.abc import Mapping
from pathlib import Path
from typing import IO, Any

from engine.backend import Device
from engine.errors import WeightsError
from engine.io import atomic_file
from engine.io.checkpoint_structure import decode_structure, encode_structure
from engine.io.safetensors_files import decode, encode, read_content
from engine.tensors import Tensor

STRUCTURE, CHECKSUM = "gradwire.structure", "gradwire.sha256"
_OPEN = "0" * 64
"""Where the checksum will stand."""

File = str | Path | IO[bytes]


def save(obj: Any, f: File) -> None:
    """Write tensors, or dicts, lists and tuples of tensors, numbers and texts, such as a `state_dict()`.

    Args:
        obj: what is kept; a model or an optimizer by its `state_dict()`
        f: a path, replaced atomically and unchanged on errors, or a binary file open for writing

    Raises:
        WeightsError: something in `obj` that such a file cannot hold.
    """
    content = dumps(obj, _name(f))
    if isinstance(f, (str, Path)):
        atomic_file.write(Path(f), content)
    else:
        f.write(content)


def dumps(obj: Any, place: str) -> bytearray:
    """The content of the file that `save` writes; `place` names it in errors."""
    tensors: dict[str, Tensor] = {}
    structure = encode_structure(obj, (), tensors, place)
    content = encode(tensors, {STRUCTURE: json.dumps(structure), CHECKSUM: _OPEN}, place)
    at = _checksum_place(content)
    assert at is not None
    content[at : at + len(_OPEN)] = _checksum(content, at)
    return content


def load(f: File, map_location: Any = None, *, weights_only: bool = True) -> Any:
    """What `save` wrote, or the tensors of any safetensors file in a dict.

    Args:
        f: a path, or a file open for reading bytes
        map_location: the device of the tensors; the CPU unless given
        weights_only: ignored; for compatibility with PyTorch. These files cannot contain code

    Raises:
        OSError: the file is missing (FileNotFoundError), no regular file, or cannot be read.
        WeightsError: it is damaged or of another format.
    """
    place = _name(f)
    data = read_content(Path(f)) if isinstance(f, (str, Path)) else f.read()
    tensors = decode(data, place, _device(map_location))
    metadata = _metadata(data)
    if CHECKSUM in metadata:
        at = _checksum_place(data)
        if at is None or _checksum(data, at) != metadata[CHECKSUM].encode():
            raise WeightsError(f"{place}: is damaged: its checksum does not match. Copy or save it again.")
    return decode_structure(metadata[STRUCTURE], tensors, place) if STRUCTURE in metadata else tensors


def _metadata(content: bytes) -> dict[str, str]:
    """Of a safetensors file that was decoded, so that its header is sound."""
    (length,) = struct.unpack("<Q", content[:8])
    return json.loads(content[8 : 8 + length]).get("__metadata__") or {}


def _checksum_place(content: bytes | bytearray) -> int | None:
    """Where in a file its checksum stands; None if that is not where `save` puts it."""
    key = f'"{CHECKSUM}":"'.encode()
    (length,) = struct.unpack("<Q", content[:8])
    found = content.find(key, 8, 8 + length)
    return None if found < 0 else found + len(key)


def _checksum(content: bytes | bytearray, at: int) -> bytes:
    """Of a file whose checksum, whatever it is, stands at a place."""
    whole = hashlib.sha256(content[:at])
    whole.update(_OPEN.encode())
    whole.update(memoryview(content)[at + len(_OPEN) :])
    return whole.hexdigest().encode()


def _device(map_location: Any) -> Device | str:
    if isinstance(map_location, Mapping):
        return map_location.get("cpu", "cpu")
    return "cpu" if map_location is None or callable(map_location) else map_location


def _name(f: File) -> str:
    return str(f) if isinstance(f, (str, Path)) else str(getattr(f, "name", "file"))
