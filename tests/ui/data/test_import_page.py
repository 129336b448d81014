"""The import page, from a dropped file to nodes on the canvas, with mouse and keys."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from PIL import Image
from PySide6.QtCore import QMimeData, QPoint, Qt, QUrl
from PySide6.QtGui import QDragEnterEvent, QDropEvent
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QComboBox, QMenu, QWidget
from pytestqt.qtbot import QtBot

from studio.ui.canvas.canvas_view import CanvasView
from studio.ui.data_import import import_dialog
from studio.ui.data_import.column_table import FILL, ROLE, TYPE
from studio.ui.data_import.import_dialog import ImportDialog
from studio.ui.data_import.import_preview import ClassBalance
from studio.ui.theme import theme
from studio.ui.window.main_window import MainWindow
from studio.ui.window.notification_bar import NotificationBar

CTRL = Qt.KeyboardModifier.ControlModifier
Drop = Callable[..., ImportDialog]

PEOPLE = "id,age,sex,joined,survived\n" + "".join(
    f"{row},{row * 7 % 60 if row % 9 else ''},{'fm'[row % 2]},{row % 28 + 1:02}/03/2020,{row % 3 == 0:d}\n"
    for row in range(90)
)


@pytest.mark.parametrize("count", [10, 100])
def test_bars_of_many_classes_are_visible(qtbot: QtBot, count: int) -> None:
    bars = ClassBalance()
    qtbot.addWidget(bars)
    bars.show_classes(tuple((f"class {index}", 500) for index in range(count)))
    bars.resize(400, bars.sizeHint().height())
    picture = bars.grab().toImage()
    accent = theme.current().color("accent").rgb()
    rows = [sum(picture.pixel(x, 20 * row + 10) == accent for x in range(400)) for row in range(picture.height() // 20)]
    assert all(width > 200 for width in rows[:10])
    assert rows[10:] == [0] * (count > 10)


@pytest.fixture
def canvas(window: MainWindow, qtbot: QtBot) -> CanvasView:
    project = window.open_projects.new()
    qtbot.waitUntil(lambda: project.store.is_checked)
    assert window.canvas is not None
    return window.canvas


def drop_files(target: QWidget, *paths: Path) -> None:
    data = QMimeData()
    data.setUrls([QUrl.fromLocalFile(str(path)) for path in paths])
    action, buttons, keys = Qt.DropAction.CopyAction, Qt.MouseButton.LeftButton, Qt.KeyboardModifier.NoModifier
    position = target.rect().center()
    enter = QDragEnterEvent(position, action, data, buttons, keys)
    QApplication.sendEvent(target, enter)
    assert enter.isAccepted()
    QApplication.sendEvent(target, QDropEvent(position.toPointF(), action, data, buttons, keys))


@pytest.fixture
def dropped(window: MainWindow, canvas: CanvasView, qtbot: QtBot) -> Drop:
    """Drops files on the canvas and waits for the import page of the first."""

    def drop(*paths: Path) -> ImportDialog:
        drop_files(canvas.viewport(), *paths)
        dialog = window.imports.dialog
        assert dialog is not None
        qtbot.waitUntil(lambda: dialog.stack.currentWidget() is not dialog.reading, timeout=20_000)
        return dialog

    return drop


def table(folder: Path, content: str = PEOPLE, name: str = "people.csv") -> Path:
    path = folder / name
    path.write_text(content)
    return path


def choose(qtbot: QtBot, dialog: ImportDialog, row: int, column: int, title: str) -> None:
    """Click a cell, and choose from its list by keys."""
    view = dialog.columns
    index = view.model().index(row, column)
    view.scrollTo(index)
    QTest.mouseClick(view.viewport(), Qt.MouseButton.LeftButton, pos=view.visualRect(index).center())
    pick(qtbot, dialog, title)


def pick(qtbot: QtBot, dialog: ImportDialog, title: str) -> None:
    qtbot.waitUntil(lambda: any(box.view().isVisible() for box in dialog.columns.findChildren(QComboBox)))
    [box] = [box for box in dialog.columns.findChildren(QComboBox) if box.view().isVisible()]
    target = box.findText(title)
    while (current := box.view().currentIndex().row()) != target:
        QTest.keyClick(box.view(), Qt.Key.Key_Down if current < target else Qt.Key.Key_Up)
    QTest.keyClick(box.view(), Qt.Key.Key_Return)
    qtbot.waitUntil(lambda: not any(each.isVisible() for each in dialog.columns.findChildren(QComboBox)))


def headers(dialog: ImportDialog) -> list[str]:
    model = dialog.preview.table.model()
    return [model.headerData(column, Qt.Orientation.Horizontal) for column in range(model.columnCount())]


def press_import(qtbot: QtBot, dialog: ImportDialog) -> None:
    qtbot.waitUntil(dialog.import_button.isEnabled)
    QTest.mouseClick(dialog.import_button, Qt.MouseButton.LeftButton)


def test_dropped_table_becomes_wired_nodes_in_one_step(
    window: MainWindow, canvas: CanvasView, dropped: Drop, qtbot: QtBot, tmp_path: Path
) -> None:
    dialog = dropped(table(tmp_path))
    shown = [dialog.columns.model().index(row, ROLE).data() for row in range(5)]
    assert shown == ["Ignore", "Input", "Input", "Input", "Target"]
    qtbot.waitUntil(lambda: "2 classes" in dialog.preview.summary.text(), timeout=20_000)
    assert "10 of 90 values of age are missing; filled with the median" in dialog.warnings.toPlainText()
    assert dialog.focusWidget() is dialog.import_button
    QTest.keyClick(dialog.focusWidget(), Qt.Key.Key_Return)
    qtbot.waitUntil(lambda: bool(canvas.store.document.nodes))
    layers = ["hidden", "relu", "output", "loss", "accuracy", "adam"]
    assert list(canvas.store.document.nodes) == ["people", "fill", "scale", "batches", *layers]
    qtbot.waitUntil(lambda: canvas.store.project.is_checked, timeout=20_000)
    assert not canvas.store.project.report.problems, "the imported project can be trained"
    qtbot.waitUntil(lambda: window.imports.dialog is None)
    window.activateWindow()
    qtbot.waitUntil(window.isActiveWindow)
    QTest.keyClick(window.windowHandle(), Qt.Key.Key_Z, CTRL)
    assert not canvas.store.document.nodes


def test_an_import_without_a_network_ends_at_the_loader(
    window: MainWindow, canvas: CanvasView, dropped: Drop, qtbot: QtBot, tmp_path: Path
) -> None:
    dialog = dropped(table(tmp_path))
    assert dialog.network.isVisible() and dialog.network.isChecked()
    QTest.keyClick(dialog.network, Qt.Key.Key_Space)
    press_import(qtbot, dialog)
    qtbot.waitUntil(lambda: bool(canvas.store.document.nodes), timeout=20_000)
    assert list(canvas.store.document.nodes) == ["people", "fill", "scale", "batches"]
    assert canvas.store.selection == {"batches"}
    qtbot.waitUntil(lambda: window.imports.dialog is None)
    second = dropped(table(tmp_path, name="more.csv"))
    assert not second.network.isVisible(), "the project has a loader, which the network would follow"
    press_import(qtbot, second)
    qtbot.waitUntil(lambda: "more" in canvas.store.document.nodes, timeout=20_000)
    assert "loss" not in canvas.store.document.nodes


def test_columns_are_changed_with_mouse_and_keys(
    canvas: CanvasView, dropped: Drop, qtbot: QtBot, tmp_path: Path
) -> None:
    dialog = dropped(table(tmp_path))
    choose(qtbot, dialog, 2, ROLE, "Target")
    assert dialog.columns.model().index(4, ROLE).data() == "Input"
    view = dialog.columns
    view.setFocus()
    for key in (Qt.Key.Key_Down, Qt.Key.Key_Right):
        QTest.keyClick(view, key)
    assert (view.currentIndex().row(), view.currentIndex().column()) == (3, TYPE)
    QTest.keyClick(view, Qt.Key.Key_Left)
    QTest.keyClick(view, Qt.Key.Key_Return)
    pick(qtbot, dialog, "Ignore")
    qtbot.waitUntil(lambda: "2 float32" in dialog.preview.summary.text(), timeout=20_000)
    assert headers(dialog)[:3] == ["target", "age", "survived"]
    QTest.mouseClick(dialog.preview.before, Qt.MouseButton.LeftButton)
    assert headers(dialog)[0] == "id"
    QTest.keyClick(dialog, Qt.Key.Key_Return, CTRL)
    qtbot.waitUntil(lambda: bool(canvas.store.document.nodes))
    params = canvas.store.document.nodes["people"].params
    assert (params["target"], params["ignore"]) == ("sex", "id, joined")


def test_missing_values_of_a_column_are_filled_in_another_way(
    canvas: CanvasView, dropped: Drop, qtbot: QtBot, tmp_path: Path
) -> None:
    dialog = dropped(table(tmp_path))
    assert [dialog.columns.model().index(row, FILL).data() for row in range(3)] == ["", "Default", ""]
    choose(qtbot, dialog, 1, FILL, "0")
    qtbot.waitUntil(lambda: "values of age are missing; filled with 0." in dialog.warnings.toPlainText())
    view = dialog.columns
    sex = view.visualRect(view.model().index(2, FILL)).center()
    QTest.mouseClick(view.viewport(), Qt.MouseButton.LeftButton, pos=sex)
    assert not any(box.isVisible() for box in view.findChildren(QComboBox)), "sex has no number to fill"
    press_import(qtbot, dialog)
    qtbot.waitUntil(lambda: bool(canvas.store.document.nodes), timeout=20_000)
    assert canvas.store.document.nodes["fill_zero"].params == {"value": 0.0, "channels": [0]}


def test_no_target_disables_the_import_with_the_reason(dropped: Drop, qtbot: QtBot, tmp_path: Path) -> None:
    dialog = dropped(table(tmp_path))
    choose(qtbot, dialog, 4, ROLE, "Ignore")
    assert not dialog.import_button.isEnabled()
    assert dialog.preview.summary.text() == "No column is the target. Set the role of a column to target."
    choose(qtbot, dialog, 1, ROLE, "Target")
    assert dialog.import_button.isEnabled()
    assert dialog.options.task.currentText() == "Number"


def test_changed_format_is_read_again(dropped: Drop, qtbot: QtBot, tmp_path: Path) -> None:
    dialog = dropped(table(tmp_path, PEOPLE.replace(",", ";")))
    assert dialog.dialect.separator.currentText() == "Semicolon ;"
    combo = dialog.dialect.separator
    combo.setFocus()
    QTest.keyClick(combo, Qt.Key.Key_Up)
    qtbot.waitUntil(lambda: "1 columns" in dialog.facts.text(), timeout=20_000)
    QTest.keyClick(combo, Qt.Key.Key_Down)
    qtbot.waitUntil(lambda: "5 columns" in dialog.facts.text(), timeout=20_000)


def test_escape_leaves_the_project_as_it_was(
    window: MainWindow, canvas: CanvasView, dropped: Drop, qtbot: QtBot, tmp_path: Path
) -> None:
    dialog = dropped(table(tmp_path))
    QTest.keyClick(dialog, Qt.Key.Key_Escape)
    qtbot.waitUntil(lambda: window.imports.dialog is None)
    assert not canvas.store.document.nodes


def test_reading_can_be_cancelled(
    window: MainWindow, canvas: CanvasView, qtbot: QtBot, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ended: list[float] = []

    def endless(*arguments: object) -> object:
        report = arguments[-1]
        assert callable(report)
        share = 0.0
        try:
            while True:
                share = min(share + 0.001, 0.9)
                report(share)
                QTest.qSleep(1)
        finally:
            ended.append(share)

    monkeypatch.setattr(import_dialog, "_read_file", endless)
    drop_files(canvas.viewport(), table(tmp_path))
    dialog = window.imports.dialog
    assert dialog is not None and dialog.stack.currentWidget() is dialog.reading
    qtbot.waitUntil(lambda: dialog.progress.value() > 0)
    assert not dialog.import_button.isEnabled()
    QTest.mouseClick(dialog.cancel_button, Qt.MouseButton.LeftButton)
    qtbot.waitUntil(lambda: bool(ended))
    assert window.imports.dialog is None and not canvas.store.document.nodes


def test_large_table_is_planned_at_the_import(
    canvas: CanvasView, dropped: Drop, qtbot: QtBot, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(import_dialog, "LIVE_PREVIEW_BYTES", 100)
    dialog = dropped(table(tmp_path))
    assert "computed at the import" in dialog.preview.summary.text()
    press_import(qtbot, dialog)
    qtbot.waitUntil(lambda: bool(canvas.store.document.nodes), timeout=20_000)


def test_damaged_file_shows_why(window: MainWindow, dropped: Drop, qtbot: QtBot, tmp_path: Path) -> None:
    path = tmp_path / "t.parquet"
    path.write_bytes(b"PAR1 nothing")
    dialog = dropped(path)
    assert dialog.stack.currentWidget() is dialog.failed
    assert not dialog.import_button.isEnabled()
    QTest.keyClick(dialog, Qt.Key.Key_Escape)
    qtbot.waitUntil(lambda: window.imports.dialog is None)


def test_several_files_open_one_page_after_another(
    window: MainWindow, canvas: CanvasView, dropped: Drop, qtbot: QtBot, tmp_path: Path
) -> None:
    for name in ("cats", "dogs"):
        (tmp_path / "pets" / name).mkdir(parents=True)
        for number in range(5):
            Image.new("RGB", (20, 20), (number * 40, 9, 9)).save(tmp_path / "pets" / name / f"{number}.png")
    np.save(tmp_path / "x.npy", np.zeros((30, 4), np.float32) + np.arange(4, dtype=np.float32))
    np.save(tmp_path / "y.npy", np.arange(30) % 2)
    first = dropped(tmp_path / "pets", tmp_path / "x.npy", tmp_path / "letter.docx")
    assert "letter.docx" in window.findChildren(NotificationBar)[0].text.text()
    assert "3×16×16 float32 → 2 classes" in first.preview.summary.text()
    assert not first.columns.isVisible()
    press_import(qtbot, first)
    qtbot.waitUntil(lambda: window.imports.dialog not in (first, None))
    second = window.imports.dialog
    assert second is not None
    press_import(qtbot, second)
    qtbot.waitUntil(lambda: "x" in canvas.store.document.nodes)
    assert list(canvas.store.document.nodes) == [
        *("pets", "resize", "crop", "to_float", "batches", "conv1", "relu1", "pool1", "conv2", "relu2", "pool2"),
        *("flatten", "output", "loss", "accuracy", "adam", "x"),
    ]


def test_file_dropped_without_a_project_creates_one(window: MainWindow, qtbot: QtBot, tmp_path: Path) -> None:
    drop_files(window, table(tmp_path))
    assert window.project is not None
    dialog = window.imports.dialog
    assert dialog is not None
    qtbot.waitUntil(lambda: dialog.stack.currentWidget() is dialog.splitter, timeout=20_000)
    press_import(qtbot, dialog)
    store = window.project.store
    qtbot.waitUntil(lambda: bool(store.document.nodes), timeout=20_000)


def test_menu_asks_for_files(
    window: MainWindow, canvas: CanvasView, qtbot: QtBot, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = table(tmp_path)
    monkeypatch.setattr("studio.ui.dialogs.data_files_to_import", lambda *_: [path])
    QTest.keyClick(window.windowHandle(), Qt.Key.Key_I, CTRL | Qt.KeyboardModifier.ShiftModifier)
    dialog = window.imports.dialog
    assert dialog is not None and dialog.windowTitle() == "Import people.csv"


def test_menu_asks_for_a_folder_of_images(
    window: MainWindow, canvas: CanvasView, qtbot: QtBot, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("cats", "dogs"):
        (tmp_path / "pets" / name).mkdir(parents=True)
        Image.new("RGB", (20, 20)).save(tmp_path / "pets" / name / "a.png")
    monkeypatch.setattr("studio.ui.dialogs.folder_to_import", lambda *_: tmp_path / "pets")
    QTest.keyClick(window.windowHandle(), Qt.Key.Key_F, Qt.KeyboardModifier.AltModifier)
    menu = QApplication.activePopupWidget()
    assert isinstance(menu, QMenu)
    entry = next(each for each in menu.actions() if each.text().startswith("Import folder"))
    QTest.mouseClick(menu, Qt.MouseButton.LeftButton, pos=menu.actionGeometry(entry).center())
    dialog = window.imports.dialog
    assert dialog is not None and dialog.windowTitle() == "Import pets"


def test_page_fits_a_small_window(dropped: Drop, qtbot: QtBot, tmp_path: Path) -> None:
    wide = ",".join(f"column with a long name {number}" for number in range(60))
    rows = "\n".join(",".join(str((row * number) % 97) for number in range(60)) for row in range(30))
    dialog = dropped(table(tmp_path, f"{wide}\n{rows}\n"))
    qtbot.waitUntil(lambda: "float32" in dialog.preview.summary.text(), timeout=20_000)
    assert dialog.minimumSizeHint().width() <= 1120
    assert dialog.rect().contains(dialog.import_button.mapTo(dialog, QPoint(0, 0)))
    assert dialog.minimumSizeHint().width() <= 720, "fields wrap to further rows"
    dialog.resize(720, 680)
    qtbot.waitUntil(lambda: dialog.width() == 720)
    for field in (dialog.dialect.header, dialog.dialect.skipped, dialog.options.scale):
        assert field.mapTo(dialog, QPoint(field.width(), 0)).x() <= 720


def test_pictures_of_images_and_lines_of_a_text_are_shown(dropped: Drop, qtbot: QtBot, tmp_path: Path) -> None:
    folder = tmp_path / "photos"
    for index, name in enumerate(("cat", "dog")):
        (folder / name).mkdir(parents=True)
        for number in range(10):
            Image.new("RGB", (12, 12), (40 + 200 * index, 120, 20 * number)).save(folder / name / f"{number}.png")
    dialog = dropped(folder)
    pictures = dialog.preview.pictures
    qtbot.waitUntil(pictures.isVisible)
    assert "cat" in pictures.accessibleName() and "dog" in pictures.accessibleName()
    image = pictures.grab().toImage()
    colors = {image.pixelColor(x, 40).name() for x in range(0, image.width(), 8)}
    assert len(colors) > 4
    assert dialog.preview.summary.y() < 80
    dialog.reject()
    text = tmp_path / "novel.txt"
    text.write_text("It was the best of times,\nit was the worst of times. It was the age of wisdom\n\n" * 60)
    dialog = dropped(text)
    qtbot.waitUntil(dialog.preview.pictures.isVisible)
    assert "the best of times" in dialog.preview.pictures.accessibleName()
    dialog.reject()
