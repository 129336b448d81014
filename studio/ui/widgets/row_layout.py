"""Horizontal layouts."""

from __future__ import annotations

from PySide6.QtWidgets import QHBoxLayout, QWidget


def row_of(*widgets: QWidget, wide: QWidget, spacing: int = 8) -> QHBoxLayout:
    """A row layout without margins in which the widget `wide` takes the remaining width."""
    layout = QHBoxLayout()
    layout.setContentsMargins(0, 0, 0, 0)
    layout.setSpacing(spacing)
    for widget in widgets:
        layout.addWidget(widget, int(widget is wide))
    return layout
