"""Tables in Parquet files."""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from pathlib import Path
from typing import Annotated, Any

import numpy as np

from engine.data.file_access import ReadErrorContext, required_path
from engine.data.splits import Share
from engine.data.tables.arrow import pa, parquet
from engine.data.tables.column_roles import CategoryEncoding, ColumnArguments, Task
from engine.data.tables.date_format import DateFeatures
from engine.data.tables.table_splits import Missing, TableSplits
from engine.errors import DataError
from engine.registry import DATASETS, PathTo
from engine.system.files import check_regular


@DATASETS.register(
    category="Tables", title="Parquet table", outputs=("samples",), tags=("table", "tabular", "Arrow", "columns")
)
class Parquet(TableSplits):
    """A table in a Parquet file. Reads only used columns. Inputs are as in CSV table.

    Classes are numbered in sorted order, numerically if all are numbers. Categories come from the training rows; a
    category that only occurs in validation is encoded as zeros.

    Args:
        path: Parquet file
        target: name of the target column; several numbers are separated by commas
        task: learn classes (any text or integer) or a number
        ignore: columns to leave out, separated by commas
        validation: fraction of the rows used for validation
        columns: feature columns, separated by commas; all columns if empty
        categorical: categorical columns, separated by commas; they are one-hot encoded
        missing: for a missing value, stop the run, drop its row, or keep it as NaN for Fill missing
        dates: date columns, separated by commas; a column of texts has its format unless it is ISO: joined: %d/%m/%Y
        date_features: numbers of a date: calendar (year, and month, weekday and hour as sine and cosine), days since
            2000, or both
        formatted: text columns of numbers with signs or units, separated by commas
        indicators: columns that get another input, which is 1 where the value is missing, separated by commas
        category_encoding: one input per category, or one category number per column, 0 for an unknown one
    """

    def __init__(
        self,
        path: Annotated[str, PathTo("file", (".parquet", ".pq"))],
        target: str,
        task: Task = "classes",
        ignore: str = "",
        validation: Share = 0.2,
        columns: str = "",
        categorical: str = "",
        missing: Missing = "stop",
        dates: str = "",
        date_features: DateFeatures = "calendar",
        formatted: str = "",
        indicators: str = "",
        category_encoding: CategoryEncoding = "one-hot",
    ) -> None:
        found = required_path("Parquet", "path", path, "file")
        schema = parquet_schema(found)
        hint = "Add columns to learn from."
        arguments = ColumnArguments(
            target, task, ignore, columns, categorical, dates, date_features, formatted, indicators, category_encoding
        )
        super().__init__(found, schema.names, arguments, missing, validation, None, hint)
        self._check_column_types(
            found, schema, [*self._roles.numbers, *(() if task == "classes" else self._roles.targets)]
        )

    def _names_in(self, path: Path) -> list[str]:
        schema = parquet_schema(path)
        self._check_column_types(path, schema, [name for name in self._roles.numbers if name in schema.names])
        return schema.names

    def _blocks(self, path: Path, names: list[str], *, allow_missing: bool) -> Iterator[pa.RecordBatch]:
        row = 0
        with _ParquetErrorContext(path), parquet.ParquetFile(path) as file:
            for batch in file.iter_batches(columns=names):
                arrays = [self._cast(name, batch.column(name)) for name in names]
                block = pa.RecordBatch.from_arrays(arrays, names)
                _check_values(path, block, row, allow_missing=allow_missing)
                row += len(block)
                yield block

    def _cast(self, name: str, column: Any) -> Any:
        """Integers beyond the precision of float64 are rounded, as in CSV files; diagnostics report this."""
        if pa.types.is_temporal(column.type) and name in dict(self._roles.dates):
            return column
        return column.cast(pa.string()) if self._roles.is_text(name) else column.cast(pa.float64(), safe=False)

    def _raw_blocks(self, names: list[str], limit: int) -> Iterator[pa.RecordBatch]:
        schema, rows_read = parquet_schema(self._path), 0
        readable = [name for name in names if pa.types.is_integer(schema.field(name).type) or self._roles.is_text(name)]
        with _ParquetErrorContext(self._path), parquet.ParquetFile(self._path) as file:
            for batch in file.iter_batches(columns=readable):
                yield pa.RecordBatch.from_arrays([batch.column(name).cast(pa.string()) for name in readable], readable)
                rows_read += len(batch)
                if rows_read > limit:
                    return

    @property
    def _dialect(self) -> Hashable:
        return "Parquet"

    def _check_column_types(self, path: Path, schema: pa.Schema, numbers: list[str]) -> None:
        for name in numbers:
            if name in self._roles.formatted:
                continue
            column_type = schema.field(name).type
            if not (
                pa.types.is_integer(column_type)
                or pa.types.is_floating(column_type)
                or pa.types.is_boolean(column_type)
                or pa.types.is_decimal(column_type)
            ):
                raise DataError(
                    f"{path}: column {name!r} has type {column_type}, not numbers. Add it to categorical or ignore."
                )


def _check_values(path: Path, block: pa.RecordBatch, row: int, *, allow_missing: bool) -> None:
    for name in block.schema.names:
        column = block.column(name)
        if not allow_missing and column.null_count:
            number = row + int(np.argmin(column.is_valid().to_numpy(zero_copy_only=False))) + 1
            raise DataError(
                f"{path}: row {number}, column {name!r}: missing value. Set missing to drop or keep, or ignore the "
                "column."
            )
        if pa.types.is_floating(column.type):
            values = column.to_numpy(zero_copy_only=False)
            with np.errstate(over="ignore"):
                is_invalid = np.isinf(values.astype(np.float32)) | (
                    np.isnan(values) & column.is_valid().to_numpy(False)
                )
            if allow_missing:
                is_invalid &= ~np.isnan(values)
            if is_invalid.any():
                index = int(np.argmax(is_invalid))
                where = f"{path}: row {row + index + 1}, column {name!r}"
                raise DataError(f"{where}: {values[index]} is not a finite number. Correct it, or ignore the column.")


class _ParquetErrorContext:
    """Turns pyarrow's errors into a DataError that names the file."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __enter__(self) -> None:
        with ReadErrorContext(self.path):
            check_regular(self.path)  # Arrow opens the file itself

    def __exit__(self, kind: Any, error: BaseException | None, trace: Any) -> None:
        if isinstance(error, (pa.ArrowException, OSError)):
            text = str(error).partition("\n")[0]
            raise DataError(f"{self.path}: cannot be read as Parquet: {text.rstrip('.')}. Check the file.") from None


def parquet_schema(path: Path) -> pa.Schema:
    """The columns and types of a file. Raises DataError if it is not a Parquet file."""
    with _ParquetErrorContext(path), parquet.ParquetFile(path) as file:
        return file.schema_arrow
