"""Adds the statistics of a tensor to the tooltips of its wire and of its ports."""

from __future__ import annotations

import html
from collections.abc import Callable, Mapping

from PySide6.QtCore import QEvent, QObject, QPoint, QPointF
from PySide6.QtGui import QMouseEvent, QTextDocumentFragment

from studio.document.model import Endpoint, Wire
from studio.nodes.types import PortType
from studio.training.probing.tensor_statistics import TensorStatistics
from studio.training.statistics.step_statistics import Figures
from studio.ui import number_format
from studio.ui.canvas.canvas_view import CanvasView
from studio.ui.canvas.hit_testing import Hit
from studio.ui.project.wire_statistics import WireStatistics, WireStatisticsSource
from studio.ui.widgets.announcement import announce

_TENSORS = frozenset({PortType.TENSOR, PortType.LOSS})
_ROW = 12
"""Maximum number of elements in a row."""
_BARS = "▁▂▃▄▅▆▇█"


class WireStatisticsTooltip(QObject):
    """Asks for the statistics of the wire or port under the pointer, and cancels when the pointer leaves it."""

    def __init__(self, view: CanvasView, source: WireStatisticsSource) -> None:
        super().__init__(view)
        self._view, self._source = view, source
        self._hit: Hit | None = None
        """The wire or port whose tooltip is shown."""
        self._position = QPoint()
        view.tooltip_sources.append(self._text)
        self._is_asked = False
        """Whether a key asked for the values, which are spoken then."""
        view.viewport().installEventFilter(self)
        view.values_requested.connect(self._ask)
        source.changed.connect(self._refresh)

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        kind = event.type()
        if self._hit is not None and (kind in (QEvent.Type.Leave, QEvent.Type.MouseButtonPress, QEvent.Type.Wheel)):
            self._leave()
        elif self._hit is not None and isinstance(event, QMouseEvent) and kind == QEvent.Type.MouseMove:
            at = self._view.camera.to_scene(event.position())
            if self._view.canvas_scene.hit(at) != self._hit:
                self._leave()
        return False

    def _ask(self, wire: Wire) -> None:
        """Show the values of a wire at its middle."""
        curve = self._view.canvas_scene.wires[wire].curve
        middle = self._view.camera.to_view(QPointF(*curve.at(0.5))).toPoint()
        self._is_asked = True
        self._view.show_tooltip(self._view.viewport().mapToGlobal(middle), Hit(wire=wire))
        if not self._source.is_busy:
            self._announce()

    def _announce(self) -> None:
        """Speak what is shown."""
        source = None if self._hit is None else self._source_of(self._hit)
        if self._is_asked and source is not None:
            self._is_asked = False
            found = QTextDocumentFragment.fromHtml(statistics_text(self._source.request(source)))
            announce(self._view, found.toPlainText())

    def _leave(self) -> None:
        self._hit = None
        self._is_asked = False
        self._source.cancel()

    def _text(self, hit: Hit, at: QPointF) -> str:
        if hit.wire is None and hit.end is None:
            return ""
        source = self._source_of(hit)
        if source is None:
            return self._reason(hit)
        self._hit = hit
        self._position = self._view.viewport().mapToGlobal(self._view.camera.to_view(at).toPoint())
        return statistics_text(self._source.request(source))

    def _source_of(self, hit: Hit) -> Endpoint | None:
        """The output whose tensor is on a wire or at a port; None for other data."""
        scene = self._view.canvas_scene
        if hit.wire is not None:
            item = scene.wires.get(hit.wire)
            return hit.wire.source if item is not None and item.kind in _TENSORS else None
        if hit.node not in scene.nodes or hit.port is None:
            return None
        port = scene.nodes[hit.node].content.port(hit.port, is_input=hit.side == "input")
        if port is None or port.type not in _TENSORS:
            return None
        if hit.side == "output":
            return hit.end
        return next((wire.source for wire in scene.graph.incoming(hit.node) if wire.target == hit.end), None)

    def _reason(self, hit: Hit) -> str:
        """Why a port has no values."""
        if hit.node is None or hit.port is None:
            return ""
        port = self._view.canvas_scene.nodes[hit.node].content.port(hit.port, is_input=hit.side == "input")
        if port is not None and port.type is PortType.SAMPLES:
            return "The Data panel shows samples."
        if port is not None and port.type in _TENSORS:
            return "No values: nothing is connected."
        return ""

    def _refresh(self) -> None:
        """Show the result where the pointer rests, or where it was asked for."""
        if self._hit is not None and self._source_of(self._hit) is not None:
            self._view.show_tooltip(self._position, self._hit)
            self._announce()


def statistics_text(found: WireStatistics) -> str:
    """The statistics of a wire as rich text."""
    if found.problem:
        return f"No statistics: {html.escape(found.problem)}"
    if found.measured is not None:
        return f"{_figures_table(found.measured)}<i>{html.escape(found.source)}</i>"
    if found.statistics is None:
        return "Computing statistics…"
    return "<br>".join([*_lines(found.statistics), f"<i>{html.escape(found.source)}, one training batch</i>"])


def _lines(values: TensorStatistics) -> list[str]:
    shape = "×".join(map(str, values.shape)) or "scalar"
    lines = [f"<code>{shape} {html.escape(values.dtype)}</code>"]
    if values.nan or values.infinite:
        parts = [f"{count:,} {word}" for count, word in ((values.nan, "NaN"), (values.infinite, "infinite")) if count]
        lines.append(f"<b>{' and '.join(parts)}</b> of {values.count:,} values")
    if values.nan + values.infinite == values.count:
        return lines
    if values.count == 1:
        return [*lines, f"value <code>{number_format.measured(values.low)}</code>"]
    if values.elements:
        lines.append(_elements(values))
    named = (("mean", values.mean), ("std", values.std), ("min", values.low), ("max", values.high))
    texts = [(name, number_format.measured(value)) for name, value in named]
    texts.append(("zeros", number_format.percent(values.zeros)))
    cells = [f"<td>{name}&nbsp;</td><td><code>{text}</code>&nbsp;&nbsp;</td>" for name, text in texts]
    rows = ("".join(cells[:2]), "".join(cells[2:4]), cells[4])
    table = "".join(f"<tr>{row}</tr>" for row in rows)
    bars = f"<code>{histogram_text(values.histogram)}</code>" if values.histogram and not values.elements else ""
    head = lines[0] if len(lines) == 1 else "".join([lines[0], *(f"<div>{line}</div>" for line in lines[1:])])
    return [f"{head}<table cellspacing=0 cellpadding=0>{table}</table>{bars}"]


def _figures_table(figures: Figures) -> str:
    """The figures that were measured in a step, two in a row."""
    counts = [
        f"{round(figures[key]):,} {name}"
        for key, name in (("nan", "NaN"), ("infinite", "infinite"))
        if figures.get(key)
    ]
    cells = [
        f"<td>{name}&nbsp;</td><td><code>{form(figures[key])}</code>&nbsp;&nbsp;</td>"
        for key, (name, form) in _MEASURED.items()
        if key in figures
    ]
    rows = "".join(f"<tr>{''.join(cells[index : index + 2])}</tr>" for index in range(0, len(cells), 2))
    head = f"<b>{' and '.join(counts)}</b>" if counts else ""
    return f"{head}<table cellspacing=0 cellpadding=0>{rows}</table>"


_MEASURED: Mapping[str, tuple[str, Callable[[float], str]]] = {
    "mean": ("mean", number_format.measured),
    "std": ("std", number_format.measured),
    "low": ("min", number_format.measured),
    "high": ("max", number_format.measured),
    "zeros": ("zeros", number_format.percent),
    "dead": ("dead units", number_format.percent),
    "norm": ("norm", number_format.norm),
    "gradient": ("gradient norm", number_format.norm),
}
"""Names and formats of figures by key."""


def _elements(values: TensorStatistics) -> str:
    """The elements of a small tensor, a row for each index of the dimensions before the last one."""
    width = min(values.shape[-1] if values.shape else 1, _ROW)
    cells = [f"<td align=right><code>{value:.4g}</code>&nbsp;&nbsp;</td>" for value in values.elements]
    rows = ("".join(cells[start : start + width]) for start in range(0, len(cells), width))
    return f"<table cellspacing=0 cellpadding=0>{''.join(f'<tr>{row}</tr>' for row in rows)}</table>"


def histogram_text(counts: tuple[int, ...]) -> str:
    """A histogram as bars of text, as high as the square root of the counts, so that rare values are seen."""
    most, last = max(counts), len(_BARS) - 1
    return "".join(" " if not count else _BARS[round((count / most) ** 0.5 * last)] for count in counts)


__all__ = ["WireStatisticsTooltip", "histogram_text", "statistics_text"]
