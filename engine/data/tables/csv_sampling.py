"""Rows at even intervals of a large CSV file, without reading all of it."""

from __future__ import annotations

import io
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from engine.data.tables.arrow import arrow_csv, pa
from engine.data.tables.csv_columns import column_names, convert_options
from engine.data.tables.csv_dialect import Dialect
from engine.system.files import open_regular

PLACES = 40
"""Number of places in the file at which rows are read."""
_LINE_BYTES = 4096
"""Assumed length of a line while the length of lines is unknown."""


def sampled_csv_blocks(
    path: Path, dialect: Dialect, texts: Sequence[str], numbers: Sequence[str], *, allow_missing: bool, rows: int
) -> Iterator[tuple[pa.RecordBatch, int]]:
    """Blocks of about `rows` rows in total from places at even intervals, each with the bytes that it was read from.

    Places that cannot be read, for example because they are inside a quoted text of several lines, are left out.
    """
    names = column_names(path, dialect)
    convert = convert_options(dialect, texts, numbers, allow_missing=allow_missing)
    parse = arrow_csv.ParseOptions(delimiter=dialect.delimiter, invalid_row_handler=lambda row: "skip")
    size = path.stat().st_size
    wanted = -(-rows // PLACES)
    line = _LINE_BYTES
    with open_regular(path) as file:
        for place in range(PLACES):
            file.seek(place * size // PLACES)
            if place or dialect.header:
                file.readline()
            text = _lines(file.read(wanted * line), wanted)
            if not text:
                continue
            line = max(2 * len(text) // (text.count(b"\n") or 1), 16)
            read = arrow_csv.ReadOptions(column_names=names)
            try:
                table: Any = arrow_csv.read_csv(
                    io.BytesIO(text), read_options=read, parse_options=parse, convert_options=convert
                )
            except pa.ArrowInvalid:
                continue
            for batch in table.combine_chunks().to_batches():
                yield batch, len(text)


def _lines(text: bytes, most: int) -> bytes:
    """The first complete lines of a text."""
    end = -1
    for _ in range(most):
        following = text.find(b"\n", end + 1)
        if following < 0:
            break
        end = following
    return text[: end + 1]


__all__ = ["sampled_csv_blocks"]
