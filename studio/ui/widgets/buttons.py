"""Buttons with icons in theme colors."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from PySide6.QtCore import QSize, Qt
from PySide6.QtGui import QAction, QPaintEvent
from PySide6.QtWidgets import (
    QPushButton,
    QSizePolicy,
    QStyle,
    QStyleOptionButton,
    QStylePainter,
    QToolButton,
    QWidget,
)

from studio.ui.theme import icons


def icon_button(
    icon: str, tip: str, run: Callable[[], object] | None = None, *, token: str = "text", size: int = 16
) -> QToolButton:
    """An icon-only button; `tip` is also its accessible name."""
    button = QToolButton()
    button.setIcon(icons.themed(icon, token))
    button.setIconSize(QSize(size, size))
    button.setToolTip(tip)
    button.setAccessibleName(tip)
    button.setFocusPolicy(Qt.FocusPolicy.TabFocus)
    if run is not None:
        button.clicked.connect(partial(_press, run))
    return button


def command_button(action: QAction, *, size: int = 18) -> QToolButton:
    """An icon-only button for a command; follows its state."""
    button = QToolButton()
    button.setDefaultAction(action)
    button.setIconSize(QSize(size, size))
    button.setAccessibleName(action.text())
    button.setFocusPolicy(Qt.FocusPolicy.TabFocus)
    return button


def text_button(
    title: str, run: Callable[[], object], *, icon: str = "", kind: str = "", parent: QWidget | None = None
) -> QPushButton:
    """A text button; `kind` is "primary", "link" or ""."""
    button = QPushButton(title.replace("&", "&&"), parent)  # an ampersand in a name must not become a mnemonic
    button.setProperty("kind", kind)
    if icon:
        token = {"primary": "on-accent", "link": "accent"}.get(kind, "text")
        button.setIcon(icons.themed(icon, token))
        button.setIconSize(QSize(16, 16))
    button.clicked.connect(partial(_press, run))
    return button


def wrapping_button(title: str, run: Callable[[], object]) -> QPushButton:
    """A text button that wraps its label when space is narrow."""
    button = _WrappingButton(title)
    button.clicked.connect(partial(_press, run))
    return button


def toggle_button(title: str, *, icon: str = "", tip: str = "") -> QToolButton:
    """A small toggle button with text; `tip` is also its accessible name."""
    button = _ToggleButton()
    button.setText(title)
    if icon:
        button.setIcon(icons.themed(icon, "text"))
        button.setIconSize(QSize(16, 16))
        button.setToolButtonStyle(Qt.ToolButtonStyle.ToolButtonTextBesideIcon)
    if tip:
        button.setToolTip(tip)
        button.setAccessibleName(tip)
    button.setProperty("kind", "chip")
    button.setCheckable(True)
    button.setFocusPolicy(Qt.FocusPolicy.TabFocus)
    return button


class _ToggleButton(QToolButton):
    """Exactly as wide as its content.

    Beside an icon, Qt left-aligns the text and leaves the width of two spaces at the right.
    """

    def sizeHint(self) -> QSize:
        size = super().sizeHint()
        if self.toolButtonStyle() == Qt.ToolButtonStyle.ToolButtonTextBesideIcon:
            size.setWidth(size.width() - 2 * self.fontMetrics().horizontalAdvance(" "))
        return size

    def minimumSizeHint(self) -> QSize:
        return self.sizeHint()


class _WrappingButton(QPushButton):
    """At least as wide as the longest word, and as high as the wrapped lines."""

    def __init__(self, title: str) -> None:
        super().__init__(title.replace("&", "&&"))
        self._title = title
        kind = QSizePolicy.ControlType.PushButton
        policy = QSizePolicy(QSizePolicy.Policy.Preferred, QSizePolicy.Policy.Minimum, kind)
        policy.setHeightForWidth(True)
        self.setSizePolicy(policy)

    def minimumSizeHint(self) -> QSize:
        around = self._around()
        words = (self.fontMetrics().horizontalAdvance(word) for word in self._title.split())
        return QSize(max(words, default=0) + around.width(), self.fontMetrics().lineSpacing() + around.height())

    def heightForWidth(self, width: int) -> int:
        lines = len(self._lines(width))
        return lines * self.fontMetrics().lineSpacing() + self._around().height()

    def paintEvent(self, event: QPaintEvent) -> None:
        painter, option = QStylePainter(self), QStyleOptionButton()
        self.initStyleOption(option)
        option.text = "\n".join(self._lines(self.width())).replace("&", "&&")
        painter.drawControl(QStyle.ControlElement.CE_PushButton, option)

    def _around(self) -> QSize:
        """Space that the style adds around a single line of text."""
        line = QSize(self.fontMetrics().horizontalAdvance(self._title), self.fontMetrics().lineSpacing())
        return self.sizeHint() - line

    def _lines(self, width: int) -> list[str]:
        room, lines = width - self._around().width(), [""]
        for word in self._title.split():
            longer = f"{lines[-1]} {word}".strip()
            if lines[-1] and self.fontMetrics().horizontalAdvance(longer) > room:
                lines.append(word)
            else:
                lines[-1] = longer
        return lines


def _press(run: Callable[[], object], *_: object) -> None:
    """Drop the "checked" argument that Qt passes."""
    run()
