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


class DivergenceDetector:
    """Check the losses of a run, and warn once per optimizer when its loss diverges."""

    def __init__(self, document: Document, catalogue: Catalogue) -> None:
        self._document = document
        self._catalogue = catalogue
        self._first: dict[str, float] = {}
        self._reported: set[str] = set()

    def check(self, step: fit.Step) -> Problem | None:
        """Return a warning at the optimizer whose loss diverged in this step; else None."""
        for name, loss in step.losses.items():
            first = self._first.setdefault(name, loss)
            if name not in self._reported and not loss <= FACTOR * max(abs(first), 1.0):
                self._reported.add(name)
                return self._problem(name, loss, first, step)
        return None

    def _problem(self, name: str, loss: float, first: float, step: fit.Step) -> Problem:
        found = "NaN" if math.isnan(loss) else "infinite" if math.isinf(loss) else f"{loss:.3g}"
        if not math.isfinite(first):
            message = f"The first loss of {name} is {found}."
            hint = "Look for a layer or loss that divides by 0 or takes a logarithm or root of such values."
            return Problem("warning", "diverged", f"{message} {hint}", node=name)
        hint, fix = self._remedy(name)
        message = (
            f"Training diverges: the loss of {name} became {found} in batch {step.step:,} (first loss: {first:.3g})."
        )
        return Problem("warning", "diverged", f"{message} {hint} Then start the run again.", node=name, fix=fix)

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


__all__ = ["DivergenceDetector"]
