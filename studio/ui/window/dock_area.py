"""All docks of the window: default layout, hide and show, save and restore."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

from PySide6.QtCore import QByteArray, QObject, QSize, Qt, QTimer
from PySide6.QtWidgets import QMainWindow, QTabBar, QTabWidget

from studio.ui.settings import LAYOUT_VERSION
from studio.ui.window.dock import Dock

_SIDES = {
    "palette": ("Palette", QSize(216, 600), Qt.DockWidgetArea.LeftDockWidgetArea),
    "inspector": ("Inspector", QSize(308, 600), Qt.DockWidgetArea.RightDockWidgetArea),
}
_BOTTOM = {
    "runs": "Runs",
    "problems": "Problems",
    "data": "Data",
    "autograd": "Autograd",
    "compile": "Compile",
    "code": "Code",
    "log": "Log",
    "history": "History",
    "probes": "Probes",
    "profiler": "Profiler",
    "breakpoints": "Breakpoints",
}
_BOTTOM_SIZE = QSize(900, 272)
_BESIDE = {
    "lesson": ("Lesson", QSize(300, 600), "palette"),
    "stepping": ("Step through", _BOTTOM_SIZE, "autograd"),
}
"""Docks that are closed by default, and the dock whose tabs they join."""
_NARROW = 800
"""Width of a window that has no room for docks at the sides, in pixels."""


class DockArea(QObject):
    """The docks, indexed by name."""

    def __init__(self, window: QMainWindow) -> None:
        super().__init__(window)
        self._window = window
        self._hidden_layout: QByteArray | None = None
        self._bottom_height = _BOTTOM_SIZE.height()
        self._has_default_sizes = True
        window.setDockOptions(
            QMainWindow.DockOption.AnimatedDocks
            | QMainWindow.DockOption.AllowNestedDocks
            | QMainWindow.DockOption.AllowTabbedDocks
            | QMainWindow.DockOption.GroupedDragging
        )
        window.setTabPosition(Qt.DockWidgetArea.AllDockWidgetAreas, QTabWidget.TabPosition.North)
        window.setCorner(Qt.Corner.BottomLeftCorner, Qt.DockWidgetArea.LeftDockWidgetArea)
        window.setCorner(Qt.Corner.BottomRightCorner, Qt.DockWidgetArea.RightDockWidgetArea)
        self._docks = {name: Dock(name, title, size, window) for name, (title, size, _) in _SIDES.items()}
        self._docks |= {name: Dock(name, title, _BOTTOM_SIZE, window) for name, title in _BOTTOM.items()}
        self._docks |= {name: Dock(name, title, size, window) for name, (title, size, _) in _BESIDE.items()}
        self._update_timer = QTimer(self)
        self._update_timer.setSingleShot(True)
        self._update_timer.setInterval(0)
        self._update_timer.timeout.connect(self._update_bars)
        for dock in self:
            for signal in (dock.topLevelChanged, dock.dockLocationChanged, dock.visibilityChanged):
                signal.connect(self._schedule_update)
        self.restore_default()

    def __iter__(self) -> Iterator[Dock]:
        return iter(self._docks.values())

    def __getitem__(self, name: str) -> Dock:
        return self._docks[name]

    @property
    def are_hidden(self) -> bool:
        """Whether `hide` has hidden all docks."""
        return self._hidden_layout is not None

    def restore_default(self) -> None:
        """Dock the palette left, the inspector right and all other panels as tabs at the bottom."""
        self._hidden_layout = None
        for dock in self:
            dock.setFloating(False)
        for name, (_, _, side) in _SIDES.items():
            self._window.addDockWidget(side, self[name])
        bottom = [self[name] for name in _BOTTOM]
        self._window.addDockWidget(Qt.DockWidgetArea.BottomDockWidgetArea, bottom[0])
        for before, dock in pairwise(bottom):
            # Each is a tab at once: side by side they would widen the window.
            self._window.tabifyDockWidget(before, dock)
        for name, (_, _, other) in _BESIDE.items():
            self._window.tabifyDockWidget(self[other], self[name])
        for dock in self:
            dock.setVisible(dock.objectName() not in _BESIDE)
        self._bottom_height = _BOTTOM_SIZE.height()
        self._set_default_sizes()
        bottom[0].raise_()
        self._schedule_update()

    def hide(self) -> None:
        """Hide all docks; `show` restores the ones that were open."""
        if self._hidden_layout is None:
            self._hidden_layout = self._window.saveState(LAYOUT_VERSION)
            for dock in self:
                dock.hide()

    def show(self) -> None:
        """Restore the docks that `hide` has hidden."""
        if self._hidden_layout is not None:
            layout, self._hidden_layout = self._hidden_layout, None
            self._window.restoreState(layout, LAYOUT_VERSION)
            if self._has_default_sizes:
                # Qt may save other sizes of docks that were hidden before the window was shown.
                self._set_default_sizes()
        self._has_default_sizes = False

    def layout(self) -> QByteArray:
        """The current layout, to save for the next start."""
        return self._hidden_layout if self._hidden_layout is not None else self._window.saveState(LAYOUT_VERSION)

    def restore(self, layout: QByteArray) -> None:
        """Restore a saved layout. A layout that does not match is ignored."""
        self._has_default_sizes = not self._window.restoreState(layout, LAYOUT_VERSION)
        self._schedule_update()

    def widen(self, name: str, width: int) -> None:
        """Make a dock at a side at least this wide."""
        if self[name].width() < width:
            self._window.resizeDocks([self[name]], [width], Qt.Orientation.Horizontal)

    def make_room(self, size: QSize) -> bool:
        """Close the docks at the sides if the window is too narrow for them. Returns whether it is.

        Their commands open them: Alt+1 and Alt+2.
        """
        is_narrow = size.width() < _NARROW
        if is_narrow:
            self._bottom_height = size.height() // 4
            self._window.resizeDocks([self["runs"]], [self._bottom_height], Qt.Orientation.Vertical)
            for name in _SIDES:
                self[name].hide()
        return is_narrow

    def _set_default_sizes(self) -> None:
        self._has_default_sizes = True
        widths = [size.width() for _, size, _ in _SIDES.values()]
        self._window.resizeDocks([self[name] for name in _SIDES], widths, Qt.Orientation.Horizontal)
        self._window.resizeDocks([self["runs"]], [self._bottom_height], Qt.Orientation.Vertical)

    def _schedule_update(self, *_: object) -> None:
        self._update_timer.start()

    def _update_bars(self) -> None:
        for dock in self:
            dock.update_bar(is_tabbed=bool(self._window.tabifiedDockWidgets(dock)))
        for bar in self._window.findChildren(QTabBar, options=Qt.FindChildOption.FindDirectChildrenOnly):
            bar.setDrawBase(False)
            bar.setAccessibleName("Panels")
            # Qt keeps the bar of docks that are hidden outside of the window.
            bar.setFocusPolicy(Qt.FocusPolicy.TabFocus if bar.count() else Qt.FocusPolicy.NoFocus)
            bar.setExpanding(False)
            bar.setDocumentMode(True)
            bar.setElideMode(Qt.TextElideMode.ElideNone)
            bar.setUsesScrollButtons(True)
            if bar.property("role") != "dense":
                bar.setProperty("role", "dense")
                bar.style().polish(bar)
