"""Runs that did not come to their end, found again; and weights out of whatever holds them."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from engine import Tensor, fit
from engine.errors import WeightsError
from engine.io import load_file
from studio.document.errors import FileError
from studio.document.files import load
from studio.document.model import Document
from studio.training.runs.checkpoints import newest, read
from studio.training.runs.records import GRAPH, METRICS, RUN, WEIGHTS, is_alive
from studio.training.surroundings import versions

_NEW_RUN = "Begin a new run, with these weights by --start-from if they are of use."


@dataclass(frozen=True)
class Resumed:
    """A run that is to go on, as it was put down."""

    folder: Path
    document: Document
    settings: Mapping[str, Any]
    checkpoint: Mapping[str, Any] | None
    """None if it has none that is sound: the run then begins from its beginning."""
    warnings: tuple[str, ...]

    @property
    def place(self) -> Mapping[str, Any]:
        """Where its record stands."""
        return {} if self.checkpoint is None else self.checkpoint["metrics"]


def find(runs: Path, name: str = "") -> Path:
    """The folder of a run: a path, or a name in the folder of a project's runs; of none, the newest unfinished one.

    Raises FileError if there is none.
    """
    if name:
        for folder in (Path(name), runs / name):
            if (folder / RUN).is_file():
                return folder
        raise FileError(name, "", "is no run", f"Choose a folder in {runs}.")
    folders = sorted((path.parent for path in runs.glob(f"*/{RUN}")), reverse=True)
    for folder in folders:
        if _about(folder).get("state") != "done":
            return folder
    problem = "holds no unfinished run" if folders else "holds no run"
    raise FileError(str(runs), "", problem, "Name the run to go on with, or begin a new one.")


def resumed(folder: Path) -> Resumed:
    """A run with its newest sound checkpoint. Raises FileError if it cannot go on."""
    about = _about(folder)
    if about.get("state") == "running" and is_alive(about.get("process", {})):
        problem = f"is being trained by the process {about['process']['number']}"
        raise FileError(str(folder), "", problem, "Wait until that has ended, or end it.")
    checkpoint, troubles = newest(folder)
    length = (folder / METRICS).stat().st_size if (folder / METRICS).exists() else 0
    if checkpoint is not None and checkpoint["metrics"]["metrics"] > length:
        troubles.append(f"{folder / METRICS} has lost lines that were written before the checkpoint; they stay away.")
    warnings = [
        f"{trouble} {'The one before it is used.' if checkpoint else 'The run begins from its beginning.'}"
        for trouble in troubles
    ]
    known = versions()
    changed = [name for name, version in about.get("versions", {}).items() if known.get(name) != version]
    if changed:
        warnings.append(f"This run began with other versions of {', '.join(changed)}: last digits may differ.")
    return Resumed(folder, load(folder / GRAPH), about.get("settings", {}), checkpoint, tuple(warnings))


def refuse_other_data(known: Sequence[Mapping[str, Any]], found: Sequence[Mapping[str, Any]]) -> None:
    """Raises FileError if the files of a run's samples are not what they were when it began."""
    for before, now in zip(known, found, strict=False):
        if before["sha256"] != now["sha256"]:
            raise FileError(str(now["path"]), "", "has changed since this run began, so it cannot go on", _NEW_RUN)
    if len(known) != len(found):
        raise FileError("data", "", "come from other files than when this run began", _NEW_RUN)


def refuse_other_graph(checkpoint: Mapping[str, Any], task: fit.Task) -> None:
    """Raises FileError that tells how far the weights of a checkpoint fit, for a task of another graph."""
    found = fit.match(task.model, weights_in(checkpoint))
    problem = f"is a checkpoint of another graph. Of its weights {found}"
    raise FileError("run", "", problem, "Resume it with its own graph, or begin a new run with --start-from.")


def begin_with(path: Path, task: fit.Task) -> str:
    """Gives a task's model the weights that fit, and tells what does not. Raises FileError if none does."""
    found = fit.take(task.model, weights_from(path))
    if not found.same:
        raise FileError(str(path), "", f"has no weights for this graph: {found}", "Choose another.")
    return "" if found.is_whole else f"Of the weights in {path} {found}."


def weights_from(path: Path) -> Mapping[str, Tensor]:
    """The weights of a model: from a run's folder its last ones, else from a checkpoint or a weights file."""
    if not path.exists():
        raise FileError(str(path), "", "there is no such run, checkpoint or weights file", "Check the path.")
    if path.is_dir():
        if (path / WEIGHTS).exists():
            return weights_from(path / WEIGHTS)
        checkpoint, troubles = newest(path)
        if checkpoint is None:
            raise FileError(str(path), "", "holds no weights", troubles[0] if troubles else "Choose another run.")
        return weights_in(checkpoint)
    try:
        return weights_in(read(path))
    except FileError:
        try:
            return load_file(path)
        except WeightsError as error:
            raise FileError(str(path), "", str(error).removeprefix(f"{path}: ").rstrip("."), "") from None


def weights_in(checkpoint: Mapping[str, Any]) -> Mapping[str, Tensor]:
    return checkpoint["training"]["task"]["modules"]["model"]


def _about(folder: Path) -> dict[str, Any]:
    try:
        about = json.loads((folder / RUN).read_text(encoding="utf-8"))
    except OSError as error:
        raise FileError.from_os_error(folder / RUN, "cannot be read", error) from None
    except ValueError:
        about = None
    if not isinstance(about, dict):
        raise FileError(str(folder / RUN), "", "is damaged", "Choose another run.")
    return about


__all__ = [
    "Resumed",
    "begin_with",
    "find",
    "refuse_other_data",
    "refuse_other_graph",
    "resumed",
    "weights_from",
    "weights_in",
]
