from __future__ import annotations

import subprocess
import sys

import pytest

from start import opens_window, replace_process


@pytest.mark.parametrize("arguments", [[], ["network.gradwire"]])
def test_a_window_opens(arguments: list[str]) -> None:
    assert opens_window(arguments)


@pytest.mark.parametrize("arguments", [["run", "network.gradwire"], ["--help"], ["nodes", "--json"]])
def test_no_window_opens(arguments: list[str]) -> None:
    assert not opens_window(arguments)


def test_the_program_replaces_the_script() -> None:
    """Its exit code is the script's, whatever way the system has to start it."""
    code = f"import start, sys; sys.exit(start.replace_process([{sys.executable!r}, '-c', 'raise SystemExit(5)']))"
    folder = replace_process.__code__.co_filename.rpartition("start.py")[0]
    assert subprocess.run([sys.executable, "-c", code], cwd=folder, check=False).returncode == 5
