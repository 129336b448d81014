"""Apply settings to the parts of the window, when it opens and when a setting changes."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import cast

from PySide6.QtCore import QObject

from studio.document.model import TrainingSettings
from studio.ui.canvas.canvas_options import CanvasOptions
from studio.ui.canvas.canvas_view import CanvasView
from studio.ui.preferences.declarations import (
    BACKUP_DELAY,
    GRID_SIZE,
    GRID_SNAPPING,
    NEW_COMPILE,
    NEW_DEVICE,
    RECENT_FILES,
    REDUCE_MOTION,
    SNAP_LINES,
    THEME,
    WHEEL,
    ZOOM_SPEED,
)
from studio.ui.preferences.preferences import Preferences
from studio.ui.project.open_projects import OpenProjects
from studio.ui.theme import motion
from studio.ui.theme.theme import Mode, ThemeManager


class PreferenceEffects(QObject):
    def __init__(
        self,
        preferences: Preferences,
        themes: ThemeManager,
        open_projects: OpenProjects,
        canvases: Callable[[], Iterable[CanvasView]],
        parent: QObject,
    ) -> None:
        super().__init__(parent)
        self._preferences, self._themes, self._open_projects = preferences, themes, open_projects
        self._canvases = canvases
        preferences.changed.connect(self._apply)
        self._apply()

    def apply_to(self, canvas: CanvasView) -> None:
        """Apply the settings to a new canvas."""
        canvas.set_options(self._canvas_options())

    def _apply(self, *_: object) -> None:
        values = self._preferences
        self._themes.set_mode(cast("Mode", values.get(THEME)))
        motion.set_reduced(values.get(REDUCE_MOTION))
        self._open_projects.set_backup_delay(values.get(BACKUP_DELAY))
        self._open_projects.set_recent_limit(values.get(RECENT_FILES))
        self._open_projects.new_training = TrainingSettings(
            device=values.get(NEW_DEVICE),  # pyright: ignore[reportArgumentType] - the declared choices
            compile=values.get(NEW_COMPILE),
        )
        for canvas in self._canvases():
            self.apply_to(canvas)

    def _canvas_options(self) -> CanvasOptions:
        values = self._preferences
        return CanvasOptions(
            grid=values.get(GRID_SIZE),
            snaps_to_grid=values.get(GRID_SNAPPING),
            snaps_to_neighbors=values.get(SNAP_LINES),
            wheel_zooms=values.get(WHEEL) == "zoom",
            zoom_speed=values.get(ZOOM_SPEED) / 100,
        )
