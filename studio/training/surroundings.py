"""What a run's results depend on beside its graph: versions, machine and data, for the run's record."""

from __future__ import annotations

import hashlib
import os
import platform
from collections.abc import Iterable
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

_PACKAGES = ("gradwire", "numpy", "pyarrow", "safetensors", "cupy-cuda12x")
_VARIABLES = ("OPENBLAS_CORETYPE", "OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "OMP_WAIT_POLICY")


def versions() -> dict[str, str]:
    """Of Python and of the installed packages that compute."""
    found = {"python": platform.python_version()}
    for package in _PACKAGES:
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            continue
    return found


def machine() -> dict[str, Any]:
    return {
        "platform": platform.platform(),
        "processor": platform.processor() or platform.machine(),
        "cpus": os.cpu_count(),
        "variables": {name: os.environ[name] for name in _VARIABLES if name in os.environ},
    }


def fingerprints(files: Iterable[Path]) -> list[dict[str, Any]]:
    """Path, size and SHA-256 of each file; of a folder those of the names and sizes of what it holds."""
    found: list[dict[str, Any]] = []
    for path in files:
        if path.is_dir():
            found.append(_folder_fingerprint(path))
            continue
        with path.open("rb") as file:
            digest = hashlib.file_digest(file, "sha256").hexdigest()
        found.append({"path": str(path), "bytes": path.stat().st_size, "sha256": digest})
    return found


def _folder_fingerprint(folder: Path) -> dict[str, Any]:
    """Of thousands of images: reading them all would take as long as an epoch."""
    held = sorted((entry.name, entry.stat().st_size) for entry in os.scandir(folder) if entry.is_file())
    lines = "".join(f"{name} {size}\n" for name, size in held).encode(errors="surrogateescape")
    return {"path": str(folder), "bytes": sum(size for _, size in held), "sha256": hashlib.sha256(lines).hexdigest()}
