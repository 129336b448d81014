from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from engine.system import environment
from engine.system.environment import Cpu

FLAGS = "fpu avx512f avx512dq avx512cd avx512bw avx512vl"
CPUINFO = "processor\t: 0\nvendor_id\t: {}\ncpu family\t: {}\nflags\t\t: {}\n\nprocessor\t: 1\nvendor_id\t: Other\n"


@pytest.mark.parametrize(
    ("text", "cpu", "core"),
    [
        (CPUINFO.format("AuthenticAMD", 26, FLAGS), Cpu("AuthenticAMD", 26, True), "SKYLAKEX"),
        (CPUINFO.format("AuthenticAMD", 26, "fpu avx2 avx512f"), Cpu("AuthenticAMD", 26, False), None),
        (CPUINFO.format("AuthenticAMD", 25, FLAGS), Cpu("AuthenticAMD", 25, True), None),
        (CPUINFO.format("GenuineIntel", 26, FLAGS), Cpu("GenuineIntel", 26, True), None),
        ("processor\t: 0\nBogoMIPS\t: 50.00\nFeatures\t: fp asimd\n", Cpu(), None),
        ("", Cpu(), None),
    ],
)
def test_the_choice_on_linux(text: str, cpu: Cpu, core: str | None) -> None:
    assert environment._linux_cpu(text) == cpu
    assert environment.settings(cpu).get("OPENBLAS_CORETYPE") == core
    assert environment.settings(cpu)["OMP_WAIT_POLICY"] == "passive"
    assert int(environment.settings(cpu)["OPENBLAS_THREAD_TIMEOUT"]) < 26  # what it is otherwise


def test_the_choice_on_windows() -> None:
    result = environment._windows_cpu("AMD64 Family 26 Model 68 Stepping 0, AuthenticAMD", True)
    assert result == Cpu("AuthenticAMD", 26, True)
    assert environment._windows_cpu("", False) == Cpu()


def _run(code: str, **variables: str) -> dict[str, str]:
    file = Path(environment.__file__)
    start = (
        "import importlib.util, json, os, sys\n"
        f"spec = importlib.util.spec_from_file_location('threads', {str(file)!r})\n"
        "threads = importlib.util.module_from_spec(spec); spec.loader.exec_module(threads)\n"
        "assert 'numpy' not in sys.modules\n"
        "threads.this_cpu = lambda: threads.Cpu('AuthenticAMD', 26, True)\n"
    )
    code = code.replace("configure", "os.environ.update(threads.missing_settings())")
    end = "\nprint(json.dumps({k: os.environ.get(k) for k in ('OPENBLAS_CORETYPE', 'OMP_WAIT_POLICY')}))"
    result = subprocess.run(
        [sys.executable, "-c", start + code + end], env=variables, capture_output=True, text=True, check=True
    )
    return json.loads(result.stdout)


def test_configured_variables() -> None:
    assert _run("configure") == {"OPENBLAS_CORETYPE": "SKYLAKEX", "OMP_WAIT_POLICY": "passive"}
    assert _run("configure", OPENBLAS_CORETYPE="Zen")["OPENBLAS_CORETYPE"] == "Zen"
    assert _run("import numpy; configure")["OPENBLAS_CORETYPE"] is None


def test_each_setting_has_its_reason(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(environment, "this_cpu", lambda: Cpu("AuthenticAMD", 26, True))
    monkeypatch.setattr(environment, "_added", {"OMP_WAIT_POLICY": "passive"})
    monkeypatch.setenv("OMP_WAIT_POLICY", "passive")
    monkeypatch.setenv("OPENBLAS_CORETYPE", "Zen")
    waiting, _, core = environment.explanations()
    assert waiting.startswith("OMP_WAIT_POLICY=passive (set by the engine: ")
    assert core == "OPENBLAS_CORETYPE=Zen (set by the environment)"
    monkeypatch.delenv("OPENBLAS_CORETYPE")
    assert "NumPy was imported before the engine" in list(environment.explanations())[-1]
    monkeypatch.setattr(environment, "this_cpu", lambda: Cpu("GenuineIntel", 6, True))
    assert "OpenBLAS recognizes this CPU" in list(environment.explanations())[-1]


def test_engine_sets_the_environment_before_other_imports() -> None:
    code = "import engine, os; print(os.environ['OMP_WAIT_POLICY'])"
    root = Path(environment.__file__).parents[2]
    result = subprocess.run([sys.executable, "-c", code], cwd=root, capture_output=True, text=True, check=True)
    assert result.stdout.strip() == "passive"
