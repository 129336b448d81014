"""Training and validation data: samples in both, repeated splits, and statistics fitted to validation data."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from studio.document.model import Json
from studio.lowering.analysis.input_scale import to_json_value
from studio.lowering.problems import quick_fixes
from studio.lowering.problems.problem import Problem
from studio.nodes.types import Role
from studio.training.data.data_chain import ChainLink
from studio.training.data.findings.data_context import DataContext, Row, examples
from studio.training.data.findings.fit_rules import record_before, recorded, recorded_node
from studio.training.data.findings.sample_reading import inputs_at, measured
from studio.training.data.sample_preview import PARTS, Part
from studio.training.data.statistics_records import PartFigures

MIN_OVERLAP = 0.02
"""Share of validation samples from which samples in both parts are a warning; a few duplicates are a hint."""
FITTED, DIFFERENT = 1e-4, 1e-3
"""Difference of means, in standard deviations, below which statistics are fitted to data, and above which not."""
_ALL = 1_000_000


def part_problems(data: DataContext) -> Iterator[Problem]:
    yield from _overlap(data)
    yield from _split_twice(data)
    yield from _fitted_to_validation(data)


# -- repeated splits and validation samples used too early ---------------------------------------


def _split_twice(data: DataContext) -> Iterator[Problem]:
    """Two splits in a row: the later one replaces the earlier one."""
    splits = [link for link in data.preview.chain if link.type.role is Role.DIVISION]
    if splits:
        yield from _own_split(data, splits[-1])
    if len(splits) < 2:
        return
    first, last = splits[-2], splits[-1]
    message = (
        f"{first.name} and {last.name} both split the samples; only {last.name} has an effect, because it splits all "
        f"samples again. Remove {first.name}."
    )
    fix = quick_fixes.bypass(first.name, first.type.inputs[0].name)
    yield Problem("warning", "split-twice", message, node=first.name, fix=fix)


def _own_split(data: DataContext, last: ChainLink) -> Iterator[Problem]:
    """A split behind a data source whose fraction of validation samples was set."""
    own, declared = data.source.values.get("validation"), data.source.type.param("validation")
    if not own or declared is None or own in (declared.default, last.values.get("validation")):
        return
    message = (
        f"{data.source.name} reserves {own:.0%} of the samples for validation, but {last.name} splits all samples "
        f"again, so this has no effect. Remove {last.name}, or clear validation of {data.source.name}."
    )
    removal = quick_fixes.bypass(last.name, last.type.inputs[0].name)
    removal = removal.because(f"The samples of {data.source.name} are split already.")
    reset = quick_fixes.clear(data.source.name, "validation")
    yield Problem("warning", "split-twice", message, node=last.name, fix=removal, others=(reset,))


def _fitted_to_validation(data: DataContext) -> Iterator[Problem]:
    """Normalize whose mean is that of training and validation samples together."""
    if data.validation is None or not data.is_complete:
        return
    for index, link in data.transforms():
        if link.key != "transforms.Normalize" or not index:
            continue
        if recorded_node(data, link) is not None:
            continue  # its record says from which samples
        means = measured(data.preview, ("means", index), lambda index=index: _means(data, index))
        given = np.atleast_1d(np.asarray(link.values["mean"], np.float64))
        if means is None or len(given) != len(means[0]) or not given.any():
            continue
        of_training, of_all, std = means
        is_varied = (std > 0) & (given != 0)
        to_all, to_training = (np.abs(given - mean)[is_varied] / std[is_varied] for mean in (of_all, of_training))
        if not is_varied.any() or to_all.max() > FITTED or to_training.max() < DIFFERENT:
            continue
        message = (
            f"mean of {link.name} is that of training and validation samples together, so validation samples influence "
            "training. Compute its arguments from the training samples."
        )
        fitted: dict[str, Json] = {"mean": _rounded(of_training, link.values["mean"])}
        spread = measured(data.preview, ("std", index), lambda index=index: _std(data, index))
        if spread is not None and np.size(link.values["std"]) == len(spread):
            given_std = np.atleast_1d(np.asarray(link.values["std"], np.float64))
            fitted["std"] = _rounded(np.where(is_varied, spread, given_std), link.values["std"])
        fix = quick_fixes.assign_all({link.name: fitted}, f"Fit {link.name} to the training samples")
        count = data.training.samples
        fix = recorded(fix, link.name, record_before(data, index, fitted, on="inputs", samples=count, part="training"))
        evidence = {"given": [float(value) for value in given[:4]], "training": [float(v) for v in of_training[:4]]}
        yield Problem("warning", "fitted-to-validation", message, node=link.name, fix=fix, evidence=evidence)


def _rounded(values: NDArray[np.float64], given: Any) -> Json:
    """The values of a parameter: one number if one is given."""
    found: list[Json] = [to_json_value(float(value)) for value in values]
    return found[0] if np.ndim(given) == 0 else found


def _std(data: DataContext, index: int) -> NDArray[np.float64] | None:
    training = _untransformed(data, index, "training")
    return None if training is None else training.std(tuple(axis for axis in range(training.ndim) if axis != 1))


def _means(
    data: DataContext, index: int
) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]] | None:
    """Means per channel of training samples and of all samples before a transform, and standard deviations.

    The parts are those at the loader, which may be split after the transform.
    """
    training, validation = (_untransformed(data, index, part) for part in PARTS)
    if training is None or validation is None:
        return None
    both = np.concatenate([training, validation])
    axes = tuple(axis for axis in range(both.ndim) if axis != 1)
    return training.mean(axes), both.mean(axes), both.std(axes)


def _untransformed(data: DataContext, index: int, part: Part) -> NDArray[np.float64] | None:
    """All inputs of a part as they are before a transform."""
    found = inputs_at(data, len(data.preview.chain) - 1, part, _ALL)
    samples = data.preview.after.train if part == "training" else data.preview.after.validation
    following = [link for place, link in data.transforms() if place >= index]
    if found is None or samples is None or len(found) != len(samples) or found.ndim == 1:
        return None
    values = found.astype(np.float64)
    for link in reversed(following):
        if link.key != "transforms.Normalize":
            return None
        values = _inverse(link, values)
    return values


def _inverse(link: ChainLink, values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Undo Normalize in double precision."""
    shape = (-1, *[1] * (values.ndim - 2))
    mean, std = (np.atleast_1d(np.asarray(link.values[name], np.float64)).reshape(shape) for name in ("mean", "std"))
    return values * std + mean


# -- samples in both --------------------------------------------------------------------------


def _overlap(data: DataContext) -> Iterator[Problem]:
    overlap = data.found.overlap
    if overlap is None or not overlap.count:
        return
    training, validation = data.found.parts
    row, other = overlap.examples[0]
    is_complete = training.looked_at == training.samples and validation.looked_at == validation.samples
    prefix = "" if is_complete else "At least "
    distinct = f" ({_inputs(overlap.inputs)})" if overlap.count > overlap.inputs else ""
    message = (
        f"{prefix}{overlap.count:,} of {validation.looked_at:,} validation samples {_have(overlap.count)} the same "
        f"input as a training sample{distinct}, for example validation {other} and training {row}, so validation "
        "results are too good."
    )
    if overlap.contradictions:
        message += f" {overlap.contradictions:,} of them {_have(overlap.contradictions)} a different target there."
    message += f" {_overlap_remedy(training)}"
    rows: list[Row] = []
    for one, two in overlap.examples:
        rows.append(("validation", two))
        rows.append(("training", one))
    evidence = {
        "overlap": overlap.count,
        "validation": validation.looked_at,
        "training": training.looked_at,
        "examples": examples(rows),
    }
    is_few = overlap.count < MIN_OVERLAP * validation.looked_at
    yield Problem("hint" if is_few else "warning", "overlap", message, node=data.source.name, evidence=evidence)


def _overlap_remedy(training: PartFigures) -> str:
    different = training.looked_at - training.unreadable - training.repeated
    if training.repeated <= different:
        return "Remove the duplicates from the data."
    return (
        f"The {training.looked_at:,} training samples have only {_inputs(different)}. Add columns that distinguish "
        "samples, or remove the duplicates."
    )


def _inputs(count: int) -> str:
    return "1 different input" if count == 1 else f"{count:,} different inputs"


def _have(count: int) -> str:
    return "has" if count == 1 else "have"


__all__ = ["part_problems"]
