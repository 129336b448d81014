"""Read a table in blocks and encode it: numbers, and integer codes of categories."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from engine.data.dataset import Indices
from engine.data.diagnostics import Diagnostic
from engine.data.lru_cache import LRUCache
from engine.data.memory_map import from_pickle, to_pickle
from engine.data.row_buffer import RowBuffer
from engine.data.samples import Samples, validation_split
from engine.data.tables.arrow import pa
from engine.data.tables.csv_columns import as_array, class_order
from engine.data.tables.row_filter import MissingValueCounts
from engine.data.tables.table_diagnostics import unseen_category_diagnostics
from engine.data.transforms.transform import Batch
from engine.errors import DataError

MAX_CATEGORIES = 1000
"""Maximum number of categories in the training rows."""
_MAX_TEXTS = 10 * MAX_CATEGORIES
"""Maximum number of distinct texts in all rows, including those that only occur in validation rows."""
_ROWS_PER_STEP = 2**20


@dataclass(frozen=True, eq=False, slots=True)
class EncodedTable:
    """An encoded table."""

    numbers: NDArray[np.float32]
    """N×…, one column per numeric column."""
    codes: NDArray[np.int32]
    """N×…, one column per categorical column; -1 for a missing value."""
    category_indices: tuple[NDArray[np.int64], ...]
    """Per categorical column: category index by code; -1 for a text that is not a category."""
    categories: Mapping[str, tuple[str, ...]]
    """Categories by column, in the order of the one-hot vector."""
    targets: NDArray[Any]
    """N×K: numbers, or N×1 class codes."""
    ranks: NDArray[np.int64] | None
    """Class number by code; None for numeric targets."""
    class_names: tuple[str, ...]
    feature_names: tuple[str, ...]
    unseen: Mapping[str, Mapping[str, int]]
    """Column → text that is not a category → number of rows."""
    one_hot: bool = True
    """Whether categories become one-hot vectors; otherwise their numbers plus 1, with 0 for an unknown category."""
    missing_counts: MissingValueCounts | None = None
    """Counts of missing values; None if rows are never dropped."""


class TableSamples(Samples):
    """All rows of a table. Inputs are the numbers, followed by the one-hot vectors or numbers of the categories."""

    def __init__(self, table: EncodedTable, path: Path) -> None:
        self._diagnostics = tuple(unseen_category_diagnostics(path.name, table.unseen, len(table.targets)))
        self._numbers, self._codes, self._targets = table.numbers, table.codes, table.targets
        self._category_indices, self._ranks = table.category_indices, table.ranks
        self._widths = [len(categories) for categories in table.categories.values()]
        self._one_hot = table.one_hot

    def __len__(self) -> int:
        return len(self._targets)

    @property
    def diagnostics(self) -> tuple[Diagnostic, ...]:
        return self._diagnostics

    def __getstate__(self) -> dict[str, Any]:
        return {key: to_pickle(value) if isinstance(value, np.ndarray) else value for key, value in vars(self).items()}

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update({key: from_pickle(value) for key, value in state.items()})

    def arrays(self, rows: Indices) -> tuple[Batch, Batch]:
        numbers = np.array(self._numbers[rows])
        parts = [numbers] if numbers.shape[1] else []
        for j, (category_indices, width) in enumerate(zip(self._category_indices, self._widths, strict=True)):
            indices = category_indices[np.asarray(self._codes[rows, j])]
            parts.append(_one_hot(indices, width) if self._one_hot else (indices[:, None] + 1).astype(np.float32))
        return (parts[0] if len(parts) == 1 else np.hstack(parts)), self.targets(rows)

    def targets(self, rows: Indices) -> Batch:
        targets = np.array(self._targets[rows])
        return targets if self._ranks is None else self._ranks[targets[:, 0]]


@dataclass(frozen=True, slots=True)
class TableColumns:
    """Names of the columns to read."""

    numbers: tuple[str, ...]
    texts: tuple[str, ...]
    """Categorical columns."""
    targets: tuple[str, ...] | None
    """None for unlabeled data; targets are then zero."""
    classes: bool
    """Whether the target is a class; otherwise targets are numbers."""
    one_hot: bool = True


def read_table(
    path: Path,
    blocks: Iterable[pa.RecordBatch],
    columns: TableColumns,
    share: float,
    categories: Mapping[str, Sequence[str]] | None = None,
) -> EncodedTable:
    """Read and encode a table block by block.

    Args:
        path: path for error messages
        blocks: blocks of rows with these columns
        columns: the columns to read
        share: fraction of validation rows; categories come from the training rows
        categories: categories by column, to encode unlabeled data like the training data

    Raises:
        DataError: a column has too many categories, or none.
    """
    target_dtype = np.int32 if columns.classes else np.float32
    target_width = len(columns.targets or ("",))
    widths = (len(columns.numbers), np.float32), (len(columns.texts), np.int32), (target_width, target_dtype)
    buffers = [RowBuffer(width, dtype, str(path)) for width, dtype in widths]
    encoders = [_TextEncoder(path, name, _MAX_TEXTS) for name in columns.texts]
    labels = _TextEncoder(path, "", None)
    try:
        for block in blocks:
            rows = [as_array(block.column(name)).astype(np.float32) for name in columns.numbers]
            codes = [encoder.encode(block.column(name)) for encoder, name in zip(encoders, columns.texts, strict=True)]
            for buffer, parts in zip(buffers, (rows, codes), strict=False):
                if parts:
                    buffer.append(np.column_stack(parts))
            buffers[2].append(_targets(block, columns, labels))
        numbers, all_codes, targets = (buffer.finish() for buffer in buffers)
    except BaseException:
        for buffer in buffers:
            buffer.drop()
        raise
    count = len(targets)
    all_codes = all_codes.reshape(count, len(columns.texts))
    if categories is None and count:
        train = validation_split(count, share)[0]
        categories = {
            encoder.column: _categories(encoder, all_codes[:, j], train) for j, encoder in enumerate(encoders)
        }
    found = categories or {}
    ranks, class_names = _rank_classes(labels.names) if columns.classes else (None, ())
    category_indices = tuple(_category_indices(encoder.names, found.get(encoder.column, ())) for encoder in encoders)
    categorical = [f"{name}={text}" for name in columns.texts for text in found.get(name, ())]
    names = [*columns.numbers, *(categorical if columns.one_hot else columns.texts)]
    return EncodedTable(
        numbers.reshape(count, len(columns.numbers)),
        all_codes,
        category_indices,
        {name: tuple(found[name]) for name in columns.texts if name in found},
        targets,
        ranks,
        class_names,
        tuple(names),
        _count_unseen(encoders, category_indices, all_codes),
        columns.one_hot,
    )


def _targets(block: pa.RecordBatch, columns: TableColumns, labels: _TextEncoder) -> NDArray[Any]:
    if columns.targets is None:
        return labels.encode(pa.array([""] * len(block))) if columns.classes else np.zeros(len(block), np.float32)
    found = [block.column(name) for name in columns.targets]
    if columns.classes:
        return labels.encode(found[0])
    return np.column_stack([as_array(column).astype(np.float32) for column in found])


class _TextEncoder:
    """Assigns integer codes to texts in the order of their first occurrence."""

    def __init__(self, path: Path, column: str, limit: int | None) -> None:
        self.path = path
        self.column = column
        self._limit = limit
        self._numbers: dict[str, int] = {}

    @property
    def names(self) -> list[str]:
        return list(self._numbers)

    def encode(self, column: Any) -> NDArray[np.int32]:
        """The codes of a column; -1 for missing values and, in categorical columns, for empty texts."""
        encoded = column.dictionary_encode()
        codes = [self._number(text) for text in encoded.dictionary.to_pylist()]
        lookup = np.array([*codes, -1], np.int32)
        return lookup[encoded.indices.fill_null(-1).to_numpy(zero_copy_only=False)]

    def _number(self, text: str) -> int:
        if not text and self._limit is not None:
            return -1
        number = self._numbers.setdefault(text, len(self._numbers))
        if self._limit is not None and number >= self._limit:
            raise DataError(
                f"{self.path}: column {self.column!r} has more than {self._limit} different texts, but at most "
                f"{MAX_CATEGORIES} can be categories. Ignore it."
            )
        return number


def _categories(texts: _TextEncoder, codes: NDArray[np.int32], train: Indices) -> list[str]:
    """The sorted categories of the training rows."""
    names = texts.names
    is_present = np.zeros(len(names) + 1, np.bool_)
    for start in range(0, len(train), _ROWS_PER_STEP):
        is_present[codes[train[start : start + _ROWS_PER_STEP]]] = True  # -1, a missing value, sets the last element
    found = sorted(text for text, present in zip(names, is_present, strict=False) if present)
    where = f"{texts.path}: column {texts.column!r}"
    if len(found) > MAX_CATEGORIES:
        raise DataError(
            f"{where} has {len(found)} different texts, but at most {MAX_CATEGORIES} can be categories. Ignore it."
        )
    if not found:
        raise DataError(f"{where} is empty in all training rows. Ignore it.")
    return found


def _category_indices(texts: Sequence[str], categories: Sequence[str]) -> NDArray[np.int64]:
    """Category index by code, followed by -1 for a missing value."""
    order = {text: index for index, text in enumerate(categories)}
    return np.array([*(order.get(text, -1) for text in texts), -1], np.int64)


def _count_unseen(
    encoders: Sequence[_TextEncoder], category_indices: Sequence[NDArray[np.int64]], codes: NDArray[np.int32]
) -> dict[str, dict[str, int]]:
    """Column → text that is not a category → number of rows."""
    found: dict[str, dict[str, int]] = {}
    for j, (texts, indices) in enumerate(zip(encoders, category_indices, strict=True)):
        names, unknown = texts.names, np.flatnonzero(indices[:-1] < 0)
        if not len(unknown):
            continue
        counts = np.zeros(len(indices), np.int64)
        for start in range(0, len(codes), _ROWS_PER_STEP):
            counts += np.bincount(codes[start : start + _ROWS_PER_STEP, j] % len(indices), minlength=len(indices))
        found[texts.column] = {names[code]: int(counts[code]) for code in unknown}
    return found


def _rank_classes(names: list[str]) -> tuple[NDArray[np.int64], tuple[str, ...]]:
    """Class number by code, and class names in order."""
    alphabetical = sorted(range(len(names)), key=names.__getitem__)
    order = [alphabetical[index] for index in class_order([names[code] for code in alphabetical])]
    ranks = np.empty(len(names), np.int64)
    ranks[order] = np.arange(len(names))
    return ranks, tuple(names[code] for code in order)


def _one_hot(category_indices: NDArray[np.int64], width: int) -> NDArray[np.float32]:
    """N×K one-hot vectors; a row of zeros for index -1."""
    result = np.zeros((len(category_indices), width), np.float32)
    rows = np.flatnonzero(category_indices >= 0)
    result[rows, category_indices[rows]] = 1
    return result


tables: LRUCache[EncodedTable] = LRUCache(2)
