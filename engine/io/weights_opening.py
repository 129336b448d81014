"""Open the weights of any supported file: safetensors, sharded safetensors, PyTorch checkpoints and NumPy archives."""

from __future__ import annotations

from pathlib import Path

import msgspec

from engine import lazy
from engine.errors import WeightsError
from engine.io.byte_source import FileSource
from engine.io.pytorch.state_dicts import open_state_dict
from engine.io.pytorch.torch_file import ZIP_START, is_torch_file
from engine.io.safetensors_files import open_safetensors
from engine.io.stored_tensor import StoredTensor, WeightsFile
from engine.io.zip_directory import ZipError, read_directory
from engine.system.files import read_regular

npz_weights = lazy.module("engine.io.npz_weights")  # imports engine.data, which few programs that load need
INDEX_SUFFIX = ".index.json"
_MAX_INDEX_BYTES = 64 << 20
_UNSAFE_CHARACTERS = frozenset("\\:\0")


class _Index(msgspec.Struct):
    """The content of `model.safetensors.index.json`."""

    weight_map: dict[str, str]


def open_weights(path: str | Path, part: str = "") -> WeightsFile:
    """Open the weights in a file, without reading their values.

    Args:
        path: a safetensors file, an index of sharded files (`NAME.index.json`), a checkpoint of `torch.save` or a .npz
            file; the content decides, except for an index
        part: location of the weights in a nested checkpoint, such as "model" or "ema.params"; without it, the weights
            of a model are searched

    Raises:
        OSError: the file is missing, not a regular file, or cannot be read.
        WeightsError: the file is damaged, has another format, or contains something else than data; or a checkpoint
            has several parts and none is obvious.
    """
    path = Path(path)
    if path.name.endswith(INDEX_SUFFIX):
        return _open_index(path)
    source = FileSource.of(path)
    with source.open() as file:
        start = file.read(512)
    if start.startswith(ZIP_START) and _is_array_archive(source):
        return npz_weights.open_npz(source)
    if is_torch_file(start):
        return open_state_dict(source, part)
    return open_safetensors(source)


def _is_array_archive(source: FileSource) -> bool:
    try:
        names = read_directory(source)
    except ZipError as error:
        raise WeightsError(f"{source.name}: {error}. Copy or save it again.") from None
    return any(name.endswith(".npy") for name in names) and not any(name.endswith("data.pkl") for name in names)


def _open_index(path: Path) -> WeightsFile:
    try:
        index = msgspec.json.decode(read_regular(path, _MAX_INDEX_BYTES), type=_Index)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        raise WeightsError(
            f"{path}: is not an index of sharded weights ({error}). Download it again, or open one of the shards."
        ) from None
    shards: dict[str, WeightsFile] = {}
    tensors: dict[str, StoredTensor] = {}
    for name, file in index.weight_map.items():
        if file not in shards:
            shards[file] = _open_shard(path, file)
        if name not in shards[file]:
            raise WeightsError(f"{path}: {file} does not contain {name!r}. Download the index and its shards again.")
        tensors[name] = shards[file][name]
    return WeightsFile(str(path), tensors)


def _open_shard(index: Path, name: str) -> WeightsFile:
    parts = name.split("/")
    if any(part in ("", ".", "..") for part in parts) or not _UNSAFE_CHARACTERS.isdisjoint(name):
        raise WeightsError(
            f"{index}: refers to {name[:80]!r}, which is not a file below the folder of the index. "
            "Correct the index, or download it again."
        )
    if name.endswith(INDEX_SUFFIX):
        raise WeightsError(f"{index}: refers to {name[:80]!r}, another index. Download it again.")
    try:
        return open_weights(index.parent.joinpath(*parts))
    except FileNotFoundError:
        raise WeightsError(f"{index}: the shard {name[:80]!r} is missing. Download it to the same folder.") from None


__all__ = ["INDEX_SUFFIX", "open_weights"]
