"""Kernels that every training may need, compiled while somebody is still looking at the canvas."""

from __future__ import annotations

import sys
from pathlib import Path

from PySide6.QtCore import QObject, QProcess

import engine

MODULE = "engine.compiler.kernels.library.precompile"
_LONGEST = 2000
"""Milliseconds to wait for the end of a process that was told to end."""


class KernelPrecompiler(QObject):
    """A process beside the studio, so that compiling never holds up the window. It ends with the studio."""

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self.process = QProcess(self)
        self.process.setWorkingDirectory(str(Path(engine.__file__).resolve().parents[1]))
        self.process.setStandardOutputFile(QProcess.nullDevice())
        self.process.setStandardErrorFile(QProcess.nullDevice())
        self.process.start(sys.executable, ["-m", MODULE])

    def stop(self) -> None:
        """Ends the process. What it was compiling is compiled when it is needed."""
        self.process.kill()
        self.process.waitForFinished(_LONGEST)
