"""Modules that lie in the working folder, beside a project for instance, are never imported by processes that start."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
HOSTILE = ("json", "multiprocessing", "signal", "threading", "numpy", "numba", "engine", "studio")

COMPILED = """
from engine.compiler.kernels.compile_process import CompileProcess, KernelCompileError
if __name__ == "__main__":
    process = CompileProcess()
    try:
        process.code_of("hello there", "kernel")
    except KernelCompileError as error:
        print("said" if "invalid syntax" in str(error) else error)
    process.end()
"""
LOADED = """
import os
from engine.data import DataLoader
class Numbers:
    def __len__(self): return 4
    def __getitem__(self, index): return int("PYTHONSAFEPATH" in os.environ or "PYTHONPATH" in os.environ)
if __name__ == "__main__":
    batches = list(DataLoader(Numbers(), batch_size=2, num_workers=1))
    print("said" if sum(batch.sum().item() for batch in batches) == 0 else "a changed environment")
"""
TRIED = """
from studio.cli.sweep.trial_pool import TrialPool
if __name__ == "__main__":
    pool = TrialPool({1: ["too few arguments"]}, 1, 1)
    output = [content for _ in range(100) if not pool.is_over for _, content in pool.events(1)]
    print("said" if "run_trial()" in str(output) else output)
"""


@pytest.mark.parametrize("script", [COMPILED, LOADED, TRIED], ids=["compile", "loader", "sweep"])
def test_processes_import_nothing_from_the_working_folder(
    script: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for variable in ("PYTHONPATH", "PYTHONSAFEPATH"):
        monkeypatch.delenv(variable, raising=False)
    project, elsewhere = tmp_path / "project", tmp_path / "elsewhere"
    project.mkdir()
    elsewhere.mkdir()
    for name in HOSTILE:
        (project / f"{name}.py").write_text(f"open('ran_{name}', 'w').close()\n")
    (elsewhere / "script.py").write_text(f"import sys\nsys.path.insert(0, {str(ROOT)!r})\n{script}")
    command = [sys.executable, str(elsewhere / "script.py")]
    done = subprocess.run(command, cwd=project, capture_output=True, text=True, timeout=120, check=False)
    assert [path.name for path in project.glob("ran_*")] == [], done.stderr
    assert (done.returncode, done.stdout) == (0, "said\n"), done.stderr
