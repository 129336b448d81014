"""The learner's prediction of a step: a choice, a number or a drawn curve, then the comparison with the measurement."""

from __future__ import annotations

from typing import cast

from PySide6.QtCore import Qt, Signal
from PySide6.QtGui import QKeyEvent, QMouseEvent
from PySide6.QtWidgets import QButtonGroup, QFrame, QHBoxLayout, QRadioButton, QVBoxLayout, QWidget

from studio.document.model import Json
from studio.lessons.lesson import COURSES, Choice, Curve, Number, Prediction
from studio.ui.panels.lesson.curve_sketch import CurveSketch
from studio.ui.project.lesson_session import Evaluation
from studio.ui.widgets import buttons
from studio.ui.widgets.flow_layout import FlowLayout
from studio.ui.widgets.inputs import LineEdit
from studio.ui.widgets.labels import label

_SHAPES = {
    "falls": (0.95, 0.55, 0.3, 0.16, 0.09, 0.05),
    "rises": (0.05, 0.45, 0.7, 0.84, 0.91, 0.95),
    "stays flat": (0.5, 0.5),
    "falls, then rises": (0.95, 0.4, 0.1, 0.15, 0.4, 0.7),
    "oscillates": (0.8, 0.2, 0.8, 0.2, 0.8, 0.2, 0.8, 0.2),
    "diverges": (0.05, 0.07, 0.12, 0.25, 0.55, 1.0),
}
"""Heights that stand for each course."""


class PredictionForm(QFrame):
    """Asks a question. After the answer was kept, it cannot be changed."""

    predicted = Signal(object)
    """The answer, a JSON value."""

    def __init__(self, prediction: Prediction) -> None:
        super().__init__()
        self.setProperty("role", "offer")
        self.setAccessibleName("Prediction")
        self._prediction = prediction
        self._course = ""
        column = QVBoxLayout(self)
        column.setContentsMargins(10, 10, 10, 10)
        column.setSpacing(6)
        self._heading = label("Predict first", "section")
        column.addWidget(self._heading)
        question = label(prediction.question, wrap=True)
        column.addWidget(question)
        self.options: list[QRadioButton] = []
        self.number: LineEdit | None = None
        self.sketch: CurveSketch | None = None
        self.courses: list[QWidget] = []
        match prediction:
            case Choice():
                column.addLayout(self._add_options(prediction))
            case Number():
                column.addWidget(self._number_field(prediction))
            case Curve():
                column.addWidget(self._add_sketch(prediction))
                self._presets = self._add_courses()
                column.addWidget(self._presets)
        self.keep = buttons.text_button("Keep prediction", self._keep)
        self.keep.setToolTip("Store the prediction. It is compared with the measurement, and cannot be changed.")
        row = QHBoxLayout()
        row.addWidget(self.keep)
        row.addStretch(1)
        column.addLayout(row)
        self.result = label("", wrap=True)
        self.result.hide()
        column.addWidget(self.result)
        self._refresh()

    def show_answer(self, answer: Json, evaluation: Evaluation | None, *, is_measured: bool) -> None:
        """Show a kept answer, and the comparison once the run is over."""
        if answer is None:
            return
        self._heading.setText("Your prediction")
        focused = self.window().focusWidget()
        if focused is not None and self.isAncestorOf(focused):  # Qt would give the focus to another panel
            self.setFocus()
        for index, option in enumerate(self.options):
            option.setChecked(index == answer)
            option.setEnabled(False)
        if self.number is not None:
            self.number.setText(f"{cast('float', answer):g}")
            self.number.setEnabled(False)
        if self.sketch is not None:
            heights = _SHAPES.get(answer, ()) if isinstance(answer, str) else cast("list[float]", answer)
            self.sketch.show_heights(heights)
            self.sketch.close_drawing()
            self._presets.hide()
            if evaluation is not None and is_measured and evaluation.curve:
                self.sketch.show_measured(evaluation.curve)
        self.keep.hide()
        comparison = evaluation.comparison if evaluation is not None and is_measured else None
        self.result.setText(comparison.text if comparison is not None else "Kept. Now do the step, and compare.")
        self.result.show()

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.key() in (Qt.Key.Key_Return, Qt.Key.Key_Enter) and self.keep.isVisible() and self.keep.isEnabled():
            self._keep()
        else:
            super().keyPressEvent(event)

    # -- the fields

    def _add_options(self, prediction: Choice) -> QVBoxLayout:
        column, group = QVBoxLayout(), QButtonGroup(self)
        column.setSpacing(2)
        for text in prediction.options:
            option = WrappingOption(text)
            group.addButton(option.button)
            option.button.toggled.connect(self._refresh)
            self.options.append(option.button)
            column.addWidget(option)
        return column

    def _number_field(self, prediction: Number) -> LineEdit:
        self.number = LineEdit()
        self.number.setAccessibleName(prediction.question)
        self.number.setPlaceholderText("a number")
        self.number.setMaximumWidth(140)
        self.number.textEdited.connect(self._refresh)
        return self.number

    def _add_sketch(self, prediction: Curve) -> CurveSketch:
        self.sketch = CurveSketch(prediction.figure.replace("_", " "))
        self.sketch.changed.connect(self._on_drawn)
        return self.sketch

    def _add_courses(self) -> QWidget:
        holder = QWidget()
        row = FlowLayout(holder, spacing=4, row_spacing=4)
        for course in COURSES:
            chip = buttons.toggle_button(course, tip=f"The curve {course}")
            chip.setCheckable(False)
            chip.clicked.connect(lambda *_, course=course: self._choose_course(course))
            row.addWidget(chip)
            self.courses.append(chip)
        return holder

    def _choose_course(self, course: str) -> None:
        assert self.sketch is not None
        self._course = course
        self.sketch.show_heights(_SHAPES[course])
        self._refresh()

    def _on_drawn(self) -> None:
        self._course = ""
        self._refresh()

    # -- the answer

    def _answer(self) -> Json:
        """The answer so far; None if it is incomplete."""
        if self.number is not None:
            try:
                return float(self.number.text().replace(",", ""))
            except ValueError:
                return None
        if self.sketch is not None:
            return self._course or list(self.sketch.heights) or None
        return next((index for index, option in enumerate(self.options) if option.isChecked()), None)

    def _refresh(self, *_: object) -> None:
        self.keep.setEnabled(self._answer() is not None)

    def _keep(self) -> None:
        answer = self._answer()
        if answer is not None:
            self.predicted.emit(answer)


class WrappingOption(QWidget):
    """A radio button whose text wraps."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.button = QRadioButton()
        self.button.setAccessibleName(text)
        self._text = label(text, wrap=True)
        row = QHBoxLayout(self)
        row.setContentsMargins(0, 0, 0, 0)
        row.setSpacing(6)
        row.addWidget(self.button, 0, Qt.AlignmentFlag.AlignTop)
        row.addWidget(self._text, 1)

    def mouseReleaseEvent(self, event: QMouseEvent) -> None:
        """A click on the text chooses the option."""
        if event.button() == Qt.MouseButton.LeftButton and self.rect().contains(event.position().toPoint()):
            self.button.click()


__all__ = ["PredictionForm"]
