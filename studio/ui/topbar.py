"""The bar on top: run, pause, one batch, stop; device; how far it is; the numbers."""

from __future__ import annotations

from PySide6.QtWidgets import QComboBox, QHBoxLayout, QProgressBar, QVBoxLayout, QWidget

from studio.document import edits
from studio.training.progress import Progress
from studio.ui import figures, fonts
from studio.ui.commands import Commands
from studio.ui.panels.runs.plot import title
from studio.ui.project import Project
from studio.ui.widgets import buttons
from studio.ui.widgets.labels import label

_DEVICES = (("auto", "Auto"), ("cpu", "CPU"), ("cuda", "GPU"))
_NUMBERS = 3
_NUMBER_WIDTH = 148


class TopBar(QWidget):
    """Shows one project at a time; `watch` says which."""

    def __init__(self, commands: Commands, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._project: Project | None = None
        row = QHBoxLayout(self)
        row.setContentsMargins(0, 0, 0, 0)
        row.setSpacing(4)
        for command in ("run.start", "run.pause", "run.step", "run.stop"):
            button = buttons.for_action(commands.action(command), size=20)
            button.setProperty("kind", "transport")
            row.addWidget(button)
        row.addSpacing(8)
        self.device = QComboBox()
        self.device.setAccessibleName("Device")
        self.device.setToolTip("Where the model is trained. Auto takes the GPU if there is one.")
        for key, words in _DEVICES:
            self.device.addItem(words, key)
        self.device.activated.connect(self._choose_device)
        row.addWidget(self.device)
        row.addSpacing(12)
        row.addLayout(self._progress(), 2)
        row.addSpacing(16)
        self._numbers = [_Number() for _ in range(_NUMBERS)]
        for number in self._numbers:
            row.addWidget(number)
        row.addStretch(1)
        search = buttons.push("Search commands", commands.action("help.commands").trigger, icon="search", kind="search")
        keys = commands.shortcuts("help.commands")
        search.setToolTip(f"Find and run any command ({keys[0]})" if keys else "Find and run any command")
        row.addWidget(search)
        self.watch(None)

    def watch(self, project: Project | None) -> None:
        """Show this project from now on."""
        if self._project is not None:
            self._project.runner.events.disconnect(self.refresh)
            self._project.runner.state_changed.disconnect(self.refresh)
            self._project.store.document_changed.disconnect(self.refresh)
        self._project = project
        if project is not None:
            project.runner.events.connect(self.refresh)
            project.runner.state_changed.connect(self.refresh)
            project.store.document_changed.connect(self.refresh)
        self.setEnabled(project is not None)
        self.refresh()

    def refresh(self, *_: object) -> None:
        """Show how the run stands now."""
        run = self._project.runner.run if self._project else None
        state = self._project.runner.state if self._project else "idle"
        progress = run.progress if run else Progress()
        self._bar.setValue(round(1000 * progress.fraction))
        self._bar.setVisible(run is not None)
        self._words.setText(_words(progress, state))
        self._show_numbers(progress)
        if self._project is not None:
            self.device.setCurrentIndex(self.device.findData(self._project.store.document.training.device))

    def _progress(self) -> QVBoxLayout:
        column = QVBoxLayout()
        column.setSpacing(4)
        self._words = label("", "dim")
        self._words.setFont(fonts.interface(12))
        self._bar = QProgressBar()
        self._bar.setRange(0, 1000)
        self._bar.setTextVisible(False)
        self._bar.setAccessibleName("Progress of the run")
        self._bar.setMinimumWidth(160)
        column.addStretch(1)
        column.addWidget(self._words)
        column.addWidget(self._bar)
        column.addStretch(1)
        return column

    def _show_numbers(self, progress: Progress) -> None:
        shown: list[tuple[str, float, float | None]] = []
        if progress.loss is not None:
            shown.append(("Loss", progress.loss, progress.val_loss))
        shown += [(title(name), value, progress.val_metrics.get(name)) for name, value in progress.metrics.items()]
        for index, number in enumerate(self._numbers):
            number.setVisible(index < len(shown))
            if index < len(shown):
                number.show_values(*shown[index])

    def _choose_device(self, index: int) -> None:
        if self._project is not None:
            device = self.device.itemData(index)
            self._project.store.edit("Set device", lambda document: edits.set_training(document, device=device))


class _Number(QWidget):
    """A quantity with its value in training, and greyed in validation."""

    def __init__(self) -> None:
        super().__init__()
        self.setMinimumWidth(_NUMBER_WIDTH)
        column = QVBoxLayout(self)
        column.setContentsMargins(8, 0, 8, 0)
        column.setSpacing(0)
        self._title = label("", "small")
        self._train, self._validation = label("", "mono"), label("", "mono-dim")
        row = QHBoxLayout()
        row.setSpacing(8)
        row.addWidget(self._train)
        row.addWidget(self._validation)
        row.addStretch(1)
        column.addWidget(self._title)
        column.addLayout(row)

    def show_values(self, name: str, train: float, validation: float | None) -> None:
        self._title.setText(name)
        self._train.setText(figures.measured(train))
        self._validation.setText("" if validation is None else f"val {figures.measured(validation)}")
        self.setToolTip(f"{name} of the batches of this epoch so far, and of the last validation")


def _words(progress: Progress, state: str) -> str:
    if not progress.step:
        return {"running": "Starting", "failed": "Failed before the first batch"}.get(state, "Ready")
    epoch = f"Epoch {progress.epoch} of {progress.epochs}" if progress.epochs else f"Epoch {progress.epoch}"
    parts = [epoch]
    if state in ("running", "paused", "stopped", "failed"):
        parts.append(f"batch {progress.batch} of {progress.batches}")
    if state == "running":
        if (left := progress.seconds_left) is not None:
            parts.append(f"{figures.duration(left)} left")
        parts.append(figures.rate(progress.samples_per_second).replace("/s", " samples/s"))
    else:
        parts.append(state)
    return " · ".join(parts)
