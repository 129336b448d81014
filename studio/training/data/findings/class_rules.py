"""Classes: invalid numbers, quantities as classes, classes without samples and class imbalance."""

from __future__ import annotations

from collections.abc import Iterator

from studio.lowering.problems.problem import Problem
from studio.training.data.findings.data_context import DataContext, examples, listed

IMBALANCE = 10
"""Ratio of the largest to the smallest class from which a problem is reported."""

MIN_SUSPICIOUS_CLASSES = 50
"""Minimum number of classes above which whole-number targets may be quantities."""

MAX_CLASSES_PER_SAMPLE = 0.5
"""Maximum ratio of classes to training samples."""


def class_problems(data: DataContext) -> Iterator[Problem]:
    yield from _strays(data)
    as_classes = tuple(_numbers_as_classes(data))
    yield from as_classes
    if not as_classes:
        yield from _missing_classes(data)
        yield from _imbalance(data)


def _strays(data: DataContext) -> Iterator[Problem]:
    for part in data.found.parts:
        if part.strays:
            row, number = part.strays[0]
            message = (
                f"{part.part.capitalize()} sample {row} has class index {number} but valid indices are 0 to "
                f"{len(part.classes) - 1}. Add Label encode to the targets, or correct the labels."
            )
            evidence = {
                "index": number,
                "classes": len(part.classes),
                "examples": examples((part.part, row) for row, _ in part.strays),
            }
            yield Problem("error", "stray-class", message, node=data.source.name, evidence=evidence)


def _numbers_as_classes(data: DataContext) -> Iterator[Problem]:
    """Quantities such as prices that are read as classes."""
    part, classes = data.training, data.found.classes
    if classes is None or classes < MIN_SUSPICIOUS_CLASSES or any(map(_is_word, data.found.class_names)):
        return
    if classes > part.samples * MAX_CLASSES_PER_SAMPLE:
        message = (
            f"Targets are whole numbers, read as {classes:,} classes for {part.samples:,} training "
            "samples. If they are quantities such as prices, set task of the source to numbers."
        )
        evidence = {"classes": classes, "samples": part.samples}
        yield Problem("warning", "numbers-as-classes", message, node=data.source.name, evidence=evidence)


def _is_word(name: str) -> bool:
    return not name.isdecimal()


def _missing_classes(data: DataContext) -> Iterator[Problem]:
    for part in data.found.parts:
        if sum(part.classes) + len(part.strays) < part.samples:
            continue  # only some targets were read
        empty = [name for name, count in zip(data.found.class_names, part.classes, strict=False) if not count]
        if not empty or len(empty) == len(part.classes):
            continue
        subject = f"Class {listed(empty)} has" if len(empty) == 1 else f"Classes {listed(empty)} have"
        consequence = "so the network cannot learn" if part.part == "training" else "so validation does not cover"
        them = "it" if len(empty) == 1 else "them"
        message = (
            f"{subject} no {part.part} samples, {consequence} {them}. Add samples, or add Hold-out split and turn on "
            "stratify."
        )
        evidence = {"classes": empty, "part": part.part}
        yield Problem("warning", "missing-class", message, node=data.source.name, evidence=evidence)


def _imbalance(data: DataContext) -> Iterator[Problem]:
    part = data.training
    counts = [(count, name) for name, count in zip(data.found.class_names, part.classes, strict=False) if count]
    if len(counts) < 2:
        return
    (least, rare), (most, common) = min(counts), max(counts)
    if most >= IMBALANCE * least:
        message = (
            f"Class {common} has {most:,} training samples and class {rare} has {least:,}, {most // least} times "
            "fewer. "
            "Accuracy hides errors in rare classes. Use F1 or the confusion matrix, or set class weights in the loss."
        )
        evidence = {"largest": most, "smallest": least}
        yield Problem("warning", "imbalance", message, node=data.source.name, evidence=evidence)


__all__ = ["IMBALANCE", "class_problems"]
