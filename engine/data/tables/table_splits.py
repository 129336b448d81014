"""Training and validation rows of a table in any file format."""

from __future__ import annotations

import copy
from abc import abstractmethod
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import cached_property, partial
from pathlib import Path
from typing import ClassVar, Literal, TypeAlias

from engine.data.diagnostics import Diagnostic, format_counts
from engine.data.lru_cache import LRUCache, file_fingerprint
from engine.data.samples import Samples
from engine.data.splits import Splits, train_validation_split
from engine.data.tables.arrow import pa
from engine.data.tables.column_decoder import ColumnDecoder, missing_number_texts
from engine.data.tables.column_roles import ColumnArguments, ColumnRoles, column_roles
from engine.data.tables.column_survey import MAX_CELLS, MAX_ROWS, TableSurvey, survey_columns, surveys
from engine.data.tables.csv_columns import column_list, parse_names
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
from engine.shape import Spec

Missing: TypeAlias = Literal["stop", "drop", "keep"]

sampled_tables: LRUCache[tuple[EncodedTable, int]] = LRUCache(2)

MAX_CHECKED_BYTES = 32 * 2**20
"""Largest file in bytes that is read completely for diagnostics before a run."""


class TableSplits(Splits):
    """Training and validation rows of a table, read in blocks. Subclasses implement the file format.

    Args:
        path: the file
        names: all column names
        arguments: the use of columns
        missing, validation: as in `CSV`
        missing_texts: texts that mark a missing value; None if the format has null values
        hint: next step of the error for a table without feature columns
        unknown_hint: addition to the error for an unknown column
    """

    def __init__(
        self,
        path: Path,
        names: list[str],
        arguments: ColumnArguments,
        missing: Missing,
        validation: float,
        missing_texts: str | None,
        hint: str,
        unknown_hint: str = "",
    ) -> None:
        self._path = path
        self._names = names
        self._missing: Missing = missing
        self._share = validation
        self._missing_texts = None if missing_texts is None else tuple(parse_names(missing_texts))
        self._roles: ColumnRoles = column_roles(path, names, arguments, hint, unknown_hint)

    _total_rows: int | None = None
    reports_missing: ClassVar[bool] = True
    """Whether diagnostics report rows without a value. Off for bundled tables, whose description says it."""

    @abstractmethod
    def _blocks(self, path: Path, names: list[str], *, allow_missing: bool) -> Iterator[pa.RecordBatch]:
        """Blocks of several thousand rows with these columns: texts as strings, other columns as float64."""

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
    def _decimal_point(self) -> str:
        return "."

    def _value_fault(self, path: Path, name: str, row: int, text: str, reason: str) -> DataError:
        """The error for a text that cannot be read; the row is counted from 1."""
        return DataError(
            f"{path}: row {row}, column {name!r}: {text[:40]!r} {reason}. Correct it, or ignore the column."
        )

    @property
    def input(self) -> Spec:
        """Reads the file if there are categorical columns: the number of categories is part of the shape."""
        return Spec((len(self.feature_names),), float32)

    @property
    def target(self) -> Spec:
        """A class number, or numbers with shape (K,), which matches the output of a Linear layer."""
        return Spec((), int64) if self._roles.classes else Spec((len(self._roles.targets),), float32)

    @property
    def classes(self) -> int | None:
        return len(self.class_names) if self._roles.classes else None

    @property
    def class_names(self) -> tuple[str, ...]:
        return self._table.class_names

    @property
    def feature_names(self) -> tuple[str, ...]:
        """Names of the inputs; ``column=text`` for each category."""
        return self._table.feature_names if self._roles.texts else self._roles.encoded

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
        absent = next((name for name in self._roles.inputs if name not in columns), None)
        if absent is not None:
            raise DataError(f"{path}: has no column {absent!r}. It has {column_list(path, columns)}.")
        blocks = self._decoded(path, list(self._roles.inputs), allow_missing=self._missing == "keep")
        categories = self._table.categories if self._roles.texts else {}
        if self._missing == "keep":
            blocks = map(self._row_filter(()).apply, blocks)
        return TableSamples(self._encode(path, blocks, categories), path)

    def diagnostics(self, *, read_all: bool = False) -> tuple[Diagnostic, ...]:
        roles = self._roles
        ignored, categorical = tuple(roles.given["ignore"]), tuple(roles.given["categorical"])
        texts = self._missing_texts
        arguments = TableArguments(self._path.name, roles.targets, roles.classes, ignored, categorical, texts)
        found: list[Diagnostic] = []
        for part in (self._row_diagnostics(arguments, read_all=read_all), self._column_diagnostics(arguments)):
            with suppress(DataError):  # raised again when the samples are read
                found.extend(part)
        return tuple(found)

    def _row_diagnostics(self, arguments: TableArguments, *, read_all: bool) -> Iterator[Diagnostic]:
        if read_all or arguments.classes or self._roles.texts or file_fingerprint(self._path)[1] <= MAX_CHECKED_BYTES:
            table = self._table
            if table.missing_counts is not None and self.reports_missing:
                yield from missing_value_diagnostics(arguments, table.missing_counts)
            yield from unseen_category_diagnostics(arguments.file, table.unseen, len(table.targets))
        elif self._missing != "stop":
            yield from sampled_missing_value_diagnostics(arguments, self._survey, self._required_columns)

    def _column_diagnostics(self, arguments: TableArguments) -> Iterator[Diagnostic]:
        yield from header_diagnostics(arguments, self._names, self._roles.given)
        yield from column_diagnostics(arguments, self._survey, self._plain_inputs, self._roles.texts)

    @property
    def _plain_inputs(self) -> list[str]:
        """Categories, and numbers without signs or units."""
        roles = self._roles
        return [*(name for name in roles.numbers if name not in roles.formatted), *roles.texts]

    @property
    def _survey(self) -> TableSurvey:
        used = [*self._roles.numbers, *(() if self._roles.classes else self._roles.targets)]
        numbers = [name for name in used if name not in self._roles.formatted]
        names = [*numbers, *self._roles.texts]
        if not names:
            return TableSurvey(0, True, {})
        limit = min(MAX_ROWS, max(MAX_CELLS // len(names), MAX_CHANCE_ROWS))
        key = file_fingerprint(self._path), tuple(names), len(numbers), self._dialect
        return surveys.get(key, lambda: survey_columns(self._raw_blocks(names, limit), numbers, limit))

    @property
    def total_rows(self) -> int | None:
        return self._total_rows

    def sampled(self, rows: int) -> TableSplits:
        """Rows at even intervals of a large CSV table, or the first rows of another one, unless it has been read."""
        if file_fingerprint(self._path)[1] <= MAX_CHECKED_BYTES or self._key in tables:
            return self
        other = copy.copy(self)
        found, other._total_rows = sampled_tables.get((self._key, rows), partial(self._read_sample, rows))
        vars(other)["_table"] = found
        return other

    def _read_sample(self, rows: int) -> tuple[EncodedTable, int]:
        """Some rows, and the estimated number of all."""
        names = [*self._roles.inputs, *self._roles.targets]
        blocks, total = self._sampled_blocks(names, rows)
        found = self._encode(self._path, map(self._row_filter(self._required_columns).apply, self._decode(blocks)))
        if not len(found.targets):
            raise DataError(f"{self._path}: has no complete row among {rows:,} sampled rows. Fill in the values.")
        return found, total

    def _sampled_blocks(self, names: list[str], rows: int) -> tuple[list[pa.RecordBatch], int]:
        """Undecoded blocks of the first rows, and the number of all rows, estimated from the size of the file."""
        found: list[pa.RecordBatch] = []
        for block in self._blocks(self._path, names, allow_missing=self._missing != "stop"):
            found.append(block)
            if sum(map(len, found)) >= rows:
                break
        count, size = sum(map(len, found)), sum(block.nbytes for block in found)
        return found, max(count, round(count * file_fingerprint(self._path)[1] / max(size, 1)))

    @property
    def _key(self) -> Hashable:
        fingerprint = file_fingerprint(self._path)
        return fingerprint, self._roles, self._missing, self._missing_texts, self._share, self._dialect

    @cached_property
    def _table(self) -> EncodedTable:
        return tables.get(self._key, self._read)

    @property
    def _required_columns(self) -> Sequence[str]:
        """Columns in which a missing value drops the row."""
        roles = self._roles
        return (*roles.inputs, *roles.targets) if self._missing == "drop" else roles.targets

    def _read(self) -> EncodedTable:
        names = [*self._roles.inputs, *self._roles.targets]
        rows = self._row_filter(self._required_columns)
        blocks = self._decoded(self._path, names, allow_missing=self._missing != "stop")
        found = self._encode(self._path, map(rows.apply, blocks))
        if len(found.targets):
            return replace(found, missing_counts=rows.counts)
        if self._missing == "drop":
            raise DataError(
                f"{self._path}: every row has a missing value. Ignore the columns with the most missing values, or "
                "set missing to keep."
            )
        if rows.counts.dropped:
            name = next(name for name in self._roles.targets if name in rows.counts.dropped_by_column)
            reason = format_counts(rows.counts.dropped_by_column[name])
            raise DataError(
                f"{self._path}: no row has a value in {name!r} ({reason}). Fill in the values, or "
                "remove from missing_texts any text that is a value."
            )
        raise DataError(f"{self._path}: has no rows below the column names. Add rows.")

    def _encode(
        self, path: Path, blocks: Iterable[pa.RecordBatch], categories: Mapping[str, Sequence[str]] | None = None
    ) -> EncodedTable:
        """Encode all rows. With known categories (unlabeled data) the targets are zeros."""
        roles = self._roles
        targets = roles.targets if categories is None else None
        columns = TableColumns(roles.encoded, roles.texts, targets, classes=roles.classes, one_hot=roles.one_hot)
        return read_table(path, blocks, columns, self._share, categories)

    def _decoded(self, path: Path, names: list[str], *, allow_missing: bool) -> Iterator[pa.RecordBatch]:
        """Blocks of these columns, with the numbers of dates and other columns that have to be decoded."""
        return self._decode(self._blocks(path, names, allow_missing=allow_missing), path, allow_missing=allow_missing)

    def _decode(
        self, blocks: Iterable[pa.RecordBatch], path: Path | None = None, *, allow_missing: bool | None = None
    ) -> Iterator[pa.RecordBatch]:
        if not self._roles.is_decoded:
            return iter(blocks)
        if allow_missing is None:
            allow_missing = self._missing != "stop"
        missing = missing_number_texts(self._missing_texts or ()) if allow_missing else ("",)
        fault = partial(self._value_fault, path or self._path)
        return map(ColumnDecoder(self._roles, missing, self._decimal_point, fault).decode, blocks)

    def _row_filter(self, required: Iterable[str]) -> MissingRowFilter:
        """The filter of rows with missing values in `needed`."""
        texts = () if self._missing == "stop" or self._missing_texts is None else ("", *self._missing_texts)
        return MissingRowFilter(tuple(required), self._roles.texts, texts)
