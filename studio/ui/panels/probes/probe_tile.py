"""One probe in the panel: title, view, sample, picture, and where the values come from."""

from __future__ import annotations

from collections.abc import Callable

from PySide6.QtCore import QRectF, QSize
from PySide6.QtGui import QPainter, QPaintEvent, QStandardItemModel
from PySide6.QtWidgets import QFrame, QHBoxLayout, QSizePolicy, QVBoxLayout, QWidget

from studio.training.probing.probe_list import Probe
from studio.training.probing.probe_views import ProbeResult
from studio.training.probing.views.matrices import MatrixGrid
from studio.training.probing.views.view_kinds import TITLES, VIEW_KINDS
from studio.ui.canvas.probes.probe_card import footer_text, verification_text
from studio.ui.project.probes.probe_store import ProbeStore
from studio.ui.tensor_views.view_painter import ViewPainter, paint_message
from studio.ui.theme import fonts, theme
from studio.ui.widgets import buttons
from studio.ui.widgets.inputs import ComboBox, SpinBox
from studio.ui.widgets.labels import ElidedLabel, tip

_WIDTH, _HEIGHTS = 264, (196, 320)


class ProbeTile(QFrame):
    def __init__(self, probe: Probe, probes: ProbeStore, reveal: Callable[[Probe], object]) -> None:
        super().__init__()
        self.probe, self._probes = probe, probes
        self.result = ProbeResult()
        self.setProperty("role", "card")
        self.setSizePolicy(QSizePolicy.Policy.Fixed, QSizePolicy.Policy.Fixed)
        self._height = _HEIGHTS[0]
        self.setAccessibleName(f"Probe of {probe.title}")
        self._title = buttons.text_button(probe.title, lambda: reveal(self.probe), kind="link")
        self._title.setToolTip(tip(f"Show {probe.node} on the canvas"))
        self._title.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Fixed)
        self.pin = buttons.icon_button("pin", "Pin to the canvas", self._toggle_pin)
        self.pin.setCheckable(True)
        self.close_button = buttons.icon_button("close", "Close probe", lambda: probes.remove([self.probe.key]))
        top = QHBoxLayout()
        top.setSpacing(2)
        top.addWidget(self._title, 1)
        top.addWidget(self.pin)
        top.addWidget(self.close_button)
        self.views = ComboBox()
        self.views.setAccessibleName("View")
        for kind in VIEW_KINDS:
            self.views.addItem(TITLES[kind], kind)
        self.views.activated.connect(self._choose_view)
        self.index = SpinBox()
        self.index.setAccessibleName("Sample, filter or slice")
        self.index.valueChanged.connect(self._choose_index)
        choices = QHBoxLayout()
        choices.setSpacing(4)
        choices.addWidget(self.views, 1)
        choices.addWidget(self.index)
        self.picture = _Picture(self)
        self._footer = ElidedLabel()
        self._footer.setProperty("role", "dim")
        self._footer.setFont(fonts.interface(11))
        column = QVBoxLayout(self)
        column.setContentsMargins(8, 4, 8, 6)
        column.setSpacing(4)
        column.addLayout(top)
        column.addLayout(choices)
        column.addWidget(self.picture, 1)
        column.addWidget(self._footer)
        self.show_probe(probe, self.result)

    def sizeHint(self) -> QSize:
        return QSize(_WIDTH, self._height)

    def fit_height(self, room: int) -> None:
        """Use the height of the panel, within bounds."""
        height = min(max(room, _HEIGHTS[0]), _HEIGHTS[1])
        if height != self._height:
            self._height = height
            self.updateGeometry()

    def show_probe(self, probe: Probe, result: ProbeResult) -> None:
        """Show what a probe shows now."""
        self.probe, self.result = probe, result
        view = result.view
        self.pin.setChecked(probe.is_pinned)
        model = self.views.model()
        assert isinstance(model, QStandardItemModel)
        for row, kind in enumerate(VIEW_KINDS):
            reason = "" if view is None else view.unavailable.get(kind, "")
            model.item(row).setEnabled(not reason)
            model.item(row).setToolTip(tip(reason) if reason else "")
        if view is not None:
            self.views.setCurrentIndex(VIEW_KINDS.index(view.kind))
        self.views.setEnabled(view is not None)
        drawing = None if view is None else view.drawing
        parts = drawing.parts if isinstance(drawing, MatrixGrid) else 1
        self.index.setVisible(parts > 1)
        if parts > 1 and isinstance(drawing, MatrixGrid):
            self.index.blockSignals(True)
            self.index.setRange(0, parts - 1)
            self.index.setPrefix(f"{drawing.unit} ")
            self.index.setValue(min(probe.index, parts - 1))
            self.index.blockSignals(False)
        checked = verification_text(result)
        self._footer.setText(" · ".join(part for part in (footer_text(result), checked) if part))
        description = ", ".join(part for part in (probe.title, result.problem, self._footer.text()) if part)
        self.picture.setAccessibleName(description)
        self.picture.setToolTip(tip(description))
        self.picture.update()

    def _toggle_pin(self) -> None:
        self._probes.change(self.probe.key, is_pinned=self.pin.isChecked())

    def _choose_view(self, row: int) -> None:
        self._probes.change(self.probe.key, view=VIEW_KINDS[row], index=0)

    def _choose_index(self, value: int) -> None:
        self._probes.change(self.probe.key, index=value)


class _Picture(QWidget):
    """The drawing of a tile."""

    def __init__(self, tile: ProbeTile) -> None:
        super().__init__(tile)
        self._tile = tile
        self._painter = ViewPainter()

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        area, result = QRectF(self.rect()), self._tile.result
        if result.view is not None:
            self._painter.paint(painter, area, result.view, theme.current())
        else:
            paint_message(painter, area, result.problem or "Computing…", theme.current())
        painter.end()


__all__ = ["ProbeTile"]
