"""Takes the user through the steps of the tour, in a new project."""

from __future__ import annotations

from functools import partial

from PySide6.QtCore import QObject, QTimer, Signal

from studio.ui.project.project import Project
from studio.ui.window.command_window import CommandWindow
from studio.ui.window.tour import tour_targets
from studio.ui.window.tour.tour_card import TourCard
from studio.ui.window.tour.tour_steps import STEPS, TITLE, Situation, tour_document

_PLACE_MS = 120
"""Interval at which the card follows its target, which scrolls, resizes and floats without a common signal."""

_DONE_MS = 700
"""Time for which a step that was done stays, so that the user sees its effect."""


class Tour(QObject):
    """Shows a step until it was done in the project of the tour, or the user goes on."""

    ended = Signal()

    def __init__(self, window: CommandWindow) -> None:
        super().__init__(window)
        self._window = window
        self._project: Project | None = None
        self._index = 0
        self._before: Situation | None = None
        """The situation when the step was shown; None if it was done before."""
        self.card = TourCard(window)
        self.card.next_requested.connect(self.go_on)
        self.card.back_requested.connect(self.go_back)
        self.card.left.connect(self.end)
        self._timer = QTimer(self)
        self._timer.setInterval(_PLACE_MS)
        self._timer.timeout.connect(self.place)

    @property
    def is_active(self) -> bool:
        return self._project is not None

    @property
    def index(self) -> int:
        """Index of the current step."""
        return self._index

    def start(self) -> None:
        """Open a new project and show the first step, or return to the tour in progress."""
        if self._project is None:
            project = self._project = self._window.open_projects.new(tour_document(), TITLE)
            project.store.document_changed.connect(self._check)
            project.store.selection_changed.connect(self._check)
            project.store.report_changed.connect(self._check)
            project.runner.state_changed.connect(self._check)
            self._window.open_projects.closed.connect(self._on_closed)
            self._window.open_projects.current_changed.connect(self.place)
            self._timer.start()
            self._show(0)
        else:
            self._window.open_projects.make_current(self._project)
            self.place()
        self.card.setFocus()

    def go_on(self) -> None:
        """Show the next step; after the last one, end the tour."""
        if self._index + 1 < len(STEPS):
            self._show(self._index + 1)
        else:
            self.end()

    def go_back(self) -> None:
        self._show(max(self._index - 1, 0))

    def end(self) -> None:
        """Hide the card. The project of the tour stays open."""
        project, self._project = self._project, None
        if project is None:
            return
        self._timer.stop()
        had_focus = self.card.has_focus
        self.card.hide_card()
        self._window.open_projects.closed.disconnect(self._on_closed)
        self._window.open_projects.current_changed.disconnect(self.place)
        if project in self._window.project_views:
            for signal in (
                project.store.document_changed,
                project.store.selection_changed,
                project.store.report_changed,
                project.runner.state_changed,
            ):
                signal.disconnect(self._check)
        if had_focus and self._window.canvas is not None:
            self._window.canvas.setFocus()
        self.ended.emit()

    def place(self, *_: object) -> None:
        """Put the card beside its target; hide it while another project is shown."""
        if self._project is None:
            return
        situation = self._situation()
        if self._window.project is not self._project or situation is None:
            self.card.hide_card()
            return
        step = STEPS[self._index]
        area = tour_targets.find_area(self._window, step.target, step.nodes(situation))
        self.card.point_at(area)

    def _show(self, index: int) -> None:
        assert self._project is not None
        self._window.open_projects.make_current(self._project)
        step = STEPS[index]
        self._index = index
        store = self._project.store
        if step.select in store.document.nodes:
            store.select([step.select])
        before = self._situation()
        assert before is not None
        self._before = None if step.is_done(before, before) else before
        self.card.show_step(step, index, len(STEPS))
        self._prepare(index)
        QTimer.singleShot(0, partial(self._prepare, index))  # after a new canvas has shown its graph

    def _prepare(self, index: int) -> None:
        situation = self._situation()
        if situation is not None and self._index == index:
            step = STEPS[index]
            tour_targets.prepare(self._window, step.target, step.nodes(situation))
            self.place()

    def _check(self, *_: object) -> None:
        """Go on once the current step was done."""
        now = self._situation()
        if now is not None and self._before is not None and STEPS[self._index].is_done(self._before, now):
            self._before = None
            self.card.show_done()
            QTimer.singleShot(_DONE_MS, partial(self._go_on_from, self._index))

    def _go_on_from(self, index: int) -> None:
        if self._project is not None and self._index == index:
            self.go_on()

    def _situation(self) -> Situation | None:
        if self._project is None:
            return None
        store, runner = self._project.store, self._project.runner
        wrong = frozenset(each.node for each in store.report.problems if each.severity == "error" and each.node)
        return Situation(store.document, store.selection, wrong, store.is_checked, len(runner.runs))

    def _on_closed(self, project: Project) -> None:
        if project is self._project:
            self.end()
