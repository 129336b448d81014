"""The top bar: run controls, device, progress and live numbers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from PySide6.QtCore import QSize, QTimer
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import QHBoxLayout, QProgressBar, QVBoxLayout, QWidget

from studio.document import edits
from studio.training import data_bottleneck
from studio.training.run_progress import RunProgress
from studio.ui import number_format
from studio.ui.command_registry import CommandRegistry
from studio.ui.panels.runs.curve_plot import title
from studio.ui.project.project import Project
from studio.ui.theme import fonts
from studio.ui.widgets import buttons
from studio.ui.widgets.inputs import ComboBox
from studio.ui.widgets.labels import label

_DEVICES = (("auto", "Auto"), ("cpu", "CPU"), ("cuda", "GPU"))
_NUMBERS = 7
_REFRESH_MS = 150
"""Minimum interval between updates of the numbers."""


class TopBar(QWidget):
    """Shows one project, set by `watch`."""

    def __init__(self, commands: CommandRegistry, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._project: Project | None = None
        self._soon = QTimer(self)
        self._soon.setSingleShot(True)
        self._soon.setInterval(_REFRESH_MS)
        self._soon.timeout.connect(self.refresh)
        row = QHBoxLayout(self)
        row.setContentsMargins(0, 0, 0, 0)
        row.setSpacing(4)
        for command in ("run.start", "run.pause", "run.step", "run.stop"):
            button = buttons.command_button(commands.action(command), size=20)
            button.setProperty("kind", "transport")
            row.addWidget(button)
        row.addSpacing(8)
        self.device = ComboBox()
        self.device.setAccessibleName("Device")
        self.device.setToolTip("Training device. Auto uses the GPU if there is one.")
        for key, words in _DEVICES:
            self.device.addItem(words, key)
        self.device.activated.connect(self._choose_device)
        row.addWidget(self.device)
        row.addSpacing(12)
        row.addLayout(self._progress(), 2)
        row.addSpacing(16)
        self.numbers = _FigureRow()
        row.addWidget(self.numbers, 5)
        search = buttons.text_button(
            "Search commands", commands.action("help.commands").trigger, icon="search", kind="search"
        )
        keys = commands.shortcuts("help.commands")
        search.setToolTip(f"Search and run commands ({keys[0]})" if keys else "Search and run commands")
        row.addWidget(search)
        self.watch(None)

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
        if not self._soon.isActive():
            self._soon.start()

    def refresh(self, *_: object) -> None:
        """Show the current state of the run."""
        run = self._project.runner.run if self._project else None
        state = self._project.runner.state if self._project else "idle"
        progress = run.progress if run else RunProgress()
        self._bar.setValue(round(1000 * progress.fraction))
        # The length of a stream is unknown. A bar that stays empty would look stalled.
        self._bar.setVisible(run is not None and not (progress.step and progress.steps is None))
        self._progress_text.setText(_progress_text(progress, state))
        self.numbers.show_figures(self._figures(progress))
        if self._project is not None:
            self.device.setCurrentIndex(self.device.findData(self._project.store.document.training.device))

    def _progress(self) -> QVBoxLayout:
        column = QVBoxLayout()
        column.setSpacing(4)
        self._progress_text = label("", "dim")
        self._progress_text.setFont(fonts.interface(12))
        self._bar = QProgressBar()
        self._bar.setRange(0, 1000)
        self._bar.setTextVisible(False)
        self._bar.setAccessibleName("Training progress")
        self._bar.setMinimumWidth(160)
        column.addStretch(1)
        column.addWidget(self._progress_text)
        column.addWidget(self._bar)
        column.addStretch(1)
        return column

    def _figures(self, progress: RunProgress) -> list[_Figure]:
        """Figures of a run, most important first. The last ones are hidden when space runs out."""
        project = self._project
        if project is None or progress.loss is None:
            return []
        found = [_batch_loss(progress.loss, progress.val_loss)]
        found += [_measured(title(n), value, progress.val_metrics.get(n)) for n, value in progress.metrics.items()]
        if progress.learning_rate is not None:
            rate = f"{progress.learning_rate:.3g}"
            found.append(_Figure("Learning rate", rate, tip="Learning rate of the first optimizer in the last step"))
        if project.runner.is_active:
            rate = number_format.rate(progress.samples_per_second).removesuffix("/s")
            found.append(_Figure("Samples/s", rate, tip="Training samples per second, including the time to load them"))
            where = "the GPU" if project.runner.run and project.runner.run.device == "cuda" else "Gradwire"
            memory = number_format.size(project.runner.memory)
            found.append(_Figure("Memory", memory, tip=f"Memory in use by {where}, including data"))
            if progress.waiting is not None:
                found.append(_data_wait(progress.waiting))
        return found

    def _choose_device(self, index: int) -> None:
        if self._project is not None:
            device = self.device.itemData(index)
            self._project.store.edit("Set device", lambda document: edits.set_training(document, device=device))


@dataclass(frozen=True, slots=True)
class _Figure:
    title: str
    value: str
    beside: str = ""
    """The validation value."""
    tip: str = ""
    is_warning: bool = False


class _FigureRow(QWidget):
    """Figures in a row. The last ones are hidden when space runs out."""

    def __init__(self) -> None:
        super().__init__()
        row = QHBoxLayout(self)
        row.setContentsMargins(0, 0, 0, 0)
        row.setSpacing(0)
        self._shown = 0
        self.all = [_FigureWidget() for _ in range(_NUMBERS)]
        for number in self.all:
            row.addWidget(number)
        row.addStretch(1)

    def show_figures(self, found: Sequence[_Figure]) -> None:
        shown = min(len(found), _NUMBERS)
        changes = [number.show_figure(figure) for number, figure in zip(self.all, found, strict=False)]
        if any(changes) or shown != self._shown:
            self._shown = shown
            self._fit()

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._fit()

    def minimumSizeHint(self) -> QSize:
        return QSize(self.all[0].sizeHint().width() if self._shown else 0, super().minimumSizeHint().height())

    def sizeHint(self) -> QSize:
        width = sum(number.sizeHint().width() for number in self.all[: self._shown])
        return QSize(width, super().sizeHint().height())

    def _fit(self) -> None:
        room = self.width()
        for index, number in enumerate(self.all):
            room -= number.sizeHint().width()
            number.setVisible(index < self._shown and (room >= 0 or not index))


class _FigureWidget(QWidget):
    """A quantity with its training value, and its validation value dimmed."""

    def __init__(self) -> None:
        super().__init__()
        column = QVBoxLayout(self)
        column.setContentsMargins(8, 0, 8, 0)
        column.setSpacing(0)
        self.title = label("", "small")
        self.value, self.beside = label("", "mono"), label("", "mono-dim")
        row = self._values = QHBoxLayout()
        row.setSpacing(8)
        row.addWidget(self.value)
        row.addWidget(self.beside)
        row.addStretch(1)
        column.addWidget(self.title)
        column.addLayout(row)
        self._widest, self._height = 0, super().sizeHint().height()

    def show_figure(self, figure: _Figure) -> bool:
        """Whether the required width has changed."""
        before = self._widest
        is_other = figure.title != self.title.text()
        self.title.setText(figure.title)
        self.value.setText(figure.value)
        self.beside.setText(figure.beside)
        self.beside.setVisible(bool(figure.beside))
        self.setToolTip(figure.tip)
        role = "mono-warning" if figure.is_warning else "mono"
        if self.value.property("role") != role:
            self.value.setProperty("role", role)
            self.style().unpolish(self.value)
            self.style().polish(self.value)
        self._values.invalidate()  # otherwise it keeps its old width until the next layout pass
        own = super().sizeHint()
        self._widest, self._height = max(0 if is_other else self._widest, own.width()), own.height()
        return self._widest != before

    def sizeHint(self) -> QSize:
        """Never shrinks, so that numbers do not shift while they change."""
        return QSize(self._widest, self._height)

    def minimumSizeHint(self) -> QSize:
        return self.sizeHint()


def _measured(name: str, train: float, validation: float | None) -> _Figure:
    beside = "" if validation is None else f"val {number_format.measured(validation)}"
    tip = f"{name}: mean over the batches of this epoch so far, then the last validation"
    return _Figure(name, number_format.measured(train), beside, tip)


def _batch_loss(train: float, validation: float | None) -> _Figure:
    """The run table shows the mean of an epoch instead."""
    shown = _measured("Batch loss", train, validation)
    return replace(shown, tip="Loss of the last training batch, then of the last validation")


def _data_wait(share: float) -> _Figure:
    is_much = share >= data_bottleneck.SHARE
    tip = "Share of the time in which training waits for the next batch"
    if is_much:
        tip += ". Use more loader workers or fewer transforms"
    return _Figure("Data wait", f"{share:.0%}", tip=f"{tip}.", is_warning=is_much)


def _progress_text(progress: RunProgress, state: str) -> str:
    if not progress.step:
        return {"running": "Starting…", "failed": "Failed before the first batch"}.get(state, "Ready")
    epoch = f"Epoch {progress.epoch} of {progress.epochs}" if progress.epochs else f"Epoch {progress.epoch}"
    parts = [epoch]
    if state in ("running", "paused", "stopped", "failed"):
        of = "" if progress.batches is None else f" of {progress.batches}"
        parts.append(f"batch {progress.batch}{of}")
    if state == "running":
        if (left := progress.seconds_left) is not None:
            parts.append(f"{number_format.duration(left)} left")
    else:
        parts.append(state)
    return " · ".join(parts)
