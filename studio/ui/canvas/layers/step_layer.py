"""Draws the step that is shown: an outline of its node, its wires, and values at its ports."""

from __future__ import annotations

from collections.abc import Mapping

from PySide6.QtCore import QRectF, Qt
from PySide6.QtGui import QPainter, QPen
from PySide6.QtWidgets import QGraphicsRectItem, QStyleOptionGraphicsItem, QWidget

from studio.document.model import MAX_COORDINATE, Wire
from studio.training.stepping.step_recording import NodeStep
from studio.training.stepping.step_values import StepValue
from studio.ui import number_format
from studio.ui.canvas.nodes.node_item import NodeItem
from studio.ui.canvas.nodes.node_layout import CORNER
from studio.ui.canvas.paint_context import PaintContext
from studio.ui.canvas.wires.wire_item import WireItem
from studio.ui.project.scope_store import ScopeStore
from studio.ui.project.step_recordings import StepRecordings

_Z = 2.7
_LABEL_HEIGHT, _PADDING, _GAP = 18.0, 6.0, 6.0
_LEFT = int(Qt.AlignmentFlag.AlignVCenter | Qt.AlignmentFlag.AlignLeft)


class StepLayer(QGraphicsRectItem):
    """Drawn over nodes and wires while a recorded step is shown; hidden otherwise."""

    def __init__(
        self,
        scope: ScopeStore,
        recordings: StepRecordings,
        paint_context: PaintContext,
        nodes: Mapping[str, NodeItem],
        wires: Mapping[Wire, WireItem],
    ) -> None:
        super().__init__()
        self.setPen(QPen(Qt.PenStyle.NoPen))
        self.setZValue(_Z)
        self.setVisible(False)
        self.setRect(QRectF(-MAX_COORDINATE, -MAX_COORDINATE, 2 * MAX_COORDINATE, 2 * MAX_COORDINATE))
        self._scope, self._recordings = scope, recordings
        self._paint_context, self._nodes, self._wires = paint_context, nodes, wires
        self._is_on = False
        for signal in (recordings.changed, recordings.moved, scope.location_changed, scope.document_changed):
            signal.connect(self.refresh)

    @property
    def step(self) -> NodeStep | None:
        """The step that is drawn."""
        return self._recordings.step if self._recordings.state == "ready" and self._is_on else None

    @property
    def node(self) -> str:
        """The node of the shown graph that is marked: the step's, or the instance that it is in; empty for none."""
        step = self.step
        return "" if step is None else next(iter(self._scope.names_of([step.path])), "")

    def set_shown(self, shown: bool) -> None:
        """Show the step, or hide it while its panel is closed."""
        self._is_on = shown
        self.refresh()

    def refresh(self, *_: object) -> None:
        self.setVisible(self.node in self._nodes)
        self.update()

    def labels(self) -> dict[tuple[str, str], str]:
        """Texts at the ports of the marked node, by side and port; for a node inside an instance there are none."""
        step = self.step
        if step is None or self._scope.prefix + self.node != step.path:
            return {}
        sides = {"forward": ("input", "output"), "backward": ("output", "input")}.get(step.direction)
        if sides is None:
            return {}
        pairs = zip(sides, (step.inputs, step.outputs), strict=True)
        return {(side, value.name): _text(value) for side, values in pairs for value in values if value.end is not None}

    def area(self, rect: QRectF) -> QRectF:
        """The area of the marked node with the values above it, at 100%."""
        return rect.adjusted(-8, -_GAP - len(self.labels()) * (_LABEL_HEIGHT + 2), 8, 8)

    def paint(self, painter: QPainter, option: QStyleOptionGraphicsItem, widget: QWidget | None = None) -> None:
        step, item = self.step, self._nodes.get(self.node)
        if step is None or item is None:
            return
        style = self._paint_context.style
        color = style.accent if step.is_finite else style.error
        painter.setBrush(Qt.BrushStyle.NoBrush)
        painter.setPen(QPen(color, 3.5))
        for wire, drawn in self._wires.items():
            if self.node in (wire.source.node, wire.target.node):
                painter.drawPath(drawn.path)
        rect = QRectF(item.box.left, item.box.top, item.box.width, item.box.height)
        painter.setPen(QPen(color, 3.0))
        painter.drawRoundedRect(rect.adjusted(-4, -4, 4, 4), CORNER + 4, CORNER + 4)
        self._paint_labels(painter, rect, list(self.labels().items()))

    def _paint_labels(self, painter: QPainter, rect: QRectF, labels: list[tuple[tuple[str, str], str]]) -> None:
        """Values in rows above the node, in a size that is legible at any zoom."""
        style, factor = self._paint_context.style, max(1.0 / painter.worldTransform().m11(), 1.0)
        painter.save()
        painter.translate(rect.left(), rect.top() - _GAP)
        painter.scale(factor, factor)
        painter.setFont(style.fonts["mono"])
        width = max((style.measure(_line(label), "mono") for label in labels), default=0.0) + 2 * _PADDING
        for row, label in enumerate(reversed(labels), start=1):
            area = QRectF(0, -row * (_LABEL_HEIGHT + 2), width, _LABEL_HEIGHT)
            painter.setPen(style.pill_line)
            painter.setBrush(style.pill)
            painter.drawRoundedRect(area, 4, 4)
            painter.setPen(style.text)
            painter.drawText(area.adjusted(_PADDING, 0, -_PADDING, 0), _LEFT, _line(label))
        painter.restore()


def _line(label: tuple[tuple[str, str], str]) -> str:
    (_, name), text = label
    return f"{name}  {text}"


def _text(value: StepValue) -> str:
    """The value of a scalar; of a tensor mean and standard deviation, or how many of its values are not finite."""
    found = value.statistics
    if bad := found.nan + found.infinite:
        return f"{bad:,} NaN or ∞"
    if found.count == 1:
        return number_format.measured(found.low)
    return f"{number_format.norm(found.mean)} ± {number_format.norm(found.std)}"


__all__ = ["StepLayer"]
