"""Frame times of the canvas with 2,000 nodes: zooming, panning, dragging, hovering, opening.

    QT_QPA_PLATFORM=offscreen python benchmarks/canvas.py [NODES]

Prints the median and the worst frame time in milliseconds; 60 frames per second are 16.7.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from pathlib import Path

from frames import frames
from PySide6.QtCore import QPoint, QPointF, Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QMainWindow

from studio.document.model import Document, Endpoint, Json, Node, Wire
from studio.lowering.check import check
from studio.lowering.report import Report
from studio.nodes.catalogue import catalogue
from studio.ui.canvas.canvas_view import CanvasView
from studio.ui.canvas.hit_testing import Hit
from studio.ui.canvas.layout.auto_layout import SPACING
from studio.ui.layered_layout import Link, arrange
from studio.ui.project.project_store import ProjectStore
from studio.ui.project.scope_store import ScopeStore
from studio.ui.theme import motion, stylesheet, theme

COLUMNS, FRAMES = 50, 30
KINDS = ("nn.Linear", "nn.ReLU", "nn.Dropout")


def network(count: int) -> Document:
    """Rows of layers with residual additions, whose wires cross columns."""
    nodes: dict[str, Node] = {}
    wires: list[Wire] = []
    for index in range(count):
        column, row = index % COLUMNS, index // COLUMNS
        kind = "ops.add" if column % 5 == 4 else KINDS[column % len(KINDS)]
        params: dict[str, Json] = {"out_features": 64} if kind == "nn.Linear" else {}
        nodes[f"node_{index}"] = Node(kind, params, at=(column * 240.0, row * 104.0))
        if column == 0:
            continue
        port = "x" if kind == "ops.add" else "input"
        wires.append(Wire(Endpoint(f"node_{index - 1}", "output"), Endpoint(f"node_{index}", port)))
        if kind == "ops.add":
            wires.append(Wire(Endpoint(f"node_{index - 4}", "output"), Endpoint(f"node_{index}", "y")))
    return Document(nodes, tuple(sorted(wires)))


class Bench:
    def __init__(self, view: CanvasView) -> None:
        self.view = view

    def frames(self, title: str, step: Callable[[int], object]) -> None:
        frames(title, FRAMES, step)

    def repaint(self, title: str) -> None:
        self.frames(title, lambda _: self.view.viewport().repaint())


def once(title: str, function: Callable[[], object]) -> None:
    begin = time.perf_counter()
    function()
    print(f"{title:<44} once   {(time.perf_counter() - begin) * 1000:7.1f}")


def main(count: int) -> None:
    application = QApplication.instance() or QApplication([])
    assert isinstance(application, QApplication)
    motion.set_reduced(True)
    themes = theme.manager()
    stylesheet.apply(application, themes.theme)
    document, window = network(count), QMainWindow()

    def checked(document: Document, base: Path | None) -> Report:
        return check(document, catalogue(), base)

    store = ProjectStore(document, catalogue(), checked)
    opened: list[CanvasView] = []
    once(
        f"open {len(document.nodes)} nodes, {len(document.wires)} wires",
        lambda: opened.append(CanvasView(ScopeStore(store), themes)),
    )
    view = opened[0]
    window.setCentralWidget(view)
    window.resize(1600, 1000)
    window.show()
    while not store.is_checked:
        application.processEvents()
    measure(view, application)
    view.close_view()
    store.close()


def measure(view: CanvasView, application: QApplication) -> None:
    bench, camera, canvas = Bench(view), view.camera, view.canvas_scene
    middle = QPointF(*view.overlays.minimap.graph_box.center)
    for scale in (0.05, 0.15, 0.3, 0.5, 0.8, 1.0, 2.0):
        camera.zoom_to(scale)
        camera.center_on(middle)
        application.processEvents()
        bench.repaint(f"repaint all at {scale:.0%}")
    for scale in (0.15, 0.5, 1.0):
        camera.zoom_to(scale)
        bench.frames(f"pan at {scale:.0%}", lambda _: camera.pan(7, 3))
    camera.zoom_to(1.0)
    bench.frames(
        "zoom through all levels of detail", lambda i: camera.zoom_by(3 if i % 8 < 4 else -3, QPointF(800, 500))
    )
    camera.zoom_to(1.0)
    camera.center_on(middle)
    application.processEvents()
    drag(bench, view)
    wires = list(canvas.wires)
    bench.frames("hover wires, paths highlighted", lambda i: canvas.set_hovered(Hit(wire=wires[i * 37 % len(wires)])))
    camera.fit(camera.visible.adjusted(-9000, -4000, 9000, 4000))
    bench.frames("hover, zoomed out", lambda i: canvas.set_hovered(Hit(wire=wires[i * 37 % len(wires)])))
    once("select all", view.canvas_actions.select_all)
    once("move all", lambda: view.canvas_actions.nudge("right"))
    once("undo", view.store.undo)
    boxes = canvas.boxes()
    links = [Link(wire.source.node, wire.target.node, 36, 36) for wire in wires]
    sizes = {name: (box.width, box.height) for name, box in boxes.items()}
    once("compute a layout of all (in a thread)", lambda: arrange(sizes, links, SPACING))


def drag(bench: Bench, view: CanvasView) -> None:
    """Drag one node with real mouse events."""
    node = min(
        view.canvas_scene.nodes.values(),
        key=lambda item: (QPointF(*item.box.center) - view.camera.visible.center()).manhattanLength(),
    )
    start = view.camera.to_view(QPointF(node.x() + 40, node.y() + 12)).toPoint()
    viewport = view.viewport()
    QTest.mousePress(viewport, Qt.MouseButton.LeftButton, Qt.KeyboardModifier.NoModifier, start)
    bench.frames("drag one node", lambda i: QTest.mouseMove(viewport, start + QPoint(5 * i, 4 * i)))
    view.cancel()


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("nodes", type=int, nargs="?", default=2000, help="number of nodes (default: 2000)")
    main(parser.parse_args().nodes)
