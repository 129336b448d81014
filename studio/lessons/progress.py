"""Progress per learner, in the state folder: the learner's project, answers, completed steps and shown hints.

`lessons/KEY/project.gradwire` is the learner's project, with its runs beside it; `progress.json` has the rest.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import shutil
from pathlib import Path

import msgspec
from msgspec import Struct, field
from msgspec.structs import replace

from engine.io import atomic_file
from engine.system.files import read_regular
from studio.document import SUFFIX
from studio.document.document_errors import FileError
from studio.document.files import project_files
from studio.document.files.state_folder import state_folder
from studio.document.model import Json
from studio.lessons.lesson import Lesson

_FILE, _PROJECT, _RUNS = "progress.json", f"project{SUFFIX}", "project.runs"
_MAX_BYTES = 2**20


class Progress(Struct, frozen=True, omit_defaults=True):
    """How far a learner is in a lesson. Frozen: changes are new values, which `LessonProgress.write` stores."""

    step: str = ""
    """Id of the shown step; empty for the first one."""
    done: tuple[str, ...] = ()
    """Ids of completed steps, in the order of completion."""
    answers: dict[str, Json] = field(default_factory=dict[str, Json])
    """Predictions by step."""
    hints: dict[str, int] = field(default_factory=dict[str, int])
    """Number of shown hints by step."""
    first_run: int = 0
    """Number of the first run that counts: the lesson was started again before it."""

    def at(self, step: str) -> Progress:
        """The progress with another shown step."""
        return replace(self, step=step)

    def with_done(self, step: str) -> Progress:
        return self if step in self.done else replace(self, done=(*self.done, step))

    def with_answer(self, step: str, answer: Json) -> Progress:
        return replace(self, answers={**self.answers, step: answer})

    def with_hint(self, step: str) -> Progress:
        """The progress with one more hint."""
        return replace(self, hints={**self.hints, step: self.hints.get(step, 0) + 1})

    def share(self, lesson: Lesson) -> float:
        """Share of the lesson's steps that are completed, from 0 to 1."""
        ids = [step.id for step in lesson.all_steps]
        return sum(each in self.done for each in ids) / len(ids)


class LessonProgress:
    """The stored progress of one lesson.

    Args:
        lesson: its key identifies it
        source: the file of a lesson that is not shipped; lessons of other files with the same name are kept apart
        folder: the state folder
    """

    def __init__(self, lesson: Lesson, source: Path | None = None, folder: Path | None = None) -> None:
        self._lesson = lesson
        key = lesson.key
        if source is not None:
            key += "-" + hashlib.sha256(os.path.abspath(source).encode(errors="surrogateescape")).hexdigest()[:8]
        self.folder = (folder or state_folder()) / "lessons" / key

    @property
    def project(self) -> Path:
        """The learner's project file; missing before `prepare`."""
        return self.folder / _PROJECT

    @property
    def runs(self) -> Path:
        return self.folder / _RUNS

    def read(self) -> Progress:
        """The stored progress. Missing or damaged progress counts as none."""
        try:
            found = msgspec.json.decode(read_regular(self.folder / _FILE, _MAX_BYTES), type=Progress)
        except (OSError, ValueError, RecursionError):  # msgspec's errors are ValueErrors
            return Progress()
        known = {step.id for step in self._lesson.all_steps}
        return replace(
            found,
            step=found.step if found.step in known else "",
            done=tuple(step for step in found.done if step in known),
        )

    def write(self, progress: Progress) -> None:
        """Store progress. Raises FileError."""
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            atomic_file.write(self.folder / _FILE, msgspec.json.format(msgspec.json.encode(progress), indent=2))
        except OSError as error:
            raise FileError.from_os_error(self.folder / _FILE, "cannot be saved", error) from error

    def prepare(self) -> Path:
        """The learner's project file, created from the start project if it is missing. Raises FileError."""
        if not self.project.exists():
            try:
                self.folder.mkdir(parents=True, exist_ok=True)
            except OSError as error:
                raise FileError.from_os_error(self.folder, "cannot be created", error) from error
            project_files.save(self._lesson.document, self.project)
        return self.project

    def start_again(self) -> None:
        """Delete the learner's project, runs and progress."""
        shutil.rmtree(self.folder / _RUNS, ignore_errors=True)
        for file in (self.project, self.folder / _FILE):
            with contextlib.suppress(OSError):
                file.unlink()


__all__ = ["LessonProgress", "Progress"]
