"""Kernels on disk: found again by other processes, built again where damaged, thrown away when there are too many."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from engine.compiler.kernels import Unlowered, cache, compile
from tests.engine.compiler.kernels.groups import Group

PROGRAM = """
import numpy as np, sys, time
from tests.engine.compiler.kernels.groups import Group
group = Group()
x = group.input(np.arange(12, dtype=np.float32).reshape(3, 4))
out = group.add("exp", group.add("mul", x, 0.25))
found = group.run((3, 4), [out])[0]
assert np.allclose(found, group.arrays[out], rtol=1e-6), found
"""


def _run(folder: Path, count: int = 1) -> None:
    environment = {**os.environ, cache.VARIABLE: str(folder)}
    running = [subprocess.Popen([sys.executable, "-c", PROGRAM], env=environment) for _ in range(count)]
    assert [one.wait(120) for one in running] == [0] * count


def test_processes_share_a_folder_and_damage_is_repaired(tmp_path: Path) -> None:
    _run(tmp_path, 2)
    (module,) = tmp_path.glob("*/gradwire_kernel_*.py")
    code = list(module.parent.glob("__pycache__/*.nb*"))
    assert code
    for file in code:
        file.write_bytes(b"damaged")
    _run(tmp_path)
    module.write_text("raise SystemError", encoding="utf-8")
    _run(tmp_path)
    assert "def kernel" in module.read_text(encoding="utf-8")


def test_what_was_not_used_for_longest_goes_first(tmp_path: Path) -> None:
    folder = tmp_path / "version"
    folder.mkdir()
    for age in range(4):
        path = folder / f"gradwire_kernel_{age}.py"
        path.write_bytes(b"x" * 100)
        os.utime(path, (1000 - age, 1000 - age))
    cache.tidy(tmp_path, 250)
    assert sorted(path.name for path in folder.iterdir()) == ["gradwire_kernel_0.py", "gradwire_kernel_1.py"]


def test_a_folder_that_cannot_be_made_is_done_without(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    blocked = tmp_path / "file"
    blocked.write_text("in the way", encoding="utf-8")
    monkeypatch.setenv(cache.VARIABLE, str(blocked))
    group = Group()
    x = group.input(np.ones((2, 3), np.float32))
    out = group.add("sub", group.add("mul", x, 5.5), x)
    np.testing.assert_array_equal(group.run((2, 3), [out])[0], group.arrays[out])


def test_what_does_not_compile_is_never_ready() -> None:
    module = cache.Module("kernel = 1 / 0", "a mistake")
    module.build()
    assert not module.ready
    with pytest.raises(Unlowered, match="a mistake did not compile"):
        module.wait()


def test_kernels_compile_in_the_background() -> None:
    group = Group()
    x = group.input(np.ones((2, 3), np.float32))
    kernel = compile(group.fused((2, 3), [group.add("mul", group.add("neg", x), 3.25)]))
    kernel.wait()
    assert kernel.ready
