"""The habits of people who use node editors: each with its mouse and key events, in the window of the studio."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from PySide6.QtCore import QPoint, QPointF, Qt
from PySide6.QtGui import QWheelEvent
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QWidget
from pytestqt.qtbot import QtBot

from studio.document import edits
from studio.document.model import Node
from studio.ui.canvas.frames.frame_editor import FrameEditor
from studio.ui.canvas.overlays.rename_editor import RenameEditor
from studio.ui.project.project import Project
from studio.ui.window.help_page import HelpPage
from studio.ui.window.main_window import MainWindow
from tests.ui.canvas.conftest import wire
from tests.ui.canvas.mouse_and_keyboard import ALT, CTRL, LEFT, MIDDLE, NO_KEY, RIGHT, SHIFT, MouseAndKeyboard


class Hands(MouseAndKeyboard):
    """Mouse events on the canvas of a project, and key events that the window gets from the system."""

    def __init__(self, window: MainWindow, project: Project, qtbot: QtBot) -> None:
        super().__init__(window.project_views[project].canvas)
        self.window, self.project, self.qtbot = window, project, qtbot
        self.store = project.store
        self.scene = self.view.canvas_scene

    def key(self, key: Qt.Key, keys: Qt.KeyboardModifier = NO_KEY, target: QWidget | None = None) -> None:
        QTest.keyClick(self.window.windowHandle(), key, keys)

    def write(self, text: str) -> None:
        for letter in text:
            QTest.keyClick(self.window.windowHandle(), Qt.Key(ord(letter.upper())))

    @property
    def empty(self) -> QPoint:
        """A point of the canvas without node, wire or frame."""
        return QPoint(self.target.width() // 2, self.target.height() - 20)

    @property
    def wires(self) -> set[str]:
        return {str(each) for each in self.store.document.wires}

    def search_is_open(self) -> bool:
        return self.view.overlays.search.isVisible()


@pytest.fixture
def hands(window: MainWindow, project: Project, qtbot: QtBot) -> Hands:
    found = Hands(window, project, qtbot)
    found.view.setFocus()
    qtbot.waitUntil(found.view.hasFocus)
    found.key(Qt.Key.Key_Home)
    found.move(found.empty)
    return found


def add_by_tab(hands: Hands) -> None:
    hands.key(Qt.Key.Key_Tab)
    assert hands.search_is_open()


def add_by_space(hands: Hands) -> None:
    hands.key(Qt.Key.Key_Space)
    assert hands.search_is_open()


def add_by_shift_a(hands: Hands) -> None:
    hands.key(Qt.Key.Key_A, SHIFT)
    assert hands.search_is_open()


def add_by_double_click(hands: Hands) -> None:
    hands.double_click(hands.empty)
    assert hands.search_is_open()


def drop_a_wire(hands: Hands) -> None:
    """A wire that is dropped on empty canvas opens the palette with the nodes that fit."""
    hands.drag(hands.port("cross_entropy", "output", "loss"), hands.empty)
    assert hands.search_is_open()
    search = hands.view.overlays.search
    kinds = [search.model.kind(leaf) for leaf in search.model.leaves()]
    assert kinds
    assert all(any(port.type == "loss" for port in kind.inputs) for kind in kinds if kind is not None)


def alt_click_breaks_wires(hands: Hands) -> None:
    hands.click(hands.port("logits", "output", "output"), keys=ALT)
    assert not any(each.startswith("logits.output") for each in hands.wires)


def ctrl_right_drag_cuts(hands: Hands) -> None:
    start, end = hands.port("relu", "output", "output"), hands.port("dropout", "input", "input")
    middle = (start + end) / 2
    hands.drag(middle - QPoint(0, 40), middle + QPoint(0, 40), button=RIGHT, keys=CTRL)
    assert "relu.output -> dropout.input" not in hands.wires


def double_click_reroutes(hands: Hands) -> None:
    hands.double_click(hands.wire("relu.output -> dropout.input"))
    assert wire("relu.output -> dropout.input").target in hands.store.document.routes


def drop_on_a_wire_inserts(hands: Hands) -> None:
    at = hands.view.camera.to_scene(hands.empty)
    new = Node("nn.GELU", at=(at.x() - 60, at.y() - 120))
    hands.store.edit("Add", lambda document: edits.add(document, "gelu", new))
    hands.drag(hands.node("gelu"), hands.wire("relu.output -> dropout.input"))
    assert {"relu.output -> gelu.input", "gelu.output -> dropout.input"} <= hands.wires


def m_mutes(hands: Hands) -> None:
    hands.click(hands.node("dropout"))
    hands.key(Qt.Key.Key_M)
    assert hands.store.document.nodes["dropout"].muted


def ctrl_g_groups_and_ctrl_shift_g_unpacks(hands: Hands) -> None:
    names = set(hands.store.document.nodes)
    hands.click(hands.node("relu"))
    hands.click(hands.node("dropout"), keys=SHIFT)
    hands.key(Qt.Key.Key_G, CTRL)
    assert len(hands.store.document.blocks) == 1
    hands.key(Qt.Key.Key_Return)
    hands.key(Qt.Key.Key_G, CTRL | SHIFT)
    assert hands.store.document.blocks == {}
    assert set(hands.store.document.nodes) == names


def double_click_enters_and_escape_leaves(hands: Hands) -> None:
    hands.click(hands.node("relu"))
    hands.click(hands.node("dropout"), keys=SHIFT)
    hands.key(Qt.Key.Key_G, CTRL)
    hands.key(Qt.Key.Key_Return)
    [instance] = hands.store.selection
    hands.double_click(hands.node(instance))
    assert hands.view.store.location
    hands.key(Qt.Key.Key_Escape)
    assert not hands.view.store.location


def ctrl_j_frames(hands: Hands) -> None:
    hands.click(hands.node("relu"))
    hands.key(Qt.Key.Key_J, CTRL)
    assert len(hands.store.document.frames) == 1
    assert isinstance(QApplication.focusWidget(), FrameEditor)


def f_fits_the_selection(hands: Hands) -> None:
    hands.click(hands.node("adam"))
    hands.view.camera.zoom_to(0.1)
    hands.key(Qt.Key.Key_F)
    assert hands.view.camera.scale == pytest.approx(1.0)
    box = hands.scene.boxes(["adam"])["adam"]
    assert (hands.view.camera.visible.center() - QPointF(*box.center)).manhattanLength() < 4


def home_fits_all(hands: Hands) -> None:
    hands.view.camera.zoom_to(4.0)
    hands.key(Qt.Key.Key_Home)
    visible = hands.view.camera.visible
    assert all(visible.contains(*box.center) for box in hands.scene.boxes().values())


def l_lays_out(hands: Hands) -> None:
    hands.store.edit("Pile", lambda document: edits.move(document, dict.fromkeys(document.nodes, (0.0, 0.0))))
    with hands.qtbot.waitSignal(hands.view.auto_layout.finished):
        hands.key(Qt.Key.Key_L)
    assert len({node.at for node in hands.store.document.nodes.values()}) == len(hands.store.document.nodes)


def ctrl_d_duplicates(hands: Hands) -> None:
    hands.click(hands.node("relu"))
    hands.key(Qt.Key.Key_D, CTRL)
    assert "relu_2" in hands.store.document.nodes
    assert "hidden.output -> relu_2.input" not in hands.wires


def ctrl_shift_v_pastes_with_inputs(hands: Hands) -> None:
    hands.click(hands.node("relu"))
    hands.key(Qt.Key.Key_C, CTRL)
    hands.key(Qt.Key.Key_V, CTRL | SHIFT)
    assert "hidden.output -> relu_2.input" in hands.wires


def middle_drag_pans(hands: Hands) -> None:
    before = hands.view.camera.visible.topLeft()
    hands.drag(hands.empty, hands.empty - QPoint(80, 40), button=MIDDLE)
    assert hands.view.camera.visible.topLeft() != before


def space_and_drag_pan(hands: Hands) -> None:
    before = hands.view.camera.visible.topLeft()
    QTest.keyPress(hands.window.windowHandle(), Qt.Key.Key_Space)
    hands.drag(hands.node("relu"), hands.node("relu") - QPoint(80, 40), button=LEFT)
    QTest.keyRelease(hands.window.windowHandle(), Qt.Key.Key_Space)
    assert hands.view.camera.visible.topLeft() != before
    assert not hands.search_is_open()
    assert hands.store.is_saved or not hands.store.history.can_undo


def wheel_zooms_at_the_pointer(hands: Hands) -> None:
    at = hands.node("relu")
    before, scale = hands.view.camera.to_scene(at), hands.view.camera.scale
    event = QWheelEvent(
        QPointF(at),
        QPointF(hands.target.mapToGlobal(at)),
        QPoint(),
        QPoint(0, 120),
        Qt.MouseButton.NoButton,
        NO_KEY,
        Qt.ScrollPhase.NoScrollPhase,
        False,
    )
    QApplication.sendEvent(hands.target, event)
    assert hands.view.camera.scale > scale
    assert (hands.view.camera.to_scene(at) - before).manhattanLength() < 3


def f2_renames(hands: Hands) -> None:
    hands.click(hands.node("relu"))
    hands.key(Qt.Key.Key_F2)
    assert isinstance(QApplication.focusWidget(), RenameEditor)
    hands.write("act")
    hands.key(Qt.Key.Key_Return)
    assert "act" in hands.store.document.nodes


def help_titles(hands: Hands) -> list[str]:
    return [page.windowTitle() for page in hands.window.findChildren(HelpPage) if page.isVisible()]


def f1_explains_the_node(hands: Hands) -> None:
    hands.click(hands.node("relu"))
    hands.key(Qt.Key.Key_F1)
    assert help_titles(hands) == ["ReLU"]


def f1_explains_the_port_under_the_pointer(hands: Hands) -> None:
    hands.move(hands.port("cross_entropy", "input", "target"))
    hands.key(Qt.Key.Key_F1)
    assert help_titles(hands) == ["cross_entropy.target"]


def f1_explains_the_canvas(hands: Hands) -> None:
    hands.click(hands.empty)
    hands.key(Qt.Key.Key_F1)
    assert help_titles(hands) == ["Canvas"]


def f1_explains_a_panel(hands: Hands) -> None:
    hands.window.project_views[hands.project].log.setFocus()
    hands.window.docks["log"].reveal()
    hands.key(Qt.Key.Key_F1)
    assert help_titles(hands) == ["Log"]


def ctrl_f_finds(hands: Hands) -> None:
    hands.key(Qt.Key.Key_F, CTRL)
    bar = hands.view.overlays.find_bar
    assert bar.field.hasFocus()
    hands.write("linear")
    hands.key(Qt.Key.Key_Return)
    assert hands.store.selection == {"hidden"}
    assert bar.count.text() == "1 of 2"
    hands.key(Qt.Key.Key_F3)
    assert hands.store.selection == {"logits"}
    hands.key(Qt.Key.Key_F3)
    assert hands.store.selection == {"hidden"}
    hands.key(Qt.Key.Key_F3, SHIFT)
    assert hands.store.selection == {"logits"}
    hands.key(Qt.Key.Key_Escape)
    assert bar.isHidden()
    assert hands.view.hasFocus()


def ctrl_shift_p_opens_the_command_palette(hands: Hands) -> None:
    hands.key(Qt.Key.Key_P, CTRL | SHIFT)
    assert hands.window.command_palette.isVisible()


def ctrl_enter_runs_and_ctrl_period_stops(hands: Hands) -> None:
    hands.store.edit("Epochs", lambda document: edits.set_training(document, epochs=1000))
    hands.qtbot.waitUntil(lambda: hands.store.is_checked)
    hands.key(Qt.Key.Key_Return, CTRL)
    hands.qtbot.waitUntil(lambda: hands.project.runner.state == "running")
    hands.key(Qt.Key.Key_Period, CTRL)
    hands.qtbot.waitUntil(lambda: not hands.project.runner.is_active)


HABITS: dict[str, Callable[[Hands], None]] = {
    "Tab adds a node": add_by_tab,
    "Space adds a node": add_by_space,
    "Shift+A adds a node": add_by_shift_a,
    "double-click on empty canvas adds a node": add_by_double_click,
    "a dropped wire opens the filtered palette": drop_a_wire,
    "Alt+click on a port breaks its wires": alt_click_breaks_wires,
    "Ctrl+right-drag cuts wires": ctrl_right_drag_cuts,
    "double-click on a wire adds a reroute point": double_click_reroutes,
    "a node dropped on a wire is inserted": drop_on_a_wire_inserts,
    "M mutes": m_mutes,
    "Ctrl+G groups, Ctrl+Shift+G unpacks": ctrl_g_groups_and_ctrl_shift_g_unpacks,
    "double-click enters a block, Escape leaves it": double_click_enters_and_escape_leaves,
    "Ctrl+J frames": ctrl_j_frames,
    "F fits the selection": f_fits_the_selection,
    "Home fits all": home_fits_all,
    "L lays out": l_lays_out,
    "Ctrl+D duplicates": ctrl_d_duplicates,
    "Ctrl+Shift+V pastes with inputs": ctrl_shift_v_pastes_with_inputs,
    "middle drag pans": middle_drag_pans,
    "Space and drag pan": space_and_drag_pan,
    "the wheel zooms at the pointer": wheel_zooms_at_the_pointer,
    "F2 renames": f2_renames,
    "F1 explains the selected node": f1_explains_the_node,
    "F1 explains the port under the pointer": f1_explains_the_port_under_the_pointer,
    "F1 explains the canvas": f1_explains_the_canvas,
    "F1 explains a panel": f1_explains_a_panel,
    "Ctrl+F finds": ctrl_f_finds,
    "Ctrl+Shift+P opens the command palette": ctrl_shift_p_opens_the_command_palette,
    "Ctrl+Enter runs, Ctrl+. stops": ctrl_enter_runs_and_ctrl_period_stops,
}


@pytest.mark.parametrize("habit", HABITS)
def test_habit(hands: Hands, habit: str) -> None:
    HABITS[habit](hands)
