"""Tensors by name in safetensors files. Nothing in such a file is ever executed."""

from __future__ import annotations

import json
import struct
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from safetensors import SafetensorError, deserialize, safe_open
from safetensors.numpy import save

from engine.backend import Device
from engine.creation import from_numpy
from engine.dtypes import BY_NAME
from engine.errors import WeightsError
from engine.io import atomic
from engine.tensor import Tensor

_NAMES = {
    "BOOL": "bool",
    "U8": "uint8",
    "U16": "uint16",
    "U32": "uint32",
    "U64": "uint64",
    "I8": "int8",
    "I16": "int16",
    "I32": "int32",
    "I64": "int64",
    "F16": "float16",
    "BF16": "bfloat16",
    "F32": "float32",
    "F64": "float64",
}
"""Dtypes by the name that they have in the format."""


def save_file(tensors: Mapping[str, Tensor], path: str | Path, metadata: Mapping[str, str] | None = None) -> None:
    """Write tensors, for instance ``module.state_dict()``, as safetensors.

    Args:
        tensors: by name, from any device; a tensor under two names is written twice
        path: the file; replaced as a whole or, on any error, left as it was
        metadata: texts to keep with them

    Raises:
        WeightsError: something is no tensor.
        OSError: the file cannot be written.
    """
    atomic.write(Path(path), encode(tensors, metadata, str(path)))


def encode(tensors: Mapping[str, Tensor], metadata: Mapping[str, str] | None, place: str) -> bytearray:
    """The content of a safetensors file, the same bytes for the same content; `place` names it in errors."""
    arrays: dict[str, np.ndarray[Any, Any]] = {}
    for name, tensor in tensors.items():
        if not isinstance(tensor, Tensor) or tensor.is_meta:
            found = "has no numbers" if isinstance(tensor, Tensor) else f"is a {type(tensor).__name__}, not a tensor"
            raise WeightsError(f"{place}: {name!r} {found}, so it cannot be saved.")
        arrays[name] = np.asarray(tensor.detach().cpu().numpy(), order="C")
    content = bytearray(save(arrays, dict(metadata) if metadata is not None else None))
    if metadata is not None and len(metadata) > 1:
        _sort_metadata(content)
    return content


def _sort_metadata(content: bytearray) -> None:
    """Give the metadata of a safetensors file a fixed order: the library writes them in a random one."""
    (length,) = struct.unpack_from("<Q", content)
    header = json.loads(content[8 : 8 + length])
    header["__metadata__"] = dict(sorted(header["__metadata__"].items()))
    text = json.dumps(header, ensure_ascii=False, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)  # tensors begin at a multiple of 8
    content[: 8 + length] = struct.pack("<Q", len(text)) + text


def decode(data: bytes, place: str, device: Device | str = "cpu") -> dict[str, Tensor]:
    """The tensors in the content of a safetensors file. Raises WeightsError for dtypes that the engine has not."""
    tensors: dict[str, Tensor] = {}
    for name, found in deserialize(data):
        if found["dtype"] not in _NAMES:
            raise WeightsError(
                f"{place}: tensor {name!r} holds {found['dtype']} numbers. Convert it to one of: {', '.join(BY_NAME)}."
            )
        dtype = BY_NAME[_NAMES[found["dtype"]]].numpy
        tensors[name] = from_numpy(np.frombuffer(found["data"], dtype).reshape(found["shape"])).to(device)
    return dict(sorted(tensors.items()))


def load_file(path: str | Path, device: Device | str = "cpu") -> dict[str, Tensor]:
    """The tensors of a safetensors file, by name.

    Raises:
        WeightsError: the file is missing, damaged, of another format, or holds a dtype that the engine does not have.
    """
    with _opened(Path(path)):
        return decode(Path(path).read_bytes(), str(path), device)


def read_metadata(path: str | Path) -> dict[str, str]:
    """The texts in a safetensors file. Raises WeightsError as `load_file` does."""
    with _opened(Path(path)) as file:
        return dict(file.metadata() or {})


@contextmanager
def _opened(path: Path) -> Iterator[Any]:
    if not path.is_file():
        what = "it is a folder" if path.is_dir() else "there is no such file"
        raise WeightsError(f"{path}: {what}. Choose a .safetensors file.")
    try:
        if is_pytorch(_first_bytes(path)):
            raise WeightsError(f"{path}: is a PyTorch checkpoint, not safetensors. Save it again as .safetensors.")
        with safe_open(path, framework="numpy") as file:
            yield file
    except SafetensorError as error:
        raise WeightsError(
            f"{path}: is damaged, incomplete, or no safetensors file ({error}). Copy or save it again."
        ) from None
    except OSError as error:
        raise WeightsError(f"{path}: cannot be read: {error.strerror or error}.") from None


def is_pytorch(start: bytes) -> bool:
    """Whether a file that begins so is a PyTorch checkpoint: a zip archive, or a pickle.

    A safetensors file begins with the length of its JSON, which may look like a pickle's first two bytes.
    """
    return start.startswith(b"PK\x03\x04") or (start.startswith((b"\x80\x02", b"\x80\x04")) and start[8:9] != b"{")


def _first_bytes(path: Path) -> bytes:
    with path.open("rb") as file:
        return file.read(9)
