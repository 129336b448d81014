"""Where the weights of a probe come from: a session, a run folder, a checkpoint, or the initial weights."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from studio.document.document_errors import FileError
from studio.document.graph_comparison import compare
from studio.document.model import Document
from studio.lowering.program import LoweringError
from studio.lowering.report import Report
from studio.training.probing.node_probe import ProbeError
from studio.training.probing.recomputation import initial_weights
from studio.training.runs.run_checkpoints import list_checkpoints
from studio.training.runs.run_resuming import load_weights
from studio.training.training_session import TrainingSession

INITIAL = "Initial weights"
_SECONDS = 5.0
"""How long to wait for the batch that a run is training."""


@dataclass(frozen=True, slots=True)
class ProbedWeights:
    """Weights by path, and a text that says where they come from."""

    values: Mapping[str, Any]
    source: str
    step: int = 0


@dataclass(frozen=True, slots=True)
class WeightsRequest:
    """Which weights a probe is for. Without a run, the initial ones."""

    run: str = ""
    """Name of the run."""
    document: Document | None = None
    """What the run trains, or trained."""
    session: TrainingSession | None = None
    """The session of the run, if it belongs to this process and its last step is wanted."""
    folder: Path | None = None
    step: int = 0
    is_last: bool = True
    """Whether the last step is wanted, and not `step`."""


def read_weights(request: WeightsRequest, report: Report) -> ProbedWeights:
    """Read or copy weights.

    Raises:
        ProbeError: there are none of the chosen step. The text says which steps have weights.
    """
    document = request.document
    if document is None:
        return _initial(report, INITIAL)
    if document is not report.document and compare(document, report.document):
        return _initial(report, f"{INITIAL}: {request.run} trained another graph")
    if request.session is not None:
        step, copied = request.session.copy_weights(_SECONDS) or (0, {})
        if copied:
            return ProbedWeights(copied, f"{request.run}, step {step:,}", step)
        if request.session.steps:
            raise ProbeError(
                f"{request.run} did not finish a batch within {_SECONDS:g} s. Its weights are copied later."
            )
        return _initial(report, INITIAL)
    if request.folder is None:
        return _initial(report, INITIAL)
    path = request.folder if request.is_last else _checkpoint(request)
    try:
        return ProbedWeights(dict(load_weights(path)), f"{request.run}, step {request.step:,}", request.step)
    except FileError as error:
        raise ProbeError(str(error)) from error


def checkpoint_steps(folder: Path) -> list[int]:
    """The steps of a run whose weights can be loaded, ascending."""
    return sorted(step for step, _ in list_checkpoints(folder))


def _checkpoint(request: WeightsRequest) -> Path:
    assert request.folder is not None
    found = dict(list_checkpoints(request.folder))
    if request.step in found:
        return found[request.step]
    steps = ", ".join(f"{step:,}" for step in sorted(found))
    there = f"It has checkpoints of step {steps}." if steps else "It has no checkpoints."
    raise ProbeError(f"{request.run} has no weights of step {request.step:,}. {there}")


def _initial(report: Report, source: str) -> ProbedWeights:
    """The weights that a run starts with. A graph that cannot train yet gets weights layer by layer."""
    try:
        return ProbedWeights(initial_weights(report), source)
    except LoweringError:
        return ProbedWeights({}, source)
    except Exception as error:
        raise ProbeError(f"The data cannot be read: {error}") from error


__all__ = ["INITIAL", "ProbedWeights", "WeightsRequest", "checkpoint_steps", "read_weights"]
