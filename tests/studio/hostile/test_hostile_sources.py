"""Python source that is edited in the Code panel or imported is parsed in bounded time, and never executed."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

from tests.studio.hostile.audit import ROOT


def test_hostile_sources_run_nothing(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "tests.studio.hostile.source_attack", str(tmp_path)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=600, check=False)
    assert done.returncode == 0, done.stderr[-4000:]
    report = json.loads(done.stdout.splitlines()[-1])
    assert report["executed"] == []
    assert not report["pwned"]
    assert set(report["found"]) <= {"accepted", "refused"}
    assert report["found"]["refused"] > 100
