"""The accessible interface of a node on the canvas."""

# The stubs of PySide miss None, which stands for no element.
# pyright: reportIncompatibleMethodOverride=false

from __future__ import annotations

from typing import TYPE_CHECKING

import shiboken6
from PySide6.QtCore import QObject, QPointF, QRect, QRectF
from PySide6.QtGui import QAccessible, QAccessibleActionInterface, QAccessibleInterface, QColor, QWindow

from studio.document.model import Endpoint
from studio.lowering.analysis.block_types import known_type
from studio.ui.canvas.canvas_scene import CanvasScene
from studio.ui.canvas.geometry import Side
from studio.ui.canvas.hit_testing import Hit
from studio.ui.canvas.overlays.canvas_tooltips import shape_at
from studio.ui.project.scope_store import ScopeStore

if TYPE_CHECKING:
    from studio.ui.canvas.canvas_view import CanvasView

_NO_INTERFACE = shiboken6.VoidPtr(0)  # PySide does not convert None to a null pointer here


def node_text(store: ScopeStore, scene: CanvasScene, name: str) -> str:
    """Name, type, shapes and number of problems of a node, such as "relu, ReLU, input N×64, output N×64"."""
    content = scene.nodes[name].content
    kind = known_type(store.document, store.catalogue, name)
    sides: tuple[Side, ...] = ("input", "output")
    ports = [
        _port_text(store, scene, Endpoint(name, port.name), side)
        for side in sides
        for port in (content.inputs if side == "input" else content.outputs)
    ]
    count = sum(problem.node_on_canvas == name for problem in store.report.problems)
    problems = f"{count} {'problem' if count == 1 else 'problems'}" if count else ""
    states = ("muted", content.muted), ("frozen", content.frozen), ("locked", content.locked)
    flags = (state for state, is_set in states if is_set)
    return ", ".join(filter(None, (name, kind.title if kind else "unknown type", *flags, *ports, problems)))


def _port_text(store: ScopeStore, scene: CanvasScene, end: Endpoint, side: Side) -> str:
    shape = shape_at(store.report, scene, Hit(end.node, side, end.port))
    if not shape and side == "input" and all(wire.target != end for wire in scene.graph.incoming(end.node)):
        shape = "not connected"
    return f"{end.port} {shape}".strip()


class AccessibleNode(QAccessibleInterface):
    """Its object must stay referenced until Qt has deleted it; `AccessibleCanvas` does that."""

    def __init__(self, view: CanvasView, name: str) -> None:
        super().__init__()
        self._view, self.name = view, name
        self._actions = _NodeActions(self)

    def select(self) -> None:
        """Select the node, focus the canvas and bring the node into view."""
        if self.isValid():
            self._view.setFocus()
            self._view.reveal(self._view.store.prefix + self.name)

    def open_menu(self) -> None:
        """Open the context menu of the node."""
        if self.isValid():
            self._view.overlays.open_menu_of_selection()

    def isValid(self) -> bool:
        return shiboken6.isValid(self._view) and self.name in self._view.canvas_scene.nodes

    def object(self) -> QObject | None:
        return None

    def window(self) -> QWindow | None:
        return self._view.window().windowHandle() if self.isValid() else None

    def parent(self) -> QAccessibleInterface | None:
        return QAccessible.queryAccessibleInterface(self._view) if shiboken6.isValid(self._view) else None

    def child(self, index: int) -> QAccessibleInterface | None:
        return None

    def childAt(self, x: int, y: int) -> QAccessibleInterface | None:
        return None

    def childCount(self) -> int:
        return 0

    def indexOfChild(self, child: QAccessibleInterface) -> int:
        return -1

    def focusChild(self) -> QAccessibleInterface | None:
        return None

    def role(self) -> QAccessible.Role:
        return QAccessible.Role.ListItem

    def rect(self) -> QRect:
        """The rectangle on the screen."""
        if not self.isValid():
            return QRect()
        box, camera = self._view.canvas_scene.nodes[self.name].box, self._view.camera
        corners = camera.to_view(QPointF(box.left, box.top)), camera.to_view(QPointF(box.right, box.bottom))
        rect = QRectF(*corners).toRect()
        return QRect(self._view.viewport().mapToGlobal(rect.topLeft()), rect.size())

    def state(self) -> QAccessible.State:
        state = QAccessible.State()
        if not self.isValid():
            state.invalid = True
            return state
        selection = self._view.store.selection
        state.selectable = state.focusable = state.multiSelectable = True
        state.selected = self.name in selection
        state.active = state.focused = self._view.hasFocus() and selection == {self.name}
        box, visible = self._view.canvas_scene.nodes[self.name].box, self._view.camera.visible
        state.offscreen = not visible.intersects(QRectF(box.left, box.top, box.width, box.height))
        return state

    def text(self, kind: QAccessible.Text) -> str:
        if not self.isValid():
            return ""
        scene = self._view.canvas_scene
        content = scene.nodes[self.name].content
        if kind == QAccessible.Text.Name:
            return node_text(self._view.store, scene, self.name)
        if kind == QAccessible.Text.Description:
            return ", ".join(filter(None, (content.summary, content.error, content.warning)))
        return content.live if kind == QAccessible.Text.Value else ""

    def setText(self, kind: QAccessible.Text, text: str) -> None:
        """Names change by the command Rename only."""

    def foregroundColor(self) -> QColor:
        return QColor()

    def backgroundColor(self) -> QColor:
        return QColor()

    def interface_cast(self, kind: QAccessible.InterfaceType) -> object:
        return self._actions if kind == QAccessible.InterfaceType.ActionInterface else _NO_INTERFACE


class _NodeActions(QAccessibleActionInterface):
    """Press selects the node."""

    def __init__(self, node: AccessibleNode) -> None:
        super().__init__()
        self._node = node

    def actionNames(self) -> list[str]:
        return [self.pressAction(), self.setFocusAction(), self.showMenuAction()]

    def doAction(self, name: str) -> None:
        if name not in self.actionNames():
            return
        self._node.select()
        if name == self.showMenuAction():
            self._node.open_menu()

    def keyBindingsForAction(self, name: str) -> list[str]:
        return []
