"""What a step asks for: one row per condition, ticked once it is met, with feedback where the learner asks for it."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import QHBoxLayout, QVBoxLayout, QWidget

from studio.lessons.feedback import Feedback
from studio.ui.widgets import buttons
from studio.ui.widgets.icon_widget import IconWidget
from studio.ui.widgets.labels import label


class CheckList(QWidget):
    """Rows of goals. `Check` shows what was found and the next step for those that are not met."""

    node_requested = Signal(str)

    def __init__(self) -> None:
        super().__init__()
        self.setAccessibleName("Checks of the step")
        self._feedback: tuple[Feedback, ...] = ()
        self._explains = False
        self._column = QVBoxLayout(self)
        self._column.setContentsMargins(0, 0, 0, 0)
        self._column.setSpacing(4)
        self.rows: list[CheckRow] = []

    def show_feedback(self, feedback: Sequence[Feedback], *, explains: bool) -> None:
        """Show the state of the conditions, and for open ones what is missing if `explains`."""
        if tuple(feedback) == self._feedback and explains == self._explains:
            return
        self._feedback, self._explains = tuple(feedback), explains
        for row in self.rows:
            self._column.removeWidget(row)
            row.hide()
            row.deleteLater()
        self.rows = [CheckRow(each, explains=explains) for each in feedback]
        for row in self.rows:
            row.node_requested.connect(self.node_requested)
            self._column.addWidget(row)


class CheckRow(QWidget):
    """One condition."""

    node_requested = Signal(str)

    def __init__(self, feedback: Feedback, *, explains: bool) -> None:
        super().__init__()
        self.feedback = feedback
        self.setAccessibleName(f"{'Done' if feedback.is_met else 'Open'}: {feedback.goal}")
        row = QHBoxLayout(self)
        row.setContentsMargins(0, 0, 0, 0)
        row.setSpacing(8)
        icon = IconWidget("ok", "ok") if feedback.is_met else IconWidget("circle", "border-strong")
        row.addWidget(icon, 0, Qt.AlignmentFlag.AlignTop)
        texts = QVBoxLayout()
        texts.setSpacing(2)
        texts.addWidget(label(feedback.goal, "dim" if feedback.is_met else "", wrap=True))
        self.text = feedback.text if explains else ""
        if self.text:
            self.setAccessibleDescription(self.text)
            texts.addWidget(label(self.text, "warning", wrap=True))
            if feedback.node is not None:
                node = feedback.node
                texts.addWidget(
                    buttons.text_button(f"Show {node}", lambda: self.node_requested.emit(node), kind="link"),
                    0,
                    Qt.AlignmentFlag.AlignLeft,
                )
        row.addLayout(texts, 1)


__all__ = ["CheckList", "CheckRow"]
