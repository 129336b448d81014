"""Starts a new run at a checkpoint of another run, which stays as it is."""

from __future__ import annotations

import json
import shutil
from collections.abc import Mapping
from contextlib import suppress
from datetime import datetime
from pathlib import Path
from typing import Any

from engine.io import atomic_file
from engine.system.files import open_regular
from studio.document.document_errors import FileError
from studio.training.runs.run_checkpoints import FOLDER, list_checkpoints, read_checkpoint
from studio.training.runs.run_locks import numbering_lock
from studio.training.runs.run_metadata import read_metadata
from studio.training.runs.run_record import (
    BEST_FILE,
    GRAPH_FILE,
    METRICS_FILE,
    RUN_FILE,
    create_run_folder,
    next_number,
)
from studio.training.statistics.statistics_file import truncate_statistics
from studio.training.statistics.statistics_format import STATISTICS_FILE

_KEPT = ("settings", "versions", "machine", "data", "compile")
"""Fields of run.json that the new run has, too."""


def checkpoint_at(folder: Path, step: int) -> Path:
    """The checkpoint of a run at a step. Raises FileError if there is none."""
    found = next((path for at, path in list_checkpoints(folder) if at == step), None)
    if found is None:
        known = ", ".join(f"{at:,}" for at, _ in sorted(list_checkpoints(folder)))
        remedy = f"Choose one of the steps {known}." if known else "Start a new run."
        raise FileError(str(folder), "", f"has no checkpoint at step {step:,}", remedy)
    return found


def branch_run(folder: Path, step: int) -> Path:
    """Make a stopped run beside another one, with its graph, its results and its state at a checkpoint.

    Resuming it continues from that checkpoint. Raises FileError; then there is no new run.

    Args:
        folder: folder of the run
        step: step of the checkpoint

    Returns:
        The folder of the new run.
    """
    checkpoint = checkpoint_at(folder, step)
    content = read_checkpoint(checkpoint)
    metadata = read_metadata(folder / RUN_FILE)
    target = create_run_folder(folder.parent)
    try:
        shutil.copyfile(folder / GRAPH_FILE, target / GRAPH_FILE)
        _copy_beginning(folder / METRICS_FILE, target / METRICS_FILE, content["metrics"]["metrics"])
        _copy_statistics(folder, target, step)
        (target / FOLDER).mkdir()
        shutil.copyfile(checkpoint, target / FOLDER / checkpoint.name)
        about = content["metrics"]["about"]
        if about.get("best") and about.get("best") == metadata.get("best"):
            with suppress(FileNotFoundError):
                shutil.copyfile(folder / BEST_FILE, target / BEST_FILE)
        with numbering_lock(target.parent):  # run.json is last: without it, the folder is no run
            _write(target, metadata, about, step)
    except OSError as error:
        shutil.rmtree(target, ignore_errors=True)
        raise FileError.from_os_error(target, "cannot be written", error) from None
    return target


def _write(target: Path, metadata: Mapping[str, Any], about: Mapping[str, Any], step: int) -> None:
    content = {
        "started": datetime.now().astimezone().isoformat(timespec="seconds"),
        "state": "stopped",
        **{name: metadata[name] for name in _KEPT if name in metadata},
        **about,
        "branched": {"from": f"Run {metadata.get('number', '')}".strip(), "step": step},
        "number": next_number(target.parent),
    }
    text = json.dumps(content, indent=2, ensure_ascii=False) + "\n"
    atomic_file.write(target / RUN_FILE, text.encode())


def _copy_beginning(source: Path, target: Path, length: int) -> None:
    with open_regular(source) as file, target.open("xb") as copy:
        while length > 0 and (data := file.read(min(length, 1 << 20))):
            copy.write(data)
            length -= len(data)


def _copy_statistics(folder: Path, target: Path, step: int) -> None:
    """The statistics up to a step; a file that grows meanwhile is cut there, too."""
    with suppress(FileNotFoundError):
        shutil.copyfile(folder / STATISTICS_FILE, target / STATISTICS_FILE)
        truncate_statistics(target, step)


__all__ = ["branch_run", "checkpoint_at"]
