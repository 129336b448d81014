"""The file of a sweep: what its trials are. What became of them is in their own folders, beside it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import datetime
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import msgspec
from msgspec import Meta

from studio.cli.assignments import assign
from studio.document.errors import FileError
from studio.document.format import dumps, loads
from studio.document.model import Document
from studio.nodes.catalogue import catalogue
from studio.training.runs.records import RUN
from studio.training.settings import Device

SUFFIX = ".sweep.json"
_VERSION = 1


class Plan(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
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
        return assign(self.document, catalogue(), values, label="--param")


class Outcome(NamedTuple):
    """What a trial's folder tells of it."""

    state: str
    figures: Mapping[str, Any]
    """Of the best validation by the figure that is followed, else of the last."""


def plan_of(document: Document, params: list[str], trials: list[dict[str, str]], **settings: Any) -> Plan:
    return Plan(_VERSION, params, trials, json.loads(dumps(document)), **settings)


def write(plan: Plan, runs: Path) -> Path:
    """A new file in the folder of a project's runs. Raises FileError."""
    stamp = datetime.now().astimezone().strftime("%Y-%m-%d_%H-%M-%S")
    text = json.dumps(msgspec.to_builtins(plan), indent=2, ensure_ascii=False) + "\n"
    number = 1
    while True:
        path = runs / f"{stamp}-{number}{SUFFIX}"
        try:
            runs.mkdir(parents=True, exist_ok=True)
            with path.open("x", encoding="utf-8") as file:
                file.write(text)
        except FileExistsError:
            if not runs.is_dir():
                raise FileError(str(runs), "", "is a file, not a folder", "Choose another output folder.") from None
            number += 1
        except OSError as error:
            raise FileError.from_os_error(path, "cannot be written", error) from None
        else:
            return path


def read(path: Path) -> Plan:
    """Raises FileError if that is no sweep."""
    try:
        return msgspec.json.decode(path.read_bytes(), type=Plan)
    except OSError as error:
        raise FileError.from_os_error(path, "cannot be read", error) from None
    except (msgspec.MsgspecError, UnicodeDecodeError) as error:
        raise FileError(str(path), "", f"is no sweep: {error}", f"Choose a file that ends in {SUFFIX}.") from None


def find(runs: Path, name: str = "") -> Path:
    """The file of a sweep: a path, or a name in the folder of a project's runs; of none, the newest."""
    if name:
        paths = (Path(name), runs / name, runs / f"{name}{SUFFIX}")
        found = next((path for path in paths if path.is_file()), None)
        if found is None:
            raise FileError(name, "", "is no sweep", f"Choose a file in {runs} that ends in {SUFFIX}.")
        return found
    newest = max(runs.glob(f"*{SUFFIX}"), default=None)
    if newest is None:
        raise FileError(str(runs), "", "holds no sweep", "Begin one with --param.")
    return newest


def folder_of(path: Path, number: int) -> Path:
    """Where a trial of the sweep in this file is recorded."""
    return path.with_name(f"{path.name.removesuffix(SUFFIX)}-{number:03}")


def outcome(folder: Path) -> Outcome:
    """What became of a trial; one that was cut off waits to be gone on with."""
    try:
        about = json.loads((folder / RUN).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return Outcome("waiting", {})
    state = about.get("state", "")
    figures = about.get("best", about.get("last", {}))
    return Outcome(state if state in ("done", "failed", "stopped") else "waiting", figures)


__all__ = ["SUFFIX", "Outcome", "Plan", "find", "folder_of", "outcome", "plan_of", "read", "write"]
