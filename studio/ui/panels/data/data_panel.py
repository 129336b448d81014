"""The Data panel: samples before and after the selected data node, and statistics."""

from __future__ import annotations

from PySide6.QtCore import QEvent, QSize, Qt, Signal
from PySide6.QtWidgets import QFrame, QProgressBar, QSplitter, QStackedLayout, QVBoxLayout, QWidget

from studio.lowering.analysis.block_types import known_type
from studio.lowering.problems.problem import Problem
from studio.training.data.sample_preview import Facts, Part
from studio.training.data.statistics_records import Statistics
from studio.ui.panels.data.data_panel_header import DataPanelHeader
from studio.ui.panels.data.sample_detail import SampleDetail
from studio.ui.panels.data.sample_grid import SampleGrid
from studio.ui.panels.data.sample_table import SampleTable
from studio.ui.panels.data.statistics_page import StatisticsPage
from studio.ui.project.data_previewer import DataPreviewer, SampleBatch
from studio.ui.project.project_store import ProjectStore
from studio.ui.widgets.empty_state import EmptyState
from studio.ui.widgets.labels import label


class DataPanel(QWidget):
    node_requested = Signal(str)
    """Show the node that has a problem."""
    source_requested = Signal()
    """Add a data source."""

    def __init__(self, store: ProjectStore, previewer: DataPreviewer, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._store, self._previewer = store, previewer
        self._facts: Facts | None = None
        self._jump: int | None = None
        """Sample to scroll to when the requested samples have arrived."""
        self.header = DataPanelHeader()
        self.empty = EmptyState(
            "data",
            "No data yet",
            "Samples appear here as each data node outputs them. Add a data source, or start with a template.",
            action="Add data source",
            run=self.source_requested.emit,
        )
        self.failed = EmptyState(
            "error", "The data cannot be shown", "", action="Show node", run=self._show_failed_node
        )
        self.working = _LoadingView()
        self.nothing = EmptyState("data", "No samples", "This part of the data has no samples of this class.")
        self.grid, self.table = SampleGrid(), SampleTable()
        self.detail = SampleDetail()
        self.detail.hide()
        self.statistics = StatisticsPage(
            describe=previewer.compute_statistics, cancel=previewer.cancel, fix_previewer=store.fix_previewer
        )
        self._views = QStackedLayout()
        views = QWidget()
        views.setLayout(self._views)
        for view in (self.grid, self.table, self.nothing):
            self._views.addWidget(view)
        self.splitter = QSplitter(Qt.Orientation.Horizontal)
        self.splitter.addWidget(views)
        self.splitter.addWidget(self.detail)
        self.splitter.setStretchFactor(0, 3)
        self.splitter.setStretchFactor(1, 2)
        self.splitter.setChildrenCollapsible(False)
        views.setMinimumWidth(160)
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(0)
        column.addWidget(self.header)
        line = QFrame()
        line.setProperty("role", "line")
        column.addWidget(line)
        self._stack = QStackedLayout()
        column.addLayout(self._stack, 1)
        for page in (self.empty, self.working, self.failed, self.splitter, self.statistics):
            self._stack.addWidget(page)
        self._connect()
        self.refresh()

    @property
    def view(self) -> SampleGrid | SampleTable:
        """The view for the current kind of sample."""
        return self.table if self._facts is not None and self._facts.kind == "table" else self.grid

    def refresh(self) -> None:
        """Show the current state of the previewer."""
        previewer = self._previewer
        facts = previewer.facts if previewer.state == "ready" else None
        if facts is not self._facts:
            self._facts = facts
            document = self._store.document
            node = facts.node if facts is not None and facts.node in document.nodes else None
            kind = None if node is None else known_type(document, self._store.catalogue, node)
            if kind is not None:
                self.header.show_facts(facts, kind.icon, kind.category)
            else:
                self.header.show_facts(facts)
            self.detail.hide()
            self._reload()
        if previewer.state == "failed" and previewer.problem is not None:
            node = previewer.problem.node
            self.failed.set_text(
                f"{node} outputs no samples" if node else "The data cannot be shown", str(previewer.problem)
            )
            if self.failed.button is not None:
                self.failed.button.setVisible(bool(node))
        self._show_statistics()
        self._show_page()

    def set_in_sight(self, in_sight: bool) -> None:
        """Set whether the user sees the panel. Qt also reports panels behind other tabs as visible."""
        self._previewer.watch(in_sight)

    def sizeHint(self) -> QSize:
        return QSize(900, 272)

    def changeEvent(self, event: QEvent) -> None:
        """Reload files that other programs may have changed."""
        super().changeEvent(event)
        if event.type() == QEvent.Type.ActivationChange and self.isActiveWindow():
            self._previewer.refresh()

    # -- widgets

    def _connect(self) -> None:
        header, previewer = self.header, self._previewer
        header.look_changed.connect(self._reload)
        header.page_changed.connect(self._show_chosen_page)
        header.index_chosen.connect(self._go_to)
        header.page_scrolled.connect(self._scroll_page)
        for view in (self.grid, self.table):
            view.samples_requested.connect(self._request_samples)
            view.chosen.connect(self._choose)
            view.escaped.connect(self._close_detail)
        self.detail.closed.connect(self._close_detail)
        self.statistics.sample_requested.connect(self.show_sample)
        self.statistics.fix_requested.connect(self._store.apply_fix)
        previewer.state_changed.connect(self.refresh)
        previewer.samples_ready.connect(self._show_samples)
        previewer.sample_ready.connect(self._show_detail)
        previewer.statistics_changed.connect(self._show_statistics)
        self._store.report_changed.connect(self._show_statistics)

    def _show_page(self) -> None:
        state = self._previewer.state
        page = {"empty": self.empty, "opening": self.working, "failed": self.failed}.get(state)
        if page is None:
            page = self.splitter if self.header.page == "samples" else self.statistics
        self._stack.setCurrentWidget(page)

    def _show_chosen_page(self, page: str) -> None:
        self._show_page()
        if page == "statistics" and self._previewer.statistics is None and not self._previewer.statistics_problem:
            self._previewer.compute_statistics()

    def _show_failed_node(self) -> None:
        if self._previewer.problem is not None:
            self.node_requested.emit(self._previewer.problem.node)

    # -- samples

    @property
    def _total(self) -> int:
        return self._facts.counts[self.header.selection.part] if self._facts is not None else 0

    def _reload(self) -> None:
        """Show other samples of the same node, or those of another node."""
        facts, look = self._facts, self.header.selection
        if facts is None:
            return
        self._close_detail()
        total = self._total
        self.header.show_total(total)
        self.header.show_index(0)
        self._views.setCurrentWidget(self.view if total else self.nothing)
        self.view.show_facts(facts, total)
        if look.category is not None:
            self._previewer.request_samples(look, 0, 64)
        if facts.kind == "table":
            self._previewer.compute_statistics()
            self._show_statistics()

    def _request_samples(self, first: int, number: int) -> None:
        self._previewer.request_samples(self.header.selection, first, number)

    def _show_samples(self, batch: SampleBatch) -> None:
        if batch.selection != self.header.selection or self._facts is None:
            return
        self.header.show_total(batch.total)
        self._views.setCurrentWidget(self.view if batch.total else self.nothing)
        self.view.add_samples(batch.first, batch.samples, batch.total)
        if self._jump is not None:
            index, self._jump = self._jump, None
            self.view.select_sample(index)
        self.view.request_missing()

    def _go_to(self, index: int) -> None:
        self.view.select_sample(index)

    def _scroll_page(self, step: int) -> None:
        self.view.scroll_pages(step)

    def _choose(self, index: int) -> None:
        self.header.show_index(index)
        self._previewer.request_sample(self.header.selection, index)

    def _show_detail(self, batch: SampleBatch) -> None:
        if batch.selection != self.header.selection or self._facts is None or not batch.samples:
            return
        self.detail.show_sample(self._facts, batch.selection.part, batch.samples[0])
        if self.detail.isHidden():
            self.detail.show()
            width = self.splitter.width()
            self.splitter.setSizes([width - width * 2 // 5, width * 2 // 5])
            index = self.view.current
            if index is not None and index not in self.view.in_view:
                self.view.select_sample(index)

    def _close_detail(self) -> None:
        if not self.detail.isHidden():
            had_focus = self.detail.isAncestorOf(self.focusWidget()) if self.focusWidget() is not None else False
            self.detail.hide()
            self.view.select_sample(None)
            if had_focus:
                self.view.setFocus()

    def show_sample(self, part: Part, row: int) -> None:
        """Show the sample at an index of a data part, an example of a finding."""
        self._jump = row
        self.header.choose(part)
        self._reload()

    # -- statistics

    def _show_statistics(self) -> None:
        previewer = self._previewer
        statistics = previewer.statistics
        problems = () if statistics is None else self._problems(statistics)
        self.statistics.show_state(statistics, problems, previewer.progress, previewer.statistics_problem)
        self.table.show_figures(statistics.part(self.header.selection.part) if statistics is not None else None)
        if (
            self.header.page == "statistics"
            and previewer.state == "ready"
            and statistics is None
            and previewer.progress is None
            and not previewer.statistics_problem
            and self._stack.currentWidget() is self.statistics
            and not previewer.was_cancelled
        ):
            previewer.compute_statistics()

    def _problems(self, statistics: Statistics) -> tuple[Problem, ...]:
        """The problems of the samples, and those of how the graph uses them if it has a single loader."""
        inspection, known = self._store.inspection, {each.code for each in statistics.problems}
        has_one_loader = len({part.node for part in inspection.looked_at}) == 1
        used = (each for each in inspection.problems if has_one_loader and each.code not in known)
        return tuple(sorted((*statistics.problems, *used), key=lambda problem: problem.rank))


class _LoadingView(QWidget):
    """Shown while a source is opened for the first time."""

    def __init__(self) -> None:
        super().__init__()
        column = QVBoxLayout(self)
        column.setSpacing(10)
        column.addStretch(1)
        bar = QProgressBar()
        bar.setRange(0, 0)
        bar.setTextVisible(False)
        bar.setFixedWidth(240)
        for widget in (label("Loading data…", "dim"), bar):
            column.addWidget(widget, 0, Qt.AlignmentFlag.AlignHCenter)
        column.addStretch(2)


__all__ = ["DataPanel"]
