"""The guessed content of a table, and the arguments of the data source that reads it so."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal, TypeAlias

import psutil

from engine.data.tables.arrow import pa, parquet
from engine.data.tables.column_roles import Task
from engine.data.tables.csv_columns import MISSING, column_names, csv_blocks, format_names
from engine.data.tables.csv_dialect import Dialect
from engine.data.tables.date_format import ISO, TIMESTAMP
from engine.data.tables.inference.column_guess import (
    ColumnGuess,
    ColumnRole,
    ColumnType,
    decides_day_order,
    guess_column,
)
from engine.data.tables.inference.column_statistics import ColumnStatistics
from engine.data.tables.inference.dialect_guess import guess_dialect
from engine.data.tables.inference.target_guess import guess_target, guess_task
from engine.data.tables.json_lines_table import json_names, json_text_blocks
from engine.data.tables.parquet_table import parquet_schema
from engine.errors import DataError
from engine.system.files import check_regular

ColumnFill: TypeAlias = Literal["", "median", "mean", "most frequent", "zero"]
TableFormat: TypeAlias = Literal["CSV", "Parquet", "JSONLines"]

PREVIEW_ROWS = 50
_EXAMPLES = 4
MAX_COLUMNS = 5000

SUFFIXES: dict[str, TableFormat] = {
    ".csv": "CSV", ".tsv": "CSV", ".tab": "CSV", ".data": "CSV", ".dat": "CSV", ".txt": "CSV",
    ".parquet": "Parquet", ".pq": "Parquet", ".jsonl": "JSONLines", ".ndjson": "JSONLines", ".json": "JSONLines",
}  # fmt: skip

ReportProgress: TypeAlias = Callable[[float], None]
"""Receives the fraction of the file that was read. An exception ends the reading."""


@dataclass(frozen=True, slots=True)
class ColumnSchema:
    """What a column contains and how it is used."""

    name: str
    guess: ColumnGuess
    role: ColumnRole
    type: ColumnType
    missing: int
    distinct: int
    is_counted: bool
    """Whether `distinct` is exact; otherwise there are more."""
    examples: tuple[str, ...]
    marks: tuple[str, ...] = ()
    """Texts besides the usual ones that mark a missing value."""
    date_format: str = ""
    is_integer: bool = False
    class_counts: tuple[tuple[str, int], ...] = ()
    """The most frequent values with their numbers of rows."""
    fill: ColumnFill = ""
    """Replacement of missing numbers; that of the whole table if empty."""


@dataclass(frozen=True, slots=True)
class TableSchema:
    """The guessed content of a table."""

    path: Path
    format: TableFormat
    dialect: Dialect
    rows: int
    columns: tuple[ColumnSchema, ...]
    task: Task
    notes: tuple[str, ...] = ()
    """What was found in the file, as sentences."""
    preview: tuple[tuple[str, ...], ...] = ()
    """Texts of the first rows."""
    bad_lines: int = 0
    """Number of lines with too many or too few columns."""

    @property
    def targets(self) -> tuple[str, ...]:
        return tuple(column.name for column in self.columns if column.role == "target")

    @property
    def inputs(self) -> tuple[ColumnSchema, ...]:
        return tuple(column for column in self.columns if column.role == "input")

    def with_column(
        self,
        index: int,
        *,
        role: ColumnRole | None = None,
        type: ColumnType | None = None,
        date_format: str | None = None,
        fill: ColumnFill | None = None,
    ) -> TableSchema:
        """The schema with another role, type or fill of a column. A new class target replaces the previous target."""
        old = self.columns[index]
        new = replace(
            old,
            role=role or old.role,
            type=type or old.type,
            date_format=old.date_format if date_format is None else date_format,
            fill=old.fill if fill is None else fill,
        )
        if new.type == "date" and not new.date_format:
            new = replace(new, date_format=ISO)
        columns = list(self.columns)
        if role == "target" and old.role != "target":
            columns = [replace(each, role="input") if each.role == "target" else each for each in columns]
        columns[index] = new
        task = self.task
        if new.role == "target" and (role or type):
            task = "number" if new.type == "number" and not (new.is_integer and 2 <= new.distinct <= 10) else "classes"
        return replace(self, columns=tuple(columns), task=task)

    def with_task(self, task: Task) -> TableSchema:
        return replace(self, task=task)


def infer_table(
    path: Path, dialect: Dialect | None = None, report_progress: ReportProgress = lambda share: None
) -> TableSchema:
    """Read a table once and guess what its columns contain. Memory does not depend on the number of rows.

    Args:
        path: CSV, Parquet or JSON-lines file
        dialect: format of a CSV file; guessed if None
        report_progress: receives the fraction of the file that was read; an exception ends the reading

    Raises:
        DataError: the file cannot be read as a table.
    """
    kind = SUFFIXES.get(path.suffix.lower(), "CSV")
    notes: tuple[str, ...] = ()
    if kind != "CSV":
        dialect = Dialect()
    elif dialect is None:
        guessed = guess_dialect(path)
        dialect, notes = guessed.dialect, guessed.notes
    table = _TableReader(path, kind, dialect)
    found, preview = _collect(table, report_progress)
    rows = next(iter(found.values())).rows if found else 0
    if not rows:
        raise DataError(f"{path}: has no rows below the column names. Add rows.")
    dialect = replace(dialect, bad_lines="skip" if table.bad_lines else "stop")
    if table.bad_lines:
        lines = "1 line has" if table.bad_lines == 1 else f"{table.bad_lines:,} lines have"
        notes = (*notes, f"{lines} too many or too few columns and {'is' if table.bad_lines == 1 else 'are'} skipped.")
    columns, task = _guess_columns(table, found)
    return TableSchema(path, kind, dialect, rows, columns, task, notes, preview, table.bad_lines)


def _guess_columns(table: _TableReader, found: dict[str, ColumnStatistics]) -> tuple[tuple[ColumnSchema, ...], Task]:
    orders = {order for each in found.values() if (order := decides_day_order(each)) is not None}
    day_first = orders.pop() if len(orders) == 1 else True if table.dialect.decimal == "comma" else None
    guesses = [table.known.get(name) or guess_column(name, each, day_first=day_first) for name, each in found.items()]
    target = guess_target(list(found), guesses, list(found.values()))
    chosen = target.columns if target else ()
    task: Task = target.task if target else "classes"
    columns = tuple(
        _column(name, guess, each, "target" if index in chosen else guess.role)
        for index, ((name, each), guess) in enumerate(zip(found.items(), guesses, strict=True))
    )
    return columns, task


def _column(name: str, guess: ColumnGuess, found: ColumnStatistics, role: ColumnRole) -> ColumnSchema:
    marks = {mark for mark in found.marks if mark not in MISSING} | set(guess.strange)
    strange = sum(found.others[text] or found.other_amounts[text] for text in guess.strange)
    examples = tuple(text for text, _ in found.counts.most_common(_EXAMPLES + len(guess.strange)))
    return ColumnSchema(
        name,
        guess,
        role,
        guess.type,
        found.missing + strange,
        found.distinct - sum(text in found.counts for text in guess.strange),
        found.is_counted,
        tuple(text for text in examples if text not in guess.strange)[:_EXAMPLES],
        tuple(sorted(marks)),
        guess.date_format,
        found.integers == found.numbers and found.numbers > 0,
        tuple(found.counts.most_common(20)),
    )


# -- reading -----------------------------------------------------------------------------------


class _TableReader:
    """Blocks of texts of a table in any format."""

    def __init__(self, path: Path, kind: TableFormat, dialect: Dialect) -> None:
        self.path = path
        self.dialect = replace(dialect, bad_lines="skip")
        self.bad_lines = 0
        self.known: dict[str, ColumnGuess] = {}
        """Guesses from the column types of a Parquet file."""
        self._kind = kind
        check_regular_file(path)
        self.names = self._read_names()
        if len(self.names) > MAX_COLUMNS:
            raise DataError(f"{path}: has {len(self.names):,} columns, but the import reads at most {MAX_COLUMNS:,}.")

    def _read_names(self) -> list[str]:
        if self._kind == "CSV":
            return column_names(self.path, self.dialect)
        if self._kind == "JSONLines":
            return json_names(self.path)
        schema = parquet_schema(self.path)
        for field in schema:
            if pa.types.is_timestamp(field.type) or pa.types.is_date(field.type):
                form = TIMESTAMP if pa.types.is_timestamp(field.type) else ISO
                self.known[field.name] = ColumnGuess("date", date_format=form)
            elif pa.types.is_nested(field.type) or pa.types.is_binary(field.type):
                self.known[field.name] = ColumnGuess("text", "ignore", f"The column has the type {field.type}.")
        return schema.names

    def blocks(self) -> Iterator[pa.RecordBatch]:
        if self._kind == "CSV":
            return csv_blocks(self.path, self.dialect, self.names, [], True, on_bad_line=self._count_bad_line)
        if self._kind == "JSONLines":
            return json_text_blocks(self.path, self.names)
        return self._parquet_blocks()

    def _count_bad_line(self) -> None:
        self.bad_lines += 1

    def _parquet_blocks(self) -> Iterator[pa.RecordBatch]:
        with parquet.ParquetFile(self.path) as file:
            for batch in file.iter_batches(2**14):
                columns = [_as_text(column) for column in batch.columns]
                yield pa.RecordBatch.from_arrays(columns, batch.schema.names)


def check_regular_file(path: Path) -> None:
    """Raises DataError if there is no such file, or it is a device or a folder."""
    try:
        check_regular(path)
    except OSError as error:
        raise DataError(f"{path}: cannot be read: {error.strerror or error}.") from None


def _as_text(column: Any) -> Any:
    if pa.types.is_nested(column.type) or pa.types.is_binary(column.type):
        return pa.array([None if value is None else "…" for value in column.is_valid().to_pylist()], pa.string())
    return column.cast(pa.string())


def _collect(
    table: _TableReader, report_progress: ReportProgress
) -> tuple[dict[str, ColumnStatistics], tuple[tuple[str, ...], ...]]:
    """Statistics by column, and the texts of the first rows."""
    found = {name: ColumnStatistics(table.dialect.decimal_point) for name in table.names}
    preview: list[tuple[str, ...]] = []
    size, done = max(table.path.stat().st_size, 1), 0
    report_progress(0.0)
    for block in table.blocks():
        if len(preview) < PREVIEW_ROWS:
            rows = block.slice(0, PREVIEW_ROWS - len(preview))
            preview += zip(*([text or "" for text in column.to_pylist()] for column in rows.columns), strict=True)
        for name, each in found.items():
            each.add(block.column(name))
        done += block.nbytes
        report_progress(min(done / size, 0.99))
        _check_memory(table.path)
    report_progress(1.0)
    return found, tuple(preview)


def _check_memory(path: Path) -> None:
    if psutil.virtual_memory().available < 2**27:
        raise DataError(f"{path}: less than 128 MiB of memory are free. Close other programs.")


# -- the data source ---------------------------------------------------------------------------


def source_arguments(schema: TableSchema, *, missing: str = "", path: str | None = None) -> dict[str, Any]:
    """The arguments of `data.CSV`, `data.Parquet` or `data.JSONLines` that differ from their defaults.

    Args:
        schema: the content of the table
        missing: "drop" or "keep"; keep if an input or the target has missing values, if empty
        path: path to write in place of that of the schema
    """
    used = [column for column in schema.columns if column.role != "ignore"]
    inputs = schema.inputs
    formatted = [column.name for column in used if column.guess.formatted and column.type == "number"]
    arguments: dict[str, Any] = {
        "path": path or str(schema.path),
        "target": _target_text(schema),
        "task": schema.task,
        "ignore": format_names(column.name for column in schema.columns if column.role == "ignore"),
        "categorical": format_names(column.name for column in inputs if column.type in ("category", "text")),
        "dates": format_names(_date_entry(column) for column in inputs if column.type == "date"),
        "formatted": format_names(formatted),
        "missing": missing or ("keep" if any(column.missing for column in used) else "stop"),
    }
    marks = dict.fromkeys(mark for column in used for mark in column.marks)
    if marks and schema.format != "Parquet":
        arguments["missing_texts"] = format_names(dict.fromkeys([*MISSING[1:], *marks]))
    if schema.format == "CSV":
        arguments |= _dialect_arguments(schema.dialect)
    defaults = {"task": "classes", "missing": "stop"}
    return {key: value for key, value in arguments.items() if value != defaults.get(key, "")}


def _target_text(schema: TableSchema) -> str:
    names = schema.targets
    return names[0] if len(names) == 1 else format_names(names)


def _date_entry(column: ColumnSchema) -> str:
    return column.name if column.date_format in ("", ISO) else f"{column.name}: {column.date_format}"


def _dialect_arguments(dialect: Dialect) -> dict[str, Any]:
    keys = ("separator", "header", "encoding", "decimal", "comment", "skip_lines", "skip_rows", "bad_lines")
    plain = Dialect()
    return {key: getattr(dialect, key) for key in keys if getattr(dialect, key) != getattr(plain, key)}


def table_suffixes() -> Sequence[str]:
    """Suffixes of files that are tables without doubt."""
    return tuple(suffix for suffix in SUFFIXES if suffix not in (".txt", ".json"))


__all__ = [
    "PREVIEW_ROWS",
    "SUFFIXES",
    "ColumnSchema",
    "TableFormat",
    "TableSchema",
    "check_regular_file",
    "guess_task",
    "infer_table",
    "source_arguments",
    "table_suffixes",
]
