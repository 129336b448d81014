"""Panel Step through: the forward pass, backward pass and update of one batch, node by node, with all values."""

from __future__ import annotations

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import QHBoxLayout, QSplitter, QStackedLayout, QVBoxLayout, QWidget

from studio.training.stepping.step_recording import NodeStep, Recording
from studio.ui import number_format
from studio.ui.panels.stepping.step_list import DIRECTIONS, StepList
from studio.ui.panels.stepping.value_table import ElementsView, ValueTable
from studio.ui.project.step_recordings import StepRecordings
from studio.ui.theme import fonts
from studio.ui.widgets import buttons
from studio.ui.widgets.empty_state import EmptyState
from studio.ui.widgets.labels import ElidedLabel

_TITLE = "No recorded step"
_HINT = (
    "Record forward, backward and update of the next batch to step through them node by node. Training is unchanged."
)


class StepPanel(QWidget):
    node_requested = Signal(str)
    """Path of a node to select on the canvas."""
    sight_changed = Signal(bool)
    """Whether the user sees the panel, so that the canvas marks the step."""

    def __init__(self, recordings: StepRecordings, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._recordings = recordings
        self.empty = EmptyState("step", _TITLE, _HINT, action="Record the next step", run=self._record_or_cancel)
        self.list = StepList()
        self.table = ValueTable()
        self.elements = ElementsView()
        self.title = ElidedLabel()
        self.title.setFont(fonts.interface(bold=True))
        self.check = ElidedLabel()
        self.check.setProperty("role", "dim")
        self.message = ElidedLabel()
        self.message.setProperty("role", "dim")
        self.previous = buttons.icon_button(
            "chevron-left", "Previous step (Shift+F8)", lambda: recordings.show_step(recordings.index - 1)
        )
        self.next = buttons.icon_button(
            "chevron-right", "Next step (F8)", lambda: recordings.show_step(recordings.index + 1)
        )
        self.nonfinite_button = buttons.icon_button(
            "error", "Next NaN or infinity (Ctrl+Shift+F8)", recordings.show_nonfinite
        )
        self._stack = QStackedLayout(self)
        self._stack.addWidget(self.empty)
        self._stack.addWidget(self._page())
        self.table.value_chosen.connect(self.elements.show_value)
        self.list.chosen.connect(recordings.show_step)
        self.list.opened.connect(self._open)
        recordings.changed.connect(self._show)
        recordings.moved.connect(self._show_step)
        recordings.outdated.connect(self._show_message)
        self._show()

    def set_in_sight(self, in_sight: bool) -> None:
        """Set whether the user sees the panel. Qt reports a dock widget behind another tab as visible, too."""
        self.sight_changed.emit(in_sight)

    def _page(self) -> QWidget:
        recordings = self._recordings
        bar = QHBoxLayout()
        bar.setContentsMargins(12, 4, 8, 4)
        bar.setSpacing(8)
        bar.addWidget(self.title, 2)
        bar.addWidget(self.check, 1)
        bar.addWidget(self.previous)
        bar.addWidget(self.next)
        bar.addWidget(self.nonfinite_button)
        bar.addWidget(buttons.icon_button("reset", "Record the next step again (Ctrl+F10)", recordings.record))
        values = QSplitter(Qt.Orientation.Vertical)
        values.addWidget(self.table)
        values.addWidget(self.elements)
        values.setSizes([150, 90])
        panes = QSplitter(Qt.Orientation.Horizontal)
        panes.addWidget(self.list)
        panes.addWidget(values)
        panes.setSizes([220, 640])
        panes.setStretchFactor(1, 1)
        page = QWidget()
        column = QVBoxLayout(page)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(0)
        column.addLayout(bar)
        column.addWidget(self.message)
        column.addWidget(panes, 1)
        self.message.setContentsMargins(12, 0, 12, 4)
        return page

    def _record_or_cancel(self) -> None:
        if self._recordings.state == "recording":
            self._recordings.cancel()
        else:
            self._recordings.record()

    def _open(self, number: int) -> None:
        recording = self._recordings.recording
        if recording is not None and 0 <= number < len(recording.steps):
            self.node_requested.emit(recording.steps[number].path)

    def _show(self) -> None:
        recordings = self._recordings
        match recordings.state:
            case "recording":
                self.empty.set_text("Recording…", "Each node is computed, and computed again to verify it.")
                self._label_button("Cancel")
            case "failed":
                self.empty.set_text("The step could not be recorded", recordings.problem)
                self._label_button("Record the next step")
            case _:
                self.empty.set_text(_TITLE, _HINT)
                self._label_button("Record the next step")
        recording = recordings.recording
        is_shown = recordings.state == "ready" and recording is not None
        self._stack.setCurrentIndex(int(is_shown))
        self.list.show_recording(recording)
        self._show_step()

    def _label_button(self, text: str) -> None:
        if self.empty.button is not None:
            self.empty.button.setText(text)

    def _show_step(self) -> None:
        recordings = self._recordings
        recording, step = recordings.recording, recordings.step
        self.table.show_step(step)
        if recording is None:
            return
        self.nonfinite_button.setEnabled(recording.first_nonfinite() is not None)
        self._enable_ends(recording)
        self._show_message()
        if step is None:
            self.title.setText("No node was computed")
            self.check.setText("")
            return
        self.list.show_step(step.number)
        of = f" · loss of {step.optimizer}" if step.optimizer else ""
        where = f"Step {step.number + 1} of {len(recording.steps)}"
        self.title.setText(f"{where} · {DIRECTIONS[step.direction]}{of} · {step.path}")
        self.title.setToolTip(_source(recording, step))
        self.check.setText(_check_text(recording, step))

    def _enable_ends(self, recording: Recording) -> None:
        """Disable the button that leads beyond the first or the last step; the other one takes its focus."""
        index, last = self._recordings.index, len(recording.steps) - 1
        for button, other, is_possible in (
            (self.previous, self.next, index > 0),
            (self.next, self.previous, index < last),
        ):
            if not is_possible and button.hasFocus():
                other.setEnabled(True)
                other.setFocus()
            button.setEnabled(is_possible)

    def _show_message(self) -> None:
        recording = self._recordings.recording
        self.message.setText("" if recording is None else self._message(recording))
        self.message.setVisible(bool(self.message.text()))

    def _message(self, recording: Recording) -> str:
        parts = []
        if recording.failure is not None:
            name = recording.failure.path or "The step"
            parts.append(f"{name} failed after the last step: {recording.failure.message}")
        if self._recordings.is_stale:
            parts.append("The graph has changed since this step was recorded.")
        if recording.message:
            parts.append(recording.message)
        return " ".join(parts)


def _check_text(recording: Recording, step: NodeStep) -> str:
    """The weights and the batch of the recording, and the verification."""
    source = "Initial weights, first batch" if recording.step is None else f"Training step {recording.step + 1:,}"
    difference = recording.differences.get(step.number)
    if difference is None:
        return source
    return f"{source} · recomputed: difference {number_format.norm(difference) if difference else 0}"


def _source(recording: Recording, step: NodeStep) -> str:
    if not step.line:
        return ""
    return f"Line {step.line}: {recording.source.splitlines()[step.line - 1].strip()}"


__all__ = ["StepPanel"]
