"""Detection of diverging losses, with a suggested fix."""

from __future__ import annotations

import math

from engine import fit
from studio.document.model import Document
from studio.document.training_settings import TRAINING_SETTINGS
from studio.lowering.problems import quick_fixes
from studio.lowering.problems.problem import Fix, Problem
from studio.nodes.catalogue import Catalogue

FACTOR = 1000.0
"""A loss above this multiple of max(first loss, 1) has diverged."""
_DIVISOR = 10
"""Divisor of the suggested learning rate."""
_LINE_SEARCH = "line_search_fn"
DIVERGED = "diverged"
VALIDATION_NOT_FINITE = "validation-not-finite"
_CAUSES = "Look for a layer or loss that divides by 0 or takes a logarithm or root of such values."
LOSS_PROBLEMS = {DIVERGED: "diverged", "exploding-gradients": "diverged", VALIDATION_NOT_FINITE: "val. NaN"}
"""Codes of problems of losses, with what they add to the state of a run."""


class DivergenceDetector:
    """Check the losses of a run, and warn once per optimizer when its loss diverges or its validation loss is NaN."""

    def __init__(self, document: Document, catalogue: Catalogue) -> None:
        self._document = document
        self._catalogue = catalogue
        self._first: dict[str, float] = {}
        self._last: dict[str, float] = {}
        self._reported: set[str] = set()
        self._reported_validation: set[str] = set()
        self._validation: fit.ValidationStep | None = None
        """The first batch of the current validation whose loss is not finite."""

    def check(self, event: fit.TrainingEvent) -> list[Problem]:
        """The warnings at the optimizers whose loss diverged in this event."""
        match event:
            case fit.Step():
                return self._check_training(event)
            case fit.ValidationStep():
                if not event.finite:
                    self._validation = self._validation or event
                return []
            case fit.Validated() | fit.Epoch():
                return self._check_validation(event)
            case _:
                return []

    def _check_training(self, step: fit.Step) -> list[Problem]:
        self._last = dict(step.losses)
        found: list[Problem] = []
        for name, loss in step.losses.items():
            first = self._first.setdefault(name, loss)
            if name not in self._reported and not loss <= FACTOR * max(abs(first), 1.0):
                self._reported.add(name)
                found.append(self._problem(name, loss, first, step))
        return found

    def _check_validation(self, event: fit.Validated | fit.Epoch) -> list[Problem]:
        wrong = [name for name, loss in event.val_losses.items() if not math.isfinite(loss)]
        batch, self._validation = self._validation, None
        new = [name for name in wrong if name not in self._reported | self._reported_validation]
        self._reported_validation.update(new)
        return [self._validation_problem(name, event.val_losses[name], event.epoch, batch) for name in new]

    def _validation_problem(self, name: str, loss: float, epoch: int, batch: fit.ValidationStep | None) -> Problem:
        number = "" if batch is None else f", first in batch {batch.batch:,} of the validation data"
        training = f" (training loss: {self._last[name]:.3g})" if name in self._last else ""
        message = f"The validation loss of {name} is {_word(loss)} in epoch {epoch}{training}{number}."
        if batch is not None and batch.nonfinite_values:
            found = batch.nonfinite_values
            hint = f"{found[0].upper()}{found[1:]}. Add Fill missing or Clip; the statistics of the data show where."
        else:
            hint = f"{_CAUSES} Also compare batch norm, which uses running averages in validation."
        return Problem("warning", VALIDATION_NOT_FINITE, f"{message} {hint}", node=name)

    def _problem(self, name: str, loss: float, first: float, step: fit.Step) -> Problem:
        found = _word(loss)
        if not math.isfinite(first):
            message = f"The first loss of {name} is {found}."
            return Problem("warning", DIVERGED, f"{message} {_CAUSES}", node=name)
        hint, fix = self._remedy(name)
        message = (
            f"Training diverges: the loss of {name} became {found} in batch {step.step:,} (first loss: {first:.3g})."
        )
        return Problem("warning", DIVERGED, f"{message} {hint} Then start the run again.", node=name, fix=fix)

    def _remedy(self, name: str) -> tuple[str, Fix | None]:
        node = self._document.nodes.get(name)
        kind = None if node is None else self._catalogue.get(node.type)
        declared = None if kind is None else kind.param("lr")
        if node is None or kind is None or declared is None:
            return f"Lower the learning rate of {name}.", None
        rate = node.params.get("lr", declared.default)
        less = float(f"{rate / _DIVISOR:.6g}") if isinstance(rate, (int, float)) else None
        lower = f"lr of {name}" if less is None else f"lr of {name} from {rate:g} to {less:g}"
        if kind.param(_LINE_SEARCH) is None:
            set_to = self._document.training.clip_norm
            change = "set" if set_to is None else "lower"
            now = "" if set_to is None else f" from {set_to:g}"
            title = TRAINING_SETTINGS["clip_norm"].title
            hint = f'Lower {lower}, or {change} "{title}" (clip_norm){now} in the training settings.'
        elif node.params.get(_LINE_SEARCH) is None:
            hint = (
                f"Without a line search, steps can be too long. Set {_LINE_SEARCH} to strong_wolfe, or lower {lower}."
            )
            return hint, quick_fixes.assign(name, _LINE_SEARCH, "strong_wolfe")
        else:
            hint = f"Lower {lower}, or increase the batch size: this optimizer needs full-batch gradients."
        return hint, None if less is None else quick_fixes.assign(name, "lr", less)


def consequence(problem: Problem, cause: Problem) -> Problem:
    """A loss that a known problem explains: a hint, because the cause is the problem to fix."""
    where = "" if cause.node is None else f" at {cause.node}"
    is_detailed = problem.code == VALIDATION_NOT_FINITE and cause.code in ("missing", "infinite")  # with the samples
    begin = problem.message.removesuffix(".") if is_detailed else problem.message.partition(". ")[0]
    return Problem("hint", problem.code, f"{begin}. The problem {cause.code}{where} explains it.", node=problem.node)


def _word(loss: float) -> str:
    return "NaN" if math.isnan(loss) else "infinite" if math.isinf(loss) else f"{loss:.3g}"


__all__ = ["LOSS_PROBLEMS", "DivergenceDetector", "consequence"]
