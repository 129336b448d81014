"""The shown step of a run, with buttons to go to other steps, to follow the run and to compare steps."""

from __future__ import annotations

from functools import partial

from PySide6.QtCore import QSize, Qt
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import QHBoxLayout, QMenu, QToolButton, QWidget

from studio.training.runs.run_history import Run
from studio.ui.project.run_library import RunLibrary
from studio.ui.project.shown_moment import Moment, ShownMoment
from studio.ui.theme import fonts, icons
from studio.ui.widgets import buttons
from studio.ui.widgets.labels import ElidedLabel

_MAX_RUNS = 8
"""Maximum number of runs in the menu."""
_FOLLOW, _COMPARE, _STOP = "Follow the run", "Compare with…", "Stop comparing"
_AROUND_TITLE = 24
"""Padding of a button and the space beside it, in pixels."""


class MomentBar(QWidget):
    """Hidden until a step was measured."""

    def __init__(self, moment: ShownMoment, library: RunLibrary, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._moment, self._library = moment, library
        row = QHBoxLayout(self)
        row.setContentsMargins(8, 2, 8, 2)
        row.setSpacing(4)
        self.earlier = buttons.icon_button("chevron-left", "Previous measured step (Alt+,)", partial(moment.move, -1))
        self.later = buttons.icon_button("chevron-right", "Next measured step (Alt+.)", partial(moment.move, 1))
        self.text = ElidedLabel()
        self.text.setFont(fonts.interface(12))
        self.follow = buttons.text_button(_FOLLOW, moment.follow, kind="link")
        self.follow.setToolTip("Show the last measured step again, also while the run trains (Alt+/)")
        self.compare = QToolButton()
        self.compare.setText(_COMPARE)
        self.compare.setAccessibleName(_COMPARE)
        self.compare.setIcon(icons.themed("compare"))
        self.compare.setIconSize(QSize(16, 16))
        self.compare.setToolButtonStyle(Qt.ToolButtonStyle.ToolButtonTextOnly)
        self.compare.setToolTip("Color the canvas by the change since another step, or from another run")
        self.compare.setPopupMode(QToolButton.ToolButtonPopupMode.InstantPopup)
        self.compare.setFocusPolicy(Qt.FocusPolicy.TabFocus)
        menu = QMenu(self.compare)
        menu.aboutToShow.connect(self._fill)
        self.compare.setMenu(menu)
        self.stop = buttons.text_button(_STOP, partial(moment.compare, None), kind="link")
        for widget in (self.earlier, self.later, self.text, self.follow, self.compare, self.stop):
            row.addWidget(widget)
        moment.changed.connect(self.refresh)
        self.refresh()

    def refresh(self) -> None:
        """Show the current step."""
        shown, base = self._moment.moment, self._moment.base
        self.setVisible(shown is not None and (shown.statistics is not None or not self._moment.is_live))
        if shown is None:
            return
        text = shown.label if base is None else f"{shown.title} compared with {base.title_after(shown)}"
        self.text.setText(text)
        self.setAccessibleName("Shown step")
        self.setAccessibleDescription(text)
        self.follow.setVisible(not self._moment.is_live)
        self._fit()

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._fit()

    def _fit(self) -> None:
        """Shorten the buttons if the name of the step would be cut off."""
        is_comparing = self._moment.base is not None
        titles = [_COMPARE] + [_FOLLOW] * (not self._moment.is_live) + [_STOP] * is_comparing
        arrows = self.earlier.sizeHint().width() + self.later.sizeHint().width() + _AROUND_TITLE
        metrics = self.fontMetrics()
        needed = arrows + self.text.sizeHint().width()
        needed += sum(metrics.horizontalAdvance(title) + _AROUND_TITLE for title in titles)
        is_narrow = self.width() < needed
        self.follow.setText("Follow" if is_narrow else _FOLLOW)
        style = Qt.ToolButtonStyle.ToolButtonIconOnly if is_narrow else Qt.ToolButtonStyle.ToolButtonTextOnly
        self.compare.setToolButtonStyle(style)
        self.stop.setVisible(is_comparing and not is_narrow)  # it is in the menu, too

    def _fill(self) -> None:
        """Fill the menu with steps to compare with."""
        menu, shown = self.compare.menu(), self._moment.moment
        menu.clear()
        if shown is None:
            return
        if shown.statistics is not None:
            self._add(f"This step: {shown.title}", shown)
        steps = self._moment.measured_steps(shown.run)
        if len(steps):
            for title, step in (("First measured step", int(steps[0])), ("Last measured step", int(steps[-1]))):
                self._add(f"{title}: {step:,}", self._moment.at(shown.run, step))
        others = [run for run in reversed(self._library.runs) if run is not shown.run and run.folder is not None]
        measured = [run for run in others if len(self._moment.measured_steps(run))][:_MAX_RUNS]
        if measured:
            menu.addSeparator()
        for run in measured:
            self._add(f"{run.name}, step {shown.step:,}", self._same_step(run, shown.step))
        if self._moment.base is not None:
            menu.addSeparator()
            menu.addAction(_STOP).triggered.connect(lambda *_: self._moment.compare(None))

    def _same_step(self, run: Run, step: int) -> Moment:
        return self._moment.at(run, step)

    def _add(self, title: str, base: Moment) -> None:
        action = self.compare.menu().addAction(title)
        action.setEnabled(base.statistics is not None)
        action.triggered.connect(partial(self._compare, base))

    def _compare(self, base: Moment, *_: object) -> None:
        self._moment.compare(base)


__all__ = ["MomentBar"]
