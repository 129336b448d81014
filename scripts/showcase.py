"""Create the pictures of "See inside" in docs/screenshots from the real studio, without a display.

    .venv/bin/python scripts/showcase.py [--scale 2] [--out FOLDER] [--only probes,scrub] [--themes light,dark]

Seeds are those of the templates, so figures of runs repeat. Times are measured again.
"scrub" is an animation, which Pillow writes as WebP.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

from PIL import Image
from PySide6.QtCore import QPointF, QRectF, Qt
from PySide6.QtGui import QImage
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication

from screenshots import ROOT, THEMES, close, open_template, settle, until
from studio.document import edits
from studio.document.files.project_templates import template
from studio.document.model import Document, Endpoint, Wire
from studio.ui import app
from studio.ui.canvas.canvas_view import CanvasView
from studio.ui.preferences.declarations import REDUCE_MOTION, THEME
from studio.ui.project.project import Project
from studio.ui.settings import Settings
from studio.ui.window.main_window import MainWindow

SIZE = (1280, 800)
WIDTH = 960
"""Width of the animation in pixels."""
QUALITY = 70
CTRL, SHIFT = Qt.KeyboardModifier.ControlModifier, Qt.KeyboardModifier.ShiftModifier


class Frame(NamedTuple):
    image: Image.Image
    milliseconds: int


Scene = Callable[[MainWindow], "Iterator[int] | None"]
"""Arranges the window; an animation yields how many milliseconds the window is shown as it is."""


def main() -> int:
    scenes: dict[str, Scene] = {
        "probes": probes, "color": color, "scrub": scrub, "breakpoint": breakpoint_hit, "step": step_through,
        "autograd-groups": autograd_groups, "graph-break": graph_break, "flame-graph": flame_graph,
        "roofline": roofline,
    }  # fmt: skip
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--scale", type=float, default=1.0, help="device pixel ratio")
    parser.add_argument("--out", type=Path, default=ROOT / "docs" / "screenshots")
    parser.add_argument("--only", default=",".join(scenes), help="scenes, separated by commas")
    parser.add_argument("--themes", default=",".join(THEMES), help="themes, separated by commas")
    options = parser.parse_args()
    os.environ.setdefault("QT_QPA_PLATFORM", "offscreen")
    os.environ["QT_SCALE_FACTOR"] = f"{options.scale:g}"
    options.out.mkdir(parents=True, exist_ok=True)
    application = app.make_application(sys.argv[:1])
    suffix = "" if options.scale == 1 else f"@{options.scale:g}x"
    with tempfile.TemporaryDirectory() as folder:
        for mode in options.themes.split(","):
            for name in options.only.split(","):
                settings = Settings(Path(folder) / f"{mode}-{name}.ini")
                settings.preferences.set(THEME, mode)
                settings.preferences.set(REDUCE_MOTION, True)
                settings.answered_offer = True
                window = app.make_window(settings, Path(folder) / "state")
                window.resize(*SIZE)
                window.show()
                frames = [Frame(grab(window), duration) for duration in scenes[name](window) or ()]
                application.processEvents()
                path = options.out / f"{name}-{mode}{suffix}{'.webp' if frames else '.png'}"
                if frames:
                    write_animation(frames, path)
                else:
                    grab(window).save(path, optimize=True)
                print(f"{path} {path.stat().st_size // 1024} KiB")
                close(window)
    return 0


def probes(window: MainWindow) -> None:
    project = trained(window, epochs=2)
    window.docks["runs"].hide()
    hide_sides(window, bottom=True)
    fit(window, "digits", "norm2", "conv2", above=230, right_of=240, below=110)
    for node in ("conv1", "conv2"):
        probe(window, node)
    project.store.select([])
    settle(window)


def color(window: MainWindow) -> None:
    project = trained(window, epochs=2)
    arrange(window, project)
    window.commands.run("view.color-gradient")
    settle(window)


def scrub(window: MainWindow) -> Iterator[int]:
    """Probe two layers, color by gradient norm, and drag the shown step along the curves."""
    project = trained(window, epochs=4)
    view = window.project_views[project]
    arrange(window, project)
    settle(window)
    yield 900
    for node in ("conv1", "relu2"):
        probe(window, node)
        settle(window)
        yield 1100
    view.probe_cards.close_all()
    project.store.select([])
    settle(window)
    yield 500
    window.commands.run("view.color-gradient")
    settle(window)
    yield 1300
    run = project.runner.runs[-1]
    assert run.folder is not None
    last = project.moment.step
    steps = [*range(last, 0, -last // 24), *range(1, last + 1, last // 24)]
    for step in steps:
        project.moment.show(run.folder, step)
        QTest.qWait(80)
        yield 600 if step == steps[-1] or step < 2 else 90
    yield 900


def breakpoint_hit(window: MainWindow) -> None:
    """A logarithm of negative values: the first loss is NaN."""
    project = window.open_projects.from_template(replace(template("digits-mlp"), document=logarithm()))
    until(lambda: project.store.is_checked)
    canvas(window).setFocus()
    project.store.select(["log1"])
    press(window, Qt.Key.Key_F9)
    press(window, Qt.Key.Key_F5)
    until(lambda: project.runner.hit is not None and project.runner.state == "paused")
    window.docks["breakpoints"].reveal()
    hide_sides(window)
    window.resizeDocks([window.docks["breakpoints"]], [240], Qt.Orientation.Vertical)
    window.project_views[project].hit_bar.show_button.click()
    settle(window)
    fit(window, above=140)


def step_through(window: MainWindow) -> None:
    project = open_template(window, "digits-residual")
    hide_sides(window)
    recordings = window.project_views[project].step_recordings
    canvas(window).setFocus()
    press(window, Qt.Key.Key_F10, CTRL)
    until(lambda: recordings.state == "ready")
    window.resizeDocks([window.docks["stepping"]], [330], Qt.Orientation.Vertical)
    fit(window, below=60)
    for _ in range(8):
        press(window, Qt.Key.Key_F8)
    settle(window)


def autograd_groups(window: MainWindow) -> None:
    project = open_template(window, "digits-vit")
    hide_sides(window)
    window.show_autograd_graph()
    panel = window.project_views[project].autograd
    until(lambda: panel.shown is not None)
    window.resizeDocks([window.docks["autograd"]], [430], Qt.Orientation.Vertical)
    fit(window)
    project.scope.select(["encoder"])
    settle(window)
    panel.view.fit()
    settle(window)


def graph_break(window: MainWindow) -> None:
    """Mended, with the measured gain."""
    project = open_template(window, "digits-python")
    view = window.project_views[project]
    hide_sides(window, bottom=True)
    canvas(window).setFocus()
    press(window, Qt.Key.Key_B, CTRL | SHIFT)
    popup = view.break_mending.popup
    until(lambda: popup.isVisible() and popup.apply.isEnabled() and not project.break_mender.is_searching("balance"))
    settle(window)
    popup.apply.click()
    until(lambda: (applied := project.break_mender.applied("balance")) is not None and applied.state == "measured")
    until(lambda: project.explainer.state != "working")
    settle(window)


def flame_graph(window: MainWindow) -> None:
    profiled(window, 0, "digits-vit", eager=True)


def roofline(window: MainWindow) -> None:
    profiled(window, 3, "digits-cnn")


def profiled(window: MainWindow, view: int, name: str, *, eager: bool = False) -> None:
    project = open_template(window, name)
    hide_sides(window)
    panel = window.project_views[project].profiler
    panel.header.eager.setChecked(eager)
    window.profile_steps()
    until(lambda: project.profiler.state in ("ready", "failed"))
    panel.header.show_view(view)
    window.resizeDocks([window.docks["profiler"]], [320], Qt.Orientation.Vertical)
    settle(window)
    fit(window)
    settle(window)


def trained(window: MainWindow, epochs: int) -> Project:
    """A small convolutional network after a run whose statistics are measured at each step."""
    project = open_template(window, "digits-cnn")
    project.store.edit(
        "Set",
        lambda document: edits.set_training(
            document, epochs=epochs, compile=False, probe_steps=1, checkpoints=epochs + 1
        ),
    )
    until(lambda: project.store.is_checked)
    window.start_run()
    until(lambda: bool(project.runner.runs) and not project.runner.is_active)
    window.project_views[project].runs.draw()
    settle(window)
    return project


def arrange(window: MainWindow, project: Project) -> None:
    """The canvas above the curves."""
    hide_sides(window)
    window.resizeDocks([window.docks["runs"]], [270], Qt.Orientation.Vertical)
    settle(window)
    fit(window, below=80)
    window.project_views[project].runs.draw()


def hide_sides(window: MainWindow, *, bottom: bool = False) -> None:
    for name in ("palette", "inspector"):
        window.docks[name].hide()
    if bottom:
        for dock in window.docks:
            dock.hide()
    settle(window)


def fit(window: MainWindow, *names: str, above: float = 0, right_of: float = 0, below: float = 0) -> None:
    """Show these nodes, or all, and room around them in units of the canvas."""
    nodes = canvas(window).canvas_scene.nodes
    boxes = [nodes[name].box for name in names or nodes]
    left, top = min(box.left for box in boxes), min(box.top for box in boxes) - above
    right, bottom = max(box.right for box in boxes) + right_of, max(box.bottom for box in boxes) + below
    canvas(window).camera.fit(QRectF(QPointF(left, top), QPointF(right, bottom)), animated=False)
    settle(window)


def probe(window: MainWindow, node: str) -> None:
    """Press Shift+P on a node, and wait for the values."""
    project = window.project
    assert project is not None
    project.store.select([node])
    canvas(window).setFocus()
    press(window, Qt.Key.Key_P, SHIFT)
    canvas(window).camera.finish()
    view = window.project_views[project]
    until(lambda: all(card.result.view is not None for card in view.probe_cards.cards.values()))


def press(window: MainWindow, key: Qt.Key, modifiers: Qt.KeyboardModifier = Qt.KeyboardModifier.NoModifier) -> None:
    QTest.keyClick(window.windowHandle(), key, modifiers)
    QApplication.processEvents()


def canvas(window: MainWindow) -> CanvasView:
    assert window.canvas is not None
    return window.canvas


def logarithm() -> Document:
    """The multilayer perceptron with a logarithm in place of ReLU."""
    document = edits.set_training(template("digits-mlp").document, epochs=1, compile=False)
    old, new = (Wire(Endpoint("hidden", "output"), Endpoint("relu", port)) for port in ("input", "x"))
    document = edits.connect(edits.retype(edits.disconnect(document, [old]), "relu", "ops.log", {}), new)
    return edits.rename(document, "relu", "log1")


def grab(window: MainWindow) -> Image.Image:
    """The window as an image."""
    image = window.grab().toImage().convertToFormat(QImage.Format.Format_RGB888)
    size = (image.width(), image.height())
    return Image.frombuffer("RGB", size, bytes(image.constBits()), "raw", "RGB", image.bytesPerLine(), 1)


def write_animation(frames: Sequence[Frame], path: Path) -> None:
    height = round(WIDTH * SIZE[1] / SIZE[0])
    images = [frame.image.resize((WIDTH, height), Image.Resampling.LANCZOS) for frame in frames]
    images[0].save(
        path,
        save_all=True,
        append_images=images[1:],
        duration=[frame.milliseconds for frame in frames],
        loop=0,
        quality=QUALITY,
        method=6,
    )


if __name__ == "__main__":
    sys.exit(main())
