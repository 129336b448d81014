"""The Compile panel, the overlay on the canvas and the badge, in the real window with mouse and keys."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest
from PySide6.QtCore import QPoint, QPointF, Qt, QTimer
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication
from pytestqt.qtbot import QtBot

from engine.compiler import Explanation
from studio.document import edits
from studio.document.model import Document
from studio.document.templates import template
from studio.nodes.catalogue import catalogue
from studio.training.explaining import Stage, explaining
from studio.ui import explainer as explainer_module
from studio.ui import theme as themes
from studio.ui.canvas.compile_overlay import CompileOverlay
from studio.ui.canvas.region_style import RegionStyle
from studio.ui.panels.compile.outline import Key
from studio.ui.panels.compile.panel import CompilePanel
from studio.ui.project import Project
from studio.ui.theme import contrast
from studio.ui.window import MainWindow
from tests.studio.training.looking import break_relu
from tests.ui.canvas.hand import CTRL, SHIFT, Hand

LEFT = Qt.MouseButton.LeftButton


def last_of(document: Document) -> Explanation:
    return [item for item in explaining(document, catalogue()) if isinstance(item, Explanation)][-1]


@pytest.fixture(scope="module")
def whole() -> Explanation:
    """The digits network, which compiles in one piece."""
    return last_of(template("digits-mlp").document)


@pytest.fixture(scope="module")
def broken() -> Explanation:
    """The digits network with a ReLU that looks at its numbers."""
    with pytest.MonkeyPatch.context() as patch:
        break_relu(patch)
        return last_of(template("digits-mlp").document)


@pytest.fixture
def tell(monkeypatch: pytest.MonkeyPatch) -> Callable[[Explanation | Exception], None]:
    """Has the next explanations be this one."""

    def choose(found: Explanation | Exception) -> None:
        def explain(*_: object, **__: object) -> Iterator[object]:
            yield Stage("preparing")
            if isinstance(found, Exception):
                raise found
            yield Stage("recording")
            yield found

        monkeypatch.setattr(explainer_module, "explaining", explain)

    return choose


@pytest.fixture
def panel(window: MainWindow, project: Project) -> CompilePanel:
    window.docks["compile"].reveal()
    return window.desks[project].compile


@pytest.fixture
def overlay(window: MainWindow, project: Project) -> CompileOverlay:
    return window.desks[project].overlay


def click(widget: object) -> None:
    QTest.mouseClick(widget, LEFT)  # pyright: ignore[reportArgumentType, reportCallIssue]


def explain(qtbot: QtBot, window: MainWindow, project: Project) -> None:
    """By the key."""
    QTest.keyClick(window, Qt.Key.Key_E, CTRL | SHIFT)
    qtbot.waitUntil(lambda: project.explainer.state in ("ready", "failed"))


def click_row(panel: CompilePanel, key: Key) -> None:
    outline = panel.outline
    item = next(item for found, item in outline._items() if found == key)
    outline.scrollToItem(item)
    QTest.mouseClick(outline.viewport(), LEFT, pos=outline.visualItemRect(item).center())


def marked(window: MainWindow) -> set[str]:
    assert window.canvas is not None
    return {name for name, item in window.canvas.canvas.nodes.items() if item.look.marked}


# -- the panel


def test_from_nothing_to_kernels(
    qtbot: QtBot,
    window: MainWindow,
    project: Project,
    panel: CompilePanel,
    whole: Explanation,
    tell: Callable[..., None],
) -> None:
    tell(whole)
    qtbot.waitUntil(panel.empty.isVisible)
    assert panel.empty.button is not None
    click(panel.empty.button)
    qtbot.waitUntil(panel.outline.isVisible)
    header = panel.header
    assert header.figures["Breaks"].text == "0"
    assert header.figures["Kernels"].text.endswith("ready")
    assert "eager" in header.figures["One step"].text
    assert panel.outline.topLevelItem(0).text(0) == "No graph breaks"  # pyright: ignore[reportOptionalMemberAccess]
    click_row(panel, Key("kernel", 1, 1))
    assert marked(window) == {"hidden", "relu"}
    assert project.store.selection == frozenset(), "only a person selects"
    detail = panel.details.detail
    assert detail.nodes == ("hidden", "relu")
    assert "def kernel" in panel.details.editor.toPlainText()
    panel.details.copy()
    assert QApplication.clipboard().text() == detail.code
    QTest.keyClick(panel.outline, Qt.Key.Key_Down)
    assert panel.details.detail.title == "Kernel 2"
    assert marked(window) == {"dropout"}


def test_a_node_shows_its_kernels(
    qtbot: QtBot,
    window: MainWindow,
    project: Project,
    panel: CompilePanel,
    whole: Explanation,
    tell: Callable[..., None],
) -> None:
    tell(whole)
    explain(qtbot, window, project)
    assert window.canvas is not None
    hand = Hand(window.canvas)
    hand.click(hand.node("dropout"))
    assert project.store.selection == {"dropout"}
    titles = [item.text(0) for item in panel.outline.selectedItems()]
    assert titles
    assert all("dropout" in item.text(1) for item in panel.outline.selectedItems())
    assert panel.details.detail.title == titles[0]


def test_a_break_is_explained_and_led_to(
    qtbot: QtBot,
    window: MainWindow,
    project: Project,
    panel: CompilePanel,
    broken: Explanation,
    tell: Callable[..., None],
) -> None:
    tell(broken)
    explain(qtbot, window, project)
    assert panel.header.figures["Breaks"].text.startswith("1 ")
    click_row(panel, Key("break", 0))
    detail = panel.details.detail
    assert detail.title == "Decision by a tensor"
    assert detail.summary.startswith("once a step, ")
    assert detail.nodes == ("relu",)
    assert dict(detail.facts)["Because"].startswith("Python asked whether a tensor is true")
    assert "engine.where" in dict(detail.facts)["Instead"]
    assert "engine.where(y.mean() > 0, y + 1, y)" in detail.code
    click(panel.details.help)
    page = panel.details.page
    assert page is not None
    assert "Compute both and choose" in page.text.toPlainText()
    page.close()
    click_row(panel, Key("break", 0))
    QTest.keyClick(panel.outline, Qt.Key.Key_Return)
    assert project.store.selection == {"relu"}


def test_segments_tell_ops_and_guards(
    qtbot: QtBot,
    window: MainWindow,
    project: Project,
    panel: CompilePanel,
    broken: Explanation,
    tell: Callable[..., None],
) -> None:
    tell(broken)
    explain(qtbot, window, project)
    click_row(panel, Key("segment", 1))
    facts = dict(panel.details.detail.facts)
    assert "32×64 float32" in facts["Found again"]
    assert facts["Ends"] == "by a break: Decision by a tensor"
    assert marked(window) >= {"hidden", "relu"}
    assert "linear → 32×256 float32" in panel.details.detail.code
    click_row(panel, Key("recompile", 0))
    assert panel.details.detail.title == "Recompile"
    assert any("was" in text or "instead" in text for _, text in panel.details.detail.facts)


def test_edits_make_it_stale_and_one_click_mends_that(
    qtbot: QtBot,
    window: MainWindow,
    project: Project,
    panel: CompilePanel,
    whole: Explanation,
    tell: Callable[..., None],
) -> None:
    tell(whole)
    explain(qtbot, window, project)
    project.store.edit("Move", lambda document: edits.move(document, {"relu": (0, 400)}))
    assert not panel.stale.isVisible()
    project.store.edit("Widen", lambda document: edits.set_param(document, "hidden", "out_features", 99))
    assert panel.stale.isVisible()
    QTest.keyClick(window, Qt.Key.Key_Z, CTRL)
    assert not panel.stale.isVisible()
    QTest.keyClick(window, Qt.Key.Key_Z, CTRL | SHIFT)
    assert panel.stale.isVisible()
    qtbot.waitUntil(lambda: project.store.is_checked)
    click(panel.stale.button)
    qtbot.waitUntil(lambda: project.explainer.state == "ready" and not project.explainer.is_stale)
    assert not panel.stale.isVisible()


def test_errors_are_told_and_tried_again(
    qtbot: QtBot,
    window: MainWindow,
    project: Project,
    panel: CompilePanel,
    whole: Explanation,
    tell: Callable[..., None],
) -> None:
    project.store.edit("Break", lambda document: edits.set_param(document, "logits", "in_features", 100))
    qtbot.waitUntil(lambda: bool(project.store.report.errors))
    explain(qtbot, window, project)
    assert panel.failed.isVisible()
    assert project.explainer.problem == project.store.report.errors[0].message
    project.store.undo()
    qtbot.waitUntil(lambda: project.store.is_checked)
    tell(RuntimeError("the disk caught fire"))
    assert panel.failed.button is not None
    click(panel.failed.button)
    qtbot.waitUntil(lambda: "caught fire" in project.explainer.problem)
    tell(whole)
    click(panel.failed.button)
    qtbot.waitUntil(panel.outline.isVisible)


def test_it_can_be_cancelled(
    qtbot: QtBot, window: MainWindow, project: Project, panel: CompilePanel, monkeypatch: pytest.MonkeyPatch
) -> None:
    closed: list[bool] = []

    def endless(*_: object, **__: object) -> Iterator[Stage]:
        try:
            while True:
                yield Stage("compiling", 3, 12)
        finally:
            closed.append(True)

    monkeypatch.setattr(explainer_module, "explaining", endless)
    QTest.keyClick(window, Qt.Key.Key_E, CTRL | SHIFT)
    qtbot.waitUntil(lambda: "3 of 12" in panel.header._stage.text())
    click(panel.header.cancel)
    qtbot.waitUntil(lambda: closed == [True])
    assert project.explainer.state == "empty"
    assert panel.empty.isVisible()


def test_closing_the_project_ends_the_thread(
    qtbot: QtBot, window: MainWindow, project: Project, panel: CompilePanel
) -> None:
    project.explainer.explain()
    thread = project.explainer._thread
    assert thread is not None
    window.workspace.close(project)
    qtbot.waitUntil(lambda: not thread.is_alive())


# -- the overlay


def color_at(window: MainWindow, x: float, y: float) -> str:
    """Of a place of the canvas, as it is on the screen."""
    assert window.canvas is not None
    place = window.canvas.camera.to_view(QPointF(x, y)).toPoint()
    return window.canvas.viewport().grab().toImage().pixelColor(place).name()


def test_regions_are_coloured_by_a_key(
    qtbot: QtBot,
    window: MainWindow,
    project: Project,
    overlay: CompileOverlay,
    broken: Explanation,
    tell: Callable[..., None],
) -> None:
    tell(broken)
    explain(qtbot, window, project)
    assert window.canvas is not None
    boxes = window.canvas.canvas.boxes()
    places = [(boxes[name].right - 20, boxes[name].bottom + 12) for name in ("hidden", "logits", "flatten")]
    plain = [color_at(window, *place) for place in places]
    window.canvas.setFocus()
    QTest.keyClick(window.canvas, Qt.Key.Key_R, CTRL | SHIFT)
    assert overlay.is_on
    assert overlay.legend.isVisible()
    assert window.commands.action("view.regions").isChecked()
    assert window.settings.shows_regions
    first, second, none = (color_at(window, *place) for place in places)
    style = RegionStyle(themes.current())
    assert (first, second) == (style.fill(1).name(), style.fill(2).name())
    assert none == plain[2]
    QTest.keyClick(window.canvas, Qt.Key.Key_R, CTRL | SHIFT)
    assert [color_at(window, *place) for place in places] == plain
    assert not overlay.regions.isVisible()
    assert not overlay.legend.isVisible()


def test_the_sign_of_a_break_opens_its_row(
    qtbot: QtBot,
    window: MainWindow,
    project: Project,
    overlay: CompileOverlay,
    broken: Explanation,
    tell: Callable[..., None],
) -> None:
    tell(broken)
    window.docks["runs"].reveal()
    project.explainer.explain()
    qtbot.waitUntil(lambda: project.explainer.state == "ready")
    overlay.show_overlay(True)
    [(bridge, sign)] = overlay.bridges.signs()
    assert bridge.node == "relu"
    assert window.canvas is not None
    place = window.canvas.camera.to_view(sign.center()).toPoint()
    QTest.mouseMove(window.canvas.viewport(), place)
    QTest.mouseClick(window.canvas.viewport(), LEFT, pos=place)
    panel = window.desks[project].compile
    qtbot.waitUntil(panel.isVisible)
    assert panel.outline.key == Key("break", 0)
    assert panel.details.detail.help == "bool"
    assert marked(window) == {"relu"}
    assert not project.store.selection, "the canvas was not clicked"


def test_regions_follow_their_nodes(
    qtbot: QtBot,
    window: MainWindow,
    project: Project,
    overlay: CompileOverlay,
    whole: Explanation,
    tell: Callable[..., None],
) -> None:
    tell(whole)
    explain(qtbot, window, project)
    overlay.show_overlay(True)
    assert window.canvas is not None
    hand = Hand(window.canvas)
    box = window.canvas.canvas.nodes["accuracy"].box
    hand.drag(hand.node("accuracy"), hand.node("accuracy") + QPoint(0, 60))
    moved = window.canvas.canvas.nodes["accuracy"].box
    assert moved.top > box.top
    assert color_at(window, moved.right - 20, moved.bottom + 12) == RegionStyle(themes.current()).fill(1).name()
    project.store.edit("Remove", lambda document: edits.remove(document, ["accuracy"]))
    assert all("accuracy" not in drawn.region.nodes for drawn in overlay.regions._drawn or ())
    assert project.explainer.is_stale


def test_signs_keep_a_readable_size(
    qtbot: QtBot,
    window: MainWindow,
    project: Project,
    overlay: CompileOverlay,
    broken: Explanation,
    tell: Callable[..., None],
) -> None:
    tell(broken)
    explain(qtbot, window, project)
    overlay.show_overlay(True)
    assert window.canvas is not None
    for scale in (1.5, 1.0, 0.5, 0.34):
        window.canvas.camera.zoom_to(scale, animated=False)
        [(_, sign)] = overlay.bridges.signs()
        assert sign.height() * scale >= 20
    window.canvas.viewport().grab()


@pytest.mark.parametrize("name", ["light", "dark"])
def test_regions_can_be_told_from_the_ground_and_read_on(name: str) -> None:
    theme = themes.load(name)
    style, ground = RegionStyle(theme), theme.color("background")
    for segment in range(1, len(theme.series) + 1):
        assert contrast(style.line(segment), ground) >= 3, segment
        assert contrast(style.text(segment), ground) >= 4.5, segment
        for back in (style.fill(segment), style.band(segment)):
            assert contrast(theme.color("text"), back) >= 4.5, segment
    assert contrast(style.plank(), ground) >= 3


# -- training


@pytest.fixture
def endless(project: Project) -> Project:
    project.store.edit("Set epochs", lambda document: edits.set_training(document, epochs=10_000))
    return project


def stop(qtbot: QtBot, window: MainWindow, project: Project) -> None:
    window.commands.run("run.stop")
    qtbot.waitUntil(lambda: not project.runner.is_active)


def test_the_badge_and_the_panel_follow_a_run(
    qtbot: QtBot, window: MainWindow, endless: Project, overlay: CompileOverlay
) -> None:
    badge = window.status.tier
    assert not badge.isVisible()
    seen: list[str] = []
    endless.runner.events.connect(lambda _: seen.append(badge.text().strip()))
    window.commands.run("run.start")
    window.docks["compile"].reveal()
    overlay.show_overlay(True)
    qtbot.waitUntil(lambda: badge.text().strip() in ("Compiled", "Replayed"))
    assert {text.partition(" ")[0] for text in seen} <= {"", "Recording", "Interpreted", "Compiled", "Replayed"}
    explainer = endless.explainer
    qtbot.waitUntil(lambda: explainer.explanation is not None and explainer.is_live)
    panel = window.desks[endless].compile
    qtbot.waitUntil(lambda: panel.outline.isVisible() and panel.header.badge.text() == badge.text())
    assert "kernels" in badge.toolTip()
    assert overlay.regions._drawn
    window.docks["runs"].reveal()
    click(badge)
    qtbot.waitUntil(panel.isVisible)
    stop(qtbot, window, endless)


def test_the_window_keeps_answering(
    qtbot: QtBot, window: MainWindow, endless: Project, overlay: CompileOverlay
) -> None:
    window.commands.run("run.start")
    window.docks["compile"].reveal()
    overlay.show_overlay(True)
    qtbot.waitUntil(lambda: endless.explainer.explanation is not None)
    ticks: list[int] = []
    timer = QTimer()
    timer.timeout.connect(lambda: ticks.append(endless.runner.runs[-1].progress.step))
    timer.start(10)
    qtbot.waitUntil(lambda: len(ticks) >= 100 and ticks[-1] > ticks[0])
    timer.stop()
    stop(qtbot, window, endless)


def test_compiling_can_be_switched_off_and_undone(
    qtbot: QtBot, window: MainWindow, endless: Project, panel: CompilePanel
) -> None:
    assert panel.header.switch.isChecked()
    assert window.commands.action("run.compile").isChecked()
    click(panel.header.switch)
    assert not endless.store.document.training.compile
    assert not window.commands.action("run.compile").isChecked()
    assert window.status.tier.text().strip() == "Eager"
    window.commands.run("run.start")
    qtbot.waitUntil(lambda: endless.runner.run is not None and endless.runner.run.progress.step > 2)
    assert endless.runner.run is not None
    assert endless.runner.run.compile_state is None
    assert window.status.tier.text().strip() == "Eager"
    stop(qtbot, window, endless)
    QTest.keyClick(window, Qt.Key.Key_Z, CTRL)
    assert endless.store.document.training.compile
    assert panel.header.switch.isChecked()
    window.commands.run("run.compile")
    assert not endless.store.document.training.compile
