"""The CSV data set."""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from pathlib import Path
from typing import Annotated

from engine.data.splits import Share
from engine.data.tables.arrow import pa
from engine.data.tables.column_decoder import date_rule, missing_number_texts, number_rule
from engine.data.tables.column_roles import CategoryEncoding, ColumnArguments, Task
from engine.data.tables.csv_columns import (
    MISSING_TEXTS,
    column_names,
    csv_blocks,
    header_hint,
    parse_names,
    separator_hint,
)
from engine.data.tables.csv_dialect import BadLines, Decimal, Dialect, Encoding, Separator
from engine.data.tables.csv_faults import CellRule, find_csv_fault
from engine.data.tables.csv_sampling import sampled_csv_blocks
from engine.data.tables.date_format import DateFeatures
from engine.data.tables.table_splits import Missing, TableSplits
from engine.errors import DataError
from engine.registry import DATASETS, Count, PathTo


@DATASETS.register(category="Tables", title="CSV table", outputs=("samples",), tags=("table", "spreadsheet", "tabular"))
class CSV(TableSplits):
    """A CSV table. Inputs are numeric columns, parts of dates, and one-hot encoded categorical columns.

    Classes are numbered in sorted order, numerically if all are numbers. Categories come from the training rows; a
    category that only occurs in validation is encoded as zeros.

    Args:
        path: CSV file
        target: name of the target column; several numbers are separated by commas
        task: learn classes (any text) or a number
        ignore: columns to leave out, separated by commas
        validation: fraction of the rows used for validation
        separator: column separator
        columns: feature columns, separated by commas; all columns if empty
        categorical: categorical columns, separated by commas; they are one-hot encoded
        missing: for a missing value, stop the run, drop its row, or keep it as NaN for Fill missing
        missing_texts: texts that mark a missing class or category, separated by commas; empty cells always do
        header: the first line has the column names; otherwise the columns are named column 1, column 2 and so on
        dates: date columns, separated by commas, each with its format unless it is ISO: joined: %d/%m/%Y
        date_features: numbers of a date: calendar (year, and month, weekday and hour as sine and cosine), days since
            2000, or both
        formatted: numeric columns with thousands separators, currency or percent signs, or units, separated by commas
        indicators: columns that get another input, which is 1 where the value is missing, separated by commas
        category_encoding: one input per category, or one category number per column, 0 for an unknown one
        decimal: decimal separator
        encoding: text encoding; utf-16 needs a byte order mark; windows-1252 includes Latin-1
        skip_lines: number of lines before the column names
        skip_rows: number of lines to skip after the column names, such as a line of units
        comment: start of comment lines, which are skipped
        bad_lines: for a line with too many or too few columns, stop the run, or skip the line
    """

    def __init__(
        self,
        path: Annotated[str, PathTo("file", (".csv", ".tsv", ".txt"))],
        target: str,
        task: Task = "classes",
        ignore: str = "",
        validation: Share = 0.2,
        separator: Separator = "comma",
        columns: str = "",
        categorical: str = "",
        missing: Missing = "stop",
        missing_texts: str = MISSING_TEXTS,
        header: bool = True,
        dates: str = "",
        date_features: DateFeatures = "calendar",
        formatted: str = "",
        indicators: str = "",
        category_encoding: CategoryEncoding = "one-hot",
        decimal: Decimal = "point",
        encoding: Encoding = "utf-8",
        skip_lines: Count = 0,
        skip_rows: Count = 0,
        comment: str = "",
        bad_lines: BadLines = "stop",
    ) -> None:
        if not path:
            raise DataError("CSV: no file selected. Set path.")
        texts = tuple(parse_names(missing_texts))
        dialect = Dialect(separator, header, texts, encoding, decimal, comment, skip_lines, skip_rows, bad_lines)
        found = Path(path)
        names = column_names(found, dialect)
        arguments = ColumnArguments(
            target, task, ignore, columns, categorical, dates, date_features, formatted, indicators, category_encoding
        )
        self._csv_dialect = dialect
        wrong = separator_hint(names, separator)
        hints = wrong or "Add columns to learn from.", f" {wrong}" if wrong else header_hint(names)
        super().__init__(found, names, arguments, missing, validation, missing_texts, *hints)

    def _blocks(self, path: Path, names: list[str], *, allow_missing: bool) -> Iterator[pa.RecordBatch]:
        texts = [name for name in names if self._roles.is_text(name)]
        numbers = [name for name in names if not self._roles.is_text(name)]
        return csv_blocks(path, self._csv_dialect, texts, numbers, allow_missing)

    def _raw_blocks(self, names: list[str], limit: int) -> Iterator[pa.RecordBatch]:
        return csv_blocks(self._path, self._csv_dialect, names, [], allow_missing=True, limit=limit + 1)

    def _sampled_blocks(self, names: list[str], rows: int) -> tuple[list[pa.RecordBatch], int]:
        if not self._csv_dialect.is_plain:
            return super()._sampled_blocks(names, rows)
        texts = [name for name in names if self._roles.is_text(name)]
        numbers = [name for name in names if not self._roles.is_text(name)]
        allow_missing = self._missing != "stop"
        found = list(
            sampled_csv_blocks(self._path, self._csv_dialect, texts, numbers, allow_missing=allow_missing, rows=rows)
        )
        if not found:
            return super()._sampled_blocks(names, rows)
        count, size = sum(len(block) for block, _ in found), sum(size for _, size in found)
        return [block for block, _ in found], round(count * self._path.stat().st_size / size)

    @property
    def _dialect(self) -> Hashable:
        return self._csv_dialect

    @property
    def _decimal_point(self) -> str:
        return self._csv_dialect.decimal_point

    def _value_fault(self, path: Path, name: str, row: int, text: str, reason: str) -> DataError:
        """Finds the line in a second pass over the file."""
        rules: dict[str, CellRule] = {date: date_rule(form) for date, form in self._roles.dates}
        rules |= {formatted: number_rule(self._decimal_point) for formatted in self._roles.formatted}
        missing = missing_number_texts(self._missing_texts or ()) if self._missing != "stop" else ()
        names = column_names(path, self._csv_dialect)
        found = find_csv_fault(path, self._csv_dialect, (), (), missing, names, rules)
        return DataError(found) if found else super()._value_fault(path, name, row, text, reason)

    def _names_in(self, path: Path) -> list[str]:
        """Without a header, columns are matched by number, so only a target in the last column may be missing."""
        names, columns = column_names(path, self._csv_dialect), self._names
        complete = [columns, columns[:-1]] if self._roles.targets == (columns[-1],) else [columns]
        if not self._csv_dialect.header and names not in complete:
            raise DataError(
                f"{path}: has {len(names)} columns, but {self._path.name} has {len(columns)}. Without a header, both "
                "files must have the same columns."
            )
        return names
