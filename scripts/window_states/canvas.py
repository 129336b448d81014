"""The canvas: search, find, tooltips, colors, notifications."""

from __future__ import annotations

from pathlib import Path

from PySide6.QtCore import QPointF
from PySide6.QtGui import QHelpEvent
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication

from screenshots import open_template, settle, until
from studio.document import edits
from studio.ui.window.main_window import MainWindow
from studio.ui.window.notification_bar import NotificationBar
from window_states.registry import EMOJI, LATIN, State, add_state, focused, state


@state()
def search(window: MainWindow, folder: Path) -> None:
    project = open_template(window)
    project.scope.select(["hidden"])
    until(lambda: bool(window.open_projects.libraries.blocks))
    window.canvas.open_search()  # type: ignore[union-attr]


@state()
def search_with_parameters(window: MainWindow, folder: Path) -> None:
    search(window, folder)
    QTest.keyClicks(focused(), "conv 64 k3 s2 zz")


@state()
def search_without_match(window: MainWindow, folder: Path) -> None:
    search(window, folder)
    QTest.keyClicks(focused(), "zzzz" + LATIN)


@state()
def search_blocks(window: MainWindow, folder: Path) -> None:
    search(window, folder)
    QTest.keyClicks(focused(), "block")


@state()
def notifications(window: MainWindow, folder: Path) -> None:
    open_template(window)
    window.notifications.show_bar(
        NotificationBar(f"{LATIN}.gradwire was changed on disk.", [("Reload", print), ("Keep", print)])
    )
    window.notifications.show_bar(NotificationBar(f"{EMOJI} " * 4, [("Undo", print)], icon="ok"))


def _colored(figure: str) -> State:
    def show(window: MainWindow, folder: Path) -> None:
        project = open_template(window, "digits-resnet18")
        window.project_views[project].color_by.show_figure(figure)

    return show


for _figure in ("parameters", "macs", "memory", "gradient", "device"):
    add_state(f"color_by_{_figure}", _colored(_figure))


@state()
def color_by_time_measuring(window: MainWindow, folder: Path) -> None:
    project = open_template(window, "digits-resnet18")
    window.project_views[project].color_by.measure()
    QTest.qWait(300)


@state()
def color_by_time(window: MainWindow, folder: Path) -> None:
    project = open_template(window)
    window.project_views[project].color_by.measure()
    until(lambda: window.project_views[project].time_measurer.state == "ready")


@state()
def color_by_time_outdated(window: MainWindow, folder: Path) -> None:
    color_by_time(window, folder)
    assert window.project is not None
    window.project.store.edit("Set", lambda document: edits.set_param(document, "dropout", "p", 0.25))
    QTest.qWait(500)


@state()
def color_by_time_failed(window: MainWindow, folder: Path) -> None:
    project = open_template(window)
    project.store.edit("Set", lambda document: edits.set_param(document, "logits", "in_features", 100))
    until(lambda: bool(project.store.report.errors))
    window.project_views[project].color_by.measure()
    until(lambda: window.project_views[project].time_measurer.state == "failed")


@state()
def find(window: MainWindow, folder: Path) -> None:
    open_template(window, "digits-resnet18")
    window.commands.run("edit.find")
    QTest.keyClicks(focused(), "conv")


def _show_tooltip(window: MainWindow, at: QPointF) -> None:
    view = window.canvas
    assert view is not None
    settle(window)
    point = view.camera.to_view(at).toPoint()
    event = QHelpEvent(QHelpEvent.Type.ToolTip, point, view.viewport().mapToGlobal(point))
    QApplication.sendEvent(view.viewport(), event)
    QTest.qWait(200)


@state()
def tooltip_of_wire(window: MainWindow, folder: Path) -> None:
    open_template(window)
    settle(window)
    curve = next(iter(window.canvas.canvas_scene.wires.values())).curve  # type: ignore[union-attr]
    _show_tooltip(window, QPointF((curve.start.x + curve.end.x) / 2, (curve.start.y + curve.end.y) / 2))


@state()
def tooltip_of_node(window: MainWindow, folder: Path) -> None:
    open_template(window)
    settle(window)
    box = window.canvas.canvas_scene.nodes["hidden"].box  # type: ignore[union-attr]
    _show_tooltip(window, QPointF(box.left + 60, box.top + 12))
