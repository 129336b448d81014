"""Input fields with key, mouse and wheel events that are sent to the window, as the system does."""

from __future__ import annotations

import ast
from pathlib import Path
from typing import Any

import pytest
from PySide6.QtCore import QPoint, QPointF, Qt
from PySide6.QtGui import QGuiApplication
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QWidget
from pytestqt.qtbot import QtBot

import studio.ui
from studio.document import edits
from studio.document.model import Node
from studio.lowering.parameter_text import shown
from studio.ui.palette import PalettePanel
from studio.ui.panels.inspector.node_form import NodeForm
from studio.ui.panels.inspector.parameter_row import ParameterRow
from studio.ui.panels.inspector.project_form import ProjectForm
from studio.ui.panels.inspector.text_fields import NumberField, TypedField
from studio.ui.project.project import Project
from studio.ui.widgets.inputs import ComboBox, SpinBox
from studio.ui.window.main_window import MainWindow

CTRL, SHIFT = Qt.KeyboardModifier.ControlModifier, Qt.KeyboardModifier.ShiftModifier
TYPED = ("100", "1000", "0.001", "1e-3", "1e3", "-5", "")


class WindowUser:
    """Sends mouse, key and wheel events to one window."""

    def __init__(self, window: MainWindow, qtbot: QtBot) -> None:
        self.window, self._qtbot = window, qtbot

    def click(self, widget: QWidget) -> None:
        self._qtbot.waitUntil(lambda: self._is_clickable(widget), timeout=3000)
        QTest.mouseClick(self.window.windowHandle(), Qt.MouseButton.LeftButton, pos=self._center(widget))

    def _is_clickable(self, widget: QWidget) -> bool:
        """Whether a click reaches the widget. A widget that was just shown needs a layout pass first."""
        hit = self.window.childAt(self._center(widget))
        return hit is not None and (hit is widget or widget.isAncestorOf(hit))

    def enter(self, field: QWidget) -> None:
        """Click into a field and select its text."""
        self.click(field)
        self._qtbot.waitUntil(field.hasFocus, timeout=3000)
        self.key(Qt.Key.Key_A, CTRL)

    def key(self, key: Qt.Key, modifiers: Qt.KeyboardModifier = Qt.KeyboardModifier.NoModifier) -> None:
        QTest.keyClick(self.window.windowHandle(), key, modifiers)

    def type(self, text: str) -> None:
        for letter in text:
            QTest.keyClick(self.window.windowHandle(), Qt.Key(ord(letter.upper())))

    def wheel(self, widget: QWidget, notches: int) -> None:
        QTest.wheelEvent(self.window.windowHandle(), QPointF(self._center(widget)), QPoint(0, 120 * notches))

    def _center(self, widget: QWidget) -> QPoint:
        return widget.mapTo(self.window, QPoint(min(20, widget.width() // 2), widget.height() // 2))


@pytest.fixture
def user(window: MainWindow, qtbot: QtBot) -> WindowUser:
    return WindowUser(window, qtbot)


def rows(window: MainWindow, project: Project) -> dict[str, ParameterRow]:
    """Rows of the inspector's current form by parameter name."""
    form = window.project_views[project].inspector.form
    return form.rows if isinstance(form, ProjectForm) else {row.parameter.name: row for row in form.rows}


def visible_row(window: MainWindow, project: Project, name: str) -> ParameterRow:
    """A row, scrolled into view. Waits until its position does not change any more."""
    row = rows(window, project)[name]
    type_key = hit = None
    for _ in range(200):
        before, type_key = type_key, row.field.editor.mapTo(window, row.field.editor.rect().center())
        hit = window.childAt(type_key)
        if type_key == before and hit and row.field.editor in (hit, hit.parent()) and project.store.is_checked:
            break
        window.project_views[project].inspector.ensureWidgetVisible(row)
        QTest.qWait(5)
    return row


def expected_value(row: ParameterRow, text: str) -> Any:
    """The value of a typed text; `...` if it is not a valid value."""
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


@pytest.mark.parametrize("type_key", NUMBERS)
def test_typed_numbers_are_stored_after_each_key(
    window: MainWindow, project: Project, user: WindowUser, type_key: str
) -> None:
    store = project.store
    if type_key != "training":
        store.edit("Add", lambda document: edits.add(document, "under_test", Node(type_key)))
        store.select(["under_test"])
    for name in NUMBERS[type_key]:
        for text in TYPED:
            before = store.document
            row = visible_row(window, project, name)
            field = row.field
            assert isinstance(field, TypedField)
            user.enter(field.editor)
            user.type(text)
            if not text:
                user.key(Qt.Key.Key_Delete)
            value = expected_value(row, text)
            description = f"{type_key}.{name} = {text!r}"
            assert field.line.text() == text, description
            if text and value is ...:
                assert store.document == before, description
            elif type_key == "training":
                assert getattr(store.document.training, name) == (value if text else row.parameter.default), description
            else:
                params = store.document.nodes["under_test"].params
                assert params.get(name, ...) == value, description
            user.key(Qt.Key.Key_Return)
            assert field.line.text() == text, description


def test_typing_past_the_default_value(window: MainWindow, project: Project, user: WindowUser) -> None:
    """10 epochs are the default: the field must not be cleared after "10" on the way to "100"."""
    row = visible_row(window, project, "epochs")
    user.enter(row.field.editor)
    user.type("10")
    assert isinstance(row.field, NumberField) and row.field.line.text() == "10"
    project.store.recheck()
    QTest.qWait(50)
    user.type("0")
    assert project.store.document.training.epochs == 100
    user.key(Qt.Key.Key_Tab)
    assert row.field.line.text() == "100"


def test_typing_a_size_relative_to_the_input(
    window: MainWindow, project: Project, user: WindowUser, qtbot: QtBot
) -> None:
    store = project.store
    name = next(name for name, node in store.document.nodes.items() if node.type == "nn.Linear")
    store.select([name])
    row = visible_row(window, project, "out_features")
    size = store.report.nodes[name].arguments["in_features"]
    user.enter(row.field.editor)
    for letter in "2 * input":
        user.type(letter)
        assert not row._problem.isVisible(), letter
    assert store.document.nodes[name].params["out_features"] == "2 * input"
    qtbot.waitUntil(lambda: row.computed.text() == f"= {2 * size:,}")
    user.key(Qt.Key.Key_Up)
    assert store.document.nodes[name].params["out_features"] == 2 * size + 1
    qtbot.waitUntil(lambda: not row.computed.isVisible())


def test_selecting_a_node_keeps_the_focus(window: MainWindow, project: Project) -> None:
    """A widget that is shown before it has a parent would briefly be a window and take the focus."""
    canvas = window.canvas
    assert canvas is not None
    for name in project.store.document.nodes:
        project.store.select([name])
        QTest.qWait(1)
        assert canvas.hasFocus(), name


def test_paste_a_number(window: MainWindow, project: Project, user: WindowUser) -> None:
    row = visible_row(window, project, "epochs")
    QGuiApplication.clipboard().setText(" 100 ")
    user.enter(row.field.editor)
    user.key(Qt.Key.Key_V, CTRL)
    assert project.store.document.training.epochs == 100


def test_invalid_continuation_reverts_the_valid_beginning(
    window: MainWindow, project: Project, user: WindowUser
) -> None:
    store = project.store
    store.select(["dropout"])
    before = store.document.nodes["dropout"].params
    row = visible_row(window, project, "p")
    user.enter(row.field.editor)
    user.type("1")
    assert store.document.nodes["dropout"].params == {"p": 1.0}
    user.type("5")
    assert store.document.nodes["dropout"].params == before
    assert "15" in row._problem.text()
    user.key(Qt.Key.Key_Tab)
    assert isinstance(row.field, TypedField) and row.field.line.text() == shown(before["p"])
    assert row._problem.isVisible() and row._problem.text().startswith("“15” was discarded: p must be")
    user.enter(row.field.editor)
    user.type("0.25")
    assert not row._problem.isVisible()


def test_incomplete_number_is_not_an_error(window: MainWindow, project: Project, user: WindowUser) -> None:
    project.store.select(["adam"])
    row = visible_row(window, project, "lr")
    user.enter(row.field.editor)
    for text in "1e-":
        user.type(text)
        assert not row._problem.isVisible()
    user.type("3")
    assert project.store.document.nodes["adam"].params["lr"] == 0.001


def test_spin_box_clamps_out_of_range_numbers(qtbot: QtBot) -> None:
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


def test_panels_use_only_the_shared_input_widgets() -> None:
    """Only `inputs` creates Qt's input classes: unlike them, its classes ignore the wheel and pass undo on."""
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


def test_tab_moves_to_the_next_field(window: MainWindow, project: Project, user: WindowUser) -> None:
    store = project.store
    store.edit("Add", lambda document: edits.add(document, "conv", Node("nn.Conv2d")))
    store.select(["conv"])
    user.enter(visible_row(window, project, "out_channels").field.editor)
    user.type("16")
    user.key(Qt.Key.Key_Tab)
    user.type("3")
    assert store.document.nodes["conv"].params == {"out_channels": 16, "kernel_size": 3}


def test_tab_order_follows_the_rows(window: MainWindow, project: Project, qtbot: QtBot) -> None:
    """Includes the list of monitored metrics, whose entries change with the graph."""
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


def test_escape_reverts_typed_text_and_focuses_the_canvas(
    window: MainWindow, project: Project, user: WindowUser
) -> None:
    store, canvas = project.store, window.canvas
    assert canvas is not None
    before = store.document
    for name in ("epochs", "device", "compile"):
        row = visible_row(window, project, name)
        user.click(row.field.editor) if name == "epochs" else row.field.editor.setFocus()
        if name == "epochs":
            user.key(Qt.Key.Key_A, CTRL)
            user.type("7")
            assert store.document.training.epochs == 7
        user.key(Qt.Key.Key_Escape)
        assert canvas.hasFocus(), name
        assert store.document is before
    store.select(["hidden"])
    form = window.project_views[project].inspector.form
    assert isinstance(form, NodeForm) and form._header is not None
    user.enter(form._header.name)
    user.type("other")
    user.key(Qt.Key.Key_Escape)
    assert canvas.hasFocus() and form._header.name.text() == "hidden" and "hidden" in store.document.nodes
    assert store.selection == {"hidden"}


def test_escape_in_a_floating_panel_focuses_the_canvas(window: MainWindow, project: Project, qtbot: QtBot) -> None:
    dock, canvas = window.docks["inspector"], window.canvas
    assert canvas is not None
    dock.setFloating(True)
    dock.activateWindow()
    editor = rows(window, project)["epochs"].field.editor
    editor.setFocus()
    qtbot.waitUntil(editor.hasFocus, timeout=3000)
    QTest.keyClick(editor, Qt.Key.Key_Escape)
    qtbot.waitUntil(canvas.hasFocus, timeout=3000)


def test_undo_in_a_field_reverts_text_first_then_the_project(
    window: MainWindow, project: Project, user: WindowUser
) -> None:
    store = project.store
    store.select(["adam"])
    store.edit("Mute", lambda document: edits.set_flag(document, ["dropout"], muted=True))
    before = store.document
    field = visible_row(window, project, "lr").field
    assert isinstance(field, NumberField)
    user.enter(field.editor)
    start = field.line.text()
    user.type("0.5")
    user.key(Qt.Key.Key_Z, CTRL)
    assert field.line.text() == start
    assert store.document is before  # the typed text is not an undo step any more
    assert field.editor.hasFocus()
    user.key(Qt.Key.Key_Z, CTRL)
    assert not store.document.nodes["dropout"].muted
    user.key(Qt.Key.Key_Z, CTRL | SHIFT)
    assert store.document is before


def test_undo_in_a_field_after_enter_reverts_the_project(
    window: MainWindow, project: Project, user: WindowUser
) -> None:
    store = project.store
    row = visible_row(window, project, "epochs")
    before = store.document
    for text in ("12", "13"):
        user.enter(row.field.editor)
        user.type(text)
        user.key(Qt.Key.Key_Return)
    user.key(Qt.Key.Key_Z, CTRL)
    assert store.document.training.epochs == 12
    assert isinstance(row.field, TypedField) and row.field.line.text() == "12"
    user.key(Qt.Key.Key_Z, CTRL)
    assert store.document is before
    user.key(Qt.Key.Key_Z, CTRL | SHIFT)
    assert store.document.training.epochs == 12


def test_undo_in_a_search_field_reverts_text_first_then_the_project(
    window: MainWindow, project: Project, user: WindowUser
) -> None:
    store = project.store
    store.edit("Mute", lambda document: edits.set_flag(document, ["dropout"], muted=True))
    palette = window.project_views[project].panels["palette"]
    assert isinstance(palette, PalettePanel)
    search = palette.field
    user.enter(search)
    user.type("ab")
    user.key(Qt.Key.Key_Z, CTRL)
    assert search.text() == "" and store.document.nodes["dropout"].muted
    user.key(Qt.Key.Key_Z, CTRL)
    assert not store.document.nodes["dropout"].muted


def test_escape_reverts_the_description(window: MainWindow, project: Project, user: WindowUser) -> None:
    store = project.store
    before = store.document
    form = window.project_views[project].inspector.form
    assert isinstance(form, ProjectForm)
    user.enter(form._description)
    user.type("ab")
    assert store.document.description == "ab"
    user.key(Qt.Key.Key_Escape)
    assert store.document is before and window.canvas is not None and window.canvas.hasFocus()


# -- undo steps


def test_edit_and_reset_are_two_undo_steps(window: MainWindow, project: Project, user: WindowUser) -> None:
    store = project.store
    before = store.document
    row = visible_row(window, project, "epochs")
    user.enter(row.field.editor)
    user.type("16")
    user.click(row._reset)
    assert store.document.training.epochs == row.parameter.default
    store.undo()
    assert store.document.training.epochs == 16
    store.undo()
    assert store.document is before


def test_typing_stepping_and_typing_again_are_separate_undo_steps(
    window: MainWindow, project: Project, user: WindowUser
) -> None:
    store = project.store
    before = store.document.training.epochs
    row = visible_row(window, project, "epochs")
    user.enter(row.field.editor)
    user.type("16")
    for _ in range(3):
        user.key(Qt.Key.Key_Up)
    user.key(Qt.Key.Key_A, CTRL)
    user.type("50")
    user.key(Qt.Key.Key_Tab)
    user.enter(row.field.editor)
    user.type("60")
    description = [store.document.training.epochs]
    while store.history.can_undo:
        store.undo()
        description.append(store.document.training.epochs)
    assert description == [60, 50, 19, 16, before]


def test_each_choice_is_an_undo_step(window: MainWindow, project: Project, user: WindowUser) -> None:
    store = project.store
    combo = visible_row(window, project, "device").field.editor
    assert isinstance(combo, ComboBox)
    combo.setFocus()
    user.key(Qt.Key.Key_Down)
    user.key(Qt.Key.Key_Down)
    store.undo()
    assert store.document.training.device == "cpu"


def test_undo_restores_the_selection(window: MainWindow, project: Project, user: WindowUser) -> None:
    store, canvas = project.store, window.canvas
    assert canvas is not None
    canvas.setFocus()
    store.select(["hidden", "dropout"])
    user.key(Qt.Key.Key_Delete)
    assert "hidden" not in store.document.nodes and not store.selection
    user.key(Qt.Key.Key_Z, CTRL)
    assert store.selection == {"hidden", "dropout"}
    store.edit("Mute", lambda document: edits.set_flag(document, ["adam"], muted=True))
    user.key(Qt.Key.Key_Z, CTRL)
    assert store.selection == {"hidden", "dropout"}
    store.select(["adam"])
    store.edit("Add", lambda document: edits.add(document, "added", Node("nn.ReLU")))
    store.select(["added"])
    user.key(Qt.Key.Key_Z, CTRL)
    assert store.selection == {"adam"}
    user.key(Qt.Key.Key_Z, CTRL | SHIFT)
    assert store.selection == {"added"}


# -- keyboard navigation between canvas and panels


def test_enter_focuses_the_missing_parameter_and_escape_the_canvas(
    window: MainWindow, project: Project, qtbot: QtBot
) -> None:
    canvas = window.canvas
    assert canvas is not None
    canvas.setFocus()
    project.store.edit("Add", lambda document: edits.add(document, "new", Node("nn.Linear")))
    project.store.select(["new"])
    qtbot.waitUntil(lambda: project.store.is_checked)
    QTest.keyClick(canvas, Qt.Key.Key_Return)
    QTest.keyClicks(focused_widget(), "24")
    QTest.keyClick(focused_widget(), Qt.Key.Key_Return)
    assert project.store.document.nodes["new"].params["out_features"] == 24
    QTest.keyClick(focused_widget(), Qt.Key.Key_Escape)
    assert canvas.hasFocus()
    window.docks["inspector"].hide()
    project.store.select(())
    QTest.keyClick(canvas, Qt.Key.Key_Return, Qt.KeyboardModifier.AltModifier)
    QTest.keyClicks(focused_widget(), "7")
    QTest.keyClick(focused_widget(), Qt.Key.Key_Return)
    assert project.store.document.training.epochs == 7


def focused_widget() -> QWidget:
    """The widget with the keyboard focus."""
    widget = QApplication.focusWidget()
    assert widget is not None
    return widget
