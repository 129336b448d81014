"""Environment variables of BLAS and OpenMP, set before NumPy is imported. Imports only the standard library.

- OpenBLAS 0.3.31 does not recognize AMD CPUs from Zen 5 on (family 26) and uses AVX2 kernels. Its AVX-512 kernels
  are twice as fast there (1024³ float32 product: 245 → 430–490 GFLOP/s).
- OpenMP threads that spin while they wait block OpenBLAS' cores (one step: 24 ms → 0.4 ms with passive waiting).
- OpenBLAS' threads spin for 2²⁶ cycles after a product and block the cores of the next kernels. 2¹⁸ cycles are 0.1 ms
  (training step with attention: 165 → 140 ms, with an LSTM: 71 → 47 ms).

Variables that the user has set are not changed.
"""

from __future__ import annotations

import ctypes
import os
import re
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

_ZEN5 = 26
_AVX512 = frozenset({"avx512f", "avx512cd", "avx512bw", "avx512dq", "avx512vl"})
_WINDOWS_AVX512F = 41  # PF_AVX512F_INSTRUCTIONS_AVAILABLE


_added: dict[str, str] = {}
"""Variables that the engine has set."""


class Cpu(NamedTuple):
    """Properties of the CPU that decide the settings."""

    vendor: str = ""
    family: int = 0
    avx512: bool = False


def explanations() -> Iterator[str]:
    """Yield a line for each variable: its value, whether the engine or the user set it, and why."""
    cpu = this_cpu()
    reasons = {
        "OMP_WAIT_POLICY": "waiting threads free their cores",
        "OPENBLAS_THREAD_TIMEOUT": "OpenBLAS' threads free their cores 0.1 ms after a product",
        "OPENBLAS_CORETYPE": f"OpenBLAS does not recognize AMD CPUs of family {cpu.family} and would not use AVX-512",
    }
    for name, reason in reasons.items():
        value = os.environ.get(name)
        if name in _added:
            yield f"{name}={value} (set by the engine: {reason})"
        elif value is not None:
            yield f"{name}={value} (set by the environment)"
        else:
            why = "NumPy was imported before the engine" if name in settings(cpu) else "OpenBLAS recognizes this CPU"
            yield f"{name} not set ({why})"


def missing_settings() -> Mapping[str, str]:
    """Return the variables to set. Empty if NumPy is loaded already; without variables that are set."""
    if "numpy" not in sys.modules:
        _added.update({name: value for name, value in settings(this_cpu()).items() if name not in os.environ})
    return _added


def settings(cpu: Cpu) -> Mapping[str, str]:
    """Return the environment variables for a CPU."""
    chosen = {"OMP_WAIT_POLICY": "passive", "OPENBLAS_THREAD_TIMEOUT": "18"}
    if cpu.vendor == "AuthenticAMD" and cpu.family >= _ZEN5 and cpu.avx512:
        chosen["OPENBLAS_CORETYPE"] = "SKYLAKEX"
    return chosen


def this_cpu() -> Cpu:
    """Return the CPU of this machine; an empty one if it is unknown, or on ARM, where it makes no difference."""
    if sys.platform == "win32":
        return _windows_cpu(os.environ.get("PROCESSOR_IDENTIFIER", ""), _windows_has_avx512())
    try:
        return _linux_cpu(Path("/proc/cpuinfo").read_text(encoding="ascii", errors="replace"))
    except OSError:
        return Cpu()


def _linux_cpu(cpuinfo: str) -> Cpu:
    """Parse the first processor of /proc/cpuinfo."""
    lines = (line.partition(":") for line in cpuinfo.partition("\n\n")[0].splitlines())
    fields = {name.strip(): value.strip() for name, _, value in lines}
    family = fields.get("cpu family", "")
    return Cpu(
        fields.get("vendor_id", ""),
        int(family) if family.isdecimal() else 0,
        frozenset(fields.get("flags", "").split()) >= _AVX512,
    )


def _windows_cpu(identifier: str, avx512: bool) -> Cpu:
    """Parse text such as "AMD64 Family 26 Model 68 Stepping 0, AuthenticAMD"."""
    family = re.search(r"Family (\d+)", identifier)
    return Cpu(identifier.rpartition(", ")[2], int(family[1]) if family else 0, avx512)


def _windows_has_avx512() -> bool:
    if sys.platform != "win32":
        return False
    return bool(ctypes.windll.kernel32.IsProcessorFeaturePresent(_WINDOWS_AVX512F))
