"""Encode text files as integer codes, in pieces, so that they may be larger than memory."""

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

_PIECE = 2**20
"""Bytes per read."""
_AT_ONCE = 2**22
"""Codes that are counted or copied per step."""
_WORDS = re.compile(r"\w+|[^\w\s]|\n")
_DTYPES = (np.uint8, np.uint16, np.uint32)
_BYTES_A_WORD = 250
"""Memory per distinct word, with the reserve of a growing dict."""
_MANY_WORDS = 2**20


@dataclass(frozen=True, eq=False, slots=True)
class EncodedText:
    """A text whose units are coded in the order of their first occurrence."""

    codes: NDArray[Any]
    """Smallest sufficient dtype; in memory, or in a file that is deleted with the array."""
    units: list[str]
    """By code."""

    def most_frequent(self, end: int, most: int) -> list[int]:
        """The `most` most frequent codes among the first `end`; ties are broken by first occurrence."""
        counts = np.zeros(len(self.units), np.int64)
        step = max(_AT_ONCE, len(counts))
        for start in range(0, end, step):
            counts += np.bincount(self.codes[start : min(start + step, end)], minlength=len(counts))
        order = np.argsort(-counts, kind="stable")[:most]
        return order[counts[order] > 0].tolist()


def split_units(text: str, kind: UnitKind) -> list[str]:
    """The characters of a text, or its words and punctuation marks."""
    return list(text) if kind == "characters" else _WORDS.findall(text)


def encode_file(path: Path, kind: UnitKind) -> EncodedText:
    """Encode a UTF-8 file in pieces. Raises DataError for invalid UTF-8 or a full disk."""
    known = _Characters() if kind == "characters" else _Words(path)
    store, dtype = RowBuffer(1, _DTYPES[0], str(path)), _DTYPES[0]
    try:
        for text in _texts(path, kind):
            codes = known.codes(text)
            needed = next(each for each in _DTYPES if len(known.units) <= np.iinfo(each).max + 1)
            if needed is not dtype:
                store, dtype = _copied(store, needed, path), needed
            store.append(codes)
    except BaseException:
        store.drop()
        raise
    return EncodedText(store.finish().reshape(-1), known.units)


encoded_files: LRUCache[EncodedText] = LRUCache(2)


def _copied(store: RowBuffer, dtype: Any, path: Path) -> RowBuffer:
    """The codes copied to a wider dtype."""
    codes, wider = store.finish(), RowBuffer(1, dtype, str(path))
    for start in range(0, len(codes), _AT_ONCE):
        wider.append(codes[start : start + _AT_ONCE])
    return wider


# -- the file in pieces


def _texts(path: Path, kind: UnitKind) -> Iterator[str]:
    """The text in pieces that split neither a line end nor a unit. CRLF becomes LF."""
    held: list[str] = []
    for text in _decoded(path):
        end = _sure(text, kind)
        held.append(text[:end])
        if end:
            yield "".join(held).replace("\r\n", "\n")
            held = []
        held.append(text[end:])
    yield "".join(held).replace("\r\n", "\n")


def _sure(text: str, kind: UnitKind) -> int:
    """The length of the part of a piece that does not depend on the next piece."""
    end = len(text)
    if kind == "words":
        while end and (text[end - 1].isalnum() or text[end - 1] == "_"):
            end -= 1
    return end - text.endswith("\r", 0, end)


def _decoded(path: Path) -> Iterator[str]:
    decoder, lines = codecs.getincrementaldecoder("utf-8-sig")(), 1
    with ReadErrorContext(path):
        file = open_regular(path)
    with file:
        while True:
            with ReadErrorContext(path):
                piece = file.read(_PIECE)
            try:
                yield decoder.decode(piece, final=not piece)
            except UnicodeDecodeError as error:
                lines += error.object.count(b"\n", 0, error.start)
                raise DataError(
                    f"{path}: line {lines}: contains byte {error.object[error.start]:02x}, which is not valid UTF-8. "
                    "Save the text in UTF-8."
                ) from None
            if not piece:
                return
            lines += piece.count(b"\n")


# -- numbers for units


class _Known(ABC):
    """Assigns codes to units in the order of their first occurrence."""

    def __init__(self) -> None:
        self.units: list[str] = []

    @abstractmethod
    def codes(self, text: str) -> NDArray[Any]:
        """The codes of the next piece of text."""


class _Characters(_Known):
    """Vectorized lookup by code point."""

    def __init__(self) -> None:
        super().__init__()
        self._by_point = np.full(0x110000, -1, np.int32)

    def codes(self, text: str) -> NDArray[Any]:
        points = np.frombuffer(text.encode("utf-32-le"), "<u4")
        codes = self._by_point[points]
        if len(unknown := points[codes < 0]):
            new, first = np.unique(unknown, return_index=True)
            new = new[np.argsort(first)]
            self._by_point[new] = np.arange(len(self.units), len(self.units) + len(new))
            self.units += map(chr, new.tolist())
            codes = self._by_point[points]
        return codes


class _Words(_Known):
    def __init__(self, path: Path) -> None:
        super().__init__()
        self._path = path
        self._by_word = _Numbered(self.units)
        self._many = _MANY_WORDS

    def codes(self, text: str) -> NDArray[Any]:
        words = _WORDS.findall(text)
        codes = np.fromiter(map(self._by_word.__getitem__, words), np.uint32, len(words))
        if len(self.units) > self._many:
            remedy = f"It has {len(self.units)} different words so far. Choose characters, or a shorter text."
            check_memory(self._path, len(self.units) * _BYTES_A_WORD, remedy)
            self._many *= 2
        return codes


class _Numbered(dict[str, int]):
    """Word codes; an unknown word gets the next code and is appended to `words`."""

    def __init__(self, words: list[str]) -> None:
        super().__init__()
        self._words = words

    def __missing__(self, word: str) -> int:
        self[word] = number = len(self._words)
        self._words.append(word)
        return number
