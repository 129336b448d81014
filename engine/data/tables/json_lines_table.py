"""Tables in JSON-lines files: one object per line."""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterator
from pathlib import Path
from typing import Annotated, Any

import msgspec

from engine.data.file_access import ReadErrorContext, check_memory
from engine.data.splits import Share
from engine.data.tables.arrow import pa
from engine.data.tables.column_roles import CategoryEncoding, ColumnArguments, Task
from engine.data.tables.csv_columns import MISSING, MISSING_TEXTS, parse_names
from engine.data.tables.date_format import DateFeatures
from engine.data.tables.table_splits import Missing, TableSplits
from engine.errors import DataError
from engine.registry import DATASETS, PathTo
from engine.system.files import open_regular

MAX_LINE_BYTES = 2**26
_NAME_RECORDS = 1000
"""Number of records whose keys become columns."""
_BLOCK_ROWS = 10_000
_BYTES_PER_BYTE = 12
"""Memory per byte of a file with one JSON array."""


@DATASETS.register(
    category="Tables", title="JSON lines", outputs=("samples",), tags=("table", "tabular", "JSONL", "NDJSON", "records")
)
class JSONLines(TableSplits):
    """A table in a JSON-lines file: one object per line, or one array of objects. Inputs are as in CSV table.

    The keys of the first 1,000 objects are the columns. Keys of an object within an object are joined by a point:
    `address.city`. Lists are texts.

    Args:
        path: JSON-lines file, or JSON file with one array of objects
        target: name of the target column; several numbers are separated by commas
        task: learn classes (any text or integer) or a number
        ignore: columns to leave out, separated by commas
        validation: fraction of the rows used for validation
        columns: feature columns, separated by commas; all columns if empty
        categorical: categorical columns, separated by commas
        missing: for a missing value, stop the run, drop its row, or keep it as NaN for Fill missing
        missing_texts: texts that mark a missing value, separated by commas; null and empty texts always do
        dates: date columns, separated by commas, each with its format unless it is ISO: joined: %d/%m/%Y
        date_features: numbers of a date: calendar (year, and month, weekday and hour as sine and cosine), days since
            2000, or both
        formatted: text columns of numbers with signs or units, separated by commas
        indicators: columns that get another input, which is 1 where the value is missing, separated by commas
        category_encoding: one input per category, or one category number per column, 0 for an unknown one
    """

    def __init__(
        self,
        path: Annotated[str, PathTo("file", (".jsonl", ".ndjson", ".json"))],
        target: str,
        task: Task = "classes",
        ignore: str = "",
        validation: Share = 0.2,
        columns: str = "",
        categorical: str = "",
        missing: Missing = "stop",
        missing_texts: str = MISSING_TEXTS,
        dates: str = "",
        date_features: DateFeatures = "calendar",
        formatted: str = "",
        indicators: str = "",
        category_encoding: CategoryEncoding = "one-hot",
    ) -> None:
        if not path:
            raise DataError("JSONLines: no file selected. Set path.")
        self._missing_marks = frozenset(("", *MISSING, *parse_names(missing_texts)))
        arguments = ColumnArguments(
            target, task, ignore, columns, categorical, dates, date_features, formatted, indicators, category_encoding
        )
        found = Path(path)
        names = json_names(found)
        super().__init__(found, names, arguments, missing, validation, missing_texts, "Add keys to learn from.")

    def _blocks(self, path: Path, names: list[str], *, allow_missing: bool) -> Iterator[pa.RecordBatch]:
        texts = frozenset(name for name in names if self._roles.is_text(name))
        marks = self._missing_marks if allow_missing else frozenset(("",))
        for records in _record_blocks(path):
            columns: list[Any] = []
            for name in names:
                values = [_value(path, record, name, name in texts, marks) for record in records]
                if not allow_missing and None in values:
                    where = f"{path}: line {records[values.index(None)][0]}, column {name!r}"
                    raise DataError(f"{where} is empty. Fill it in, delete the row, or ignore the column.")
                columns.append(pa.array(values, pa.string() if name in texts else pa.float64()))
            yield pa.RecordBatch.from_arrays(columns, names)

    def _raw_blocks(self, names: list[str], limit: int) -> Iterator[pa.RecordBatch]:
        return json_text_blocks(self._path, names, limit)

    def _names_in(self, path: Path) -> list[str]:
        return json_names(path)

    @property
    def _dialect(self) -> Hashable:
        return "JSON"


_Record = tuple[int, dict[str, Any]]
"""Line number and values by column."""


def json_names(path: Path) -> list[str]:
    """The keys of the first 1,000 objects. Raises DataError if there are none."""
    names: dict[str, None] = {}
    for number, (_, record) in enumerate(json_records(path)):
        names |= dict.fromkeys(record)
        if number + 1 >= _NAME_RECORDS:
            break
    if not names:
        raise DataError(f"{path}: has no objects with keys. Write one object per line, such as {{'x': 1}}.")
    return list(names)


def json_text_blocks(path: Path, names: list[str], limit: int | None = None) -> Iterator[pa.RecordBatch]:
    """Blocks of string columns with at least the first `limit` rows; all rows if None."""
    count = 0
    for records in _record_blocks(path):
        columns = [pa.array([_text(record.get(name)) for _, record in records], pa.string()) for name in names]
        yield pa.RecordBatch.from_arrays(columns, names)
        count += len(records)
        if limit is not None and count > limit:
            return


def json_records(path: Path) -> Iterator[_Record]:
    """Line numbers and flat objects. Raises DataError with the line of invalid JSON."""
    with ReadErrorContext(path):
        file = open_regular(path)
    with file, ReadErrorContext(path):
        start = file.read(64).lstrip(b"\xef\xbb\xbf \t\r\n")
        file.seek(0)
        if start.startswith(b"["):
            yield from _array_records(path, file)
            return
        number = 0
        while line := file.readline(MAX_LINE_BYTES):
            number += 1
            if len(line) == MAX_LINE_BYTES:
                raise DataError(f"{path}: line {number} is longer than 64 MiB. Write one object per line.")
            if line := line.removeprefix(b"\xef\xbb\xbf").strip():
                yield number, _flat(path, number, _decoded(path, number, line))


def _array_records(path: Path, file: Any) -> Iterator[_Record]:
    size = path.stat().st_size
    check_memory(path, _BYTES_PER_BYTE * size, "Write one object per line (JSON lines).")
    found = _decoded(path, 1, file.read().removeprefix(b"\xef\xbb\xbf"))
    for number, record in enumerate(found, 1):
        yield number, _flat(path, number, record)


def _record_blocks(path: Path) -> Iterator[list[_Record]]:
    block: list[_Record] = []
    for record in json_records(path):
        block.append(record)
        if len(block) == _BLOCK_ROWS:
            yield block
            block = []
    if block:
        yield block


def _decoded(path: Path, number: int, line: bytes) -> Any:
    try:
        return msgspec.json.decode(line)
    except (msgspec.DecodeError, RecursionError, UnicodeError) as error:
        raise DataError(f"{path}: line {number} is not valid JSON ({error}). Write one object per line.") from None


def _flat(path: Path, number: int, record: Any) -> dict[str, Any]:
    """An object with the keys of inner objects joined by points."""
    if not isinstance(record, dict):
        raise DataError(f"{path}: line {number} is not an object. Write one object per line, such as {{'x': 1}}.")
    flat: dict[str, Any] = {}
    pending: list[tuple[str, Any]] = [("", record)]
    while pending:
        prefix, value = pending.pop()
        if isinstance(value, dict):
            pending += [(f"{prefix}.{key}" if prefix else str(key), inner) for key, inner in reversed(value.items())]
        else:
            flat[prefix] = value
    return flat


def _text(value: Any) -> str | None:
    if value is None or isinstance(value, str):
        return value
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value) if isinstance(value, int | float) else msgspec.json.encode(value).decode()


def _value(path: Path, record: _Record, name: str, is_text: bool, marks: frozenset[str]) -> Any:
    """A text, a number, or None for a missing value."""
    line, values = record
    text = _text(values.get(name))
    if text is None or text in marks or text.strip() in marks:
        return None
    if is_text:
        return text
    value = values[name]
    try:
        number = float(value) if not isinstance(value, list) else math.nan
    except (ValueError, OverflowError):
        number = math.nan
    if not abs(number) <= 3.4028235e38:
        where = f"{path}: line {line}, column {name!r}"
        raise DataError(
            f"{where}: {text[:40]!r} is not a finite number. Correct it, delete the row, or ignore the column."
        )
    return number
