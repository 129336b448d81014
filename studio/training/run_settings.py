"""Settings of a run."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from engine import cuda_available
from studio.document import edits
from studio.document.model import Document, TrainingSettings

Device = Literal["auto", "cpu", "cuda"]


@dataclass(frozen=True, slots=True)
class RunSettings:
    """Settings of a run after applying defaults and overrides."""

    epochs: int | None
    steps: int | None
    device: str
    seed: int
    compile: bool
    probe_steps: int


def resolve_device(device: Device) -> str:
    """Resolve "auto" to "cuda" if a GPU is available, else "cpu"."""
    return ("cuda" if cuda_available() else "cpu") if device == "auto" else device


def resolve_settings(
    training: TrainingSettings,
    resumed: Mapping[str, Any],
    *,
    epochs: int | None,
    steps: int | None,
    device: Device | None,
    seed: int | None,
    compile: bool | None,
    probe_steps: int | None = None,
) -> RunSettings:
    """Choose each setting: the argument, else the resumed run's value in `known`, else the document's."""
    if epochs is None and steps is None:
        default_epochs = training.epochs if training.steps is None else None
        epochs, steps = resumed.get("epochs", default_epochs), resumed.get("steps", training.steps)
    return RunSettings(
        epochs=epochs,
        steps=steps,
        device=resolve_device(device or training.device),
        seed=resumed.get("seed", training.seed) if seed is None else seed,
        compile=resumed.get("compile", training.compile) if compile is None else compile,
        probe_steps=resumed.get("probe_steps", training.probe_steps) if probe_steps is None else probe_steps,
    )


def with_run_length(document: Document, settings: RunSettings, resumed: Mapping[str, Any]) -> Document:
    """The document with the run's number of epochs or steps, from which schedules take their length."""
    epochs = resumed.get("epochs") if settings.epochs is None else settings.epochs
    if epochs is not None:
        return edits.set_training(document, epochs=max(epochs, 1), steps=None)
    # Without `steps` in the document, schedules span its epochs, and a run of N steps is the start of them.
    steps = None if document.training.steps is None else settings.steps
    return document if steps is None else edits.set_training(document, steps=max(steps, 1))


__all__ = ["Device", "RunSettings", "resolve_settings", "with_run_length", "resolve_device"]
