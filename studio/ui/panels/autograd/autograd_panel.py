"""Autograd panel: the backward graph of one training step, linked to canvas nodes."""

from __future__ import annotations

from PySide6.QtCore import QSize
from PySide6.QtGui import QFontMetrics, QLinearGradient, QPainter, QPaintEvent
from PySide6.QtWidgets import QHBoxLayout, QStackedLayout, QVBoxLayout, QWidget

from engine.inspect.layered_layout import Layout
from studio.document.blocks.block_locations import first_paths
from studio.training.autograd_snapshot import AutogradSnapshot
from studio.ui import number_format
from studio.ui.panels.autograd.graph_layouter import GraphLayouter
from studio.ui.panels.autograd.graph_view import GraphView
from studio.ui.panels.autograd.norm_scale import NormScale
from studio.ui.project.project_store import ProjectStore
from studio.ui.project.training_runner import TrainingRunner
from studio.ui.theme import fonts, theme
from studio.ui.widgets import buttons
from studio.ui.widgets.empty_state import EmptyState
from studio.ui.widgets.labels import ElidedLabel

_LEGEND_TITLE = "Gradient norm"
_STRIP = 72
"""Width of the color scale in the legend."""
_GAP = 12


class AutogradPanel(QWidget):
    def __init__(self, store: ProjectStore, runner: TrainingRunner, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._store, self._runner = store, runner
        self._snapshot: AutogradSnapshot | None = None
        self._in_sight = False
        self._scale = NormScale(())
        self._layouter = GraphLayouter(self)
        self._layouter.arranged.connect(self._show)
        self._empty = EmptyState(
            "autograd",
            "No backward graph yet",
            "Run one forward and backward pass to see its graph with the gradient norms.",
            action="Run one step",
            run=runner.request_snapshot,
        )
        self.view = GraphView()
        self._summary = ElidedLabel()
        self._summary.setProperty("role", "dim")
        self._summary.setFont(fonts.interface(12))
        self._legend = _Legend()
        bar = QHBoxLayout()
        bar.setContentsMargins(12, 4, 8, 4)
        bar.setSpacing(8)
        bar.addWidget(self._summary, 1)
        bar.addWidget(self._legend)
        bar.addWidget(buttons.icon_button("step", "Run another step", runner.request_snapshot))
        bar.addWidget(buttons.icon_button("fit", "Show all (Home)", self.view.fit))
        page = QWidget()
        column = QVBoxLayout(page)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(0)
        column.addLayout(bar)
        column.addWidget(self.view, 1)
        self._stack = QStackedLayout(self)
        self._stack.addWidget(self._empty)
        self._stack.addWidget(page)
        runner.snapshot_ready.connect(self.show_snapshot)
        runner.state_changed.connect(self._request_first_snapshot)
        store.selection_changed.connect(self._mark)
        self.view.chosen.connect(self._choose)

    @property
    def snapshot(self) -> AutogradSnapshot | None:
        return self._snapshot

    def show_snapshot(self, snapshot: AutogradSnapshot) -> None:
        """Draw the graph of this step."""
        self._snapshot = snapshot
        self._layouter.request(
            [node.id for node in snapshot.graph.nodes],
            dict.fromkeys((edge.source, edge.target) for edge in snapshot.graph.edges),
        )

    def set_in_sight(self, in_sight: bool) -> None:
        """Set whether the user sees the panel. Qt reports a dock widget behind another tab as visible, too."""
        self._in_sight = in_sight
        self._request_first_snapshot()

    def close_view(self) -> None:
        """Stop the threads. The panel must not be used afterwards."""
        self._layouter.close()

    def _request_first_snapshot(self, *_: object) -> None:
        """Take a snapshot of a run that has started training, once the panel is visible."""
        run = self._runner.run
        if (
            self._snapshot is None
            and self._in_sight
            and run is not None
            and run.progress.step
            and self._runner.shows_run
        ):
            self._runner.request_snapshot()

    def _show(self, layout: Layout[int]) -> None:
        snapshot = self._snapshot
        if snapshot is None:
            return
        nodes = snapshot.graph.nodes
        self._scale = NormScale(node.gradient_norm for node in nodes)
        self._legend.show_scale(self._scale)
        saved = number_format.size(sum(node.saved_bytes for node in nodes))
        ops = number_format.count(sum(node.leaf is None for node in nodes), "ops")
        leaves = number_format.count(sum(node.leaf is not None for node in nodes), "leaf tensors")
        self._summary.setText(
            f"Loss {number_format.measured(snapshot.loss)} · {ops} · {leaves} · {saved} saved for backward"
        )
        self._stack.setCurrentIndex(1)
        self.view.show_graph(snapshot, layout, self._scale)
        self._mark()

    def _mark(self, *_: object) -> None:
        selected = first_paths(self._store.document, self._store.selection)
        self.view.mark(selected, reveal=not self.view.underMouse())

    def _choose(self, owner: str) -> None:
        self._store.select([owner] if owner else [])


class _Legend(QWidget):
    """The color scale of gradient norms."""

    def __init__(self) -> None:
        super().__init__()
        self._scale = NormScale(())
        self.setToolTip(_LEGEND_TITLE)

    def show_scale(self, scale: NormScale) -> None:
        self._scale = scale
        self.setVisible(not scale.is_empty)
        self.updateGeometry()
        self.update()

    def sizeHint(self) -> QSize:
        return QSize(self.minimumSizeHint().width() + self._title_width + _GAP, 20)

    def minimumSizeHint(self) -> QSize:
        """Minimum size without the text."""
        metrics = QFontMetrics(fonts.interface(11))
        return QSize(sum(metrics.horizontalAdvance(bound) + 8 for bound in self._bounds) + _STRIP, 20)

    @property
    def _bounds(self) -> list[str]:
        return [number_format.norm(bound) for bound in self._scale.bounds]

    @property
    def _title_width(self) -> int:
        return QFontMetrics(fonts.interface(11)).horizontalAdvance(_LEGEND_TITLE)

    def paintEvent(self, event: QPaintEvent) -> None:
        colors = theme.current()
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.setFont(fonts.interface(11))
        painter.setPen(colors.color("text-dim"))
        low, high = self._bounds
        metrics = painter.fontMetrics()
        baseline = (self.height() + metrics.ascent() - metrics.descent()) / 2
        right = self.width() - metrics.horizontalAdvance(high)
        painter.drawText(right, round(baseline), high)
        strip_left, strip_right = right - 8 - _STRIP, right - 8
        start = strip_left - 8 - metrics.horizontalAdvance(low)
        painter.drawText(start, round(baseline), low)
        if (left := start - _GAP - self._title_width) >= 0:
            painter.drawText(left, round(baseline), _LEGEND_TITLE)
        ramp = QLinearGradient(strip_left, 0, strip_right, 0)
        for step in range(5):
            share = step / 4
            ramp.setColorAt(share, self._scale.color_at(share, colors))
        painter.setBrush(ramp)
        painter.setPen(colors.color("border"))
        painter.drawRoundedRect(strip_left, self.height() // 2 - 4, _STRIP, 8, 2, 2)
