"""The graphics item of a pinned probe: a card beside its node."""

from __future__ import annotations

from typing import Literal, TypeAlias

from PySide6.QtCore import QLineF, QPointF, QRectF, QSizeF, Qt
from PySide6.QtGui import QPainter, QPen
from PySide6.QtWidgets import QGraphicsLineItem, QGraphicsRectItem, QStyleOptionGraphicsItem, QWidget

from studio.training.probing.probe_list import Probe
from studio.training.probing.probe_views import ProbeResult
from studio.training.probing.views.matrices import MatrixGrid
from studio.training.probing.views.view_kinds import TITLES
from studio.ui.canvas.canvas_style import hairline
from studio.ui.canvas.geometry import Box
from studio.ui.canvas.level_of_detail import readable
from studio.ui.canvas.nodes.node_item import NodeItem
from studio.ui.canvas.paint_context import PaintContext
from studio.ui.tensor_views.view_painter import TEXT_PX, ViewPainter, paint_message
from studio.ui.theme.theme import mix

Part: TypeAlias = Literal["title", "view", "previous", "next", "close", "resize", "body"]

_Z = 5.0
"""Cards are above nodes, wires and the markers of graph breaks."""
_LINE_Z = -1.5
_HEADER, _FOOTER, _PAD, _ICON = 24.0, 20.0, 8.0, 12.0
_CORNER = 6.0
_RESIZE = 12.0
_BUTTON = 20.0
_MIDDLE = int(Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter | Qt.TextFlag.TextSingleLine)


class ProbeCard(QGraphicsRectItem):
    """Painted by the scene. `ProbeCards` handles the pointer."""

    def __init__(self, paint_context: PaintContext, probe: Probe) -> None:
        super().__init__()
        self.setPen(QPen(Qt.PenStyle.NoPen))
        self.setZValue(_Z)
        self._paint_context = paint_context
        self._painter = ViewPainter()
        self.probe = probe
        self.result = ProbeResult()
        self.is_selected = False
        self.anchor: NodeItem | None = None
        """The node beside which it is."""
        self.line = QGraphicsLineItem()
        """The line to the node, behind nodes and wires."""
        self.line.setZValue(_LINE_Z)

    @property
    def rect_in_scene(self) -> QRectF:
        return QRectF(self.pos(), QSizeF(*self.probe.size))

    @property
    def box(self) -> Box:
        """The card without the line to its node."""
        left, top = self.pos().x(), self.pos().y()
        return Box(left, top, left + self.probe.size[0], top + self.probe.size[1])

    def show_result(self, result: ProbeResult) -> None:
        if result is not self.result:
            self.result = result
            self.update()

    def set_probe(self, probe: Probe) -> None:
        self.probe = probe
        self.update()

    def set_selected(self, selected: bool) -> None:
        if selected != self.is_selected:
            self.is_selected = selected
            self.update()

    def place(self, x: float, y: float) -> None:
        """Move the card, and update its bounds and its line to the node."""
        self.setPos(x, y)
        self.setRect(QRectF(0, 0, *self.probe.size).adjusted(-3, -3, 3, 3))
        line = self._line()
        self.line.setVisible(line is not None)
        if line is not None:
            pen = hairline(self._paint_context.style.theme.color("border-strong"))
            pen.setDashPattern([3, 3])
            self.line.setPen(pen)
            self.line.setLine(line)

    # -- the pointer

    def part_at(self, scene: QPointF) -> Part | None:
        """The part at a position of the scene; None outside the card."""
        at = self.mapFromScene(scene)
        card = QRectF(0, 0, *self.probe.size)
        if not card.contains(at):
            return None
        has_controls = self._has_text
        corner = QRectF(card.right() - _RESIZE, card.bottom() - _RESIZE, _RESIZE, _RESIZE)
        if corner.contains(at):
            return "resize"
        if has_controls:
            for part, rect in self._controls().items():
                if rect.contains(at):
                    return part
        return "title" if at.y() < _HEADER else "body"

    @property
    def is_stepped(self) -> bool:
        """Whether there are several parts to select from, such as samples."""
        view = self.result.view
        return view is not None and isinstance(view.drawing, MatrixGrid) and view.drawing.parts > 1

    def _controls(self) -> dict[Part, QRectF]:
        width, height = self.probe.size
        found: dict[Part, QRectF] = {
            "close": QRectF(width - _BUTTON - 4, 2, _BUTTON, _BUTTON),
            "view": QRectF(width - 2 * _BUTTON - 4, 2, _BUTTON, _BUTTON),
        }
        if self.is_stepped:
            bottom = height - _FOOTER
            found["next"] = QRectF(width - _RESIZE - 4 - _FOOTER, bottom, _FOOTER, _FOOTER)
            found["previous"] = QRectF(width - _RESIZE - 4 - 2 * _FOOTER, bottom, _FOOTER, _FOOTER)
        return found

    # -- painting

    @property
    def _has_text(self) -> bool:
        return readable(TEXT_PX, self._paint_context.zoom.scale)

    def paint(self, painter: QPainter, option: QStyleOptionGraphicsItem, widget: QWidget | None = None) -> None:
        style = self._paint_context.style
        card = QRectF(0, 0, *self.probe.size)
        painter.setPen(style.selected if self.is_selected else style.border)
        painter.setBrush(style.theme.color("surface"))
        painter.drawRoundedRect(card, _CORNER, _CORNER)
        has_text = self._has_text
        if has_text:
            self._paint_header(painter, card)
            self._paint_footer(painter, card)
            body = card.adjusted(_PAD, _HEADER + _PAD / 2, -_PAD, -_FOOTER)
        else:
            body = card.adjusted(_PAD, _PAD, -_PAD, -_PAD)
        result = self.result
        if result.view is not None:
            self._painter.paint(painter, body, result.view, style.theme, has_text=has_text)
        elif has_text:
            paint_message(painter, body, result.problem or "Computing…", style.theme)

    def _paint_header(self, painter: QPainter, card: QRectF) -> None:
        style = self._paint_context.style
        painter.setPen(style.text)
        painter.setFont(style.fonts["text"])
        controls = self._controls()
        room = QRectF(_PAD, 0, controls["view"].left() - _PAD - 4, _HEADER)
        painter.drawText(room, _MIDDLE, style.elided(self.probe.title, "text", room.width()))
        self._paint_icon(painter, "chevron-down", controls["view"])
        self._paint_icon(painter, "close", controls["close"])
        painter.setPen(hairline(style.theme.color("border")))
        painter.drawLine(QLineF(1, _HEADER, card.right() - 1, _HEADER))

    def _paint_footer(self, painter: QPainter, card: QRectF) -> None:
        """Where the values come from, whether they were checked, and the buttons of samples."""
        style, result = self._paint_context.style, self.result
        controls = self._controls()
        right = controls["previous"].left() if "previous" in controls else card.right() - _RESIZE
        room = QRectF(_PAD, card.bottom() - _FOOTER, right - _PAD - 4, _FOOTER)
        if result.verification is not None:
            token = "ok" if result.verification.is_confirmed else "warning"
            icon = "check" if result.verification.is_confirmed else "warning"
            self._paint_icon(painter, icon, QRectF(room.left(), room.top(), _ICON, _FOOTER), token)
            room.setLeft(room.left() + _ICON + 4)
        painter.setPen(style.dim)
        painter.setFont(style.fonts["text"])
        painter.drawText(room, _MIDDLE, style.elided(footer_text(result), "text", room.width()))
        for part, icon in (("previous", "chevron-left"), ("next", "chevron-right")):
            if part in controls:
                self._paint_icon(painter, icon, controls[part])
        painter.setPen(hairline(mix(style.theme.color("surface"), style.dim, 0.6)))
        right, bottom = card.right() - 2, card.bottom() - 2
        for inset in (4, 8):
            painter.drawLine(QPointF(right - inset, bottom), QPointF(right, bottom - inset))

    def _paint_icon(self, painter: QPainter, name: str, room: QRectF, token: str = "text-dim") -> None:
        style = self._paint_context.style
        picture = style.icon(name, style.theme.color(token), _ICON, self._paint_context.zoom.device_scale)
        center = room.center()
        square = QRectF(center.x() - _ICON / 2, center.y() - _ICON / 2, _ICON, _ICON)
        painter.drawPixmap(square, picture, QRectF(picture.rect()))

    def _line(self) -> QLineF | None:
        """The line from the node to the card, where there is a gap between them."""
        if self.anchor is None:
            return None
        own, node = self.box, self.anchor.box
        x = min(max(node.center.x, own.left + _CORNER), own.right - _CORNER)
        if own.top > node.bottom:
            ends = QPointF(node.center.x, node.bottom), QPointF(x, own.top)
        elif own.bottom < node.top:
            ends = QPointF(node.center.x, node.top), QPointF(x, own.bottom)
        elif own.left > node.right:
            ends = QPointF(node.right, node.center.y), QPointF(own.left, min(max(node.center.y, own.top), own.bottom))
        elif own.right < node.left:
            ends = QPointF(node.left, node.center.y), QPointF(own.right, min(max(node.center.y, own.top), own.bottom))
        else:
            return None
        return QLineF(*ends)


def footer_text(result: ProbeResult) -> str:
    """Where values come from, and the loss of a gradient."""
    loss = f"of {result.view.loss} · " if result.view is not None and result.view.loss else ""
    return f"{loss}{result.source}"


def verification_text(result: ProbeResult) -> str:
    """The result of checking values by recomputation, as a sentence; empty if they were not checked."""
    found = result.verification
    if found is None:
        return ""
    if found.problem:
        return f"Not checked: {found.problem}"
    if found.is_identical:
        return "Checked by recomputation: identical."
    if found.is_confirmed:
        return f"Checked by recomputation: the largest difference is {found.difference:.1e}, which is rounding."
    return f"Recomputation differs by up to {found.difference:.3g}; the largest value is {found.scale:.3g}."


def card_tooltip(probe: Probe, result: ProbeResult) -> str:
    """The tooltip of a card."""
    kind = "" if result.view is None else TITLES[result.view.kind]
    lines = [probe.title, kind, result.problem, footer_text(result), verification_text(result)]
    return "\n".join(line for line in lines if line)


__all__ = ["Part", "ProbeCard", "card_tooltip", "footer_text", "verification_text"]
