"""Compares the results of a source before and after a rewrite, on many batches and in both branches of conditions."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

import engine
from studio.lowering.user_code.code_errors import described
from studio.lowering.user_code.graph_breaks.code_trial import Batch, CodeTrial, TrialResult

_ROUNDING = 64
"""Largest difference, in units of the dtype's precision at the largest element, that counts as rounding."""


@dataclass(frozen=True, slots=True)
class Agreement:
    """How far the results of two sources agree."""

    difference: float = 0.0
    """Largest difference, relative to the largest element. 0 if all bits are equal."""
    batches: int = 0
    """Number of batches that were compared."""

    @property
    def text(self) -> str:
        """As a clause: "results and gradients are equal to the last bit on 12 batches"."""
        how = "equal to the last bit" if not self.difference else f"equal within rounding ({self.difference:.0e})"
        return f"results and gradients are {how} on {self.batches} batches"


def compare(before: CodeTrial, after: CodeTrial, batches: Sequence[Batch], *, prints: bool = True) -> Agreement | str:
    """How far two sources agree, or how they differ, as a clause.

    Args:
        prints: what they print counts, too
    """
    largest, compared = 0.0, 0
    for batch in batches:
        for is_training in (True, False) if before.is_module else (True,):
            old, new = before.run(batch, is_training=is_training), after.run(batch, is_training=is_training)
            if isinstance(old.error, AssertionError) or (old.error is not None and not batch.has_gradients):
                continue  # there is no result to compare
            found = _difference(old, new, prints=prints)
            if isinstance(found, str):
                return f"{found} for {batch.name}"
            largest = max(largest, found)
        compared += 1
    return Agreement(largest, compared) if compared else "the code fails for all batches"


def compare_branches(
    before: CodeTrial, after: CodeTrial, conditions: Sequence[str], batches: Sequence[Batch]
) -> Agreement | str:
    """Like `compare`, with each condition true alone, and with none and all of them true.

    Args:
        conditions: positions of the conditions, as the sources pass them
    """
    choices = [frozenset[str](), frozenset(conditions), *(frozenset({each}) for each in conditions)]
    largest, compared = 0.0, 0
    for batch in batches:
        for chosen in dict.fromkeys(choices):
            force = _forced(chosen)
            old, new = before.run(batch, force=force), after.run(batch, force=force)
            if old.error is not None and not batch.has_gradients:
                continue
            if old.error is not None and compared:
                continue  # this branch fails for these values in the original, too
            found = _difference(old, new, prints=True)
            if isinstance(found, str):
                return f"{found} for {batch.name}, if {'the condition is true' if chosen else 'the condition is false'}"
            largest = max(largest, found)
            compared += 1
    return Agreement(largest, compared)


def _forced(chosen: frozenset[str]) -> Callable[[str, Any], Any]:
    def force(position: str, condition: Any) -> Any:
        value = position in chosen
        if not isinstance(condition, engine.Tensor):
            return value
        return engine.full(tuple(condition.shape), value, dtype=engine.bool)

    return force


def _difference(old: TrialResult, new: TrialResult, *, prints: bool) -> float | str:
    """The largest relative difference, or what differs, as the start of a clause."""
    if old.error is not None or new.error is not None:
        if old.error is not None and new.error is not None:
            return 0.0 if type(old.error) is type(new.error) else "another error is raised"
        error = new.error or old.error
        assert error is not None
        text = described(error, str(error)).rstrip(".")
        return f"the rewritten code fails ({text})" if new.error is not None else f"an error is not raised ({text})"
    if prints and old.printed != new.printed:
        return "less is printed"
    if len(old.outputs) != len(new.outputs):
        return "the number of outputs differs"
    outputs = _largest(old.outputs, new.outputs, "the result")
    if isinstance(outputs, str):
        return outputs
    gradients = _largest(*_aligned(old.gradients, new.gradients), "the gradient")
    if isinstance(gradients, str):
        return gradients
    state = _largest(old.state, new.state, "what the code changes or the random numbers that it draws")
    return state if isinstance(state, str) else max(outputs, gradients)


def _aligned(old: tuple[Any, ...], new: tuple[Any, ...]) -> tuple[tuple[Any, ...], tuple[Any, ...]]:
    """Gradients, with zeros for those that are None on one side: they have the same effect."""
    pairs = [
        (
            np.zeros_like(b) if a is None and b is not None else a,
            np.zeros_like(a) if b is None and a is not None else b,
        )
        for a, b in zip(old, new, strict=True)
    ]
    return tuple(a for a, _ in pairs), tuple(b for _, b in pairs)


def _largest(old: Sequence[Any], new: Sequence[Any], noun: str) -> float | str:
    if len(old) != len(new):
        return f"{noun} differs"
    largest = 0.0
    for a, b in zip(old, new, strict=True):
        if not _is_array(a) or not _is_array(b):
            if type(a) is not type(b) or a != b:
                return f"{noun} differs"
            continue
        if a.shape != b.shape:
            return f"the shape of {noun} differs"
        if a.dtype != b.dtype:
            return f"the dtype of {noun} differs ({a.dtype}, then {b.dtype})"
        found = _relative(a, b)
        if found is None:
            return f"{noun} differs"
        largest = max(largest, found)
    return largest


def _is_array(value: Any) -> bool:
    return isinstance(value, np.ndarray)


def _relative(a: Any, b: Any) -> float | None:
    """The largest difference relative to the largest element; None if it is more than rounding."""
    if a.dtype.kind not in "fc":
        return 0.0 if np.array_equal(a, b) else None
    if np.array_equal(a, b, equal_nan=True):
        return 0.0
    finite = np.isfinite(a)
    if not np.array_equal(finite, np.isfinite(b)) or not np.array_equal(a[~finite], b[~finite], equal_nan=True):
        return None
    if not finite.any():
        return 0.0
    size = float(np.abs(a[finite]).max()) or 1.0
    with np.errstate(over="ignore"):
        found = float(np.abs(a[finite].astype(np.float64) - b[finite].astype(np.float64)).max()) / size
    return found if found <= _ROUNDING * float(np.finfo(a.dtype).eps) else None


__all__ = ["Agreement", "compare", "compare_branches"]
