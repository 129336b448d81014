"""Node types that are dragged from the palette onto the canvas."""

from __future__ import annotations

from PySide6.QtCore import QPointF
from PySide6.QtGui import QDropEvent

from studio.nodes.types import NodeType
from studio.ui.canvas.actions import Actions
from studio.ui.canvas.context import Context
from studio.ui.canvas.hit import NOTHING, Hit
from studio.ui.palette.tree import MIME


class Dropping:
    """On a wire where it fits, the type is put into the wire; the wire lights up beforehand."""

    def __init__(self, context: Context, actions: Actions) -> None:
        self._context = context
        self._do = actions

    def takes(self, event: QDropEvent) -> bool:
        return event.mimeData().hasFormat(MIME)

    def hover(self, event: QDropEvent) -> None:
        kind = self._kind(event)
        hit = self._context.scene.hit(self._at(event))
        fits = kind is not None and hit.wire is not None and self._do.fits_into(kind, hit.wire)
        self._context.scene.set_hovered(Hit(wire=hit.wire) if fits else NOTHING)

    def leave(self) -> None:
        self._context.scene.set_hovered(NOTHING)

    def drop(self, event: QDropEvent) -> bool:
        """Whether a node came of it."""
        kind, at = self._kind(event), self._at(event)
        self.leave()
        if kind is None:
            return False
        wire = self._context.scene.hit(at).wire
        if wire is None or self._do.add_into(kind, wire, at) is None:
            self._do.add_at(kind, at)
        return True

    def _kind(self, event: QDropEvent) -> NodeType | None:
        key = bytes(event.mimeData().data(MIME).data()).decode(errors="replace")
        return self._context.store.catalogue.get(key)

    def _at(self, event: QDropEvent) -> QPointF:
        return self._context.camera.to_scene(event.position())
