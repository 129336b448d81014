"""Mutants of artifacts: run or refused, never a crash, an execution, much memory or much time.

`MUTANTS=100000` reads more of them.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
MUTANTS = int(os.environ.get("MUTANTS", "300"))


def test_mutants_are_run_or_refused(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "tests.engine.export.artifact_mutants", str(tmp_path), "--mutants", str(MUTANTS)]
    ended = subprocess.run(
        command, cwd=ROOT, env={**os.environ, "PYTHONPATH": str(ROOT)}, capture_output=True, text=True, check=False
    )
    assert ended.returncode == 0, ended.stderr[-3000:]
    report = json.loads(ended.stdout)
    assert report["crashes"] == {}
    assert report["violations"] == []
    assert report["slowest"] < 5
    for kind in ("convolution", "attention", "recurrent", "indexed"):
        assert report["outcomes"][f"original {kind}: read"] == 2
        assert report["outcomes"][f"{kind}: read"]
        assert report["outcomes"][f"{kind}: refused"]
