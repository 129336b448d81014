"""Kernels on disk: found again by other processes, built again where damaged, thrown away when there are too many."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
from pathlib import Path

import numpy as np
import pytest

from engine.compiler.kernels import LoweringUnsupported, compile, kernel_cache, object_code
from engine.compiler.kernels.compile_process import CompileProcess
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


def _run(folder: Path, count: int = 1, end: str = "") -> None:
    environment = {**os.environ, kernel_cache.FOLDER_VARIABLE: str(folder)}
    running = [subprocess.Popen([sys.executable, "-c", PROGRAM + end], env=environment) for _ in range(count)]
    assert [one.wait(120) for one in running] == [0] * count


def _kept(folder: Path) -> tuple[Path, str, object_code.ObjectCode]:
    """The one file in a folder, and what it holds."""
    (path,) = folder.glob("*/gradwire_kernel_*")
    source = json.loads(path.read_bytes()[len(kernel_cache.MAGIC) + 32 :].partition(b"\n")[0])["source"]
    code = kernel_cache.read(path, source)
    assert code is not None
    return path, source, code


def test_processes_share_the_cache_folder(tmp_path: Path) -> None:
    _run(tmp_path, 2, "assert 'numba' not in sys.modules")
    _run(tmp_path, end="assert 'numba' not in sys.modules")


def test_damaged_cache_files_are_recompiled(tmp_path: Path) -> None:
    _run(tmp_path)
    path, source, _ = _kept(tmp_path)
    whole = path.read_bytes()
    for damaged in (b"", b"damaged", whole[:-1], whole[:2000], whole[:-9] + b"?" + whole[-8:]):
        path.write_bytes(damaged)
        assert kernel_cache.read(path, source) is None
    _run(tmp_path)
    _kept(tmp_path)


def test_cache_files_of_other_users_are_ignored(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "kernel"
    kernel_cache.write(path, "source", object_code.ObjectCode(b"code", ()))
    assert kernel_cache.read(path, "source") == object_code.ObjectCode(b"code", ())
    assert kernel_cache.read(path, "another source") is None
    monkeypatch.setattr(os, "getuid", lambda: 1 + path.stat().st_uid, raising=False)
    assert kernel_cache.read(path, "source") is None


def test_code_with_missing_imports_is_recompiled(tmp_path: Path) -> None:
    _run(tmp_path)
    path, source, code = _kept(tmp_path)
    kernel_cache.write(path, source, object_code.ObjectCode(code.code, (*code.needs, "nobody_has_this")))
    with pytest.raises(ImportError, match="nobody_has_this"):
        object_code.load_function(object_code.ObjectCode(code.code, ("nobody_has_this",)))
    _run(tmp_path)
    assert _kept(tmp_path)[2].needs == code.needs


def test_kernels_check_number_and_type_of_arguments() -> None:
    group = Group()
    x = group.input(np.ones((2, 3), np.float32))
    kernel = compile(group.fused((2, 3), [group.add("mul", x, 3.25)]))
    kernel.wait()
    function, layout = kernel.entry
    with pytest.raises(TypeError):
        function(layout, *["x"] * (len(kernel.fused.inputs) + len(kernel.fused.scalars) + 1))
    with pytest.raises(SystemError):
        function(layout)


def test_eviction_removes_least_recently_used_files(tmp_path: Path) -> None:
    folder = tmp_path / "version"
    folder.mkdir()
    for age in range(4):
        path = folder / f"gradwire_kernel_{age}"
        path.write_bytes(b"x" * 100)
        os.utime(path, (1000 - age, 1000 - age))
    kernel_cache.evict_oldest(tmp_path, 250)
    assert sorted(path.name for path in folder.iterdir()) == ["gradwire_kernel_0", "gradwire_kernel_1"]


def test_kernels_compile_without_a_cache_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    blocked = tmp_path / "file"
    blocked.write_text("in the way", encoding="utf-8")
    monkeypatch.setenv(kernel_cache.FOLDER_VARIABLE, str(blocked))
    group = Group()
    x = group.input(np.ones((2, 3), np.float32))
    out = group.add("sub", group.add("mul", x, 5.5), x)
    np.testing.assert_array_equal(group.run((2, 3), [out])[0], group.arrays[out])


def test_failed_kernel_is_never_ready() -> None:
    module = kernel_cache.KernelModule("kernel = 1 / 0", "a mistake")
    module.build(CompileProcess())
    assert not module.ready
    with pytest.raises(LoweringUnsupported, match="a mistake did not compile"):
        module.wait()


def test_kernels_compile_in_the_background() -> None:
    group = Group()
    x = group.input(np.ones((2, 3), np.float32))
    kernel = compile(group.fused((2, 3), [group.add("mul", group.add("neg", x), 3.25)]))
    kernel.wait()
    assert kernel.ready


def test_kernels_that_are_no_longer_referenced_are_not_compiled(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(kernel_cache.FOLDER_VARIABLE, str(tmp_path))
    compiled = list[str]()
    compiler, first = kernel_cache.KernelCompiler(), threading.Event()

    def compile_after(module: kernel_cache.KernelModule, _: CompileProcess) -> None:
        first.wait()
        compiled.append(module.title)

    monkeypatch.setattr(kernel_cache, "_compile", compile_after)
    modules = [compiler.load(f"kernel = {title!r}", title) for title in ("one", "two", "three")]
    assert compiler.load("kernel = 'two'", "two") is modules[1]
    del modules[1]
    first.set()
    compiler.wait()
    assert compiled == ["one", "three"]
    assert [module.title for module in compiler.modules.values()] == ["one", "three"]
