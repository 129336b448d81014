"""Text files as token sequences for language models."""

from __future__ import annotations

from functools import cached_property
from pathlib import Path
from typing import Annotated, Any

import numpy as np
from numpy.typing import NDArray

from engine.data.dataset import Indices
from engine.data.file_access import required_path
from engine.data.lru_cache import file_fingerprint
from engine.data.memory_map import from_pickle, to_pickle
from engine.data.samples import Samples
from engine.data.splits import Share, Splits
from engine.data.text_encoding import EncodedText, UnitKind, encode_file, encoded_files, split_units
from engine.data.transforms.transform import Batch
from engine.dtypes import int64
from engine.errors import DataError
from engine.registry import DATASETS, PathTo, Range, Size
from engine.shape import Spec

UNKNOWN = "�"
"""Token 0, for characters or words that the training part does not have."""


@DATASETS.register(
    category="Text",
    title="Text file",
    outputs=("samples",),
    tags=("language model", "characters", "words", "tokens", "GPT", "corpus"),
)
class Text(Splits):
    """A text file as windows of token numbers. The target of each token is the next token.

    The vocabulary comes from the training part, the start of the text; token 0 marks unknown tokens. Inputs and targets
    are N×T token numbers, with the targets shifted by one. The text may be larger than memory.

    Args:
        path: text file in UTF-8
        unit: tokens are characters, or words and punctuation marks
        length: tokens per window
        stride: distance between the starts of two windows; equal to length if empty, so windows do not overlap
        vocabulary: maximum vocabulary size; the most frequent tokens are kept
        validation: fraction of the text, at its end, used for validation
    """

    def __init__(
        self,
        path: Annotated[str, PathTo("file", (".txt", ".md", ".csv", ".py"))],
        unit: UnitKind = "characters",
        length: Size = 64,
        stride: Size | None = None,
        vocabulary: Annotated[int, Range(ge=2)] = 10_000,
        validation: Share = 0.1,
    ) -> None:
        self._path = required_path("Text", "path", path, "file")
        self._unit: UnitKind = unit
        self._length = length
        self._stride = length if stride is None else stride
        self._max_vocabulary = vocabulary
        self._share = validation

    @property
    def input(self) -> Spec:
        return Spec((self._length,), int64)

    @property
    def target(self) -> Spec:
        return Spec((self._length,), int64)

    @property
    def classes(self) -> int:
        """The size of the vocabulary. Reads the file."""
        return len(self.class_names)

    @property
    def class_names(self) -> tuple[str, ...]:
        """The vocabulary by number. Reads the file."""
        return self._vocabulary[0]

    @property
    def train(self) -> Samples:
        return self._windows(0)

    @property
    def validation(self) -> Samples | None:
        return self._windows(1) if self._share else None

    @property
    def discontinuity(self) -> str:
        if self._stride == self._length:
            return ""
        return f"windows of {self._length} tokens start every {self._stride} tokens"

    @property
    def files(self) -> tuple[Path, ...]:
        return (self._path,)

    def check(self) -> None:
        for part in range(2 if self._share else 1):
            self._windows(part)

    def encode(self, text: str) -> NDArray[np.int64]:
        """The token numbers of a text."""
        numbers = {unit: number for number, unit in enumerate(self.class_names)}
        return np.array([numbers.get(unit, 0) for unit in split_units(text, self._unit)], np.int64)

    def decode(self, numbers: Any) -> str:
        """Token numbers as text; words are separated by a space."""
        units = [self.class_names[int(number)] for number in numbers]
        return ("" if self._unit == "characters" else " ").join(units)

    def _windows(self, part: int) -> Samples:
        codes = self._encoded.codes[self._validation_start :] if part else self._encoded.codes[: self._validation_start]
        if len(codes) <= self._length:
            name = "validation" if part else "training"
            raise DataError(
                f"{self._path}: the {name} part has {len(codes)} {self._unit}, but a window and its target need "
                f"{self._length + 1}. Decrease length{' or set validation to 0' if part else ''}."
            )
        return WindowSamples(codes, self._length, self._stride, self._vocabulary[1])

    @cached_property
    def _encoded(self) -> EncodedText:
        key = file_fingerprint(self._path), self._unit
        found = encoded_files.get(key, lambda: encode_file(self._path, self._unit))
        if not len(found.codes):
            raise DataError(f"{self._path}: contains no {self._unit}. Choose a file with text.")
        return found

    @property
    def _validation_start(self) -> int:
        """Start of the validation part."""
        count = len(self._encoded.codes)
        return count - round(count * self._share)

    @cached_property
    def _vocabulary(self) -> tuple[tuple[str, ...], NDArray[np.int64]]:
        """The vocabulary by token number, and the token number of each code."""
        units = self._encoded.units
        code_by_unit = {
            units[code]: code for code in self._encoded.most_frequent(self._validation_start, self._max_vocabulary - 1)
        }
        code_by_unit.pop(UNKNOWN, None)
        names = sorted(code_by_unit)
        numbers = np.zeros(len(units), np.int64)
        numbers[[code_by_unit[name] for name in names]] = np.arange(1, len(names) + 1)
        return (UNKNOWN, *names), numbers


class WindowSamples(Samples):
    """Windows of a long token sequence; targets are the same windows shifted by one.

    Args:
        codes: the sequence of codes, in memory or memory-mapped
        length: tokens per window
        stride: distance between the starts of two windows
        numbers: token number of each code
    """

    def __init__(self, codes: NDArray[Any], length: int, stride: int, numbers: NDArray[np.int64]) -> None:
        self._codes = codes
        self._length = length
        self._stride = stride
        self._numbers = numbers

    def __len__(self) -> int:
        return (len(self._codes) - self._length - 1) // self._stride + 1

    @property
    def tokens(self) -> NDArray[np.int64]:
        """The numbers of all tokens."""
        return self._numbers[np.asarray(self._codes)]

    @property
    def window(self) -> tuple[int, int]:
        """Length of a window, and distance between the starts of two."""
        return self._length, self._stride

    def __getstate__(self) -> dict[str, Any]:
        return {**vars(self), "_codes": to_pickle(self._codes)}

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update({**state, "_codes": from_pickle(state["_codes"])})

    def arrays(self, rows: Indices) -> tuple[Batch, Batch]:
        windows = self._from(rows * self._stride, self._length + 1)
        return windows[:, :-1].copy(), windows[:, 1:].copy()

    def targets(self, rows: Indices) -> Batch:
        return self._from(rows * self._stride + 1, self._length)

    def _from(self, starts: Indices, length: int) -> NDArray[np.int64]:
        return self._numbers[np.asarray(self._codes[starts[:, np.newaxis] + np.arange(length)])]
