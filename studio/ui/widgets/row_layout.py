"""Widgets beside each other."""

from __future__ import annotations

from PySide6.QtWidgets import QHBoxLayout, QWidget


def row_of(*widgets: QWidget, wide: QWidget, spacing: int = 8) -> QHBoxLayout:
    """A row without margins in which `wide`, one of the widgets, takes what room the others leave."""
    made = QHBoxLayout()
    made.setContentsMargins(0, 0, 0, 0)
    made.setSpacing(spacing)
    for widget in widgets:
        made.addWidget(widget, int(widget is wide))
    return made
