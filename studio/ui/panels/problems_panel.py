"""The Problems panel: errors, warnings and hints of the graph, its data and the last run, with their fixes."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from PySide6.QtCore import Qt, Signal
from PySide6.QtGui import QHideEvent, QShowEvent
from PySide6.QtWidgets import QFrame, QMenu, QScrollArea, QStackedLayout, QVBoxLayout, QWidget

from studio.document.document_errors import EditError
from studio.document.model import Document
from studio.lowering.problems.diagnoses import DIAGNOSES
from studio.lowering.problems.diagnosis import SEVERITIES
from studio.lowering.problems.dismissal import can_dismiss, dismiss
from studio.lowering.problems.problem import Fix, Problem
from studio.lowering.problems.problem_groups import grouped
from studio.ui.panels.problem_row import Part, ProblemRow
from studio.ui.panels.problems_header import ProblemsHeader
from studio.ui.project.fix_trial_runner import FixTrialRunner
from studio.ui.project.project_store import ProjectStore
from studio.ui.theme import icons
from studio.ui.widgets.deferred_change import DeferredChange
from studio.ui.widgets.empty_state import EmptyState
from studio.ui.widgets.labels import label

_SHOWN = 200
"""Maximum number of rows; a damaged file may have thousands of problems."""
_GROUPS = {"error": "Errors", "warning": "Warnings", "hint": "Hints"}


class ProblemsPanel(QWidget):
    """A row per problem (equal ones merged), errors first. A click selects the nodes."""

    activated = Signal(str)
    """Name of the node to show."""
    emptied = Signal()
    """The last problem is gone, and it had the keyboard focus."""
    help_requested = Signal(object)
    """The ProblemRow that the user asks about."""
    diagnosis_requested = Signal()

    def __init__(
        self, store: ProjectStore, trials: FixTrialRunner | None = None, parent: QWidget | None = None
    ) -> None:
        super().__init__(parent)
        self._store, self._trials = store, trials
        self.find_reproduction: Callable[[], Callable[[], object] | None] = lambda: None
        """Returns what reduces the last run to a minimal reproduction; None if it did not fail."""
        self._shown: tuple[object, ...] | None = None
        self._update = DeferredChange(self._show, self)
        self.header = ProblemsHeader(store)
        self.header.filter_changed.connect(self._update.run)
        self.header.diagnosis_requested.connect(self.diagnosis_requested)
        self._empty = EmptyState("ok", "No problems", "Errors, warnings and hints appear here.")
        self._rows = QWidget()
        self._rows.setObjectName("page")
        self._column = QVBoxLayout(self._rows)
        self._column.setContentsMargins(8, 8, 8, 8)
        self._column.setSpacing(2)
        scroll = QScrollArea()
        scroll.setAccessibleName("Problems")
        scroll.setWidgetResizable(True)
        scroll.setFrameShape(QFrame.Shape.NoFrame)
        scroll.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        scroll.setWidget(self._rows)
        content = QWidget()
        self._stack = QStackedLayout(content)
        self._stack.addWidget(self._empty)
        self._stack.addWidget(scroll)
        page = QVBoxLayout(self)
        page.setContentsMargins(0, 0, 0, 0)
        page.setSpacing(0)
        page.addWidget(self.header)
        page.addWidget(content, 1)
        store.report_changed.connect(self._update.run)
        if trials is not None:
            trials.changed.connect(self._show_trials)
        self._show()

    @property
    def rows(self) -> list[ProblemRow]:
        return [row for row in self._rows.findChildren(ProblemRow) if row.parent() is self._rows]

    def showEvent(self, event: QShowEvent) -> None:
        super().showEvent(event)
        if self._trials is not None:
            self._trials.watch(self, is_shown=True)

    def hideEvent(self, event: QHideEvent) -> None:
        super().hideEvent(event)
        if self._trials is not None:
            self._trials.watch(self, is_shown=False)

    def _show_trials(self) -> None:
        for row in self.rows:
            row.show_trials()
        self._update.run()

    def _problems(self) -> list[Problem]:
        """Equal problems merged, errors first, with the fixes that trained best."""
        report = self._store.report
        ordered = sorted(grouped(report.problems, report.nodes), key=lambda problem: problem.rank)
        return [self._store.fix_previewer.recommended(problem) for problem in ordered]

    def _show(self) -> None:
        report = self._store.report
        self.header.refresh()
        ordered = self._problems()
        shown = (report.problems, ordered, report.dismissed, self.header.hidden)
        if shown == self._shown:
            return
        self._shown = shown
        before: list[Part | None] = [row.focus_part() for row in self.rows]
        self._clear()
        visible = [problem for problem in ordered if problem.severity not in self.header.hidden]
        has_groups = len({problem.severity for problem in visible}) > 1
        for severity in SEVERITIES:
            members = [problem for problem in visible[:_SHOWN] if problem.severity == severity]
            if members and has_groups:
                self._column.addWidget(label(_GROUPS[severity], "section"))
            for problem in members:
                self._column.addWidget(self._row(problem))
        self._column.addStretch(1)
        self._stack.setCurrentIndex(1 if visible else 0)
        for index, part in enumerate(before):
            if part is not None and visible:  # keep the keyboard focus, on the next problem if this one is gone
                row = self.rows[min(index, len(self.rows) - 1)]
                row.show()  # Qt shows new rows later, and a hidden one can lose the focus until then
                row.take_focus(part)
        if not visible and any(before):
            self.emptied.emit()

    def _row(self, problem: Problem) -> ProblemRow:
        origin = self._store.origin(problem)
        previewer = self._store.fix_previewer
        return ProblemRow(problem, self._go, self._fix, previewer, self._fill_menu, origin, trials=self._trials)

    def _clear(self) -> None:
        while self._column.count():
            item = self._column.takeAt(0)
            widget = None if item is None else item.widget()
            if widget is not None:
                widget.setParent(None)
                widget.deleteLater()

    def _go(self, problem: Problem) -> None:
        path = problem.node or (problem.wire.target.node if problem.wire else None)
        if path is not None:
            self.activated.emit(path)
            self._store.select([path, *problem.also])

    def _fix(self, problem: Problem) -> None:
        assert problem.fix is not None
        self._store.apply_fix(problem.fix, problem.node)

    def _fill_menu(self, problem: Problem, menu: QMenu) -> None:
        """The fixes with the recommended one first, dismissal and help."""
        if problem.others:
            if problem.fix is not None:
                self._add_fix(menu, problem, problem.fix, " (recommended)")
            for other in problem.others:
                self._add_fix(menu, problem, other)
            menu.addSeparator()
        menu.setToolTipsVisible(True)
        state = None if self._trials is None else self._trials.trials(problem)
        if self._trials is not None and state is not None and state.state in ("waiting", "trying"):
            menu.addAction(icons.themed("stop", "text"), "Cancel the trial", partial(self._trials.cancel, problem))
        if self._trials is not None and state is not None and state.state == "cancelled":
            menu.addAction(icons.themed("reset", "text"), "Try the fix", partial(self._trials.retry, problem))
        reproduce = self.find_reproduction() if self._store.origin(problem) == "run" else None
        if reproduce is not None:
            action = menu.addAction(icons.themed("split", "text"), "Make minimal reproduction")
            action.setToolTip("Reduce the run to the few nodes and samples that fail the same way")
            action.triggered.connect(partial(_call, reproduce))
        dismissal = menu.addAction(icons.themed("mute", "text"), "Do not show again", partial(self._dismiss, problem))
        dismissal.setEnabled(can_dismiss(problem))
        dismissal.setToolTip(
            "Hide this problem at this node; the project file keeps it" if can_dismiss(problem) else "An error stays"
        )
        title = DIAGNOSES[problem.code].title if problem.code in DIAGNOSES else problem.code
        menu.addAction(icons.themed("help", "text"), f"Explain: {title}", partial(self._explain, problem))

    def _add_fix(self, menu: QMenu, problem: Problem, fix: Fix, suffix: str = "") -> None:
        measured = self._store.fix_previewer.measured_text(fix)
        title = f"{fix.title}{suffix}{f': {measured}' if measured else ''}"
        action = menu.addAction(title.replace("&", "&&"))
        action.setToolTip(fix.reason or fix.title)
        action.hovered.connect(partial(self._store.fix_previewer.begin, fix))
        menu.aboutToHide.connect(partial(self._store.fix_previewer.end, fix))
        action.triggered.connect(lambda: self._store.apply_fix(fix, problem.node))

    def _dismiss(self, problem: Problem) -> None:
        def edit(document: Document) -> Document:
            try:
                return dismiss(document, problem)
            except EditError:  # the node is gone since the problem was shown
                return document

        self._store.edit(f"Dismiss {DIAGNOSES[problem.code].title.lower()} ({problem.node})", edit)

    def _explain(self, problem: Problem) -> None:
        row = next((row for row in self.rows if row.problem is problem), None)
        if row is not None:
            self.help_requested.emit(row)


def _call(run: Callable[[], object], *_: object) -> None:
    run()
