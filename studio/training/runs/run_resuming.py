"""Resume unfinished runs from their checkpoints, and load weights from runs, checkpoints and weights files."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, NoReturn

import msgspec

from engine import Tensor, fit
from engine.errors import WeightsError
from engine.system.files import open_regular
from studio.document import edits
from studio.document.blocks.block_expansion import flat_document
from studio.document.document_errors import FileError
from studio.document.files.project_files import load
from studio.document.files.project_format import loads
from studio.document.model import Document, Node
from studio.lowering.program import LoweringError, Program
from studio.nodes.catalogue import Catalogue
from studio.training.environment_record import package_versions
from studio.training.runs.run_checkpoints import is_checkpoint, load_file, newest_checkpoint, validate_checkpoint
from studio.training.runs.run_comparison import describe_differences
from studio.training.runs.run_locks import LOCK_FILE, RunLock, is_run_locked, locked_error
from studio.training.runs.run_metadata import read_metadata
from studio.training.runs.run_record import GRAPH_FILE, METRICS_FILE, RUN_FILE, WEIGHTS_FILE, without_annotations

_NEW_RUN = "Start a new run, optionally with these weights (--start-from)."


_MISFIT_ERRORS = (ArithmeticError, AttributeError, LookupError, RuntimeError, TypeError, ValueError)
"""Errors raised while loading if values of a checkpoint do not fit its graph."""
_MAX_DIFFERENCES = 4
"""Most differences listed in a warning."""
_TAIL_BYTES = 1 << 16
"""Bytes read from the end of metrics.jsonl to find its last lines."""


@dataclass(frozen=True)
class ResumedRun:
    """A run to resume, as read from its folder."""

    folder: Path
    document: Document
    settings: Mapping[str, Any]
    checkpoint: Mapping[str, Any] | None
    """None if there is no valid checkpoint: the run restarts from epoch 0."""
    warnings: tuple[str, ...]
    has_ended: bool = False
    """Whether the run was complete and is being extended."""
    metadata: Mapping[str, Any] = field(default_factory=dict[str, Any])
    """The content of run.json."""
    file: Path = Path()
    """File of the checkpoint; the run folder if there is none."""

    @property
    def position(self) -> Mapping[str, Any]:
        """Position of the run record at the checkpoint, from `RunRecord.position`."""
        return {} if self.checkpoint is None else self.checkpoint["metrics"]


def find_run_folder(runs: Path, name: str) -> Path | None:
    """Find a run by path, or by folder name, number or name in `runs`; None if there is none."""
    for folder in (Path(name), runs / name):
        if os.path.isfile(folder / RUN_FILE):
            return folder
    for path in sorted(runs.glob(f"*/{RUN_FILE}")):
        with suppress(FileError):
            metadata = read_metadata(path)
            if name in (str(metadata.get("number")), f"Run {metadata.get('number')}", metadata.get("name")):
                return path.parent
    return None


def find_resumable(runs: Path, name: str = "") -> Path:
    """Find the folder of a named run; without a name, of the newest unfinished run.

    Raises FileError if there is none, or if a run.json is damaged and the choice would be ambiguous: resuming the
    wrong run must not happen silently.
    """
    if name:
        folder = find_run_folder(runs, name)
        if folder is None:
            damaged = [path.parent.name for path in sorted(runs.glob(f"*/{RUN_FILE}")) if _is_damaged(path)]
            others = f"; the {RUN_FILE} of {', '.join(damaged)} is damaged" if damaged else ""
            raise FileError(name, "", f"is not a run{others}", f"Choose the number, name or folder of a run in {runs}.")
        return folder
    folders = sorted((path.parent for path in runs.glob(f"*/{RUN_FILE}")), reverse=True)
    first: FileError | None = None
    for folder in folders:
        try:
            metadata = read_metadata(folder / RUN_FILE)
        except FileError as error:
            first = first or error
            continue
        if metadata.get("state") != "done":
            if first is None:
                return folder
            remedy = f"Restore the file, or resume the newest undamaged run: --resume {folder.name}."
            raise FileError(first.path, "", first.problem, remedy)
    if first is not None:
        raise FileError(first.path, "", first.problem, "Restore the file, or start a new run.")
    problem = "contains no unfinished run" if folders else "contains no run"
    raise FileError(str(runs), "", problem, "Name a run to resume, or start a new one.")


def _is_damaged(metadata: Path) -> bool:
    try:
        read_metadata(metadata)
    except FileError:
        return True
    return False


def load_run(folder: Path) -> ResumedRun:
    """Load a run with its newest valid checkpoint. Raises FileError if it cannot be resumed."""
    metadata = read_metadata(folder / RUN_FILE)
    if is_run_locked(folder):
        raise locked_error(folder)
    file, checkpoint, message = newest_checkpoint(folder)
    warnings = [message] if message else []
    if checkpoint is not None and not _has_lines(folder / METRICS_FILE, checkpoint["metrics"]["metrics"]):
        warnings.append(f"{folder / METRICS_FILE} has lost lines from before the checkpoint. They remain missing.")
    warnings += _lost_batches_warning(folder, None if checkpoint is None else checkpoint["metrics"].get("step", 0))
    installed = package_versions()
    changed = [name for name, version in metadata.get("versions", {}).items() if installed.get(name) != version]
    if changed:
        warnings.append(
            f"The run started with other versions of {', '.join(changed)}. Results may differ in the last digits."
        )
    document = load(folder / GRAPH_FILE)
    if checkpoint is not None and "graph" in checkpoint:
        _refuse_another_document(document, checkpoint["graph"], folder)
    return ResumedRun(
        folder,
        document,
        metadata.get("settings", {}),
        checkpoint,
        tuple(warnings),
        metadata.get("state") == "done",
        metadata,
        folder if file is None else file,
    )


def _refuse_another_document(document: Document, text: str, folder: Path) -> None:
    """Raise FileError if graph.gradwire differs from the graph in the checkpoint."""
    trained = flat_document(loads(text, f"{folder}, graph of the checkpoint"))
    document = flat_document(document)
    if document.wires != trained.wires or _computed(document) != _computed(trained):
        problem = "differs from the graph in the run's checkpoint"
        raise FileError(str(folder / GRAPH_FILE), "", problem, f"Restore the file. {_NEW_RUN}")


def _computed(document: Document) -> dict[str, Node]:
    """The nodes without their appearance."""
    plain = {"at": (0.0, 0.0), "collapsed": False, "dismissed": (), "note": ""}
    return {name: msgspec.structs.replace(node, **plain) for name, node in document.nodes.items()}


def _has_lines(metrics: Path, length: int) -> bool:
    """Whether the first `length` bytes of metrics.jsonl exist and end with a line."""
    if not length:
        return True
    try:
        with open_regular(metrics) as file:
            file.seek(length - 1)
            return file.read(1) == b"\n"
    except OSError:
        return False


def lock_run(run: ResumedRun) -> RunLock:
    """Lock a run to resume. Raises FileError if another process trains it, or has trained it since it was loaded."""
    try:
        run_lock = RunLock(run.folder)
    except OSError as error:
        raise FileError.from_os_error(run.folder / LOCK_FILE, "cannot be written", error) from None
    try:
        if without_annotations(read_metadata(run.folder / RUN_FILE)) != without_annotations(run.metadata):
            problem = "was changed by another process while it was loaded"
            raise FileError(str(run.folder), "", problem, "Resume the run again.")
    except FileError:
        run_lock.release()
        raise
    return run_lock


def with_difference_warning(
    run: ResumedRun, name: str, now: Document, catalogue: Catalogue, *, epochs: int | None
) -> ResumedRun:
    """Add a warning to a run if the current graph or settings differ from the run's.

    Args:
        name: name of the current document in the warning: a file name, or "The canvas"
        now: the current document
        epochs: requested number of epochs, if any
    """
    there = run.document
    if epochs is not None:
        now, there = (edits.set_training(one, epochs=epochs) for one in (now, there))
    found = describe_differences(now, there, catalogue)
    if not found:
        return run
    listed = "; ".join(found[:_MAX_DIFFERENCES]) + (
        f"; and {len(found) - _MAX_DIFFERENCES} more" if len(found) > _MAX_DIFFERENCES else ""
    )
    return replace(
        run, warnings=(*run.warnings, f"Resuming with the run's graph and settings. {name} differs: {listed}.")
    )


def check_something_left(run: ResumedRun, epochs: int | None, steps: int | None) -> None:
    """Raise FileError if a complete run has no epochs or steps left to train."""
    if run.checkpoint is None or not run.has_ended:
        return
    training = run.checkpoint["training"]
    for done, requested, unit in ((training["epoch"], epochs, "epochs"), (training["step"], steps, "steps")):
        if requested is not None and done >= requested:
            remedy = f"To train longer, set a total above {done} {unit}."
            raise FileError(
                str(run.folder),
                "",
                f"has already trained for {done} {unit}; the requested total is {requested}",
                remedy,
            )


def reject_graph(run: ResumedRun, error: LoweringError) -> NoReturn:
    """Raise FileError for a run whose graph does not compile with the requested settings."""
    problem = f"cannot be resumed: {str(error).rstrip('.')}"
    raise FileError(str(run.folder), "", problem, f"A run keeps its graph. {_NEW_RUN}") from None


def schedule_warnings(run: ResumedRun, epochs: int | None, program: Program) -> list[str]:
    """Warnings about schedules that do not adapt to a changed number of epochs."""
    if epochs == run.settings.get("epochs"):
        return []
    return [problem.message for problem in program.warnings if problem.code.startswith("schedule-")]


def restore_checkpoint(training: fit.Training, run: ResumedRun, document: Document, *, until: int | None) -> list[str]:
    """Restore a training from a run's checkpoint.

    If the number of epochs or steps has changed, schedules that span the whole run are replanned. If early stopping had
    ended the run, its patience is reset.

    Args:
        document: the document with the new length of training
        until: total number of epochs, if limited

    Returns:
        Messages for the user.
    """
    if run.checkpoint is None:
        return []
    try:
        return _restore(training, run.checkpoint["training"], run, document, until)
    except WeightsError as error:
        problem, _, remedy = str(error).rpartition(". ")
        raise FileError(str(run.file), "", problem, remedy) from None
    except _MISFIT_ERRORS as error:
        problem = f"does not fit the graph of the run ({type(error).__name__}: {error})"
        raise FileError(str(run.file), "", problem, _NEW_RUN) from None


def _restore(
    training: fit.Training, state: Mapping[str, Any], run: ResumedRun, document: Document, until: int | None
) -> list[str]:
    messages = list[str]()
    if until is None or until > state["epoch"]:
        state, planned = fit.replan_schedules(training.task, state)
        how = document.training
        messages += [
            _replan_message(one, f"{how.epochs} epochs" if how.steps is None else f"{how.steps} steps")
            for one in planned
        ]
    training.load_state_dict(state)
    if run.has_ended and training.reset_patience():
        how = document.training
        messages.append(f"Early stopping had ended this run. Early-stopping patience ({how.patience}) was reset.")
    return messages


def _replan_message(planned: fit.ReplannedSchedule, length: str) -> str:
    rates = f"changes from {planned.before:.4g} to {planned.after:.4g}"
    if planned.after == planned.before:
        rates = f"stays at {planned.after:.4g}"
    return f"The learning-rate schedule of {planned.optimizer} was replanned for {length}: the rate {rates}."


def check_same_data(run: ResumedRun, found: Sequence[Mapping[str, Any]]) -> None:
    """Raise FileError if the data files have changed since the run started."""
    if run.checkpoint is None:
        return
    expected: Sequence[Mapping[str, Any]] = run.checkpoint["data"]
    for before, now in zip(expected, found, strict=False):
        if before["sha256"] != now["sha256"]:
            raise FileError(str(now["path"]), "", "has changed since the run started", _NEW_RUN)
    if len(expected) != len(found):
        problem = f"started with {len(expected)} data files, but the project now reads {len(found)}"
        raise FileError(str(run.folder), "", problem, _NEW_RUN)


def reject_other_graph(run: ResumedRun, task: fit.Task) -> None:
    """Raise FileError for a checkpoint of another graph, listing which weights fit."""
    if run.checkpoint is None:
        return
    found = fit.match_weights(task.model, weights_in_checkpoint(run.checkpoint))
    problem = f"is a checkpoint of another graph ({found})"
    raise FileError(str(run.file), "", problem, "Resume it with its graph, or start a new run with --start-from.")


def load_weights(path: Path) -> Mapping[str, Tensor]:
    """Load the weights of a model from a run folder (the last weights), a checkpoint or a weights file."""
    if not os.path.exists(path):
        raise FileError(str(path), "", "is not a run, checkpoint or weights file", "Check the path.")
    if path.is_dir():
        if (path / WEIGHTS_FILE).exists():
            return load_weights(path / WEIGHTS_FILE)
        _, checkpoint, message = newest_checkpoint(path)
        if checkpoint is None:
            raise FileError(str(path), "", "contains no weights", f"{message} Choose another run.".lstrip())
        return weights_in_checkpoint(checkpoint)
    found = load_file(path)
    if is_checkpoint(found):
        return weights_in_checkpoint(validate_checkpoint(found, path))
    if not isinstance(found, dict) or not all(isinstance(one, Tensor) for one in found.values()):
        raise FileError(str(path), "", "is not a mapping of names to tensors", "Save the state_dict() of a model.")
    return found


def weights_in_checkpoint(checkpoint: Mapping[str, Any]) -> Mapping[str, Tensor]:
    return checkpoint["training"]["task"]["modules"]["model"]


def _lost_batches_warning(folder: Path, step: int | None) -> list[str]:
    """Warning about batches trained after the checkpoint at `step`; None: there is no checkpoint."""
    epoch, reached = _last_step(folder / METRICS_FILE)
    if reached <= (step or 0):
        return []
    was = f"The run was interrupted in epoch {epoch} at batch {reached:,} or later."
    if step is None:
        return [f"{was} There is no checkpoint. Restarting from epoch 0. Results will be identical."]
    return [f"{was} Resuming from the last checkpoint, batch {step:,}. Results will be identical."]


def _last_step(path: Path) -> tuple[int, int]:
    """Epoch and step in the last line of metrics.jsonl that has them; zeros if there is none."""
    try:
        with open_regular(path) as file:
            file.seek(max(path.stat().st_size - _TAIL_BYTES, 0))
            lines = file.read().splitlines()
    except OSError:
        return 0, 0
    for text in reversed(lines):
        with suppress(ValueError, RecursionError):
            match json.loads(text):
                case {"epoch": int(epoch), "step": int(step)}:
                    return epoch, step
                case _:
                    pass
    return 0, 0


__all__ = [
    "ResumedRun",
    "with_difference_warning",
    "find_resumable",
    "lock_run",
    "find_run_folder",
    "schedule_warnings",
    "reject_graph",
    "check_something_left",
    "check_same_data",
    "reject_other_graph",
    "load_run",
    "restore_checkpoint",
    "load_weights",
    "weights_in_checkpoint",
]
