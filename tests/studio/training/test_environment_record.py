"""Fingerprints of data: of large ones without reading them whole."""

from __future__ import annotations

import hashlib
from pathlib import Path

import pytest

from studio.training import environment_record
from studio.training.environment_record import fingerprints


def test_small_files_are_read_whole(tmp_path: Path) -> None:
    file = tmp_path / "a"
    file.write_bytes(b"abc")
    assert fingerprints([file]) == [{"path": str(file), "bytes": 3, "sha256": hashlib.sha256(b"abc").hexdigest()}]


@pytest.fixture
def large(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[Path]:
    """Two files of 400,000 bytes, which count as large, and one that is small enough to be read whole."""
    monkeypatch.setattr(environment_record, "FULL_HASH_BYTES", 2**19)
    monkeypatch.setattr(environment_record, "_SAMPLED_BYTES", 2**18)
    files = [tmp_path / name for name in "abc"]
    for file, size in zip(files, (400_000, 400_000, 20_000), strict=True):
        file.write_bytes(bytes(size))
    return files


def test_pieces_of_large_files_are_read(large: list[Path]) -> None:
    one, other, small = fingerprints(large)
    assert one["sha256"] == other["sha256"]
    assert one["pieces"] == 5  # 256 KiB of three files, 16 KiB at a time
    assert small["sha256"] == hashlib.sha256(bytes(20_000)).hexdigest()


@pytest.mark.parametrize("place", [0, 399_999, 200_000])
def test_what_lies_in_a_piece_is_noticed(large: list[Path], place: int) -> None:
    before = fingerprints(large)
    content = bytearray(large[0].read_bytes())
    content[place] = 1
    large[0].write_bytes(content)
    after = fingerprints(large)
    assert [one["sha256"] == other["sha256"] for one, other in zip(before, after, strict=True)] == [False, True, True]


def test_another_size_is_noticed(large: list[Path]) -> None:
    before = fingerprints(large)
    large[0].write_bytes(bytes(400_001))
    assert fingerprints(large)[0]["sha256"] != before[0]["sha256"]
