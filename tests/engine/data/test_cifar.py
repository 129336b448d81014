from __future__ import annotations

import pickle
from pathlib import Path

import numpy as np
import pytest

from engine import data, dtypes
from engine.errors import DataError
from engine.shape import Spec

RANDOM = np.random.default_rng(0)


def ten(folder: Path, counts: tuple[int, ...] = (4, 3), test: int = 2) -> list[np.ndarray]:
    images = []
    for number, count in enumerate((*counts, test), start=1):
        pixels = RANDOM.integers(0, 256, (count, 3072), dtype=np.uint8)
        labels = (np.arange(count, dtype=np.uint8) + number) % 10
        name = f"data_batch_{number}.bin" if number <= len(counts) else "test_batch.bin"
        (folder / name).write_bytes(np.hstack([labels[:, np.newaxis], pixels]).tobytes())
        images.append(pixels.reshape(-1, 3, 32, 32))
    return images


def test_cifar_10(tmp_path: Path) -> None:
    first, second, test = ten(tmp_path)
    (tmp_path / "batches.meta.txt").write_text("\n".join(f"name{number}" for number in range(10)) + "\n\n")
    source = data.CIFAR(str(tmp_path))
    assert (source.input, source.target) == (Spec((3, 32, 32), dtypes.uint8), Spec((), dtypes.int64))
    assert (source.classes, source.class_names[3], len(source.files)) == (10, "name3", 3)
    assert source.validation is not None
    assert (len(source.train), len(source.validation)) == (7, 2)
    images, labels = source.train.arrays(np.array([6, 0, 4]))
    np.testing.assert_array_equal(images, [second[2], first[0], second[0]])
    assert np.asarray(labels).tolist() == [4, 1, 2]
    np.testing.assert_array_equal(source.validation.arrays(np.arange(2))[0], test)
    content = pickle.dumps(source.train)
    assert len(content) < 3072
    np.testing.assert_array_equal(pickle.loads(content).arrays(np.array([6]))[0], second[2:3])


def test_cifar_100(tmp_path: Path) -> None:
    records = np.zeros((5, 3074), np.uint8)
    records[:, 0], records[:, 1] = np.arange(5) % 20, 99 - np.arange(5)
    (tmp_path / "train.bin").write_bytes(records.tobytes())
    fine, groups = data.CIFAR(str(tmp_path)), data.CIFAR(str(tmp_path), "groups")
    assert (fine.classes, groups.classes) == (100, 20)
    assert np.asarray(fine.train.targets(np.arange(5))).tolist() == [99, 98, 97, 96, 95]
    assert np.asarray(groups.train.targets(np.arange(5))).tolist() == [0, 1, 2, 3, 4]
    assert fine.validation is None
    assert fine.class_names == ()


def test_bad_files(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="no folder selected"):
        data.CIFAR("")
    with pytest.raises(DataError, match=r"neither data_batch_1.bin"):
        data.CIFAR(str(tmp_path))
    ten(tmp_path)
    whole = (tmp_path / "data_batch_1.bin").read_bytes()
    for content in (whole[:-1], b""):
        (tmp_path / "data_batch_1.bin").write_bytes(content)
        with pytest.raises(DataError, match="not a multiple of the 3073"):
            data.CIFAR(str(tmp_path))
    (tmp_path / "data_batch_1.bin").write_bytes(b"\x0b" + whole[1:])
    with pytest.raises(DataError, match="contains label 11, but classes are 0 to 9"):
        _ = data.CIFAR(str(tmp_path)).train
