"""Import of a table: one source, and the transforms that its columns need, fitted to the training rows."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from engine import data
from engine.data import transforms
from engine.data.splits import Splits, training_batches
from engine.data.tables.column_roles import CategoryEncoding
from engine.data.tables.date_format import DateFeatures
from engine.data.tables.inference.table_schema import ColumnSchema, TableSchema, source_arguments
from engine.data.tables.table_splits import TableSplits
from engine.errors import DataError
from studio.lowering.analysis.input_scale import to_json_value
from studio.training.data.imports.import_plan import (
    ImportPlan,
    ImportPreview,
    PlannedNode,
    ReportProgress,
    written_path,
)
from studio.training.data.imports.starter_network import starter_network

Fill: TypeAlias = Literal["median", "mean", "most frequent", "drop"]

_PREVIEW_ROWS = 8
_DIGITS = 6
"""Significant digits of fitted arguments."""
_LARGE_TARGET = 3.0
"""Standard deviation or mean of a target from which it is scaled."""
_MAX_LISTED = 6
"""Columns up to which each with missing values has a note."""
_SMALL_TABLE = 2000
"""Rows up to which batches are small."""

_SOURCES: dict[str, type[TableSplits]] = {"CSV": data.CSV, "Parquet": data.Parquet, "JSONLines": data.JSONLines}


@dataclass(frozen=True, slots=True)
class ImportOptions:
    """Choices for the whole table."""

    fill: Fill = "median"
    """Replacement of missing numbers; drop leaves out the rows."""
    indicators: bool = False
    """Whether columns with missing values get another input that marks them."""
    scale: bool = True
    """Whether inputs, and targets that are large numbers, are normalized."""
    category_encoding: CategoryEncoding = "one-hot"
    date_features: DateFeatures = "calendar"
    validation: float = 0.2


def plan_table(
    schema: TableSchema,
    options: ImportOptions | None = None,
    base: Path | None = None,
    report_progress: ReportProgress = lambda share: None,
) -> ImportPlan:
    """Read the table as the schema says, and fit the transforms.

    Args:
        schema: use and content of the columns
        options: choices for the whole table
        base: folder of the project
        report_progress: receives the finished fraction; an exception ends the work

    Raises:
        DataError: the table cannot be read so.
    """
    options = options or ImportOptions()
    if problem := schema_problem(schema):
        raise DataError(f"{schema.path.name}: {problem}")
    arguments = table_arguments(schema, options)
    report_progress(0.1)
    source = _SOURCES[schema.format](**arguments)
    splits: Splits = source
    _ = source.train
    report_progress(0.5)
    params = {name: to_json_value(value) for name, value in arguments.items()}
    params["path"] = written_path(schema.path, base)
    nodes = [PlannedNode(schema.path.stem, f"data.{schema.format}", params)]
    for node in _transforms(schema, options, source, report_progress):
        nodes.append(node)
        splits = _mapped(splits, node)
    report_progress(1.0)
    size = 32 if schema.rows <= _SMALL_TABLE else 256
    preview = _preview(source, splits)
    warnings = table_warnings(schema, options)
    network = starter_network(splits)
    return ImportPlan(f"Import {schema.path.name}", tuple(nodes), preview, warnings, size, network)


def schema_problem(schema: TableSchema) -> str:
    """What has to be changed before the table can be imported; empty if nothing."""
    if not schema.targets:
        return "no column is the target. Set the role of a column to target."
    if not schema.inputs:
        return "no column is an input. Set the role of a column to input."
    if schema.task == "classes" and len(schema.targets) > 1:
        return "several targets must be numbers. Set the task to number, or keep one target."
    return ""


def table_arguments(schema: TableSchema, options: ImportOptions) -> dict[str, Any]:
    """The arguments of the source."""
    has_missing = any(column.missing for column in schema.columns if column.role != "ignore")
    found = source_arguments(schema, missing="drop" if options.fill == "drop" and has_missing else "")
    if options.indicators and options.fill != "drop" and (names := _with_missing(schema.inputs)):
        found["indicators"] = ", ".join(names)
    if options.category_encoding != "one-hot" and found.get("categorical"):
        found["category_encoding"] = options.category_encoding
    if options.date_features != "calendar" and found.get("dates"):
        found["date_features"] = options.date_features
    if options.validation != 0.2:
        found["validation"] = options.validation
    return found


def _with_missing(columns: Iterable[ColumnSchema]) -> list[str]:
    return [column.name for column in columns if column.missing]


def table_warnings(schema: TableSchema, options: ImportOptions) -> tuple[str, ...]:
    """What the import does to values, and likely mistakes, as sentences."""
    found = list(schema.notes)
    used = [column for column in schema.columns if column.role != "ignore"]
    missing = [column for column in used if column.missing]
    if len(missing) > _MAX_LISTED:
        found.append(_missing_summary(schema, missing, options))
    for column in used:
        if column.missing and len(missing) <= _MAX_LISTED:
            found.append(_missing_text(schema, column, options))
        if column.guess.suggestion:
            found.append(f"{column.name}: {column.guess.suggestion}")
    return tuple(found)


def _missing_summary(schema: TableSchema, columns: Sequence[ColumnSchema], options: ImportOptions) -> str:
    """One sentence about the missing values of many columns."""
    counts = [column.missing for column in columns]
    least, most = min(counts), max(counts)
    many = f"{least:,}" if least == most else f"{least:,} to {most:,}"
    ends: dict[str, None] = {}
    for column in columns:
        ends[_missing_text(schema, column, options).partition(" missing; ")[2].rstrip(".")] = None
    return f"{len(columns):,} columns have {many} missing values of {schema.rows:,}: {'; '.join(ends)}."


def _missing_text(schema: TableSchema, column: ColumnSchema, options: ImportOptions) -> str:
    verb = "is" if column.missing == 1 else "are"
    start = f"{column.missing:,} of {schema.rows:,} values of {column.name} {verb} missing"
    if column.role == "target" or options.fill == "drop":
        return f"{start}; these rows are left out."
    if column.type in ("category", "text"):
        zeros = "all its inputs are 0" if options.category_encoding == "one-hot" else "its number is 0"
        return f"{start}; {zeros} there."
    if column.fill == "zero":
        return f"{start}; filled with 0."
    return f"{start}; filled with the {_FILL_NAMES[column.fill or options.fill]} of the training rows."


_FILL_NAMES = {"median": "median", "mean": "mean", "most frequent": "most frequent number", "drop": ""}


# -- transforms --------------------------------------------------------------------------------


def _transforms(
    schema: TableSchema, options: ImportOptions, source: TableSplits, report_progress: ReportProgress
) -> Iterator[PlannedNode]:
    splits: Splits = source
    if options.fill != "drop" and _has_nan(source):
        for fill in _fills(schema, options.fill, source):
            splits = _mapped(splits, fill)
            yield fill
    report_progress(0.75)
    if not options.scale:
        return
    yield PlannedNode("scale", "transforms.Normalize", _scale(splits, _index_columns(schema, options)))
    if schema.task == "number":
        scale = splits.fitted(transforms.Normalize, "targets")
        if np.max(np.abs([*np.atleast_1d(scale["mean"]), *np.atleast_1d(scale["std"])])) > _LARGE_TARGET:
            params = {name: _rounded(value) for name, value in scale.items()}
            yield PlannedNode("scale_target", "transforms.Normalize", {**params, "on": "targets"})


def _fills(schema: TableSchema, default: Fill, source: TableSplits) -> Iterator[PlannedNode]:
    """A node for each way of filling that differs from the default, then one for the other columns."""
    features = source.feature_names
    chosen: dict[str, list[int]] = {}
    for column in schema.inputs:
        if column.fill not in ("", default) and column.missing and column.name in features:
            chosen.setdefault(column.fill, []).append(features.index(column.name))
    for strategy, channels in chosen.items():
        name = f"fill_{strategy.replace(' ', '_')}"
        yield PlannedNode(name, "transforms.FillMissing", {**_fill_params(strategy, source), "channels": channels})
    yield PlannedNode("fill", "transforms.FillMissing", _fill_params(default, source))


def _fill_params(strategy: str, source: TableSplits) -> dict[str, Any]:
    if strategy == "zero":
        return {"value": 0.0}
    value = source.fitted(transforms.FillMissing, strategy=strategy)["value"]
    return {"value": _rounded(value), "strategy": strategy}


def _has_nan(source: TableSplits) -> bool:
    return any(bool(np.isnan(batch).any()) for batch in training_batches(source.train, "inputs")) or (
        source.validation is not None
        and any(bool(np.isnan(batch).any()) for batch in training_batches(source.validation, "inputs"))
    )


def _index_columns(schema: TableSchema, options: ImportOptions) -> int:
    """Number of inputs at the end that are numbers of categories, which are not scaled."""
    if options.category_encoding == "one-hot":
        return 0
    return sum(column.type in ("category", "text") for column in schema.inputs)


def _scale(splits: Splits, indices: int) -> dict[str, Any]:
    """Arguments of Normalize that leave the last `indices` columns as they are."""
    found = splits.fitted(transforms.Normalize)
    mean, std = (np.atleast_1d(np.asarray(found[name], np.float64)) for name in ("mean", "std"))
    if indices:
        mean[-indices:], std[-indices:] = 0, 1
    return {"mean": _rounded(mean), "std": _rounded(std)}


def _rounded(value: Any) -> Any:
    """Numbers with six digits, so that the project file is readable."""
    numbers = [float(f"{number:.{_DIGITS}g}") for number in np.atleast_1d(np.asarray(value, np.float64))]
    return numbers[0] if len(numbers) == 1 else numbers


def _mapped(splits: Splits, node: PlannedNode) -> Splits:
    params: dict[str, Any] = {name: tuple(v) if isinstance(v, list) else v for name, v in node.params.items()}
    on = params.pop("on", "inputs")
    return splits.map(getattr(transforms, node.type.rpartition(".")[2])(**params), on)


# -- preview -----------------------------------------------------------------------------------


def _preview(source: TableSplits, splits: Splits) -> ImportPreview:
    train, validation = splits.train, splits.validation
    rows = np.arange(min(_PREVIEW_ROWS, len(train)))
    inputs, targets = (np.asarray(part) for part in train.arrays(rows))
    names = source.class_names
    shown = [
        (names[int(target)] if names else ", ".join(map(_short, np.atleast_1d(target))), *map(_short, values))
        for values, target in zip(inputs, targets, strict=True)
    ]
    return ImportPreview(
        len(train),
        0 if validation is None else len(validation),
        str(splits.input),
        f"{len(names)} classes" if names else str(splits.target),
        ("target", *source.feature_names),
        tuple(shown),
        _class_counts(source, names),
    )


def _short(number: Any) -> str:
    return f"{float(number):.4g}"


def _class_counts(source: TableSplits, names: tuple[str, ...]) -> tuple[tuple[str, int], ...]:
    if not names:
        return ()
    counts = np.zeros(len(names), np.int64)
    for batch in training_batches(source.train, "targets"):
        counts += np.bincount(_integers(batch), minlength=len(names))
    return tuple(zip(names, counts.tolist(), strict=True))


def _integers(batch: NDArray[Any]) -> NDArray[np.int64]:
    return batch.astype(np.int64).reshape(-1)


__all__ = ["Fill", "ImportOptions", "plan_table", "schema_problem", "table_arguments", "table_warnings"]
