"""The mouse wheel over input fields scrolls their panel and changes no value."""

from __future__ import annotations

from functools import partial

from PySide6.QtWidgets import QAbstractSlider, QAbstractSpinBox, QApplication, QComboBox, QScrollBar, QWidget
from pytestqt.qtbot import QtBot

from studio.document import edits
from studio.document.model import Node
from studio.nodes.catalogue import catalogue
from studio.ui.project.project import Project
from studio.ui.window.main_window import MainWindow
from tests.ui.test_fields import WindowUser, rows, user, visible_row

__all__ = ["user"]


def test_wheel_over_fields_scrolls_the_inspector(
    window: MainWindow, project: Project, user: WindowUser, qtbot: QtBot
) -> None:
    store = project.store
    window.resize(1100, 700)
    bar = window.project_views[project].inspector.verticalScrollBar()
    qtbot.waitUntil(lambda: bar.maximum() > 100)
    before = store.document
    for name, row in rows(window, project).items():
        visible_row(window, project, name)
        for notches in (-1, 1):
            at = bar.value()
            user.wheel(row.field.editor, notches)
            assert store.document == before, name
            is_at_end = at == (bar.maximum() if notches < 0 else bar.minimum())
            assert bar.value() != at or is_at_end, name
            window.project_views[project].inspector.ensureWidgetVisible(row)
    row = visible_row(window, project, "epochs")
    user.enter(row.field.editor)
    user.wheel(row.field.editor, 1)
    assert store.document == before, "a focused field does not change either"


def test_wheel_over_every_kind_of_field_changes_no_value(
    window: MainWindow, project: Project, user: WindowUser
) -> None:
    store = project.store
    kinds = {param.kind: type.key for type in reversed(tuple(catalogue())) for param in type.params}
    for number, key in enumerate(dict.fromkeys(kinds.values())):
        name = f"under_test_{number}"
        store.edit("Add", partial(edits.add, name=name, node=Node(key)))
        store.select([name])
        before, tried = store.document, list(rows(window, project))
        for parameter in tried:
            row = visible_row(window, project, parameter)
            user.wheel(row.field.editor, -1)
            user.wheel(row.field.editor, 1)
            kinds.pop(row.parameter.kind, None)
            assert store.document is before, f"{key}.{parameter}"
    assert not kinds


def test_wheel_over_fields_of_other_panels_changes_no_value(
    window: MainWindow, project: Project, user: WindowUser
) -> None:
    for dock in window.docks:
        dock.reveal()
        QApplication.processEvents()
        for kind in (QComboBox, QAbstractSpinBox, QAbstractSlider):
            for field in window.findChildren(kind):
                if isinstance(field, QScrollBar) or not field.isVisible() or field.visibleRegion().isEmpty():
                    continue
                before = _state(field)
                user.wheel(field, -1)
                assert _state(field) == before, field.accessibleName()
                assert not field.hasFocus()


def _state(field: QWidget) -> object:
    if isinstance(field, QComboBox):
        return field.currentIndex()
    if isinstance(field, QAbstractSlider):
        return field.value()
    assert isinstance(field, QAbstractSpinBox)
    return field.text()
