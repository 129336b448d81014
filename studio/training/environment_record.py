"""Environment of a run for its record: package versions, machine and fingerprints of the data files."""

from __future__ import annotations

import hashlib
import os
import platform
from collections.abc import Iterable
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from engine.system.files import open_regular

_PACKAGES = ("gradwire", "numpy", "pyarrow", "safetensors", "cupy-cuda12x")
FULL_HASH_BYTES = 4 * 2**30
"""Total data size up to which files are hashed completely; larger data is sampled."""
_SAMPLED_BYTES = 256 * 2**20
_SAMPLE_BYTES = 16 * 2**10

_VARIABLES = ("OPENBLAS_CORETYPE", "OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "OMP_WAIT_POLICY")


def package_versions() -> dict[str, str]:
    """Versions of Python and of the installed packages that results depend on."""
    return dict(_installed())


@cache
def _installed() -> dict[str, str]:
    """Cached: reading package metadata from disk is slow, and imported versions do not change."""
    found = {"python": platform.python_version()}
    for package in _PACKAGES:
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            continue
    return found


def machine_info() -> dict[str, Any]:
    return {
        "platform": platform.platform(),
        "processor": platform.processor() or platform.machine(),
        "cpus": os.cpu_count(),
        "variables": {name: os.environ[name] for name in _VARIABLES if name in os.environ},
    }


def fingerprints(files: Iterable[Path]) -> list[dict[str, Any]]:
    """Path, size and SHA-256 of each file; for folders, the hash covers the names and sizes of their files.

    Files larger than 4 GiB in total are hashed from evenly spaced samples, because reading them would delay training
    by minutes; "pieces" is the number of samples.
    """
    paths = tuple(files)
    sizes = {path: path.stat().st_size for path in paths if not path.is_dir()}
    pieces = None if sum(sizes.values()) <= FULL_HASH_BYTES else max(_SAMPLED_BYTES // (len(sizes) * _SAMPLE_BYTES), 2)
    return [
        _folder_fingerprint(path) if path not in sizes else _file_fingerprint(path, sizes[path], pieces)
        for path in paths
    ]


def _file_fingerprint(path: Path, size: int, pieces: int | None) -> dict[str, Any]:
    record = {"path": str(path), "bytes": size}
    with open_regular(path) as file:
        if pieces is None or size <= pieces * _SAMPLE_BYTES:
            return {**record, "sha256": hashlib.file_digest(file, "sha256").hexdigest()}
        digest = hashlib.sha256(f"{size} ".encode())
        for number in range(pieces):  # includes the first and the last bytes
            file.seek((size - _SAMPLE_BYTES) * number // (pieces - 1))
            digest.update(file.read(_SAMPLE_BYTES))
    return {**record, "pieces": pieces, "sha256": digest.hexdigest()}


def _folder_fingerprint(folder: Path) -> dict[str, Any]:
    """Hash names and sizes only: reading thousands of images would take as long as an epoch."""
    files = sorted((entry.name, entry.stat().st_size) for entry in os.scandir(folder) if entry.is_file())
    lines = "".join(f"{name} {size}\n" for name, size in files).encode(errors="surrogateescape")
    return {"path": str(folder), "bytes": sum(size for _, size in files), "sha256": hashlib.sha256(lines).hexdigest()}
