"""CuPy's RawModule without a GPU: g++ compiles the CUDA source behind a thin header, and launches run on the CPU."""

from __future__ import annotations

import ctypes
import hashlib
import os
import re
import shutil
import subprocess
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from engine.backend import cuda_available
from engine.compiler.kernels.kernel_cache import FOLDER_VARIABLE

SHIM = Path(__file__).parent / "cuda_shim"
COMPILER = shutil.which("g++")
FLAGS = ["-std=c++17", "-O1", "-ffp-contract=off", "-fwrapv", "-fno-strict-aliasing", "-w", "-shared", "-fPIC"]
needs_compiler = pytest.mark.skipif(COMPILER is None, reason="needs g++, which compiles CUDA sources for the CPU here")
needs_gpu = [pytest.mark.gpu, pytest.mark.skipif(not cuda_available(), reason="needs CuPy and a CUDA device")]
STAND_IN = "stand-in"
DEVICES = [pytest.param(STAND_IN, marks=needs_compiler), pytest.param("GPU", marks=needs_gpu)]
"""Where CUDA kernels can run."""

_NAME = re.compile(r'extern "C" __global__ void (?:__launch_bounds__\(\d+\) )?(\w+)\(')
_WAITS = ("__syncthreads", "__syncwarp", "__shfl_xor_sync")


def folder() -> Path:
    """Cache folder of compiled sources, beside the CPU's kernels."""
    return Path(os.environ.get(FOLDER_VARIABLE) or tempfile.gettempdir()) / "cuda_shim"


class RawModule:
    """A module of kernels."""

    def __init__(self, *, code: str, options: tuple[str, ...] = ()) -> None:
        assert "--fmad=false" in options
        self._code = code

    def get_function(self, name: str) -> RawKernel:
        return RawKernel(self, name)

    def library(self) -> Any:
        """Machine code, cached by source."""
        if COMPILER is None:
            raise RuntimeError("there is no g++")
        text = self._text()
        shims = "".join(path.read_text(encoding="utf-8") for path in sorted(SHIM.iterdir()))
        key = hashlib.sha256((text + shims + " ".join(FLAGS)).encode()).hexdigest()[:20]
        path = folder() / f"{key}.so"
        if not path.exists():
            folder().mkdir(parents=True, exist_ok=True)
            handle, name = tempfile.mkstemp(dir=folder(), suffix=".so")
            os.close(handle)
            command = [COMPILER, *FLAGS, f"-I{SHIM}", "-x", "c++", "-", "-o", name]
            result = subprocess.run(command, input=text, text=True, capture_output=True, check=False)
            if result.returncode:
                raise RuntimeError(result.stderr)
            os.replace(name, path)
        return ctypes.CDLL(str(path))

    def _text(self) -> str:
        waits = "true" if any(one in self._code for one in _WAITS) else "false"
        launchers = [
            f'extern "C" int launch_{name}(const unsigned* shape, void** arguments) '
            f"{{ return shim::launch(kernels::{name}, shape, arguments, {waits}); }}"
            for name in _NAME.findall(self._code)
        ]
        return "\n".join(['#include "shim.h"', self._code, *launchers, ""])


class RawKernel:
    """A kernel of a module."""

    def __init__(self, module: RawModule, name: str) -> None:
        self._module, self._name = module, name
        self._function: Any = None

    @property
    def kernel(self) -> Any:
        if self._function is None:
            self._function = getattr(self._module.library(), f"launch_{self._name}")
        return self._function

    def __call__(self, grid: tuple[int, ...], block: tuple[int, ...], args: tuple[Any, ...]) -> None:
        shape = (ctypes.c_uint * 6)(*(*grid, 1, 1)[:3], *(*block, 1, 1)[:3])
        assert shape[3] * shape[4] * shape[5] <= 1024, "too many threads for a block"
        boxes = [_boxed(one) for one in args]
        pointers = (ctypes.c_void_p * len(boxes))(*(box.ctypes.data for box in boxes))
        if self.kernel(shape, pointers):
            raise RuntimeError(f"threads of {self._name} wait for others that never come")


def _boxed(argument: Any) -> Any:
    """Memory of an argument, in the form in which CuPy passes it to CUDA."""
    if hasattr(argument, "_inside"):
        return np.array(argument._inside.ctypes.data, np.uint64)
    if isinstance(argument, np.ndarray):
        assert argument.size == 1, "CuPy takes a NumPy array of one element only, by value"
        return argument
    assert type(argument) in (int, float, np.int32, np.int64, np.float64), type(argument)
    return np.asarray(argument)
