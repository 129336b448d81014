"""The inspector's forms are generated for every node type and edit the project through the store."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from PySide6.QtCore import QEvent, QPoint, Qt
from PySide6.QtGui import QHelpEvent
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QComboBox, QLabel, QPushButton, QToolButton, QToolTip, QWidget
from pytestqt.qtbot import QtBot

from engine.registry import Parameter, PathTo, Range
from studio.document import edits
from studio.document.model import Document, Endpoint, Node, Wire
from studio.lowering.check import check
from studio.lowering.parameter_text import InvalidTextError, read, shown, stepped
from studio.nodes.catalogue import catalogue
from studio.nodes.initialization import NAMES as INITIALIZATION
from studio.ui.panels.inspector.inspector_panel import InspectorPanel
from studio.ui.panels.inspector.node_form import NodeForm
from studio.ui.panels.inspector.node_header import NodeHeader
from studio.ui.panels.inspector.parameter_row import LABEL_WIDTH, ParameterRow, RowState
from studio.ui.panels.inspector.path_edit import PathEdit
from studio.ui.panels.inspector.project_form import ProjectForm
from studio.ui.panels.inspector.text_fields import NumberField, TypedField
from studio.ui.project.project import Project
from studio.ui.project.project_store import ProjectStore
from studio.ui.project.scope_store import ScopeStore
from studio.ui.window.main_window import MainWindow

TYPES = [kind.key for kind in catalogue()]


@pytest.fixture
def store(qtbot: QtBot) -> Iterator[ProjectStore]:
    nodes = {"conv": Node("nn.Conv2d"), "first": Node("nn.Linear"), "second": Node("nn.Linear", {"out_features": 3})}
    store = ProjectStore(Document(nodes), catalogue(), lambda document, base: check(document, catalogue(), base))
    yield store
    store.close()


@pytest.fixture
def panel(qtbot: QtBot, store: ProjectStore) -> InspectorPanel:
    panel = InspectorPanel(ScopeStore(store))
    qtbot.addWidget(panel)
    panel.resize(320, 800)
    panel.show()
    qtbot.waitExposed(panel)
    return panel


def row(panel: InspectorPanel, name: str) -> ParameterRow:
    assert isinstance(panel.form, (NodeForm, ProjectForm))
    rows = panel.form.rows if isinstance(panel.form, NodeForm) else list(panel.form.rows.values())
    return next(row for row in rows if row.parameter.name == name)


def type_text(row: ParameterRow, text: str) -> TypedField:
    field = row.field
    assert isinstance(field, TypedField)
    field.line.setFocus()
    field.line.selectAll()
    QTest.keyClicks(field.line, text)
    return field


@pytest.mark.parametrize("key", TYPES)
def test_every_type_has_a_form(qtbot: QtBot, key: str) -> None:
    store = ProjectStore(
        Document({"node": Node(key)}), catalogue(), lambda document, base: check(document, catalogue(), base)
    )
    form = NodeForm(ScopeStore(store), ["node"])
    qtbot.addWidget(form)
    kind = catalogue()[key]
    assert [each.parameter for each in form.rows] == list(kind.params)
    for each in form.rows:
        labels = each.title.text().split()
        assert max(map(each.title.fontMetrics().horizontalAdvance, labels)) <= LABEL_WIDTH  # none is cut off
    qtbot.waitUntil(lambda: store.is_checked)
    form.refresh()
    assert form.minimumSizeHint().width() <= 279  # fits the panel at its default width
    store.close()


def test_typing_is_one_undo_step(panel: InspectorPanel, store: ProjectStore) -> None:
    store.select(["first"])
    type_text(row(panel, "out_features"), "128")
    assert store.document.nodes["first"].params == {"out_features": 128}
    store.undo()
    assert store.document.nodes["first"].params == {}
    field = row(panel, "out_features").field
    assert isinstance(field, TypedField)
    assert field.line.text() == ""


def test_the_field_of_a_formula_keeps_the_focus_when_inputs_change(panel: InspectorPanel, store: ProjectStore) -> None:
    store.edit("Add", lambda document: edits.add(document, "formula", Node("studio.Formula")))
    store.select(["formula"])
    type_text(row(panel, "expression"), "a * x + sin(yy)")
    assert store.document.nodes["formula"].params == {"expression": "a * x + sin(yy)"}


def test_empty_field_restores_the_default(panel: InspectorPanel, store: ProjectStore) -> None:
    store.select(["second"])
    field = type_text(row(panel, "out_features"), "5")
    field.line.selectAll()
    QTest.keyClick(field.line, Qt.Key.Key_Delete)
    assert store.document.nodes["second"].params == {}


def test_invalid_value_is_reported_and_not_stored(panel: InspectorPanel, store: ProjectStore) -> None:
    store.select(["second"])
    wrong = row(panel, "out_features")
    type_text(wrong, "0")
    assert store.document.nodes["second"].params == {"out_features": 3}
    assert "≥ 1" in wrong._problem.text()
    assert wrong.field.editor.property("invalid")
    type_text(wrong, "4")
    assert not wrong._problem.isVisible()


def test_arrow_keys_step_from_the_inferred_value(panel: InspectorPanel, store: ProjectStore) -> None:
    store.select(["conv"])
    field = row(panel, "stride").field
    assert isinstance(field, TypedField)
    store.select(["second"])
    number = row(panel, "out_features").field
    assert isinstance(number, NumberField)
    QTest.keyClick(number.editor, Qt.Key.Key_Up)
    assert store.document.nodes["second"].params == {"out_features": 4}


def test_one_number_or_a_tuple(panel: InspectorPanel, store: ProjectStore) -> None:
    store.select(["conv"])
    type_text(row(panel, "kernel_size"), "3")
    assert store.document.nodes["conv"].params["kernel_size"] == 3
    type_text(row(panel, "kernel_size"), "3, 5")
    assert store.document.nodes["conv"].params["kernel_size"] == [3, 5]


def test_switch_at_its_default_is_not_stored(panel: InspectorPanel, store: ProjectStore) -> None:
    store.select(["first"])
    box = row(panel, "bias").field.editor
    QTest.keyClick(box, Qt.Key.Key_Space)
    assert store.document.nodes["first"].params == {"bias": False}
    QTest.keyClick(box, Qt.Key.Key_Space)
    assert store.document.nodes["first"].params == {}


def test_choice_at_its_default_is_not_stored(panel: InspectorPanel, store: ProjectStore) -> None:
    store.edit("Add", lambda document: edits.add(document, "loss", Node("nn.CrossEntropyLoss")))
    store.select(["loss"])
    combo = row(panel, "reduction").field.editor
    assert isinstance(combo, QComboBox)
    QTest.keyClick(combo, Qt.Key.Key_End)
    QTest.keyClick(combo, Qt.Key.Key_Up)
    assert store.document.nodes["loss"].params == {"reduction": "sum"}
    QTest.keyClick(combo, Qt.Key.Key_Home)
    assert store.document.nodes["loss"].params == {}


def test_rename_keeps_the_form(panel: InspectorPanel, store: ProjectStore) -> None:
    store.select(["first"])
    panel.rename()
    form = panel.form
    assert isinstance(form, NodeForm) and form._header is not None
    form._header.name.selectAll()
    QTest.keyClicks(form._header.name, "hidden")
    QTest.keyClick(form._header.name, Qt.Key.Key_Return)
    assert list(store.document.nodes) == ["conv", "hidden", "second"]
    assert isinstance(panel.form, NodeForm) and panel.form.names == ("hidden",)


@pytest.mark.parametrize(
    ("title", "name"),
    [
        ("my first layer", "my_first_layer"),
        ("Conv 1.5 (wide)", "conv_1_5_wide"),
        ("2nd", "node_2nd"),
        ("class", "class_node"),
        ("Encoder", "Encoder"),
    ],
)
def test_title_is_converted_to_a_name(panel: InspectorPanel, store: ProjectStore, title: str, name: str) -> None:
    store.select(["first"])
    panel.rename()
    form = panel.form
    assert isinstance(form, NodeForm) and form._header is not None
    header = form._header
    header.name.selectAll()
    QTest.keyClicks(header.name, title)
    assert header._derived.isVisible() is (title != name)
    assert title == name or name in header._derived.text()
    QTest.keyClick(header.name, Qt.Key.Key_Return)
    assert list(store.document.nodes) == ["conv", name, "second"]


@pytest.mark.parametrize("name", ["second", "_", "!", ""])
def test_invalid_name_is_refused(panel: InspectorPanel, store: ProjectStore, name: str) -> None:
    store.select(["first"])
    panel.rename()
    form = panel.form
    assert isinstance(form, NodeForm) and form._header is not None
    form._header.name.setText(name)
    form._header.name.textEdited.emit(name)
    QTest.keyClick(form._header.name, Qt.Key.Key_Return)
    assert "first" in store.document.nodes
    assert form._header._problem.isVisible()


def test_form_of_several_nodes_has_their_common_fields(panel: InspectorPanel, store: ProjectStore) -> None:
    store.select(["first", "second"])
    shared = row(panel, "out_features")
    assert isinstance(shared.field, TypedField)
    assert shared.field.line.placeholderText() == "multiple values"
    type_text(shared, "9")
    assert [store.document.nodes[name].params for name in ("first", "second")] == [{"out_features": 9}] * 2
    store.undo()
    assert store.document.nodes["second"].params == {"out_features": 3}
    store.select(["first", "conv"])
    assert isinstance(panel.form, NodeForm)
    assert {each.parameter.name for each in panel.form.rows} <= {"bias", *INITIALIZATION}


def test_inferred_values_are_dimmed(qtbot: QtBot, window: MainWindow, project: Project) -> None:
    project.store.select(["hidden"])
    inspector = window.project_views[project].inspector
    field = row(inspector, "in_features").field
    assert isinstance(field, TypedField)
    qtbot.waitUntil(lambda: field.line.placeholderText() == "64 (from input)")
    assert field.line.text() == ""


def test_added_and_removed_items_are_reported(window: MainWindow, project: Project) -> None:
    def problem_texts(name: str) -> list[str]:
        project.store.select([name])
        form = window.project_views[project].inspector.form
        assert isinstance(form, NodeForm)
        return [each.text() for each in form.findChildren(QLabel)]

    raw, scaled = "1×8×8 uint8 → scalar int64", "1×8×8 float32 → scalar int64"
    for name, facts in {
        "digits": {"Samples": raw},
        "scale": {"Samples in": raw, "Samples out": scaled},
        "batches": {"Samples": scaled, "Input": "N×1×8×8 float32", "Target": "N int64"},
    }.items():
        texts = problem_texts(name)
        assert {title: texts[texts.index(title) + 1] for title in facts} == facts


def test_problem_is_shown_with_its_fix(qtbot: QtBot, window: MainWindow, project: Project) -> None:
    store = project.store
    store.edit("Break", lambda document: edits.set_param(document, "logits", "in_features", 100))
    store.select(["logits"])
    qtbot.waitUntil(lambda: bool(store.report.errors))
    fix = store.report.errors[0].fix
    assert fix is not None
    row_of = window.project_views[project].problems.rows[0]
    QTest.mouseClick(row_of.button, Qt.MouseButton.LeftButton)
    qtbot.waitUntil(lambda: store.is_checked and not store.report.errors)
    assert store.history.undo_title == f"{fix.title} (logits)"


def test_project_form_is_shown_without_a_selection(panel: InspectorPanel, store: ProjectStore) -> None:
    assert isinstance(panel.form, ProjectForm)
    type_text(row(panel, "epochs"), "3")
    assert store.document.training.epochs == 3
    panel.form._description.setPlainText("Mine")
    assert store.document.description == "Mine"


@pytest.mark.parametrize(
    ("parameter", "text", "value"),
    [
        (Parameter("x", "int"), "12", 12),
        (Parameter("x", "float"), "1e-3", 0.001),
        (Parameter("x", "float", optional=True), "none", None),
        (Parameter("x", "ints"), "(1, 2)", [1, 2]),
        (Parameter("x", "ints", choices=("same",)), "same", "same"),
        (Parameter("x", "floats"), "0.5", 0.5),
        (Parameter("x", "path", path=PathTo("file")), "/a b.csv", "/a b.csv"),
    ],
)
def test_texts_are_parsed_as_values(parameter: Parameter, text: str, value: object) -> None:
    assert read(parameter, text) == value
    if value is not None:
        assert read(parameter, shown(value)) == value


@pytest.mark.parametrize("text", ["", "x", "1.5", "1e999", "0"])
def test_texts_that_are_not_positive_integers(text: str) -> None:
    with pytest.raises(InvalidTextError):
        read(Parameter("x", "int", range=Range(ge=1)), text)


@pytest.mark.parametrize(
    ("value", "steps", "result"),
    [(0.001, 1, 0.002), (0.001, -1, 0.0009), (0.5, 1, 0.6), (1e-8, 1, 2e-8), (0.0, 1, 0.1), (9.0, 1, 10.0)],
)
def test_arrow_steps_change_the_first_digit(value: float, steps: int, result: float) -> None:
    assert stepped(Parameter("x", "float"), value, steps) == pytest.approx(result)


def test_arrow_steps_stop_at_the_bounds() -> None:
    assert stepped(Parameter("x", "float", range=Range(ge=0, le=1)), 1.0, 1) == 1.0


def test_implied_value_texts() -> None:
    assert RowState(64, is_inferred=True).implied(Parameter("x", "int")) == "64 (from input)"
    assert RowState().implied(Parameter("x", "int")) == "required"
    assert RowState(None).implied(Parameter("x", "int", default=None, optional=True)) == "none"


@pytest.fixture
def path_line(panel: InspectorPanel, store: ProjectStore) -> PathEdit:
    store.edit("Add", lambda document: edits.add(document, "idx", Node("data.IDX")))
    store.select(["idx"])
    line = row(panel, "folder").field.editor
    assert isinstance(line, PathEdit)
    return line


@pytest.mark.parametrize(
    ("path", "end"),
    [
        ("/srv/projects/first/data/mnist", "/mnist"),
        (r"D:\projects\first\mnist", r"\mnist"),
        ("/data/a-folder-with-a-name-that-is-long-itself", "itself"),
        ("/a/b", "/a/b"),
    ],
)
def test_long_path_shows_its_end(
    panel: InspectorPanel, path_line: PathEdit, store: ProjectStore, path: str, end: str
) -> None:
    store.edit("Set", lambda document: edits.set_param(document, "idx", "folder", path))
    panel.setFocus()
    assert path_line.shown.endswith(end) and path_line.text() == path
    assert path_line.shown.startswith("…") == (path_line.shown != path)
    assert path_line.fontMetrics().horizontalAdvance(path_line.shown) < path_line.width() - 8
    path_line.setFocus()
    assert path_line.shown == path


def test_tooltip_shows_the_full_path(
    qtbot: QtBot, panel: InspectorPanel, path_line: PathEdit, store: ProjectStore
) -> None:
    path = "/srv/projects/first/data/mnist"
    store.edit("Set", lambda document: edits.set_param(document, "idx", "folder", path))
    position = path_line.rect().center()
    tooltip_event = QHelpEvent(QEvent.Type.ToolTip, position, path_line.mapToGlobal(position))
    QApplication.sendEvent(path_line, tooltip_event)
    qtbot.waitUntil(lambda: QToolTip.text() == path)
    QToolTip.hideText()


def test_long_fix_does_not_widen_the_form(qtbot: QtBot, window: MainWindow, project: Project) -> None:
    project.store.edit("Forget the scale", lambda document: edits.remove(document, ["scale"]))
    project.store.edit(
        "Join",
        lambda document: edits.connect(document, Wire(Endpoint("digits", "samples"), Endpoint("batches", "samples"))),
    )
    project.store.select(["batches"])
    inspector = window.project_views[project].inspector
    qtbot.waitUntil(lambda: any(problem.fix for problem in project.store.report.problems if problem.node == "batches"))
    form = inspector.form
    assert isinstance(form, NodeForm)
    [button] = [each for each in form.findChildren(QPushButton) if each.text().startswith("Insert Normalize")]
    qtbot.waitUntil(button.isVisible)
    qtbot.waitUntil(lambda: form.width() <= inspector.viewport().width())
    window.docks["inspector"].setFloating(True)
    window.docks["inspector"].resize(250, 700)
    qtbot.waitUntil(lambda: form.width() <= 250)
    qtbot.waitUntil(lambda: button.height() > button.sizeHint().height())  # two lines
    QTest.mouseClick(button, Qt.MouseButton.LeftButton)
    assert "normalize" in project.store.document.nodes


def test_description_field_cuts_no_line(window: MainWindow, project: Project) -> None:
    form = window.project_views[project].inspector.form
    assert isinstance(form, ProjectForm)
    QApplication.processEvents()
    text = form._description
    shown = text.viewport().height() - text.document().documentMargin()
    assert shown == 5 * text.fontMetrics().lineSpacing()


# -- fields do not move while they are used


def window_position(window: MainWindow, widget: QWidget) -> QPoint:
    return widget.mapTo(window, widget.rect().center())


@pytest.fixture
def hidden_form(qtbot: QtBot, window: MainWindow, project: Project) -> NodeForm:
    """The form of the node "hidden", in a shown window so that mouse events are dispatched by position."""
    project.store.select(["hidden"])
    form = window.project_views[project].inspector.form
    assert isinstance(form, NodeForm)
    QTest.mouseRelease(window.windowHandle(), Qt.MouseButton.LeftButton)  # as other tests may have left it
    qtbot.waitUntil(lambda: form.rows[0].field.y() >= 0 and form.isVisible())
    QApplication.processEvents()
    return form


def test_problems_do_not_move_fields(qtbot: QtBot, window: MainWindow, project: Project, hidden_form: NodeForm) -> None:
    position = next(row for row in hidden_form.rows if row.parameter.name == "in_features")
    field = position.field
    assert isinstance(field, TypedField)
    QTest.mouseClick(window.windowHandle(), Qt.MouseButton.LeftButton, pos=window_position(window, field.line))
    before = window_position(window, field.line)
    QTest.keyClicks(field.line, "5")
    qtbot.waitUntil(lambda: any(problem.node == "hidden" for problem in project.store.report.problems))
    QApplication.processEvents()
    assert window_position(window, field.line) == before
    assert hidden_form._header is not None
    mark = hidden_form._header.mark
    assert mark.isVisible() and "64" in mark.toolTip()
    QTest.keyClick(field.line, Qt.Key.Key_Backspace)
    qtbot.waitUntil(lambda: not project.store.report.problems)
    qtbot.waitUntil(lambda: not mark.isVisible())
    assert window_position(window, field.line) == before


def test_release_hits_the_pressed_field(
    qtbot: QtBot, window: MainWindow, project: Project, hidden_form: NodeForm
) -> None:
    """The press commits the field above, which removes the message below it and triggers a check report."""
    typed_in = next(row for row in hidden_form.rows if row.parameter.name == "out_features")
    clicked = next(row for row in hidden_form.rows if row.parameter.name == "bias").field.editor
    field = typed_in.field
    assert isinstance(field, TypedField)
    QTest.mouseClick(window.windowHandle(), Qt.MouseButton.LeftButton, pos=window_position(window, field.line))
    field.line.selectAll()
    QTest.keyClicks(field.line, "0")
    assert typed_in._problem.isVisible()
    QApplication.processEvents()
    position = clicked.mapTo(window, QPoint(8, clicked.height() // 2))  # of the box itself
    QTest.mousePress(window.windowHandle(), Qt.MouseButton.LeftButton, pos=position)
    assert clicked.hasFocus() and field.line.text() == "0", "shown until the release"
    with qtbot.waitSignal(project.store.report_changed, timeout=60_000):
        project.store.recheck()
    QApplication.processEvents()
    assert clicked.mapTo(window, QPoint(8, clicked.height() // 2)) == position
    QTest.mouseRelease(window.windowHandle(), Qt.MouseButton.LeftButton, pos=position)
    assert project.store.document.nodes["hidden"].params["bias"] is False
    qtbot.waitUntil(lambda: not typed_in._problem.isVisible() and field.line.text() == "256")


@pytest.mark.parametrize(
    ("key", "modifier", "text", "reason"),
    [
        (Qt.Key.Key_F5, Qt.KeyboardModifier.NoModifier, "0", "must be ≥ 1, not 0"),
        (Qt.Key.Key_Return, Qt.KeyboardModifier.ControlModifier, "ten", "must be a whole number, not 'ten'"),
        (Qt.Key.Key_F10, Qt.KeyboardModifier.NoModifier, "1e", "must be a whole number, not '1e'"),
    ],
    ids=["F5", "Ctrl+Enter", "F10"],
)
def test_invalid_field_prevents_a_run(
    window: MainWindow,
    project: Project,
    hidden_form: NodeForm,
    key: Qt.Key,
    modifier: Qt.KeyboardModifier,
    text: str,
    reason: str,
) -> None:
    wrong = next(row for row in hidden_form.rows if row.parameter.name == "out_features")
    field = type_text(wrong, text)
    QTest.keyClick(window.windowHandle(), key, modifier)
    assert not project.runner.runs and not project.runner.is_active
    assert field.line.hasFocus() and field.line.text() == text
    assert wrong._problem.isVisible() and reason in wrong._problem.text() and field.editor.property("invalid")
    message = window.status._message.text()
    assert message.startswith(f"“{text}” is not a valid value for hidden.out_features: out_features {reason}.")


def test_run_button_of_an_empty_panel_keeps_typed_text(
    qtbot: QtBot, window: MainWindow, project: Project, hidden_form: NodeForm
) -> None:
    window.docks["runs"].reveal()
    wrong = next(row for row in hidden_form.rows if row.parameter.name == "out_features")
    field = type_text(wrong, "0")
    [run] = [
        each
        for each in window.project_views[project].runs.findChildren(QPushButton)
        if each.isVisible() and each.text() == "Run"
    ]
    QTest.mouseClick(window.windowHandle(), Qt.MouseButton.LeftButton, pos=window_position(window, run))
    assert not project.runner.runs
    assert field.line.hasFocus() and field.line.text() == "0"


@pytest.mark.parametrize("command", ["run.find-rate", "run.overfit"])
def test_invalid_field_prevents_a_trial(
    window: MainWindow, project: Project, hidden_form: NodeForm, command: str
) -> None:
    wrong = next(row for row in hidden_form.rows if row.parameter.name == "out_features")
    field = type_text(wrong, "0")
    window.commands.run(command)
    assert window.project_views[project].trial is None
    assert field.line.hasFocus() and field.line.text() == "0"
    assert "“0” is not a valid value for hidden.out_features" in window.status._message.text()


def test_an_invalid_training_setting_prevents_a_run(qtbot: QtBot, window: MainWindow, project: Project) -> None:
    """A value that is entered after the refusal is used for training."""
    project.store.select(())
    epochs = row(window.project_views[project].inspector, "epochs")
    field = type_text(epochs, "0")
    QTest.keyClick(window.windowHandle(), Qt.Key.Key_F5)
    assert not project.runner.runs
    assert "“0” is not a valid value for epochs" in window.status._message.text()
    field.line.selectAll()
    QTest.keyClicks(field.line, "7")
    assert not window.status._message.text()
    qtbot.waitUntil(lambda: project.store.is_checked)
    QTest.keyClick(window.windowHandle(), Qt.Key.Key_F10)
    [run] = project.runner.runs
    assert run.document is not None and run.document.training.epochs == 7
    window.commands.run("run.stop")
    qtbot.waitUntil(lambda: not project.runner.is_active)


def test_toggle_buttons_center_icon_and_text(qtbot: QtBot, window: MainWindow, project: Project) -> None:
    project.store.select(["hidden"])
    qtbot.waitUntil(lambda: any(header.isVisible() for header in window.findChildren(NodeHeader)))
    [header] = [header for header in window.findChildren(NodeHeader) if header.isVisible()]
    switches = [button for button in header.findChildren(QToolButton) if button.text()]
    assert [button.text() for button in switches] == ["Freeze", "Mute", "Recompute"]
    for button in switches:
        left, right = free_margins(button)
        assert abs(left - right) <= 2, (button.text(), left, right)


def free_margins(button: QToolButton) -> tuple[int, int]:
    """Free pixels between the border and the content at the left and at the right."""
    picture = button.grab().toImage()
    ground = picture.pixelColor(picture.width() // 2, 3).lightness()
    inside = range(3, picture.width() - 3)
    drawn = [
        x
        for x in inside
        if any(abs(picture.pixelColor(x, y).lightness() - ground) > 40 for y in range(4, picture.height() - 4))
    ]
    return drawn[0], picture.width() - 1 - drawn[-1]
