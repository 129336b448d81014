"""The Problems panel: errors and warnings of the graph with their fixes."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import partial
from typing import Literal, TypeAlias

from PySide6.QtCore import Qt, Signal
from PySide6.QtGui import QKeyEvent, QMouseEvent
from PySide6.QtWidgets import QFrame, QHBoxLayout, QScrollArea, QSizePolicy, QStackedLayout, QVBoxLayout, QWidget

from studio.lowering.problems.problem import Problem
from studio.lowering.problems.problem_groups import grouped
from studio.ui.panels.fix_button import FixPreviewTrigger, fix_button
from studio.ui.project.fix_previewer import FixPreviewer
from studio.ui.project.project_store import ProjectStore
from studio.ui.theme import fonts
from studio.ui.widgets.deferred_change import DeferredChange
from studio.ui.widgets.empty_state import EmptyState
from studio.ui.widgets.icon_widget import IconWidget
from studio.ui.widgets.labels import ElidedLabel, label
from studio.ui.widgets.severity import severity_style

Part: TypeAlias = Literal["row", "button"]
_SHOWN = 200
"""Maximum number of rows; a damaged file may have thousands of problems."""
_NAME_LENGTH = 36
"""Maximum number of characters of a node's path in a row."""


_NARROWEST_NAME, _NARROWEST_MESSAGE = 96, 160
_FIX_MODIFIER = Qt.KeyboardModifier.AltModifier
_KEYS = "Enter shows the node; Up and Down go to other problems."
_FIX_KEYS = "Alt+Enter applies the fix, Enter shows the node; Up and Down go to other problems."


class ProblemsPanel(QWidget):
    """A row per problem (equal ones merged), errors first. A click selects the nodes."""

    activated = Signal(str)
    """Name of the node to show."""
    emptied = Signal()
    """The last problem is gone, and it had the keyboard focus."""

    def __init__(self, store: ProjectStore, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._store = store
        self._problems: tuple[Problem, ...] | None = None
        self._update = DeferredChange(self._show, self)
        self._empty = EmptyState("ok", "No problems", "Errors and warnings of the graph appear here.")
        self._rows = QWidget()
        self._rows.setObjectName("page")
        self._column = QVBoxLayout(self._rows)
        self._column.setContentsMargins(8, 8, 8, 8)
        self._column.setSpacing(2)
        scroll = QScrollArea()
        scroll.setAccessibleName("Problems")
        scroll.setWidgetResizable(True)
        scroll.setFrameShape(QFrame.Shape.NoFrame)
        scroll.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        scroll.setWidget(self._rows)
        self._stack = QStackedLayout(self)
        self._stack.addWidget(self._empty)
        self._stack.addWidget(scroll)
        store.report_changed.connect(self._update.run)
        self._show()

    @property
    def rows(self) -> list[ProblemRow]:
        return [row for row in self._rows.findChildren(ProblemRow) if row.parent() is self._rows]

    def _show(self) -> None:
        report = self._store.report
        if report.problems == self._problems:
            return
        self._problems = report.problems
        before: list[Part | None] = [row.focus_part() for row in self.rows]
        for row in self.rows:
            row.setParent(None)
            row.deleteLater()
        while self._column.count():
            self._column.takeAt(0)
        ordered = sorted(grouped(report.problems, report.nodes), key=lambda problem: problem.rank)
        for problem in ordered[:_SHOWN]:
            row = ProblemRow(problem, self._go, self._fix, self._store.fix_previewer)
            self._column.addWidget(row)
        self._column.addStretch(1)
        self._stack.setCurrentIndex(1 if ordered else 0)
        for index, part in enumerate(before):
            if part is not None and ordered:  # keep the keyboard focus, on the next problem if this one is gone
                row = self.rows[min(index, len(self.rows) - 1)]
                row.show()  # Qt shows new rows later, and a hidden one can lose the focus until then
                row.take_focus(part)
        if not ordered and any(before):
            self.emptied.emit()

    def _go(self, problem: Problem) -> None:
        path = problem.node or (problem.wire.target.node if problem.wire else None)
        if path is not None:
            self.activated.emit(path)
            self._store.select([path, *problem.also])

    def _fix(self, problem: Problem) -> None:
        assert problem.fix is not None
        self._store.apply_fix(problem.fix, problem.node)


class ProblemRow(QFrame):
    """A problem: severity icon, node, message, fix button."""

    def __init__(
        self,
        problem: Problem,
        go: Callable[[Problem], None],
        fix: Callable[[Problem], None],
        previewer: FixPreviewer,
    ) -> None:
        super().__init__()
        self.problem = problem
        self._go, self._fix = partial(go, problem), partial(fix, problem)
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
        message = label(_without_name(problem), wrap=True)
        message.setMinimumWidth(_NARROWEST_MESSAGE)
        row.addWidget(message, 1)
        if problem.fix is not None:
            self.button = fix_button(problem.fix, self._fix, previewer, wraps=True)
            row.addWidget(self.button, 0, Qt.AlignmentFlag.AlignVCenter)
            FixPreviewTrigger(self, problem.fix, previewer, hint=_FIX_KEYS, hovers=False)
        else:
            self.setToolTip(_KEYS)
        self.setAccessibleDescription(_KEYS if problem.fix is None else f"{problem.fix.title}. {_FIX_KEYS}")

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
