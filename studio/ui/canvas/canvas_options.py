"""Choices of the user for the canvas: grid, snapping and wheel."""

from __future__ import annotations

from dataclasses import dataclass

from studio.ui.canvas.geometry import GRID


@dataclass(frozen=True, slots=True)
class CanvasOptions:
    grid: int = GRID
    """Distance of the grid lines, and of a step of the arrow keys."""
    snaps_to_grid: bool = True
    snaps_to_neighbors: bool = True
    wheel_zooms: bool = True
    """Whether the mouse wheel zooms; otherwise it scrolls."""
    zoom_speed: float = 1.0
    """Zoom steps of one notch of the wheel, and of a zoom command."""

    def snap(self, value: float) -> float:
        """The nearest coordinate on the grid, or the nearest whole one without snapping."""
        return float(round(value / self.grid) * self.grid) if self.snaps_to_grid else float(round(value))
