"""The cards of pinned probes on a canvas: they follow their nodes, and take clicks and drags."""

from __future__ import annotations

from typing import ClassVar

from PySide6.QtCore import QEvent, QObject, QPoint, QPointF, QRect, QRectF, Qt, QTimer
from PySide6.QtGui import QHelpEvent, QMouseEvent
from PySide6.QtWidgets import QToolTip

from studio.training.probing.probe_list import MAX_CARD, MIN_CARD, Probe
from studio.ui.canvas.canvas_view import CanvasView
from studio.ui.canvas.geometry import Box, snap
from studio.ui.canvas.probes.card_placement import place_card
from studio.ui.canvas.probes.probe_card import Part, ProbeCard, card_tooltip
from studio.ui.canvas.probes.probe_choices import NO_TENSOR, ProbeChoices
from studio.ui.canvas.probes.probe_menu import probe_menu
from studio.ui.project.probes.probe_computer import ProbeComputer
from studio.ui.project.probes.probe_store import ProbeKey, ProbeStore

_VIEWER = "canvas"


class ProbeCards(QObject):
    """Probes of the shown graph as cards. Their positions and sizes are those in the `ProbeStore`."""

    _CURSORS: ClassVar[dict[Part, Qt.CursorShape]] = {
        "resize": Qt.CursorShape.SizeFDiagCursor,
        "title": Qt.CursorShape.SizeAllCursor,
        "body": Qt.CursorShape.ArrowCursor,
    }

    def __init__(self, view: CanvasView, probes: ProbeStore, computer: ProbeComputer) -> None:
        super().__init__(view)
        self._view, self._probes, self._computer = view, probes, computer
        scene = view.canvas_scene
        self.choices = ProbeChoices(view.store, probes, scene.nodes)
        self.cards: dict[ProbeKey, ProbeCard] = {}
        self._drag: tuple[ProbeCard, Part, QPointF, tuple[float, float]] | None = None
        """The card, what is dragged, where it began, and the offset or size then."""
        self._selected: ProbeKey | None = None
        self._is_shown = False
        self._later = QTimer(self)
        self._later.setSingleShot(True)
        self._later.setInterval(0)
        self._later.timeout.connect(self._watch)
        probes.changed.connect(self._apply)
        computer.changed.connect(self._show_results)
        scene.moved.connect(self._follow)
        view.store.location_changed.connect(self._apply)
        view.store.selection_changed.connect(self._on_selection_changed)
        view.camera.changed.connect(self._later.start)
        view.viewport().installEventFilter(self)
        view.overlays.menu_sources.append(self.choices.fill_menu)
        view.delete_hooks.append(self.close_selected)
        self._apply()

    # -- commands

    @property
    def selected(self) -> ProbeKey | None:
        """The card that was clicked last, which Delete closes."""
        return self._selected

    @property
    def has_probes(self) -> bool:
        return bool(self._probes.probes)

    def probe_selection(self, *, is_gradient: bool = False) -> None:
        """Add probes of the selected wires or nodes."""
        store, scene = self._view.store, self._view.canvas_scene
        names = [name for name in scene.nodes if name in store.selection]
        found = self.choices.of_selection(names, scene.selection.wires, is_gradient=is_gradient)
        if found:
            self._probes.add(found)
            self._reveal(found[-1])
        else:
            self._view.overlays.show_refusal(NO_TENSOR)

    def verify(self) -> None:
        self._computer.verify()

    def close_all(self) -> None:
        self._probes.remove([probe.key for probe in self._probes.probes])

    def close_selected(self) -> bool:
        """Close the selected card. Returns whether there was one."""
        if self._selected is None:
            return False
        key, self._selected = self._selected, None
        self._probes.remove([key])
        return True

    # -- items

    def _apply(self, *_: object) -> None:
        """Show the pinned probes of the shown graph, and no others."""
        scene, prefix = self._view.canvas_scene, self._view.store.prefix
        shown = {
            probe.key: probe
            for probe in self._probes.probes
            if probe.is_pinned and probe.node == prefix + probe.owner and probe.owner in scene.nodes
        }
        for key in self.cards.keys() - shown.keys():
            card = self.cards.pop(key)
            scene.removeItem(card)
            scene.removeItem(card.line)
            self._reserve(card, QRect())
            self._selected = None if self._selected == key else self._selected
        for key, probe in shown.items():
            if key in self.cards:
                self.cards[key].set_probe(probe)
            else:
                self.cards[key] = ProbeCard(scene.paint_context, probe)
                scene.addItem(self.cards[key])
                scene.addItem(self.cards[key].line)
        self._follow()
        self._show_results()
        self._later.start()

    def _follow(self) -> None:
        """Place the cards beside their nodes."""
        nodes = self._view.canvas_scene.nodes
        for card in self.cards.values():
            node = nodes.get(card.probe.owner)
            if node is None:
                continue
            card.anchor = node
            if card.probe.offset is None:
                self._place_new(card)
                return  # the change has placed all of them
            x, y = card.probe.offset
            card.place(node.at[0] + x, node.at[1] + y)
        self._view.canvas_scene.cards = {card.probe.title: card.box for card in self.cards.values()}
        self._later.start()

    def _place_new(self, card: ProbeCard) -> None:
        """Place a new card below its node, where there is neither a node nor another card."""
        node = self._view.canvas_scene.nodes[card.probe.owner]
        others = [each.box for each in self.cards.values() if each is not card and each.probe.offset is not None]
        left, top = place_card(
            node.box, card.probe.size, self._view.canvas_scene.boxes().values(), others, self._is_wired
        )
        self._probes.change(card.probe.key, offset=(left - node.at[0], top - node.at[1]))

    def _is_wired(self, box: Box) -> bool:
        return any(item.curve.passes_through(box) for item in self._view.canvas_scene.wires_in(box))

    def _show_results(self) -> None:
        for key, card in self.cards.items():
            card.show_result(self._computer.result(key))

    def _watch(self) -> None:
        """Tell which cards are seen, so that others are not computed."""
        visible = self._view.camera.visible if self._is_shown else QRectF()
        seen = (key for key, card in self.cards.items() if visible.intersects(card.rect_in_scene))
        self._computer.watch(_VIEWER, seen)
        for card in self.cards.values():
            rect, to_view = card.rect_in_scene, self._view.camera.to_view
            self._reserve(card, QRectF(to_view(rect.topLeft()), to_view(rect.bottomRight())).toRect())

    def _reserve(self, card: ProbeCard, area: QRect) -> None:
        """Keep the minimap off a card."""
        self._view.overlays.minimap_placement.set_reserved_area(area, f"probe {card.probe.title}")

    def _reveal(self, probe: Probe) -> None:
        card = self.cards.get(probe.key)
        if card is not None:
            box = card.box
            self._view.camera.reveal(QRectF(box.left, box.top, box.width, box.height))

    def _on_selection_changed(self, names: frozenset[str]) -> None:
        if names:
            self._select(None)

    def _select(self, key: ProbeKey | None) -> None:
        self._selected = key
        for each, card in self.cards.items():
            card.set_selected(each == key)

    # -- the pointer

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        """Handle the pointer on cards before the canvas does."""
        kind = event.type()
        if kind in (QEvent.Type.Show, QEvent.Type.Hide):
            self._is_shown = kind == QEvent.Type.Show
            self._later.start()
        elif kind == QEvent.Type.Resize:
            self._later.start()
        elif isinstance(event, QHelpEvent) and kind == QEvent.Type.ToolTip:
            return self._show_tooltip(event)
        elif isinstance(event, QMouseEvent):
            if kind in (QEvent.Type.MouseButtonPress, QEvent.Type.MouseButtonDblClick):
                return self._press(event)
            if kind == QEvent.Type.MouseMove:
                return self._move(event)
            if kind == QEvent.Type.MouseButtonRelease and self._drag is not None:
                self._drag = None
                return True
        return False

    def _card_at(self, position: QPointF) -> tuple[ProbeCard, Part] | None:
        at = self._view.camera.to_scene(position)
        for card in reversed(self.cards.values()):
            if (part := card.part_at(at)) is not None:
                return card, part
        return None

    def _press(self, event: QMouseEvent) -> bool:
        found = self._card_at(event.position())
        if found is None:
            self._select(None)
            return False
        if self._view.gesture is not None or event.button() == Qt.MouseButton.MiddleButton:
            return False
        card, part = found
        self._view.setFocus(Qt.FocusReason.MouseFocusReason)
        QToolTip.hideText()
        if event.button() == Qt.MouseButton.RightButton or part == "view":
            self._open_menu(card, event.globalPosition().toPoint())
        elif part == "close":
            self._probes.remove([card.probe.key])
        elif part in ("previous", "next"):
            step = 1 if part == "next" else -1
            self._probes.change(card.probe.key, index=self._stepped(card, step))
        else:
            self._view.store.select(())
            self._view.canvas_scene.selection.select(())
            self._select(card.probe.key)
            if part in ("title", "resize"):
                start = card.probe.size if part == "resize" else card.probe.offset or (0.0, 0.0)
                self._drag = card, part, self._view.camera.to_scene(event.position()), start
        return True

    def _stepped(self, card: ProbeCard, step: int) -> int:
        drawing = None if card.result.view is None else card.result.view.drawing
        parts = getattr(drawing, "parts", 1)
        return (min(card.probe.index, parts - 1) + step) % parts

    def _move(self, event: QMouseEvent) -> bool:
        if self._drag is None:
            found = None if event.buttons() else self._card_at(event.position())
            if found is None:
                return False
            cursor = self._CURSORS.get(found[1], Qt.CursorShape.PointingHandCursor)
            self._view.viewport().setCursor(cursor)
            return True
        card, part, start, before = self._drag
        delta = self._view.camera.to_scene(event.position()) - start
        new = snap(before[0] + delta.x()), snap(before[1] + delta.y())
        if part == "resize":
            size = tuple(min(max(new[index], MIN_CARD[index]), MAX_CARD) for index in (0, 1))
            self._probes.change(card.probe.key, size=size)
        else:
            self._probes.change(card.probe.key, offset=new)
        return True

    def _show_tooltip(self, event: QHelpEvent) -> bool:
        found = self._card_at(QPointF(event.pos()))
        if found is None:
            return False
        QToolTip.showText(event.globalPos(), card_tooltip(found[0].probe, found[0].result), self._view)
        return True

    def _open_menu(self, card: ProbeCard, position: QPoint) -> None:
        menu = probe_menu(card.probe, card.result, self._probes, self._computer, self._view)
        menu.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        menu.popup(position)


__all__ = ["ProbeCards"]
