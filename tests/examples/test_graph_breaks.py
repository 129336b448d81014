"""The example of graph breaks prints what its text describes."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

SCRIPT = Path(__file__).resolve().parents[2] / "examples" / "engine" / "graph_breaks.py"


def test_one_break_between_two_segments_and_one_recording_per_side() -> None:
    done = subprocess.run([sys.executable, str(SCRIPT)], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    text = done.stdout
    counts = re.findall(r"^(.*): (\d+) calls, (\d+) ops recorded, (\d+) breaks$", text, re.MULTILINE)
    assert counts == [
        ("positive mean", "3", "6", "3"),
        ("negative mean", "6", "9", "6"),
        ("both in turn", "10", "9", "10"),
    ]
    assert "branching: partly compiled, 2 segments, 1 graph break\n" in text
    assert "Break 1: bool   graph_breaks.py:20   if x.mean() > 0:" in text
    assert "Fix: Compute both and choose: `x = engine.where(x.mean() > 0, x @ b, x @ a.T)`" in text
    assert "Recompiles: 1\n  call 4, after no equal ops: graph_breaks.py:23   x = x @ a.T\n" in text
    assert "another op: permute instead of matmul" in text
    assert "choosing: compiled, 1 segment, no graph breaks\n" in text
