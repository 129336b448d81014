"""Encode text files as integer codes, in chunks, so that they may be larger than memory."""

from __future__ import annotations

import codecs
import re
from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from engine.data.file_access import ReadErrorContext, check_memory
from engine.data.lru_cache import LRUCache
from engine.data.row_buffer import RowBuffer
from engine.errors import DataError
from engine.system.files import open_regular

UnitKind = Literal["characters", "words"]

_CHUNK = 2**20
"""Bytes per read."""
_CODES_PER_STEP = 2**22
"""Codes that are counted or copied per step."""
_WORDS = re.compile(r"\w+|[^\w\s]|\n")
_DTYPES = (np.uint8, np.uint16, np.uint32)
_BYTES_PER_WORD = 250
"""Memory per distinct word, with the reserve of a growing dict."""
_MEMORY_CHECK_WORDS = 2**20


@dataclass(frozen=True, eq=False, slots=True)
class EncodedText:
    """A text whose units are coded in the order of their first occurrence."""

    codes: NDArray[Any]
    """Smallest sufficient dtype; in memory, or in a file that is deleted with the array."""
    units: list[str]
    """Characters or words by code."""

    def most_frequent(self, end: int, limit: int) -> list[int]:
        """The `limit` most frequent codes among the first `end`; ties are broken by first occurrence."""
        counts = np.zeros(len(self.units), np.int64)
        step = max(_CODES_PER_STEP, len(counts))
        for start in range(0, end, step):
            counts += np.bincount(self.codes[start : min(start + step, end)], minlength=len(counts))
        order = np.argsort(-counts, kind="stable")[:limit]
        return order[counts[order] > 0].tolist()


def split_units(text: str, kind: UnitKind) -> list[str]:
    """The characters of a text, or its words and punctuation marks."""
    return list(text) if kind == "characters" else _WORDS.findall(text)


def encode_file(path: Path, kind: UnitKind) -> EncodedText:
    """Encode a UTF-8 file in chunks. Raises DataError for invalid UTF-8 or a full disk."""
    encoder = _CharacterEncoder() if kind == "characters" else _WordEncoder(path)
    store, dtype = RowBuffer(1, _DTYPES[0], str(path)), _DTYPES[0]
    try:
        for text in _complete_texts(path, kind):
            codes = encoder.codes(text)
            required_dtype = next(
                dtype_choice for dtype_choice in _DTYPES if len(encoder.units) <= np.iinfo(dtype_choice).max + 1
            )
            if required_dtype is not dtype:
                store, dtype = _widen(store, required_dtype, path), required_dtype
            store.append(codes)
    except BaseException:
        store.drop()
        raise
    return EncodedText(store.finish().reshape(-1), encoder.units)


encoded_files: LRUCache[EncodedText] = LRUCache(2)


def _widen(store: RowBuffer, dtype: Any, path: Path) -> RowBuffer:
    """Copy the codes to a wider dtype."""
    codes, wider = store.finish(), RowBuffer(1, dtype, str(path))
    for start in range(0, len(codes), _CODES_PER_STEP):
        wider.append(codes[start : start + _CODES_PER_STEP])
    return wider


# -- reading in chunks


def _complete_texts(path: Path, kind: UnitKind) -> Iterator[str]:
    """The text in chunks that split neither a line end nor a unit. CRLF becomes LF."""
    parts: list[str] = []
    for text in _decoded_chunks(path):
        end = _complete_length(text, kind)
        parts.append(text[:end])
        if end:
            yield "".join(parts).replace("\r\n", "\n")
            parts = []
        parts.append(text[end:])
    yield "".join(parts).replace("\r\n", "\n")


def _complete_length(text: str, kind: UnitKind) -> int:
    """The length of the start of a chunk that can be split into units without the next chunk."""
    end = len(text)
    if kind == "words":
        while end and (text[end - 1].isalnum() or text[end - 1] == "_"):
            end -= 1
    return end - text.endswith("\r", 0, end)


def _decoded_chunks(path: Path) -> Iterator[str]:
    decoder, lines = codecs.getincrementaldecoder("utf-8-sig")(), 1
    with ReadErrorContext(path):
        file = open_regular(path)
    with file:
        while True:
            with ReadErrorContext(path):
                chunk = file.read(_CHUNK)
            try:
                yield decoder.decode(chunk, final=not chunk)
            except UnicodeDecodeError as error:
                lines += error.object.count(b"\n", 0, error.start)
                raise DataError(
                    f"{path}: line {lines}: contains byte {error.object[error.start]:02x}, which is not valid UTF-8. "
                    "Save the text in UTF-8."
                ) from None
            if not chunk:
                return
            lines += chunk.count(b"\n")


# -- codes of units


class _UnitEncoder(ABC):
    """Assigns codes to units in the order of their first occurrence."""

    def __init__(self) -> None:
        self.units: list[str] = []

    @abstractmethod
    def codes(self, text: str) -> NDArray[Any]:
        """The codes of the next part of the text."""


class _CharacterEncoder(_UnitEncoder):
    """Vectorized lookup by code point."""

    def __init__(self) -> None:
        super().__init__()
        self._code_by_point = np.full(0x110000, -1, np.int32)

    def codes(self, text: str) -> NDArray[Any]:
        points = np.frombuffer(text.encode("utf-32-le"), "<u4")
        codes = self._code_by_point[points]
        if len(unknown := points[codes < 0]):
            new, first = np.unique(unknown, return_index=True)
            new = new[np.argsort(first)]
            self._code_by_point[new] = np.arange(len(self.units), len(self.units) + len(new))
            self.units += map(chr, new.tolist())
            codes = self._code_by_point[points]
        return codes


class _WordEncoder(_UnitEncoder):
    def __init__(self, path: Path) -> None:
        super().__init__()
        self._path = path
        self._code_by_word = _WordCodes(self.units)
        self._next_memory_check = _MEMORY_CHECK_WORDS

    def codes(self, text: str) -> NDArray[Any]:
        words = _WORDS.findall(text)
        codes = np.fromiter(map(self._code_by_word.__getitem__, words), np.uint32, len(words))
        if len(self.units) > self._next_memory_check:
            remedy = f"It has {len(self.units)} different words so far. Choose characters, or a shorter text."
            check_memory(self._path, len(self.units) * _BYTES_PER_WORD, remedy)
            self._next_memory_check *= 2
        return codes


class _WordCodes(dict[str, int]):
    """Word codes; an unknown word gets the next code and is appended to `words`."""

    def __init__(self, words: list[str]) -> None:
        super().__init__()
        self._words = words

    def __missing__(self, word: str) -> int:
        self[word] = number = len(self._words)
        self._words.append(word)
        return number
