"""A row of the Problems panel."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from functools import partial
from typing import Literal, TypeAlias

from PySide6.QtCore import QPoint, Qt
from PySide6.QtGui import QContextMenuEvent, QKeyEvent, QMouseEvent, QResizeEvent
from PySide6.QtWidgets import QFrame, QHBoxLayout, QMenu, QSizePolicy, QVBoxLayout

from studio.lowering.problems.problem import Problem
from studio.ui.panels.fix_button import FixPreviewTrigger, fix_button
from studio.ui.panels.fix_trial_status import FixTrialStatus
from studio.ui.project.fix_previewer import FixPreviewer
from studio.ui.project.fix_trial_runner import FixTrialRunner
from studio.ui.project.project_store import Origin
from studio.ui.theme import fonts
from studio.ui.widgets.buttons import icon_button
from studio.ui.widgets.icon_widget import IconWidget
from studio.ui.widgets.labels import ElidedLabel, label
from studio.ui.widgets.severity import severity_style

Part: TypeAlias = Literal["row", "button"]
_NAME_LENGTH = 36
"""Maximum number of characters of a node's path in a row."""
_NARROWEST_NAME, _NARROWEST_MESSAGE = 96, 112
_FIX_MODIFIER = Qt.KeyboardModifier.AltModifier
_KEYS = "Enter shows the node; Up and Down go to other problems."
_FIX_KEYS = "Alt+Enter applies the fix, Enter shows the node; Up and Down go to other problems."
_ORIGINS: dict[Origin, str] = {"graph": "", "data": "From the data", "run": "From the last run"}


class ProblemRow(QFrame):
    """A problem: severity icon, node, message, fix button, menu.

    Args:
        go: shows the node of a problem
        fix: applies the recommended fix
        actions: fills the menu of the row; without it, the row has none
        origin: what shows the problem, "graph", "data" or "run"
        trials: tries the fixes; without it, no results are shown
    """

    def __init__(
        self,
        problem: Problem,
        go: Callable[[Problem], None],
        fix: Callable[[Problem], None],
        previewer: FixPreviewer,
        actions: Callable[[Problem, QMenu], None] | None = None,
        origin: Origin = "graph",
        *,
        trials: FixTrialRunner | None = None,
    ) -> None:
        super().__init__()
        self.problem = problem
        self._go, self._fix, self._actions = partial(go, problem), partial(fix, problem), actions
        self.setProperty("role", "row")
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.setCursor(Qt.CursorShape.PointingHandCursor)
        self.setAccessibleName(f"{problem.severity}: {problem.message}")
        row = QHBoxLayout(self)
        row.setContentsMargins(8, 6, 8, 6)
        row.setSpacing(8)
        style = severity_style(problem.severity)
        row.addWidget(IconWidget(style.icon, style.token))
        if problem.node:
            row.addWidget(_node_name(problem.node))
        row.addLayout(self._text(origin), 1)
        self._trial = None if trials is None else FixTrialStatus(problem, trials, self)
        offer = QVBoxLayout()
        offer.setSpacing(4)
        offer.addStretch(1)
        if problem.fix is not None:
            self.button = fix_button(problem.fix, self._fix, previewer, wraps=True)
            offer.addWidget(self.button, 0, Qt.AlignmentFlag.AlignRight)
        if self._trial is not None:
            offer.addWidget(self._trial, 0, Qt.AlignmentFlag.AlignRight)
        offer.addStretch(1)
        row.addLayout(offer)
        if problem.fix is not None:
            FixPreviewTrigger(self, problem.fix, previewer, hint=_FIX_KEYS, hovers=False)
        else:
            self.setToolTip(_KEYS)
        self.setAccessibleDescription(_KEYS if problem.fix is None else f"{problem.fix.title}. {_FIX_KEYS}")
        if actions is not None:
            self.more = icon_button("more", "More about this problem", self._open_menu, token="text-dim")
            row.addWidget(self.more, 0, Qt.AlignmentFlag.AlignVCenter)

    def show_trials(self) -> None:
        """Show the state of the trials of the fixes."""
        if self._trial is not None:
            self._trial.refresh()

    def _text(self, origin: Origin) -> QVBoxLayout:
        """The message, and below it where it comes from and why the fix is recommended."""
        column = QVBoxLayout()
        column.setSpacing(2)
        message = label(_without_name(self.problem), wrap=True)
        message.setMinimumWidth(_NARROWEST_MESSAGE)
        column.addWidget(message)
        if detail := " · ".join(_details(self.problem, origin)):
            below = label(detail, "dim", wrap=True)
            below.setMinimumWidth(_NARROWEST_MESSAGE)
            column.addWidget(below)
        return column

    def _open_menu(self) -> None:
        self._show_menu(self.more.mapToGlobal(QPoint(0, self.more.height())))

    def _show_menu(self, at: QPoint) -> None:
        if self._actions is not None:
            menu = QMenu(self)
            menu.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
            self._actions(self.problem, menu)
            menu.popup(at)

    def contextMenuEvent(self, event: QContextMenuEvent) -> None:
        is_key = event.reason() == QContextMenuEvent.Reason.Keyboard
        self._show_menu(self.mapToGlobal(self.rect().center()) if is_key else event.globalPos())

    def _focus_row(self, step: int) -> None:
        """Focus the row below (1) or above (-1)."""
        parent = self.parentWidget()
        rows = [] if parent is None else [row for row in parent.findChildren(ProblemRow) if row.parent() is parent]
        index = rows.index(self) + step if self in rows else -1
        if 0 <= index < len(rows):
            rows[index].setFocus(Qt.FocusReason.TabFocusReason)

    def focus_part(self) -> Part | None:
        """The focused part of a row."""
        if self.hasFocus():
            return "row"
        return "button" if self.problem.fix is not None and self.button.hasFocus() else None

    def take_focus(self, part: Part) -> None:
        """Focus the button, or the row if `part` is "row" or there is no button."""
        (self.button if part == "button" and self.problem.fix is not None else self).setFocus()

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        if self._trial is not None:
            self._trial.fit(event.size().width())

    def mousePressEvent(self, event: QMouseEvent) -> None:
        self._go()
        super().mousePressEvent(event)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.key() in (Qt.Key.Key_Return, Qt.Key.Key_Enter) and event.modifiers() & _FIX_MODIFIER:
            if self.problem.fix is not None:
                self._fix()
        elif event.key() in (Qt.Key.Key_Return, Qt.Key.Key_Enter, Qt.Key.Key_Space):
            self._go()
        elif event.key() in (Qt.Key.Key_Down, Qt.Key.Key_Up):
            self._focus_row(1 if event.key() == Qt.Key.Key_Down else -1)
        else:
            super().keyPressEvent(event)


def _details(problem: Problem, origin: Origin) -> Iterator[str]:
    if origin != "graph":
        yield _ORIGINS[origin]
    if problem.fix is not None and problem.fix.reason:
        yield problem.fix.reason.rstrip(".")


def _node_name(path: str) -> ElidedLabel:
    """The path of a node, which leaves room for the message in a narrow panel."""
    name = ElidedLabel(path, mode=Qt.TextElideMode.ElideMiddle)
    name.setFont(fonts.monospace(12))
    name.setMaximumWidth(name.fontMetrics().horizontalAdvance("m" * _NAME_LENGTH))
    name.setSizePolicy(QSizePolicy.Policy.Maximum, QSizePolicy.Policy.Fixed)
    name.setMinimumWidth(min(name.sizeHint().width() + 2, _NARROWEST_NAME))
    name.setToolTip(path)
    return name


def _without_name(problem: Problem) -> str:
    """The message without the node's name, which is shown before it."""
    return re.sub(rf"^{re.escape(problem.node)}(:? |\.)", "", problem.message) if problem.node else problem.message
