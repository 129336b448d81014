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
    feature_names: tuple[str, ...]


class TableSplits(Splits):
    """Rows of a table. Subclasses give `_blocks`.

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
    def _blocks(self) -> Iterator[pa.RecordBatch]:
        """All columns that are needed, some thousand rows at a time; texts as texts, numbers as numbers."""

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

    @cached_property
    def _table(self) -> Table:
        blocks = [self._kept(block) for block in self._blocks()]
        if not sum(len(block) for block in blocks):
            kind = " without missing values" if self._missing == "drop" else ""
            raise DataError(f"{self._path}: has no rows{kind} below the column names.")
        columns = {
            name: np.concatenate([as_array(block.column(name)) for block in blocks])
            for name in (*self._numbers, *self._texts, self._target)
        }
        train = hold_out(len(columns[self._target]), self._share)[0]
        parts = [np.column_stack([columns[name] for name in self._numbers]).astype(np.float32)] if self._numbers else []
        names = list(self._numbers)
        for name in self._texts:
            encoded, categories = _one_hot(self._path, name, columns[name], train)
            parts.append(encoded)
            names += [f"{name}={category}" for category in categories]
        targets = columns[self._target]
        if self._task == "number":
            return Table(np.hstack(parts), targets.astype(np.float32)[:, np.newaxis], (), tuple(names))
        codes, class_names = class_codes(targets)
        return Table(np.hstack(parts), codes, class_names, tuple(names))

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

    def _blocks(self) -> Iterator[pa.RecordBatch]:
        number = self._task == "number"
        texts = self._texts if number else [*self._texts, self._target]
        numbers = [*self._numbers, self._target] if number else self._numbers
        return csv_blocks(self._path, self._separator, texts, numbers, self._missing != "stop")


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
        with _ReadingParquet(found), parquet.ParquetFile(found) as file:
            schema, self._rows = file.schema_arrow, file.metadata.num_rows
        hint = "Add columns to learn from."
        super().__init__(found, schema.names, target, task, columns, ignore, categorical, missing, validation, hint)
        for name in [*self._numbers, *([target] if task == "number" else [])]:
            kind = schema.field(name).type
            if not (pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_boolean(kind)):
                raise DataError(
                    f"{path}: column {name!r} holds {kind}, no numbers. Name it in categorical or in ignore."
                )

    def _blocks(self) -> Iterator[pa.RecordBatch]:
        size = self._rows * (len(self._numbers) + len(self._texts) + 1) * 4
        check_memory(self._path, size, "Choose fewer columns.")
        needed = [*self._numbers, *self._texts, self._target]
        texts = {*self._texts, *([] if self._task == "number" else [self._target])}
        row = 0
        with _ReadingParquet(self._path), parquet.ParquetFile(self._path) as file:
            for batch in file.iter_batches(columns=needed):
                arrays = [batch.column(name).cast(pa.string() if name in texts else pa.float64()) for name in needed]
                block = pa.RecordBatch.from_arrays(arrays, needed)
                self._check(block, row)
                row += len(block)
                yield block

    def _check(self, block: pa.RecordBatch, row: int) -> None:
        for name in block.schema.names:
            column = block.column(name)
            if self._missing == "stop" and column.null_count:
                place = row + int(np.argmin(column.is_valid().to_numpy(zero_copy_only=False))) + 1
                raise DataError(
                    f"{self._path}: row {place}, column {name!r}: is missing. Set missing, or ignore the column."
                )
            if pa.types.is_floating(column.type):
                values = column.to_numpy(zero_copy_only=False)
                with np.errstate(over="ignore"):
                    wrong = np.isinf(values.astype(np.float32)) | (np.isnan(values) & column.is_valid().to_numpy(False))
                if self._missing != "stop":
                    wrong &= ~np.isnan(values)
                if wrong.any():
                    place = int(np.argmax(wrong))
                    where = f"{self._path}: row {row + place + 1}, column {name!r}"
                    raise DataError(
                        f"{where}: {values[place]} is not a finite number. Correct it, or ignore the column."
                    )


class _ReadingParquet:
    """Turns pyarrow's errors into a DataError that names the file."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __enter__(self) -> None: ...

    def __exit__(self, kind: Any, error: BaseException | None, trace: Any) -> None:
        if isinstance(error, (pa.ArrowException, OSError)):
            text = str(error).partition("\n")[0]
            raise DataError(f"{self.path}: cannot be read as Parquet: {text}. Check the file.") from None


def _one_hot(
    path: Path, name: str, texts: NDArray[Any], train: NDArray[np.int64]
) -> tuple[NDArray[np.float32], list[str]]:
    """N×K, and the K texts that the training rows have; what is missing has a row of zeros."""
    categories = [text for text in np.unique(texts[train]).tolist() if text]
    if len(categories) > MOST_CATEGORIES:
        raise DataError(
            f"{path}: column {name!r} holds {len(categories)} different texts, too many to choose from. Ignore it."
        )
    if not categories:
        raise DataError(f"{path}: column {name!r} is empty in all training rows. Ignore it.")
    return (texts[:, np.newaxis] == np.array(categories)).astype(np.float32), categories
