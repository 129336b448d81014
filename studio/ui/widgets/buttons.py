"""Buttons with icons in the theme's colours."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from PySide6.QtCore import QSize, Qt
from PySide6.QtGui import QAction
from PySide6.QtWidgets import QPushButton, QToolButton, QWidget

from studio.ui import icons


def tool(
    icon: str, tip: str, run: Callable[[], object] | None = None, *, token: str = "text", size: int = 16
) -> QToolButton:
    """A button that is only an icon; `tip` says what it does, to screen readers too."""
    button = QToolButton()
    button.setIcon(icons.themed(icon, token))
    button.setIconSize(QSize(size, size))
    button.setToolTip(tip)
    button.setAccessibleName(tip)
    button.setFocusPolicy(Qt.FocusPolicy.TabFocus)
    if run is not None:
        button.clicked.connect(partial(_press, run))
    return button


def for_action(action: QAction, *, size: int = 18) -> QToolButton:
    """A button that is only the icon of a command and keeps to its state."""
    button = QToolButton()
    button.setDefaultAction(action)
    button.setIconSize(QSize(size, size))
    button.setAccessibleName(action.text())
    button.setFocusPolicy(Qt.FocusPolicy.TabFocus)
    return button


def push(
    title: str, run: Callable[[], object], *, icon: str = "", kind: str = "", parent: QWidget | None = None
) -> QPushButton:
    """A button with words; `kind` is "primary", "link" or nothing."""
    button = QPushButton(title.replace("&", "&&"), parent)  # a name may hold the sign of a mnemonic
    button.setProperty("kind", kind)
    if icon:
        token = {"primary": "on-accent", "link": "accent"}.get(kind, "text")
        button.setIcon(icons.themed(icon, token))
        button.setIconSize(QSize(16, 16))
    button.clicked.connect(partial(_press, run))
    return button


def chip(title: str) -> QToolButton:
    """A small button with words that is on or off."""
    button = QToolButton()
    button.setText(title)
    button.setProperty("kind", "chip")
    button.setCheckable(True)
    button.setFocusPolicy(Qt.FocusPolicy.TabFocus)
    return button


def _press(run: Callable[[], object], *_: object) -> None:
    """Without the "checked" that Qt passes along."""
    run()
