"""The file of a sweep: what its trials are. What became of them is in their own folders, beside it."""

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
from studio.document.model import Document
from studio.document.project_format import dumps, loads
from studio.document.strict_json import LARGEST
from studio.nodes.catalogue import catalogue
from studio.training.run_settings import Device
from studio.training.runs.run_metadata import read_metadata
from studio.training.runs.run_record import RUN_FILE

SUFFIX = ".sweep.json"
_VERSION = 1


class SweepPlan(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """All that the trials of a sweep follow from."""

    gradwire_sweep: Annotated[int, Meta(ge=1, le=_VERSION)]
    params: list[str]
    """As they were typed."""
    trials: list[dict[str, str]]
    """The values of each."""
    graph: dict[str, Any]
    """The project, with what is set for all of them."""
    epochs: int | None = None
    steps: int | None = None
    device: Device | None = None
    compile: bool | None = None

    @property
    def document(self) -> Document:
        return loads(json.dumps(self.graph), "sweep")

    def document_of(self, number: int) -> Document:
        """That of a trial. Raises InputError if its values do not fit."""
        values = [f"{place}={value}" for place, value in self.trials[number - 1].items()]
        return apply_assignments(self.document, catalogue(), values, label="--param")


class TrialResult(NamedTuple):
    """What a trial's folder tells of it."""

    state: str
    figures: Mapping[str, Any]
    """Of the best validation by the figure that is followed, else of the last."""
    epochs: int | None = None
    """That were asked for, as were `steps`."""
    steps: int | None = None

    def is_left(self, plan: SweepPlan) -> bool:
        """Whether there is something to train: it is not done, or was done with another length than the plan's."""
        asked = plan.epochs, plan.steps
        return self.state != "done" or (asked != (None, None) and asked != (self.epochs, self.steps))


def make_plan(document: Document, params: list[str], trials: list[dict[str, str]], **settings: Any) -> SweepPlan:
    return SweepPlan(_VERSION, params, trials, json.loads(dumps(document)), **settings)


def write_plan(plan: SweepPlan, runs: Path) -> Path:
    """A new file in the folder of a project's runs. Raises FileError."""
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
    """The plan in this file with another length for all of its trials, which is written there too.

    Raises InputError if trials have lengths of their own, or one that is done is longer.
    """
    for setting in ("epochs", "steps"):
        if any(f"training.{setting}" in values for values in plan.trials):
            raise InputError(
                f"the trials of {path} are of different lengths: it tries training.{setting}. To make one of them "
                "longer, use `gradwire run FILE --resume RUN` with the name of its folder, and --epochs or --steps."
            )
    found = (read_result(trial_folder(path, number)) for number in range(1, len(plan.trials) + 1))
    done = [one for one in found if one.state == "done"]
    for name, asked in (("epochs", epochs), ("steps", steps)):
        longest = max((getattr(one, name) or 0 for one in done), default=0)
        if asked is not None and asked < longest:
            raise InputError(
                f"--{name} {asked}: trials of {path} have trained for {longest} {name} already. "
                f"To train them for longer, give a number of {name} in all that is above {longest}."
            )
    longer = msgspec.structs.replace(plan, epochs=epochs, steps=steps)
    try:
        atomic_file.write(path, _text(longer).encode())
    except OSError as error:
        raise FileError.from_os_error(path, "cannot be written", error) from None
    return longer


def read_plan(path: Path) -> SweepPlan:
    """Raises FileError if that is no sweep."""
    try:
        return msgspec.json.decode(read_regular(path, 2 * LARGEST), type=SweepPlan)
    except OSError as error:
        raise FileError.from_os_error(path, "cannot be read", error) from None
    except (msgspec.MsgspecError, UnicodeDecodeError) as error:
        raise FileError(str(path), "", f"is no sweep: {error}", f"Choose a file that ends in {SUFFIX}.") from None


def find_sweep(runs: Path, name: str = "") -> Path:
    """The file of a sweep: a path, or a name in the folder of a project's runs; of none, the newest."""
    if name:
        paths = (Path(name), runs / name, runs / f"{name}{SUFFIX}")
        found = next((path for path in paths if os.path.isfile(path)), None)
        if found is None:
            raise FileError(name, "", "is no sweep", f"Choose a file in {runs} that ends in {SUFFIX}.")
        return found
    newest = max(runs.glob(f"*{SUFFIX}"), default=None)
    if newest is None:
        raise FileError(str(runs), "", "holds no sweep", "Begin one with --param.")
    return newest


def trial_folder(path: Path, number: int) -> Path:
    """Where a trial of the sweep in this file is recorded."""
    return path.with_name(f"{path.name.removesuffix(SUFFIX)}-{number:03}")


def read_result(folder: Path) -> TrialResult:
    """What became of a trial; one that was cut off waits to be gone on with."""
    try:
        about = read_metadata(folder / RUN_FILE)
    except FileError:
        return TrialResult("waiting", {})
    state = about.get("state", "")
    figures = about.get("best", about.get("last", {}))
    length = (about.get("settings", {}).get(name) for name in ("epochs", "steps"))
    return TrialResult(state if state in ("done", "failed", "stopped") else "waiting", figures, *length)


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
