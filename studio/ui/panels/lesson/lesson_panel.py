"""The Lesson panel: the steps of a lesson, with text, prediction, checks, hints and explanation of the shown one."""

from __future__ import annotations

from functools import partial

from PySide6.QtCore import Qt, QTimer, Signal
from PySide6.QtWidgets import QFrame, QHBoxLayout, QScrollArea, QStackedLayout, QToolButton, QVBoxLayout, QWidget

from studio.ui.panels.lesson.check_list import CheckList
from studio.ui.panels.lesson.lesson_text import LessonText, plain_text
from studio.ui.panels.lesson.prediction_form import PredictionForm
from studio.ui.project.lesson_session import LessonSession
from studio.ui.widgets import buttons
from studio.ui.widgets.announcement import announce
from studio.ui.widgets.deferred_change import DeferredChange
from studio.ui.widgets.empty_state import EmptyState
from studio.ui.widgets.flow_layout import FlowLayout
from studio.ui.widgets.labels import label, tip


class LessonPanel(QWidget):
    """Empty until `attend` shows a lesson."""

    lessons_requested = Signal()
    """The learner wants to choose a lesson."""
    term_requested = Signal(str)
    """A term to explain."""
    node_requested = Signal(str)
    """Path of a node to show."""
    next_requested = Signal()
    back_requested = Signal()
    restart_requested = Signal()

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setAccessibleName("Lesson")
        self.session: LessonSession | None = None
        self.view: LessonView | None = None
        empty = EmptyState(
            "lesson",
            "No lesson",
            "Lessons teach the material step by step, each on a separate project.",
            action="Choose a lesson",
            run=self.lessons_requested.emit,
        )
        self._stack = QStackedLayout(self)
        self._stack.addWidget(empty)

    def attend(self, session: LessonSession) -> None:
        """Show a lesson."""
        self.session = session
        view = self.view = LessonView(session)
        view.term_requested.connect(self.term_requested)
        view.node_requested.connect(self.node_requested)
        view.next_requested.connect(self.next_requested)
        view.back_requested.connect(self.back_requested)
        view.restart_requested.connect(self.restart_requested)
        self._stack.setCurrentIndex(self._stack.addWidget(view))


class LessonView(QWidget):
    """Header with the list of steps, the shown step, and a footer to go on or back."""

    term_requested = Signal(str)
    node_requested = Signal(str)
    next_requested = Signal()
    back_requested = Signal()
    restart_requested = Signal()

    def __init__(self, session: LessonSession) -> None:
        super().__init__()
        self._session = session
        self._explains = False
        self._shown = ""
        """Id of the shown step."""
        self.prediction: PredictionForm | None = None
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(0)
        column.addWidget(self._header())
        column.addWidget(self._body(), 1)
        column.addWidget(self._footer())
        self._update = DeferredChange(self._refresh, self)
        session.changed.connect(self._update.run)
        session.step_changed.connect(self._update.run)
        session.step_completed.connect(self._on_completed)
        session.project.runner.state_changed.connect(self._on_run)
        self._refresh()

    # -- widgets

    def _header(self) -> QWidget:
        header = QWidget()
        column = QVBoxLayout(header)
        column.setContentsMargins(12, 10, 12, 8)
        column.setSpacing(6)
        column.addWidget(label(self._session.lesson.title, "heading", wrap=True))
        holder = QWidget()
        row = FlowLayout(holder, spacing=4, row_spacing=4)
        self.steps: list[QToolButton] = []
        for index in range(len(self._session.steps)):
            button = QToolButton()
            button.setText(str(index + 1))
            button.setProperty("kind", "lesson-step")
            button.setCheckable(True)
            button.setFocusPolicy(Qt.FocusPolicy.TabFocus)
            button.clicked.connect(partial(self._go, index))
            row.addWidget(button)
            self.steps.append(button)
        column.addWidget(holder)
        return header

    def _body(self) -> QWidget:
        page = QWidget()
        page.setObjectName("page")
        column = QVBoxLayout(page)
        column.setContentsMargins(12, 8, 12, 12)
        column.setSpacing(10)
        self.title = label("", "heading", wrap=True)
        self.goal = label("", "dim", wrap=True)
        self.text = LessonText("Text of the step")
        self.keys = label("", "small", wrap=True)
        self._prediction_slot = QVBoxLayout()
        self.checks = CheckList()
        self.check = buttons.text_button("Check", self._explain, icon="check")
        self.check.setToolTip("Say what is still missing in this step")
        self.hint = buttons.text_button("Hint", self._session.show_hint, kind="link", icon="help")
        self.hints = label("", wrap=True)
        self.done = QFrame()
        self.done.setProperty("role", "done")
        done = QVBoxLayout(self.done)
        done.setContentsMargins(10, 2, 0, 2)
        self.explanation = LessonText("Explanation")
        done.addWidget(label("Done", "section"))
        done.addWidget(self.explanation)
        row = QHBoxLayout()
        row.setSpacing(8)
        row.addWidget(self.check)
        row.addWidget(self.hint)
        row.addStretch(1)
        self.goals_title = label("To do", "section")
        for widget in (self.title, self.goal, self.text, self.keys):
            column.addWidget(widget)
        column.addLayout(self._prediction_slot)
        column.addWidget(self.goals_title)
        column.addWidget(self.checks)
        column.addWidget(self.hints)
        column.addLayout(row)
        column.addWidget(self.done)
        column.addStretch(1)
        self.text.term_requested.connect(self.term_requested)
        self.explanation.term_requested.connect(self.term_requested)
        self.checks.node_requested.connect(self.node_requested)
        self.page = QScrollArea()
        self.page.setAccessibleName("Step of the lesson")
        self.page.setWidgetResizable(True)
        self.page.setFrameShape(QFrame.Shape.NoFrame)
        self.page.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.page.setWidget(page)
        return self.page

    def _footer(self) -> QWidget:
        footer = QFrame()
        row = QHBoxLayout(footer)
        row.setContentsMargins(8, 6, 12, 8)
        row.setSpacing(6)
        self.restart = buttons.icon_button("reset", "Start the lesson again", self.restart_requested.emit)
        self.back = buttons.text_button("Back", self.back_requested.emit)
        self.next = buttons.text_button("Next", self.next_requested.emit)
        row.addWidget(self.restart)
        row.addStretch(1)
        row.addWidget(self.back)
        row.addWidget(self.next)
        return footer

    # -- state

    def _go(self, index: int, *_: object) -> None:
        self._session.go(index)
        self._refresh()

    def _explain(self) -> None:
        self._explains = True
        self._refresh()
        announce(self, self._summary())

    def _summary(self) -> str:
        """What is missing, for screen readers."""
        missing = [each.text for each in self._session.feedback if not each.is_met]
        return " ".join(missing) if missing else "The step is done."

    def _on_run(self, state: str) -> None:
        """After a run, say what it lacks."""
        if state in ("done", "stopped", "failed"):
            self._explains = True

    def _on_completed(self) -> None:
        """Show and announce the explanation."""
        QTimer.singleShot(0, self._scroll_to_explanation)
        explanation = plain_text(self._session.step.explanation)
        announce(self, f"Step done. {explanation or 'Go on with Next.'}")

    def _scroll_to_explanation(self) -> None:
        self.page.ensureWidgetVisible(self.done)

    def _refresh(self) -> None:
        session, step = self._session, self._session.step
        if step.id != self._shown:
            self._shown, self._explains = step.id, False
            self._show_step()
        is_done = session.is_done(step)
        self._refresh_steps()
        is_measured = bool(session.feedback or not step.conditions) and all(each.is_met for each in session.feedback)
        if self.prediction is not None:
            self.prediction.show_answer(session.answer, session.evaluation, is_measured=is_measured or is_done)
        has_goals = bool(step.conditions)
        self.goals_title.setVisible(has_goals)
        self.checks.setVisible(has_goals)
        self.checks.show_feedback(session.feedback, explains=self._explains)
        self.check.setVisible(has_goals and not is_done)
        count, shown = len(step.hints), session.shown_hints
        self.hint.setVisible(len(shown) < count and not is_done)
        self.hint.setText(f"Hint {len(shown) + 1} of {count}")
        self.hints.setText("\n".join(f"{number}. {hint}" for number, hint in enumerate(shown, start=1)))
        self.hints.setVisible(bool(shown) and not is_done)
        self.done.setVisible(is_done and bool(step.explanation))
        self.back.setEnabled(session.index > 0)
        self.next.setText("Finish" if session.is_last else "Next")
        kind = "primary" if is_done or step.is_read_only else ""
        if self.next.property("kind") != kind:
            self.next.setProperty("kind", kind)
            self.next.style().polish(self.next)

    def _refresh_steps(self) -> None:
        session = self._session
        for index, (button, step) in enumerate(zip(self.steps, session.steps, strict=True)):
            state = "done" if session.is_done(step) else ""
            button.setChecked(index == session.index)
            name = f"Step {index + 1}: {step.title}"
            button.setToolTip(tip(name))
            button.setAccessibleName(f"{name}, done" if state else name)
            if button.property("state") != state:
                button.setProperty("state", state)
                button.style().polish(button)

    def _show_step(self) -> None:
        session, step = self._session, self._session.step
        number = f"Step {session.index + 1} of {len(session.steps)}"
        self.title.setText(step.title)
        self.setAccessibleName(f"{number}: {step.title}")
        goal = f"After this lesson you can {session.lesson.goal}. About {session.lesson.minutes} minutes."
        self.goal.setText(goal)
        self.goal.setVisible(session.index == 0)
        self.text.show_text(step.text, session.lesson.terms)
        self.keys.setText(step.keys)
        self.keys.setVisible(bool(step.keys))
        self.explanation.show_text(step.explanation, session.lesson.terms)
        self._replace_prediction()
        self.page.verticalScrollBar().setValue(0)
        announce(self, f"{self.accessibleName()}. {plain_text(step.text)}")

    def _replace_prediction(self) -> None:
        if self.prediction is not None:
            self._prediction_slot.removeWidget(self.prediction)
            self.prediction.hide()
            self.prediction.deleteLater()
            self.prediction = None
        if self._session.step.prediction is not None:
            self.prediction = PredictionForm(self._session.step.prediction)
            self.prediction.predicted.connect(self._session.predict)
            self._prediction_slot.addWidget(self.prediction)


__all__ = ["LessonPanel", "LessonView"]
