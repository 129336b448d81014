"""Runs that did not come to their end, found again; and weights out of whatever holds them."""

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
from studio.document.document_errors import FileError
from studio.document.model import Document, Node
from studio.document.project_files import load
from studio.document.project_format import loads
from studio.lowering.program import LoweringError, Program
from studio.nodes.catalogue import Catalogue
from studio.training.environment_record import package_versions
from studio.training.runs.run_checkpoints import is_checkpoint, load_file, newest_checkpoint, validate_checkpoint
from studio.training.runs.run_comparison import describe_differences
from studio.training.runs.run_locks import LOCK_FILE, RunLock, is_run_locked, locked_error
from studio.training.runs.run_metadata import read_metadata
from studio.training.runs.run_record import GRAPH_FILE, METRICS_FILE, RUN_FILE, WEIGHTS_FILE, without_annotations

_NEW_RUN = "Begin a new run, with these weights by --start-from if they are of use."


_MISFIT_ERRORS = (ArithmeticError, AttributeError, LookupError, RuntimeError, TypeError, ValueError)
"""What loading raises where values in a checkpoint are of other types or shapes than its graph needs."""
_MAX_DIFFERENCES = 4
"""Differences that are named."""
_TAIL_BYTES = 1 << 16
"""Bytes at the end of a run's figures among which its last lines are."""


@dataclass(frozen=True)
class ResumedRun:
    """A run that is to go on, as it was put down."""

    folder: Path
    document: Document
    settings: Mapping[str, Any]
    checkpoint: Mapping[str, Any] | None
    """None if it has none that is sound: the run then restarts from epoch 0."""
    warnings: tuple[str, ...]
    has_ended: bool = False
    """It came to its end, and is to be longer."""
    about: Mapping[str, Any] = field(default_factory=dict[str, Any])
    """What its run.json said."""
    file: Path = Path()
    """That the checkpoint was read from; the folder if there is none."""

    @property
    def place(self) -> Mapping[str, Any]:
        """Where its record stands."""
        return {} if self.checkpoint is None else self.checkpoint["metrics"]


def find_run_folder(runs: Path, name: str) -> Path | None:
    """The folder of a run, given by its path, or by folder, number or name in `runs`; None if there is none."""
    for folder in (Path(name), runs / name):
        if os.path.isfile(folder / RUN_FILE):
            return folder
    for path in sorted(runs.glob(f"*/{RUN_FILE}")):
        with suppress(FileError):
            about = read_metadata(path)
            if name in (str(about.get("number")), f"Run {about.get('number')}", about.get("name")):
                return path.parent
    return None


def find_resumable(runs: Path, name: str = "") -> Path:
    """The folder of a named run; without a name, of the newest unfinished one.

    Raises FileError if there is none, or if a damaged run.json leaves open which it is: another run, perhaps of another
    graph, must not be trained by mistake.
    """
    if name:
        folder = find_run_folder(runs, name)
        if folder is None:
            damaged = [path.parent.name for path in sorted(runs.glob(f"*/{RUN_FILE}")) if _is_damaged(path)]
            others = f"; the {RUN_FILE} of {', '.join(damaged)} is damaged" if damaged else ""
            raise FileError(name, "", f"is no run{others}", f"Choose a number, name or folder of those in {runs}.")
        return folder
    folders = sorted((path.parent for path in runs.glob(f"*/{RUN_FILE}")), reverse=True)
    first: FileError | None = None
    for folder in folders:
        try:
            about = read_metadata(folder / RUN_FILE)
        except FileError as error:
            first = first or error
            continue
        if about.get("state") != "done":
            if first is None:
                return folder
            remedy = f"Restore the file, or resume the newest unfinished run that is sound: --resume {folder.name}."
            raise FileError(first.path, "", first.problem, remedy)
    if first is not None:
        raise FileError(first.path, "", first.problem, "Restore the file, or begin a new run.")
    problem = "holds no unfinished run" if folders else "holds no run"
    raise FileError(str(runs), "", problem, "Name the run to go on with, or begin a new one.")


def _is_damaged(about: Path) -> bool:
    try:
        read_metadata(about)
    except FileError:
        return True
    return False


def load_run(folder: Path) -> ResumedRun:
    """A run with its newest sound checkpoint. Raises FileError if it cannot go on."""
    about = read_metadata(folder / RUN_FILE)
    if is_run_locked(folder):
        raise locked_error(folder)
    file, checkpoint, trouble = newest_checkpoint(folder)
    warnings = [trouble] if trouble else []
    if checkpoint is not None and not _has_lines(folder / METRICS_FILE, checkpoint["metrics"]["metrics"]):
        warnings.append(
            f"{folder / METRICS_FILE} has lost lines that were written before the checkpoint; they stay away."
        )
    warnings += _lost_batches_warning(folder, None if checkpoint is None else checkpoint["metrics"].get("step", 0))
    known = package_versions()
    changed = [name for name, version in about.get("versions", {}).items() if known.get(name) != version]
    if changed:
        warnings.append(f"This run began with other versions of {', '.join(changed)}: last digits may differ.")
    document = load(folder / GRAPH_FILE)
    if checkpoint is not None and "graph" in checkpoint:
        _refuse_another_document(document, checkpoint["graph"], folder)
    return ResumedRun(
        folder,
        document,
        about.get("settings", {}),
        checkpoint,
        tuple(warnings),
        about.get("state") == "done",
        about,
        folder if file is None else file,
    )


def _refuse_another_document(document: Document, text: str, folder: Path) -> None:
    """Raises FileError if the file of a run's graph is not what its checkpoint was made of."""
    trained = loads(text, f"{folder}: the graph in its checkpoint")
    if document.wires != trained.wires or _computed(document) != _computed(trained):
        problem = "is not the graph that this run has trained"
        raise FileError(str(folder / GRAPH_FILE), "", problem, f"Restore the file. {_NEW_RUN}")


def _computed(document: Document) -> dict[str, Node]:
    """The nodes without what they look like."""
    plain = {"at": (0.0, 0.0), "collapsed": False, "note": ""}
    return {name: msgspec.structs.replace(node, **plain) for name, node in document.nodes.items()}


def _has_lines(metrics: Path, length: int) -> bool:
    """Whether the lines of a checkpoint are there: a line ends where they end."""
    if not length:
        return True
    try:
        with open_regular(metrics) as file:
            file.seek(length - 1)
            return file.read(1) == b"\n"
    except OSError:
        return False


def lock_run(run: ResumedRun) -> RunLock:
    """Lock a run that is to go on. Raises FileError if a process trains it, or has since it was read."""
    try:
        held_now = RunLock(run.folder)
    except OSError as error:
        raise FileError.from_os_error(run.folder / LOCK_FILE, "cannot be written", error) from None
    try:
        if without_annotations(read_metadata(run.folder / RUN_FILE)) != without_annotations(run.about):
            problem = "was trained by another process while it was read"
            raise FileError(str(run.folder), "", problem, "Resume it again.")
    except FileError:
        held_now.release()
        raise
    return held_now


def with_difference_warning(
    run: ResumedRun, name: str, now: Document, catalogue: Catalogue, *, epochs: int | None
) -> ResumedRun:
    """The run, with a warning if it goes on with another graph, or other settings, than there are now.

    Args:
        name: of what there is now: a file, the canvas
        epochs: that were asked for, if they were
    """
    there = run.document
    if epochs is not None:
        now, there = (edits.set_training(one, epochs=epochs) for one in (now, there))
    found = describe_differences(now, there, catalogue)
    if not found:
        return run
    told = "; ".join(found[:_MAX_DIFFERENCES]) + (
        f"; and {len(found) - _MAX_DIFFERENCES} more" if len(found) > _MAX_DIFFERENCES else ""
    )
    return replace(run, warnings=(*run.warnings, f"The run goes on as it began. {name} differs now: {told}."))


def check_something_left(run: ResumedRun, epochs: int | None, steps: int | None) -> None:
    """Raises FileError if a run that came to its end has no epochs, or no steps, left to train."""
    if run.checkpoint is None or not run.has_ended:
        return
    training = run.checkpoint["training"]
    for done, asked, what in ((training["epoch"], epochs, "epochs"), (training["step"], steps, "steps")):
        if asked is not None and done >= asked:
            remedy = f"To train it for longer, give a number of {what} in all that is above {done}."
            raise FileError(str(run.folder), "", f"has trained for {done} {what}, and {asked} are asked for", remedy)


def reject_graph(run: ResumedRun, error: LoweringError) -> NoReturn:
    """Raises FileError for a run whose graph cannot be trained as it is now asked for."""
    raise FileError(str(run.folder), "", f"cannot go on: {error}", f"It keeps its own graph. {_NEW_RUN}") from None


def schedule_warnings(run: ResumedRun, epochs: int | None, program: Program) -> list[str]:
    """For a run that has another length now, what is to be said of schedules that do not follow it."""
    if epochs == run.settings.get("epochs"):
        return []
    return [problem.message for problem in program.warnings if problem.code.startswith("schedule-")]


def restore_checkpoint(training: fit.Training, run: ResumedRun, document: Document, *, until: int | None) -> list[str]:
    """Bring a training to the place of a run's checkpoint.

    A plan of learning rates that spans the whole training is made anew where that has another length now; patience
    that had ended the run begins anew.

    Args:
        document: with the training's length now
        until: the epoch that it ends with

    Returns:
        What people should know of it.
    """
    if run.checkpoint is None:
        return []
    try:
        return _restore(training, run.checkpoint["training"], run, document, until)
    except WeightsError as error:
        problem, _, remedy = str(error).rpartition(". ")
        raise FileError(str(run.file), "", problem, remedy) from None
    except _MISFIT_ERRORS as error:
        problem = f"does not fit its graph ({type(error).__name__}: {error})"
        raise FileError(str(run.file), "", problem, _NEW_RUN) from None


def _restore(
    training: fit.Training, state: Mapping[str, Any], run: ResumedRun, document: Document, until: int | None
) -> list[str]:
    told = list[str]()
    if until is None or until > state["epoch"]:
        state, planned = fit.replan_schedules(training.task, state)
        how = document.training
        told += [
            _replan_message(one, f"{how.epochs} epochs" if how.steps is None else f"{how.steps} steps")
            for one in planned
        ]
    training.load_state_dict(state)
    if run.has_ended and training.reset_patience():
        how = document.training
        told.append(f"This run had ended as {how.follow} did not improve. Its patience of {how.patience} begins anew.")
    return told


def _replan_message(planned: fit.ReplannedSchedule, length: str) -> str:
    rates = f"{planned.after:.4g} from here on, where it was {planned.before:.4g}"
    if planned.after == planned.before:
        rates = f"{planned.after:.4g} here, as before"
    return f"The learning rate of {planned.optimizer} is planned anew, for {length} in all: it is {rates}."


def check_same_data(run: ResumedRun, found: Sequence[Mapping[str, Any]]) -> None:
    """Raises FileError if the files of a run's samples are not what they were when it began."""
    if run.checkpoint is None:
        return
    known: Sequence[Mapping[str, Any]] = run.checkpoint["data"]
    for before, now in zip(known, found, strict=False):
        if before["sha256"] != now["sha256"]:
            raise FileError(str(now["path"]), "", "has changed since this run began, so it cannot go on", _NEW_RUN)
    if len(known) != len(found):
        raise FileError("data", "", "come from other files than when this run began", _NEW_RUN)


def reject_other_graph(run: ResumedRun, task: fit.Task) -> None:
    """Raises FileError that tells how far the weights of a run fit, for a task of another graph."""
    if run.checkpoint is None:
        return
    found = fit.match_weights(task.model, weights_in_checkpoint(run.checkpoint))
    problem = f"is a checkpoint of another graph. Of its weights {found}"
    raise FileError("run", "", problem, "Resume it with its own graph, or begin a new run with --start-from.")


def load_initial_weights(path: Path, task: fit.Task) -> list[str]:
    """Gives a task's model the weights that fit, and tells what does not. Raises FileError if none does."""
    found = fit.load_matching(task.model, load_weights(path))
    if not found.same:
        raise FileError(str(path), "", f"has no weights for this graph: {found}", "Choose another.")
    return [] if found.is_whole else [f"Of the weights in {path} {found}."]


def load_weights(path: Path) -> Mapping[str, Tensor]:
    """The weights of a model: from a run's folder its last ones, else from a checkpoint or a weights file."""
    if not os.path.exists(path):
        raise FileError(str(path), "", "there is no such run, checkpoint or weights file", "Check the path.")
    if path.is_dir():
        if (path / WEIGHTS_FILE).exists():
            return load_weights(path / WEIGHTS_FILE)
        _, checkpoint, trouble = newest_checkpoint(path)
        if checkpoint is None:
            raise FileError(str(path), "", "holds no weights", f"{trouble} Choose another run.".lstrip())
        return weights_in_checkpoint(checkpoint)
    found = load_file(path)
    if is_checkpoint(found):
        return weights_in_checkpoint(validate_checkpoint(found, path))
    if not isinstance(found, dict) or not all(isinstance(one, Tensor) for one in found.values()):
        raise FileError(str(path), "", "holds other objects than tensors by name", "Save the state_dict() of a model.")
    return found


def weights_in_checkpoint(checkpoint: Mapping[str, Any]) -> Mapping[str, Tensor]:
    return checkpoint["training"]["task"]["modules"]["model"]


def _lost_batches_warning(folder: Path, step: int | None) -> list[str]:
    """What is to be said of batches that were trained after the checkpoint of a step; None: there is no checkpoint."""
    epoch, reached = _last_step(folder / METRICS_FILE)
    if reached <= (step or 0):
        return []
    was = f"The run was interrupted in epoch {epoch}, at batch {reached:,} or later,"
    if step is None:
        return [f"{was} and has no checkpoint to go on from. Restarting from epoch 0. Results will be identical."]
    return [f"{was} and goes on from its last checkpoint, batch {step:,}. Results will be identical."]


def _last_step(path: Path) -> tuple[int, int]:
    """Epoch and step of the last line of a run's figures that tells them; zeros if there is none."""
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
    "load_initial_weights",
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
