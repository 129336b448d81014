"""No file that Gradwire reads makes it run code, start a program, unpickle, use the network or write elsewhere.

`HOSTILE_FILES=10000 pytest tests/studio/hostile` looks at more of them.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

from tests.studio.hostile.audit import ROOT

DOCUMENTS = int(os.environ.get("HOSTILE_FILES", "1000"))


def attacked(folder: Path, *options: str) -> dict[str, Any]:
    """Return the findings of an attack in a separate process."""
    command = [sys.executable, "-m", "tests.studio.hostile.attack", str(folder), *options]
    seconds = 300 + DOCUMENTS
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=seconds, check=False)
    assert done.returncode == 0, done.stderr[-4000:]
    return json.loads(done.stdout)


def test_hostile_files_run_nothing(tmp_path: Path) -> None:
    report = attacked(tmp_path, "--documents", str(DOCUMENTS), "--commands", "8")
    assert report["violations"] == []
    assert report["pwned"] == []
    found = report["found"]
    assert found["read: built"] > DOCUMENTS / 10
    assert found["read: refused by the check"] > DOCUMENTS / 5
    assert "read: refused by the guard" not in found  # the check comes first, and says more


def test_audit_hook_sees_attacks_without_guards(tmp_path: Path) -> None:
    """Without the guards the known exploit runs; the hook stops and reports it."""
    report = attacked(tmp_path, "--unguarded")
    assert "exec: names ['__import__', 'system']" in report["violations"]
