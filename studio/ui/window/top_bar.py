"""The top bar: run controls, device, progress and live values of the run."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from PySide6.QtCore import QSize, Qt, QTimer
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import QHBoxLayout, QProgressBar, QVBoxLayout, QWidget

from studio.training.diagnosis import data_bottleneck
from studio.training.run_progress import RunProgress
from studio.ui import number_format
from studio.ui.command_registry import CommandRegistry
from studio.ui.panels.runs.curve_plot import title
from studio.ui.project.project import Project
from studio.ui.theme import fonts
from studio.ui.widgets import buttons
from studio.ui.widgets.inputs import ComboBox
from studio.ui.widgets.labels import ElidedLabel, label

_DEVICES = (("auto", "Auto"), ("cpu", "CPU"), ("cuda", "GPU"))
_MAX_VALUES = 7
_SEARCH = "Search commands"
_MIN_WIDTH, _NARROW = 400, 620
"""Minimum width, and the width in pixels below which the search button shows only its icon."""
_KERNEL_HELP = "The first step waits for kernels. They are compiled once on this machine; later runs load them."
_REFRESH_MS = 150
"""Minimum interval between updates of the values."""


class TopBar(QWidget):
    """Shows one project, set by `watch`."""

    def __init__(self, commands: CommandRegistry, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._commands = commands
        self._project: Project | None = None
        self._refresh_timer = QTimer(self)
        self._refresh_timer.setSingleShot(True)
        self._refresh_timer.setInterval(_REFRESH_MS)
        self._refresh_timer.timeout.connect(self.refresh)
        row = QHBoxLayout(self)
        row.setContentsMargins(0, 0, 0, 0)
        row.setSpacing(4)
        self.run_button, *others = (
            buttons.command_button(commands.action(command), size=20)
            for command in ("run.start", "run.pause", "run.step", "run.stop")
        )
        for button in (self.run_button, *others):
            button.setProperty("kind", "transport")
            row.addWidget(button)
        row.addSpacing(8)
        self.device = ComboBox()
        self.device.setAccessibleName("Device")
        self.device.setToolTip("Training device. Auto uses the GPU if there is one.")
        for key, device_title in _DEVICES:
            self.device.addItem(device_title, key)
        self.device.activated.connect(self._choose_device)
        row.addWidget(self.device)
        row.addSpacing(12)
        row.addLayout(self._progress(), 2)
        row.addSpacing(16)
        self.live_values = _LiveValueRow()
        row.addWidget(self.live_values, 5)
        search = self._search = buttons.text_button(
            _SEARCH, commands.action("help.commands").trigger, icon="search", kind="search"
        )
        search.setAccessibleName(_SEARCH)
        search.setFocusPolicy(Qt.FocusPolicy.TabFocus)  # a click leaves the keys to what the command is about
        keys = commands.shortcuts("help.commands")
        search.setToolTip(f"Search and run commands ({keys[0]})" if keys else "Search and run commands")
        row.addWidget(search)
        self.watch(None)

    def minimumSizeHint(self) -> QSize:
        """The width without live values and with a short progress."""
        return QSize(_MIN_WIDTH, super().minimumSizeHint().height())

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._search.setText(_SEARCH if event.size().width() >= _NARROW else "")

    def watch(self, project: Project | None) -> None:
        """Show the state of `project`."""
        if self._project is not None:
            self._project.runner.events.disconnect(self._schedule)
            self._project.runner.state_changed.disconnect(self.refresh)
            self._project.store.document_changed.disconnect(self.refresh)
        self._project = project
        if project is not None:
            project.runner.events.connect(self._schedule)
            project.runner.state_changed.connect(self.refresh)
            project.store.document_changed.connect(self.refresh)
        self.setEnabled(project is not None)
        self.refresh()

    def _schedule(self, *_: object) -> None:
        if not self._refresh_timer.isActive():
            self._refresh_timer.start()

    def refresh(self, *_: object) -> None:
        """Show the current state of the run."""
        run = self._project.runner.run if self._project else None
        state = self._project.runner.state if self._project else "idle"
        progress = run.progress if run else RunProgress()
        self._bar.setValue(round(1000 * progress.fraction))
        # The length of a stream is unknown. A bar that stays empty would look stalled.
        self._bar.setVisible(run is not None and not (progress.step and progress.steps is None))
        kernel = self._project.runner.awaited_kernel if self._project and not progress.step else ""
        outcome = f"{state}, {run.loss_problem}" if run is not None and run.loss_problem and not run.is_live else state
        self._progress_text.setText(_progress_text(progress, state, kernel, outcome))
        if kernel:
            self._progress_text.setToolTip(_KERNEL_HELP)
        if state == "running" and not progress.step:
            self._schedule()  # kernels send no events
        self.live_values.show_values(self._live_values(progress))
        if self._project is not None:
            self.device.setCurrentIndex(self.device.findData(self._project.store.document.training.device))

    def _progress(self) -> QVBoxLayout:
        column = QVBoxLayout()
        column.setSpacing(4)
        self._progress_text = ElidedLabel()
        self._progress_text.setProperty("role", "dim")
        self._progress_text.setFont(fonts.interface(12))
        self._bar = QProgressBar()
        self._bar.setRange(0, 1000)
        self._bar.setTextVisible(False)
        self._bar.setAccessibleName("Training progress")
        self._bar.setMinimumWidth(80)
        column.addStretch(1)
        column.addWidget(self._progress_text)
        column.addWidget(self._bar)
        column.addStretch(1)
        return column

    def _live_values(self, progress: RunProgress) -> list[_LiveValue]:
        """Values of the run, most important first. The last ones are hidden if the bar is too narrow."""
        project = self._project
        if project is None or progress.loss is None:
            return []
        values = [_batch_loss_value(progress.loss, progress.val_loss)]
        values += [
            _measured_value(title(n), value, progress.val_metrics.get(n)) for n, value in progress.metrics.items()
        ]
        if progress.learning_rate is not None:
            rate = f"{progress.learning_rate:.3g}"
            values.append(
                _LiveValue("Learning rate", rate, tip="Learning rate of the first optimizer in the last step")
            )
        if project.runner.is_active:
            rate = number_format.rate(progress.samples_per_second).removesuffix("/s")
            values.append(
                _LiveValue("Samples/s", rate, tip="Training samples per second, including the time to load them")
            )
            where = "the GPU" if project.runner.run and project.runner.run.device == "cuda" else "Gradwire"
            memory = number_format.size(project.runner.memory)
            values.append(_LiveValue("Memory", memory, tip=f"Memory in use by {where}, including data"))
            if progress.waiting_fraction is not None:
                values.append(_data_wait_value(progress.waiting_fraction))
        return values

    def _choose_device(self, index: int) -> None:
        self._commands.run(f"run.device-{self.device.itemData(index)}")


@dataclass(frozen=True, slots=True)
class _LiveValue:
    title: str
    value: str
    validation: str = ""
    tip: str = ""
    is_warning: bool = False


class _LiveValueRow(QWidget):
    """Values in a row. The last ones are hidden if the row is too narrow."""

    def __init__(self) -> None:
        super().__init__()
        row = QHBoxLayout(self)
        row.setContentsMargins(0, 0, 0, 0)
        row.setSpacing(0)
        self._shown = 0
        self.all = [_LiveValueWidget() for _ in range(_MAX_VALUES)]
        for widget in self.all:
            row.addWidget(widget)
        row.addStretch(1)

    def show_values(self, values: Sequence[_LiveValue]) -> None:
        shown = min(len(values), _MAX_VALUES)
        changes = [widget.show_value(live_value) for widget, live_value in zip(self.all, values, strict=False)]
        if any(changes) or shown != self._shown:
            self._shown = shown
            self._fit()

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._fit()

    def minimumSizeHint(self) -> QSize:
        return QSize(0, super().minimumSizeHint().height())

    def sizeHint(self) -> QSize:
        width = sum(widget.sizeHint().width() for widget in self.all[: self._shown])
        return QSize(width, super().sizeHint().height())

    def _fit(self) -> None:
        remaining_width = self.width()
        for index, widget in enumerate(self.all):
            remaining_width -= widget.sizeHint().width()
            widget.setVisible(index < self._shown and remaining_width >= 0)


class _LiveValueWidget(QWidget):
    """Title and training value of a quantity, with the validation value dimmed."""

    def __init__(self) -> None:
        super().__init__()
        column = QVBoxLayout(self)
        column.setContentsMargins(8, 0, 8, 0)
        column.setSpacing(0)
        self.title = label("", "small")
        self.value, self.validation = label("", "mono"), label("", "mono-dim")
        row = self._values = QHBoxLayout()
        row.setSpacing(8)
        row.addWidget(self.value)
        row.addWidget(self.validation)
        row.addStretch(1)
        column.addWidget(self.title)
        column.addLayout(row)
        self._widest, self._height = 0, super().sizeHint().height()

    def show_value(self, live_value: _LiveValue) -> bool:
        """Show a value. Returns whether the required width changed."""
        before = self._widest
        is_other_quantity = live_value.title != self.title.text()
        self.title.setText(live_value.title)
        self.value.setText(live_value.value)
        self.validation.setText(live_value.validation)
        self.validation.setVisible(bool(live_value.validation))
        self.setToolTip(live_value.tip)
        role = "mono-warning" if live_value.is_warning else "mono"
        if self.value.property("role") != role:
            self.value.setProperty("role", role)
            self.style().unpolish(self.value)
            self.style().polish(self.value)
        self._values.invalidate()  # otherwise it keeps its old width until the next layout pass
        hint = super().sizeHint()
        self._widest, self._height = max(0 if is_other_quantity else self._widest, hint.width()), hint.height()
        return self._widest != before

    def sizeHint(self) -> QSize:
        """Never shrinks while it shows one quantity, so that the numbers beside it do not move."""
        return QSize(self._widest, self._height)

    def minimumSizeHint(self) -> QSize:
        return self.sizeHint()


def _measured_value(name: str, train: float, validation: float | None) -> _LiveValue:
    validation_text = "" if validation is None else f"val {number_format.measured(validation)}"
    tip = f"{name}: mean over the batches of this epoch so far, then the last validation"
    return _LiveValue(name, number_format.measured(train), validation_text, tip)


def _batch_loss_value(train: float, validation: float | None) -> _LiveValue:
    """Loss of one batch; the run table shows the mean of an epoch instead."""
    shown = _measured_value("Batch loss", train, validation)
    return replace(shown, tip="Loss of the last training batch, then of the last validation")


def _data_wait_value(share: float) -> _LiveValue:
    is_much = share >= data_bottleneck.SHARE
    tip = "Share of the time in which training waits for the next batch"
    if is_much:
        tip += ". Use more loader workers or fewer transforms"
    return _LiveValue("Data wait", f"{share:.0%}", tip=f"{tip}.", is_warning=is_much)


def _progress_text(progress: RunProgress, state: str, kernel: str, outcome: str) -> str:
    if not progress.step:
        starting = f"Compiling kernel {kernel}…" if kernel else "Starting…"
        return {"running": starting, "failed": "Failed before the first batch"}.get(state, "Ready")
    epoch = f"Epoch {progress.epoch} of {progress.epochs}" if progress.epochs else f"Epoch {progress.epoch}"
    parts = [epoch]
    if state in ("running", "paused", "stopped", "failed"):
        of = "" if progress.batches is None else f" of {progress.batches}"
        parts.append(f"batch {progress.batch}{of}")
    if state == "running":
        if (remaining := progress.seconds_left) is not None:
            parts.append(f"{number_format.duration(remaining)} left")
    else:
        parts.append(outcome)
    return " · ".join(parts)
