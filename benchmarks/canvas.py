"""Times of the window with large graphs: open, zoom, pan, drag, edit, undo, paste, duplicate, layout; and memory.

    QT_QPA_PLATFORM=offscreen python benchmarks/canvas.py                    2,000 nodes, 2,500 wires
    QT_QPA_PLATFORM=offscreen python benchmarks/canvas.py --nodes 200        another size
    QT_QPA_PLATFORM=offscreen python benchmarks/canvas.py --blocks 50        50 blocks of 40 nodes

Prints the median, the 95th percentile and the worst time in milliseconds; 60 frames per second are 16.7. An edit is a
key press in the window; "blocked" is the longest time until the window handled the next event, "checked" the time until
the new shapes are painted. "With code" also waits for the text of the Code panel, which is open then. With --cpu, times
are CPU time of the window's thread, which other load changes less.
"""

from __future__ import annotations

import argparse
import os
import resource
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from frames import frames, print_times
from large_graphs import blocks_graph, residual_graph
from PySide6.QtCore import QPoint, QPointF, Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication

from studio.document import edits
from studio.document.blocks import block_nodes
from studio.document.blocks.block_edits import edit_block
from studio.document.files import project_files
from studio.document.model import Document
from studio.ui import app
from studio.ui.canvas.canvas_view import CanvasView
from studio.ui.canvas.hit_testing import Hit
from studio.ui.garbage_collector import GarbageCollector
from studio.ui.preferences.declarations import REDUCE_MOTION
from studio.ui.project.project import Project
from studio.ui.settings import Settings
from studio.ui.window.main_window import MainWindow

Clock = Callable[[], float]
FRAMES, EDITS, BLOCK_SIZE = 40, 10, 40
CONTROL = Qt.KeyboardModifier.ControlModifier
SHIFT = Qt.KeyboardModifier.ShiftModifier


class Bench:
    """The window with one open project."""

    def __init__(self, window: MainWindow, project: Project, clock: Clock) -> None:
        self.window, self.project, self.clock = window, project, clock
        self.view: CanvasView = window.project_views[project].canvas
        self.store = project.store

    def frames(self, title: str, count: int, step: Callable[[int], object]) -> float:
        return frames(title, count, step, self.clock)

    def key(self, key: Qt.Key, modifiers: Qt.KeyboardModifier = Qt.KeyboardModifier.NoModifier) -> None:
        QTest.keyClick(self.view, key, modifiers)

    def edits(
        self,
        title: str,
        action: Callable[[], object],
        count: int = EDITS,
        is_shown: Callable[[], bool] = lambda: True,
    ) -> None:
        """Print the times of edits until they are painted and checked, and `is_shown` holds."""
        blocked: list[float] = []
        painted: list[float] = []
        checked: list[float] = []
        for _ in range(count):
            longest, first, total = self._edit(action, is_shown)
            blocked.append(longest)
            painted.append(first)
            checked.append(total)
        print_times(f"{title}: painted", painted)
        print_times(f"{title}: blocked", blocked)
        print_times(f"{title}: checked", checked)

    def _edit(self, action: Callable[[], object], is_shown: Callable[[], bool]) -> tuple[float, float, float]:
        """Milliseconds that the event loop was blocked, until the first paint, and until the checked paint."""
        self.settle()
        document = self.store.document
        begin, last, start = self.clock(), self.clock(), time.perf_counter()
        action()
        longest = first = 0.0
        while not first or self.store.document is document or not self.store.is_checked or not is_shown():
            QApplication.processEvents()
            now = self.clock()
            longest, last = max(longest, now - last), now
            if not first and self.store.document is not document:  # painted by the same call
                first = now - begin
            if time.perf_counter() - start > 60:
                raise TimeoutError
        QApplication.processEvents()
        now = self.clock()
        return 1000 * max(longest, now - last), 1000 * first, 1000 * (now - begin)

    def _is_busy(self) -> bool:
        view = self.view
        return not self.store.is_checked or view.auto_layout.is_busy or view.canvas_scene.wire_router.is_busy

    def settle(self) -> None:
        """Wait until the document is checked and wires are routed."""
        end = time.perf_counter() + 0.05
        while self._is_busy() or time.perf_counter() < end:
            QApplication.processEvents()


def opened(window: MainWindow, path: Path, clock: Clock = time.perf_counter) -> Bench:
    """Open a project, and print the times until it is painted and checked."""
    begin = clock()
    project = window.files.open(path)
    assert project is not None
    QApplication.processEvents()
    project_view = window.project_views[project]
    project_view.canvas.viewport().repaint()
    painted = clock() - begin
    while not project.store.is_checked:
        QApplication.processEvents()
    QApplication.processEvents()
    checked = clock() - begin
    document = project.store.document
    print(f"open {len(document.nodes)} nodes, {len(document.wires)} wires: painted {1000 * painted:.0f} ms", end="")
    print(f", checked {1000 * checked:.0f} ms, {len(project.store.report.errors)} errors, {memory():.0f} MB")
    return Bench(window, project, clock)


def memory() -> float:
    """Resident memory in MB."""
    pages = int(Path("/proc/self/statm").read_text().split()[1]) if sys.platform == "linux" else 0
    return pages * os.sysconf("SC_PAGE_SIZE") / 2**20 if pages else resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


def measure_frames(bench: Bench) -> None:
    view, camera, canvas = bench.view, bench.view.camera, bench.view.canvas_scene
    middle = QPointF(*view.overlays.minimap.graph_box.center)
    for scale in (0.05, 0.15, 0.3, 0.4, 0.5, 0.8, 1.0, 2.0):
        camera.zoom_to(scale)
        camera.center_on(middle)
        QApplication.processEvents()
        bench.frames(f"repaint all at {scale:.0%}", FRAMES // 2, lambda _: view.viewport().repaint())
    for scale in (0.05, 0.15, 0.32, 0.35, 0.5, 0.65, 1.0, 2.0):
        camera.zoom_to(scale)
        camera.center_on(middle)
        QApplication.processEvents()
        bench.frames(f"pan at {scale:.0%}", FRAMES, lambda _: camera.pan(17, 9))
    camera.zoom_to(1.0)
    bench.frames("zoom through all levels of detail", 2 * FRAMES, lambda i: camera.zoom_by(*zoom_step(i)))
    camera.zoom_to(1.0)
    camera.center_on(middle)
    QApplication.processEvents()
    wires = list(canvas.wires)

    def hover(index: int) -> None:
        canvas.marks.hover(Hit(wire=wires[index * 37 % len(wires)]))

    bench.frames("hover wires, paths highlighted", FRAMES, hover)
    camera.fit(camera.visible.adjusted(-9000, -4000, 9000, 4000))
    bench.frames("hover, zoomed out", FRAMES, hover)
    canvas.marks.hover(Hit())


def measure_colors(bench: Bench) -> None:
    """Repaint all with and without the colors of a figure, in turns, and show and hide it."""
    view, camera, color_by = bench.view, bench.view.camera, bench.window.project_views[bench.project].color_by
    middle = QPointF(*view.overlays.minimap.graph_box.center)
    for scale in (0.05, 0.15, 0.3, 0.5, 1.0, 2.0):
        camera.zoom_to(scale)
        camera.center_on(middle)
        times: dict[str, list[float]] = {"": [], "macs": []}
        for _ in range(4):
            for key, found in times.items():
                color_by.show_figure(key)
                QApplication.processEvents()
                name = "with" if key else "without"
                found.append(
                    bench.frames(f"repaint {name} colors at {scale:.0%}", 10, lambda _: view.viewport().repaint())
                )
        print(f"colors at {scale:.0%}: ratio {min(times['macs']) / min(times['']):.2f}")
    bench.frames("show and hide the colors", 10, lambda i: color_by.show_figure("" if i % 2 else "macs"))
    color_by.show_figure("")


def zoom_step(index: int) -> tuple[float, QPointF]:
    return (0.7 if index % 24 < 12 else -0.7), QPointF(500, 300)


def measure_drags(bench: Bench) -> None:
    camera, canvas = bench.view.camera, bench.view.canvas_scene
    middle = QPointF(*bench.view.overlays.minimap.graph_box.center)
    for scale in (1.0, 0.4, 0.2):
        camera.zoom_to(scale)
        camera.center_on(middle)
        QApplication.processEvents()
        near = sorted(canvas.nodes.values(), key=lambda item: (QPointF(*item.box.center) - middle).manhattanLength())
        for count in (1, 200):
            bench.store.select([item.name for item in near[:count]])
            QApplication.processEvents()
            drag(bench, f"drag {len(bench.store.selection)} nodes at {scale:.0%}", near[0].box.center)
    bench.store.select(())


def drag(bench: Bench, title: str, at: tuple[float, float]) -> None:
    """Drag the selection with real mouse events."""
    start, viewport = bench.view.camera.to_view(QPointF(*at)).toPoint(), bench.view.viewport()
    QTest.mousePress(viewport, Qt.MouseButton.LeftButton, Qt.KeyboardModifier.NoModifier, start)
    bench.frames(title, FRAMES, lambda i: QTest.mouseMove(viewport, start + QPoint(3 * i + 6, 2 * i + 6)))
    bench.view.cancel()
    QTest.mouseRelease(viewport, Qt.MouseButton.LeftButton, Qt.KeyboardModifier.NoModifier, start)


def measure_edits(bench: Bench) -> None:
    store, view = bench.store, bench.view
    linears = [name for name, node in store.document.nodes.items() if node.type == "nn.Linear"]
    if len(linears) > 2:
        for place, name in (("in the middle", linears[len(linears) // 2]), ("at the start", linears[0])):
            view.reveal(name)
            bench.edits(f"mute a layer {place} (M)", lambda: bench.key(Qt.Key.Key_M))
            widths = iter(range(65, 999))
            bench.edits(
                f"parameter {place}",
                lambda name=name, widths=widths: store.edit(
                    "Edit", lambda document: edits.set_param(document, name, "out_features", next(widths))
                ),
            )
            bench.edits("undo it (Ctrl+Z)", lambda: bench.key(Qt.Key.Key_Z, CONTROL))
    if store.document.blocks:
        measure_block_edits(bench)
    names = list(store.document.nodes)
    for count in (200, len(names)):
        if count > len(names):
            continue
        store.select(names[4 : 4 + count])
        bench.edits(f"move {count} nodes (Shift+Right)", lambda: bench.key(Qt.Key.Key_Right, SHIFT), 5)
        bench.edits(f"duplicate {len(store.selection)} nodes (Ctrl+D)", lambda: bench.key(Qt.Key.Key_D, CONTROL), 1)
        bench.edits("undo it (Ctrl+Z)", lambda: bench.key(Qt.Key.Key_Z, CONTROL), 1)
        store.select(names[4 : 4 + count])
        bench.key(Qt.Key.Key_C, CONTROL)
        bench.edits(f"paste {count} nodes (Ctrl+V)", lambda: bench.key(Qt.Key.Key_V, CONTROL), 1)
        bench.edits("undo it (Ctrl+Z)", lambda: bench.key(Qt.Key.Key_Z, CONTROL), 1)
    store.select(())
    bench.edits(f"lay out {len(names)} nodes (L)", lambda: bench.key(Qt.Key.Key_L), 1)
    bench.edits("undo it (Ctrl+Z)", lambda: bench.key(Qt.Key.Key_Z, CONTROL), 1)


def measure_code(bench: Bench) -> None:
    """Edit while the Code panel is open."""
    store, code = bench.store, bench.window.project_views[bench.project].code
    linears = [name for name, node in store.document.nodes.items() if node.type == "nn.Linear"]

    def is_shown(name: str) -> bool:
        return f"out_features={store.document.nodes[name].params['out_features']})" in source(bench, name)

    bench.window.docks["code"].reveal()
    while code.program is None:
        QApplication.processEvents()
    if len(linears) > 2:
        name, widths = linears[len(linears) // 2], list(range(65, 65 + EDITS))
        bench.view.reveal(name)
        rest = iter(widths)
        bench.edits(
            "parameter in the middle, with code",
            lambda: store.edit("Edit", lambda document: edits.set_param(document, name, "out_features", next(rest))),
            is_shown=lambda: (
                f"out_features={store.document.nodes[name].params['out_features']})" in source(bench, name)
            ),
        )
    bench.frames("select a node, with code", FRAMES, lambda i: store.select([linears[i * 37 % len(linears)]]))
    bench.frames("select all nodes, with code", 2, lambda i: store.select(list(store.document.nodes) if i else ()))
    store.select(())


def source(bench: Bench, node: str) -> str:
    """The line of a node in the Code panel."""
    text = bench.window.project_views[bench.project].code.editor.toPlainText()
    begin = text.find(f"self.{node} = ")
    return text[begin : text.find("\n", begin)]


def measure_block_edits(bench: Bench) -> None:
    """Edit a node inside a definition."""
    name, widths = list(bench.store.document.blocks)[len(bench.store.document.blocks) // 2], iter(range(65, 999))
    bench.view.reveal(next(n for n, node in bench.store.document.nodes.items() if block_nodes.name_of(node) == name))

    def widen(document: Document) -> Document:
        return edits.set_param(document, "linear_1", "out_features", next(widths))

    bench.edits("parameter in a block", lambda: bench.store.edit("Edit", lambda d: edit_block(d, name, widen)))
    bench.edits("undo it (Ctrl+Z)", lambda: bench.key(Qt.Key.Key_Z, CONTROL))


PARTS: dict[str, Callable[[Bench], None]] = {
    "frames": measure_frames,
    "colors": measure_colors,
    "drags": measure_drags,
    "edits": measure_edits,
    "code": measure_code,
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--nodes", type=int, default=2000, help="number of nodes (default: 2000)")
    parser.add_argument("--blocks", type=int, default=0, help=f"number of blocks of {BLOCK_SIZE} nodes instead")
    parser.add_argument("--cpu", action="store_true", help="CPU time of the window's thread instead of elapsed time")
    parser.add_argument("--only", choices=PARTS, help="one part of the measurements")
    options = parser.parse_args()
    document = blocks_graph(options.blocks, BLOCK_SIZE) if options.blocks else residual_graph(options.nodes)
    app.make_application(sys.argv[:1])
    with tempfile.TemporaryDirectory() as folder_name:
        folder = Path(folder_name)
        settings = Settings(folder / "settings.ini")
        settings.preferences.set(REDUCE_MOTION, True)
        window = app.make_window(settings, folder / "state")
        collector = GarbageCollector(window)
        window.resize(1600, 1000)
        window.show()
        QApplication.processEvents()
        project_files.save(document, folder / "large.gradwire")
        bench = opened(window, folder / "large.gradwire", time.thread_time if options.cpu else time.perf_counter)
        for part, measure in PARTS.items():
            if options.only in (None, part):
                bench.settle()
                measure(bench)
        print(f"memory at the end: {memory():.0f} MB")
        bench.store.mark_saved(bench.store.document, folder / "large.gradwire")
        window.open_projects.close(bench.project)
        window.close()
        collector.stop()


if __name__ == "__main__":
    main()
