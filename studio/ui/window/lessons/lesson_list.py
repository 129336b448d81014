"""The lessons of the start page, with the learner's progress."""

from __future__ import annotations

from pathlib import Path

from PySide6.QtCore import Qt, Signal
from PySide6.QtGui import QShowEvent
from PySide6.QtWidgets import QGridLayout, QHBoxLayout, QVBoxLayout, QWidget

from studio.document.document_errors import FileError
from studio.lessons.lesson import Lesson
from studio.lessons.lesson_files import shipped_lessons
from studio.lessons.progress import LessonProgress
from studio.ui.widgets.icon_widget import IconWidget
from studio.ui.widgets.labels import label, tip
from studio.ui.widgets.pressable import Pressable

_COLUMNS = 2


class LessonList(QWidget):
    """A row per lesson. The files are read when the list is first shown."""

    lesson_requested = Signal(object)
    """A Lesson."""

    def __init__(self, state: Path | None) -> None:
        super().__init__()
        self._state = state
        self._lessons: tuple[Lesson, ...] | None = None
        self._grid = QGridLayout(self)
        self._grid.setContentsMargins(0, 0, 0, 0)
        self._grid.setSpacing(12)
        self.cards: list[LessonCard] = []

    def refresh(self) -> None:
        """Show the current progress, if the list was shown before."""
        for card in self.cards:
            card.show_progress(LessonProgress(card.lesson, folder=self._state))

    def showEvent(self, event: QShowEvent) -> None:
        super().showEvent(event)
        if self._lessons is None:
            self._fill()
        self.refresh()

    def _fill(self) -> None:
        try:
            self._lessons = shipped_lessons()
        except (FileError, FileNotFoundError) as error:
            self._lessons = ()
            self._grid.addWidget(label(str(error), "error", wrap=True), 0, 0)
        for index, lesson in enumerate(self._lessons):
            card = LessonCard(lesson)
            card.pressed.connect(lambda lesson=lesson: self.lesson_requested.emit(lesson))
            self.cards.append(card)
            self._grid.addWidget(card, index // _COLUMNS, index % _COLUMNS)
            card.show()  # the layout would do so later, and it can get the focus now
        for column in range(_COLUMNS):
            self._grid.setColumnStretch(column, 1)


class LessonCard(Pressable):
    """A lesson: number, title, goal, duration, and how far the learner is."""

    def __init__(self, lesson: Lesson) -> None:
        super().__init__("card", lesson.title)
        self.lesson = lesson
        row = QHBoxLayout(self)
        row.setContentsMargins(12, 10, 12, 10)
        row.setSpacing(10)
        self._marks = {
            "done": IconWidget("ok", "ok", 20),
            "begun": IconWidget("run", "accent", 20),
            "new": IconWidget("circle", "border-strong", 20),
        }
        for mark in self._marks.values():
            row.addWidget(mark, 0, Qt.AlignmentFlag.AlignTop)
        texts = QVBoxLayout()
        texts.setSpacing(2)
        number = lesson.key.partition("-")[0]
        title = f"{int(number)}. {lesson.title}" if number.isdecimal() else lesson.title
        texts.addWidget(label(title, "heading", wrap=True))
        texts.addWidget(label(f"You can {lesson.goal}.", "small", wrap=True))
        self.state = label("", "small")
        texts.addWidget(self.state)
        texts.addStretch(1)
        row.addLayout(texts, 1)
        self.setToolTip(tip(f"After this lesson you can {lesson.goal}."))

    def show_progress(self, progress: LessonProgress) -> None:
        """Show how many steps are completed."""
        steps = self.lesson.all_steps
        done = sum(step.id in progress.read().done for step in steps)
        state = "done" if done == len(steps) else "begun" if done else "new"
        for name, mark in self._marks.items():
            mark.setVisible(name == state)
        texts = {"done": "Done", "begun": f"{done} of {len(steps)} steps", "new": f"{len(steps)} steps"}
        self.state.setText(f"{texts[state]} · {self.lesson.minutes} min")
        self.setAccessibleName(f"{self.lesson.title}, {self.state.text()}")


__all__ = ["LessonCard", "LessonList"]
