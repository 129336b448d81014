"""Targets outside the convention of the loss that they reach: 0 and 1, -1 and 1, or class numbers from 0."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from studio.document.model import Document, Endpoint, Json
from studio.lowering.analysis.input_scale import to_json_value
from studio.lowering.checks.losses.class_counts import MAX_LISTED_LABELS
from studio.lowering.checks.losses.targets import targets_of
from studio.lowering.checks.parameters.size_origins import origin_of_size
from studio.lowering.problems import quick_fixes
from studio.lowering.problems.problem import Fix, Problem
from studio.nodes.types import Role
from studio.training.data.findings.data_context import DataContext, listed
from studio.training.data.findings.data_fixes import insert_transform
from studio.training.data.findings.sample_reading import inputs_at, targets_at

PROBABILITY_LOSSES = frozenset({"nn.BCELoss", "nn.BCEWithLogitsLoss", "nn.MultiLabelSoftMarginLoss"})
"""Losses whose targets are probabilities."""
SIGN_LOSSES = frozenset({"nn.SoftMarginLoss", "nn.HingeEmbeddingLoss"})
"""Losses whose targets are -1 and 1."""
CLASS_LOSSES = frozenset({"nn.CrossEntropyLoss", "nn.NLLLoss", "nn.MultiMarginLoss"})
"""Losses whose targets are class numbers."""

_TOLERANCE = 1e-4
_MANY = 5
"""Number of distinct targets from which they are shown as a range."""


def convention_problems(data: DataContext) -> Iterator[Problem]:
    for loss, node_type in data.with_role(Role.LOSS):
        end = data.compared_output(loss)
        if end is None or end.node != data.loader:
            continue
        if node_type.key in PROBABILITY_LOSSES and _are_many_classes(data, loss):
            continue  # the check reports it
        if node_type.key in PROBABILITY_LOSSES | SIGN_LOSSES:
            yield from _outside(data, loss, end, is_sign=node_type.key in SIGN_LOSSES)
        elif node_type.key in CLASS_LOSSES and end.port == "target":
            yield from _misnumbered(data, loss)


def _are_many_classes(data: DataContext, loss: str) -> bool:
    """Whether the targets of a loss are the numbers of more than two classes."""
    targets = None if data.flow is None else targets_of(data.flow, loss)
    return targets is not None and targets.are_class_numbers and (targets.classes or 0) > 2


def _outside(data: DataContext, loss: str, end: Endpoint, *, is_sign: bool) -> Iterator[Problem]:
    on = "targets" if end.port == "target" else "inputs"
    values = targets_at(data) if on == "targets" else inputs_at(data, -1)
    if values is None or values.dtype.kind != "f" or not values.size:
        return
    different = np.unique(values[np.isfinite(values)][:200_000])
    if not len(different):
        return
    low, high = float(different[0]), float(different[-1])
    if is_sign:
        fits = bool((np.abs(np.abs(different) - 1) < _TOLERANCE).all())
    else:
        fits = low >= -_TOLERANCE and high <= 1 + _TOLERANCE
    if fits:
        return
    expected = "-1 or 1" if is_sign else "between 0 and 1"
    if len(different) < _MANY:
        found = ", ".join(f"{value:.4g}" for value in different[:-1])
        found = f"{found} and {high:.4g}" if found else f"{high:.4g}"
    else:
        found = f"from {low:.4g} to {high:.4g}"
    fix = (
        _rescaling(data, low, high, on=on, is_sign=is_sign)
        if high > low and (len(different) == 2 or not is_sign)
        else None
    )
    message = f"{loss} expects targets {expected}, but those of {end.node} are {found}{data.scope()}."
    remedy = f" {fix.title}." if fix is not None else " Convert them in the data source."
    evidence = {"low": low, "high": high, "values": [float(value) for value in different[:_MANY]]}
    yield Problem(
        "warning", "target-convention", message + remedy, node=loss, port="target", fix=fix, evidence=evidence
    )


def _rescaling(data: DataContext, low: float, high: float, *, on: str, is_sign: bool) -> Fix | None:
    if data.last is None:
        return None
    mean, std = ((low + high) / 2, (high - low) / 2) if is_sign else (low, high - low)
    params: dict[str, Json] = {"mean": to_json_value(mean), "std": to_json_value(std)}
    lowest = "-1" if is_sign else "0"
    title = f"Insert Normalize that maps {low:.4g} and {high:.4g} to {lowest} and 1"
    return insert_transform(data.last, "transforms.Normalize", params, on=on, title=title)


def _misnumbered(data: DataContext, loss: str) -> Iterator[Problem]:
    """Class numbers that begin at 1, or that have gaps."""
    labels = misnumbered_labels(data)
    if labels is None or _scores(data, loss) == len(labels):
        return  # the check reports it
    first, last = labels[0], labels[-1]
    is_range = len(labels) == last - first + 1
    which = f"range from {first} to {last}" if is_range else f"are {listed([str(label) for label in labels])}"
    unused = "a class 0" if first == 1 and is_range else f"{last + 1 - len(labels)} classes without samples"
    has_scores = _scores(data, loss) == last + 1
    consequence = f", and {loss} has a score for {unused}" if has_scores else ""
    message = (
        f"The labels of {data.source.name} {which}, but classes are numbered from 0{consequence}. "
        "Add Label encode to the targets."
    )
    fix = _encoding(data, loss, labels)
    evidence = {"lowest": first, "highest": last, "labels": len(labels)}
    code = "labels-from-one" if first == 1 and is_range else "labels-with-gaps"
    yield Problem("warning", code, message, node=data.source.name, fix=fix, evidence=evidence)


def _scores(data: DataContext, loss: str) -> int | None:
    """The number of scores of a loss."""
    found = None if data.flow is None else data.flow.facts[loss].spec("input")
    number = found.shape[1] if found is not None and found.ndim > 1 else None
    return number if isinstance(number, int) else None


def misnumbered_labels(data: DataContext) -> list[int] | None:
    """The labels if they begin at 1, or at most half of the numbers up to the highest one occur, and have no names."""
    counts = np.sum([part.classes for part in data.found.parts], axis=0) if data.found.class_names else np.empty(0)
    is_read = sum(int(count) for count in counts) >= sum(part.samples for part in data.found.parts)
    if len(counts) < 3 or not is_read or data.preview.after.class_names:
        return None
    labels = [int(label) for label in np.flatnonzero(counts)]
    begins_at_one = not counts[0] and len(labels) == len(counts) - 1
    has_gaps = 2 <= len(labels) <= min(len(counts) // 2, MAX_LISTED_LABELS)
    return labels if begins_at_one or has_gaps else None


def _encoding(data: DataContext, loss: str, found: Sequence[int]) -> Fix | None:
    if data.last is None or data.flow is None:
        return None
    labels: list[Json] = [*found]
    classes = len(labels)
    inserted = insert_transform(
        data.last, "transforms.LabelEncode", {"labels": labels}, on="targets", title="Insert Label encode"
    )
    sized = sizing(data, loss, classes)

    def edit(document: Document) -> Document:
        document = inserted.edit(document)
        return document if sized is None else sized.edit(document)

    return Fix(inserted.title if sized is None else f"{inserted.title}, and {sized.title}", edit)


def sizing(data: DataContext, loss: str, classes: int) -> Fix | None:
    """A fix that sets the number of scores to the number of classes."""
    flow = data.flow
    end = None if flow is None else flow.graph.source(loss, "input")
    if flow is None or end is None or _scores(data, loss) in (None, classes):
        return None
    cause = origin_of_size(flow, end, 1)
    out = next((each.name for each in flow.facts[cause].type.params if each.name.startswith("out_")), None)
    return None if out is None else quick_fixes.assign(cause, out, classes)


__all__ = ["convention_problems", "misnumbered_labels", "sizing"]
