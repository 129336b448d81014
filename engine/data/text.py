"""Texts for language models."""

from __future__ import annotations

import re
from collections import Counter
from functools import cached_property
from pathlib import Path
from typing import Annotated, Any, Literal

import numpy as np
from numpy.typing import NDArray

from engine.data.dataset import Indices
from engine.data.reading import Reading, check_memory, existing
from engine.data.samples import Samples
from engine.data.splits import Share, Splits
from engine.data.transforms.transform import Batch
from engine.dtypes import int64
from engine.errors import DataError
from engine.registry import DATASETS, PathTo, Range, Size
from engine.shape import Spec

UNKNOWN = "�"
"""Stands, as number 0, for what the training part does not have."""

_WORDS = re.compile(r"\w+|[^\w\s]|\n")
_BYTES_A_UNIT = 12
"""What a character takes at most while it is read: 4 bytes of text and 8 of its number."""


@DATASETS.register(
    category="Text",
    title="Text file",
    outputs=("samples",),
    tags=("language model", "characters", "words", "tokens", "GPT", "corpus"),
)
class Text(Splits):
    """A text as windows of numbered characters or words. The target of each is the one that comes next.

    The vocabulary is that of the training part, which is the beginning of the text; number 0 is for what it lacks. A
    model sees N×T numbers and learns N×T numbers, each one place further on.

    Args:
        path: a text file in UTF-8
        unit: what is numbered: characters, or words and punctuation marks
        length: how many of them a window has
        stride: how far the next window begins after one; windows do not overlap unless it is smaller than `length`
        vocabulary: how many there are at most, the most frequent ones
        validation: the share of the text, at its end, to keep for validation
    """

    def __init__(
        self,
        path: Annotated[str, PathTo("file", (".txt", ".md", ".csv", ".py"))],
        unit: Literal["characters", "words"] = "characters",
        length: Size = 64,
        stride: Size | None = None,
        vocabulary: Annotated[int, Range(ge=2)] = 10_000,
        validation: Share = 0.1,
    ) -> None:
        self._path = existing("Text", "path", path, "file")
        self._unit = unit
        self._length = length
        self._stride = length if stride is None else stride
        self._most = vocabulary
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
        return self._read[1]

    @property
    def train(self) -> Samples:
        return self._windows(0)

    @property
    def validation(self) -> Samples | None:
        return self._windows(1) if self._share else None

    @property
    def files(self) -> tuple[Path, ...]:
        return (self._path,)

    def check(self) -> None:
        for part in range(2 if self._share else 1):
            self._windows(part)

    def encode(self, text: str) -> NDArray[np.int64]:
        """The numbers of a text."""
        numbers = {unit: number for number, unit in enumerate(self.class_names)}
        return np.array([numbers.get(unit, 0) for unit in self._units(text)], np.int64)

    def decode(self, numbers: Any) -> str:
        """The text of numbers; words have one space between them."""
        units = [self.class_names[int(number)] for number in numbers]
        return ("" if self._unit == "characters" else " ").join(units)

    def _windows(self, part: int) -> Samples:
        numbers = self._read[0][part]
        if len(numbers) <= self._length:
            name = "validation" if part else "training"
            raise DataError(
                f"{self._path}: the {name} part has {len(numbers)} {self._unit}, but a window and what follows take "
                f"{self._length + 1}. Set length lower{' or validation to 0' if part else ''}."
            )
        return WindowSamples(numbers, self._length, self._stride)

    @cached_property
    def _read(self) -> tuple[tuple[NDArray[np.int32], NDArray[np.int32]], tuple[str, ...]]:
        """Numbers of the training and the validation part, and the vocabulary."""
        units = self._units(self._text())
        if not units:
            raise DataError(f"{self._path}: has no {self._unit}. Choose a file with some text.")
        cut = len(units) - round(len(units) * self._share)
        counts = Counter(units[:cut])
        known = [unit for unit, _ in counts.most_common(self._most - 1)]
        vocabulary = (UNKNOWN, *sorted(set(known) - {UNKNOWN}))
        numbers = {unit: number for number, unit in enumerate(vocabulary)}
        every = np.fromiter((numbers.get(unit, 0) for unit in units), np.int32, len(units))
        return (every[:cut], every[cut:]), vocabulary

    def _units(self, text: str) -> Any:
        return text if self._unit == "characters" else _WORDS.findall(text)

    def _text(self) -> str:
        with Reading(self._path):
            check_memory(self._path, self._path.stat().st_size * _BYTES_A_UNIT, "Choose a shorter text.")
            content = self._path.read_bytes()
        try:
            return content.decode("utf-8-sig").replace("\r\n", "\n")
        except UnicodeDecodeError as error:
            line = content.count(b"\n", 0, error.start) + 1
            raise DataError(
                f"{self._path}: line {line}: holds the byte {content[error.start]:02x}, which is not UTF-8. "
                "Save the text in UTF-8."
            ) from None


class WindowSamples(Samples):
    """Windows of a long sequence of numbers; targets are the same windows one place further on.

    Args:
        numbers: the sequence
        length: numbers in a window
        stride: how far the next window begins after one
    """

    def __init__(self, numbers: NDArray[Any], length: int, stride: int) -> None:
        self._numbers = numbers
        self._length = length
        self._stride = stride

    def __len__(self) -> int:
        return (len(self._numbers) - self._length - 1) // self._stride + 1

    def arrays(self, rows: Indices) -> tuple[Batch, Batch]:
        windows = self._from(rows * self._stride, self._length + 1)
        return windows[:, :-1].copy(), windows[:, 1:].copy()

    def targets(self, rows: Indices) -> Batch:
        return self._from(rows * self._stride + 1, self._length)

    def _from(self, starts: Indices, length: int) -> NDArray[np.int64]:
        return self._numbers[starts[:, np.newaxis] + np.arange(length)].astype(np.int64)
