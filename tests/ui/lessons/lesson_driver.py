"""Plays the solution of a lesson through the window with mouse and keys, as a learner does."""

from __future__ import annotations

import contextlib
from collections.abc import Mapping
from typing import Any, cast

from PySide6.QtCore import QPoint, Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QComboBox, QWidget
from pytestqt.exceptions import TimeoutError
from pytestqt.qtbot import QtBot

from studio.document.model import Json
from studio.lessons.solution_edits import kind_of
from studio.lowering.parameter_text import shown
from studio.nodes.catalogue import catalogue
from studio.ui.panels.code.code_editor import CodeEditor
from studio.ui.panels.inspector.node_form import NodeForm
from studio.ui.panels.inspector.parameter_row import ParameterRow
from studio.ui.panels.inspector.project_form import ProjectForm
from studio.ui.panels.lesson.lesson_panel import LessonView
from studio.ui.project.lesson_session import LessonSession
from studio.ui.project.project import Project
from studio.ui.window.main_window import MainWindow
from tests.ui.canvas.mouse_and_keyboard import MouseAndKeyboard
from tests.ui.test_build_with_keys import Keys
from tests.ui.test_fields import WindowUser

_FLAGS = {"muted": "M", "frozen": "Shift+M"}


class LessonDriver:
    """A learner who knows the solution. The lesson must be open and shown."""

    def __init__(self, window: MainWindow, qtbot: QtBot) -> None:
        self.window, self.qtbot = window, qtbot
        self.user, self.keys = WindowUser(window, qtbot), Keys(window, qtbot)
        if window.lessons.guide.card.isVisible():
            self.user.click(window.lessons.guide.card.skip)

    @property
    def session(self) -> LessonSession:
        found = self.window.lessons.session
        assert found is not None
        return found

    @property
    def project(self) -> Project:
        return self.session.project

    @property
    def view(self) -> LessonView:
        found = self.window.project_views[self.project].lesson.view
        assert found is not None
        return found

    @property
    def mouse(self) -> MouseAndKeyboard:
        assert self.window.canvas is not None
        return MouseAndKeyboard(self.window.canvas)

    def solve(self) -> None:
        """Solve all steps."""
        for index in range(len(self.session.steps)):
            assert self.session.index == index
            self.solve_step()
            self.user.click(self.view.next)

    def solve_step(self) -> None:
        """Solve the shown step, and wait until it is done."""
        step = self.session.step
        for edit in step.solution:
            self.play(edit)
        if not step.is_read_only:
            with contextlib.suppress(TimeoutError):
                self.qtbot.waitUntil(lambda: self.session.is_done(step), timeout=20_000)
            assert self.session.is_done(step), (step.id, [each.text for each in self.session.feedback])
        self.wait_for_check()

    def wait_for_check(self) -> None:
        self.qtbot.waitUntil(lambda: self.project.store.is_checked)

    def play(self, edit: Mapping[str, Json]) -> None:
        """Carry out one entry of a solution."""
        values = cast("dict[str, Any]", edit)
        match kind_of(edit):
            case "set" | "clear" as kind:
                self.set_parameter(values[kind], values["param"], values.get("value"))
            case "change":
                self.change(values)
            case "connect":
                self.connect(*values["connect"])
            case "disconnect":
                self.disconnect(*values["disconnect"])
            case "insert":
                source, target = values["wire"]
                name = self.add(values["insert"], values["name"], after=source.rpartition(".")[0])
                self.set_parameters(name, values.get("params", {}))
                self.connect(source, f"{name}.{values['ports'][0]}")
                self.connect(f"{name}.{values['ports'][1]}", target)
            case "add":
                name = self.add(values["add"], values["name"])
                self.set_parameters(name, values.get("params", {}))
            case "remove":
                self.keys.go_to(values["remove"])
                self.keys.press("Delete")
                assert values["remove"] not in self.project.store.document.nodes
            case "rename":
                self.rename(values["rename"], values["name"])
            case "training":
                self.set_training(values["training"])
            case "run":
                self.run(values["run"])
            case "resume":
                self.resume(values["resume"])
            case "predict":
                self.predict(values["predict"])
            case "select":
                self.select(values["select"])
            case kind:
                raise NotImplementedError(kind)

    # -- nodes and wires

    def select(self, name: str) -> None:
        """Click a node."""
        assert self.window.canvas is not None
        self.window.canvas.reveal(name)
        self.focus_canvas()
        self.keys.press("Home")
        self.qtbot.wait(10)
        self.mouse.click(self.mouse.node(name))
        assert self.project.store.selection == {name}

    def add(self, key: str, name: str, after: str = "") -> str:
        """Add a node with the search of the canvas, behind another node, and give it its name."""
        self.focus_canvas()
        if after:
            self.keys.go_to(after)
        else:
            self.keys.press("Escape")
        known = catalogue().get(key)
        added = self.keys.add(known.title if known is not None else key.removeprefix("block."))
        assert self.project.store.document.nodes[added].type == key
        if added != name:
            self.rename(added, name)
        return name

    def rename(self, name: str, new: str) -> None:
        self.focus_canvas()
        self.keys.go_to(name)
        self.keys.press("F2", "Ctrl+A")
        self.keys.write(new)
        self.keys.press("Return")
        assert new in self.project.store.document.nodes

    def connect(self, source: str, target: str) -> None:
        """Drag from an output to an input."""
        text = f"{source} -> {target}"
        if text in self.keys.wires():
            return
        self.wait_for_check()
        self.focus_canvas()
        self.keys.press("Escape", "Home")
        self.qtbot.wait(10)
        (start, output), (end, port) = source.rsplit(".", 1), target.rsplit(".", 1)
        self.mouse.drag(self.mouse.port(start, "output", output), self.mouse.port(end, "input", port))
        assert text in self.keys.wires(), text

    def disconnect(self, source: str, target: str) -> None:
        """Click a wire and delete it."""
        self.focus_canvas()
        self.keys.press("Escape", "Home")
        self.qtbot.wait(10)
        text = f"{source} -> {target}"
        self.mouse.click(self.mouse.wire(text, 0.5))
        self.keys.press("Delete")
        assert text not in self.keys.wires()

    def change(self, values: dict[str, Any]) -> None:
        """Set flags of a node."""
        name = values["change"]
        self.focus_canvas()
        self.keys.go_to(name)
        for field, value in values.items():
            if field in _FLAGS:
                if getattr(self.project.store.document.nodes[name], field) != value:
                    self.keys.press(_FLAGS[field])
            elif field != "change":
                raise NotImplementedError(field)

    # -- fields

    def set_parameters(self, name: str, params: Mapping[str, Json]) -> None:
        for param, value in params.items():
            self.set_parameter(name, param, value)

    def set_parameter(self, name: str, param: str, value: Json) -> None:
        self.select(name)
        form = self.form
        assert isinstance(form, NodeForm)
        self.fill(next(row for row in form.rows if row.parameter.name == param), value)

    def set_training(self, settings: Mapping[str, Json]) -> None:
        for name, value in settings.items():
            if getattr(self.project.store.document.training, name) == value:
                continue
            self.focus_canvas()
            self.keys.press("Escape")
            self.qtbot.waitUntil(lambda: isinstance(self.form, ProjectForm))
            form = self.form
            assert isinstance(form, ProjectForm)
            self.fill(form.rows[name], value)
            assert getattr(self.project.store.document.training, name) == value

    def fill(self, row: ParameterRow, value: Json) -> None:
        """Set a field of the inspector."""
        self.window.project_views[self.project].inspector.ensureWidgetVisible(row)
        self.wait_for_check()
        self.qtbot.wait(20)
        editor = row.field.editor
        if isinstance(editor, CodeEditor):
            self.type_code(editor, str(value))
        elif isinstance(editor, QComboBox):
            self.choose(editor, shown(value))
        elif isinstance(value, bool):
            editor.setFocus(Qt.FocusReason.TabFocusReason)
            self.keys.press("Space")
        else:
            self.user.enter(editor)
            if value is None:
                self.keys.press("Backspace")
            else:
                self.keys.write(shown(value))
            self.keys.press("Return")

    def type_code(self, editor: CodeEditor, source: str) -> None:
        """Type the source; the editor indents the lines after a colon."""
        self.user.enter(editor.viewport())
        self.keys.press("Backspace")
        for index, line in enumerate(source.rstrip().splitlines()):
            if index:
                self.keys.press("Return")
                indent = editor.textCursor().block().text()
                self.keys.write(line.removeprefix(indent))
            else:
                self.keys.write(line)
        self.keys.press("Ctrl+Return")

    def choose(self, box: QComboBox, text: str) -> None:
        """Choose an entry with the arrow keys."""
        box.setFocus(Qt.FocusReason.TabFocusReason)
        target = box.findText(text)
        assert target >= 0, text
        for _ in range(box.count() + 1):
            if box.currentIndex() == target:
                break
            self.keys.press("Down" if box.currentIndex() < target else "Up")

    @property
    def form(self) -> QWidget:
        return self.window.project_views[self.project].inspector.form

    # -- prediction and run

    def predict(self, answer: Json) -> None:
        form = self.view.prediction
        assert form is not None
        if form.number is not None:
            self.scroll_to(form.number)
            self.user.enter(form.number)
            self.keys.write(f"{cast('float', answer):g}")
        elif isinstance(answer, str):
            chip = next(each for each in form.courses if each.accessibleName().endswith(f"curve {answer}"))
            self.scroll_to(chip)
            self.user.click(chip)
        elif form.sketch is not None:
            self.scroll_to(form.sketch)
            self.draw(form.sketch, cast("list[float]", answer))
        else:
            option = form.options[cast("int", answer)]
            self.scroll_to(option)
            self.user.click(option)
        self.scroll_to(form.keep)
        self.user.click(form.keep)
        assert self.session.answer == answer or isinstance(answer, list)

    def draw(self, sketch: QWidget, heights: list[float]) -> None:
        """Draw a curve with the mouse."""
        room = sketch.rect().adjusted(20, 6, -6, -18)
        points = [
            QPoint(
                round(room.left() + room.width() * index / (len(heights) - 1)),
                round(room.bottom() - room.height() * height),
            )
            for index, height in enumerate(heights)
        ]
        QTest.mousePress(sketch, Qt.MouseButton.LeftButton, pos=points[0])
        mouse = self.mouse
        mouse.target = sketch
        for point in points[1:]:
            mouse.move(point, button=Qt.MouseButton.LeftButton)
        QTest.mouseRelease(sketch, Qt.MouseButton.LeftButton, pos=points[-1])

    def scroll_to(self, widget: QWidget) -> None:
        self.qtbot.wait(20)
        self.view.page.ensureWidgetVisible(widget)

    def run(self, settings: Mapping[str, Json]) -> None:
        """Press Run, and wait until the run is over."""
        self.set_training(settings)
        self.wait_for_check()
        runs = len(self.project.runner.runs)
        self.user.click(self.window.topbar.run_button)
        self.qtbot.waitUntil(lambda: len(self.project.runner.runs) > runs and not self.project.runner.is_active)
        assert self.project.runner.state == "done", self.project.runner.state

    def resume(self, epochs: int) -> None:
        """Resume the last run in its details, and wait until it is over."""
        panel = self.window.project_views[self.project].runs
        self.window.docks["runs"].reveal()
        run = self.project.library.runs[-1]
        view = panel.list.view
        self.qtbot.waitUntil(lambda: view.isVisible() and view.model().rowCount() == len(self.project.library.runs))
        row = next(index for index in range(view.model().rowCount()) if view.model().index(index, 0).data() == run.name)
        QTest.mouseClick(
            view.viewport(),
            Qt.MouseButton.LeftButton,
            pos=QPoint(60, view.visualRect(view.model().index(row, 0)).center().y()),
        )
        assert panel.list.selected == [run]
        if not panel.details.isVisible():
            self.user.click(panel.bar.details)
        self.user.enter(panel.details.epochs)
        self.keys.write(str(epochs))
        self.user.click(panel.details.resume)
        self.qtbot.waitUntil(lambda: run.state == "done" and run.last["epoch"] == epochs)

    def focus_canvas(self) -> None:
        assert self.window.canvas is not None
        self.window.activateWindow()
        self.window.canvas.setFocus()


__all__ = ["LessonDriver"]
