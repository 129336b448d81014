"""The files of an exported package, and their folder."""

from __future__ import annotations

import contextlib
import os
import shutil
import tempfile
from collections.abc import Mapping
from pathlib import Path

from studio.export.export_error import ExportError

MARKERS = ("model.py", "train.py", "weights.safetensors")
"""Files that each package has."""


def write_package(files: Mapping[str, bytes], folder: Path, *, force: bool = False) -> None:
    """Write a package to a new or empty folder, completely or not at all.

    The files are written to a temporary folder beside it, which is then renamed.

    Args:
        files: content by path with slashes
        force: replace a folder that is not empty

    Raises ExportError if the folder cannot be written.
    """
    reject_target(folder, force=force)
    try:
        folder.absolute().parent.mkdir(parents=True, exist_ok=True)
        made = Path(tempfile.mkdtemp(prefix=f".{folder.name[:40]}-", dir=folder.absolute().parent))
    except OSError as error:
        raise ExportError(f"{folder} cannot be written: {error.strerror or error}. Choose another folder.") from error
    try:
        for path, content in files.items():
            file = made / path
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_bytes(content)
        os.chmod(made, 0o755)
        _replace(made, folder.absolute())
    except OSError as error:
        raise ExportError(f"{folder} cannot be written: {error.strerror or error}. Choose another folder.") from error
    finally:
        shutil.rmtree(made, ignore_errors=True)


def reject_target(folder: Path, *, force: bool) -> None:
    """Raise ExportError for a file, or for a folder with content that must not be replaced."""
    if not os.path.lexists(folder):
        return
    if not folder.is_dir():
        raise ExportError(f"{folder} is a file. Choose a folder that does not exist.")
    try:
        is_empty = next(folder.iterdir(), None) is None
    except OSError as error:
        raise ExportError(f"{folder} cannot be read: {error.strerror or error}. Choose another folder.") from error
    if is_empty:
        return
    if not force:
        raise ExportError(f"{folder} is not empty. Choose another folder, or replace it with --force.")
    if not all((folder / name).is_file() for name in MARKERS):
        raise ExportError(
            f"{folder} is not an exported package, so --force does not replace it. Choose another folder."
        )


def _replace(made: Path, folder: Path) -> None:
    """Put a folder in the place of another, which is deleted last."""
    if not folder.exists():
        made.rename(folder)
        return
    old = Path(tempfile.mkdtemp(prefix=f".{folder.name[:40]}-old-", dir=folder.parent))
    try:
        folder.rename(old / "package")
        try:
            made.rename(folder)
        except OSError:
            (old / "package").rename(folder)
            raise
    finally:
        with contextlib.suppress(OSError):
            shutil.rmtree(old)


__all__ = ["reject_target", "write_package"]
