"""Header of the Profiler panel: start and cancel, number of steps, views, export."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial

from PySide6.QtCore import Signal
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import QButtonGroup, QCheckBox, QHBoxLayout, QMenu, QSizePolicy, QToolButton, QWidget

from studio.training.profiling.profile_data import Profile, ProfileStage
from studio.training.profiling.training_profile import DEFAULT_STEPS, MAX_STEPS
from studio.ui import number_format
from studio.ui.widgets import buttons
from studio.ui.widgets.inputs import ComboBox, SpinBox
from studio.ui.widgets.labels import ElidedLabel

VIEWS = ("Flame graph", "Table", "Memory", "Roofline")
STAGES = {
    "preparing": "Reading the data",
    "warming up": "Training the first steps of a copy",
    "compiling": "Compiling kernels",
    "measuring": "Measuring steps",
}
_NARROW = 620
"""Below this width a list replaces the buttons of the views."""


class ProfilerHeader(QWidget):
    view_chosen = Signal(int)

    def __init__(
        self,
        *,
        start: Callable[[], object],
        cancel: Callable[[], object],
        exports: Mapping[str, Callable[[], object]],
        parent: QWidget | None = None,
    ) -> None:
        super().__init__(parent)
        row = QHBoxLayout(self)
        row.setContentsMargins(12, 6, 8, 6)
        row.setSpacing(8)
        self.start = buttons.text_button("Profile", start, icon="clock")
        self.start.setToolTip("Measure training steps: of the run, or of a copy of the project without a run")
        self.cancel = buttons.text_button("Cancel", cancel)
        self.steps = SpinBox()
        self.steps.setRange(1, MAX_STEPS)
        self.steps.setValue(DEFAULT_STEPS)
        self.steps.setSuffix(" steps")
        self.steps.setAccessibleName("Steps to measure")
        self.steps.setToolTip("Training steps to measure. Steps slower than the median do not count.")
        self.eager = QCheckBox("Eager")
        self.eager.setToolTip("Run ops one by one on a copy of the project, without compilation")
        for widget in (self.start, self.cancel, self.steps, self.eager):
            row.addWidget(widget)
        row.addSpacing(4)
        self._group = QButtonGroup(self)
        self.views: list[QToolButton] = []
        for number, title in enumerate(VIEWS):
            button = buttons.toggle_button(title)
            self._group.addButton(button, number)
            self.views.append(button)
            row.addWidget(button)
        self._group.idClicked.connect(self.show_view)
        self.view_list = ComboBox()
        self.view_list.addItems(list(VIEWS))
        self.view_list.setAccessibleName("View of the profile")
        self.view_list.setSizePolicy(QSizePolicy.Policy.Fixed, QSizePolicy.Policy.Fixed)
        self.view_list.activated.connect(self.show_view)
        row.addWidget(self.view_list)
        self._text = ElidedLabel()
        self._text.setProperty("role", "dim")
        row.addWidget(self._text, 1)
        self.export = buttons.icon_button("save", "Export profile")
        menu = QMenu(self.export)
        for title, run in exports.items():
            menu.addAction(title).triggered.connect(partial(_call, run))
        self.export.setMenu(menu)
        self.export.setPopupMode(QToolButton.ToolButtonPopupMode.InstantPopup)
        row.addWidget(self.export)
        self.show_view(0)

    @property
    def text(self) -> str:
        return self._text.text()

    def show_stage(self, stage: ProfileStage | None) -> None:
        """Show the progress; None if nothing is measured."""
        is_working = stage is not None
        self.start.setVisible(not is_working)
        self.cancel.setVisible(is_working)
        if stage is not None:
            self._text.setText(stage_text(stage))

    def show_run(self, *, running: bool) -> None:
        """While a run trains, its steps are measured as they are."""
        self.eager.setEnabled(not running)

    def show_profile(self, profile: Profile | None) -> None:
        """Show what was measured, and enable the views."""
        for widget in (*self.views, self.view_list, self.export):
            widget.setEnabled(profile is not None)
        if profile is None:
            self._text.setText("")
            return
        counted = sum(step.is_counted for step in profile.steps)
        mode = "" if profile.mode == "compiled" else ", eager"
        self._text.setText(
            f"{number_format.milliseconds(profile.seconds)} a step{mode}, "
            f"{number_format.count(profile.batch_size, 'samples')}, mean of {counted} of {len(profile.steps)} steps"
        )

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        is_narrow = self.width() < _NARROW
        self.view_list.setVisible(is_narrow)
        for button in self.views:
            button.setVisible(not is_narrow)

    def show_view(self, number: int) -> None:
        """Choose a view by its index in VIEWS."""
        self.views[number].setChecked(True)
        self.view_list.setCurrentIndex(number)
        self.view_chosen.emit(number)


def stage_text(stage: ProfileStage) -> str:
    text = STAGES[stage.what]
    return f"{text}, {stage.done} of {stage.total}…" if stage.total else f"{text}…"


def _call(run: Callable[[], object], *_: object) -> None:
    run()


__all__ = ["STAGES", "VIEWS", "ProfilerHeader", "stage_text"]
