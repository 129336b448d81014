"""Measured limits of this machine: arithmetic per second, bytes per second, and the time of an empty kernel."""

from __future__ import annotations

import json
import os
import platform
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import asdict, dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

import numpy as np

import engine
from engine import cuda, get_num_threads
from studio.document.files.state_folder import state_folder

_FILE = "machine-limits.json"
_VERSION = 1
_SIZE = {"cpu": 512, "cuda": 4096}
"""Rows of the multiplied matrices."""
_BYTES = {"cpu": 2**26, "cuda": 2**30}
"""Bytes of a copied array, which no cache holds."""
_REPEATS = 3


@dataclass(frozen=True, slots=True)
class MachineLimits:
    """What this machine reached in short measurements."""

    device: str
    name: str
    """Name of the processor, with its threads."""
    flops: float
    """Floating-point operations per second of a float32 matrix product."""
    double_flops: float
    """Those of float64."""
    bandwidth: float
    """Bytes per second that a copy in memory reads and writes."""
    overhead: float
    """Seconds of a kernel on a single element."""
    measured: str
    """Local date and time, as in ISO 8601."""

    def flops_of(self, dtype: str) -> float:
        return self.double_flops if dtype == "float64" else self.flops

    @property
    def ridge(self) -> float:
        """Floating-point operations for each byte from which arithmetic is the limit."""
        return self.flops / self.bandwidth


def machine_limits(device: str = "cpu", *, again: bool = False, folder: Path | None = None) -> MachineLimits:
    """The limits of this machine. They are measured at the first call, in about half a second, and kept in a file.

    Args:
        device: "cpu" or "cuda"
        again: measure again
        folder: where the file is (default: the state folder of the user)
    """
    kind = device.partition(":")[0]
    path = (folder or state_folder()) / _FILE
    key = f"{kind}: {_name(kind)}"
    known = _read(path)
    found = known.get(key)
    if found is not None and not again:
        return found
    limits = measure_limits(kind)
    _write(path, {**known, key: limits})
    return limits


def measure_limits(kind: str) -> MachineLimits:
    """Measure the limits of a device now."""
    flops, double_flops = (_product_flops(kind, dtype) for dtype in (engine.float32, engine.float64))
    now = datetime.now().astimezone().isoformat(timespec="seconds")
    return MachineLimits(kind, _name(kind), flops, double_flops, _bandwidth(kind), _overhead(kind), now)


def _product_flops(kind: str, dtype: Any) -> float:
    size = _SIZE[kind]
    left, right = (engine.ones(size, size, dtype=dtype, device=kind) for _ in range(2))
    return 2 * size**3 / _fastest(kind, lambda: left @ right)


def _bandwidth(kind: str) -> float:
    size = _BYTES[kind]
    if kind == "cuda":
        source = engine.ones(size // 4, device=kind)
        return 2 * size / _fastest(kind, source.clone)
    array, target = np.ones(size // 4, np.float32), np.empty(size // 4, np.float32)
    return 2 * size / _fastest(kind, lambda: np.copyto(target, array))


def _overhead(kind: str) -> float:
    if kind == "cuda":
        one = engine.ones(1, device=kind)
        return _fastest(kind, lambda: one + one, runs=20)
    array, target = np.ones(1, np.float32), np.empty(1, np.float32)
    return _fastest(kind, lambda: np.add(array, array, target), runs=1000)


def _fastest(kind: str, run: Callable[[], object], *, runs: int = 1) -> float:
    """Seconds of the fastest of several runs, after one that does not count."""
    seconds: list[float] = []
    for _ in range(_REPEATS + 1):
        _synchronize(kind)
        start = time.perf_counter()
        for _ in range(runs):
            run()
        _synchronize(kind)
        seconds.append((time.perf_counter() - start) / runs)
    return min(seconds[1:])


def _synchronize(kind: str) -> None:
    if kind == "cuda":
        cuda.synchronize()


def _name(kind: str) -> str:
    if kind == "cuda":
        return cuda.get_device_name()
    threads = get_num_threads()
    return f"{platform.processor() or platform.machine()}, {threads} thread{'s' if threads > 1 else ''}"


def _read(path: Path) -> dict[str, MachineLimits]:
    """The limits in a file; none if it is missing, damaged or of another version."""
    with suppress(OSError, ValueError, TypeError, KeyError):
        record = json.loads(path.read_text(encoding="utf-8"))
        if record["version"] == _VERSION:
            return {key: MachineLimits(**limits) for key, limits in record["limits"].items()}
    return {}


def _write(path: Path, limits: dict[str, MachineLimits]) -> None:
    """Write the file. If that fails, the limits are measured again at the next start."""
    record = {"version": _VERSION, "limits": {key: asdict(one) for key, one in limits.items()}}
    with suppress(OSError):
        path.parent.mkdir(parents=True, exist_ok=True)
        new = path.with_suffix(f".{os.getpid()}.new")
        new.write_text(json.dumps(record, indent=2), encoding="utf-8")
        new.replace(path)


__all__ = ["MachineLimits", "machine_limits", "measure_limits"]
