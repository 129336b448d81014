"""The accessible interface of the canvas: a list of nodes, then the widgets on top."""

# The stubs of PySide miss None, which stands for no element.
# pyright: reportIncompatibleMethodOverride=false

from __future__ import annotations

import shiboken6
from PySide6.QtCore import QObject, QPoint
from PySide6.QtGui import QAccessible, QAccessibleInterface
from PySide6.QtWidgets import QAccessibleWidget

from studio.document.model import Document
from studio.ui.canvas.accessibility.accessible_node import AccessibleNode
from studio.ui.canvas.canvas_view import CanvasView

_canvases: list[AccessibleCanvas] = []
"""Qt deletes an interface with its widget; Python must not do so before."""


class AccessibleCanvas(QAccessibleWidget):
    """The nodes of the shown graph in the order of the document. Those outside of the view are marked as offscreen."""

    def __init__(self, view: CanvasView) -> None:
        super().__init__(view, QAccessible.Role.List, view.accessibleName())
        self._view = view
        self._nodes: dict[str, AccessibleNode] = {}
        self._names: tuple[str, ...] = ()
        self._document: Document | None = None
        view.destroyed.connect(self._forget_all)

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the nodes of the shown graph."""
        document = self._view.store.document
        if self._document is not document:
            self._document, self._names = document, tuple(document.nodes)
            for name in self._nodes.keys() - document.nodes.keys():
                _delete(self._nodes.pop(name))
        return self._names

    def node(self, name: str) -> AccessibleNode:
        """The interface of a node, the same one for each call."""
        if name not in self._nodes:
            self._nodes[name] = AccessibleNode(self._view, name)
        return self._nodes[name]

    def childCount(self) -> int:
        return len(self.names) + super().childCount()

    def child(self, index: int) -> QAccessibleInterface | None:
        names = self.names
        return self.node(names[index]) if 0 <= index < len(names) else super().child(index - len(names))

    def indexOfChild(self, child: QAccessibleInterface) -> int:
        names = self.names
        if isinstance(child, AccessibleNode):
            return names.index(child.name) if child.name in names else -1
        index = super().indexOfChild(child)
        return index + len(names) if index >= 0 else -1

    def childAt(self, x: int, y: int) -> QAccessibleInterface | None:
        view = self._view
        at = view.viewport().mapFromGlobal(QPoint(x, y))
        covering = view.viewport().childAt(at) or view.childAt(view.mapFromGlobal(QPoint(x, y)))
        if covering not in (None, view.viewport()):
            return super().childAt(x, y)
        hit = view.canvas_scene.hit(view.camera.to_scene(at))
        return self.node(hit.node) if hit.node in self.names else None

    def focusChild(self) -> QAccessibleInterface | None:
        selection = self._view.store.selection
        if self._view.hasFocus() and len(selection) == 1:
            return self.node(next(iter(selection)))
        return super().focusChild()

    def state(self) -> QAccessible.State:
        state = super().state()
        state.multiSelectable = True
        return state

    def _forget_all(self) -> None:
        """Delete the interfaces of the nodes, which Qt does not know as parts of the view."""
        for node in self._nodes.values():
            _delete(node)
        self._nodes.clear()


def install() -> None:
    """Let Qt ask for the interface of a canvas, which it does only for screen readers and similar programs."""
    QAccessible.installFactory(_interface_of)


def _interface_of(_: str, widget: QObject) -> QAccessibleInterface | None:
    if not isinstance(widget, CanvasView):
        return None
    _canvases[:] = [each for each in _canvases if shiboken6.isValid(each)]
    _canvases.append(AccessibleCanvas(widget))
    return _canvases[-1]


def _delete(node: AccessibleNode) -> None:
    """Remove the interface of a node that no longer exists from Qt's cache, which owns it."""
    QAccessible.deleteAccessibleInterface(QAccessible.uniqueId(node))
