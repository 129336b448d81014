"""The benchmark of the training step still runs."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = Path(__file__).resolve().parents[2] / "benchmarks" / "train_step.py"


def run(*arguments: str) -> str:
    command = [sys.executable, str(SCRIPT), "--only", "mlp-64", "--threads", "1", *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=True, timeout=1000).stdout


@pytest.mark.slow
def test_json() -> None:
    [line] = run("--seconds", "0", "--json").splitlines()
    result = json.loads(line)
    assert result["benchmark"] == "mlp-64"
    assert result["steps"] >= 10
    assert result["engine_ms"] > 0


@pytest.mark.slow
def test_profile_names_functions() -> None:
    assert "cumtime" in run("--profile")


@pytest.mark.slow
def test_the_compiled_step() -> None:
    script = str(SCRIPT.with_name("compile.py"))
    options = ["--only", "mlp-64", "--threads", "1", "--seconds", "0", "--json", "--without", "torch.compile"]
    done = subprocess.run([sys.executable, script, *options], capture_output=True, text=True, check=True, timeout=1000)
    result, recording = map(json.loads, done.stdout.splitlines())
    for key in ("engine_ms", "eager_ms", "first_ms", "eager_first_ms", "compiled_ms", "loaded_ms", "new_kb"):
        assert result[key] > 0, key
    assert recording["record_us"] > 0
