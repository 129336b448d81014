"""Toolbar above the plots: curves, horizontal axis, smoothing."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from functools import partial
from typing import Any

from PySide6.QtCore import QSize, Qt, Signal
from PySide6.QtGui import QAction, QResizeEvent
from PySide6.QtWidgets import QHBoxLayout, QMenu, QSizePolicy, QToolButton, QWidget

from studio.training.runs.metric_points import is_auxiliary
from studio.ui.panels.runs.curve_plot import title
from studio.ui.panels.runs.curves_item import PlotOptions
from studio.ui.panels.runs.legend_icon import line_sample
from studio.ui.theme import icons
from studio.ui.widgets import buttons
from studio.ui.widgets.inputs import ComboBox, Slider
from studio.ui.widgets.labels import label

_NARROW = 640
"""Below this width the slider has no label."""
_COMPACT = 568
"""Below this width the buttons to fit and to copy the plots move to a menu."""
_ICON_ONLY = 504
"""Below this width the curve toggles have no labels."""
_TINY = 388
"""Below this width the slider is hidden."""
_SMALL = 344
"""Below this width the buttons of logarithmic axes move to the menu, too."""
_MIN_WIDTH = 272
_AXES = (("epoch", "Epochs"), ("step", "Steps"), ("seconds", "Time"))


class PlotToolbar(QWidget):
    changed = Signal(object)
    """The chosen PlotOptions."""
    plots_changed = Signal()
    """Other quantities were selected."""

    def __init__(
        self,
        shown: PlotOptions,
        *,
        fit: Callable[[], object],
        copy: Callable[[], object],
        parent: QWidget | None = None,
    ) -> None:
        super().__init__(parent)
        self.shown = shown
        self.hidden: set[str] = set()
        """Quantities without a plot. Quantities other than losses and metrics are hidden at first."""
        self._known_quantities: set[str] = set()
        self._legend_buttons: list[QToolButton] = []
        row = QHBoxLayout(self)
        row.setContentsMargins(8, 4, 8, 0)
        row.setSpacing(4)
        for kind, text in (("train", "Train"), ("validation", "Validation")):
            row.addWidget(self._switch(kind, text))
        row.addSpacing(4)
        self.axis = ComboBox()
        for key, text in _AXES:
            self.axis.addItem(text, key)
        self.axis.setAccessibleName("Horizontal axis")
        self.axis.setToolTip("Quantity on the horizontal axis")
        self.axis.setSizePolicy(QSizePolicy.Policy.Fixed, QSizePolicy.Policy.Fixed)
        self.axis.activated.connect(self._choose_axis)
        row.addWidget(self.axis)
        row.addSpacing(4)
        self._smoothing = label("Smoothing", "dim")
        row.addWidget(self._smoothing)
        self.slider = Slider(Qt.Orientation.Horizontal)
        self.slider.setRange(0, 99)
        self.slider.setValue(round(100 * shown.smoothing))
        self.slider.setMinimumWidth(40)
        self.slider.setMaximumWidth(96)
        self.slider.setAccessibleName("Smoothing")
        self.slider.setToolTip(
            "Smoothing of the strong line (exponential moving average). Faint lines are raw values of each batch."
        )
        self.slider.valueChanged.connect(lambda percent: self._show(smoothing=percent / 100))
        row.addWidget(self.slider)
        row.addSpacing(4)
        self._rare_actions = [
            QAction(icons.themed("log-x"), "Logarithmic horizontal axis", self),
            QAction(icons.themed("log-axis"), "Logarithmic vertical axis", self),
            QAction(icons.themed("fit"), "Fit all curves (double-click in a plot)", self),
            QAction(icons.themed("picture"), "Copy plots as image", self),
        ]
        for action, name in zip(self._rare_actions[:2], ("log_x", "log_y"), strict=True):
            action.setCheckable(True)
            action.toggled.connect(partial(self._switch_to, name))
        for action, run in zip(self._rare_actions[2:], (fit, copy), strict=True):
            action.triggered.connect(lambda _=False, run=run: run())
        self._separator = QAction(self)
        self._separator.setSeparator(True)
        self._buttons = [buttons.command_button(action, size=16) for action in self._rare_actions]
        for button in self._buttons[:2]:
            row.addWidget(button)
        row.addStretch(1)
        self.plots = buttons.icon_button("eye", "Select plots")
        self.plots.setPopupMode(QToolButton.ToolButtonPopupMode.InstantPopup)
        self.plots.setMenu(QMenu(self.plots))
        row.addWidget(self.plots)
        for button in self._buttons[2:]:
            row.addWidget(button)
        self.details = buttons.icon_button("info", "Show settings and results of the selected runs")
        self.details.setCheckable(True)
        row.addWidget(self.details)

    def set_quantities(self, quantities: Iterable[str]) -> None:
        """Set the available quantities."""
        menu = self.plots.menu()
        names = list(quantities)
        self.hidden |= {name for name in names if is_auxiliary(name)} - self._known_quantities
        self._known_quantities |= set(names)
        if [action.data() for action in menu.actions() if action.data()] == names:
            return
        menu.clear()
        for name in names:
            action = menu.addAction(title(name))
            action.setData(name)
            action.setCheckable(True)
            action.setChecked(name not in self.hidden)
            action.toggled.connect(partial(self._choose_plot, name))
        self._arrange_actions()

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._smoothing.setVisible(self.width() >= _NARROW)
        self.slider.setVisible(self.width() >= _TINY)
        has_words = self.width() >= _ICON_ONLY
        style = Qt.ToolButtonStyle.ToolButtonTextBesideIcon if has_words else Qt.ToolButtonStyle.ToolButtonIconOnly
        for button in self._legend_buttons:
            button.setToolButtonStyle(style)
        self._arrange_actions()

    def minimumSizeHint(self) -> QSize:
        minimum = super().minimumSizeHint()
        return QSize(min(minimum.width(), _MIN_WIDTH), minimum.height())

    def _arrange_actions(self) -> None:
        """Show rarely used actions as buttons, or in the menu of plots if space is short."""
        rare, width = self._rare_actions, self.width()
        in_menu = rare if width < _SMALL else rare[2:] if width < _COMPACT else []
        for button, action in zip(self._buttons, rare, strict=True):
            button.setVisible(action not in in_menu)
        menu = self.plots.menu()
        for action in (self._separator, *rare):
            menu.removeAction(action)
        if in_menu:
            menu.addActions([self._separator, *in_menu])

    def _switch(self, kind: str, text: str) -> QToolButton:
        button = QToolButton()
        button.setText(text)
        button.setIcon(line_sample(dashed=kind == "validation"))
        button.setIconSize(QSize(22, 14))
        button.setToolButtonStyle(Qt.ToolButtonStyle.ToolButtonTextBesideIcon)
        button.setCheckable(True)
        button.setChecked(True)
        button.setProperty("kind", "legend")
        button.setToolTip(f"Show or hide {text.lower()}")
        button.setAccessibleName(text)
        button.setFocusPolicy(Qt.FocusPolicy.TabFocus)
        button.clicked.connect(partial(self._switch_to, kind))
        self._legend_buttons.append(button)
        return button

    def _switch_to(self, name: str, on: bool) -> None:
        self._show(**{name: on})

    def _choose_axis(self, index: int) -> None:
        self._show(axis=self.axis.itemData(index))

    def _choose_plot(self, name: str, on: bool) -> None:
        self.hidden = self.hidden - {name} if on else self.hidden | {name}
        self.plots_changed.emit()

    def _show(self, **changes: Any) -> None:
        self.shown = replace(self.shown, **changes)
        self.changed.emit(self.shown)


__all__ = ["PlotToolbar"]
