"""A failed run as the source of a reproduction."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from studio.document.files.project_files import load
from studio.document.model import Document
from studio.training.runs.run_metadata import read_metadata
from studio.training.runs.run_record import GRAPH_FILE, RUN_FILE


@dataclass(frozen=True)
class FailedRun:
    """What a reproduction needs of a run."""

    folder: Path
    project: Path
    """The project file that the run belongs to; relative paths in the graph start from its folder."""
    document: Document
    """The graph that was trained."""
    seed: int | None


def is_run(path: Path) -> bool:
    """Whether a path is the folder of a run."""
    return (path / RUN_FILE).is_file()


def load_failed_run(folder: Path) -> FailedRun:
    """Read a run folder. Raises FileError if a file is missing or damaged."""
    metadata = read_metadata(folder / RUN_FILE)
    runs = folder.absolute().parent
    project = runs.with_suffix(".gradwire") if runs.suffix == ".runs" else runs / GRAPH_FILE
    return FailedRun(folder, project, load(folder / GRAPH_FILE), metadata.get("settings", {}).get("seed"))


__all__ = ["FailedRun", "is_run", "load_failed_run"]
