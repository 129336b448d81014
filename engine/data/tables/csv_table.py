"""Tables, and those in CSV files: columns to learn from, and a column to learn."""

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
from engine.data.tables.column_survey import MOST_CELLS, MOST_ROWS, TableSurvey, survey_columns, surveys
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
    FEW,
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

READ_BY_CHECK = 32 * 2**20
"""Bytes of a file that is read as a whole to find what it loses, although nothing else needs that before a run."""


class TableSplits(Splits):
    """Rows of a table, read in pieces; many of them lie in a file. Subclasses say how they are read.

    Args:
        path: the file
        names: all columns that it has
        target, task, columns, ignore, categorical, missing, validation: as of `CSV`
        missing_texts: those that stand for a missing value; None if no text does
        hint: what to do if there is nothing to learn from
        unknown_hint: what to add if a column is not there
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
        chosen, ignored, categories = parse_names(columns), parse_names(ignore), parse_names(categorical)
        for name in (target, *chosen, *ignored, *categories):
            if name not in names:
                known = column_list(path, names)
                raise DataError(
                    f"{path}: has no column {name!r}, only {known}.{unknown_hint}{column_number_hint(name, names)}"
                )
        self._named = {"target": target, "columns": chosen, "ignore": ignored, "categorical": categories}
        self._missing_texts = None if missing_texts is None else tuple(parse_names(missing_texts))
        features = [name for name in chosen or names if name != target and name not in ignored]
        self._texts = [name for name in features if name in categories]
        self._numbers = [name for name in features if name not in categories]
        if not features:
            raise DataError(f"{path}: has no column but the target {target!r}. {hint}")

    @abstractmethod
    def _blocks(self, path: Path, names: list[str], *, may_miss: bool) -> Iterator[pa.RecordBatch]:
        """These columns of a table, some thousand rows at a time; texts as texts, numbers as numbers."""

    @abstractmethod
    def _written(self, names: list[str], most: int) -> Iterator[pa.RecordBatch]:
        """The same as it is written, as texts, of some more than the first rows; without what is no text or whole."""

    @abstractmethod
    def _names_in(self, path: Path) -> list[str]:
        """The names of the columns of a table."""

    @property
    @abstractmethod
    def _dialect(self) -> Hashable:
        """What decides about the rows beside the file and the columns."""

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
        return train_validation_split(TableSamples(self._table, self._path), self._share)[0]

    @property
    def validation(self) -> Samples | None:
        return train_validation_split(TableSamples(self._table, self._path), self._share)[1]

    @property
    def files(self) -> tuple[Path, ...]:
        return (self._path,)

    def unlabelled(self, path: Path) -> Samples:
        """Of a table that may lack the target. A row that misses a value is not dropped but refused."""
        known = self._names_in(path)
        lacking = next((name for name in (*self._numbers, *self._texts) if name not in known), None)
        if lacking is not None:
            raise DataError(f"{path}: has no column {lacking!r}, only {column_list(path, known)}.")
        blocks = self._blocks(path, [*self._numbers, *self._texts], may_miss=self._missing == "keep")
        categories = self._table.categories if self._texts else {}
        if self._missing == "keep":
            blocks = map(self._row_filter(()).apply, blocks)
        return TableSamples(self._collected(path, blocks, categories), path)

    def diagnostics(self, *, whole: bool = False) -> tuple[Diagnostic, ...]:
        named = self._named
        ignored, categorical = tuple(named["ignore"]), tuple(named["categorical"])
        classes = self._task == "classes"
        choices = TableArguments(self._path.name, self._target, classes, ignored, categorical, self._missing_texts)
        found: list[Diagnostic] = []
        for part in (self._of_rows(choices, whole=whole), self._of_columns(choices)):
            with suppress(DataError):  # said by whoever reads it
                found.extend(part)
        return tuple(found)

    def _of_rows(self, choices: TableArguments, *, whole: bool) -> Iterator[Diagnostic]:
        if whole or choices.classes or self._texts or file_fingerprint(self._path)[1] <= READ_BY_CHECK:
            table = self._table
            if table.losses is not None:
                yield from missing_value_diagnostics(choices, table.losses)
            yield from unseen_category_diagnostics(choices.file, table.unseen, len(table.targets))
        elif self._missing != "stop":
            yield from sampled_missing_value_diagnostics(choices, self._survey, self._needed)

    def _of_columns(self, choices: TableArguments) -> Iterator[Diagnostic]:
        yield from header_diagnostics(choices, self._names, self._named)
        yield from column_diagnostics(choices, self._survey, [*self._numbers, *self._texts], self._texts)

    @property
    def _survey(self) -> TableSurvey:
        numbers = [*self._numbers, *([] if self._task == "classes" else [self._target])]
        names = [*numbers, *self._texts]
        most = min(MOST_ROWS, max(MOST_CELLS // len(names), FEW))
        key = file_fingerprint(self._path), tuple(names), len(numbers), self._dialect
        return surveys.get(key, lambda: survey_columns(self._written(names, most), numbers, most))

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
    def _needed(self) -> Sequence[str]:
        """The columns without whose value a row is left out."""
        return (*self._numbers, *self._texts, self._target) if self._missing == "drop" else (self._target,)

    def _read(self) -> EncodedTable:
        names = [*self._numbers, *self._texts, self._target]
        rows = self._row_filter(self._needed)
        blocks = self._blocks(self._path, names, may_miss=self._missing != "stop")
        found = self._collected(self._path, map(rows.apply, blocks))
        if len(found.targets):
            return replace(found, losses=rows.losses)
        if self._missing == "drop":
            raise DataError(
                f"{self._path}: has no rows without missing values below the column names. Ignore the columns that "
                "lack most, or set missing to keep."
            )
        if rows.losses.left_out:
            why = format_counts(rows.losses.without[self._target])
            raise DataError(
                f"{self._path}: has no rows with a value in {self._target!r} ({why}). Fill them in, or take what is a "
                "value out of missing_texts."
            )
        raise DataError(f"{self._path}: has no rows below the column names. Add some.")

    def _collected(
        self, path: Path, blocks: Iterable[pa.RecordBatch], categories: Mapping[str, Sequence[str]] | None = None
    ) -> EncodedTable:
        """Rows with a target, unless the categories are known: then it is zero."""
        target = self._target if categories is None else None
        columns = TableColumns(tuple(self._numbers), tuple(self._texts), target, classes=self._task == "classes")
        return read_table(path, blocks, columns, self._share, categories)

    def _row_filter(self, needed: Iterable[str]) -> MissingRowFilter:
        """What an empty cell is, and which texts, says `missing_texts`; where nothing may miss, there is no such."""
        texts = () if self._missing == "stop" or self._missing_texts is None else ("", *self._missing_texts)
        return MissingRowFilter(tuple(needed), self._texts, texts)

    def _is_text(self, name: str) -> bool:
        return name in self._texts or (name == self._target and self._task != "number")


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
        missing_texts: classes and categories that stand for a missing value, with commas between them; an empty cell
            always does, where values may be missing
        header: the first line holds the names of the columns; else they are column 1, column 2 and so on
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
            raise DataError("CSV: no file is chosen. Set path.")
        found, dialect = Path(path), Dialect(separator, header, tuple(parse_names(missing_texts)))
        names = column_names(found, dialect)
        chosen = (target, task, columns, ignore, categorical, missing, validation, missing_texts)
        self._csv = dialect
        wrong = separator_hint(names, separator)
        hints = wrong or "Add columns to learn from.", f" {wrong}" if wrong else header_hint(names)
        super().__init__(found, names, *chosen, *hints)

    def _blocks(self, path: Path, names: list[str], *, may_miss: bool) -> Iterator[pa.RecordBatch]:
        texts = [name for name in names if self._is_text(name)]
        numbers = [name for name in names if not self._is_text(name)]
        return csv_blocks(path, self._csv, texts, numbers, may_miss)

    def _written(self, names: list[str], most: int) -> Iterator[pa.RecordBatch]:
        return csv_blocks(self._path, self._csv, names, [], may_miss=True, most=most + 1)

    @property
    def _dialect(self) -> Hashable:
        return self._csv

    def _names_in(self, path: Path) -> list[str]:
        """Without a header columns are known by their place, so only the last may lack, if it is the target."""
        names, known = column_names(path, self._csv), self._names
        complete = [known, known[:-1]] if self._target == known[-1] else [known]
        if not self._csv.header and names not in complete:
            raise DataError(
                f"{path}: has {len(names)} columns, but {self._path.name} has {len(known)}, and columns without names "
                "are found by their place. Give it the same columns."
            )
        return names
