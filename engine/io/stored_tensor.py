"""Tensors in a file: shape and dtype are known, the data are read when they are needed."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True, slots=True)
class StoredTensor:
    """A tensor in a file."""

    shape: tuple[int, ...]
    dtype: np.dtype[Any]
    _read: Callable[[], NDArray[Any]] = field(repr=False)
    alias_of: str = ""
    """The first name of the same values, for tied weights."""

    def read(self) -> NDArray[Any]:
        """A copy of the values. Raises OSError, and WeightsError if the file is damaged or changed."""
        return self._read()


class WeightsFile(Mapping[str, StoredTensor]):
    """The tensors of a file or of several ones, by name.

    Args:
        name: path of the file
        tensors: by name, in the order of the file
        part: location of the tensors in a nested checkpoint, such as "model"
        parts: all locations of tensors in it
    """

    def __init__(
        self, name: str, tensors: Mapping[str, StoredTensor], part: str = "", parts: tuple[str, ...] = ("",)
    ) -> None:
        self.name, self.part, self.parts = name, part, parts
        self._tensors = dict(tensors)

    def __getitem__(self, key: str) -> StoredTensor:
        return self._tensors[key]

    def __iter__(self) -> Iterator[str]:
        return iter(self._tensors)

    def __len__(self) -> int:
        return len(self._tensors)

    def __repr__(self) -> str:
        return f"WeightsFile({self.name!r}, {len(self)} tensors)"


__all__ = ["StoredTensor", "WeightsFile"]
