"""Compiles commonly used kernels in a separate process while the user works on the canvas."""

from __future__ import annotations

import sys
from pathlib import Path

from PySide6.QtCore import QObject, QProcess

import engine

MODULE = "engine.compiler.kernels.library.precompile"
_EXIT_TIMEOUT_MS = 2000
"""Milliseconds to wait for the killed process to exit."""


class KernelPrecompiler(QObject):
    """A child process, so that compiling never blocks the window. It ends with the studio."""

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self.process = QProcess(self)
        self.process.setWorkingDirectory(str(Path(engine.__file__).resolve().parents[1]))
        self.process.setStandardOutputFile(QProcess.nullDevice())
        self.process.setStandardErrorFile(QProcess.nullDevice())
        self.process.start(sys.executable, ["-m", MODULE])

    def stop(self) -> None:
        """Kill the process. Kernels that are still missing are compiled on first use."""
        self.process.kill()
        self.process.waitForFinished(_EXIT_TIMEOUT_MS)
