"""What views need of the measured steps of a run."""

from __future__ import annotations

from pathlib import Path
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from studio.training.statistics.step_statistics import StepStatistics


class StepReader(Protocol):
    """The measured steps of a run."""

    def steps(self) -> NDArray[np.int64]:
        """Measured steps, ascending."""
        ...

    def at(self, step: int) -> StepStatistics | None:
        """The last measured step up to `step`; None before the first."""
        ...


class NoSteps:
    """A run without measured steps."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def steps(self) -> NDArray[np.int64]:
        return np.empty(0, np.int64)

    def at(self, step: int) -> StepStatistics | None:
        return None


__all__ = ["NoSteps", "StepReader"]
