"""The library's kernels are on disk before anybody needs them."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from engine.compiler.kernels import kernel_cache
from engine.compiler.kernels.library import precompile
from engine.compiler.kernels.library.routines import kernel_names
from engine.compiler.kernels.object_code import ObjectCode

PROGRAM = """
from engine.compiler.kernels.library import precompile
precompile.kernel_names = lambda: ["dropout_mask"]
assert precompile.missing_kernels() == ["dropout_mask"]
precompile.main()
assert precompile.missing_kernels() == []
"""


def test_missing_kernels_are_compiled(tmp_path: Path) -> None:
    subprocess.run(
        [sys.executable, "-c", PROGRAM], env={**os.environ, kernel_cache.FOLDER_VARIABLE: str(tmp_path)}, check=True
    )


def test_all_kernels_are_missing_in_an_empty_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(kernel_cache.FOLDER_VARIABLE, str(tmp_path))
    assert precompile.missing_kernels() == kernel_names()
    assert "lstm" in kernel_names()


def test_a_damaged_kernel_is_missing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(kernel_cache.FOLDER_VARIABLE, str(tmp_path))
    path = kernel_cache.KernelModule("x = 1\n", "").file
    kernel_cache.write(path, "x = 1\n", ObjectCode(b"code", ()))
    assert kernel_cache.is_cached("x = 1\n")
    path.write_bytes(path.read_bytes()[:-1])
    assert not kernel_cache.is_cached("x = 1\n")
