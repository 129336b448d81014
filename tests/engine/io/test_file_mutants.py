"""Mutants of weights files: read or refused, never a crash, an execution, much memory or much time.

`MUTANTS=100000` reads more of them.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
MUTANTS = int(os.environ.get("MUTANTS", "2000"))


def test_mutants_are_read_or_refused(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "tests.engine.io.mutants", str(tmp_path), "--mutants", str(MUTANTS)]
    ended = subprocess.run(
        command, cwd=ROOT, env={**os.environ, "PYTHONPATH": str(ROOT)}, capture_output=True, text=True, check=False
    )
    assert ended.returncode == 0, ended.stderr[-3000:]
    report = json.loads(ended.stdout)
    assert report["crashes"] == {}
    assert report["violations"] == []
    assert report["slowest"] < 5
    for kind in ("zip", "legacy", "safetensors", "npz", "compressed"):
        assert report["outcomes"][f"{kind}: read"]
        assert report["outcomes"][f"{kind}: refused"]


def test_the_audit_sees_an_execution(tmp_path: Path) -> None:
    """The harness is not blind: with pickle in place of the reader, the bomb is reported."""
    program = f"""
import io, pickle, sys
from pathlib import Path
from tests.engine.io.mutants import Reader
from tests.engine.io import torch_bytes

bomb = b"\\x80\\x02" + torch_bytes.found("os", "system") + b"(" + torch_bytes.text("true") + b"tR."
reader = Reader(Path({str(tmp_path)!r}))
reader._load = lambda content: pickle.loads(content)
reader._open = lambda content: None
reader("bomb", bomb)
sys.exit(0 if reader.audit.violations else 1)
"""
    ended = subprocess.run(
        [sys.executable, "-c", program], cwd=ROOT, env={**os.environ, "PYTHONPATH": str(ROOT)}, check=False
    )
    assert ended.returncode == 0
