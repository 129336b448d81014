"""Data sets from tables, and the CSV data set."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import Annotated, Literal, TypeAlias

from engine.data.diagnostics import Diagnostic, format_counts
from engine.data.lru_cache import file_fingerprint
from engine.data.samples import Samples
from engine.data.splits import Share, Splits, train_validation_split
from engine.data.tables.arrow import pa
from engine.data.tables.column_survey import MAX_CELLS, MAX_ROWS, TableSurvey, survey_columns, surveys
from engine.data.tables.csv_columns import (
    MISSING_TEXTS,
    Dialect,
    Separator,
    column_list,
    column_names,
    column_number_hint,
    csv_blocks,
    header_hint,
    parse_names,
    separator_hint,
)
from engine.data.tables.row_filter import MissingRowFilter
from engine.data.tables.table_diagnostics import (
    MAX_CHANCE_ROWS,
    TableArguments,
    column_diagnostics,
    header_diagnostics,
    missing_value_diagnostics,
    sampled_missing_value_diagnostics,
    unseen_category_diagnostics,
)
from engine.data.tables.table_reader import EncodedTable, TableColumns, TableSamples, read_table, tables
from engine.dtypes import float32, int64
from engine.errors import DataError
from engine.registry import DATASETS, PathTo
from engine.shape import Spec

Missing: TypeAlias = Literal["stop", "drop", "keep"]

MAX_CHECKED_BYTES = 32 * 2**20
"""Largest file in bytes that is read completely for diagnostics before a run."""


class TableSplits(Splits):
    """Training and validation rows of a table, read in blocks. Subclasses implement the file format.

    Args:
        path: the file
        names: all column names
        target, task, columns, ignore, categorical, missing, validation: as in `CSV`
        missing_texts: texts that mark a missing value; None if the format has null values
        hint: next step of the error for a table without feature columns
        unknown_hint: addition to the error for an unknown column
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
        missing_texts: str | None,
        hint: str,
        unknown_hint: str = "",
    ) -> None:
        self._path = path
        self._names = names
        self._target = target
        self._task = task
        self._missing: Missing = missing
        self._share = validation
        selected, ignored, categories = parse_names(columns), parse_names(ignore), parse_names(categorical)
        for name in (target, *selected, *ignored, *categories):
            if name not in names:
                hints = f"{unknown_hint}{column_number_hint(name, names)}"
                raise DataError(f"{path}: has no column {name!r}. It has {column_list(path, names)}.{hints}")
        self._column_arguments = {"target": target, "columns": selected, "ignore": ignored, "categorical": categories}
        self._missing_texts = None if missing_texts is None else tuple(parse_names(missing_texts))
        features = [name for name in selected or names if name != target and name not in ignored]
        self._texts = [name for name in features if name in categories]
        self._numbers = [name for name in features if name not in categories]
        if not features:
            raise DataError(f"{path}: has no columns besides the target {target!r}. {hint}")

    @abstractmethod
    def _blocks(self, path: Path, names: list[str], *, allow_missing: bool) -> Iterator[pa.RecordBatch]:
        """Blocks of several thousand rows with these columns: categories as strings, other columns as float64."""

    @abstractmethod
    def _raw_blocks(self, names: list[str], limit: int) -> Iterator[pa.RecordBatch]:
        """Blocks of at least the first `most` rows as unparsed strings; only text and integer columns."""

    @abstractmethod
    def _names_in(self, path: Path) -> list[str]:
        """The column names of a file."""

    @property
    @abstractmethod
    def _dialect(self) -> Hashable:
        """Cache key of the format options."""

    @property
    def input(self) -> Spec:
        """Reads the file if there are categorical columns: the number of categories is part of the shape."""
        return Spec((len(self.feature_names),), float32)

    @property
    def target(self) -> Spec:
        """A class number, or a number with shape (1,), which matches the output of a Linear layer."""
        return Spec((), int64) if self._task == "classes" else Spec((1,), float32)

    @property
    def classes(self) -> int | None:
        return len(self.class_names) if self._task == "classes" else None

    @property
    def class_names(self) -> tuple[str, ...]:
        return self._table.class_names

    @property
    def feature_names(self) -> tuple[str, ...]:
        """Names of the inputs; ``column=text`` for each category."""
        return self._table.feature_names if self._texts else tuple(self._numbers)

    @property
    def train(self) -> Samples:
        return train_validation_split(TableSamples(self._table, self._path), self._share)[0]

    @property
    def validation(self) -> Samples | None:
        return train_validation_split(TableSamples(self._table, self._path), self._share)[1]

    @property
    def files(self) -> tuple[Path, ...]:
        return (self._path,)

    def unlabeled(self, path: Path) -> Samples:
        """Samples of a table whose target may be missing. Missing values raise DataError unless `missing` is keep."""
        columns = self._names_in(path)
        absent = next((name for name in (*self._numbers, *self._texts) if name not in columns), None)
        if absent is not None:
            raise DataError(f"{path}: has no column {absent!r}. It has {column_list(path, columns)}.")
        blocks = self._blocks(path, [*self._numbers, *self._texts], allow_missing=self._missing == "keep")
        categories = self._table.categories if self._texts else {}
        if self._missing == "keep":
            blocks = map(self._row_filter(()).apply, blocks)
        return TableSamples(self._encode(path, blocks, categories), path)

    def diagnostics(self, *, read_all: bool = False) -> tuple[Diagnostic, ...]:
        column_arguments = self._column_arguments
        ignored, categorical = tuple(column_arguments["ignore"]), tuple(column_arguments["categorical"])
        classes = self._task == "classes"
        arguments = TableArguments(self._path.name, self._target, classes, ignored, categorical, self._missing_texts)
        found: list[Diagnostic] = []
        for part in (self._row_diagnostics(arguments, read_all=read_all), self._column_diagnostics(arguments)):
            with suppress(DataError):  # raised again when the samples are read
                found.extend(part)
        return tuple(found)

    def _row_diagnostics(self, arguments: TableArguments, *, read_all: bool) -> Iterator[Diagnostic]:
        if read_all or arguments.classes or self._texts or file_fingerprint(self._path)[1] <= MAX_CHECKED_BYTES:
            table = self._table
            if table.missing_counts is not None:
                yield from missing_value_diagnostics(arguments, table.missing_counts)
            yield from unseen_category_diagnostics(arguments.file, table.unseen, len(table.targets))
        elif self._missing != "stop":
            yield from sampled_missing_value_diagnostics(arguments, self._survey, self._required_columns)

    def _column_diagnostics(self, arguments: TableArguments) -> Iterator[Diagnostic]:
        yield from header_diagnostics(arguments, self._names, self._column_arguments)
        yield from column_diagnostics(arguments, self._survey, [*self._numbers, *self._texts], self._texts)

    @property
    def _survey(self) -> TableSurvey:
        numbers = [*self._numbers, *([] if self._task == "classes" else [self._target])]
        names = [*numbers, *self._texts]
        limit = min(MAX_ROWS, max(MAX_CELLS // len(names), MAX_CHANCE_ROWS))
        key = file_fingerprint(self._path), tuple(names), len(numbers), self._dialect
        return surveys.get(key, lambda: survey_columns(self._raw_blocks(names, limit), numbers, limit))

    @cached_property
    def _table(self) -> EncodedTable:
        columns = (tuple(self._numbers), tuple(self._texts), self._target)
        key = (
            file_fingerprint(self._path),
            columns,
            self._task,
            self._missing,
            self._missing_texts,
            self._share,
            self._dialect,
        )
        return tables.get(key, self._read)

    @property
    def _required_columns(self) -> Sequence[str]:
        """Columns in which a missing value drops the row."""
        return (*self._numbers, *self._texts, self._target) if self._missing == "drop" else (self._target,)

    def _read(self) -> EncodedTable:
        names = [*self._numbers, *self._texts, self._target]
        rows = self._row_filter(self._required_columns)
        blocks = self._blocks(self._path, names, allow_missing=self._missing != "stop")
        found = self._encode(self._path, map(rows.apply, blocks))
        if len(found.targets):
            return replace(found, missing_counts=rows.counts)
        if self._missing == "drop":
            raise DataError(
                f"{self._path}: every row has a missing value. Ignore the columns with the most missing values, or "
                "set missing to keep."
            )
        if rows.counts.dropped:
            reason = format_counts(rows.counts.dropped_by_column[self._target])
            raise DataError(
                f"{self._path}: no row has a value in {self._target!r} ({reason}). Fill in the values, or "
                "remove from missing_texts any text that is a value."
            )
        raise DataError(f"{self._path}: has no rows below the column names. Add rows.")

    def _encode(
        self, path: Path, blocks: Iterable[pa.RecordBatch], categories: Mapping[str, Sequence[str]] | None = None
    ) -> EncodedTable:
        """Encode all rows. With known categories (unlabeled data) the targets are zeros."""
        target = self._target if categories is None else None
        columns = TableColumns(tuple(self._numbers), tuple(self._texts), target, classes=self._task == "classes")
        return read_table(path, blocks, columns, self._share, categories)

    def _row_filter(self, required: Iterable[str]) -> MissingRowFilter:
        """The filter of rows with missing values in `needed`."""
        texts = () if self._missing == "stop" or self._missing_texts is None else ("", *self._missing_texts)
        return MissingRowFilter(tuple(required), self._texts, texts)

    def _is_text(self, name: str) -> bool:
        return name in self._texts or (name == self._target and self._task != "number")


@DATASETS.register(category="Tables", title="CSV table", outputs=("samples",), tags=("table", "spreadsheet", "tabular"))
class CSV(TableSplits):
    """A CSV table in UTF-8 with a header line. Inputs are numeric columns and one-hot encoded categorical columns.

    Classes are numbered in sorted order, numerically if all are numbers. Categories come from the training rows; a
    category that only occurs in validation is encoded as zeros.

    Args:
        path: CSV file
        target: name of the target column
        task: learn classes (any text) or a number
        ignore: columns to leave out, separated by commas
        validation: fraction of the rows used for validation
        separator: column separator
        columns: feature columns, separated by commas; all columns if empty
        categorical: categorical columns, separated by commas; they are one-hot encoded
        missing: for a missing value, stop the run, drop its row, or keep it as NaN for Fill missing
        missing_texts: texts that mark a missing class or category, separated by commas; empty cells always do
        header: the first line has the column names; otherwise the columns are named column 1, column 2 and so on
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
        missing_texts: str = MISSING_TEXTS,
        header: bool = True,
    ) -> None:
        if not path:
            raise DataError("CSV: no file selected. Set path.")
        found, dialect = Path(path), Dialect(separator, header, tuple(parse_names(missing_texts)))
        names = column_names(found, dialect)
        arguments = (target, task, columns, ignore, categorical, missing, validation, missing_texts)
        self._csv_dialect = dialect
        wrong = separator_hint(names, separator)
        hints = wrong or "Add columns to learn from.", f" {wrong}" if wrong else header_hint(names)
        super().__init__(found, names, *arguments, *hints)

    def _blocks(self, path: Path, names: list[str], *, allow_missing: bool) -> Iterator[pa.RecordBatch]:
        texts = [name for name in names if self._is_text(name)]
        numbers = [name for name in names if not self._is_text(name)]
        return csv_blocks(path, self._csv_dialect, texts, numbers, allow_missing)

    def _raw_blocks(self, names: list[str], limit: int) -> Iterator[pa.RecordBatch]:
        return csv_blocks(self._path, self._csv_dialect, names, [], allow_missing=True, limit=limit + 1)

    @property
    def _dialect(self) -> Hashable:
        return self._csv_dialect

    def _names_in(self, path: Path) -> list[str]:
        """Without a header, columns are matched by number, so only a target in the last column may be missing."""
        names, columns = column_names(path, self._csv_dialect), self._names
        complete = [columns, columns[:-1]] if self._target == columns[-1] else [columns]
        if not self._csv_dialect.header and names not in complete:
            raise DataError(
                f"{path}: has {len(names)} columns, but {self._path.name} has {len(columns)}. Without a header, both "
                "files must have the same columns."
            )
        return names
