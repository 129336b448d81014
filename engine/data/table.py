"""Tables in CSV and Parquet files: columns to learn from, and a column to learn."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator
from functools import cached_property
from pathlib import Path
from typing import Annotated, Any, Literal, NamedTuple, TypeAlias

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from pyarrow import parquet

from engine.data.columns import Separator, as_array, class_codes, column_names, csv_blocks, listed, separator_hint
from engine.data.reading import check_memory, existing
from engine.data.samples import ArraySamples, Samples, hold_out
from engine.data.splits import Share, Splits
from engine.dtypes import float32, int64
from engine.errors import DataError
from engine.registry import DATASETS, PathTo
from engine.shape import Spec

Missing: TypeAlias = Literal["stop", "drop", "keep"]

MOST_CATEGORIES = 1000


class Table(NamedTuple):
    """What a table holds, ready to learn from."""

    inputs: NDArray[np.float32]
    targets: NDArray[Any]
    class_names: tuple[str, ...]
    categories: dict[str, list[str]]
    """By column, in the order of their places in a one-hot vector."""


class TableSplits(Splits):
    """Rows of a table. Subclasses give `_blocks` and `_names_in`.

    Args:
        path: the file
        names: all columns that it has
        target, task, columns, ignore, categorical, missing, validation: as of `CSV`
        hint: what to do if there is nothing to learn from
    """

    def __init__(
        self,
        path: Path,
        names: list[str],
        target: str,
        task: str,
        columns: str,
        ignore: str,
        categorical: str,
        missing: Missing,
        validation: float,
        hint: str,
    ) -> None:
        self._path = path
        self._target = target
        self._task = task
        self._missing: Missing = missing
        self._share = validation
        chosen, ignored, categories = listed(columns), listed(ignore), listed(categorical)
        for name in (target, *chosen, *ignored, *categories):
            if name not in names:
                raise DataError(f"{path}: has no column {name!r}, only {', '.join(map(repr, names[:20]))}.")
        features = [name for name in chosen or names if name != target and name not in ignored]
        self._texts = [name for name in features if name in categories]
        self._numbers = [name for name in features if name not in categories]
        if not features:
            raise DataError(f"{path}: has no column but the target {target!r}. {hint}")

    @abstractmethod
    def _blocks(self, path: Path, names: list[str], *, may_miss: bool) -> Iterator[pa.RecordBatch]:
        """These columns of a table, some thousand rows at a time; texts as texts, numbers as numbers."""

    @abstractmethod
    def _names_in(self, path: Path) -> list[str]:
        """The names of the columns of a table."""

    @property
    def input(self) -> Spec:
        """Reads the file if there are categories, as their number is part of the shape."""
        return Spec((len(self.feature_names),), float32)

    @property
    def target(self) -> Spec:
        """A class number, or one number as a vector of one, which is the shape that a Linear layer gives."""
        return Spec((), int64) if self._task == "classes" else Spec((1,), float32)

    @property
    def classes(self) -> int | None:
        return len(self.class_names) if self._task == "classes" else None

    @property
    def class_names(self) -> tuple[str, ...]:
        return self._table.class_names

    @property
    def feature_names(self) -> tuple[str, ...]:
        """Names of the inputs; of a category ``column=text``."""
        if not self._texts:
            return tuple(self._numbers)
        texts = (f"{name}={text}" for name, categories in self._table.categories.items() for text in categories)
        return (*self._numbers, *texts)

    @property
    def train(self) -> Samples:
        return self._part(0)

    @property
    def validation(self) -> Samples | None:
        return self._part(1) if self._share else None

    @property
    def files(self) -> tuple[Path, ...]:
        return (self._path,)

    def _part(self, part: int) -> ArraySamples:
        table = self._table
        return ArraySamples(table.inputs, table.targets, hold_out(len(table.inputs), self._share)[part])

    def unlabelled(self, path: Path) -> Samples:
        """Of a table that may lack the target. A row that misses a value is not dropped but refused."""
        known = self._names_in(path)
        lacking = next((name for name in (*self._numbers, *self._texts) if name not in known), None)
        if lacking is not None:
            raise DataError(f"{path}: has no column {lacking!r}, only {', '.join(map(repr, known[:20]))}.")
        features = [*self._numbers, *self._texts]
        blocks = list(self._blocks(path, features, may_miss=self._missing == "keep"))
        inputs = self._encoded(_joined(blocks, features), self._table.categories if self._texts else {})
        number = self._task == "number"
        return ArraySamples(
            inputs, np.zeros((len(inputs), 1), np.float32) if number else np.zeros(len(inputs), np.int64)
        )

    @cached_property
    def _table(self) -> Table:
        names = [*self._numbers, *self._texts, self._target]
        blocks = [self._kept(block) for block in self._blocks(self._path, names, may_miss=self._missing != "stop")]
        if not sum(len(block) for block in blocks):
            kind = " without missing values" if self._missing == "drop" else ""
            raise DataError(f"{self._path}: has no rows{kind} below the column names.")
        columns = _joined(blocks, names)
        train = hold_out(len(columns[self._target]), self._share)[0]
        categories = {name: _categories(self._path, name, columns[name][train]) for name in self._texts}
        inputs, targets = self._encoded(columns, categories), columns[self._target]
        if self._task == "number":
            return Table(inputs, targets.astype(np.float32)[:, np.newaxis], (), categories)
        codes, class_names = class_codes(targets)
        return Table(inputs, codes, class_names, categories)

    def _encoded(self, columns: dict[str, NDArray[Any]], categories: dict[str, list[str]]) -> NDArray[np.float32]:
        """N×…: numbers, then a one-hot vector for each column of texts."""
        parts = [columns[name].astype(np.float32)[:, np.newaxis] for name in self._numbers]
        parts += [
            (columns[name][:, np.newaxis] == np.array(known)).astype(np.float32) for name, known in categories.items()
        ]
        return np.hstack(parts)

    def _is_text(self, name: str) -> bool:
        return name in self._texts or (name == self._target and self._task != "number")

    def _kept(self, block: pa.RecordBatch) -> pa.RecordBatch:
        """Without the rows that are not wanted: those with missing values, or with a missing target."""
        names = block.schema.names if self._missing == "drop" else [self._target]
        there = np.logical_and.reduce([block.column(name).is_valid().to_numpy(zero_copy_only=False) for name in names])
        return block if there.all() else block.filter(pa.array(there))


@DATASETS.register(category="Tables", title="CSV table", outputs=("samples",), tags=("table", "spreadsheet", "tabular"))
class CSV(TableSplits):
    """A table in a UTF-8 text file with a line of column names. Inputs are numbers, and categories as one-hot vectors.

    Classes are numbered in the order of their names: as numbers if all are numbers, as texts otherwise. Categories are
    those of the training rows; one that only validation has is a vector of zeros.

    Args:
        path: the file
        target: name of the column to learn
        task: learn classes (the target is any text) or a number
        ignore: names of columns to leave out, with commas between them
        validation: the share of the rows to keep for validation
        separator: what stands between two columns
        columns: names of the columns to learn from, with commas between them; all unless given
        categorical: names of the columns that hold texts to choose from, with commas between them
        missing: what a missing value does: stop, drop its row, or be kept, as NaN, for Fill missing
    """

    def __init__(
        self,
        path: Annotated[str, PathTo("file", (".csv", ".tsv", ".txt"))],
        target: str,
        task: Literal["classes", "number"] = "classes",
        ignore: str = "",
        validation: Share = 0.2,
        separator: Separator = "comma",
        columns: str = "",
        categorical: str = "",
        missing: Missing = "stop",
    ) -> None:
        if not path:
            raise DataError("CSV: no file is chosen. Set path.")
        names = column_names(Path(path), separator)
        hint = separator_hint(names, separator)
        super().__init__(Path(path), names, target, task, columns, ignore, categorical, missing, validation, hint)
        self._separator: Separator = separator

    def _blocks(self, path: Path, names: list[str], *, may_miss: bool) -> Iterator[pa.RecordBatch]:
        texts = [name for name in names if self._is_text(name)]
        numbers = [name for name in names if not self._is_text(name)]
        return csv_blocks(path, self._separator, texts, numbers, may_miss)

    def _names_in(self, path: Path) -> list[str]:
        return column_names(path, self._separator)


@DATASETS.register(
    category="Tables", title="Parquet table", outputs=("samples",), tags=("table", "tabular", "Arrow", "columns")
)
class Parquet(TableSplits):
    """A table in a Parquet file. Inputs are numbers, and categories as one-hot vectors. Only columns in use are read.

    Classes are numbered in the order of their names: as numbers if all are numbers, as texts otherwise. Categories are
    those of the training rows; one that only validation has is a vector of zeros.

    Args:
        path: the file
        target: name of the column to learn
        task: learn classes (the target is any text or whole number) or a number
        ignore: names of columns to leave out, with commas between them
        validation: the share of the rows to keep for validation
        columns: names of the columns to learn from, with commas between them; all unless given
        categorical: names of the columns that hold texts to choose from, with commas between them
        missing: what a missing value does: stop, drop its row, or be kept, as NaN, for Fill missing
    """

    def __init__(
        self,
        path: Annotated[str, PathTo("file", (".parquet", ".pq"))],
        target: str,
        task: Literal["classes", "number"] = "classes",
        ignore: str = "",
        validation: Share = 0.2,
        columns: str = "",
        categorical: str = "",
        missing: Missing = "stop",
    ) -> None:
        found = existing("Parquet", "path", path, "file")
        schema = _schema(found)
        hint = "Add columns to learn from."
        super().__init__(found, schema.names, target, task, columns, ignore, categorical, missing, validation, hint)
        self._check_kinds(found, schema, [*self._numbers, *([target] if task == "number" else [])])

    def _names_in(self, path: Path) -> list[str]:
        schema = _schema(path)
        self._check_kinds(path, schema, [name for name in self._numbers if name in schema.names])
        return schema.names

    def _blocks(self, path: Path, names: list[str], *, may_miss: bool) -> Iterator[pa.RecordBatch]:
        row = 0
        with _ReadingParquet(path), parquet.ParquetFile(path) as file:
            check_memory(path, file.metadata.num_rows * len(names) * 4, "Choose fewer columns.")
            for batch in file.iter_batches(columns=names):
                kinds = (pa.string() if self._is_text(name) else pa.float64() for name in names)
                arrays = [batch.column(name).cast(kind) for name, kind in zip(names, kinds, strict=True)]
                block = pa.RecordBatch.from_arrays(arrays, names)
                _check_values(path, block, row, may_miss=may_miss)
                row += len(block)
                yield block

    def _check_kinds(self, path: Path, schema: pa.Schema, numbers: list[str]) -> None:
        for name in numbers:
            kind = schema.field(name).type
            if not (pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_boolean(kind)):
                raise DataError(
                    f"{path}: column {name!r} holds {kind}, no numbers. Name it in categorical or in ignore."
                )


def _check_values(path: Path, block: pa.RecordBatch, row: int, *, may_miss: bool) -> None:
    for name in block.schema.names:
        column = block.column(name)
        if not may_miss and column.null_count:
            place = row + int(np.argmin(column.is_valid().to_numpy(zero_copy_only=False))) + 1
            raise DataError(f"{path}: row {place}, column {name!r}: is missing. Set missing, or ignore the column.")
        if pa.types.is_floating(column.type):
            values = column.to_numpy(zero_copy_only=False)
            with np.errstate(over="ignore"):
                wrong = np.isinf(values.astype(np.float32)) | (np.isnan(values) & column.is_valid().to_numpy(False))
            if may_miss:
                wrong &= ~np.isnan(values)
            if wrong.any():
                place = int(np.argmax(wrong))
                where = f"{path}: row {row + place + 1}, column {name!r}"
                raise DataError(f"{where}: {values[place]} is not a finite number. Correct it, or ignore the column.")


class _ReadingParquet:
    """Turns pyarrow's errors into a DataError that names the file."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __enter__(self) -> None: ...

    def __exit__(self, kind: Any, error: BaseException | None, trace: Any) -> None:
        if isinstance(error, (pa.ArrowException, OSError)):
            text = str(error).partition("\n")[0]
            raise DataError(f"{self.path}: cannot be read as Parquet: {text}. Check the file.") from None


def _schema(path: Path) -> pa.Schema:
    with _ReadingParquet(path), parquet.ParquetFile(path) as file:
        return file.schema_arrow


def _joined(blocks: list[pa.RecordBatch], names: list[str]) -> dict[str, NDArray[Any]]:
    """Whole columns by name."""
    if not blocks:
        return {name: np.empty(0) for name in names}
    return {name: np.concatenate([as_array(block.column(name)) for block in blocks]) for name in names}


def _categories(path: Path, name: str, texts: NDArray[Any]) -> list[str]:
    """Those that the training rows have; what is missing is none."""
    categories = [text for text in np.unique(texts).tolist() if text]
    if len(categories) > MOST_CATEGORIES:
        raise DataError(
            f"{path}: column {name!r} holds {len(categories)} different texts, too many to choose from. Ignore it."
        )
    if not categories:
        raise DataError(f"{path}: column {name!r} is empty in all training rows. Ignore it.")
    return categories
