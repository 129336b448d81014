"""Whether a loss has run away, and what is to be tried then."""

from __future__ import annotations

import math

from engine import fit
from studio.document.model import Document
from studio.lowering.problems import quick_fixes
from studio.lowering.problems.problem import Fix, Problem
from studio.nodes.catalogue import Catalogue

FACTOR = 1000.0
"""Times the first loss, or 1 if that was less."""
_DIVISOR = 10
"""By which a learning rate is to be divided."""
_LINE_SEARCH = "line_search_fn"


class DivergenceDetector:
    """Looks at the losses of a run, and tells of each optimizer once that its loss has run away."""

    def __init__(self, document: Document, catalogue: Catalogue) -> None:
        self._document = document
        self._catalogue = catalogue
        self._first: dict[str, float] = {}
        self._told: set[str] = set()

    def look(self, step: fit.Step) -> Problem | None:
        """A warning at the optimizer whose loss has run away with this step."""
        for name, loss in step.losses.items():
            first = self._first.setdefault(name, loss)
            if name not in self._told and not loss <= FACTOR * max(abs(first), 1.0):
                self._told.add(name)
                return self._problem(name, loss, first, step)
        return None

    def _problem(self, name: str, loss: float, first: float, step: fit.Step) -> Problem:
        found = "not a number" if math.isnan(loss) else "infinite" if math.isinf(loss) else f"{loss:.3g}"
        if not math.isfinite(first):
            told = f"The loss of {name} is {found} before anything was learned."
            hint = "Look for a layer or loss that divides by 0, or takes the logarithm or the root of such numbers."
            return Problem("warning", "diverged", f"{told} {hint}", node=name)
        hint, fix = self._remedy(name)
        told = f"Training diverges: the loss of {name} was {first:.3g} at first and is {found} in batch {step.step:,}."
        return Problem("warning", "diverged", f"{told} {hint} Then run again.", node=name, fix=fix)

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
            hint = f"Lower {lower}, or bound its gradients by clip_norm in the settings of the training."
        elif node.params.get(_LINE_SEARCH) is None:
            hint = (
                f"Without a line search, steps can be too long. Set {_LINE_SEARCH} to strong_wolfe, or lower {lower}."
            )
            return hint, quick_fixes.assign(name, _LINE_SEARCH, "strong_wolfe")
        else:
            hint = f"Lower {lower}, or make the batches larger: it counts on the gradient of the whole data."
        return hint, None if less is None else quick_fixes.assign(name, "lr", less)


__all__ = ["DivergenceDetector"]
