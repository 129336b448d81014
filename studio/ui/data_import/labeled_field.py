"""A field with its title on the left."""

from __future__ import annotations

from PySide6.QtWidgets import QHBoxLayout, QWidget

from studio.ui.widgets.labels import label


def labeled(title: str, field: QWidget) -> QWidget:
    """A row of the title and the field."""
    group = QWidget()
    row = QHBoxLayout(group)
    row.setContentsMargins(0, 0, 0, 0)
    row.setSpacing(8)
    text = label(title, "dim")
    text.setBuddy(field)
    row.addWidget(text)
    row.addWidget(field)
    return group
