"""Options of the commands that train or use weights."""

from __future__ import annotations

import os
from pathlib import Path

from studio.cli.error_output import InputError
from studio.cli.shared_options import runs_folder
from studio.training.run_settings import Device
from studio.training.runs.run_resuming import find_run_folder


def find_weights(file: Path, weights: Path) -> Path:
    """Resolve --weights: a path, or the number or name of a run of the project. Returns unknown values unchanged."""
    return weights if os.path.exists(weights) else find_run_folder(runs_folder(file), str(weights)) or weights


def parse_device(name: str | None) -> Device | None:
    match name:
        case None | "auto" | "cpu" | "cuda":
            return name
        case _:
            raise InputError(f"--device must be auto, cpu or cuda, not {name!r}.")


__all__ = ["find_weights", "parse_device"]
