"""What the columns of a table are used for."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal, TypeAlias

from engine.data.tables.csv_columns import column_list, column_number_hint, parse_names, unique_names
from engine.data.tables.date_format import ISO, DateFeatures, DateFormat
from engine.errors import DataError

Task: TypeAlias = Literal["classes", "number"]
CategoryEncoding: TypeAlias = Literal["one-hot", "index"]


@dataclass(frozen=True, slots=True)
class ColumnArguments:
    """Arguments of a table, as in `CSV`. Names are separated by commas."""

    target: str
    task: Task = "classes"
    ignore: str = ""
    columns: str = ""
    categorical: str = ""
    dates: str = ""
    date_features: DateFeatures = "calendar"
    formatted: str = ""
    indicators: str = ""
    category_encoding: CategoryEncoding = "one-hot"


@dataclass(frozen=True, slots=True)
class ColumnRoles:
    """Names of columns by use, in the order of the table."""

    targets: tuple[str, ...]
    classes: bool
    """Whether the target is a class; otherwise targets are numbers."""
    numbers: tuple[str, ...]
    texts: tuple[str, ...]
    """Categorical columns."""
    dates: tuple[tuple[str, DateFormat], ...] = ()
    formatted: frozenset[str] = frozenset()
    """Numbers with signs or units, targets included."""
    indicators: tuple[str, ...] = ()
    one_hot: bool = True
    encoded: tuple[str, ...] = ()
    """Names of all numbers of a row: `numbers`, parts of dates, indicators."""
    given: Mapping[str, str | list[str]] = field(default_factory=dict[str, str | list[str]], compare=False)
    """The names in the arguments, by parameter."""

    @property
    def inputs(self) -> tuple[str, ...]:
        """The columns that inputs are computed from."""
        return (*self.numbers, *(name for name, _ in self.dates), *self.texts)

    @property
    def is_decoded(self) -> bool:
        """Whether columns other than plain numbers and categories are read."""
        return bool(self.dates or self.formatted or self.indicators)

    def is_text(self, name: str) -> bool:
        """Whether a column is read as texts."""
        in_class = self.classes and name in self.targets
        return name in self.texts or name in self.formatted or in_class or any(name == date for date, _ in self.dates)


def column_roles(
    path: Path, names: Sequence[str], arguments: ColumnArguments, hint: str, unknown_hint: str
) -> ColumnRoles:
    """The use of each column.

    Args:
        path: the file, for errors
        names: all column names
        arguments: arguments of the data source
        hint: next step of the error for a table without feature columns
        unknown_hint: addition to the error for an unknown column

    Raises:
        DataError: a name or a date format is wrong, or no column is left as input.
    """
    targets = (arguments.target,) if arguments.target in names else tuple(parse_names(arguments.target))
    targets = targets or (arguments.target,)
    given: dict[str, list[str]] = {
        key: parse_names(value)
        for key, value in (
            ("columns", arguments.columns),
            ("ignore", arguments.ignore),
            ("categorical", arguments.categorical),
            ("formatted", arguments.formatted),
            ("indicators", arguments.indicators),
        )
    }
    dates = _dates(path, names, arguments)
    for name in (*targets, *(name for listed in given.values() for name in listed), *dates):
        if name not in names:
            hints = f"{unknown_hint}{column_number_hint(name, names)}"
            raise DataError(f"{path}: has no column {name!r}. It has {column_list(path, names)}.{hints}")
    classes = arguments.task == "classes"
    if classes and len(targets) > 1:
        raise DataError(f"{path}: {len(targets)} targets cannot be classes. Set task to number, or name one target.")
    features = [name for name in given["columns"] or names if name not in targets and name not in given["ignore"]]
    if not features:
        shown = repr(targets[0]) if len(targets) == 1 else ", ".join(map(repr, targets))
        raise DataError(f"{path}: has no columns besides the target {shown}. {hint}")
    texts = tuple(name for name in features if name in given["categorical"])
    numbers = tuple(name for name in features if name not in texts and name not in dates)
    used = tuple((name, dates[name]) for name in features if name in dates and name not in texts)
    indicators = tuple(name for name in features if name in given["indicators"])
    added = [part for name, form in used for part in form.names(name)]
    encoded = unique_names([*names, *added, *(f"{name} missing" for name in indicators)])[len(names) :]
    return ColumnRoles(
        targets,
        classes,
        numbers,
        texts,
        used,
        frozenset(name for name in given["formatted"] if name in numbers or (name in targets and not classes)),
        indicators,
        arguments.category_encoding == "one-hot",
        (*numbers, *encoded),
        {"target": arguments.target, **{key: given[key] for key in ("columns", "ignore", "categorical")}},
    )


def _dates(path: Path, names: Sequence[str], arguments: ColumnArguments) -> dict[str, DateFormat]:
    """Date columns with their formats, from entries such as ``joined`` or ``joined: %d/%m/%Y``."""
    found: dict[str, DateFormat] = {}
    for entry in parse_names(arguments.dates):
        name, colon, text = ("", "", "") if entry in names else entry.rpartition(": ")
        try:
            found[name if colon else entry] = DateFormat(text.strip() if colon else ISO, arguments.date_features)
        except ValueError as error:
            raise DataError(f"{path}: dates: column {name!r}: {error}") from None
    return found


ValueFault: TypeAlias = Callable[[str, int, str, str], DataError]
"""Makes an error of a column, the row counted from 1, the text and what is wrong with it."""
