from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import engine
from engine import data, dtypes
from engine.data import transforms
from engine.data.images import idx_format
from engine.errors import DataError
from engine.shape import Spec


@pytest.mark.parametrize("suffix", ["", ".gz"])
def test_a_folder_like_mnist(mnist_like, suffix: str) -> None:
    source = data.IDX(str(mnist_like(suffix=suffix)))
    assert source.input == Spec((1, 28, 28), dtypes.uint8)
    assert source.target == Spec((), dtypes.int64)
    assert source.classes == 10
    assert (len(source.train), len(source.validation or ())) == (50, 20)
    images, labels = source.train.batch(np.array([3, 1]))
    assert tuple(images.shape) == (2, 1, 28, 28)
    assert images.dtype is dtypes.uint8
    assert labels.tolist() == [3, 1]
    assert len(source.files) == 4


def test_specs_only_read_headers(mnist_like, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = mnist_like(suffix=".gz")
    monkeypatch.setattr(idx_format, "read", lambda header: pytest.fail("data were read"))
    assert data.IDX(str(folder)).map(transforms.Normalize(0, 255)).input == Spec((1, 28, 28), dtypes.float32)


def test_validation_fraction_without_test_files(mnist_like) -> None:
    source = data.IDX(str(mnist_like(train=50, test=None)), validation=0.2)
    assert (len(source.train), len(source.validation or ())) == (40, 10)
    assert data.IDX(str(source.files[0].parent), validation=0).validation is None


def test_names_with_a_dot(mnist_like) -> None:
    folder = mnist_like(test=None)
    for path in folder.iterdir():
        path.rename(folder / path.name.replace("-idx", ".idx"))
    assert len(data.IDX(str(folder), validation=0).train) == 50


def test_color_images_keep_their_channels(tmp_path: Path, write_idx) -> None:
    write_idx(tmp_path / "train-images-idx3-ubyte", np.zeros((4, 3, 8, 8), np.float32))
    write_idx(tmp_path / "train-labels-idx1-ubyte", np.zeros(4, np.uint8))
    assert data.IDX(str(tmp_path)).input == Spec((3, 8, 8), dtypes.float32)


def test_bad_folders(tmp_path: Path, mnist_like, write_idx) -> None:
    with pytest.raises(DataError, match="no folder selected"):
        data.IDX("")
    with pytest.raises(DataError, match="missing: folder not found"):
        data.IDX(str(tmp_path / "missing"))
    with pytest.raises(DataError, match="has no train-images-idx3-ubyte"):
        data.IDX(str(tmp_path))
    folder = mnist_like()
    (folder / "t10k-labels-idx1-ubyte").unlink()
    with pytest.raises(DataError, match="has t10k-images-idx3-ubyte but no t10k-labels"):
        data.IDX(str(folder))
    write_idx(folder / "t10k-labels-idx1-ubyte", np.zeros(19, np.uint8))
    with pytest.raises(DataError, match="has 19 labels, but t10k-images-idx3-ubyte has 20 images"):
        data.IDX(str(folder))
    write_idx(folder / "t10k-labels-idx1-ubyte", np.zeros((20, 1), np.uint8))
    with pytest.raises(DataError, match="20×1 uint8, but labels must be one integer"):
        data.IDX(str(folder))
    write_idx(folder / "t10k-labels-idx1-ubyte", np.zeros(20, np.uint8))
    write_idx(folder / "t10k-images-idx3-ubyte", np.zeros((20, 8, 8), np.uint8))
    with pytest.raises(DataError, match="images are 1×8×8 uint8, but those of train-images-idx3-ubyte are 1×28×28"):
        data.IDX(str(folder))


def test_bad_contents(tmp_path: Path, write_idx) -> None:
    images, labels = tmp_path / "train-images-idx3-ubyte", tmp_path / "train-labels-idx1-ubyte"
    write_idx(images, np.zeros((3, 4), np.uint8))
    write_idx(labels, np.zeros(3, np.uint8))
    with pytest.raises(DataError, match="has shape 3×4"):
        data.IDX(str(tmp_path))
    write_idx(images, np.zeros((0, 4, 4), np.uint8))
    write_idx(labels, np.zeros(0, np.uint8))
    with pytest.raises(DataError, match="contains no images"):
        data.IDX(str(tmp_path))
    write_idx(images, np.zeros((1, 4, 4), np.uint8))
    write_idx(labels, np.full(1, -1, np.int8))
    with pytest.raises(DataError, match="contains label -1"):
        _ = data.IDX(str(tmp_path)).train


def test_the_bundled_digits() -> None:
    source = data.Digits(validation=0.2)
    assert source.input == Spec((1, 8, 8), dtypes.uint8)
    assert (len(source.train), len(source.validation or ()), source.classes) == (1438, 359, 10)
    images = np.concatenate([part.batch(np.arange(len(part)))[0].numpy() for part in (source.train, source.validation)])
    assert (images.min(), images.max()) == (0, 16)


def test_split_does_not_depend_on_the_seed() -> None:
    state = engine.random.get_rng_state()
    parts = []
    for seed in (1, 2):
        engine.manual_seed(seed)
        parts.append(data.Digits(validation=0.5).train.batch(np.arange(100))[0].tolist())
    engine.random.set_rng_state(state)
    assert parts[0] == parts[1]
    with pytest.raises(ValueError, match="validation must be at least 0"):
        _ = data.Digits(validation=1.5).train
