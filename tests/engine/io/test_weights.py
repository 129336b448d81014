from __future__ import annotations

import json
import struct
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import engine
from engine import dtypes, nn
from engine.errors import WeightsError
from engine.io import atomic_file, load_file, read_metadata, save_file


def safetensors(header: Any, data: bytes = b"") -> bytes:
    text = json.dumps(header).encode()
    return struct.pack("<Q", len(text)) + text + data


def test_module_round_trip(tmp_path: Path) -> None:
    path = tmp_path / "weights.safetensors"
    model = nn.Sequential(nn.Linear(3, 4), nn.BatchNorm1d(4))
    save_file(model.state_dict(), path, {"epoch": "3"})
    loaded = load_file(path)
    assert list(loaded) == sorted(model.state_dict())
    for name, tensor in model.state_dict().items():
        assert loaded[name].dtype is tensor.dtype
        np.testing.assert_array_equal(loaded[name].numpy(), tensor.numpy())
    assert read_metadata(path) == {"epoch": "3"}
    assert [file.name for file in tmp_path.iterdir()] == [path.name]


@pytest.mark.parametrize("dtype", sorted(dtypes.BY_NAME))
def test_every_dtype(tmp_path: Path, dtype: str) -> None:
    array = np.arange(6).reshape(2, 3).astype(dtypes.BY_NAME[dtype].numpy)
    save_file({"view": engine.from_numpy(array).T, "scalar": engine.as_tensor(array[0, 1])}, tmp_path / "a")
    loaded = load_file(tmp_path / "a")
    assert loaded["view"].tolist() == array.T.tolist()
    assert loaded["scalar"].shape == ()
    assert read_metadata(tmp_path / "a") == {}


def test_pytorch_reads_and_writes_the_same_files(tmp_path: Path) -> None:
    torch = pytest.importorskip("torch")
    theirs = pytest.importorskip("safetensors.torch")
    save_file({"a": engine.arange(6.0).reshape(2, 3)}, tmp_path / "ours")
    assert theirs.load_file(tmp_path / "ours")["a"].tolist() == [[0, 1, 2], [3, 4, 5]]
    theirs.save_file({"a": torch.arange(3)}, tmp_path / "theirs")
    assert load_file(tmp_path / "theirs")["a"].tolist() == [0, 1, 2]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "damaged, incomplete, or not a safetensors"),
        (b"PK\x03\x04 and so on", r"PyTorch checkpoint, not safetensors. Open it with engine.load\(\)"),
        (b"\x80\x02}q\x00.", "PyTorch checkpoint"),
        (struct.pack("<Q", 2**60) + b"{}", "header too large"),
        (safetensors({"a": {"dtype": "F32", "shape": [2**40], "data_offsets": [0, 2**42]}}), "not fully covered"),
        (safetensors({"a": {"dtype": "F32", "shape": [2], "data_offsets": [0, 8]}}, bytes(7)), "not fully covered"),
        (safetensors({"a": {"dtype": "F32", "shape": [3], "data_offsets": [0, 8]}}, bytes(8)), "damaged"),
        (
            safetensors({"a": {"dtype": "F8_E4M3", "shape": [4], "data_offsets": [0, 4]}}, bytes(4)),
            "'a' has dtype F8_E4M3",
        ),
        (
            safetensors({"a": {"dtype": "F8_E5M2", "shape": [4], "data_offsets": [0, 4]}}, bytes(4)),
            "'a' has dtype F8_E5M2",
        ),
        (safetensors({"a": 3}), "invalid JSON"),
    ],
)
def test_bad_files(tmp_path: Path, content: bytes, message: str) -> None:
    path = tmp_path / "bad.safetensors"
    path.write_bytes(content)
    with pytest.raises(WeightsError, match=message) as caught:
        load_file(path)
    assert str(caught.value).startswith(str(path))


@given(st.binary(max_size=300))
def test_damaged_bytes_only_raise(tmp_path_factory: pytest.TempPathFactory, content: bytes) -> None:
    path = tmp_path_factory.getbasetemp() / "any.safetensors"
    for start in (b"", struct.pack("<Q", len(content))):
        path.write_bytes(start + content)
        try:
            load_file(path)
        except WeightsError:
            pass


def test_bad_paths_and_values(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match="No such file"):
        load_file(tmp_path / "missing")
    with pytest.raises(IsADirectoryError, match="it is a folder"):
        load_file(tmp_path)
    with pytest.raises(WeightsError, match="'b' is a int, not a tensor"):
        save_file({"a": engine.ones(1), "b": 3}, tmp_path / "x")  # pyright: ignore[reportArgumentType]
    with pytest.raises(WeightsError, match="'a' has no data"):
        save_file({"a": engine.ones(1, device="meta")}, tmp_path / "x")
    assert not list(tmp_path.iterdir())


def test_a_full_disk_leaves_the_old_weights(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "weights.safetensors"
    save_file({"a": engine.ones(1)}, path)

    def full(descriptor: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(atomic_file.os, "fsync", full)
    with pytest.raises(OSError, match="No space left"):
        save_file({"a": engine.zeros(1)}, path)
    assert [file.name for file in tmp_path.iterdir()] == [path.name]
    assert load_file(path)["a"].tolist() == [1]


def test_equal_content_gives_equal_bytes(tmp_path: Path) -> None:
    tensors = {"weight": engine.arange(6.0), "größe": engine.ones(1)}
    metadata = {name: f'"{name}"\n\x01ü' for name in "abcdefghij"}
    contents: set[bytes] = set()
    for order in (1, -1):
        for _ in range(5):
            save_file(tensors, tmp_path / "a", dict(list(metadata.items())[::order]))
            contents.add((tmp_path / "a").read_bytes())
    assert len(contents) == 1
    assert read_metadata(tmp_path / "a") == metadata
    assert {name: tensor.tolist() for name, tensor in load_file(tmp_path / "a").items()} == {
        name: tensor.tolist() for name, tensor in tensors.items()
    }
