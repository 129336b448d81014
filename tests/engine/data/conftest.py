from __future__ import annotations

import gzip
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

CODES = {"uint8": 8, "int8": 9, "int16": 11, "int32": 12, "float32": 13, "float64": 14}
Writer = Callable[[Path, np.ndarray[Any, Any]], Path]


@pytest.fixture
def write_idx() -> Writer:
    """Writes an array as an IDX file, gzipped if its name says so."""

    def write(path: Path, array: np.ndarray[Any, Any]) -> Path:
        header = bytes([0, 0, CODES[array.dtype.name], array.ndim]) + np.array(array.shape, ">u4").tobytes()
        content = header + array.astype(array.dtype.newbyteorder(">")).tobytes()
        path.write_bytes(gzip.compress(content) if path.suffix == ".gz" else content)
        return path

    return write


@pytest.fixture
def mnist_like(tmp_path: Path, write_idx: Writer) -> Callable[..., Path]:
    """Makes a folder of random digits in the layout of MNIST."""

    def make(train: int = 50, test: int | None = 20, suffix: str = "", size: int = 28) -> Path:
        random = np.random.default_rng(0)
        for part, count in (("train", train), ("t10k", test)):
            if count is not None:
                images = random.integers(0, 256, (count, size, size), dtype=np.uint8)
                labels = (np.arange(count) % 10).astype(np.uint8)
                write_idx(tmp_path / f"{part}-images-idx3-ubyte{suffix}", images)
                write_idx(tmp_path / f"{part}-labels-idx1-ubyte{suffix}", labels)
        return tmp_path

    return make
