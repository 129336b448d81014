"""`engine.io.open_weights`: one mapping for safetensors, sharded files, PyTorch checkpoints and NumPy archives."""

from __future__ import annotations

import io
import json
import os
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest

import engine
from engine.errors import WeightsError
from engine.io import WeightsFile, open_weights, save_file
from tests.engine.io.torch_bytes import FLOATS, dictionary, integer, pickled, storage, tensor, zip_file

W = np.arange(6, dtype=np.float32).reshape(2, 3)


def values(file: WeightsFile) -> dict[str, Any]:
    return {name: stored.read().tolist() for name, stored in file.items()}


def test_safetensors(tmp_path: Path) -> None:
    tensors = {"w": engine.from_numpy(W), "half": engine.ones(2, dtype=engine.bfloat16), "flag": engine.tensor([True])}
    save_file(tensors, tmp_path / "a.safetensors", {"format": "pt"})
    found = open_weights(tmp_path / "a.safetensors")
    assert {name: (each.shape, str(each.dtype)) for name, each in found.items()} == {
        "w": ((2, 3), "float32"),
        "half": ((2,), "bfloat16"),
        "flag": ((1,), "bool"),
    }
    assert values(found) == {"w": W.tolist(), "half": [1, 1], "flag": [True]}
    assert found["half"].dtype == ml_dtypes.bfloat16


def test_tied_weights_of_safetensors(tmp_path: Path) -> None:
    save_file({"wte": engine.from_numpy(W)}, tmp_path / "a.safetensors", {"format": "pt", "head": "wte"})
    found = open_weights(tmp_path / "a.safetensors")
    assert found["head"].alias_of == "wte"
    assert values(found) == {"wte": W.tolist(), "head": W.tolist()}


def test_tied_weights_of_pytorch(tmp_path: Path) -> None:
    of = storage(6)
    content = {name: tensor(of, (2, 3), (3, 1)) for name in ("wte", "head")} | {"other": tensor(of, (3, 2), (2, 1))}
    (tmp_path / "a.bin").write_bytes(zip_file(pickled(dictionary(content)), {"0": FLOATS}))
    found = open_weights(tmp_path / "a.bin")
    assert [found[name].alias_of for name in ("wte", "head", "other")] == ["", "wte", ""]
    assert found["other"].read().tolist() == [[0, 1], [2, 3], [4, 5]]


def nested(parts: Mapping[str, bytes]) -> bytes:
    return zip_file(pickled(dictionary(parts)), {"0": FLOATS})


def test_the_weights_of_a_nested_checkpoint(tmp_path: Path) -> None:
    path = tmp_path / "a.pt"
    model = dictionary({"w": tensor(storage(6), (6,), (1,))})
    state = dictionary({"state": dictionary({"0": dictionary({"exp_avg": tensor(storage(6), (3,), (2,))})})})
    path.write_bytes(nested({"epoch": integer(3), "optimizer": state, "model": model}))
    found = open_weights(path)
    assert (found.part, found.parts) == ("model", ("model", "optimizer.state.0"))
    assert list(found) == ["w"]
    assert open_weights(path, "optimizer.state.0")["exp_avg"].read().tolist() == [0, 2, 4]
    with pytest.raises(WeightsError, match=r"no weights at 'ema'\. Choose a part: model \(1 tensors\), optimizer"):
        open_weights(path, "ema")
    path.write_bytes(nested({"student": model, "teacher": model.replace(b"w", b"v")}))
    with pytest.raises(WeightsError, match=r"certainly those of a model\. Choose a part: student .*, teacher"):
        open_weights(path)
    path.write_bytes(nested({"epoch": integer(3)}))
    with pytest.raises(WeightsError, match=r"no dictionary of names and tensors"):
        open_weights(path)


def test_numpy_archives(tmp_path: Path) -> None:
    for write in (np.savez, np.savez_compressed):
        write(tmp_path / "a.npz", w=W, big=W.astype(">f8"), column=np.asfortranarray(W), n=np.array(3))
        found = open_weights(tmp_path / "a.npz")
        assert values(found) == {"w": W.tolist(), "big": W.tolist(), "column": W.tolist(), "n": 3}
        assert found["big"].read().dtype == np.float64
        assert all(stored.read().flags.c_contiguous for stored in found.values())


def test_refused_numpy_archives(tmp_path: Path) -> None:
    path = tmp_path / "a.npz"
    np.savez(path, x=np.array([{}], dtype=object))
    with pytest.raises(WeightsError, match="Python objects, which are never loaded"):
        open_weights(path)
    buffer = io.BytesIO()
    np.save(buffer, W)
    header = buffer.getvalue()[: -W.nbytes]
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("x.npy", header + bytes(64 << 20))
    with pytest.raises(WeightsError, match=r"24 bytes, but 64.0 MiB follow"):
        open_weights(path)
    content = bytearray(path.read_bytes())
    path.write_bytes(content[: len(content) // 2])
    with pytest.raises(WeightsError, match="directory at the end of the archive is missing"):
        open_weights(path)
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("x.npy", buffer.getvalue())
        archive.writestr("y.npy", buffer.getvalue())
    path.write_bytes(path.read_bytes().replace(b"y.npy", b"x.npy"))
    with pytest.raises(WeightsError, match=r"contains 'x.npy' twice"):
        open_weights(path)


def sharded(folder: Path, weight_map: Mapping[str, str]) -> Path:
    path = folder / "model.safetensors.index.json"
    path.write_text(json.dumps({"metadata": {"total_size": 1}, "weight_map": weight_map}))
    return path


def test_sharded_weights(tmp_path: Path) -> None:
    (tmp_path / "more").mkdir()
    save_file({"w": engine.from_numpy(W), "unlisted": engine.ones(1)}, tmp_path / "1.safetensors")
    (tmp_path / "more" / "2.bin").write_bytes(
        zip_file(pickled(dictionary({"v": tensor(storage(6), (6,), (1,))})), {"0": FLOATS})
    )
    path = sharded(tmp_path, {"v": "more/2.bin", "w": "1.safetensors"})
    assert values(open_weights(path)) == {"v": [0, 1, 2, 3, 4, 5], "w": W.tolist()}


@pytest.mark.parametrize(
    "name", ["../1.safetensors", "/etc/passwd", "a/../../b", "C:\\x", "..\\x", "", ".", "a//b", "./1", "a:b", "a\0"]
)
def test_shards_lie_below_the_index(tmp_path: Path, name: str) -> None:
    folder = tmp_path / "inner"
    folder.mkdir()
    save_file({"w": engine.ones(1)}, tmp_path / "1.safetensors")
    with pytest.raises(WeightsError, match="not a file below the folder of the index"):
        open_weights(sharded(folder, {"w": name}))


def test_damaged_indexes(tmp_path: Path) -> None:
    save_file({"w": engine.ones(1)}, tmp_path / "1.safetensors")
    with pytest.raises(WeightsError, match=r"1.safetensors does not contain 'v'"):
        open_weights(sharded(tmp_path, {"v": "1.safetensors"}))
    with pytest.raises(WeightsError, match=r"the shard '2.safetensors' is missing. Download it"):
        open_weights(sharded(tmp_path, {"w": "2.safetensors"}))
    with pytest.raises(WeightsError, match="another index"):
        open_weights(sharded(tmp_path, {"w": "model.safetensors.index.json"}))
    path = tmp_path / "b.index.json"
    for content in (b"", b"[]", b"{}", b'{"weight_map": {"a": 3}}', b"\xff", b"[" * 100_000):
        path.write_bytes(content)
        with pytest.raises(WeightsError, match="is not an index of sharded weights"):
            open_weights(path)


def test_missing_and_irregular_files(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        open_weights(tmp_path / "missing.pt")
    with pytest.raises(IsADirectoryError):
        open_weights(tmp_path)
    if hasattr(os, "mkfifo"):
        os.mkfifo(tmp_path / "pipe")
        with pytest.raises(OSError, match="a pipe"):
            open_weights(tmp_path / "pipe")
    (tmp_path / "text").write_text("weights")
    with pytest.raises(WeightsError, match="damaged, incomplete, or not a safetensors file"):
        open_weights(tmp_path / "text")
