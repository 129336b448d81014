"""Classes: invalid numbers, quantities and identifiers as classes, classes without samples and class imbalance."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from engine.data.tables.csv_columns import format_names, parse_names
from studio.document.model import Document, Json, Node
from studio.lowering.checks.parameters.size_origins import origin_of_size
from studio.lowering.problems import quick_fixes
from studio.lowering.problems.problem import Fix, Problem
from studio.nodes.types import Role
from studio.training.data.findings.convention_rules import misnumbered_labels, sizing
from studio.training.data.findings.data_context import DataContext, examples, listed
from studio.training.data.findings.data_fixes import add_metric, insert_transform
from studio.training.data.findings.sample_reading import targets_at

IMBALANCE = 10
"""Ratio of the largest to the smallest class from which a problem is reported."""
MIN_SUSPICIOUS_CLASSES = 20
"""Number of named numeric classes from which they may be quantities."""
MIN_UNNAMED_CLASSES = 50
"""Number of class numbers from which they may be quantities."""
MAX_CLASSES_PER_SAMPLE = 0.5
"""Ratio of classes to training samples above which numbers are quantities."""
MAX_EMPTY = 0.3
"""Share of class numbers without samples above which numbers are quantities."""
MAX_GAPS = 1.3
"""Ratio of the range of whole numbers to their count up to which they are identifiers."""
MIN_PER_QUANTITY = 5
"""Samples per class below which numbers with gaps are quantities."""

_NUMBER = re.compile(
    r"[^\d+-]{0,3}\s*([+-]?\d+(?:[,' ]\d{3})*(?:\.\d+)?(?:[eE][+-]?\d+)?)\s*(?:%|[^\W\d]{1,4}[²³]?|[€$£¥])?"
)
"""A number with thousands separators, a currency sign or a unit."""
RARE_CLASS_METRICS = frozenset(
    {"metrics.F1", "metrics.ConfusionMatrix", "metrics.AUC", "metrics.Precision", "metrics.Recall"}
)
ACCURACIES = frozenset({"metrics.Accuracy", "metrics.BinaryAccuracy", "metrics.TopKAccuracy"})
_WEIGHTS = {"nn.CrossEntropyLoss": "weight", "nn.NLLLoss": "weight", "nn.BCEWithLogitsLoss": "pos_weight"}
"""Parameter with the weights of classes, by loss."""


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
                f"{len(part.classes) - 1}. Correct the labels."
            )
            evidence = {
                "index": number,
                "classes": len(part.classes),
                "examples": examples((part.part, row) for row, _ in part.strays),
            }
            yield Problem("error", "stray-class", message, node=data.source.name, evidence=evidence)


# -- quantities and identifiers ---------------------------------------------------------------


def _numbers_as_classes(data: DataContext) -> Iterator[Problem]:
    """Quantities such as prices, or identifiers, that are read as classes."""
    part, classes, names = data.training, data.found.classes, data.preview.after.class_names
    if classes is None or classes < MIN_SUSPICIOUS_CLASSES or data.found.kind == "text":
        return
    evidence = {"classes": classes, "samples": part.samples}
    values = _quantities(names)
    counted = np.asarray(part.classes)
    if classes >= part.samples and counted.size and counted.max(initial=0) <= 1 and _are_identifiers(names, counted):
        message = (
            f"Each of the {part.samples:,} training samples has a different class, so the target identifies samples "
            "and nothing can be learned. Choose another column as target."
        )
        yield Problem("warning", "identifier-as-target", message, node=data.source.name, evidence=evidence)
        return
    if names and values is None:
        return
    is_quantity = _are_quantities(names, values, classes, part.samples) if names and values else _are_many(data)
    if is_quantity:
        what = "whole numbers" if not names or all(name.isdecimal() for name in names) else "numbers"
        message = (
            f"Targets are {what}, read as {classes:,} classes for {part.samples:,} training "
            f"samples. If they are quantities such as prices, set task of {data.source.name} to {_number_task(data)}."
        )
        fix = _as_numbers(data, is_formatted=any(_plain(name) is None for name in names))
        yield Problem("warning", "numbers-as-classes", message, node=data.source.name, fix=fix, evidence=evidence)


def _are_quantities(names: Sequence[str], values: Sequence[float], classes: int, samples: int) -> bool:
    """Whether named numeric classes are quantities."""
    is_fraction = any(value != int(value) for value in values) or any(_plain(name) is None for name in names)
    has_gaps = max(values) - min(values) + 1 > 2 * classes and samples < MIN_PER_QUANTITY * classes
    return is_fraction or has_gaps or (classes > samples * MAX_CLASSES_PER_SAMPLE)


def _are_many(data: DataContext) -> bool:
    """Whether unnamed class numbers are quantities."""
    part, classes = data.training, data.found.classes or 0
    if classes < MIN_UNNAMED_CLASSES:
        return False
    empty = sum(not count for count in part.classes) / max(len(part.classes), 1)
    return classes > part.samples * MAX_CLASSES_PER_SAMPLE or empty > MAX_EMPTY


def _quantities(names: Sequence[str]) -> list[float] | None:
    """The numbers in the names of classes; None if one has none."""
    found: list[float] = []
    for name in names:
        match = _NUMBER.fullmatch(name.strip())
        if match is None:
            return None
        found.append(float(re.sub("[,' ]", "", match[1])))
    return found


def _plain(name: str) -> float | None:
    try:
        return float(name)
    except ValueError:
        return None


def _are_identifiers(names: Sequence[str], counted: NDArray[Any]) -> bool:
    """Whether classes are words, or whole numbers next to each other, rather than quantities."""
    values = _quantities(names) if names else [float(number) for number in np.flatnonzero(counted)]
    if values is None:
        return True
    return max(values) - min(values) + 1 <= MAX_GAPS * len(values) and all(value == int(value) for value in values)


def _as_numbers(data: DataContext, *, is_formatted: bool) -> Fix | None:
    """Read the targets as numbers, and use a loss, a metric and an output for them."""
    source = data.source
    if source.type.param("task") is None:
        return None
    changes: dict[str, Json] = {"task": _number_task(data)}
    if is_formatted and source.type.param("formatted") is not None:
        known = parse_names(str(source.values.get("formatted", "")))
        changes["formatted"] = format_names([*known, *parse_names(str(source.values["target"]))])
    first = quick_fixes.assign_all({source.name: changes}, "Read the targets as numbers")
    further = _for_numbers(data)

    def edit(document: Document) -> Document:
        document = first.edit(document)
        for fix in further:
            document = fix.edit(document)
        return document

    return first if not further else Fix(f"{first.title}, with MSELoss", edit)


def _number_task(data: DataContext) -> str:
    """The value of `task` with which the source reads numbers."""
    param = data.source.type.param("task")
    choices = () if param is None else param.choices
    return next((str(each) for each in choices if str(each).startswith("number")), "numbers")


def _for_numbers(data: DataContext) -> list[Fix]:
    flow = data.flow
    found: list[Fix] = []
    if flow is None or data.loader is None:
        return found
    for loss, node_type in data.comparing(Role.LOSS):
        end = flow.graph.source(loss, "input")
        if node_type.key != "nn.CrossEntropyLoss" or end is None:
            continue
        found.append(quick_fixes.retype(loss, "nn.MSELoss"))
        cause = origin_of_size(flow, end, 1)
        out = next((each.name for each in flow.facts[cause].type.params if each.name.startswith("out_")), None)
        if out is not None:
            found.append(quick_fixes.assign(cause, out, 1))
    for metric, node_type in data.comparing(Role.METRIC):
        if node_type.key in ACCURACIES:
            found.append(quick_fixes.retype(metric, "metrics.MeanAbsoluteError"))
    return found


# -- counts -----------------------------------------------------------------------------------


def _missing_classes(data: DataContext) -> Iterator[Problem]:
    if data.loader is not None and misnumbered_labels(data) is not None:
        return
    for part in data.found.parts:
        if sum(part.classes) + len(part.strays) < part.samples:
            continue  # only some targets were read
        empty = [name for name, count in zip(data.found.class_names, part.classes, strict=False) if not count]
        if not empty or len(empty) == len(part.classes):
            continue
        subject = f"Class {listed(empty)} has" if len(empty) == 1 else f"Classes {listed(empty)} have"
        consequence = "so the network cannot learn" if part.part == "training" else "so validation does not cover"
        them = "it" if len(empty) == 1 else "them"
        evidence = {"classes": empty, "part": part.part}
        if not any(_counts(data)[data.found.class_names.index(name)] for name in empty):
            message = f"{subject} no samples, so the network cannot learn {them}."
            fix = _without_gaps(data)
            message += " Add samples, or insert Label encode with the labels that occur."
            yield Problem("warning", "missing-class", message, node=data.source.name, fix=fix, evidence=evidence)
            return
        message = (
            f"{subject} no {part.part} samples, {consequence} {them}. Add samples, or add Hold-out split and turn on "
            "stratify."
        )
        fix = _stratified(data)
        yield Problem("warning", "missing-class", message, node=data.source.name, fix=fix, evidence=evidence)


def _counts(data: DataContext) -> list[int]:
    """Samples of each class in all parts."""
    return [sum(numbers) for numbers in zip(*(part.classes for part in data.found.parts), strict=True)]


def _without_gaps(data: DataContext) -> Fix | None:
    """Number the classes that occur from 0, and set the number of scores to their number."""
    losses = [loss for loss, _ in data.comparing(Role.LOSS)]
    if data.last is None or not losses or data.preview.after.class_names:
        return None
    labels: list[Json] = [number for number, count in enumerate(_counts(data)) if count]
    title, params = "Insert Label encode", {"labels": labels}
    inserted = insert_transform(data.last, "transforms.LabelEncode", params, on="targets", title=title)
    sized = (sizing(data, loss, len(labels)) for loss in losses)
    return quick_fixes.all_of([inserted, *(each for each in sized if each is not None)], title)


def _stratified(data: DataContext) -> Fix | None:
    """Split all samples again, each class in proportion."""
    if data.last is None or min(filter(None, _counts(data))) < 2:
        return None
    if any(link.type.role is Role.DIVISION for link in data.preview.chain):
        return None
    split, title = Node("data.HoldOut", {"stratify": True}), "Insert Hold-out split"
    return quick_fixes.insert(data.last, split, title=title, input_port="samples", output_port="samples")


def _imbalance(data: DataContext) -> Iterator[Problem]:
    """A rare class whose errors accuracy hides. Losses with class weights and metrics of rare classes show them."""
    counts = _class_counts(data)
    if len(counts) < 2:
        return
    (least, rare), (most, common) = min(counts), max(counts)
    if most < IMBALANCE * least:
        return
    what = (
        f"Class {common} has {most:,} training samples and class {rare} has {least:,}, {most // least} times fewer"
        f"{data.scope()}."
    )
    remedy = "Accuracy hides errors in rare classes. Use F1 or the confusion matrix, or set class weights in the loss."
    evidence = {"largest": most, "smallest": least}
    if data.loader is None:
        yield Problem("warning", "imbalance", f"{what} {remedy}", node=data.source.name, evidence=evidence)
        return
    metrics = dict(data.comparing(Role.METRIC))
    accuracy = next((name for name, node_type in metrics.items() if node_type.key in ACCURACIES), None)
    losses = [(name, _WEIGHTS[each.key]) for name, each in data.comparing(Role.LOSS) if each.key in _WEIGHTS]
    if accuracy is None or any(node_type.key in RARE_CLASS_METRICS for node_type in metrics.values()):
        return
    if data.flow is None or any(data.flow.facts[loss].arguments.values.get(param) for loss, param in losses):
        return
    fixes = [*_weights(losses, counts), add_metric(accuracy, Node("metrics.F1"), ("input", "target"))]
    node = losses[0][0] if losses else accuracy
    yield Problem(
        "warning", "imbalance", f"{what} {remedy}", node=node, fix=fixes[0], others=tuple(fixes[1:]), evidence=evidence
    )


def _class_counts(data: DataContext) -> list[tuple[int, str]]:
    """Training samples and name of each class; of numeric targets, if all are 0 or 1."""
    part = data.training
    if part.classes:
        return [(count, name) for name, count in zip(data.found.class_names, part.classes, strict=False) if count]
    if data.loader is None or data.found.classes is not None:
        return []
    targets = targets_at(data)
    if targets is None or targets.size != len(targets) or not np.isin(targets, (0, 1)).all():
        return []
    ones = int(targets.sum())
    return [(count, name) for count, name in ((len(targets) - ones, "0"), (ones, "1")) if count]


def _weights(losses: Sequence[tuple[str, str]], counts: Sequence[tuple[int, str]]) -> list[Fix]:
    """Set weights that are inversely proportional to the numbers of samples."""
    if not losses:
        return []
    loss, param = losses[0]
    total = sum(count for count, _ in counts)
    if param == "pos_weight":
        zeros, ones = (next(count for count, name in counts if name == digit) for digit in "01")
        weights: list[Json] = [round(zeros / ones, 4)]
    else:
        weights = [round(total / (len(counts) * count), 4) for count, _ in counts]
    fix = quick_fixes.assign_all({loss: {param: weights}}, f"Set {param} of {loss} from the class sizes")
    return [fix.because("It lets the network learn the rare classes; a metric only shows that it does not.")]


__all__ = ["IMBALANCE", "class_problems"]
