"""Where CPython or numba are not as kernels expect, NumPy computes the same numbers, and a warning says why."""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

import engine
from engine.compiler import explain
from engine.compiler.kernels import compile_process, compiler_self_test, cpython_objects, kernel_cache, object_code
from engine.compiler.kernels.compile_process import CompileProcess, CompilerUnavailableError
from engine.compiler.kernels.kernel_cache import COMPILER, KernelCompiler
from engine.system.self_test import SelfTest

BROKEN_NUMBA = """
from engine.compiler.kernels import compile_process, numba_internals
def fails(function, signature):
    raise AttributeError("module 'numba.core.compiler' has no attribute 'compile_extra'")
numba_internals.compile_function = fails
serve()
"""


@pytest.fixture(autouse=True)
def _no_kernels(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """No kernel is known, neither in this process nor on disk."""
    monkeypatch.setenv(kernel_cache.FOLDER_VARIABLE, str(tmp_path))
    monkeypatch.setattr(COMPILER, "modules", {})
    monkeypatch.setattr(COMPILER, "_has_warned", False)
    yield
    COMPILER._process.end()
    kernel_cache._foreground_process.end()


def step(x: engine.Tensor, w: engine.Tensor) -> engine.Tensor:
    return ((x @ w).tanh() * 1.5 + x.exp()).sum(dim=0)


def results() -> tuple[bytes, str]:
    """The bits that a compiled function computes once its kernels are ready or have failed, and its explanation."""
    draw = np.random.default_rng(0)
    given = [engine.tensor(draw.normal(size=(64, 64)).astype(np.float32)) for _ in range(2)]
    compiled = engine.compile(step)
    for _ in range(2):
        compiled(*given)
    COMPILER.wait()
    found = compiled(*given).numpy().tobytes()
    return found, str(explain(compiled)(*given))


def test_kernels_pass_their_self_tests() -> None:
    assert cpython_objects.SELF_TEST.failure is None
    assert compile_process.COMPILER_SELF_TEST.failure is None


def test_another_object_layout_turns_kernels_off(monkeypatch: pytest.MonkeyPatch) -> None:
    expected, _ = results()
    monkeypatch.setattr(COMPILER, "modules", {})
    monkeypatch.setattr(cpython_objects, "ARRAY_DATA_OFFSET", cpython_objects.ARRAY_DATA_OFFSET + 8)
    failing = SelfTest(cpython_objects._check, "Compiled kernels on Python 3.99", "NumPy computes what they would.")
    monkeypatch.setattr(object_code, "SELF_TEST", failing)
    monkeypatch.setattr(kernel_cache, "SELF_TEST", failing)
    with warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always")
        found, text = results()
    assert found == expected
    assert "array objects have another layout" in " ".join(text.split())
    assert [str(one.message) for one in warned] == [failing.failure]


def test_another_numba_turns_kernels_off(monkeypatch: pytest.MonkeyPatch) -> None:
    expected, _ = results()
    COMPILER._process.end()
    monkeypatch.setattr(COMPILER, "modules", {})
    monkeypatch.setenv(kernel_cache.FOLDER_VARIABLE, str(kernel_cache.cache_folder().parent / "others"))
    monkeypatch.setattr(compile_process, "_START", compile_process._START.replace("serve()\n", BROKEN_NUMBA))
    with warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always")
        found, text = results()
    assert found == expected
    assert "has no attribute 'compile_extra'" in " ".join(text.split())
    (warning,) = warned
    assert re.match(r"Compiled kernels by numba [\d.]+ and llvmlite [\d.]+: the self-test failed", str(warning.message))


def test_a_compiler_that_crashes_is_not_run_in_this_process(monkeypatch: pytest.MonkeyPatch) -> None:
    crash = "import os\nfrom engine.compiler.kernels import compile_process\n"
    crash += "compile_process.COMPILER_SELF_TEST._check = lambda: os.abort()\nserve()\n"
    monkeypatch.setattr(compile_process, "_START", compile_process._START.replace("serve()\n", crash))
    process = CompileProcess()
    with pytest.raises(CompilerUnavailableError, match="exits during its self-test"):
        process.code_of("kernel = None", "file")


def test_a_kernel_with_wrong_results_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    wrong = "out[0] = lane_sum(block, 32, 32) + 1e-9"
    source = compiler_self_test.SOURCE.replace("out[0] = lane_sum(block, 32, 32)", wrong)
    monkeypatch.setattr(compiler_self_test, "SOURCE", source)
    test = compiler_self_test.compiler_self_test(compile_process._compile)
    with pytest.warns(RuntimeWarning, match="other numbers than NumPy"):
        assert not test.passed


def test_compilers_warn_once() -> None:
    compiler = KernelCompiler()
    with pytest.warns(RuntimeWarning, match="off"):
        compiler.warn_once("off")
    compiler.warn_once("off")
