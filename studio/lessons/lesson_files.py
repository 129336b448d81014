"""Lesson files on disk: loading, saving, and the shipped lessons."""

from __future__ import annotations

import difflib
from pathlib import Path

from engine.io import atomic_file
from engine.system.assets import asset
from engine.system.files import read_regular
from studio.document.document_errors import FileError, printable
from studio.document.files.strict_json import MAX_FILE_BYTES
from studio.lessons.lesson import SUFFIX, Lesson
from studio.lessons.lesson_format import dumps, loads


def load(path: Path) -> Lesson:
    """The lesson in a file. Raises FileError."""
    try:
        data = read_regular(path, MAX_FILE_BYTES + 1)
    except OSError as error:
        raise FileError.from_os_error(path, "cannot be opened", error) from error
    return loads(data, printable(path), path.stem)


def save(lesson: Lesson, path: Path) -> None:
    """Write a lesson file atomically. Raises FileError; then the old file is unchanged."""
    try:
        atomic_file.write(path, dumps(lesson).encode())
    except OSError as error:
        raise FileError.from_os_error(path, "cannot be saved", error) from error


def shipped_lessons() -> tuple[Lesson, ...]:
    """The lessons in `assets/lessons`, in order. Raises FileError or FileNotFoundError for a damaged installation."""
    return tuple(load(path) for path in sorted(asset("lessons").glob(f"*{SUFFIX}")))


def shipped_lesson(key: str) -> Lesson:
    """A shipped lesson by name, with or without its number. Raises FileError for an unknown one."""
    found = {path.stem: path for path in sorted(asset("lessons").glob(f"*{SUFFIX}"))}
    names = {**{stem.partition("-")[2]: path for stem, path in found.items()}, **found}
    if key not in names:
        close = difflib.get_close_matches(key, names, n=1)
        remedy = f"Did you mean {close[0]}?" if close else f"Choose one of: {', '.join(found)}."
        raise FileError(key, "", "is not a lesson", remedy)
    return load(names[key])


__all__ = ["load", "save", "shipped_lesson", "shipped_lessons"]
