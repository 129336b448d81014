"""Fields of the window under real keys, clicks and wheel events, sent to the window as the system would."""

from __future__ import annotations

import ast
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from PySide6.QtCore import QPoint, QPointF, Qt
from PySide6.QtGui import QGuiApplication
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QAbstractSlider, QAbstractSpinBox, QApplication, QComboBox, QScrollBar, QWidget
from pytestqt.qtbot import QtBot

import studio.ui
from studio.document import edits
from studio.document.model import Node
from studio.nodes.catalogue import catalogue
from studio.ui.panels.inspector.node_form import NodeForm
from studio.ui.panels.inspector.parameter_row import ParameterRow
from studio.ui.panels.inspector.parameter_text import shown
from studio.ui.panels.inspector.project_form import ProjectForm
from studio.ui.panels.inspector.text_fields import NumberField, TypedField
from studio.ui.project.project import Project
from studio.ui.widgets.inputs import ComboBox, SpinBox
from studio.ui.window.main_window import MainWindow
from studio.ui.window.notification_bar import NotificationBar

CTRL, SHIFT = Qt.KeyboardModifier.ControlModifier, Qt.KeyboardModifier.ShiftModifier
TYPED = ("100", "1000", "0.001", "1e-3", "1e3", "-5", "")


class Person:
    """Clicks, types and turns the wheel in one window."""

    def __init__(self, window: MainWindow, qtbot: QtBot) -> None:
        self.window, self._qtbot = window, qtbot

    def click(self, widget: QWidget) -> None:
        self._qtbot.waitUntil(lambda: self._is_in_place(widget), timeout=3000)
        QTest.mouseClick(self.window.windowHandle(), Qt.MouseButton.LeftButton, pos=self._middle(widget))

    def _is_in_place(self, widget: QWidget) -> bool:
        """Whether a click reaches the widget: one that was just shown has no place until the layout is done."""
        hit = self.window.childAt(self._middle(widget))
        return hit is not None and (hit is widget or widget.isAncestorOf(hit))

    def enter(self, field: QWidget) -> None:
        """Click into a field and select what is in it."""
        self.click(field)
        self._qtbot.waitUntil(field.hasFocus, timeout=3000)
        self.key(Qt.Key.Key_A, CTRL)

    def key(self, key: Qt.Key, modifiers: Qt.KeyboardModifier = Qt.KeyboardModifier.NoModifier) -> None:
        QTest.keyClick(self.window.windowHandle(), key, modifiers)

    def type(self, text: str) -> None:
        for letter in text:
            QTest.keyClick(self.window.windowHandle(), Qt.Key(ord(letter.upper())))

    def wheel(self, widget: QWidget, notches: int) -> None:
        QTest.wheelEvent(self.window.windowHandle(), QPointF(self._middle(widget)), QPoint(0, 120 * notches))

    def _middle(self, widget: QWidget) -> QPoint:
        return widget.mapTo(self.window, QPoint(min(20, widget.width() // 2), widget.height() // 2))


@pytest.fixture
def person(window: MainWindow, qtbot: QtBot) -> Person:
    return Person(window, qtbot)


def rows(window: MainWindow, project: Project) -> dict[str, ParameterRow]:
    """Of what is selected."""
    form = window.project_views[project].inspector.form
    return form.rows if isinstance(form, ProjectForm) else {row.parameter.name: row for row in form.rows}


def seen(window: MainWindow, project: Project, name: str) -> ParameterRow:
    """A row, scrolled into view, where it stays."""
    row = rows(window, project)[name]
    place = hit = None
    for _ in range(200):
        before, place = place, row.field.editor.mapTo(window, row.field.editor.rect().center())
        hit = window.childAt(place)
        if place == before and hit and row.field.editor in (hit, hit.parent()) and project.store.is_checked:
            break
        window.project_views[project].inspector.ensureWidgetVisible(row)
        QTest.qWait(5)
    return row


def wanted(row: ParameterRow, text: str) -> Any:
    """The value that a typed text means; `...` if it is none."""
    kind = row.parameter.kind
    try:
        number = float(text)
    except ValueError:
        return ...
    if kind in ("int", "ints"):
        number = int(number) if number.is_integer() else ...
    return ... if number is ... or row.parameter.problem(number) is not None else number


NUMBERS = {
    "training": ("epochs", "steps", "clip_norm", "checkpoint_seconds"),
    "nn.Linear": ("in_features", "out_features"),
    "nn.Dropout": ("p",),
    "optim.Adam": ("lr", "weight_decay"),
    "nn.Conv2d": ("kernel_size", "stride"),
}


@pytest.mark.parametrize("place", NUMBERS)
def test_numbers_are_typed_key_by_key(window: MainWindow, project: Project, person: Person, place: str) -> None:
    store = project.store
    if place != "training":
        store.edit("Add", lambda document: edits.add(document, "under_test", Node(place)))
        store.select(["under_test"])
    for name in NUMBERS[place]:
        for text in TYPED:
            before = store.document
            row = seen(window, project, name)
            field = row.field
            assert isinstance(field, TypedField)
            person.enter(field.editor)
            person.type(text)
            if not text:
                person.key(Qt.Key.Key_Delete)
            value = wanted(row, text)
            told = f"{place}.{name} = {text!r}"
            assert field.line.text() == text, told
            if text and value is ...:
                assert store.document == before, told
            elif place == "training":
                assert getattr(store.document.training, name) == (value if text else row.parameter.default), told
            else:
                params = store.document.nodes["under_test"].params
                assert params.get(name, ...) == value, told
            person.key(Qt.Key.Key_Return)
            assert field.line.text() == text, told


def test_the_default_can_be_typed_through(window: MainWindow, project: Project, person: Person) -> None:
    """10 epochs are the default: the field must not empty itself there."""
    row = seen(window, project, "epochs")
    person.enter(row.field.editor)
    person.type("10")
    assert isinstance(row.field, NumberField) and row.field.line.text() == "10"
    project.store.recheck()
    QTest.qWait(50)
    person.type("0")
    assert project.store.document.training.epochs == 100
    person.key(Qt.Key.Key_Tab)
    assert row.field.line.text() == "100"


def test_selecting_a_node_leaves_the_focus_where_it_is(window: MainWindow, project: Project) -> None:
    """A part of the form that is shown before it has a parent would be a window for a moment, and take the focus."""
    canvas = window.canvas
    assert canvas is not None
    for name in project.store.document.nodes:
        project.store.select([name])
        QTest.qWait(1)
        assert canvas.hasFocus(), name


def test_a_number_is_pasted(window: MainWindow, project: Project, person: Person) -> None:
    row = seen(window, project, "epochs")
    QGuiApplication.clipboard().setText(" 100 ")
    person.enter(row.field.editor)
    person.key(Qt.Key.Key_V, CTRL)
    assert project.store.document.training.epochs == 100


def test_a_text_that_stops_being_a_value_leaves_nothing_of_its_beginning(
    window: MainWindow, project: Project, person: Person
) -> None:
    store = project.store
    store.select(["dropout"])
    before = store.document.nodes["dropout"].params
    row = seen(window, project, "p")
    person.enter(row.field.editor)
    person.type("1")
    assert store.document.nodes["dropout"].params == {"p": 1.0}
    person.type("5")
    assert store.document.nodes["dropout"].params == before
    assert "15" in row._problem.text()
    person.key(Qt.Key.Key_Tab)
    assert isinstance(row.field, TypedField) and row.field.line.text() == shown(before["p"])
    assert not row._problem.isVisible()


def test_the_beginning_of_a_number_is_not_an_error(window: MainWindow, project: Project, person: Person) -> None:
    project.store.select(["adam"])
    row = seen(window, project, "lr")
    person.enter(row.field.editor)
    for text in "1e-":
        person.type(text)
        assert not row._problem.isVisible()
    person.type("3")
    assert project.store.document.nodes["adam"].params["lr"] == 0.001


def test_a_number_beyond_the_range_of_a_spin_box_is_clamped(qtbot: QtBot) -> None:
    box = SpinBox()
    qtbot.addWidget(box)
    box.setRange(20, 500)
    box.setSuffix(" / 500")
    box.show()
    for text, value in (("100", 100), ("1000", 500), ("5", 20)):
        box.setFocus()
        box.selectAll()
        QTest.keyClicks(box, text)
        QTest.keyClick(box, Qt.Key.Key_Return)
        assert box.value() == value


def test_the_wheel_scrolls_the_inspector_over_any_field(
    window: MainWindow, project: Project, person: Person, qtbot: QtBot
) -> None:
    store = project.store
    window.resize(1100, 700)
    bar = window.project_views[project].inspector.verticalScrollBar()
    qtbot.waitUntil(lambda: bar.maximum() > 100)
    before = store.document
    for name, row in rows(window, project).items():
        seen(window, project, name)
        for notches in (-1, 1):
            at = bar.value()
            person.wheel(row.field.editor, notches)
            assert store.document == before, name
            is_at_end = at == (bar.maximum() if notches < 0 else bar.minimum())
            assert bar.value() != at or is_at_end, name
            window.project_views[project].inspector.ensureWidgetVisible(row)
    row = seen(window, project, "epochs")
    person.enter(row.field.editor)
    person.wheel(row.field.editor, 1)
    assert store.document == before, "a focused field does not change either"


def test_the_wheel_over_every_kind_of_field_changes_nothing(
    window: MainWindow, project: Project, person: Person
) -> None:
    store = project.store
    kinds = {param.kind: type.key for type in reversed(tuple(catalogue())) for param in type.params}
    for number, key in enumerate(dict.fromkeys(kinds.values())):
        name = f"under_test_{number}"
        store.edit("Add", partial(edits.add, name=name, node=Node(key)))
        store.select([name])
        before, tried = store.document, list(rows(window, project))
        for parameter in tried:
            row = seen(window, project, parameter)
            person.wheel(row.field.editor, -1)
            person.wheel(row.field.editor, 1)
            kinds.pop(row.parameter.kind, None)
            assert store.document is before, f"{key}.{parameter}"
    assert not kinds


def test_the_wheel_over_fields_of_other_panels_changes_nothing(
    window: MainWindow, project: Project, person: Person
) -> None:
    for dock in window.docks:
        dock.reveal()
        QApplication.processEvents()
        for kind in (QComboBox, QAbstractSpinBox, QAbstractSlider):
            for field in window.findChildren(kind):
                if isinstance(field, QScrollBar) or not field.isVisible() or field.visibleRegion().isEmpty():
                    continue
                before = _state(field)
                person.wheel(field, -1)
                assert _state(field) == before, field.accessibleName()
                assert not field.hasFocus()


def _state(field: QWidget) -> object:
    if isinstance(field, QComboBox):
        return field.currentIndex()
    if isinstance(field, QAbstractSlider):
        return field.value()
    assert isinstance(field, QAbstractSpinBox)
    return field.text()


def test_every_field_is_one_that_keeps_these_rules() -> None:
    """Qt's own classes, which take the wheel and swallow undo, are made nowhere but in `inputs`."""
    raw = {"QComboBox", "QSpinBox", "QDoubleSpinBox", "QAbstractSpinBox", "QSlider", "QDial", "QLineEdit"}
    raw |= {"QDateTimeEdit", "QTextEdit"}
    [folder] = studio.ui.__path__
    for path in Path(folder).rglob("*.py"):
        if path.name == "inputs.py":
            continue
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            called = node.func if isinstance(node, ast.Call) else None
            names = {called.id} if isinstance(called, ast.Name) else set()
            if isinstance(node, ast.ClassDef):
                names = {base.id for base in node.bases if isinstance(base, ast.Name)}
            assert not names & raw, f"{path.name}: use a class of studio.ui.widgets.inputs"


# -- keyboard


def test_tab_goes_from_field_to_field(window: MainWindow, project: Project, person: Person) -> None:
    store = project.store
    store.edit("Add", lambda document: edits.add(document, "conv", Node("nn.Conv2d")))
    store.select(["conv"])
    person.enter(seen(window, project, "out_channels").field.editor)
    person.type("16")
    person.key(Qt.Key.Key_Tab)
    person.type("3")
    assert store.document.nodes["conv"].params == {"out_channels": 16, "kernel_size": 3}


def test_rows_keep_their_place_in_the_order_of_tab(window: MainWindow, project: Project, qtbot: QtBot) -> None:
    """Also the list of figures to follow, which changes with the metrics."""
    project.store.edit("Rename", lambda document: edits.rename(document, "accuracy", "hits"))
    qtbot.waitUntil(lambda: project.store.is_checked)
    order: list[str] = []
    widget: QWidget | None = rows(window, project)["epochs"].field.editor
    editors = {row.field.editor: name for name, row in rows(window, project).items()}
    for _ in range(400):
        if widget in editors and editors[widget] not in order:
            order.append(editors[widget])
        assert widget is not None
        widget = widget.nextInFocusChain()
    assert order == list(rows(window, project))


def test_escape_takes_back_what_is_typed_and_returns_to_the_canvas(
    window: MainWindow, project: Project, person: Person
) -> None:
    store, canvas = project.store, window.canvas
    assert canvas is not None
    before = store.document
    for name in ("epochs", "device", "compile"):
        row = seen(window, project, name)
        person.click(row.field.editor) if name == "epochs" else row.field.editor.setFocus()
        if name == "epochs":
            person.key(Qt.Key.Key_A, CTRL)
            person.type("7")
            assert store.document.training.epochs == 7
        person.key(Qt.Key.Key_Escape)
        assert canvas.hasFocus(), name
        assert store.document is before
    store.select(["hidden"])
    form = window.project_views[project].inspector.form
    assert isinstance(form, NodeForm) and form._header is not None
    person.enter(form._header.name)
    person.type("other")
    person.key(Qt.Key.Key_Escape)
    assert canvas.hasFocus() and form._header.name.text() == "hidden" and "hidden" in store.document.nodes
    assert store.selection == {"hidden"}


def test_escape_in_a_floating_panel_returns_to_the_canvas(window: MainWindow, project: Project, qtbot: QtBot) -> None:
    dock, canvas = window.docks["inspector"], window.canvas
    assert canvas is not None
    dock.setFloating(True)
    dock.activateWindow()
    editor = rows(window, project)["epochs"].field.editor
    editor.setFocus()
    qtbot.waitUntil(editor.hasFocus, timeout=3000)
    QTest.keyClick(editor, Qt.Key.Key_Escape)
    qtbot.waitUntil(canvas.hasFocus, timeout=3000)


def test_undo_in_a_field_is_of_the_text_while_typing_and_of_the_project_then(
    window: MainWindow, project: Project, person: Person
) -> None:
    store = project.store
    store.select(["adam"])
    store.edit("Mute", lambda document: edits.set_flag(document, ["dropout"], muted=True))
    before = store.document
    field = seen(window, project, "lr").field
    assert isinstance(field, NumberField)
    person.enter(field.editor)
    start = field.line.text()
    person.type("0.5")
    person.key(Qt.Key.Key_Z, CTRL)
    assert field.line.text() == start
    assert store.document is before  # the text is what it was, and nothing of the typing is left to undo
    assert field.editor.hasFocus()
    person.key(Qt.Key.Key_Z, CTRL)
    assert not store.document.nodes["dropout"].muted
    person.key(Qt.Key.Key_Z, CTRL | SHIFT)
    assert store.document is before


def test_undo_in_a_field_after_enter_is_of_the_project(window: MainWindow, project: Project, person: Person) -> None:
    store = project.store
    row = seen(window, project, "epochs")
    before = store.document
    for text in ("12", "13"):
        person.enter(row.field.editor)
        person.type(text)
        person.key(Qt.Key.Key_Return)
    person.key(Qt.Key.Key_Z, CTRL)
    assert store.document.training.epochs == 12
    assert isinstance(row.field, TypedField) and row.field.line.text() == "12"
    person.key(Qt.Key.Key_Z, CTRL)
    assert store.document is before
    person.key(Qt.Key.Key_Z, CTRL | SHIFT)
    assert store.document.training.epochs == 12


def test_undo_in_a_search_field_is_of_the_project_unless_something_is_typed(
    window: MainWindow, project: Project, person: Person
) -> None:
    store = project.store
    store.edit("Mute", lambda document: edits.set_flag(document, ["dropout"], muted=True))
    search = window.project_views[project].panels["palette"].field  # pyright: ignore[reportAttributeAccessIssue]
    person.enter(search)
    person.type("ab")
    person.key(Qt.Key.Key_Z, CTRL)
    assert search.text() == "" and store.document.nodes["dropout"].muted
    person.key(Qt.Key.Key_Z, CTRL)
    assert not store.document.nodes["dropout"].muted


def test_the_description_is_typed_undone_and_left(window: MainWindow, project: Project, person: Person) -> None:
    store = project.store
    before = store.document
    form = window.project_views[project].inspector.form
    assert isinstance(form, ProjectForm)
    person.enter(form._description)
    person.type("ab")
    assert store.document.description == "ab"
    person.key(Qt.Key.Key_Escape)
    assert store.document is before and window.canvas is not None and window.canvas.hasFocus()


# -- steps of undo


def test_an_edit_and_the_reset_after_it_are_two_steps(window: MainWindow, project: Project, person: Person) -> None:
    store = project.store
    before = store.document
    row = seen(window, project, "epochs")
    person.enter(row.field.editor)
    person.type("16")
    person.click(row._reset)
    assert store.document.training.epochs == row.parameter.default
    store.undo()
    assert store.document.training.epochs == 16
    store.undo()
    assert store.document is before


def test_typing_stepping_and_typing_again_are_separate_undo_steps(
    window: MainWindow, project: Project, person: Person
) -> None:
    store = project.store
    before = store.document.training.epochs
    row = seen(window, project, "epochs")
    person.enter(row.field.editor)
    person.type("16")
    for _ in range(3):
        person.key(Qt.Key.Key_Up)
    person.key(Qt.Key.Key_A, CTRL)
    person.type("50")
    person.key(Qt.Key.Key_Tab)
    person.enter(row.field.editor)
    person.type("60")
    told = [store.document.training.epochs]
    while store.history.can_undo:
        store.undo()
        told.append(store.document.training.epochs)
    assert told == [60, 50, 19, 16, before]


def test_each_choice_is_a_step(window: MainWindow, project: Project, person: Person) -> None:
    store = project.store
    combo = seen(window, project, "device").field.editor
    assert isinstance(combo, ComboBox)
    combo.setFocus()
    person.key(Qt.Key.Key_Down)
    person.key(Qt.Key.Key_Down)
    store.undo()
    assert store.document.training.device == "cpu"


def test_undo_keeps_the_selection_and_brings_it_back(window: MainWindow, project: Project, person: Person) -> None:
    store, canvas = project.store, window.canvas
    assert canvas is not None
    canvas.setFocus()
    store.select(["hidden", "dropout"])
    person.key(Qt.Key.Key_Delete)
    assert "hidden" not in store.document.nodes and not store.selection
    person.key(Qt.Key.Key_Z, CTRL)
    assert store.selection == {"hidden", "dropout"}
    store.edit("Mute", lambda document: edits.set_flag(document, ["adam"], muted=True))
    person.key(Qt.Key.Key_Z, CTRL)
    assert store.selection == {"hidden", "dropout"}
    store.select(["adam"])
    store.edit("Add", lambda document: edits.add(document, "added", Node("nn.ReLU")))
    store.select(["added"])
    person.key(Qt.Key.Key_Z, CTRL)
    assert store.selection == {"adam"}
    person.key(Qt.Key.Key_Z, CTRL | SHIFT)
    assert store.selection == {"added"}


# -- from the canvas into the panels, with the keyboard alone


def test_enter_on_a_node_leads_to_what_is_missing_and_escape_back(
    window: MainWindow, project: Project, qtbot: QtBot
) -> None:
    canvas = window.canvas
    assert canvas is not None
    canvas.setFocus()
    project.store.edit("Add", lambda document: edits.add(document, "new", Node("nn.Linear")))
    project.store.select(["new"])
    qtbot.waitUntil(lambda: project.store.is_checked)
    QTest.keyClick(canvas, Qt.Key.Key_Return)
    QTest.keyClicks(typing(), "24")
    QTest.keyClick(typing(), Qt.Key.Key_Return)
    assert project.store.document.nodes["new"].params["out_features"] == 24
    QTest.keyClick(typing(), Qt.Key.Key_Escape)
    assert canvas.hasFocus()
    window.docks["inspector"].hide()
    project.store.select(())
    QTest.keyClick(canvas, Qt.Key.Key_Return, Qt.KeyboardModifier.AltModifier)
    QTest.keyClicks(typing(), "7")
    QTest.keyClick(typing(), Qt.Key.Key_Return)
    assert project.store.document.training.epochs == 7


def test_the_keyboard_goes_through_all_panels_that_can_be_seen(window: MainWindow, project: Project) -> None:
    canvas = window.canvas
    assert canvas is not None
    canvas.setFocus()
    keys = Qt.KeyboardModifier.ControlModifier
    seen: list[str] = []
    for _ in range(4):
        QTest.keyClick(typing(), Qt.Key.Key_F6, keys)
        seen.append(next((each.objectName() for each in window.docks if each.isAncestorOf(typing())), "canvas"))
    assert seen == ["palette", "inspector", "runs", "canvas"]
    QTest.keyClick(typing(), Qt.Key.Key_F6, keys | Qt.KeyboardModifier.ShiftModifier)
    assert window.docks["runs"].isAncestorOf(typing())


def test_a_panel_without_fields_is_passed_over(window: MainWindow, project: Project, qtbot: QtBot) -> None:
    window.docks["problems"].reveal()
    notice = NotificationBar("Something happened.", [])
    window.show_notification(notice)
    canvas = window.canvas
    assert canvas is not None
    canvas.setFocus()
    QTest.keyClick(canvas, Qt.Key.Key_F6, Qt.KeyboardModifier.ControlModifier | Qt.KeyboardModifier.ShiftModifier)
    assert window.docks["inspector"].isAncestorOf(typing())
    with qtbot.waitSignal(notice.destroyed):
        notice.deleteLater()
    epochs = rows(window, project)["epochs"].field
    assert isinstance(epochs, TypedField)
    assert epochs.line.isVisible(), "Python lost a widget because another one is gone"


def test_a_problem_is_solved_with_the_keyboard(window: MainWindow, project: Project, qtbot: QtBot) -> None:
    project.store.edit("Break", lambda document: edits.set_param(document, "logits", "in_features", 100))
    qtbot.waitUntil(lambda: bool(project.store.report.errors))
    canvas = window.canvas
    assert canvas is not None
    canvas.setFocus()
    QTest.keyClick(canvas, Qt.Key.Key_4, Qt.KeyboardModifier.AltModifier)
    qtbot.waitUntil(lambda: any(row.isVisible() for row in window.project_views[project].problems.rows))
    QTest.keyClick(typing(), Qt.Key.Key_F6, Qt.KeyboardModifier.ControlModifier | Qt.KeyboardModifier.ShiftModifier)
    assert typing() in window.project_views[project].problems.rows
    QTest.keyClick(typing(), Qt.Key.Key_Tab)
    QTest.keyClick(typing(), Qt.Key.Key_Space)
    qtbot.waitUntil(lambda: project.store.is_checked and not project.store.report.errors)


def typing() -> QWidget:
    """What the keys go to."""
    widget = QApplication.focusWidget()
    assert widget is not None
    return widget
