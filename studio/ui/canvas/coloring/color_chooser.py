"""The button that opens the list of figures on the canvas."""

from __future__ import annotations

from collections.abc import Callable

from PySide6.QtCore import QSize, Qt
from PySide6.QtGui import QAction
from PySide6.QtWidgets import QMenu, QToolButton, QWidget

from studio.training.statistics.canvas_figures import FIGURES
from studio.ui.theme import fonts, icons

COMMANDS = ("view.color-none", *(f"view.color-{key}" for key in FIGURES))


class ColorChooser(QToolButton):
    """Shows the current figure; its menu has the commands of View › Color by.

    Args:
        find_action: the action of a command
    """

    def __init__(self, find_action: Callable[[str], QAction | None], parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._find_action = find_action
        self.setToolButtonStyle(Qt.ToolButtonStyle.ToolButtonTextBesideIcon)
        self.setLayoutDirection(Qt.LayoutDirection.RightToLeft)  # the arrow is after the text
        self.setIcon(icons.themed("chevron-down", "text-dim"))
        self.setIconSize(QSize(12, 12))
        self.setPopupMode(QToolButton.ToolButtonPopupMode.InstantPopup)
        self.setFocusPolicy(Qt.FocusPolicy.TabFocus)
        self.setProperty("kind", "small")
        self.setFont(fonts.interface(12))
        menu = QMenu(self)
        menu.aboutToShow.connect(self._fill)
        self.setMenu(menu)
        self.show_figure("")

    def show_figure(self, title: str) -> None:
        """Show the title of the figure; empty for none."""
        self.setText(title or "Color by")
        name = f"Color by {title}" if title else "Color by"
        self.setAccessibleName(name)
        self.setToolTip("Choose the figure by which nodes and wires are colored (Ctrl+Shift+C)")

    def _fill(self) -> None:
        menu = self.menu()
        menu.clear()
        for command in COMMANDS:
            if (action := self._find_action(command)) is not None:
                menu.addAction(action)


__all__ = ["ColorChooser"]
