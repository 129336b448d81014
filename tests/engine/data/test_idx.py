from __future__ import annotations

import gzip
import tracemalloc
from pathlib import Path

import numpy as np
import psutil
import pytest

from engine.data.images import idx_format
from engine.errors import DataError


@pytest.mark.parametrize("suffix", ["", ".gz"])
@pytest.mark.parametrize("dtype", ["uint8", "int8", "int16", "int32", "float32", "float64"])
def test_every_type_is_read(tmp_path: Path, write_idx, dtype: str, suffix: str) -> None:
    array = np.arange(-6, 18).reshape(2, 3, 4).astype(dtype)
    header = idx_format.read_header(write_idx(tmp_path / f"a{suffix}", array))
    assert header.shape == (2, 3, 4)
    np.testing.assert_array_equal(idx_format.read(header), array)


def test_uncompressed_files_are_memory_mapped(tmp_path: Path, write_idx) -> None:
    data = idx_format.read(idx_format.read_header(write_idx(tmp_path / "a", np.ones((5, 2), np.uint8))))
    assert isinstance(data, np.memmap)
    with pytest.raises(ValueError, match="read-only"):
        data[0] = 1


def test_an_empty_array_is_read(tmp_path: Path, write_idx) -> None:
    assert idx_format.read(idx_format.read_header(write_idx(tmp_path / "a", np.ones((0, 2), np.uint8)))).shape == (0, 2)


HEADER = bytes([0, 0, 8, 3, 0, 0, 0, 2, 0, 0, 0, 2, 0, 0, 0, 2])


@pytest.mark.parametrize("zipped", [False, True])
@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "it is empty"),
        (b"\0\0", "begins with the bytes 00 00"),
        (b"\x89PNG\r\n\x1a\n", "begins with the bytes 89 50 4e 47.*00 00 08 03"),
        (b"\0\0\x07\x03" + HEADER[4:], "not an IDX file"),
        (b"\0\0\x08\x00", "not an IDX file"),
        (b"\0\0\x08\xff" + bytes(2000), "not an IDX file"),
        (HEADER[:9], "ends inside the header, at byte 9"),
        (HEADER + bytes(7), "declares 2×2×2 numbers of 1 bytes, 8 bytes, but (only )?7 bytes follow"),
        (HEADER + bytes(9), "but (9 bytes|more data) follow"),
        (b"\0\0\x0e\x03" + b"\xff\xff\xff\xff" * 3 + bytes(8), "TiB, but .*(follow|cannot hold them)"),
        (b"\0\0\x08\x02" + b"\x00\x01\x00\x00\x00\x10\x00\x00" + bytes(8), "64.0 GiB, but"),
    ],
)
def test_bad_files(tmp_path: Path, content: bytes, message: str, zipped: bool) -> None:
    path = tmp_path / ("bad.gz" if zipped else "bad")
    path.write_bytes(gzip.compress(content) if zipped else content)
    tracemalloc.start()
    try:
        with pytest.raises(DataError, match=message) as caught:
            idx_format.read(idx_format.read_header(path))
        assert tracemalloc.get_traced_memory()[1] < 2**21, "a declared size must not be allocated"
    finally:
        tracemalloc.stop()
    assert str(path) in str(caught.value)


def test_damaged_gzip(tmp_path: Path, write_idx) -> None:
    path = write_idx(tmp_path / "a.gz", np.random.default_rng(0).integers(0, 255, (100, 100), dtype=np.uint8))
    whole = path.read_bytes()
    for content in (whole[:-2000], whole[:200] + b"\xff" * 50 + whole[250:], whole[:-6] + b"123456"):
        path.write_bytes(content)
        with pytest.raises(DataError, match=r"a\.gz: damaged or incomplete gzip data.*Download"):
            idx_format.read(idx_format.read_header(path))
    path.write_bytes(b"no gzip at all")
    with pytest.raises(DataError, match="damaged or incomplete gzip"):
        idx_format.read_header(path)


def test_data_larger_than_free_memory(tmp_path: Path, write_idx, monkeypatch: pytest.MonkeyPatch) -> None:
    header = idx_format.read_header(write_idx(tmp_path / "a.gz", np.zeros((100, 100), np.uint8)))
    free = type("Memory", (), {"available": 5000})
    monkeypatch.setattr(psutil, "virtual_memory", lambda: free)
    with pytest.raises(DataError, match=r"needs 9\.8 KiB of memory, but 4\.9 KiB are free\. Unpack the file"):
        idx_format.read(header)


def test_missing_file(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="file not found"):
        idx_format.read_header(tmp_path / "missing")
    with pytest.raises(DataError, match="cannot be read"):
        idx_format.read_header(tmp_path)
