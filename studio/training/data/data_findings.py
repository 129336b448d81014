"""Findings about the samples at a node, from their statistics."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TypeAlias

from studio.training.data.sample_preview import Part
from studio.training.data.statistics_records import ChannelFigures, Finding, PartFigures, Statistics

IMBALANCE = 10
"""Ratio of the largest to the smallest class above which a finding is reported."""

MIN_SUSPICIOUS_CLASSES = 50
"""Minimum number of classes above which whole-number targets may be quantities."""

MAX_CLASSES_PER_SAMPLE = 0.5
"""Maximum ratio of classes to training samples."""

MIN_INPUT_RANGE = 0.1
"""Range of inputs below which usual learning rates are too low."""

_MAX_NAMES = 4
"""Maximum number of names in a message."""

_Case: TypeAlias = tuple[str, int, str]
"""Part, count and column of unusual numbers."""


def find_data_problems(found: Statistics) -> Iterator[Finding]:
    """Errors before warnings."""
    yield from _unreadable(found)
    yield from _strays(found)
    yield from _numbers(found)
    yield from _skipped(found)
    yield from _overlap(found)
    as_classes = tuple(_numbers_as_classes(found))
    yield from as_classes
    if not as_classes:
        yield from _missing_classes(found)
        yield from _imbalance(found)
    yield from _constants(found)
    yield from _narrow(found)


def _strays(found: Statistics) -> Iterator[Finding]:
    for part in found.parts:
        if part.strays:
            row, number = part.strays[0]
            message = (
                f"{part.part.capitalize()} sample {row} has class index {number} but valid indices are 0 to "
                f"{len(part.classes) - 1}. Add Label encode to the targets, or correct the labels."
            )
            yield Finding("stray-class", "error", message, tuple((part.part, row) for row, _ in part.strays))


def _unreadable(found: Statistics) -> Iterator[Finding]:
    for part in found.parts:
        if part.unreadable:
            which = "1 sample" if part.unreadable == 1 else f"{part.unreadable:,} samples"
            message = f"{which} of {part.part} cannot be read, for example {part.reasons[0][1]}"
            yield Finding("unreadable", "error", message, tuple((part.part, row) for row, _ in part.reasons))


def _skipped(found: Statistics) -> Iterator[Finding]:
    if found.skipped:
        several = len(found.skipped) > 1
        which = f"{len(found.skipped):,} images are skipped, for example" if several else "1 image is skipped:"
        yield Finding("skipped", "warning", f"{which} {found.skipped[0]}")


def _numbers(found: Statistics) -> Iterator[Finding]:
    """NaN and infinities."""
    channels: list[tuple[str, ChannelFigures]] = [
        (part.part, channel) for part in found.parts for channel in (*part.channels, *part.targets)
    ]
    missing = [(part, channel.missing, channel.name) for part, channel in channels if channel.missing]
    if missing:
        rows: tuple[tuple[Part, int], ...] = tuple((part.part, row) for part in found.parts for row in part.missing)
        what = f"{_counted(missing)} missing (NaN), in {_listed(missing)}{_first(rows)}."
        yield Finding("missing", "warning", f"{what} Add Fill missing, or drop these rows in the data source.", rows)
    infinite = [(part, channel.infinite, channel.name) for part, channel in channels if channel.infinite]
    if infinite:
        rows = tuple((part.part, row) for part in found.parts for row in part.infinite)
        what = f"{_counted(infinite)} infinite, in {_listed(infinite)}{_first(rows)}."
        yield Finding("infinite", "error", f"{what} The loss would be NaN. Correct the values, or add Clip.", rows)


def _first(rows: tuple[tuple[Part, int], ...]) -> str:
    return f", first in {rows[0][0]} sample {rows[0][1]}" if rows else ""


def _overlap(found: Statistics) -> Iterator[Finding]:
    overlap = found.overlap
    if overlap is None or not overlap.count:
        return
    training, validation = found.parts
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
    examples: list[tuple[Part, int]] = []
    for one, two in overlap.examples:
        examples.append(("validation", two))
        examples.append(("training", one))
    yield Finding("overlap", "warning", message, tuple(examples))


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


def _numbers_as_classes(found: Statistics) -> Iterator[Finding]:
    """Quantities such as prices that are read as classes."""
    part = found.part("training")
    if (
        part is None
        or found.classes is None
        or found.classes < MIN_SUSPICIOUS_CLASSES
        or any(map(_is_word, found.class_names))
    ):
        return
    if found.classes > part.samples * MAX_CLASSES_PER_SAMPLE:
        message = (
            f"Targets are whole numbers, read as {found.classes:,} classes for {part.samples:,} training "
            "samples. If they are quantities such as prices, set task of the source to numbers."
        )
        yield Finding("numbers-as-classes", "warning", message)


def _is_word(name: str) -> bool:
    return not name.isdecimal()


def _missing_classes(found: Statistics) -> Iterator[Finding]:
    for part in found.parts:
        empty = [name for name, count in zip(found.class_names, part.classes, strict=False) if not count]
        if not empty or len(empty) == len(part.classes):
            continue
        subject = f"Class {_listed(empty)} has" if len(empty) == 1 else f"Classes {_listed(empty)} have"
        consequence = "so the network cannot learn" if part.part == "training" else "so validation does not cover"
        them = "it" if len(empty) == 1 else "them"
        message = (
            f"{subject} no {part.part} samples, {consequence} {them}. Add samples, or add Hold-out split and turn on "
            "stratify."
        )
        yield Finding("missing-class", "warning", message)


def _imbalance(found: Statistics) -> Iterator[Finding]:
    part = found.part("training")
    if part is None:
        return
    counts = [(count, name) for name, count in zip(found.class_names, part.classes, strict=False) if count]
    if len(counts) < 2:
        return
    (least, rare), (most, common) = min(counts), max(counts)
    if most >= IMBALANCE * least:
        message = (
            f"Class {common} has {most:,} training samples and class {rare} has {least:,}, {most // least} times "
            "fewer. "
            "Accuracy hides errors in rare classes. Use F1 or the confusion matrix, or set class weights in the loss."
        )
        yield Finding("imbalance", "warning", message)


def _constants(found: Statistics) -> Iterator[Finding]:
    part = found.part("training")
    if part is None or part.looked_at < 2:
        return
    constant = [channel for channel in part.channels if channel.numbers and channel.low == channel.high]
    if constant and len(part.channels) > 1:
        verb = "is" if len(constant) == 1 else "are"
        names = _listed([channel.name for channel in constant])
        message = f"{names} {verb} constant in the training data. Leave out constant columns."
        yield Finding("constant", "warning", message)


def _narrow(found: Statistics) -> Iterator[Finding]:
    """Inputs with a small range, for example digits from 0 to 16 divided by 255."""
    part = found.part("training")
    channels = [channel for channel in part.channels if channel.numbers] if part is not None else []
    if part is None or part.looked_at < 2 or not channels or not found.spec.dtype.is_floating_point:
        return
    low, high = min(channel.low for channel in channels), max(channel.high for channel in channels)
    if 0 < high - low < MIN_INPUT_RANGE:
        message = (
            f"All training inputs lie between {low:.3g} and {high:.3g}, so a network learns slowly. "
            "Use Normalize with Compute from data instead of To float."
        )
        yield Finding("narrow", "warning", message)


def _counted(cases: list[_Case]) -> str:
    """ "12 numbers of training and 1 of validation are"."""
    counts = {part: sum(count for other, count, _ in cases if other == part) for part, _, _ in cases}
    (first, number), *rest = counts.items()
    noun = "number" if number == 1 else "numbers"
    more = "".join(f" and {count:,} of {part}" for part, count in rest)
    return f"{number:,} {noun} of {first}{more} {'is' if sum(counts.values()) == 1 else 'are'}"


def _listed(names: Sequence[str | _Case]) -> str:
    found = list(dict.fromkeys(name if isinstance(name, str) else name[2] for name in names))
    rest = len(found) - _MAX_NAMES
    return ", ".join(found[:_MAX_NAMES]) + (f" and {rest} more" if rest > 0 else "")


__all__ = ["IMBALANCE", "find_data_problems"]
