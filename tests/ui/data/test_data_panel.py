"""Samples and statistics of the selected data node, with mouse and keys."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from PIL import Image
from PySide6.QtCore import QEvent, QPoint, QPointF, Qt
from PySide6.QtGui import QColor, QWheelEvent
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QPushButton, QStyle, QStyleOptionSpinBox
from pytestqt.qtbot import QtBot

from studio.document import edits
from studio.document.files.project_templates import template
from studio.document.model import Document, Node
from studio.training.data import data_statistics
from studio.training.data.sample_display import Scale
from studio.ui.panels.data import sample_painting
from studio.ui.panels.data.data_panel import DataPanel
from studio.ui.window.main_window import MainWindow
from tests.studio.training.data_documents import arrays, chained
from tests.ui.canvas.mouse_and_keyboard import MouseAndKeyboard
from tests.ui.data.conftest import LEFT, Show, click, click_sample, is_filled


@pytest.fixture
def digits(show: Show) -> DataPanel:
    return show(template("digits-mlp").document)


def node_shown(panel: DataPanel) -> str:
    return panel.header.title.text()


def test_hidden_panel_reads_no_samples(window: MainWindow, qtbot: QtBot) -> None:
    project = window.open_projects.from_template(template("digits-mlp"))
    qtbot.waitUntil(lambda: project.store.is_checked)
    window.docks["problems"].reveal()
    QApplication.processEvents()
    previewer = window.project_views[project].previewer
    assert previewer.state == "empty"
    window.commands.run("view.data")
    qtbot.waitUntil(lambda: previewer.state == "ready")


def test_panel_follows_the_selection(qtbot: QtBot, window: MainWindow, digits: DataPanel) -> None:
    assert node_shown(digits) == "batches"
    assert window.canvas is not None
    user = MouseAndKeyboard(window.canvas)
    user.click(user.node("scale"))
    qtbot.waitUntil(lambda: node_shown(digits) == "scale" and is_filled(digits))
    sample = digits.grid.sample(0)
    assert sample is not None and sample.before is not None
    assert digits.header.description.text() == "1×8×8 uint8 → 1×8×8 float32"
    user.click(user.node("relu"))
    qtbot.waitUntil(lambda: node_shown(digits) == "batches")


def test_scroll_by_keys_wheel_and_index(qtbot: QtBot, digits: DataPanel) -> None:
    grid = digits.grid
    grid.setFocus()
    size = len(grid.in_view)
    assert size > 1
    QTest.keyClick(grid, Qt.Key.Key_End)
    qtbot.waitUntil(lambda: is_filled(digits))
    assert grid.current == 1437
    assert 1437 in grid.in_view
    assert digits.header.index_box.value() == 1437
    QTest.keyClick(grid, Qt.Key.Key_Home)
    QTest.keyClick(grid, Qt.Key.Key_Right)
    QTest.keyClick(grid, Qt.Key.Key_PageDown)
    assert grid.current is not None and grid.current > 1
    before = grid.in_view.start
    position = QPointF(40, 40)
    wheel = QWheelEvent(
        position,
        grid.viewport().mapToGlobal(position),
        QPoint(),
        QPoint(0, -240),
        Qt.MouseButton.NoButton,
        Qt.KeyboardModifier.NoModifier,
        Qt.ScrollPhase.NoScrollPhase,
        False,
    )
    QApplication.sendEvent(grid.viewport(), wheel)
    assert grid.in_view.start > before
    digits.header.index_box.setFocus()
    digits.header.index_box.selectAll()
    QTest.keyClicks(digits.header.index_box, "700")
    QTest.keyClick(digits.header.index_box, Qt.Key.Key_Return)
    assert grid.current == 700
    assert 700 in grid.in_view
    qtbot.waitUntil(lambda: is_filled(digits))


def test_click_shows_a_sample_with_its_values(qtbot: QtBot, digits: DataPanel) -> None:
    click_sample(digits, 3)
    qtbot.waitUntil(digits.detail.isVisible)
    qtbot.waitUntil(lambda: "#3" in digits.detail.title.text())
    model = digits.detail.numbers.model()
    assert (model.rowCount(), model.columnCount()) == (8, 8)
    sample = digits.grid.sample(3)
    assert sample is not None and sample.input is not None
    shown = [[float(model.index(row, column).data()) for column in range(8)] for row in range(8)]
    np.testing.assert_allclose(shown, sample.input[0], rtol=1e-3)
    assert "target scalar int64 = 3" in digits.detail.figures.text()
    QTest.keyClick(digits.grid, Qt.Key.Key_Escape)
    assert not digits.detail.isVisible()
    assert digits.grid.current is None


def test_switch_between_values_before_and_after(qtbot: QtBot, show: Show) -> None:
    panel = show(chained("data.Digits", Node("transforms.Normalize", {"std": 16.0})))
    click_sample(panel, 0)
    qtbot.waitUntil(panel.detail.isVisible)
    after = float(panel.detail.numbers.model().index(0, 2).data())
    click(panel.detail._sides["before"])
    assert float(panel.detail.numbers.model().index(0, 2).data()) == pytest.approx(after * 16)
    assert "uint8" in panel.detail.figures.text()


def test_filter_by_class(qtbot: QtBot, digits: DataPanel) -> None:
    category = digits.header.category
    category.setFocus()
    QTest.keyClicks(category, "7")
    QTest.keyClick(category, Qt.Key.Key_Return)
    qtbot.waitUntil(lambda: digits.header.index_box.maximum() < 200 and is_filled(digits))
    assert category.currentText() == "7"
    labels = {sample.label for index in digits.grid.in_view if (sample := digits.grid.sample(index))}
    assert labels == {"7"}


def test_show_validation_samples(qtbot: QtBot, digits: DataPanel) -> None:
    click(digits.header.parts["validation"])
    qtbot.waitUntil(lambda: is_filled(digits))
    assert digits.header.index_box.maximum() == 358


def test_draw_new_random_transforms(qtbot: QtBot, tmp_path: Path, show: Show) -> None:
    images = np.random.default_rng(0).random((30, 1, 8, 8)).astype(np.float32)
    panel = show(chained(arrays(tmp_path, images, np.arange(30) % 2), "transforms.RandomAffine"))
    first = panel.grid.sample(0)
    assert first is not None and first.input is not None
    click(panel.header.redraw)
    qtbot.waitUntil(lambda: (now := panel.grid.sample(0)) is not None and now.input is not first.input)
    again = panel.grid.sample(0)
    assert again is not None and again.input is not None
    assert not np.array_equal(again.input, first.input)
    np.testing.assert_array_equal(again.before, first.before)  # pyright: ignore[reportArgumentType]
    click(panel.header.parts["validation"])
    assert not panel.header.redraw.isVisible()


def test_edit_and_undo_update_the_samples(qtbot: QtBot, window: MainWindow, show: Show) -> None:
    panel = show(chained("data.Digits", Node("transforms.Normalize", {"std": 16.0})))
    project = window.project
    assert project is not None

    def brightest() -> float:
        sample = panel.grid.sample(0)
        return 0.0 if sample is None or sample.input is None else float(sample.input.max())

    before = brightest()
    project.store.edit("Set std", lambda document: edits.set_param(document, "b", "std", 4.0))
    qtbot.waitUntil(lambda: brightest() == pytest.approx(before * 4))
    known = panel._previewer._preview
    project.store.edit("Move", lambda document: edits.move(document, {"b": (300, 300)}))
    panel._previewer.refresh()
    qtbot.waitUntil(panel._previewer._pool._work_queue.empty)
    QApplication.processEvents()
    assert panel._previewer._preview is known, "nothing was read again"
    project.store.undo()
    project.store.undo()
    qtbot.waitUntil(lambda: brightest() == pytest.approx(before))


def test_compute_statistics(qtbot: QtBot, digits: DataPanel) -> None:
    click(digits.header.pages["statistics"])
    page = digits.statistics
    qtbot.waitUntil(page.sheet.isVisible)
    assert page.bars.text(0) == "0: 138 training, 40 validation samples"
    assert page.table.item(0, 0).text() == "brightness"
    assert not digits.header.index_box.isVisible()


def test_narrow_panel_stacks_statistics_without_gaps(qtbot: QtBot, window: MainWindow, digits: DataPanel) -> None:
    click(digits.header.pages["statistics"])
    page = digits.statistics
    qtbot.waitUntil(page.sheet.isVisible)
    window.resize(1100, 1300)
    qtbot.waitUntil(lambda: page.width() < 820)
    QApplication.processEvents()
    last = page.problems.geometry().bottom()
    assert 0 < page._balance.geometry().top() - last < 40


def test_overlap_problem_links_to_its_samples(qtbot: QtBot, tmp_path: Path, show: Show) -> None:
    inputs = np.random.default_rng(0).random((60, 5))
    inputs[30:] = inputs[:30]
    panel = show(chained(arrays(tmp_path, inputs, np.arange(60) % 2)))
    click(panel.header.pages["statistics"])
    qtbot.waitUntil(panel.statistics.sheet.isVisible)
    found = panel._previewer.statistics
    assert found is not None and found.overlap is not None
    [problem] = found.problems
    part, row = problem.evidence["examples"][0]
    links = [link for link in panel.statistics.problems.parentWidget().findChildren(QPushButton) if link.isVisible()]
    assert links[0].text() == f"{part.capitalize()} {row}"
    click(links[0])
    qtbot.waitUntil(lambda: panel.detail.isVisible() and f"#{row}" in panel.detail.title.text())
    assert panel.header.selection.part == part


def test_cancel_statistics(qtbot: QtBot, digits: DataPanel, monkeypatch: pytest.MonkeyPatch) -> None:
    closed: list[bool] = []

    def endless(_: object) -> Iterator[data_statistics.Progress]:
        try:
            while True:
                yield data_statistics.Progress(3, 12)
        finally:
            closed.append(True)

    monkeypatch.setattr("studio.ui.project.data_previewer.compute_statistics", endless)
    click(digits.header.pages["statistics"])
    qtbot.waitUntil(lambda: digits.statistics.working._text.text() == "3 of 12 samples")
    click(digits.statistics.working.cancel)
    qtbot.waitUntil(lambda: closed == [True])
    assert digits.statistics.empty.isVisible()
    monkeypatch.undo()
    assert digits.statistics.empty.button is not None
    click(digits.statistics.empty.button)
    qtbot.waitUntil(digits.statistics.sheet.isVisible)


def test_tables_have_columns_with_types_and_missing_values(qtbot: QtBot, tmp_path: Path, show: Show) -> None:
    rows = [
        f"{number},{'' if number % 5 == 0 else number / 7:.4},{'ab'[number % 2]},{number % 2}" for number in range(80)
    ]
    (tmp_path / "t.csv").write_text("age,score,kind,y\n" + "\n".join(rows))
    node = Node("data.CSV", {"path": str(tmp_path / "t.csv"), "target": "y", "categorical": "kind", "missing": "keep"})
    panel = show(chained(node))
    model = panel.table.model()
    qtbot.waitUntil(lambda: "missing" in str(model.headerData(2, Qt.Orientation.Horizontal)))
    heads = [model.headerData(column, Qt.Orientation.Horizontal) for column in range(model.columnCount())]
    assert heads[1] == "age\nfloat32"
    assert heads[3:] == ["kind=a\ncategory", "kind=b\ncategory", "Target\n2 classes"]
    texts = [model.index(row, 2).data() for row in panel.table.in_view]
    assert "missing" in texts
    QTest.mouseClick(panel.table.viewport(), LEFT, pos=panel.table.visualRect(model.index(2, 1)).center())
    qtbot.waitUntil(panel.detail.isVisible)
    assert panel.detail.numbers.model().headerData(0, Qt.Orientation.Vertical) == "age"
    QTest.keyClick(panel.table, Qt.Key.Key_Escape)
    assert not panel.detail.isVisible()


def test_error_is_shown_with_a_button_to_its_node(qtbot: QtBot, window: MainWindow, show: Show) -> None:
    panel = show(chained(Node("data.CSV", {"path": "gone.csv", "target": "y"}), "transforms.Normalize"))
    assert panel.failed.isVisible()
    assert panel._previewer.problem is not None
    assert "gone.csv" in str(panel._previewer.problem)
    assert panel.failed.button is not None
    click(panel.failed.button)
    assert window.project is not None
    assert window.project.store.selection == {"a"}


def test_corrected_file_is_read_again(qtbot: QtBot, window: MainWindow, tmp_path: Path, show: Show) -> None:
    path = tmp_path / "t.csv"
    path.write_text("a,y\n1,0\nx,1\n")
    panel = show(chained(Node("data.CSV", {"path": str(path), "target": "y", "validation": 0.0})))
    assert "line 3" in str(panel._previewer.problem)
    path.write_text("a,y\n1,0\n2,1\n3,1\n")
    QApplication.sendEvent(panel, QEvent(QEvent.Type.ActivationChange))
    qtbot.waitUntil(lambda: is_filled(panel))
    assert panel.header.index_box.maximum() == 2
    path.write_text("a,y\n1,0\n2,1\n3,1\n4,0\n")
    QApplication.sendEvent(panel, QEvent(QEvent.Type.ActivationChange))
    qtbot.waitUntil(lambda: panel.header.index_box.maximum() == 3)


def test_an_empty_project_offers_to_add_data(qtbot: QtBot, window: MainWindow, show: Show) -> None:
    panel = show(Document())
    qtbot.waitUntil(panel.empty.isVisible)
    assert panel.empty.button is not None
    click(panel.empty.button)
    qtbot.waitUntil(lambda: window.canvas is not None and window.canvas.overlays.search.isVisible())


def test_a_damaged_image_is_marked_and_explained(qtbot: QtBot, tmp_path: Path, show: Show) -> None:
    for name in ("cat", "dog"):
        (tmp_path / name).mkdir()
        for number in range(4):
            Image.new("RGB", (30, 20), (90, 200, 20)).save(tmp_path / name / f"{number}.png")
    (tmp_path / "cat" / "1.png").write_bytes(b"no image")
    panel = show(chained(Node("data.ImageFolder", {"folder": str(tmp_path), "validation": 0.0})))
    index = next(index for index in range(8) if (sample := panel.grid.sample(index)) and sample.problem)
    click_sample(panel, index)
    qtbot.waitUntil(panel.detail._problem.isVisible)
    assert "1.png" in panel.detail._problem.text()


def test_closing_the_project_ends_the_threads(qtbot: QtBot, window: MainWindow, digits: DataPanel) -> None:
    click(digits.header.pages["statistics"])
    previewer, project = digits._previewer, window.project
    assert project is not None
    window.open_projects.close(project)
    assert previewer._pool._shutdown
    assert previewer._statistics_thread is None or not previewer._statistics_thread.is_alive()
    digits._request_samples(0, 3)  # as its view can do until it is deleted
    previewer.compute_statistics()
    previewer.watch(True)


def test_an_image_is_sharp_and_highlights_nan(qtbot: QtBot) -> None:
    image = sample_painting.image_of(np.array([[[0.0, 1.0], [np.nan, 0.5]]]), Scale(0, 1))
    assert image.pixelColor(0, 0) == QColor("#000000")
    assert image.pixelColor(1, 0) == QColor("#ffffff")
    assert image.pixelColor(0, 1).red() > image.pixelColor(0, 1).blue()
    assert image.pixelColor(1, 1).red() == image.pixelColor(1, 1).blue() == 127


@pytest.mark.parametrize("count", [12, 60_000, 3_000_000])
def test_sample_index_fits_its_box(qtbot: QtBot, tmp_path: Path, show: Show, count: int) -> None:
    panel = show(chained(arrays(tmp_path, np.zeros((count, 1), np.uint8), np.arange(count) % 2)))
    index_box = panel.header.index_box
    QTest.keyClick(panel.grid, Qt.Key.Key_End)
    qtbot.waitUntil(lambda: index_box.value() == index_box.maximum() > count * 0.7)
    line = index_box.lineEdit()
    assert index_box.isVisible() and f" / {index_box.maximum() + 1:,}" in line.text()
    option, field = QStyleOptionSpinBox(), QStyle.SubControl.SC_SpinBoxEditField
    index_box.initStyleOption(option)
    room = index_box.style().subControlRect(QStyle.ComplexControl.CC_SpinBox, option, field, index_box).width()
    assert 0 < room - line.textMargins().left() - line.fontMetrics().horizontalAdvance(line.text()) < 24


def test_sample_index_is_visible_in_a_small_window(
    qtbot: QtBot, window: MainWindow, tmp_path: Path, show: Show
) -> None:
    panel = show(chained(arrays(tmp_path, np.zeros((60_000, 1, 2, 2), np.uint8), np.arange(60_000) % 2)))
    window.resize(1280, 800)
    qtbot.waitUntil(lambda: window.width() == 1280)
    QApplication.processEvents()
    assert panel.header.index_box.isVisible() and panel.header.category.isVisible()


def test_long_column_names_leave_room_for_values(qtbot: QtBot, tmp_path: Path, show: Show) -> None:
    name = "how_much_it_rained_in_the_week_before"
    (tmp_path / "t.csv").write_text(f"{name},y\n" + "\n".join(f"0.{number}125,{number % 2}" for number in range(1, 40)))
    panel = show(chained(Node("data.CSV", {"path": str(tmp_path / "t.csv"), "target": "y"})))
    head = panel.table.horizontalHeader()
    assert head.fontMetrics().horizontalAdvance(name) < head.sectionSize(1) - 8
    model = panel.table.model()
    QTest.mouseClick(panel.table.viewport(), LEFT, pos=panel.table.visualRect(model.index(2, 1)).center())
    qtbot.waitUntil(panel.detail.isVisible)
    numbers = panel.detail.numbers
    qtbot.waitUntil(lambda: numbers.viewport().width() > 60)
    assert numbers.fontMetrics().horizontalAdvance("0.3125") < numbers.viewport().width()
    assert numbers.verticalHeader().width() <= 160
    assert numbers.model().headerData(0, Qt.Orientation.Vertical, Qt.ItemDataRole.ToolTipRole) == name


def test_problem_about_an_identifier_column_has_a_fix(qtbot: QtBot, tmp_path: Path, show: Show) -> None:
    rows = "".join(f"{row},{row % 7},{'uv'[row % 2]}\n" for row in range(60))
    (tmp_path / "table.csv").write_text(f"Q&A id,a,y\n{rows}")
    panel = show(chained(Node("data.CSV", {"path": str(tmp_path / "table.csv"), "target": "y"})))
    click(panel.header.pages["statistics"])
    qtbot.waitUntil(panel.statistics.sheet.isVisible)
    remedies = [each for each in panel.statistics.findChildren(QPushButton) if each.text() == "Ignore Q&&A id"]
    assert len(remedies) == 1
    click(remedies[0])
    store = panel._store
    assert store.document.nodes["a"].params["ignore"] == "Q&A id"
    assert store.history.undo_title == "Ignore Q&A id"
    qtbot.waitUntil(lambda: store.is_checked)
    assert "identifier" not in [problem.code for problem in store.report.problems]
