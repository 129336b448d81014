"""The process that precompiles kernels ends with the studio."""

from __future__ import annotations

from pathlib import Path

import pytest
from PySide6.QtCore import QProcess
from pytestqt.qtbot import QtBot

from studio.ui.kernel_precompiler import KernelPrecompiler


def test_process_ends_with_the_studio(qtbot: QtBot, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GRADWIRE_KERNELS", str(tmp_path))
    ahead = KernelPrecompiler()
    assert ahead.process.waitForStarted(100_000)
    ahead.stop()
    assert ahead.process.state() is QProcess.ProcessState.NotRunning


def test_process_exits_if_all_kernels_are_cached(qtbot: QtBot, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("studio.ui.kernel_precompiler.MODULE", "this")
    ahead = KernelPrecompiler()
    qtbot.waitUntil(lambda: ahead.process.state() is QProcess.ProcessState.NotRunning)
    assert ahead.process.exitCode() == 0
