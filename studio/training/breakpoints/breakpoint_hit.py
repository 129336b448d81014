"""A hit of a breakpoint, and the folder that keeps its batch and the state before the step."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import msgspec

from engine.errors import WeightsError
from engine.io import atomic_file
from engine.io.checkpoint import dumps
from studio.document.document_errors import FileError
from studio.training.breakpoints.origin import Origin

FOLDER = "breakpoints"
HIT_FILE, STATE_FILE = "hit.json", "state.safetensors"
VERSION = 1
_NAME_LENGTH = 40
_MAX_BYTES = 1 << 20


class BreakpointRecord(msgspec.Struct, frozen=True):
    """The content of `hit.json`."""

    condition: str
    reason: str
    """Why the condition holds, as a sentence without a full stop."""
    step: int
    """Number of the step, from 1; the kept state is that before it."""
    epoch: int
    batch: int
    loss: float | None = None
    """None if it is not finite."""
    loss_text: str = ""
    origin: Origin | None = None
    version: Literal[1] = VERSION


@dataclass(frozen=True, slots=True)
class BreakpointHit:
    """A condition of a breakpoint holds. The training is paused before the update of the step."""

    record: BreakpointRecord
    folder: Path | None
    """What is kept; None for a run without a folder, or if it could not be written."""

    @property
    def step(self) -> int:
        return self.record.step

    @property
    def origin(self) -> Origin | None:
        return self.record.origin

    @property
    def message(self) -> str:
        """One or two sentences: "Paused at step 124: loss is NaN. NaN arose first in log1 (forward)."."""
        text = f"Paused at step {self.step:,}: {self.record.reason}."
        return text if self.origin is None else f"{text} {self.origin.summary}"


def write_hit(run: Path, record: BreakpointRecord, state: Mapping[str, Any]) -> Path:
    """Write a hit into a new folder of a run. Raises FileError.

    Args:
        run: the run folder
        record: what is written as JSON
        state: the batch and the training state, as in a checkpoint
    """
    parent = run / FOLDER
    base = f"step-{record.step}-{_slug(record.condition)}"
    folder = parent / base
    number = 2
    try:
        parent.mkdir(exist_ok=True)
        while True:
            try:
                folder.mkdir()
                break
            except FileExistsError:
                folder = parent / f"{base}-{number}"
                number += 1
        atomic_file.write(folder / STATE_FILE, dumps(dict(state), str(folder / STATE_FILE)))
        atomic_file.write(folder / HIT_FILE, msgspec.json.format(msgspec.json.encode(record)) + b"\n")
    except (OSError, WeightsError) as error:
        if isinstance(error, OSError):
            raise FileError.from_os_error(folder, "cannot be written", error) from None
        raise FileError(
            str(folder), "", f"cannot be written: {error}", "Free space, or choose another folder."
        ) from None
    return folder


def read_hit(folder: Path) -> BreakpointHit:
    """Read a hit from its folder. Raises FileError."""
    file = folder / HIT_FILE
    try:
        if file.stat().st_size > _MAX_BYTES:
            raise msgspec.ValidationError("it is too large")
        record = msgspec.json.decode(file.read_bytes(), type=BreakpointRecord)
    except OSError as error:
        raise FileError.from_os_error(file, "cannot be read", error) from None
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise FileError(str(file), "", f"is damaged: {error}", "Delete its folder; the run is not affected.") from None
    return BreakpointHit(record, folder)


def hits_of(run: Path) -> Iterator[BreakpointHit]:
    """The hits that a run has kept, by step; damaged ones are left out."""
    found: list[BreakpointHit] = []
    parent = run / FOLDER
    for folder in sorted(parent.iterdir()) if parent.is_dir() else ():
        try:
            found.append(read_hit(folder))
        except FileError:
            continue
    yield from sorted(found, key=lambda hit: hit.step)


def _slug(condition: str) -> str:
    """A condition as part of a file name."""
    text = condition
    for sign, name in (("==", "equal"), ("<", "below"), (">", "above"), ("*", "times"), ("/", "per")):
        text = text.replace(sign, f" {name} ")
    return re.sub(r"[^A-Za-z0-9]+", "-", text).strip("-").lower()[:_NAME_LENGTH].rstrip("-") or "condition"


__all__ = ["FOLDER", "HIT_FILE", "STATE_FILE", "BreakpointHit", "BreakpointRecord", "hits_of", "read_hit", "write_hit"]
