"""Values that cannot be trained on: unreadable samples, NaN, infinities and constant inputs."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TypeAlias

from studio.document.model import Json
from studio.lowering.analysis.input_scale import to_json_value
from studio.lowering.problems import quick_fixes
from studio.lowering.problems.problem import Fix, Problem
from studio.training.data.findings.data_context import DataContext, Row, examples, listed
from studio.training.data.findings.data_fixes import ignore_columns, insert_transform
from studio.training.data.statistics_records import ChannelFigures

MIN_SAMPLED = 5000
"""Number of samples from which an input that is constant in a part of the samples counts as constant."""

_Case: TypeAlias = tuple[str, int, str]
"""Part, count and column of unusual numbers."""


def value_problems(data: DataContext) -> Iterator[Problem]:
    yield from _unreadable(data)
    yield from _skipped(data)
    yield from _missing(data)
    yield from _infinite(data)
    yield from _constants(data)


def _unreadable(data: DataContext) -> Iterator[Problem]:
    for part in data.found.parts:
        if part.unreadable:
            which = "1 sample" if part.unreadable == 1 else f"{part.unreadable:,} samples"
            message = f"{which} of {part.part} cannot be read, for example {part.reasons[0][1]}"
            evidence = {
                "unreadable": part.unreadable,
                "samples": part.looked_at,
                "examples": examples((part.part, row) for row, _ in part.reasons),
            }
            can_skip = data.source.values.get("on_error") == "stop"
            fix = quick_fixes.assign(data.source.name, "on_error", "skip") if can_skip else None
            yield Problem("error", "unreadable", message, node=data.source.name, fix=fix, evidence=evidence)


def _skipped(data: DataContext) -> Iterator[Problem]:
    skipped = data.found.skipped
    if skipped:
        several = len(skipped) > 1
        which = f"{len(skipped):,} images are skipped, for example" if several else "1 image is skipped:"
        evidence = {"skipped": len(skipped)}
        yield Problem("warning", "skipped", f"{which} {skipped[0]}", node=data.source.name, evidence=evidence)


def _missing(data: DataContext) -> Iterator[Problem]:
    channels = _channels(data)
    missing = [(part, channel.missing, channel.name) for part, channel in channels if channel.missing]
    if not missing:
        return
    rows: tuple[Row, ...] = tuple((part.part, row) for part in data.found.parts for row in part.missing)
    what = f"{_counted(missing)} missing (NaN), in {listed([case[2] for case in missing])}{_first(rows)}."
    message = f"{what} Add Fill missing, or drop these rows in the data source."
    evidence = {"missing": sum(count for _, count, _ in missing), "examples": examples(rows)}
    fix = _fix_of_missing(data)
    yield Problem("warning", "missing", message, node=data.source.name, fix=fix, evidence=evidence)


def _fix_of_missing(data: DataContext) -> Fix | None:
    """Fill inputs with the means of their columns; drop rows of a table without a target."""
    if any(channel.missing for part in data.found.parts for channel in part.targets):
        has_policy = data.source.type.param("missing") is not None and data.source.values.get("missing") != "drop"
        return quick_fixes.assign(data.source.name, "missing", "drop") if has_policy else None
    if data.last is None:
        return None
    means = [_rounded(channel.mean) for channel in data.training.channels]
    value: Json = list(means) if data.found.spec.ndim == 1 and len(means) > 1 else means[0]
    return insert_transform(data.last, "transforms.FillMissing", {"value": value}, title="Insert Fill missing")


def _infinite(data: DataContext) -> Iterator[Problem]:
    channels = _channels(data)
    infinite = [(part, channel.infinite, channel.name) for part, channel in channels if channel.infinite]
    if not infinite:
        return
    rows: tuple[Row, ...] = tuple((part.part, row) for part in data.found.parts for row in part.infinite)
    what = f"{_counted(infinite)} infinite, in {listed([case[2] for case in infinite])}{_first(rows)}."
    message = f"{what} The loss would be NaN. Correct the values, or add Clip."
    in_targets = any(channel.infinite for part in data.found.parts for channel in part.targets)
    fix = None
    if data.last is not None and not in_targets:
        finite = [channel for channel in data.training.channels if channel.numbers]
        low, high = min(channel.low for channel in finite), max(channel.high for channel in finite)
        params = {"low": _rounded(low), "high": _rounded(high)}
        fix = insert_transform(data.last, "transforms.Clip", params, title=f"Insert Clip from {low:.3g} to {high:.3g}")
    evidence = {"infinite": sum(count for _, count, _ in infinite), "examples": examples(rows)}
    yield Problem("error", "infinite", message, node=data.source.name, fix=fix, evidence=evidence)


def _constants(data: DataContext) -> Iterator[Problem]:
    part = data.training
    if part.looked_at < 2 or (part.looked_at < part.samples and part.looked_at < MIN_SAMPLED):
        return
    names = [channel.name for channel in part.channels if channel.numbers and channel.low == channel.high]
    if not names or len(part.channels) < 2:
        return
    verb = "is" if len(names) == 1 else "are"
    message = f"{listed(names)} {verb} constant in the training data{data.scope()}. Leave out constant columns."
    columns = [name for name in names if "=" not in name]
    fix = ignore_columns(data.source, columns) if len(columns) == len(names) < len(part.channels) else None
    evidence = {"columns": names}
    yield Problem("warning", "constant", message, node=data.source.name, fix=fix, evidence=evidence)


def _channels(data: DataContext) -> list[tuple[str, ChannelFigures]]:
    return [(part.part, channel) for part in data.found.parts for channel in (*part.channels, *part.targets)]


def _rounded(value: float) -> float:
    found = to_json_value(value)
    assert isinstance(found, float)
    return found


def _first(rows: tuple[Row, ...]) -> str:
    return f", first in {rows[0][0]} sample {rows[0][1]}" if rows else ""


def _counted(cases: list[_Case]) -> str:
    """ "12 numbers of training and 1 of validation are"."""
    counts = {part: sum(count for other, count, _ in cases if other == part) for part, _, _ in cases}
    (first, number), *rest = counts.items()
    noun = "number" if number == 1 else "numbers"
    more = "".join(f" and {count:,} of {part}" for part, count in rest)
    return f"{number:,} {noun} of {first}{more} {'is' if sum(counts.values()) == 1 else 'are'}"


__all__ = ["value_problems"]
