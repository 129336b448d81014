"""Compile panel: shows how the training step is compiled, on a copy of the model or in the current run."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from PySide6.QtCore import QSize, Qt, Signal
from PySide6.QtWidgets import QFrame, QProgressBar, QSplitter, QStackedLayout, QVBoxLayout, QWidget

from engine.compiler import Explanation
from studio.document import edits
from studio.training.regions import nodes_of_segment
from studio.ui.canvas.coloring.region_layer import Choice
from studio.ui.canvas.overlays.graph_break_popup import gain_text
from studio.ui.panels.compile import row_detail
from studio.ui.panels.compile.compile_header import STAGES, CompileHeader
from studio.ui.panels.compile.details_pane import DetailsPane
from studio.ui.panels.compile.step_outline import RowKey, StepOutline
from studio.ui.project.compile_explainer import CompileExplainer
from studio.ui.project.graph_break_mender import GraphBreakMender
from studio.ui.project.project_store import ProjectStore
from studio.ui.project.training_runner import TrainingRunner
from studio.ui.widgets import buttons
from studio.ui.widgets.empty_state import EmptyState
from studio.ui.widgets.labels import label
from studio.ui.widgets.notice_bar import NoticeBar

_EMPTY, _WORKING, _FAILED, _EXPLAINED = range(4)


class CompilePanel(QWidget):
    node_requested = Signal(str)
    """A node should be scrolled into view."""
    mend_requested = Signal(int)
    """The popup of the break with an index should open on the canvas."""
    overlay_requested = Signal(bool)
    """The overlay of compiled regions should be shown or hidden."""
    chosen = Signal(object, object, object)
    """What to highlight on the canvas: node names; segment and kernel, or None; index of a break, or None."""

    def __init__(
        self,
        store: ProjectStore,
        runner: TrainingRunner,
        explainer: CompileExplainer,
        mender: GraphBreakMender,
        parent: QWidget | None = None,
    ) -> None:
        super().__init__(parent)
        self._store, self._runner, self._explainer, self._mender = store, runner, explainer, mender
        self._shown: Explanation | None = None
        self._in_sight = False
        self.header = CompileHeader(
            explain=explainer.explain,
            cancel=explainer.cancel,
            switch=self._switch,
            overlay=self.overlay_requested.emit,
        )
        self.outline = StepOutline()
        self.details = DetailsPane()
        self.stale = NoticeBar(
            "Explain again",
            explainer.explain,
            "The graph was edited. These results describe the graph before the edit.",
        )
        self.gain = NoticeBar("Measure again", self._measure_gain, icon="ok")
        self.empty = EmptyState(
            "compile",
            "No explanation yet",
            "Run a few steps on a copy of the model to see kernels, compiled regions and graph breaks.",
            action="Explain the training step",
            run=explainer.explain,
        )
        self.failed = EmptyState(
            "error", "The training step could not be explained", "", action="Try again", run=explainer.explain
        )
        self.working = _ProgressPage(explainer.cancel)
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(0)
        column.addWidget(self.header)
        line = QFrame()
        line.setProperty("role", "line")
        column.addWidget(line)
        column.addWidget(self.gain)
        self._stack = QStackedLayout()
        # Add the layout before its pages: the first page is shown at once and would open as a window.
        column.addLayout(self._stack, 1)
        for page in (self.empty, self.working, self.failed, self._page()):
            self._stack.addWidget(page)
        self.outline.chosen.connect(self._choose)
        self.outline.itemActivated.connect(self._activate)
        self.details.node_requested.connect(self.node_requested)
        self.details.mend_requested.connect(self._request_mending)
        mender.changed.connect(self._show_gain)
        store.document_changed.connect(self._show_gain)
        self._show_gain()
        explainer.changed.connect(self.refresh)
        runner.events.connect(self._handle_events)
        runner.state_changed.connect(self._show_status)
        store.document_changed.connect(self._show_status)
        store.selection_changed.connect(self._mark)
        self.refresh()

    def refresh(self) -> None:
        """Show the current state."""
        explainer = self._explainer
        self._show_status()
        self.header.show_stage(explainer.stage)
        explanation = explainer.explanation
        if explanation is not None and explanation is not self._shown:
            self._shown = explanation
            self.outline.show_explanation(explanation)
            self._show_detail(self.outline.key)
            if self.outline.key is None:
                self.chosen.emit((), None, None)
        self.stale.setVisible(explainer.is_stale and explainer.state != "working")
        if explainer.state == "failed":
            self.failed.set_text("The training step could not be explained", explainer.problem)
            self._stack.setCurrentIndex(_FAILED)
        elif explanation is not None:
            self._stack.setCurrentIndex(_EXPLAINED)
        elif explainer.stage is not None:
            self.working.show_text(STAGES[explainer.stage.what])
            self._stack.setCurrentIndex(_WORKING)
        else:
            self._stack.setCurrentIndex(_EMPTY)

    def show_break(self, index: int) -> None:
        """Select a cause of graph breaks, after a click on its warning icon on the canvas."""
        self.outline.go_to(RowKey("break", index))
        self.outline.setFocus(Qt.FocusReason.OtherFocusReason)

    def show_overlay(self, on: bool) -> None:
        """Update the button of the overlay."""
        self.header.overlay.setChecked(on)

    def sizeHint(self) -> QSize:
        return QSize(900, 272)

    def set_in_sight(self, in_sight: bool) -> None:
        """Set whether the user sees the panel. Qt also reports panels behind other tabs as visible."""
        self._in_sight = in_sight
        self._explainer.watch("panel", in_sight)
        if in_sight:
            self._show_status()

    def _page(self) -> QWidget:
        page = QWidget()
        column = QVBoxLayout(page)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(0)
        column.addWidget(self.stale)
        splitter = QSplitter(Qt.Orientation.Horizontal)
        splitter.addWidget(self.outline)
        splitter.addWidget(self.details)
        splitter.setStretchFactor(0, 2)
        splitter.setStretchFactor(1, 3)
        splitter.setSizes([400, 540])
        splitter.setChildrenCollapsible(False)
        self.outline.setMinimumWidth(220)
        column.addWidget(splitter, 1)
        return page

    def _show_status(self, *_: object) -> None:
        run = self._runner.run if self._runner.is_active or self._runner.state != "idle" else None
        self.header.show_status(run, compiles=self._store.document.training.compile)
        explanation = self._explainer.explanation
        if explanation is not None:
            explanation = replace(explanation, compiled_seconds=self._explainer.step_seconds)
        self.header.show_explanation(explanation, run if self._explainer.is_live else None)

    def _show_gain(self, *_: object) -> None:
        """Show what a step gains by the last rewrite that the document contains."""
        applied = self._mender.applied()
        self.gain.setVisible(applied is not None)
        if applied is not None:
            self.gain.text.setText(f"{applied.path}: {', '.join(applied.rewrite.titles)}. {gain_text(applied)}")
            is_busy = applied.state in ("waiting", "measuring")
            self.gain.button.setText("Cancel" if is_busy else "Measure again")

    def _measure_gain(self) -> None:
        applied = self._mender.applied()
        if applied is None:
            return
        if applied.state in ("waiting", "measuring"):
            self._mender.cancel_measurement()
        else:
            self._mender.measure(applied.path)

    def _request_mending(self) -> None:
        key = self.outline.key
        if key is not None and key.kind == "break":
            self.mend_requested.emit(key.number)

    def _handle_events(self, _: object) -> None:
        if self._in_sight:
            self._show_status()

    def _switch(self, on: bool) -> None:
        title = "Turn on compilation" if on else "Turn off compilation"
        self._store.edit(title, lambda document: edits.set_training(document, compile=on))

    # -- selection

    def _choose(self, key: RowKey) -> None:
        """Show details of a row and highlight its nodes on the canvas."""
        self._show_detail(key)
        self.chosen.emit(self._nodes_of(key), _choice(key), key.number if key.kind == "break" else None)

    def _activate(self, *_: object) -> None:
        """Go to the node of the current row."""
        key = self.outline.key
        if key and (paths := self._nodes_of(key)):
            self.node_requested.emit(paths[0])

    def _mark(self, names: frozenset[str]) -> None:
        """Select the kernels of the nodes that are selected on the canvas."""
        if self._shown is None:
            return
        key = self.outline.mark_nodes(path.partition(".")[0] for path in names)
        if key is not None:
            self._show_detail(key)
        self.chosen.emit((), _choice(key) if key else None, None)

    def _nodes_of(self, key: RowKey) -> tuple[str, ...]:
        if key.kind == "segment" and self._shown is not None:
            return nodes_of_segment(self._shown.segments[key.number - 1])
        return self.outline.nodes_of(key)

    def _show_detail(self, key: RowKey | None) -> None:
        if self._shown is not None:
            self.details.show_detail(_detail(self._shown, key))


class _ProgressPage(QWidget):
    """Page shown until the first explanation is ready."""

    def __init__(self, cancel: Callable[[], object]) -> None:
        super().__init__()
        column = QVBoxLayout(self)
        column.setContentsMargins(24, 16, 24, 16)
        column.setSpacing(10)
        column.addStretch(1)
        self._text = label("", "dim")
        bar = QProgressBar()
        bar.setRange(0, 0)
        bar.setTextVisible(False)
        bar.setFixedWidth(240)
        button = buttons.text_button("Cancel", cancel)
        for widget in (self._text, bar, button):
            column.addWidget(widget, 0, Qt.AlignmentFlag.AlignHCenter)
        column.addStretch(2)

    def show_text(self, text: str) -> None:
        self._text.setText(f"{text}…")


def _choice(key: RowKey) -> Choice | None:
    """The part of the canvas overlay that belongs to a row."""
    return (key.number, key.part) if key.kind in ("segment", "kernel") else None


def _detail(explanation: Explanation, key: RowKey | None) -> row_detail.RowDetail:
    match key:
        case RowKey("break", index):
            return row_detail.of_break(explanation.breaks[index])
        case RowKey("recompile", index):
            return row_detail.of_recompile(explanation.recompiles[index])
        case RowKey("segment" | "ops", number):
            return row_detail.of_segment(explanation.segments[number - 1])
        case RowKey("kernel", number, part):
            kernels = explanation.segments[number - 1].kernels
            generated = [kernel for kernel in kernels if kernel.kind == "kernel"]
            return row_detail.of_kernel(generated[part - 1], part)
        case RowKey("op", number, part):
            return row_detail.of_kernel(explanation.segments[number - 1].kernels[part], 0)
        case _:
            return row_detail.of_step(explanation)


__all__ = ["CompilePanel"]
