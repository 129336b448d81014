"""The bar above the problems: counts that filter by severity, dismissed problems, and the diagnosis of the loss."""

from __future__ import annotations

from collections import Counter
from functools import partial

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QHBoxLayout, QMenu, QToolButton, QWidget

from studio.lowering.problems.diagnoses import DIAGNOSES
from studio.lowering.problems.diagnosis import SEVERITIES
from studio.lowering.problems.dismissal import dismissed_codes, restore, restore_all
from studio.lowering.problems.problem_groups import grouped
from studio.ui.project.project_store import ProjectStore
from studio.ui.theme import icons
from studio.ui.widgets import buttons
from studio.ui.widgets.severity import severity_style

_NAMES = {"error": ("error", "errors"), "warning": ("warning", "warnings"), "hint": ("hint", "hints")}


class ProblemsHeader(QWidget):
    filter_changed = Signal()
    diagnosis_requested = Signal()

    def __init__(self, store: ProjectStore) -> None:
        super().__init__()
        self.setProperty("header", True)
        self._store = store
        row = QHBoxLayout(self)
        row.setContentsMargins(12, 6, 12, 2)
        row.setSpacing(6)
        self.filters: dict[str, QToolButton] = {}
        for severity in SEVERITIES:
            style = severity_style(severity)
            button = buttons.toggle_button("0", icon=style.icon, tip=f"Show {_NAMES[severity][1]}")
            button.setIcon(icons.themed(style.icon, style.token))
            button.setChecked(True)
            button.toggled.connect(lambda _: self.filter_changed.emit())
            self.filters[severity] = button
            row.addWidget(button)
        row.addStretch(1)
        self.dismissed = QToolButton()
        self.dismissed.setProperty("kind", "chip")
        self.dismissed.setPopupMode(QToolButton.ToolButtonPopupMode.InstantPopup)
        self.dismissed.setToolTip("Problems that the project does not show. Choose one to show it again.")
        self.dismissed.setMenu(QMenu(self.dismissed))
        row.addWidget(self.dismissed)
        self.diagnose = buttons.text_button("Diagnose the loss…", self.diagnosis_requested.emit, kind="link")
        self.diagnose.setToolTip("Find out why the loss does not fall, with experiments on a copy (Ctrl+Shift+L)")
        row.addWidget(self.diagnose)
        self.refresh()

    @property
    def hidden(self) -> frozenset[str]:
        """The severities that the user has hidden."""
        return frozenset(severity for severity, button in self.filters.items() if not button.isChecked())

    def refresh(self) -> None:
        """Show the counts of the current report, and the dismissed problems in the menu."""
        report = self._store.report
        counts = Counter(problem.severity for problem in grouped(report.problems, report.nodes))
        for severity, button in self.filters.items():
            number = counts[severity]
            noun = _NAMES[severity][0 if number == 1 else 1]
            button.setText(f"{number:,}")
            button.setAccessibleName(f"Show {number:,} {noun}")
        found = dismissed_codes(self._store.document)
        self.dismissed.setVisible(bool(found))
        self.dismissed.setText(f"{len(found):,} dismissed")
        self.dismissed.setAccessibleName(self.dismissed.text())
        self._fill(found)

    def _fill(self, found: list[tuple[str, str]]) -> None:
        menu = self.dismissed.menu()
        menu.clear()
        for path, code in found:
            title = DIAGNOSES[code].title if code in DIAGNOSES else code
            edit = partial(restore, path=path, code=code)
            shown = f"Show “{title}” of {path} again"
            menu.addAction(shown, partial(self._store.edit, shown, edit))
        if len(found) > 1:
            menu.addSeparator()
            menu.addAction("Show all again", partial(self._store.edit, "Show all problems again", restore_all))
