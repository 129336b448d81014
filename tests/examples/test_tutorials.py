"""The tutorials in examples/engine do the same with the engine and with PyTorch."""

from __future__ import annotations

import importlib.util
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

FOLDER = Path(__file__).resolve().parents[2] / "examples" / "engine"
OWN = {"library", "graph_breaks"}
"""What is about the engine itself."""
SCRIPTS = sorted(path.stem for path in FOLDER.glob("*.py") if path.stem not in OWN)
NUMBER = re.compile(r"-?\d+(?:\.\d*)?(?:e[+-]?\d+)?")
CHANCE = ("loss: ", "Accuracy: ", "accuracy ", "quality: ")
"""How lines begin whose numbers depend on random draws, or on rounding after many steps."""
QUALITY = {
    "mlp_classifier": {"accuracy": (0.92, 1.0)},
    "cnn_digits": {"accuracy": (0.88, 1.0)},
    "char_lstm": {"loss": (0.0, 0.9), "accuracy": (0.75, 1.0)},
    "transformer_reversal": {"loss": (0.0, 0.1), "accuracy": (0.97, 1.0)},
    "variational_autoencoder": {"training loss": (20.0, 27.0), "test loss": (20.0, 27.0), "error": (0.0, 0.06)},
    "gan": {"radius": (0.8, 1.2), "spread": (0.0, 0.25)},
    "policy_gradient": {"quality": (45.0, 150.0)},
}
"""Within what the last such line must be, for both libraries."""

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(importlib.util.find_spec("torch") is None, reason="PyTorch is not installed here"),
]


@pytest.mark.parametrize("script", SCRIPTS)
def test_both_libraries_give_the_same_results(script: str) -> None:
    ours, theirs = (run(script, library) for library in ("engine", "torch"))
    assert len(ours) == len(theirs)
    for mine, other in zip(ours, theirs, strict=True):
        assert NUMBER.sub("#", mine) == NUMBER.sub("#", other)
        if not mine.startswith(CHANCE):
            # Equal to the last printed digit, except where the order of summation differs.
            assert numbers(mine) == pytest.approx(numbers(other), rel=1e-6, abs=1e-8), f"{mine}\n{other}"


@pytest.mark.parametrize("library", ["engine", "torch"])
@pytest.mark.parametrize("script", QUALITY)
def test_training_succeeds(script: str, library: str) -> None:
    """Holds for every seed: the bounds are far from random variation."""
    line = [line for line in run(script, library) if line.startswith(CHANCE)][-1]
    for name, (low, high) in QUALITY[script].items():
        match = re.search(rf"{name}:? ({NUMBER.pattern})", line)
        assert match is not None, line
        assert low <= float(match[1]) <= high, line


RAN: dict[tuple[str, str], list[str]] = {}


def run(script: str, library: str) -> list[str]:
    """Lines that a tutorial prints; both tests use one run."""
    if (script, library) not in RAN:
        command = [sys.executable, "-W", "error::UserWarning", str(FOLDER / f"{script}.py"), "--library", library]
        threads = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")
        done = subprocess.run(
            command, capture_output=True, text=True, check=False, timeout=1000, env=os.environ | threads
        )
        assert done.returncode == 0, done.stderr[-2000:]
        text = re.sub(r"\btorch\.", "engine.", done.stdout)
        text = re.sub(r"grad_fn=<\w+>", "grad_fn", text)  # ops are composed otherwise, so their nodes have other names
        RAN[script, library] = [" ".join(line.split()) for line in text.splitlines()]
    return RAN[script, library]


def numbers(line: str) -> list[float]:
    return [float(number) for number in NUMBER.findall(line)]


def test_tutorials_are_short_and_plain() -> None:
    """Tutorials do not name the engine: they show PyTorch programs."""
    for script in SCRIPTS:
        text = (FOLDER / f"{script}.py").read_text(encoding="utf-8")
        assert len(text.splitlines()) <= 120, script
        assert "engine" not in text, script
