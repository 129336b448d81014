"""The library's kernels are on disk before anybody needs them."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from engine.compiler.kernels import cache
from engine.compiler.kernels.library import ahead
from engine.compiler.kernels.library.routine import names

PROGRAM = """
from engine.compiler.kernels.library import ahead
ahead.names = lambda: ["chance"]
assert ahead.missing() == ["chance"]
ahead.main()
assert ahead.missing() == []
"""


def test_what_is_missing_is_compiled(tmp_path: Path) -> None:
    subprocess.run([sys.executable, "-c", PROGRAM], env={**os.environ, cache.VARIABLE: str(tmp_path)}, check=True)


def test_all_kernels_are_looked_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(cache.VARIABLE, str(tmp_path))
    assert ahead.missing() == names()
    assert "lstm" in names()


def test_a_damaged_kernel_is_missing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(cache.VARIABLE, str(tmp_path))
    path = cache.Module("x = 1\n", "").file
    cache.write(path, "x = 1\n", cache.Code(b"code", ()))
    assert cache.is_kept("x = 1\n")
    path.write_bytes(path.read_bytes()[:-1])
    assert not cache.is_kept("x = 1\n")
