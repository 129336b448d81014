"""Tables in CSV and Parquet files: columns to learn from, and a column to learn."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Annotated, Any, Literal, TypeAlias

import numpy as np
import pyarrow as pa
from pyarrow import parquet

from engine.data.columns import Separator, column_names, csv_blocks, listed, separator_hint
from engine.data.reading import Reading, existing
from engine.data.recent import stamp
from engine.data.samples import Samples
from engine.data.splits import Share, Splits, divided
from engine.data.table_rows import Columns, Table, TableSamples, read_table, tables
from engine.dtypes import float32, int64
from engine.errors import DataError
from engine.files import check_regular
from engine.registry import DATASETS, PathTo
from engine.shape import Spec

Missing: TypeAlias = Literal["stop", "drop", "keep"]


class TableSplits(Splits):
    """Rows of a table, read in pieces; many of them lie in a file. Subclasses give `_blocks`, `_names_in`, `_dialect`.

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
    @abstractmethod
    def _dialect(self) -> str:
        """What decides about the rows beside the file and the columns."""

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
        return self._table.feature_names if self._texts else tuple(self._numbers)

    @property
    def train(self) -> Samples:
        return divided(TableSamples(self._table), self._share)[0]

    @property
    def validation(self) -> Samples | None:
        return divided(TableSamples(self._table), self._share)[1]

    @property
    def files(self) -> tuple[Path, ...]:
        return (self._path,)

    def unlabelled(self, path: Path) -> Samples:
        """Of a table that may lack the target. A row that misses a value is not dropped but refused."""
        known = self._names_in(path)
        lacking = next((name for name in (*self._numbers, *self._texts) if name not in known), None)
        if lacking is not None:
            raise DataError(f"{path}: has no column {lacking!r}, only {', '.join(map(repr, known[:20]))}.")
        blocks = self._blocks(path, [*self._numbers, *self._texts], may_miss=self._missing == "keep")
        categories = self._table.categories if self._texts else {}
        return TableSamples(self._collected(path, blocks, categories))

    @cached_property
    def _table(self) -> Table:
        columns = (tuple(self._numbers), tuple(self._texts), self._target)
        key = stamp(self._path), columns, self._task, self._missing, self._share, self._dialect
        return tables.get(key, self._read)

    def _read(self) -> Table:
        names = [*self._numbers, *self._texts, self._target]
        found = self._collected(
            self._path, map(self._kept, self._blocks(self._path, names, may_miss=self._missing != "stop"))
        )
        if len(found.targets):
            return found
        if self._missing == "drop":
            raise DataError(
                f"{self._path}: has no rows without missing values below the column names. Ignore the columns that "
                "lack most, or set missing to keep."
            )
        raise DataError(f"{self._path}: has no rows below the column names. Add some.")

    def _collected(
        self, path: Path, blocks: Iterable[pa.RecordBatch], categories: Mapping[str, Sequence[str]] | None = None
    ) -> Table:
        """Rows with a target, unless the categories are known: then it is zero."""
        target = self._target if categories is None else None
        columns = Columns(tuple(self._numbers), tuple(self._texts), target, classes=self._task == "classes")
        return read_table(path, blocks, columns, self._share, categories)

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

    @property
    def _dialect(self) -> str:
        return self._separator


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
            for batch in file.iter_batches(columns=names):
                kinds = (pa.string() if self._is_text(name) else pa.float64() for name in names)
                arrays = [batch.column(name).cast(kind) for name, kind in zip(names, kinds, strict=True)]
                block = pa.RecordBatch.from_arrays(arrays, names)
                _check_values(path, block, row, may_miss=may_miss)
                row += len(block)
                yield block

    @property
    def _dialect(self) -> str:
        return "Parquet"

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

    def __enter__(self) -> None:
        with Reading(self.path):
            check_regular(self.path)  # Arrow opens it by itself

    def __exit__(self, kind: Any, error: BaseException | None, trace: Any) -> None:
        if isinstance(error, (pa.ArrowException, OSError)):
            text = str(error).partition("\n")[0]
            raise DataError(f"{self.path}: cannot be read as Parquet: {text.rstrip('.')}. Check the file.") from None


def _schema(path: Path) -> pa.Schema:
    with _ReadingParquet(path), parquet.ParquetFile(path) as file:
        return file.schema_arrow
