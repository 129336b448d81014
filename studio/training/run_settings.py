"""How a run goes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from engine import cuda_available
from studio.document import edits
from studio.document.model import Document, Training

Device = Literal["auto", "cpu", "cuda"]


@dataclass(frozen=True, slots=True)
class RunSettings:
    """How a run goes, with everything decided."""

    epochs: int | None
    steps: int | None
    device: str
    seed: int
    compile: bool


def resolve_device(device: Device) -> str:
    """The device that a choice stands for."""
    return ("cuda" if cuda_available() else "cpu") if device == "auto" else device


def resolve_settings(
    training: Training,
    known: Mapping[str, Any],
    *,
    epochs: int | None,
    steps: int | None,
    device: Device | None,
    seed: int | None,
    compile: bool | None,
) -> RunSettings:
    """What is asked for, else what is `known` of a run that goes on, else what its document says."""
    if epochs is None and steps is None:
        usual = training.epochs if training.steps is None else None
        epochs, steps = known.get("epochs", usual), known.get("steps", training.steps)
    return RunSettings(
        epochs=epochs,
        steps=steps,
        device=resolve_device(device or training.device),
        seed=known.get("seed", training.seed) if seed is None else seed,
        compile=known.get("compile", training.compile) if compile is None else compile,
    )


def with_run_length(document: Document, settings: RunSettings, known: Mapping[str, Any]) -> Document:
    """A document with the length that schedules follow: what a run is asked for, or was begun with."""
    epochs = known.get("epochs") if settings.epochs is None else settings.epochs
    if epochs is not None:
        return edits.set_training(document, epochs=max(epochs, 1), steps=None)
    # Without steps of its own a document has a plan of epochs, of which a run of some steps is the beginning.
    steps = None if document.training.steps is None else settings.steps
    return document if steps is None else edits.set_training(document, steps=max(steps, 1))


__all__ = ["Device", "RunSettings", "resolve_settings", "with_run_length", "resolve_device"]
