"""Tell screen readers about the selection and the nodes of the canvas."""

from __future__ import annotations

from PySide6.QtCore import QObject
from PySide6.QtGui import QAccessible, QAccessibleEvent
from PySide6.QtWidgets import QWidget

from studio.document.model import Document
from studio.ui.project.scope_store import ScopeStore

_MAX_EVENTS = 16
"""Nodes that are reported one by one; a larger change is one event of the canvas."""


class CanvasEvents(QObject):
    """Sends nothing unless a screen reader or a similar program is active."""

    def __init__(self, store: ScopeStore, view: QWidget) -> None:
        super().__init__(view)
        self._store, self._view = store, view
        self._selection = store.selection
        store.selection_changed.connect(self._on_selection_changed)
        store.document_changed.connect(self._on_document_changed)

    def _on_selection_changed(self, selection: frozenset[str]) -> None:
        old, self._selection = self._selection, selection
        if not QAccessible.isActive():
            return
        event = QAccessible.Event
        if len(old ^ selection) > _MAX_EVENTS:
            self._send(event.SelectionWithin)
            return
        if len(selection) == 1 and self._view.hasFocus():
            self._send(event.Focus, *selection)
        for name in sorted(selection - old):
            self._send(event.Selection if len(selection) == 1 else event.SelectionAdd, name)
        for name in sorted(old - selection):
            self._send(event.SelectionRemove, name)

    def _on_document_changed(self, old: Document, new: Document) -> None:
        if QAccessible.isActive() and old.nodes.keys() != new.nodes.keys():
            self._send(QAccessible.Event.ObjectReorder)

    def _send(self, kind: QAccessible.Event, name: str = "") -> None:
        """Send an event of a node, or of the canvas."""
        names = list(self._store.document.nodes)
        if name and name not in names:
            return
        event = QAccessibleEvent(self._view, kind)
        if name:
            event.setChild(names.index(name))
        QAccessible.updateAccessibility(event)
