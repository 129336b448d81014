"""Wrong answers of learners, derived from the solution of a step."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from msgspec.structs import replace

from studio.document.document_errors import EditError
from studio.document.model import Document, Json
from studio.lessons.conditions import SelectionIs
from studio.lessons.lesson import COURSES, Choice, Curve, Number, Prediction, Step
from studio.lessons.predictions import Comparison
from studio.lessons.solution_edits import ACTIONS, apply_edit, kind_of
from studio.nodes.catalogue import catalogue

Edit = Mapping[str, Json]

_OTHERS = {("input", "output"): "nn.Identity", ("x", "output"): "ops.neg", ("samples", "samples"): "transforms.Clip"}
"""A node type that does something else, by the ports through which a node is inserted."""


def wrong_steps(step: Step, document: Document) -> Iterator[tuple[str, Step]]:
    """The step with one edit of its solution left out or mistaken, and a description."""
    for index, edit in enumerate(step.solution):
        if kind_of(edit) == "select" and not any(isinstance(each, SelectionIs) for each in step.conditions):
            continue  # it leads the way only
        if kind_of(edit) == "run" and any(kind_of(each) == "run" for each in step.solution[index + 1 :]):
            continue
        if kind_of(edit) == "training" and index:
            continue  # solutions that train for longer than needed
        yield f"without {edit}", _with(step, index)
        for other in mistaken(edit, document):
            yield f"{other} instead of {edit}", _with(step, index, other)
    runs = tuple(each for each in step.solution if kind_of(each) == "run")
    if any(kind_of(each) not in ACTIONS for each in step.solution) and runs:
        yield "run first", replace(step, solution=runs + tuple(each for each in step.solution if each not in runs))


def mistaken(edit: Edit, document: Document) -> Iterator[dict[str, Any]]:
    """The edit as of a learner who took another value, node, type or wire."""
    values: dict[str, Any] = dict(edit)
    match kind_of(edit):
        case "set":
            yield from ({**values, "value": value} for value in _other_values(values["value"]))
        case "training":
            for name, value in values["training"].items():
                yield from ({"training": {**values["training"], name: other}} for other in _other_values(value))
        case "select":
            yield {"select": next(name for name in document.nodes if name != values["select"])}
        case "change" if "frozen" in values:
            yield {**values, "change": next(name for name in document.nodes if name != values["change"])}
        case "insert" | "add" as kind:
            for name, value in values.get("params", {}).items():
                for other in _other_values(value):
                    yield {**values, "params": {**values["params"], name: other}}
            if (
                kind == "insert"
                and (other := _OTHERS.get(tuple(values["ports"]), values["insert"])) != values["insert"]
            ):
                yield {**values, "insert": other, "params": {}}
        case "connect":
            source, target = values["connect"]
            yield from ({"connect": wire} for wire in _other_wires(source, target, document))


def _with(step: Step, index: int, *edits: dict[str, Any]) -> Step:
    return replace(step, solution=(*step.solution[:index], *edits, *step.solution[index + 1 :]))


def _other_values(value: Json) -> Iterator[Json]:
    match value:
        case bool():
            yield not value
        case int() | float():
            yield 2 * value + 1
        case [int() | float() as single]:
            yield [2 * single + 1]
        case [*several] if len(several) > 1 and several != several[::-1]:
            yield several[::-1]
        case _:
            pass


def _other_wires(source: str, target: str, document: Document) -> Iterator[list[str]]:
    """The wire from another output, and to another input of the same node."""
    node, _, port = source.rpartition(".")
    for name, other in document.nodes.items():
        ports = [each.name for each in catalogue()[other.type].outputs] if other.type in catalogue() else []
        if name not in (node, target.rpartition(".")[0]) and port in ports:
            wire = [f"{name}.{port}", target]
            try:
                apply_edit(document, {"connect": wire})
            except EditError:
                continue
            yield wire
            return


def wrong_answers(prediction: Prediction, right: Comparison) -> Iterator[Json]:
    """Answers that are wrong, given a comparison with the measurement."""
    match prediction:
        case Choice(options=options):
            yield from (index for index, option in enumerate(options) if option != right.measured)
        case Number(tolerance=tolerance):
            measured = float(right.measured.replace(",", ""))
            yield from (measured + 2 * tolerance + 1, measured - 2 * tolerance - 1)
        case Curve():
            yield from (course for course in COURSES if course != right.measured)


def right_answer(prediction: Prediction, compared: Comparison) -> Json:
    """The answer that agrees with the measurement."""
    match prediction:
        case Choice(options=options):
            return options.index(compared.measured)
        case Number():
            return float(compared.measured.replace(",", ""))
        case Curve():
            return compared.measured


__all__ = ["mistaken", "right_answer", "wrong_answers", "wrong_steps"]
