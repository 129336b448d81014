"""Mistakes with several schedules, and with schedules of a fixed length."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

from studio.document import edits
from studio.document.model import Document, Node
from studio.reference.mistakes.mistake import Goal, Mistake
from studio.reference.mistakes.parts import rewired, sound

_EPOCHS = 6
_LEARNED = Goal("val_loss", 1.0, epochs=_EPOCHS, is_highest=True)


def _scheduled(_: Path, nodes: dict[str, tuple[str, dict[str, Any], str]]) -> Document:
    """A sound network with schedules: name → (type, parameters, the node that it follows)."""
    made = {name: Node(f"lr_scheduler.{kind}", params) for name, (kind, params, _) in nodes.items()}
    wires = [f"{before}.optimizer -> {name}.optimizer" for name, (_, _, before) in nodes.items()]
    return edits.set_training(rewired(sound(rate=0.01, **made), (), wires), epochs=_EPOCHS)


def _mistake(name: str, code: str, node: str, **nodes: tuple[str, dict[str, Any], str]) -> Mistake:
    plant: Callable[[Path], Document] = partial(_scheduled, nodes=nodes)
    return Mistake(name, code, node, plant, goal=_LEARNED)


_WARM_UP = {"start_factor": 0.1, "total_iters": 2}
SCHEDULES: tuple[Mistake, ...] = (
    _mistake(
        "two_schedules_after_a_warm_up",
        "two-followers",
        "steps",
        warm_up=("LinearLR", _WARM_UP, "adam"),
        cosine=("CosineAnnealingLR", {}, "warm_up"),
        steps=("StepLR", {"step_size": 2}, "warm_up"),
    ),
    _mistake(
        "plateau_after_a_warm_up",
        "schedule-alone",
        "plateau",
        warm_up=("LinearLR", _WARM_UP, "adam"),
        plateau=("ReduceLROnPlateau", {"patience": 1}, "warm_up"),
    ),
    _mistake(
        "steps_after_epochs",
        "mixed-counting",
        "cosine",
        warm_up=("LinearLR", _WARM_UP, "adam"),
        cosine=("CosineAnnealingLR", {"per": "step"}, "warm_up"),
    ),
    _mistake(
        "one_cycle_beside_steps",
        "schedules-overrule",
        "steps",
        cycle=("OneCycleLR", {"max_lr": 0.02}, "adam"),
        steps=("StepLR", {"step_size": 2}, "adam"),
    ),
    _mistake(
        "warm_up_as_long_as_the_training",
        "schedule-late",
        "warm_up",
        warm_up=("LinearLR", {"total_iters": 10}, "adam"),
        cosine=("CosineAnnealingLR", {}, "warm_up"),
    ),
    _mistake(
        "one_cycle_for_a_shorter_training",
        "schedule-short",
        "cycle",
        cycle=("OneCycleLR", {"max_lr": 0.02, "total_steps": 60}, "adam"),
    ),
    _mistake(
        "cosine_for_a_shorter_training",
        "schedule-rises",
        "cosine",
        cosine=("CosineAnnealingLR", {"T_max": 3}, "adam"),
    ),
)

__all__ = ["SCHEDULES"]
