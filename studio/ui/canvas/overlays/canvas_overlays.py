"""The widgets on top of the canvas: search palette, name editor, minimap, hint, selection bar, menus."""

from __future__ import annotations

from collections.abc import Callable

from PySide6.QtCore import QObject, QPoint, QPointF, QRect, QRectF, QSize, Qt
from PySide6.QtGui import QAction
from PySide6.QtWidgets import QMenu

from studio.nodes.palette_search import SearchMatch
from studio.ui.canvas.canvas_actions import CanvasActions
from studio.ui.canvas.canvas_context import CanvasContext
from studio.ui.canvas.frames.frame_editor import Field, FrameEditor
from studio.ui.canvas.frames.frame_geometry import TITLE, box_of
from studio.ui.canvas.geometry import bounds
from studio.ui.canvas.hit_testing import NO_HIT, Hit
from studio.ui.canvas.nodes.node_layout import HEADER
from studio.ui.canvas.overlays.breadcrumb_bar import BreadcrumbBar
from studio.ui.canvas.overlays.canvas_menus import context_menu
from studio.ui.canvas.overlays.empty_canvas_hint import EmptyCanvasHint
from studio.ui.canvas.overlays.find_bar import FindBar
from studio.ui.canvas.overlays.minimap import Minimap
from studio.ui.canvas.overlays.minimap_placement import MinimapPlacement
from studio.ui.canvas.overlays.pointer_message import PointerMessage
from studio.ui.canvas.overlays.rename_editor import Rename, RenameEditor
from studio.ui.canvas.overlays.selection_bar import SelectionBar
from studio.ui.canvas.overlays.wire_chooser import WireChooser
from studio.ui.canvas.wires.pending_wire import PendingWire
from studio.ui.palette import search_palette
from studio.ui.palette.palette_offers import PaletteOffers
from studio.ui.palette.search_palette import SearchPalette
from studio.ui.theme.theme import ThemeManager

_PORT_LINE = HEADER * 1.5
"""Vertical distance of the first port from the top of a new node."""
_NEW_WIDTH = 120.0
"""Assumed width of a new node, to position its output."""
_PALETTE_GAP = 16.0
"""Distance between a new node and the search palette that stays open."""
_EDGE = 12
_EDITOR_SIZE = QSize(160, 28)
"""Minimum width, and height, of the name editor in pixels."""


class CanvasOverlays(QObject):
    """Opens, positions and closes these widgets.

    Selection bar and minimap are children of the viewport and repositioned after each scroll: siblings on top of the
    viewport would disable pixel scrolling in Qt.
    """

    def __init__(
        self, context: CanvasContext, actions: CanvasActions, themes: ThemeManager, offers: PaletteOffers
    ) -> None:
        view = context.view
        super().__init__(view)
        self._context = context
        self._view = view
        self._actions = actions
        self._themes = themes
        self.find_action: Callable[[str], QAction | None] = lambda _: None
        self.menu_sources: list[Callable[[Hit, QMenu], None]] = []
        """Functions that add entries to the context menu of what was clicked."""
        self._offers = offers
        self.search = SearchPalette(themes, view)
        self.wire_chooser = WireChooser(context)
        self.bar = SelectionBar(actions, themes, view.viewport())
        self.minimap = Minimap(context.scene, context.camera, view.viewport())
        self.minimap_placement = MinimapPlacement(context, self.minimap, self.bar)
        self.hint = EmptyCanvasHint(view)
        self.find_bar = FindBar(context.store, actions.reveal, self._highlight, view.viewport())
        self.breadcrumbs = BreadcrumbBar(context.store, themes, view, view.viewport())
        self.find_bar.beside = self.breadcrumbs
        self.pointer_message = PointerMessage(themes, view)
        self.editor: RenameEditor | None = None
        self._search_position = QPointF()
        self._pending: PendingWire | None = None
        self.search.chosen.connect(self._add_chosen)
        self.search.closed.connect(self._restore_focus)
        self.search.closed.connect(self.show_hint)
        self.find_bar.closed.connect(self._restore_focus)

    # -- adding nodes

    def open_search(self, at: QPointF, pending: PendingWire | None = None) -> None:
        """Open the search palette for a scene position, with the node types that match `pending`.

        Without `pending`, types that usually follow the selected node come first.
        """
        self._search_position, self._pending = at, pending
        selection = self._context.store.selection
        if pending is not None:
            offer = self._offers.for_wire(pending.fixed, pending.side, pending.kind)
        elif len(selection) == 1:
            offer = self._offers.after(next(iter(selection)))
        else:
            offer = self._offers.anywhere()
        self.hint.show_hint(False)
        self._offers.refresh()
        self.search.open_at(self._context.camera.to_view(at).toPoint(), offer)

    def add_at(self, match: SearchMatch, at: QPointF) -> str | None:
        """Add a node after the selected one if their ports match, else at a scene position. Returns its name."""
        self._offers.usage.record(match.kind.key)
        return self._add_after_selected(match) or self._actions.add_near(match.kind, at, match.params)

    def _add_after_selected(self, match: SearchMatch) -> str | None:
        store, scene, camera = self._context.store, self._context.scene, self._context.camera
        if len(store.selection) != 1:
            return None
        name = self._actions.add_after(match.kind, next(iter(store.selection)), match.params)
        for box in scene.boxes([name] if name else []).values():
            camera.reveal(QRectF(box.left, box.top, box.width, box.height))
        return name

    def _add_chosen(self, match: SearchMatch, stays_open: bool) -> None:
        pending, self._pending = self._pending, None
        if pending is not None:
            self._offers.usage.record(match.kind.key)
            # Position the node so that its connected port is at the dropped wire end.
            back = QPointF(0 if pending.loose_side == "input" else _NEW_WIDTH, _PORT_LINE)
            name = self._actions.add(match.kind, self._search_position - back, pending, match.params)
        else:
            name = self.add_at(match, self._search_position)
        if stays_open and name is not None:
            self._continue_after(name)

    def _continue_after(self, name: str) -> None:
        """Let the open search palette add the next node after a new one, below which it is moved."""
        camera, box = self._context.camera, self._context.scene.nodes[name].box
        camera.finish()
        width = max(box.width, search_palette.WIDTH / camera.scale)
        height = box.height + _PALETTE_GAP + search_palette.MAX_HEIGHT / camera.scale
        camera.reveal(QRectF(box.left, box.top, width, height))
        camera.finish()
        self._search_position = QPointF(box.left, box.bottom + _PALETTE_GAP)
        self.search.open_at(camera.to_view(self._search_position).toPoint(), self._offers.after(name))

    # -- renaming

    def open_editor(self, name: str, rename: Rename | None = None) -> None:
        """Open an editor over the header of a node to rename it, or to call `rename` with the old and new name."""
        if self.editor is not None:
            self.editor.close_editor()
        camera, node = self._context.camera, self._context.scene.nodes[name]
        camera.reveal(QRectF(node.x(), node.y(), node.layout.width, node.layout.height))
        camera.finish()
        corner = camera.to_view(QPointF(*node.at)).toPoint()
        width = max(round(node.layout.width * camera.scale), _EDITOR_SIZE.width())
        self.editor = RenameEditor(self._context.store, self._themes, name, self._view, rename)
        self.editor.closed.connect(self._on_editor_closed)
        corner.setX(max(min(corner.x(), self._view.viewport().width() - width - _EDGE), 0))
        self.editor.open_at(QRect(corner, corner + QPoint(width, _EDITOR_SIZE.height())))

    def open_frame_editor(self, name: str, field: Field) -> None:
        """Open an editor for the title or the text of a frame."""
        camera, frame = self._context.camera, self._context.store.document.frames[name]
        box = box_of(frame)
        camera.reveal(QRectF(box.left, box.top, min(box.width, 400), min(box.height, 200)))
        camera.finish()
        is_title = field == "title"
        top = box.top if is_title or not frame.title else box.top + TITLE
        corners = camera.to_view(QPointF(box.left, top)), camera.to_view(QPointF(box.right, box.bottom))
        rect = QRectF(*corners).toRect()
        rect.setWidth(max(rect.width(), _EDITOR_SIZE.width()))
        rect.setHeight(_EDITOR_SIZE.height() + 4 if is_title else max(rect.height(), 3 * _EDITOR_SIZE.height()))
        editor = FrameEditor(self._context, name, field, self._view)
        editor.closed.connect(self._restore_focus)
        editor.open_at(rect.intersected(self._view.viewport().rect()) if not is_title else rect)

    def _on_editor_closed(self) -> None:
        self.editor = None
        self._restore_focus()

    # -- menus and messages

    def open_menu(self, hit: Hit, position: QPoint) -> None:
        """Open the context menu for a hit at a screen position."""
        menu = context_menu(hit, len(self._context.store.selection), self.find_action, self._view)
        menu.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        for fill in self.menu_sources:
            fill(hit, menu)
        if not menu.isEmpty():
            menu.popup(position)

    def open_menu_of_selection(self) -> None:
        """Open the context menu of the selection from the keyboard."""
        viewport, camera = self._view.viewport(), self._context.camera
        boxes = self._context.scene.boxes(self._context.store.selection)
        name, box = next(iter(boxes.items()), (None, None))
        at = camera.to_view(QPointF(box.left, box.bottom)).toPoint() if box else viewport.rect().center()
        self.open_menu(Hit(node=name) if name else NO_HIT, viewport.mapToGlobal(at))

    def show_message(self, text: str, at: QPointF | None) -> None:
        """Show a short text beside the pointer."""
        position = at or QPointF(self._view.viewport().rect().center())
        self.pointer_message.show_message(text, position.toPoint())

    def show_refusal(self, text: str) -> None:
        """Show why an edit was refused, below the selected nodes."""
        viewport, camera = self._view.viewport().rect(), self._context.camera
        box = bounds(self._context.scene.boxes(self._context.store.selection).values())
        at = QPointF(viewport.center())
        if box is not None:
            corner = camera.to_view(QPointF(box.left, box.bottom))
            at = QPointF(
                min(max(corner.x(), viewport.left()), viewport.right()),
                min(max(corner.y(), viewport.top()), viewport.bottom()),
            )
        self.pointer_message.show_message(text, at.toPoint())

    # -- finding nodes

    def place_bars(self) -> None:
        """Keep the bars in their corners after the canvas was scrolled."""
        self.breadcrumbs.place()
        if not self.find_bar.isHidden():
            self.find_bar.place()

    def _highlight(self, paths: list[str]) -> None:
        self._context.scene.marks.highlight_nodes(self._context.store.names_of(paths) if paths else ())

    # -- selection bar and hint

    def update_bar(self, *, busy: bool) -> None:
        """Show the selection bar above several selected nodes, except during a drag."""
        box = self._context.scene.frame_selection()
        if box is None or busy:
            self.bar.hide()
            return
        camera = self._context.camera
        corners = camera.to_view(QPointF(box.left, box.top)), camera.to_view(QPointF(box.right, box.bottom))
        self.bar.show_beside(QRectF(*corners).toRect(), len(self._context.store.selection))

    def show_hint(self) -> None:
        """Show the hint on an empty canvas of a project unless the search palette is open."""
        is_empty = self._context.scene.is_empty and not self._context.store.location
        self.hint.show_hint(is_empty and not self.search.isVisible())

    def show_run_requirements(self) -> None:
        """Show the requirements of a run on an empty canvas."""
        self.hint.show_run_requirements()
        self.show_hint()

    def _restore_focus(self) -> None:
        if self._view.isVisible() and not self.search.isVisible():
            self._view.setFocus(Qt.FocusReason.OtherFocusReason)
