"""Texts are read in pieces: the same numbers as of the whole, and a file for what is more than is kept in memory."""

from __future__ import annotations

import gc
import pickle
import re
from collections import Counter
from pathlib import Path

import numpy as np
import psutil
import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine import data
from engine.data import row_buffer, text_encoding
from engine.data.text_encoding import EncodedText, UnitKind, encode_file
from engine.data.text_file import UNKNOWN
from engine.errors import DataError

KINDS: list[UnitKind] = ["characters", "words"]


@pytest.fixture(autouse=True)
def cache_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where files of numbers are."""
    monkeypatch.setenv("GRADWIRE_TABLES", str(tmp_path / "codes"))
    text_encoding.encoded_files.clear()
    return tmp_path / "codes"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("texts")


def expected(content: bytes, kind: UnitKind, most: int, share: float) -> tuple[list[int], list[str]]:
    """Numbers of all units, and the vocabulary, from the whole text at once."""
    text = content.decode("utf-8-sig").replace("\r\n", "\n")
    units = list(text) if kind == "characters" else re.findall(r"\w+|[^\w\s]|\n", text)
    counts = Counter(units[: len(units) - round(len(units) * share)])
    names = [UNKNOWN, *sorted({unit for unit, _ in counts.most_common(most - 1)} - {UNKNOWN})]
    return [names.index(unit) if unit in names else 0 for unit in units], names


TEXTS = st.lists(st.sampled_from([*"ab_é漢😀\r\n .,٣\ufeff�", "\r\n", "a\r\n"])).map("".join).map(str.encode)


@pytest.mark.parametrize("kind", KINDS)
@given(TEXTS, st.sampled_from([b"", b"\xef\xbb\xbf"]), st.integers(1, 9), st.integers(2, 6), st.sampled_from([0, 0.3]))
def test_result_does_not_depend_on_chunks(
    folder: Path, kind: UnitKind, content: bytes, mark: bytes, piece: int, most: int, share: float
) -> None:
    path = folder / "a.txt"
    path.write_bytes(mark + content)
    numbers, names = expected(mark + content, kind, most, share)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(text_encoding, "_CHUNK", piece)
        patch.setattr(text_encoding, "_CODES_PER_STEP", 3)
        text_encoding.encoded_files.clear()  # the next example may have the same size and time of writing
        source = data.Text(str(path), kind, length=1, vocabulary=most, validation=share)
        if len(numbers) < 2:
            with pytest.raises(DataError):
                source.check()
            return
        found = source._vocabulary[1][source._encoded.codes]
    assert list(source.class_names) == names
    assert found.tolist() == numbers


@pytest.mark.parametrize("kind", KINDS)
@given(st.text(st.sampled_from("ab\r\n é"), max_size=20), st.integers(1, 9))
def test_errors_name_the_line_across_chunks(folder: Path, kind: UnitKind, before: str, piece: int) -> None:
    path = folder / "b.txt"
    path.write_bytes(before.encode() + b"\xff and more\n")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(text_encoding, "_CHUNK", piece)
        with pytest.raises(DataError, match=f"line {before.count(chr(10)) + 1}: contains byte ff"):
            encode_file(path, kind)
    path.write_bytes(before.encode() + b"\xe6\xbc")  # of three
    with pytest.raises(DataError, match=f"line {before.count(chr(10)) + 1}: contains byte e6"):
        encode_file(path, kind)


@pytest.mark.parametrize(("different", "dtype"), [(256, np.uint8), (257, np.uint16), (65_537, np.uint32)])
def test_codes_have_the_smallest_dtype(tmp_path: Path, different: int, dtype: type) -> None:
    text = "".join(map(chr, range(0x10000, 0x10000 + different)))
    (tmp_path / "a.txt").write_text(text + text[::-1], "utf-8")
    (tmp_path / "b.txt").write_text(" ".join(f"w{number}" for number in range(different)), "utf-8")
    found = encode_file(tmp_path / "a.txt", "characters")
    assert found.codes.dtype == dtype
    assert found.codes.tolist() == [*range(different), *reversed(range(different))]
    assert encode_file(tmp_path / "b.txt", "words").codes.dtype == dtype


@pytest.mark.parametrize("kind", KINDS)
def test_code_file_is_deleted_with_the_codes(
    tmp_path: Path, cache_folder: Path, kind: UnitKind, monkeypatch: pytest.MonkeyPatch
) -> None:
    words = [f"w{number}" for number in np.random.default_rng(0).integers(0, 2000, 20_000)]
    (tmp_path / "t.txt").write_text(" ".join(words))
    held = data.Text(str(tmp_path / "t.txt"), kind, length=5)
    held.check()
    assert not cache_folder.exists()
    text_encoding.encoded_files.clear()
    monkeypatch.setattr(row_buffer, "IN_MEMORY", 1000)
    monkeypatch.setattr(text_encoding, "_CHUNK", 4096)  # their dtype changes when there is a file already
    filed = data.Text(str(tmp_path / "t.txt"), kind, length=5)
    train, validation = filed.train, filed.validation
    assert validation is not None
    assert held.validation is not None
    for one, other in ((held.train, train), (held.validation, validation)):
        rows = np.random.default_rng(1).permutation(len(one))
        assert len(one) == len(other)
        for samples in (other, pickle.loads(pickle.dumps(other))):  # as a worker process gets them
            for left, right in zip(one.arrays(rows), samples.arrays(rows), strict=True):
                np.testing.assert_array_equal(left, right)
    assert len(list(cache_folder.iterdir())) == 1
    assert len(pickle.dumps(train)) < 40_000, "the codes are not in it"
    del filed, train, other, samples
    text_encoding.encoded_files.clear()
    gc.collect()
    assert list(cache_folder.iterdir()), "the other part is there"
    del validation
    gc.collect()
    assert list(cache_folder.iterdir()) == []


def test_a_text_is_read_once_until_its_file_changes(tmp_path: Path) -> None:
    path = tmp_path / "t.txt"
    path.write_text("to be or not to be " * 9)
    sources = [data.Text(str(path), "words", vocabulary=size, length=2) for size in (3, 4)]
    assert sources[0]._encoded is sources[1]._encoded
    assert [source.class_names for source in sources] == [(UNKNOWN, "be", "to"), (UNKNOWN, "be", "or", "to")]
    assert data.Text(str(path), length=2)._encoded is not sources[0]._encoded
    path.write_text("another text " * 9)
    assert "another" in data.Text(str(path), "words", length=2).class_names


def test_frequency_ties_are_broken_by_first_occurrence() -> None:
    codes = np.concatenate([np.arange(2000), [1500, 1500, 700, 1999]]).astype(np.uint16)
    found = EncodedText(codes, [str(code) for code in range(2000)])
    assert found.most_frequent(len(codes), 6) == [1500, 700, 1999, 0, 1, 2]
    assert found.most_frequent(3, 6) == [0, 1, 2]


def test_too_many_words_raise_before_memory_is_full(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "t.txt").write_text(" ".join(f"w{number}" for number in range(1000)))
    monkeypatch.setattr(text_encoding, "_MEMORY_CHECK_WORDS", 500)
    assert data.Text(str(tmp_path / "t.txt"), "words").classes == 901
    text_encoding.encoded_files.clear()
    free = psutil.virtual_memory()
    monkeypatch.setattr(psutil, "virtual_memory", lambda: free._replace(available=100_000))
    with pytest.raises(DataError, match=r"needs 243.9 KiB of memory, .* It has 999 different words so far"):
        _ = data.Text(str(tmp_path / "t.txt"), "words").classes


def test_full_disk_and_late_error_leave_no_file(
    tmp_path: Path, cache_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(row_buffer, "IN_MEMORY", 1000)
    monkeypatch.setattr(text_encoding, "_CHUNK", 4096)
    (tmp_path / "bad.txt").write_bytes(b"some text\n" * 10_000 + b"\xff")
    with pytest.raises(DataError, match="line 10001"):
        encode_file(tmp_path / "bad.txt", "characters")
    assert list(cache_folder.iterdir()) == []
    (tmp_path / "t.txt").write_bytes(b"some text\n" * 10_000)
    monkeypatch.setattr(row_buffer, "_SPARE", 2**62)
    with pytest.raises(DataError, match=r"t\.txt: too large for memory.* cannot be written to .*GRADWIRE_TABLES"):
        encode_file(tmp_path / "t.txt", "characters")
    assert list(cache_folder.iterdir()) == []
