"""Tables in CSV files: numbers to learn from, and a column to learn."""

from __future__ import annotations

import csv
from collections.abc import Iterator
from functools import cached_property
from pathlib import Path
from typing import Annotated, Any, Literal

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from pyarrow import csv as arrow_csv

from engine.data.samples import Arrays, ArraySamples, Samples, hold_out
from engine.data.splits import Share, Splits
from engine.data.table_check import find_fault
from engine.dtypes import float32, int64
from engine.errors import DataError
from engine.registry import DATASETS, PathTo
from engine.shape import Spec

_SEPARATORS = {"comma": ",", "semicolon": ";", "tab": "\t"}


@DATASETS.register(category="Tables", title="CSV table", outputs=("samples",), tags=("table", "spreadsheet", "tabular"))
class CSV(Splits):
    """A table in a UTF-8 text file with a line of column names. All columns but the target are numbers.

    Classes are numbered in the order of their names: as numbers if all are numbers, as texts otherwise.

    Args:
        path: the file
        target: name of the column to learn
        task: learn classes (the target is any text) or a number
        ignore: names of columns to leave out, with commas between them
        validation: the share of the rows to keep for validation
        separator: what stands between two columns
    """

    def __init__(
        self,
        path: Annotated[str, PathTo("file", (".csv", ".tsv", ".txt"))],
        target: str,
        task: Literal["classes", "number"] = "classes",
        ignore: str = "",
        validation: Share = 0.2,
        separator: Literal["comma", "semicolon", "tab"] = "comma",
    ) -> None:
        if not path:
            raise DataError("CSV: no file is chosen. Set path.")
        self._path = Path(path)
        self._separator = _SEPARATORS[separator]
        self._task = task
        self._share = validation
        names = _column_names(self._path, self._separator)
        ignored = [name.strip() for name in ignore.split(",") if name.strip()]
        for name in (target, *ignored):
            if name not in names:
                raise DataError(f"{path}: has no column {name!r}, only {', '.join(map(repr, names[:20]))}.")
        self._target = target
        self._features = [name for name in names if name != target and name not in ignored]
        if not self._features:
            hint = _separator_hint(names, self._separator)
            raise DataError(f"{path}: has no column but the target {target!r}. {hint}")

    @property
    def input(self) -> Spec:
        return Spec((len(self._features),), float32)

    @property
    def target(self) -> Spec:
        """A class number, or one number as a vector of one, which is the shape that a Linear layer gives."""
        return Spec((), int64) if self._task == "classes" else Spec((1,), float32)

    @property
    def classes(self) -> int | None:
        return len(self.class_names) if self._task == "classes" else None

    @property
    def class_names(self) -> tuple[str, ...]:
        """Texts of the target column by class number. Reads the file."""
        return self._table[2]

    @property
    def feature_names(self) -> tuple[str, ...]:
        return tuple(self._features)

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
        inputs, targets, _ = self._table
        return ArraySamples(inputs, targets, hold_out(len(inputs), self._share)[part])

    @cached_property
    def _table(self) -> tuple[NDArray[np.float32], NDArray[Any], tuple[str, ...]]:
        """Features, targets and class names."""
        blocks = list(self._blocks())
        if not blocks:
            raise DataError(f"{self._path}: has no rows below the column names.")
        features = np.concatenate([block[0] for block in blocks])
        targets = np.concatenate([block[1] for block in blocks])
        if self._task == "number":
            return features, targets.astype(np.float32).reshape(-1, 1), ()
        names, codes = np.unique(targets, return_inverse=True)
        order = _class_order(names.tolist())
        rank = np.empty(len(order), np.int64)
        rank[order] = np.arange(len(order))
        return features, rank[codes], tuple(names[order].tolist())

    def _blocks(self) -> Iterator[Arrays]:
        """Features and targets of some thousand rows at a time.

        Raises DataError naming line and column if a number is missing or is none.
        """
        number = self._task == "number"
        types = dict.fromkeys(self._features, pa.float64())
        types[self._target] = pa.float64() if number else pa.string()
        convert = arrow_csv.ConvertOptions(
            column_types=types, include_columns=list(types), null_values=[""], strings_can_be_null=True
        )
        parse = arrow_csv.ParseOptions(delimiter=self._separator, newlines_in_values=True)
        try:
            if _leaves_quotation_open(self._path):
                raise self._fault("a quotation mark is not closed")
            with arrow_csv.open_csv(self._path, parse_options=parse, convert_options=convert) as reader:
                for batch in reader:
                    if any(column.null_count for column in batch.columns):
                        raise self._fault("a value is missing")
                    features = np.column_stack([batch.column(name).to_numpy() for name in self._features])
                    targets = batch.column(self._target).to_numpy(zero_copy_only=False)
                    with np.errstate(over="ignore"):  # it becomes infinite, which is refused below
                        features = features.astype(np.float32)
                    if not np.isfinite(features).all() or (number and not np.isfinite(targets).all()):
                        raise self._fault("a number is not finite")
                    yield features, targets if number else targets.astype(np.str_)
        except OSError as error:
            raise DataError(f"{self._path}: cannot be read: {error.strerror or error}.") from None
        except pa.ArrowInvalid as error:
            raise self._fault(str(error)) from None

    def _fault(self, symptom: str) -> DataError:
        numbers = [*self._features, self._target] if self._task == "number" else self._features
        return DataError(find_fault(self._path, self._separator, numbers, self._target) or f"{self._path}: {symptom}.")


def _column_names(path: Path, separator: str) -> list[str]:
    try:
        # Other lines than the first may be anything; bytes that are no UTF-8 become surrogates.
        with path.open(encoding="utf-8-sig", errors="surrogateescape", newline="") as file:
            names = next(csv.reader(file, delimiter=separator, strict=True), [])
        "".join(names).encode()
    except FileNotFoundError:
        raise DataError(f"{path}: there is no such file. Check the path.") from None
    except OSError as error:
        raise DataError(f"{path}: cannot be read: {error.strerror or error}.") from None
    except (UnicodeEncodeError, csv.Error):
        raise DataError(f"{path}: its first line is not CSV in UTF-8. Save the table as CSV in UTF-8.") from None
    if not names:
        raise DataError(f"{path}: is empty; its first line must hold the names of the columns.")
    repeated = next((name for name in names if names.count(name) > 1), None)
    if repeated is not None:
        raise DataError(f"{path}: has two columns {repeated!r}. Give each column of the first line a name of its own.")
    return names


def _leaves_quotation_open(path: Path) -> bool:
    """Arrow would take the rest of the file for one text."""
    with path.open("rb") as file:
        return sum(block.count(b'"') for block in iter(lambda: file.read(2**20), b"")) % 2 == 1


def _separator_hint(names: list[str], separator: str) -> str:
    other = next((word for word, sign in _SEPARATORS.items() if sign != separator and sign in "".join(names)), None)
    return f"Set separator to {other}." if other else "Add columns to learn from."


def _class_order(names: list[str]) -> list[int]:
    try:
        return sorted(range(len(names)), key=lambda code: float(names[code]))
    except ValueError:
        return list(range(len(names)))
