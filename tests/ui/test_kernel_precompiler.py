"""Kernels are compiled beside the window, and no process stays behind."""

from __future__ import annotations

from pathlib import Path

import pytest
from PySide6.QtCore import QProcess
from pytestqt.qtbot import QtBot

from studio.ui.kernel_precompiler import KernelPrecompiler


def test_the_process_ends_with_the_studio(qtbot: QtBot, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GRADWIRE_KERNELS", str(tmp_path))
    ahead = KernelPrecompiler()
    assert ahead.process.waitForStarted(100_000)
    ahead.stop()
    assert ahead.process.state() is QProcess.ProcessState.NotRunning


def test_where_all_is_there_it_ends_by_itself(qtbot: QtBot, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("studio.ui.kernel_precompiler.MODULE", "this")
    ahead = KernelPrecompiler()
    qtbot.waitUntil(lambda: ahead.process.state() is QProcess.ProcessState.NotRunning)
    assert ahead.process.exitCode() == 0
