"""Docks around the canvas. Each holds one panel per open project and shows the current project's panel."""

from __future__ import annotations

from PySide6.QtCore import QSize, Qt
from PySide6.QtGui import QKeyEvent, QPainter, QPaintEvent
from PySide6.QtWidgets import QApplication, QDockWidget, QHBoxLayout, QMainWindow, QStackedWidget, QWidget

from studio.ui.project.project import Project
from studio.ui.theme import theme
from studio.ui.widgets import buttons
from studio.ui.widgets.labels import label

_MIN_HEIGHT = 120
"""Height that has room for the rows above the content of a panel."""


class Dock(QDockWidget):
    """`name` identifies the dock in saved layouts; `title` is shown."""

    def __init__(self, name: str, title: str, size: QSize, window: QMainWindow) -> None:
        super().__init__(title, window)
        self.setObjectName(name)
        self.title = title
        self._window = window
        self._panels: dict[Project, QWidget] = {}
        self._panel: QWidget | None = None
        self._stack = _PanelStack(size)
        self.setWidget(self._stack)
        self.visibilityChanged.connect(self._show_panel)
        self._bar = _TitleBar(self)
        self._empty_bar = QWidget()
        self.setTitleBarWidget(self._bar)

    @property
    def panel_parent(self) -> QWidget:
        """Parent for new panels. Qt applies the style sheet to all of a panel again if it gets another parent."""
        return self._stack

    @property
    def panel(self) -> QWidget | None:
        """Panel of the current project, also if the dock is hidden."""
        return self._panel

    def add(self, project: Project, panel: QWidget) -> None:
        """Add the panel of a project, whose parent is `panel_parent`."""
        panel.hide()  # otherwise Qt shows it with the stack, although it is not in its layout
        self._panels[project] = panel

    def remove(self, project: Project) -> None:
        panel = self._panels.pop(project)
        if panel is self._panel:
            self._panel = None
        self._stack.removeWidget(panel)
        panel.hide()
        panel.deleteLater()

    def show_for(self, project: Project | None) -> None:
        """Show the panel of `project`, or show it when the dock is revealed."""
        if project is not None:
            self._panel = self._panels[project]
            if self._stack.isVisible():
                self._show_panel(True)

    def _show_panel(self, visible: bool) -> None:
        """Lay the panel out only if it is visible, which takes as long as making it."""
        if visible and self._panel is not None:
            if self._stack.indexOf(self._panel) < 0:
                self._stack.addWidget(self._panel)
            self._stack.setCurrentWidget(self._panel)
        self._stack.setVisible(visible)  # Tab must not reach a panel behind another tab

    def reveal(self) -> None:
        """Open the dock and bring its tab to the front."""
        self._show_panel(True)
        self.show()
        self.raise_()

    def set_count(self, count: int) -> None:
        """Show a count in the title, "Problems (2)"; 0 hides it."""
        self.setWindowTitle(f"{self.title} ({count})" if count else self.title)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Pass unhandled keys of a floating dock to the main window, so that shortcuts keep working."""
        super().keyPressEvent(event)
        if self.isFloating():
            QApplication.sendEvent(self._window, event)

    def paintEvent(self, event: QPaintEvent) -> None:
        """Draw a border around a floating dock, which has no window frame."""
        super().paintEvent(event)
        if self.isFloating():
            painter = QPainter(self)
            painter.setPen(theme.current().color("border-strong"))
            painter.drawRect(self.rect().adjusted(0, 0, -1, -1))

    def update_bar(self, *, is_tabbed: bool) -> None:
        """Hide the title bar when a tab already shows the title."""
        title_bar = self._empty_bar if is_tabbed and not self.isFloating() else self._bar
        if self.titleBarWidget() is not title_bar:
            self.setTitleBarWidget(title_bar)


class _PanelStack(QStackedWidget):
    """Starts with a given preferred size; the user can resize it."""

    def __init__(self, size: QSize) -> None:
        super().__init__()
        self._size = size
        policy = self.sizePolicy()
        policy.setRetainSizeWhenHidden(True)
        self.setSizePolicy(policy)

    def sizeHint(self) -> QSize:
        return self._size

    def minimumSizeHint(self) -> QSize:
        return QSize(min(self._size.width(), 150), min(self._size.height(), _MIN_HEIGHT))


class _TitleBar(QWidget):
    def __init__(self, dock: Dock) -> None:
        super().__init__(dock)
        row = QHBoxLayout(self)
        row.setContentsMargins(12, 4, 4, 4)
        row.setSpacing(2)
        self._title = label(dock.title, "section")
        row.addWidget(self._title, 1)
        row.addWidget(
            buttons.icon_button(
                "external", "Float", lambda: dock.setFloating(not dock.isFloating()), token="text-dim", size=14
            )
        )
        row.addWidget(buttons.icon_button("close", "Close", dock.close, token="text-dim", size=14))
        for button in self.children():
            if isinstance(button, QWidget):
                button.setProperty("kind", "small")
        self.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        dock.windowTitleChanged.connect(self._title.setText)
