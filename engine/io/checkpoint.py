"""Whole checkpoints in one file, as `engine.save` and `engine.load`: dicts and lists of tensors, numbers and texts.

The file is safetensors. Its metadata holds the structure as JSON, in which tensors stand by their names; the names are
the keys that lead to them, so that other programs can read the weights. Nothing in such a file is ever executed.

The metadata also holds the SHA-256 of the file, computed with zeros in its place, by which a damaged one is noticed.
"""

from __future__ import annotations

import hashlib
import json
import struct
from collections import OrderedDict
from collections.abc import Mapping
from pathlib import Path
from typing import IO, Any

import numpy as np
from safetensors import SafetensorError

from engine.backend import Device
from engine.creation import from_numpy
from engine.dtypes import BY_NAME, DType
from engine.errors import WeightsError
from engine.io import atomic
from engine.io.weights import decode, encode, is_pytorch
from engine.tensor import Tensor

STRUCTURE, CHECKSUM = "gradwire.structure", "gradwire.sha256"
_OPEN = "0" * 64
"""Where the checksum will stand."""
PLAIN = (str, bool, int, float, type(None))
CONTAINERS: dict[type, str] = {dict: "dict", OrderedDict: "ordered", list: "list", tuple: "tuple", set: "set"}
BUILD = {name: kind for kind, name in CONTAINERS.items()}

File = str | Path | IO[bytes]


def save(obj: Any, f: File) -> None:
    """Write tensors, or dicts, lists and tuples of tensors, numbers and texts, such as a `state_dict()`.

    Args:
        obj: what is kept; a model or an optimizer by its `state_dict()`
        f: a path, which is replaced as a whole or, on any error, left as it was; or a file open for writing bytes

    Raises:
        WeightsError: something in `obj` that such a file cannot hold.
    """
    content = dumps(obj, _name(f))
    if isinstance(f, (str, Path)):
        atomic.write(Path(f), content)
    else:
        f.write(content)


def dumps(obj: Any, place: str) -> bytearray:
    """The content of the file that `save` writes; `place` names it in errors."""
    tensors: dict[str, Tensor] = {}
    structure = _described(obj, (), tensors, place)
    content = encode(tensors, {STRUCTURE: json.dumps(structure), CHECKSUM: _OPEN}, place)
    at = _checksum_place(content)
    content[at : at + len(_OPEN)] = _checksum(content, at)
    return content


def load(f: File, map_location: Any = None, *, weights_only: bool = True) -> Any:
    """What `save` wrote, or the tensors of any safetensors file in a dict.

    Args:
        f: a path, or a file open for reading bytes
        map_location: the device of the tensors; the CPU unless given
        weights_only: taken for PyTorch's sake: these files can hold nothing that runs

    Raises:
        WeightsError: the file is missing, damaged or of another format.
    """
    place = _name(f)
    try:
        data = Path(f).read_bytes() if isinstance(f, (str, Path)) else f.read()
    except FileNotFoundError:
        raise WeightsError(f"{place}: there is no such file.") from None
    if is_pytorch(data[:9]):
        raise WeightsError(f"{place}: is a PyTorch checkpoint. Save its tensors as safetensors and load those.")
    try:
        tensors = decode(data, place, _device(map_location))
        (length,) = struct.unpack("<Q", data[:8])
        metadata = json.loads(data[8 : 8 + length]).get("__metadata__", {})
    except SafetensorError as error:
        raise WeightsError(
            f"{place}: is damaged, incomplete, or was not written by engine.save ({error}). Copy or save it again."
        ) from None
    if CHECKSUM in metadata and _checksum(data, _checksum_place(data)) != metadata[CHECKSUM].encode():
        raise WeightsError(f"{place}: is damaged: it is not what was written. Copy or save it again.")
    return _restored(json.loads(metadata[STRUCTURE]), tensors) if STRUCTURE in metadata else tensors


def _checksum_place(content: bytes | bytearray) -> int:
    """Where in a file its checksum stands."""
    key = f'"{CHECKSUM}":"'.encode()
    (length,) = struct.unpack("<Q", content[:8])
    return content.index(key, 8, 8 + length) + len(key)


def _checksum(content: bytes | bytearray, at: int) -> bytes:
    """Of a file whose checksum, whatever it is, stands at a place."""
    whole = hashlib.sha256(content[:at])
    whole.update(_OPEN.encode())
    whole.update(memoryview(content)[at + len(_OPEN) :])
    return whole.hexdigest().encode()


def _described(value: Any, path: tuple[Any, ...], tensors: dict[str, Tensor], place: str) -> Any:
    """`value` as JSON; its tensors go to `tensors`."""
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, PLAIN):
        return value
    if isinstance(value, (Tensor, np.ndarray)):
        name = ".".join(map(str, path)) or "tensor"
        while name in tensors:
            name += "_"
        tensors[name] = from_numpy(value) if isinstance(value, np.ndarray) else value.detach()
        if isinstance(value, np.ndarray):
            return {"array": name}
        return {"tensor": name} | ({"requires_grad": True} if value.requires_grad else {})
    if isinstance(value, (Device, DType)):
        return {type(value).__name__: str(value).removeprefix("engine.")}
    kind = next((base for base in (OrderedDict, dict, list, tuple, set) if isinstance(value, base)), None)
    if kind is None:
        raise WeightsError(
            f"{place}: {'.'.join(map(str, path)) or 'the object'} is a {type(value).__name__}, which cannot be saved. "
            "Save numbers, texts, tensors, and dicts and lists of them; of a model its state_dict()."
        )
    if isinstance(value, Mapping):
        pairs = [
            [_described(key, path, tensors, place), _described(item, (*path, key), tensors, place)]
            for key, item in value.items()
        ]
        return {CONTAINERS[kind]: pairs}
    return {CONTAINERS[kind]: [_described(item, (*path, i), tensors, place) for i, item in enumerate(value)]}


def _restored(value: Any, tensors: Mapping[str, Tensor]) -> Any:
    if not isinstance(value, dict):
        return value
    kind, content = next(iter(value.items()))
    if kind == "tensor":
        return tensors[content].requires_grad_(value.get("requires_grad", False))
    if kind == "array":
        return tensors[content].cpu().numpy()
    if kind == "Device":
        return Device(content)
    if kind == "DType":
        return BY_NAME[content]
    if kind in ("dict", "ordered"):
        return BUILD[kind]((_restored(key, tensors), _restored(item, tensors)) for key, item in content)
    return BUILD[kind](_restored(item, tensors) for item in content)


def _device(map_location: Any) -> Device | str:
    if isinstance(map_location, Mapping):
        return map_location.get("cpu", "cpu")
    return "cpu" if map_location is None or callable(map_location) else map_location


def _name(f: File) -> str:
    return str(f) if isinstance(f, (str, Path)) else str(getattr(f, "name", "file"))
