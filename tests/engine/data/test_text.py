from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine import data, dtypes
from engine.data.text_file import UNKNOWN, WindowSamples
from engine.errors import DataError
from engine.shape import Spec


def write(tmp_path: Path, text: str | bytes) -> str:
    path = tmp_path / "a.txt"
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    return str(path)


def test_characters(tmp_path: Path) -> None:
    source = data.Text(write(tmp_path, "abcabcabcabz"), length=3, validation=0.25)
    assert (source.input, source.target) == (Spec((3,), dtypes.int64), Spec((3,), dtypes.int64))
    assert source.class_names == (UNKNOWN, "a", "b", "c")  # the vocabulary of the first nine
    inputs, targets = source.train.arrays(np.array([1, 0]))
    assert np.asarray(inputs).tolist() == [[1, 2, 3], [1, 2, 3]]
    assert np.asarray(targets).tolist() == [[2, 3, 1], [2, 3, 1]]
    assert source.decode(source.encode("cab?")) == f"cab{UNKNOWN}"


def test_tokens_only_in_validation_are_unknown(tmp_path: Path) -> None:
    source = data.Text(write(tmp_path, "ab" * 8 + "xyab"), length=3, validation=0.2)
    assert source.validation is not None
    assert np.asarray(source.validation.arrays(np.array([0]))[0]).tolist() == [[0, 0, 1]]
    assert source.classes == 3


def test_words(tmp_path: Path) -> None:
    source = data.Text(write(tmp_path, "\ufeffThe cat, the dog.\r\nThe end"), "words", length=2, validation=0)
    assert source.class_names == (UNKNOWN, "\n", ",", ".", "The", "cat", "dog", "end", "the")
    assert source.decode(source.encode("The dog, cat")) == "The dog , cat"
    few = data.Text(write(tmp_path, "a a a b b c"), "words", length=2, vocabulary=3, validation=0)
    assert few.class_names == (UNKNOWN, "a", "b")
    assert few.encode("a b c").tolist() == [1, 2, 0]


@given(st.integers(2, 50), st.integers(1, 10), st.integers(1, 12))
def test_windows(count: int, length: int, stride: int) -> None:
    if count <= length:
        return
    samples = WindowSamples(np.arange(count)[::-1], length, stride, np.arange(count)[::-1])
    inputs, targets = samples.arrays(np.arange(len(samples)))
    starts = list(range(0, count - length, stride))
    assert np.asarray(inputs).tolist() == [list(range(start, start + length)) for start in starts]
    np.testing.assert_array_equal(targets, np.asarray(inputs) + 1)
    np.testing.assert_array_equal(samples.targets(np.arange(len(samples))), targets)


def test_bad_texts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(DataError, match="no file selected"):
        data.Text("")
    with pytest.raises(DataError, match="contains no characters"):
        _ = data.Text(write(tmp_path, "")).classes
    with pytest.raises(DataError, match="line 2: contains byte ff, which is not valid UTF-8"):
        _ = data.Text(write(tmp_path, b"abc\nd\xff")).classes
    short = data.Text(write(tmp_path, "a" * 20), length=10)
    assert len(short.train) == 1
    with pytest.raises(
        DataError, match=r"validation part has 2 characters, .* need 11. Decrease length or set validation"
    ):
        _ = short.validation
    with pytest.raises(DataError, match=r"training part has 18 characters, .* need 65. Decrease length\."):
        _ = data.Text(write(tmp_path, "a" * 20)).train
