"""A planted mistake: an otherwise sound project, and what the diagnosis must say about it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, TypeAlias

from studio.document.model import Document

Stage: TypeAlias = Literal["check", "data", "run", "diagnose"]
"""What shows it: the graph, its samples, a run, or the experiments of `gradwire diagnose`."""


@dataclass(frozen=True, slots=True)
class Goal:
    """What training reaches once the mistake is fixed."""

    figure: str
    """Loss or metric, such as "val_accuracy"."""
    value: float
    epochs: int
    is_highest: bool = False
    """Whether the figure must stay below `value`, as a loss."""


@dataclass(frozen=True, slots=True)
class Mistake:
    """A project with one mistake."""

    name: str
    """Identifier, such as "softmax_before_cross_entropy"."""
    code: str
    """The diagnosis."""
    node: str | None
    """The node where the problem is."""
    plant: Callable[[Path], Document]
    """The project, given an empty folder in which it can write files of data."""
    stage: Stage = "check"
    goal: Goal | None = None
    """None if the fix does not change how well the project trains."""
    has_fix: bool = True
    """False if no edit of the graph removes the cause, such as damaged files."""
    leaves: str | None = None
    """A code that is reported after the fix, because it limits the effect of a cause that no edit removes."""
    epochs: int = 1
    """With stage "run": epochs after which the problem has been reported."""


__all__ = ["Goal", "Mistake", "Stage"]
