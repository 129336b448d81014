"""Points at the controls of the shown step, in the project of a lesson."""

from __future__ import annotations

from functools import partial

from PySide6.QtCore import QObject, QPoint, QRect, QTimer

from studio.lessons.lesson import Step, Target
from studio.ui.project.lesson_session import LessonSession
from studio.ui.project.project import Project
from studio.ui.window.command_window import CommandWindow
from studio.ui.window.lessons import step_targets
from studio.ui.window.lessons.step_card import StepCard

_PLACE_MS = 120
"""Interval at which the card follows its target, which scrolls, resizes and floats without a common signal."""

_TABS = 36
"""Height of the tabs above a panel, in pixels."""
_DONE_MS = 700
"""Time for which a completed step without an explanation stays, so that the user sees its effect."""


class LessonGuide(QObject):
    """Shows the card of the current project's lesson, if it has one and the learner did not hide the card."""

    def __init__(self, window: CommandWindow) -> None:
        super().__init__(window)
        self._window = window
        self._sessions: dict[Project, LessonSession] = {}
        self._hidden: set[Project] = set()
        """Projects whose card the learner has hidden."""
        self._waits = False
        """Whether the shown step waits for a prediction before it points at something."""
        self.card = StepCard(window)
        self.card.next_requested.connect(self.go_on)
        self.card.back_requested.connect(self.go_back)
        self.card.left.connect(self.hide_card)
        self._timer = QTimer(self)
        self._timer.setInterval(_PLACE_MS)
        self._timer.timeout.connect(self.place)
        window.open_projects.closed.connect(self._forget)

    @property
    def session(self) -> LessonSession | None:
        """The lesson of the current project."""
        return None if self._window.project is None else self._sessions.get(self._window.project)

    def attend(self, session: LessonSession) -> None:
        """Guide through a lesson, whose project is the current one."""
        self._sessions[session.project] = session
        session.step_changed.connect(partial(self._show, session))
        session.step_completed.connect(partial(self._on_completed, session))
        session.changed.connect(partial(self._on_changed, session))
        self._show(session)

    def show_card(self) -> None:
        """Show a hidden card again, and focus it."""
        session = self.session
        if session is not None:
            self._hidden.discard(session.project)
            self._show(session)
            if self.card.isVisible():
                self.card.setFocus()

    def hide_card(self) -> None:
        """Hide the card for the rest of the lesson."""
        session = self.session
        if session is None:
            return
        self._hidden.add(session.project)
        had_focus = self.card.has_focus
        self.card.hide_card()
        self._timer.stop()
        if had_focus and self._window.canvas is not None:
            self._window.canvas.setFocus()

    def go_on(self) -> None:
        """Show the next step; after the last one, end the guidance."""
        session = self.session
        if session is None:
            return
        if session.is_last:
            session.finish()
            self.hide_card()
        else:
            session.go(session.index + 1)

    def go_back(self) -> None:
        if self.session is not None:
            self.session.go(self.session.index - 1)

    def place(self, *_: object) -> None:
        """Put the card beside its target; hide it without one."""
        session = self.session
        target = None if session is None or session.project in self._hidden else _target(session)
        if session is None or target is None:
            self.card.hide_card()
            self._timer.stop()
            return
        area = step_targets.find_area(self._window, target, _nodes(session))
        if target == "palette" and area is None:
            self.card.hide_card()  # the Lesson panel is in front, with the text; the timer waits for the palette
            return
        self.card.point_at(area, self._panel_rect(), self._canvas_corner())

    def _panel_rect(self) -> QRect | None:
        """The Lesson panel in the window, with the tabs above it; None if it is elsewhere or behind another tab."""
        dock = self._window.docks["lesson"]
        if not dock.isVisible() or dock.isFloating() or dock.visibleRegion().isEmpty():
            return None
        return dock.geometry().adjusted(0, -_TABS, 1, 0)

    def _canvas_corner(self) -> QPoint | None:
        """The top left corner of the canvas in the window, below the tabs of the projects."""
        if self._window.canvas is None:
            return None
        return self._window.canvas.viewport().mapTo(self._window, QPoint(0, 0))

    def _show(self, session: LessonSession) -> None:
        if session is not self.session:
            return
        step = session.step
        self._waits = step.target is not None and _target(session) is None
        self.card.show_step(step, session.index, len(session.steps), is_done=session.is_done(step))
        if _target(session) is not None and session.project not in self._hidden:
            self._timer.start()
        self._prepare(session, step)
        QTimer.singleShot(0, partial(self._prepare, session, step))  # after a new canvas has shown its graph

    def _prepare(self, session: LessonSession, step: Step) -> None:
        if self.session is session and session.step is step:
            target = _target(session)
            if target is not None and session.project not in self._hidden:
                step_targets.prepare(self._window, target, _nodes(session))
            self.place()

    def _on_changed(self, session: LessonSession) -> None:
        """Point at what the step is about as soon as its prediction was made."""
        if self._waits and session is self.session and _target(session) is not None:
            self._show(session)

    def _on_completed(self, session: LessonSession) -> None:
        """Go on after a step that has nothing to explain."""
        if session is not self.session:
            return
        self.card.show_done()
        if not session.step.explanation and session.step.prediction is None and not session.is_last:
            QTimer.singleShot(_DONE_MS, partial(self._go_on_from, session, session.step))

    def _go_on_from(self, session: LessonSession, step: Step) -> None:
        if session in self._sessions.values() and session.step is step:
            session.go(session.index + 1)

    def show_current(self) -> None:
        """Show the card of the current project's lesson; hide it for other projects."""
        session = self.session
        if session is None:
            self.card.hide_card()
            self._timer.stop()
        else:
            self._show(session)

    def _forget(self, project: Project) -> None:
        self._sessions.pop(project, None)
        self._hidden.discard(project)


def _target(session: LessonSession) -> Target | None:
    """What the card points at. The palette covers the Lesson panel, so it has to wait for the prediction."""
    step = session.step
    is_covered = step.target == "palette" and step.prediction is not None
    return None if is_covered and session.answer is None else step.target


def _nodes(session: LessonSession) -> frozenset[str]:
    """The nodes that a step points at, on the canvas of the project."""
    nodes, step = session.project.store.document.nodes, session.step
    types = {ref.removeprefix("@") for ref in step.nodes if ref.startswith("@")}
    names = {path.partition(".")[0] for path in step.nodes}
    return frozenset(name for name, node in nodes.items() if name in names or node.type in types)


__all__ = ["LessonGuide"]
