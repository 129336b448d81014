"""The path of the shown graph: the project, the instances that were entered, and the chooser of a copy."""

from __future__ import annotations

from functools import partial

from PySide6.QtCore import QRectF, QSize, Qt
from PySide6.QtGui import QAction, QActionGroup, QFont, QKeyEvent, QPainter, QPaintEvent
from PySide6.QtWidgets import QHBoxLayout, QMenu, QToolButton, QWidget

from studio.document.blocks.block_locations import Location, block_at, copy_count
from studio.ui.project.scope_store import ScopeStore
from studio.ui.theme import icons
from studio.ui.theme.theme import ThemeManager
from studio.ui.widgets.icon_widget import IconWidget

_MARGIN = 12
_MAX_NAME = 24
"""Characters of a name before it is cut."""


class BreadcrumbBar(QWidget):
    """Shown inside blocks, at the top left of the canvas. Each part goes to its graph; Escape returns to the canvas."""

    def __init__(self, store: ScopeStore, themes: ThemeManager, view: QWidget, parent: QWidget) -> None:
        super().__init__(parent)
        self._store, self._themes, self._view = store, themes, view
        self.setAccessibleName("Path of the shown block")
        self.setCursor(Qt.CursorShape.ArrowCursor)
        self._row = QHBoxLayout(self)
        self._row.setContentsMargins(4, 3, 4, 3)
        self._row.setSpacing(2)
        self._shown: tuple[tuple[str, str, int, int], ...] = ()
        store.location_changed.connect(self.refresh)
        store.document_changed.connect(self.refresh)
        store.project.document_changed.connect(self.refresh)
        store.project.path_changed.connect(self.refresh)
        self.refresh()

    @property
    def buttons(self) -> list[QToolButton]:
        return [button for button in self.findChildren(QToolButton) if button.parent() is self]

    def refresh(self, *_: object) -> None:
        """Show the current location."""
        location = self._store.location
        parts = tuple(self._part(location[: depth + 1]) for depth in range(len(location)))
        shown = ((self._store.project.name, "", 1, 0), *parts) if parts else ()
        if shown != self._shown:
            self._shown = shown
            self._rebuild(location)
        self.setVisible(bool(location))
        self.place()

    def place(self) -> None:
        """Keep the bar at the top left, within the canvas."""
        parent = self.parentWidget()
        assert parent is not None
        size = self.sizeHint().boundedTo(QSize(max(parent.width() - 2 * _MARGIN, 0), self.sizeHint().height()))
        self.setGeometry(_MARGIN, _MARGIN, size.width(), size.height())
        self.raise_()

    def focus(self) -> None:
        """Focus the last part, for the keyboard."""
        if self.buttons:
            self.buttons[-1].setFocus(Qt.FocusReason.ShortcutFocusReason)

    def _part(self, location: Location) -> tuple[str, str, int, int]:
        """Name of the instance, of its block, number of copies, and the shown copy."""
        document = self._store.project.document
        return location[-1].instance, block_at(document, location), copy_count(document, location), location[-1].copy

    def _rebuild(self, location: Location) -> None:
        while (item := self._row.takeAt(0)) is not None:
            if (widget := item.widget()) is not None:
                widget.setParent(None)
                widget.deleteLater()
        for depth, (name, block, copies, copy) in enumerate(self._shown):
            if depth:
                self._add(IconWidget("chevron-right", "text-dim", 12))
            self._add(self._place_button(name, block, location[:depth], is_last=depth == len(location)))
            if copies > 1:
                self._add(self._copy_button(location[:depth], copies, copy))

    def _add(self, part: QWidget) -> None:
        self._row.addWidget(part)
        part.show()  # now, so that it counts in the size of the bar

    def _place_button(self, name: str, block: str, location: Location, *, is_last: bool) -> QToolButton:
        button = QToolButton()
        button.setText(name if len(name) <= _MAX_NAME else f"{name[: _MAX_NAME - 1]}…")
        tip = f"{name}, an instance of the block {block}" if block else f"The canvas of {name}"
        button.setToolTip(tip if is_last else f"Go to {tip}")
        button.setAccessibleName(tip if is_last else f"Go to {tip}")
        button.setProperty("kind", "small")
        button.setFocusPolicy(Qt.FocusPolicy.TabFocus)
        if is_last:
            font = button.font()
            font.setWeight(QFont.Weight.DemiBold)
            button.setFont(font)
        button.clicked.connect(partial(self._go, location))
        return button

    def _copy_button(self, location: Location, copies: int, copy: int) -> QToolButton:
        """A button with a menu of the copies of a repeated instance."""
        button = QToolButton()
        button.setText(f"×{copies} · copy {copy}")
        button.setIcon(icons.themed("chevron-down", "text-dim"))
        button.setIconSize(QSize(12, 12))
        button.setLayoutDirection(Qt.LayoutDirection.RightToLeft)
        button.setToolButtonStyle(Qt.ToolButtonStyle.ToolButtonTextBesideIcon)
        tip = f"Copy {copy} of {copies} is shown: choose another (Ctrl+Page Down, Ctrl+Page Up)"
        button.setToolTip(tip)
        button.setAccessibleName(tip)
        button.setProperty("kind", "small")
        button.setFocusPolicy(Qt.FocusPolicy.TabFocus)
        button.clicked.connect(partial(self._open_copies, button, location, copies, copy))
        return button

    def _open_copies(self, button: QToolButton, location: Location, copies: int, copy: int, *_: object) -> None:
        menu = QMenu(self)
        menu.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        group = QActionGroup(menu)
        for index in range(copies):
            action = QAction(f"Copy {index}", menu, checkable=True, checked=index == copy)
            action.triggered.connect(partial(self._choose, location, index))
            group.addAction(action)
            menu.addAction(action)
        menu.popup(button.mapToGlobal(button.rect().bottomLeft()))

    def _choose(self, location: Location, copy: int, *_: object) -> None:
        if location == self._store.location:
            self._store.show_copy(copy)
        else:
            self._store.go((*location[:-1], location[-1]._replace(copy=copy)))
        self._view.setFocus(Qt.FocusReason.OtherFocusReason)

    def _go(self, location: Location, *_: object) -> None:
        store = self._store
        if len(location) < len(store.location):
            instance = store.location[len(location)].instance
            store.go(location)
            store.select([instance])
        self._view.setFocus(Qt.FocusReason.OtherFocusReason)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        steps = {Qt.Key.Key_Left: -1, Qt.Key.Key_Right: 1}
        if event.key() in steps:
            shown = self.buttons
            here = next((index for index, button in enumerate(shown) if button.hasFocus()), 0)
            shown[(here + steps[Qt.Key(event.key())]) % len(shown)].setFocus(Qt.FocusReason.TabFocusReason)
        elif event.key() == Qt.Key.Key_Escape:
            self._view.setFocus(Qt.FocusReason.OtherFocusReason)
        else:
            super().keyPressEvent(event)

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.setPen(self._themes.color("border"))
        painter.setBrush(self._themes.color("raised"))
        painter.drawRoundedRect(QRectF(self.rect()).adjusted(0.5, 0.5, -0.5, -0.5), 6, 6)
