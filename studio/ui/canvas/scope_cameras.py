"""Remembers which part of each graph was visible."""

from __future__ import annotations

from collections.abc import Callable

from PySide6.QtCore import QObject, QPointF

from studio.document.blocks.block_locations import Location
from studio.ui.canvas.camera import Camera
from studio.ui.project.scope_store import ScopeStore


class ScopeCameras(QObject):
    """Shows the part of a graph that was visible before, or opens it with `open_graph`."""

    def __init__(self, store: ScopeStore, camera: Camera, open_graph: Callable[[], object]) -> None:
        super().__init__(camera)
        self._store, self._camera, self._open_graph = store, camera, open_graph
        self._corners: dict[Location, tuple[float, QPointF]] = {}
        """Scale and top left corner by location."""
        camera.changed.connect(self._remember)
        store.location_changed.connect(self._restore)

    def _remember(self) -> None:
        self._corners[self._store.location] = (self._camera.scale, self._camera.visible.topLeft())

    def _restore(self, location: Location) -> None:
        if location in self._corners:
            self._camera.show_corner(*self._corners[location])
        else:
            self._open_graph()
