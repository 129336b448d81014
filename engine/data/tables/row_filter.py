"""Drop table rows with missing values while reading, and count them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from engine.data.tables.arrow import compute, pa

pc: Any = compute  # its functions are created at import, which type checkers cannot see

NULL, NO_NUMBER = "null", "no number"
"""Labels for missing values without a text."""


@dataclass(frozen=True, slots=True)
class MissingValueCounts:
    """Counts of rows with missing values."""

    rows: int
    """Rows in the file."""
    dropped: int
    """Dropped rows."""
    dropped_by_column: Mapping[str, Mapping[str, int]]
    """Column → missing text → dropped rows."""
    kept_by_column: Mapping[str, Mapping[str, int]]
    """Text column → missing text → kept rows."""


class MissingRowFilter:
    """Drops rows with missing values from blocks, and counts them.

    Args:
        needed: columns in which a missing value drops the row
        texts: columns in which missing texts become null
        missing: texts that mark a missing value
    """

    def __init__(self, needed: Collection[str], texts: Sequence[str], missing: Collection[str]) -> None:
        self._needed = needed
        self._texts = texts
        self._missing = pa.array(sorted(missing), pa.string())
        self._rows = self._dropped = 0
        self._dropped_by_column: dict[str, Counter[str]] = {}
        self._kept_by_column: dict[str, Counter[str]] = {}

    @property
    def counts(self) -> MissingValueCounts:
        return MissingValueCounts(self._rows, self._dropped, self._dropped_by_column, self._kept_by_column)

    def apply(self, block: pa.RecordBatch) -> pa.RecordBatch:
        """The remaining rows, with null for each missing text."""
        self._rows += len(block)
        masks = {name: self._missing_mask(block.column(name)) for name in block.schema.names}
        is_missing = np.zeros(len(block), np.bool_)
        for name in self._needed:
            if masks[name].any():
                _count(self._dropped_by_column, name, block.column(name), masks[name])
                is_missing |= masks[name]
        for name in self._texts:
            if (mask := masks[name] & ~is_missing).any():
                _count(self._kept_by_column, name, block.column(name), mask)
                block = _with_nulls(block, name, masks[name])
        self._dropped += int(is_missing.sum())
        return block.filter(pa.array(~is_missing)) if is_missing.any() else block

    def _missing_mask(self, column: Any) -> NDArray[np.bool_]:
        is_missing = column.is_null()
        if len(self._missing) and pa.types.is_string(column.type):
            is_missing = pc.or_(is_missing, pc.is_in(column, value_set=self._missing))
        return is_missing.to_numpy(zero_copy_only=False)


def _count(by_column: dict[str, Counter[str]], name: str, column: Any, mask: NDArray[np.bool_]) -> None:
    found = column.filter(pa.array(mask))
    column_counts = by_column.setdefault(name, Counter())
    if not pa.types.is_string(column.type):
        column_counts[NO_NUMBER] += len(found)
        return
    for entry in found.value_counts().to_pylist():
        column_counts[NULL if entry["values"] is None else entry["values"]] += entry["counts"]


def _with_nulls(block: pa.RecordBatch, name: str, mask: NDArray[np.bool_]) -> pa.RecordBatch:
    column = pc.if_else(pa.array(mask), pa.scalar(None, pa.string()), block.column(name))
    return block.set_column(block.schema.get_field_index(name), name, column)
