"""The button that opens the list of figures on the canvas."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from PySide6.QtCore import QPoint, QSize, Qt
from PySide6.QtGui import QAction, QKeySequence
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
        self.setFocusPolicy(Qt.FocusPolicy.TabFocus)
        self.setProperty("kind", "small")
        self.setFont(fonts.interface(12))
        self.clicked.connect(self._open)  # a menu of the button would be mirrored like the button
        self.show_figure("")

    def show_figure(self, title: str) -> None:
        """Show the title of the figure; empty for none."""
        self.setText(title or "Color by")
        name = f"Color by {title}" if title else "Color by"
        self.setAccessibleName(name)
        self.setToolTip("Choose the figure by which nodes and wires are colored (Ctrl+Shift+C)")

    def _open(self) -> None:
        """Open the menu above the button, because the button is at the bottom of the canvas."""
        menu = QMenu(self)
        menu.setLayoutDirection(Qt.LayoutDirection.LeftToRight)
        menu.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        menu.setToolTipsVisible(True)
        self._fill(menu)
        menu.popup(self.mapToGlobal(QPoint(0, -menu.sizeHint().height())))

    def _fill(self, menu: QMenu) -> None:
        """Add the figures by their sources. The titles of the commands would repeat "Color by" in each row."""
        if (none := self._find_action(COMMANDS[0])) is not None:
            menu.addAction(none)
        source = ""
        for key, figure in FIGURES.items():
            command = self._find_action(f"view.color-{key}")
            if command is None:
                continue
            if figure.source not in (source, "regions"):
                menu.addSeparator()
            source = figure.source
            keys = command.shortcut().toString(QKeySequence.SequenceFormat.NativeText)
            row = menu.addAction(f"{figure.title}\t{keys}" if keys else figure.title)
            row.setCheckable(True)
            row.setChecked(command.isChecked())
            row.setToolTip(figure.help)
            row.triggered.connect(partial(_run, command))


def _run(command: QAction, *_: object) -> None:
    command.trigger()


__all__ = ["ColorChooser"]
