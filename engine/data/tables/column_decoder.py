"""Numbers from dates, formatted numbers and missing values of a table."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from engine.data.tables.arrow import compute, pa
from engine.data.tables.column_roles import ColumnRoles, ValueFault
from engine.data.tables.csv_columns import MISSING
from engine.data.tables.date_format import DateFormat
from engine.data.tables.formatted_numbers import parse_formatted

pc: Any = compute  # its functions are created at import, which type checkers cannot see


class ColumnDecoder:
    """Adds numbers to blocks of rows: parts of dates, formatted numbers, and indicators of missing values.

    Args:
        roles: the columns
        missing: texts that mark a missing value
        decimal_point: "." or ","
        fault: makes the error for a text that cannot be read
    """

    def __init__(self, roles: ColumnRoles, missing: Sequence[str], decimal_point: str, fault: ValueFault) -> None:
        self._roles = roles
        self._missing = pa.array(sorted({*missing}), pa.string())
        self._decimal_point = decimal_point
        self._fault = fault
        self._rows = 0

    def decode(self, block: pa.RecordBatch) -> pa.RecordBatch:
        """The block with the columns `roles.encoded`. Raises DataError for a text that cannot be read."""
        columns = {name: block.column(name) for name in block.schema.names}
        names = iter(self._roles.encoded[len(self._roles.numbers) :])
        for name in self._roles.formatted & columns.keys():
            texts = self._present(columns[name])
            numbers = parse_formatted(texts, self._decimal_point)
            self._check(name, texts, numbers, NUMBER_FAULT)
            columns[name] = pa.array(numbers, from_pandas=True)
        for name, form in self._roles.dates:
            columns[name] = texts = self._present(columns[name])
            self._check(name, texts, form.days(texts), date_fault(form))
            columns |= {part: pa.array(values, from_pandas=True) for part, values in _named_parts(names, form, texts)}
        for name in self._roles.indicators:
            is_missing = self._present(columns[name]).is_null()
            columns[next(names)] = is_missing.cast(pa.float64())
        self._rows += len(block)
        return pa.RecordBatch.from_arrays(list(columns.values()), list(columns))

    def _present(self, column: Any) -> Any:
        """A column with null for each missing text."""
        if not pa.types.is_string(column.type):
            return column
        return pc.if_else(pc.is_in(column, value_set=self._missing), pa.scalar(None, pa.string()), column)

    def _check(self, name: str, texts: Any, values: NDArray[np.float64], reason: str) -> None:
        with np.errstate(over="ignore"):
            is_wrong = ~np.isfinite(values.astype(np.float32)) & texts.is_valid().to_numpy(zero_copy_only=False)
        if is_wrong.any():
            row = int(np.argmax(is_wrong))
            raise self._fault(name, self._rows + row + 1, str(texts[row].as_py()), reason)


def _named_parts(names: Iterator[str], form: DateFormat, texts: Any) -> list[tuple[str, NDArray[np.float64]]]:
    """The next names with the numbers of a date column."""
    return [(next(names), values) for values in form.numbers(texts)]


NUMBER_FAULT = "is not a number"


def date_fault(form: DateFormat) -> str:
    """What is wrong with a text that is not a date in this format."""
    return f"is not a date in the format {form.text}"


def date_rule(form: DateFormat) -> Callable[[str], str]:
    """A rule of `find_csv_fault`."""
    return lambda text: "" if np.isfinite(form.days(pa.array([text]))[0]) else date_fault(form)


def number_rule(decimal_point: str) -> Callable[[str], str]:
    """A rule of `find_csv_fault`."""
    return lambda text: "" if np.isfinite(parse_formatted(pa.array([text]), decimal_point)[0]) else NUMBER_FAULT


def missing_number_texts(missing_texts: Sequence[str]) -> tuple[str, ...]:
    """The texts that mark a missing number or date."""
    return (*MISSING, *missing_texts)
