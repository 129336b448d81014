"""Read and write safetensors files. Loading a file never executes code."""

from __future__ import annotations

import json
import struct
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import psutil
from numpy.typing import NDArray
from safetensors import SafetensorError, deserialize, safe_open
from safetensors.numpy import save

from engine.backend import Device
from engine.dtypes import BY_NAME
from engine.errors import WeightsError
from engine.io import atomic_file
from engine.io.byte_source import ByteRange, FileSource
from engine.io.stored_tensor import StoredTensor, WeightsFile
from engine.system.files import open_regular, read_regular
from engine.tensors import Tensor
from engine.tensors.creation import from_numpy

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
"""Dtype by name in the format."""
_WITHOUT_TENSOR = {
    "C64": np.dtype(np.complex64),
    "F8_E4M3": np.dtype(ml_dtypes.float8_e4m3fn),
    "F8_E5M2": np.dtype(ml_dtypes.float8_e5m2),
}
"""Dtypes that NumPy has and the engine does not."""


def save_file(tensors: Mapping[str, Tensor], path: str | Path, metadata: Mapping[str, str] | None = None) -> None:
    """Write tensors, for instance ``module.state_dict()``, as safetensors.

    Args:
        tensors: by name, from any device; a tensor under two names is written twice
        path: the file, replaced atomically and unchanged on errors
        metadata: strings to store in the file

    Raises:
        WeightsError: a value is not a tensor.
        OSError: the file cannot be written.
    """
    atomic_file.write(Path(path), encode(tensors, metadata, str(path)))


def encode(tensors: Mapping[str, Tensor], metadata: Mapping[str, str] | None, source: str) -> bytearray:
    """Encode tensors as safetensors, deterministically; `source` names the file in errors."""
    arrays: dict[str, np.ndarray[Any, Any]] = {}
    for name, tensor in tensors.items():
        if not isinstance(tensor, Tensor) or tensor.is_meta:
            problem = "has no data" if isinstance(tensor, Tensor) else f"is a {type(tensor).__name__}, not a tensor"
            raise WeightsError(f"{source}: {name!r} {problem}, so it cannot be saved.")
        arrays[name] = np.asarray(tensor.detach().cpu().numpy(), order="C")
    content = bytearray(save(arrays, dict(metadata) if metadata is not None else None))
    if metadata is not None and len(metadata) > 1:
        _sort_metadata(content)
    return content


def _sort_metadata(content: bytearray) -> None:
    """Sort the metadata of a safetensors file, because the library writes it in random order."""
    (length,) = struct.unpack_from("<Q", content)
    header = json.loads(content[8 : 8 + length])
    header["__metadata__"] = dict(sorted(header["__metadata__"].items()))
    text = json.dumps(header, ensure_ascii=False, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)  # tensors begin at a multiple of 8
    content[: 8 + length] = struct.pack("<Q", len(text)) + text


def decode(data: bytes, source: str, device: Device | str = "cpu") -> dict[str, Tensor]:
    """Decode a safetensors file; `source` names the file in errors. Raises WeightsError."""
    reject_pytorch_file(data[:9], source)
    tensors: dict[str, Tensor] = {}
    with _translate_errors(source):
        for name, entry in deserialize(data):
            if entry["dtype"] not in _NAMES:
                names = ", ".join(BY_NAME)
                raise WeightsError(
                    f"{source}: tensor {name!r} has dtype {entry['dtype']}. Convert it to one of: {names}."
                )
            dtype = BY_NAME[_NAMES[entry["dtype"]]].numpy
            array = np.frombuffer(entry["data"], dtype).reshape(entry["shape"])
            tensors[name] = from_numpy(np.asarray(array.view(np.uint8) != 0) if dtype == np.bool else array).to(device)
    return dict(sorted(tensors.items()))


def read_content(path: Path) -> bytes:
    """The content of a safetensors file. The header is checked before the data are read.

    Raises:
        OSError: the file is missing, not a regular file, or cannot be read.
        WeightsError: the file is damaged, has another format, or is larger than the free memory.
    """
    with _open_checked(path):
        size, free = path.stat().st_size, psutil.virtual_memory().available
        if size > free:
            raise WeightsError(f"{path}: needs {size:,} bytes of memory, but {free:,} are free. Close other programs.")
        return read_regular(path, size)


def load_file(path: str | Path, device: Device | str = "cpu") -> dict[str, Tensor]:
    """The tensors of a safetensors file, by name.

    Raises:
        OSError: the file is missing (FileNotFoundError), not a regular file, or cannot be read.
        WeightsError: the file is damaged, has another format, or contains an unsupported dtype.
    """
    return decode(read_content(Path(path)), str(path), device)


def open_safetensors(source: FileSource) -> WeightsFile:
    """The tensors of a safetensors file, without reading their values. Raises as `load_file` does.

    Tied weights that `safetensors.torch.save_model` left out are listed in the metadata, and found under both names.
    """
    with _open_checked(source.path) as file:  # checks the header and that it covers the file
        metadata = dict(file.metadata() or {})
    with source.open() as file:
        (length,) = struct.unpack("<Q", file.read(8))
        header = json.loads(file.read(length))
    tensors: dict[str, StoredTensor] = {}
    for name, entry in header.items():
        if name != "__metadata__":
            first, last = entry["data_offsets"]
            data = ByteRange(source, 8 + length + first, last - first)
            dtype = _stored_dtype(entry["dtype"], name, source.name)
            shape = tuple(entry["shape"])
            tensors[name] = StoredTensor(shape, dtype, partial(_read_array, data, dtype, shape))
    for name, owner in metadata.items():
        if name not in tensors and owner in tensors:
            tensors[name] = replace(tensors[owner], alias_of=owner)
    return WeightsFile(source.name, tensors)


def _stored_dtype(name: str, tensor: str, source: str) -> np.dtype[Any]:
    if name in _NAMES:
        return BY_NAME[_NAMES[name]].numpy
    if name not in _WITHOUT_TENSOR:
        raise WeightsError(f"{source}: tensor {tensor!r} has dtype {name}. Convert it to one of: {', '.join(BY_NAME)}.")
    return _WITHOUT_TENSOR[name]


def _read_array(data: ByteRange, dtype: np.dtype[Any], shape: tuple[int, ...]) -> NDArray[Any]:
    content = np.frombuffer(data.read(), np.uint8)
    return (content != 0 if dtype == np.bool else content.view(dtype)).reshape(shape)


def read_metadata(path: str | Path) -> dict[str, str]:
    """The metadata of a safetensors file. Raises the same errors as `load_file`."""
    with _open_checked(Path(path)) as file:
        return dict(file.metadata() or {})


def reject_pytorch_file(start: bytes, source: str) -> None:
    """Raise WeightsError for a file that begins like a PyTorch checkpoint: a zip archive, or a pickle.

    The length at the start of a safetensors file may equal the first two bytes of a pickle.
    """
    if start.startswith(b"PK\x03\x04") or (start.startswith((b"\x80\x02", b"\x80\x04")) and start[8:9] != b"{"):
        raise WeightsError(f"{source}: is a PyTorch checkpoint, not safetensors. Open it with engine.load().")


@contextmanager
def _open_checked(path: Path) -> Iterator[Any]:
    with open_regular(path) as file:
        reject_pytorch_file(file.read(9), str(path))
    with (
        _translate_errors(str(path)),
        safe_open(path, framework="numpy") as weights,
    ):  # does not check the data
        yield weights


@contextmanager
def _translate_errors(source: str) -> Iterator[None]:
    """Context manager that turns errors of the safetensors library into WeightsError."""
    try:
        yield
    except WeightsError:
        raise
    except (SafetensorError, ValueError, OverflowError) as error:
        raise WeightsError(
            f"{source}: is damaged, incomplete, or not a safetensors file ({error}). Copy or save it again."
        ) from None
