"""Labels among the inputs: a column that determines the target."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np
from numpy.typing import NDArray

from studio.lowering.problems.problem import Problem
from studio.training.data.findings.data_context import DataContext, listed
from studio.training.data.findings.data_fixes import ignore_columns
from studio.training.data.findings.sample_reading import inputs_at, measured, targets_at

MIN_SAMPLES = 30
MIN_SEPARATED = 100
"""Number of samples from which a column that separates the classes perfectly is suspicious."""
MIN_REPETITIONS = 3
"""Average number of samples per value from which a column that determines the class is suspicious."""
MIN_CORRELATION = 0.9999
"""Rank correlation with a target from which a column is a function of it."""
_MIN_DIFFERENT = 10

Columns = Mapping[str, NDArray[np.float64]]


def leak_problems(data: DataContext) -> Iterator[Problem]:
    reasons = measured(data.preview, "leaks", lambda: _reasons(data))
    if not reasons:
        return
    names = list(reasons)
    what = reasons[names[0]]
    more = f", and so do {listed(names[1:])}" if len(names) > 1 else ""
    message = (
        f"{names[0]} {what}{more}{data.scope()}, so the target is among the inputs and results are too good. "
        "Leave out the column unless it is known before the target."
    )
    fix = ignore_columns(data.source, names)
    evidence = {"columns": names, "samples": data.training.looked_at}
    yield Problem("warning", "target-among-inputs", message, node=data.source.name, fix=fix, evidence=evidence)


def _reasons(data: DataContext) -> dict[str, str]:
    """Columns that determine the target, each with a verb phrase that says how."""
    inputs, targets = inputs_at(data, -1), targets_at(data)
    if inputs is None or targets is None or inputs.ndim != 2 or inputs.dtype.kind != "f" or len(inputs) < MIN_SAMPLES:
        return {}
    targets = targets.reshape(len(targets), -1)
    columns = _columns(inputs, [channel.name for channel in data.training.channels])
    if len(columns) < 2 or targets.shape[1] != 1:
        return {}
    target = targets[:, 0].astype(np.float64)
    if data.found.classes is None:
        return {name: reason for name, values in columns.items() if (reason := _follows_quantity(values, target))}
    found = {name: reason for name, values in columns.items() if (reason := _determines(values, target))}
    if not found and data.found.kind == "table":
        found = _separating(columns, target)
    return found if len(found) < len(columns) else {}


def _columns(inputs: NDArray[np.float32], names: list[str]) -> Columns:
    """Columns by name; one-hot columns of a category as one column of indices."""
    if len(names) != inputs.shape[1]:
        names = [f"number {index}" for index in range(inputs.shape[1])]
    groups: dict[str, list[int]] = {}
    for index, name in enumerate(names):
        groups.setdefault(name.partition("=")[0], []).append(index)
    found: dict[str, NDArray[np.float64]] = {}
    for name, indices in groups.items():
        part = inputs[:, indices].astype(np.float64)
        found[name] = part[:, 0] if len(indices) == 1 else part.argmax(1) + (part.max(1) == part.min(1)) * -1.0
    return found


def _follows_quantity(values: NDArray[np.float64], target: NDArray[np.float64]) -> str:
    """Whether a numeric target is a function of a column, for any increasing or decreasing function."""
    is_finite = np.isfinite(values) & np.isfinite(target)
    values, target = values[is_finite], target[is_finite]
    ranks = [np.unique(each, return_inverse=True)[1].astype(np.float64) for each in (values, target)]
    if any(len(values) < MIN_SAMPLES or each.max(initial=0) < _MIN_DIFFERENT for each in ranks):
        return ""
    if abs(np.corrcoef(ranks[0], ranks[1])[0, 1]) < MIN_CORRELATION:
        return ""
    is_equal = np.allclose(values, target, rtol=1e-4)
    return "is equal to the target" if is_equal else "is a function of the target"


def _determines(values: NDArray[np.float64], target: NDArray[np.float64]) -> str:
    """How a column with few values determines the class."""
    different, codes = np.unique(values[np.isfinite(values)], return_inverse=True)
    classes = target[np.isfinite(values)]
    if len(different) < 2 or len(codes) < MIN_REPETITIONS * len(different) or len(np.unique(classes)) < 2:
        return ""
    lowest, highest = np.full(len(different), np.inf), np.full(len(different), -np.inf)
    np.minimum.at(lowest, codes, classes)
    np.maximum.at(highest, codes, classes)
    if (lowest != highest).any():
        return ""
    return "is the class in other words" if len(different) == len(np.unique(classes)) else "determines the class"


def _separating(columns: Columns, target: NDArray[np.float64]) -> dict[str, str]:
    """The only column whose ranges of the classes do not overlap; several such columns are usual for easy data."""
    if len(target) < MIN_SEPARATED or len(columns) < 3:
        return {}
    found = [name for name, values in columns.items() if _is_separating(values, target)]
    return {found[0]: "separates the classes without an error"} if len(found) == 1 else {}


def _is_separating(values: NDArray[np.float64], target: NDArray[np.float64]) -> bool:
    if not np.isfinite(values).all() or len(np.unique(values)) == len(values):
        return False  # an identifier separates the classes of a sorted file
    order = np.lexsort((target, values))
    ordered, classes = values[order], target[order]
    changes = np.flatnonzero(classes[1:] != classes[:-1])
    is_split = len(changes) == len(np.unique(target)) - 1 and len(changes) > 0
    return is_split and bool((ordered[changes] < ordered[changes + 1]).all())


__all__ = ["leak_problems"]
