"""The file of a sweep: its project, settings and trials. Results are in the trials' run folders, next to it."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from datetime import datetime
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import msgspec
from msgspec import Meta

from engine.io import atomic_file
from engine.system.files import read_regular
from studio.cli.assignments import apply_assignments
from studio.cli.error_output import InputError
from studio.document.document_errors import FileError
from studio.document.files.project_format import dumps, loads
from studio.document.files.strict_json import MAX_FILE_BYTES
from studio.document.files.validation_messages import validation_problem
from studio.document.model import Document
from studio.nodes.catalogue import catalogue
from studio.training.run_settings import Device
from studio.training.runs.run_metadata import read_metadata
from studio.training.runs.run_record import RUN_FILE

SUFFIX = ".sweep.json"
_VERSION = 1


class SweepPlan(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The content of a sweep file."""

    gradwire_sweep: Annotated[int, Meta(ge=1, le=_VERSION)]
    params: list[str]
    """The --param options as entered."""
    trials: list[dict[str, str]]
    """Parameter values by trial."""
    graph: dict[str, Any]
    """The project with the --set options applied."""
    epochs: int | None = None
    steps: int | None = None
    device: Device | None = None
    compile: bool | None = None

    @property
    def document(self) -> Document:
        return loads(json.dumps(self.graph), "sweep")

    def document_of(self, number: int) -> Document:
        """The project of a trial, numbered from 1. Raises InputError if its values are invalid."""
        values = [f"{key}={value}" for key, value in self.trials[number - 1].items()]
        return apply_assignments(self.document, catalogue(), values, label="--param")


class TrialResult(NamedTuple):
    """State and metrics of a trial, read from its run folder."""

    state: str
    metrics: Mapping[str, Any]
    """Metrics of the best validation, else of the last."""
    epochs: int | None = None
    """Requested epochs and steps."""
    steps: int | None = None

    def is_unfinished(self, plan: SweepPlan) -> bool:
        """Whether training is left: the trial is not done, or the plan's length has changed."""
        requested = plan.epochs, plan.steps
        return self.state != "done" or (requested != (None, None) and requested != (self.epochs, self.steps))


def make_plan(document: Document, params: list[str], trials: list[dict[str, str]], **settings: Any) -> SweepPlan:
    return SweepPlan(_VERSION, params, trials, json.loads(dumps(document)), **settings)


def write_plan(plan: SweepPlan, runs: Path) -> Path:
    """Write a new sweep file to the folder of a project's runs. Raises FileError."""
    stamp = datetime.now().astimezone().strftime("%Y-%m-%d_%H-%M-%S")
    number = 1
    while True:
        path = runs / f"{stamp}-{number}{SUFFIX}"
        try:
            runs.mkdir(parents=True, exist_ok=True)
            with path.open("x", encoding="utf-8") as file:
                file.write(_text(plan))
        except FileExistsError:
            if not runs.is_dir():
                raise FileError(str(runs), "", "is a file, not a folder", "Choose another output folder.") from None
            number += 1
        except OSError as error:
            raise FileError.from_os_error(path, "cannot be written", error) from None
        else:
            return path


def extend_plan(path: Path, plan: SweepPlan, epochs: int | None, steps: int | None) -> SweepPlan:
    """Change the length of all trials and rewrite the sweep file.

    Raises InputError if the sweep varies epochs or steps, or if a finished trial is longer.
    """
    for setting in ("epochs", "steps"):
        if any(f"training.{setting}" in values for values in plan.trials):
            raise InputError(
                f"{path} varies training.{setting}, so its trials cannot share a length. To extend one trial, use "
                "`gradwire run FILE --resume RUN` with the trial's folder name and --epochs or --steps."
            )
    results = (read_result(trial_folder(path, number)) for number in range(1, len(plan.trials) + 1))
    done = [result for result in results if result.state == "done"]
    for name, requested in (("epochs", epochs), ("steps", steps)):
        longest = max((getattr(result, name) or 0 for result in done), default=0)
        if requested is not None and requested < longest:
            raise InputError(
                f"--{name} {requested}: trials of {path} have already trained for {longest} {name}. "
                f"Choose a total above {longest}."
            )
    extended = msgspec.structs.replace(plan, epochs=epochs, steps=steps)
    try:
        atomic_file.write(path, _text(extended).encode())
    except OSError as error:
        raise FileError.from_os_error(path, "cannot be written", error) from None
    return extended


def read_plan(path: Path) -> SweepPlan:
    """Read a sweep file. Raises FileError if it is not a valid one."""
    content = None
    try:
        content = msgspec.json.decode(read_regular(path, 2 * MAX_FILE_BYTES))
        return msgspec.convert(content, SweepPlan)
    except OSError as error:
        raise FileError.from_os_error(path, "cannot be read", error) from None
    except msgspec.ValidationError as error:
        problem = str(validation_problem(error, content, SweepPlan, ""))
    except (msgspec.MsgspecError, UnicodeDecodeError) as error:
        problem = str(error)
    raise FileError(str(path), "", f"is not a valid sweep file ({problem})", f"Choose a file that ends in {SUFFIX}.")


def find_sweep(runs: Path, name: str = "") -> Path:
    """Find a sweep file by path or by name in `runs`; without a name, the newest. Raises FileError."""
    if name:
        paths = (Path(name), runs / name, runs / f"{name}{SUFFIX}")
        found = next((path for path in paths if os.path.isfile(path)), None)
        if found is None:
            raise FileError(name, "", "is not a sweep", f"Choose a file in {runs} that ends in {SUFFIX}.")
        return found
    newest = max(runs.glob(f"*{SUFFIX}"), default=None)
    if newest is None:
        raise FileError(str(runs), "", "contains no sweep", "Start one with --param.")
    return newest


def trial_folder(path: Path, number: int) -> Path:
    """The run folder of a trial."""
    return path.with_name(f"{path.name.removesuffix(SUFFIX)}-{number:03}")


def read_result(folder: Path) -> TrialResult:
    """Read the result of a trial from its folder. Interrupted trials are "waiting"."""
    try:
        about = read_metadata(folder / RUN_FILE)
    except FileError:
        return TrialResult("waiting", {})
    state = about.get("state", "")
    metrics = about.get("best", about.get("last", {}))
    length = (about.get("settings", {}).get(name) for name in ("epochs", "steps"))
    return TrialResult(state if state in ("done", "failed", "stopped") else "waiting", metrics, *length)


def _text(plan: SweepPlan) -> str:
    return json.dumps(msgspec.to_builtins(plan), indent=2, ensure_ascii=False) + "\n"


__all__ = [
    "SUFFIX",
    "SweepPlan",
    "TrialResult",
    "extend_plan",
    "find_sweep",
    "make_plan",
    "read_plan",
    "read_result",
    "trial_folder",
    "write_plan",
]
