"""Settings: declarations, the file, the dialog, and what they change."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from PySide6.QtCore import QPoint, QPointF, QRect, Qt
from PySide6.QtGui import QWheelEvent
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QCheckBox
from pytestqt.qtbot import QtBot

from studio.document import edits
from studio.document.model import Node
from studio.ui import app, dialogs
from studio.ui.canvas.canvas_view import CanvasView
from studio.ui.preferences.declarations import (
    BACKUP_DELAY,
    CONFIRM_STOP,
    GRID_SIZE,
    GRID_SNAPPING,
    INTERFACE_SCALE,
    NEW_COMPILE,
    NEW_DEVICE,
    PREFERENCES,
    RECENT_FILES,
    REDUCE_MOTION,
    THEME,
    WHEEL,
    ZOOM_SPEED,
)
from studio.ui.project.project import Project
from studio.ui.settings import Settings
from studio.ui.theme import interface_scale, motion, theme
from studio.ui.widgets.inputs import ComboBox, SpinBox
from studio.ui.window.main_window import MainWindow
from studio.ui.window.preference_row import PreferenceRow
from studio.ui.window.settings_dialog import SettingsDialog
from tests.ui.conftest import MakeWindow

CTRL, SHIFT, LEFT = Qt.KeyboardModifier.ControlModifier, Qt.KeyboardModifier.ShiftModifier, Qt.MouseButton.LeftButton


@pytest.fixture
def dialog(window: MainWindow, qtbot: QtBot) -> SettingsDialog:
    QTest.keyClick(window, Qt.Key.Key_Comma, CTRL)
    [dialog] = window.findChildren(SettingsDialog)
    qtbot.waitExposed(dialog)
    return dialog


def row_of(dialog: SettingsDialog, key: str) -> PreferenceRow:
    [row] = [row for row in dialog.rows if row.preference.key == key]
    return row


def visible(dialog: SettingsDialog) -> list[str]:
    return [row.preference.key for row in dialog.rows if row.isVisible()]


# -- declarations and the file


def test_declarations_are_complete_and_distinct() -> None:
    assert len({each.key for each in PREFERENCES}) == len(PREFERENCES)
    for each in PREFERENCES:
        assert each.title and each.help.endswith(".")
        assert each.parse(each.default) == each.default and type(each.parse(each.default)) is type(each.default)
        assert not each.choices or each.default in each.choices
        assert isinstance(each.default, bool) or each.choices or each.low <= each.default <= each.high


@pytest.mark.parametrize(
    "raw", [None, "", "nonsense", "nan", "inf", "1e999", ["1", "2"], "@Invalid()", b"\xff", "-7", "10" * 400]
)
def test_every_value_of_the_file_gives_a_valid_setting(raw: object) -> None:
    for each in PREFERENCES:
        value = each.parse(raw)
        assert type(value) is type(each.default)
        assert value in each.choices if each.choices else isinstance(value, bool) or each.low <= value <= each.high


def test_values_survive_a_restart_and_defaults_are_not_written(tmp_path: Path) -> None:
    path = tmp_path / "settings.ini"
    settings = Settings(path)
    for preference, value in ((THEME, "dark"), (GRID_SIZE, 16), (REDUCE_MOTION, True), (INTERFACE_SCALE, 999)):
        settings.preferences.set(preference, value)  # pyright: ignore[reportArgumentType]
    settings.sync()
    again = Settings(path).preferences
    assert again.values() == {"theme": "dark", "canvas/grid_size": 16, "reduce_motion": True, "interface_scale": 200}
    settings.preferences.restore({})
    settings.sync()
    assert "theme" not in path.read_text() and Settings(path).preferences.values() == {}


BROKEN = {
    "binary": bytes(range(256)) * 40,
    "unfinished": b"[General\ntheme=dark\n[[[window]\ngeometry=@ByteArray(\\x1",
    "wrong values": (
        b"[General]\ntheme=purple\ninterface_scale=@Size(3 4)\nreduce_motion=maybe\nsmoothing=a\ncolor_by=none\n"
        b"[canvas]\ngrid_size=0\nzoom_speed=-5\nwheel=a, b, c\n[projects]\nbackup_delay=1e400\nrecent_files=-3\n"
        b"[keys]\nfile.save=Ctrl+Nonsense+Q | | x\nno.such=Ctrl+S\nfile.open=1, 2\n[palette]\nusage={\n"
        b"[window]\ngeometry=@ByteArray(garbage)\nlayout=@ByteArray(\\0\\0)\n"
        b"[runs]\nhidden_columns=@Variant(\\0\\0\\0\\x7f)\n"
    ),
}


@pytest.mark.parametrize("content", BROKEN.values(), ids=BROKEN)
def test_damaged_settings_file_does_not_prevent_the_start(
    content: bytes, tmp_path: Path, make_window: MakeWindow, settings: Settings
) -> None:
    settings.sync()
    (tmp_path / "settings.ini").write_bytes(content)
    damaged = app.make_window(Settings(tmp_path / "settings.ini"), tmp_path / "state")
    project = damaged.open_projects.new()
    damaged.show()
    damaged.open_settings()
    assert damaged.isVisible() and damaged.settings.preferences.get(GRID_SIZE) == 8
    damaged.open_projects.close(project)
    damaged.close()
    damaged.deleteLater()


def test_folder_in_place_of_the_settings_file_does_not_prevent_the_start(tmp_path: Path, qtbot: QtBot) -> None:
    (tmp_path / "settings.ini").mkdir()
    window = app.make_window(Settings(tmp_path / "settings.ini"), tmp_path / "state")
    window.settings.preferences.set(THEME, "dark")
    window.show()
    assert theme.manager().is_dark
    window.close()
    window.deleteLater()


# -- the dialog


def test_search_finds_settings_by_plain_words(dialog: SettingsDialog) -> None:
    assert dialog.search.hasFocus() and len(visible(dialog)) == len(PREFERENCES)
    for text, key in (
        ("dark", "theme"),
        ("font size", "interface_scale"),
        ("animations", "reduce_motion"),
        ("autosave", "projects/backup_delay"),
        ("gpu", "new_projects/device"),
        ("confirmations", "projects/confirm_stop"),
        ("wheel pan", "canvas/wheel"),
    ):
        dialog.search.selectAll()
        QTest.keyClicks(dialog.search, text)
        assert key in visible(dialog) and len(visible(dialog)) <= 2, text
    dialog.search.selectAll()
    QTest.keyClicks(dialog.search, "undo")
    assert not visible(dialog) and dialog._nothing.isVisible() and dialog._found_shortcuts.isVisible()
    QTest.mouseClick(dialog._found_shortcuts, LEFT)
    assert dialog.keys.search.hasFocus() and dialog.keys.search.text() == "undo"
    assert [item.text(0) for item in dialog.keys._items()] == ["Edit: Undo"]


def test_shortcuts_are_found_by_their_keys(dialog: SettingsDialog) -> None:
    dialog.show_shortcuts()
    QTest.keyClicks(dialog.keys.search, "ctrl+s")
    assert "File: Save" in [item.text(0) for item in dialog.keys._items()]


def test_change_reset_and_undo_with_the_keyboard(window: MainWindow, dialog: SettingsDialog) -> None:
    preferences = window.settings.preferences
    combo = row_of(dialog, "theme").field
    assert isinstance(combo, ComboBox)
    combo.setFocus()
    QTest.keyClick(combo, Qt.Key.Key_Down)
    assert preferences.get(THEME) == "dark" and theme.manager().is_dark
    box = row_of(dialog, "reduce_motion").field
    assert isinstance(box, QCheckBox) and box.isChecked()
    QTest.keyClick(box, Qt.Key.Key_Space)
    assert not preferences.get(REDUCE_MOTION) and not motion.is_reduced()
    speed = row_of(dialog, "canvas/zoom_speed").field
    assert isinstance(speed, SpinBox)
    speed.setFocus()
    speed.selectAll()
    QTest.keyClicks(speed, "9999")
    QTest.keyClick(speed, Qt.Key.Key_Tab)
    assert preferences.get(ZOOM_SPEED) == 300
    reset = row_of(dialog, "canvas/zoom_speed").reset
    assert reset.isEnabled()
    QTest.keyClick(reset, Qt.Key.Key_Space)
    assert preferences.get(ZOOM_SPEED) == 100 and speed.value() == 100 and not reset.isEnabled()
    QTest.keyClick(dialog._reset_all, Qt.Key.Key_Space)
    assert preferences.values() == {} and combo.currentText() == "System"
    QTest.keyClick(dialog._undo, Qt.Key.Key_Space)
    assert preferences.get(THEME) == "dark" and combo.currentText() == "Dark"
    QTest.keyClick(dialog, Qt.Key.Key_Escape)
    assert not dialog.isVisible()


def test_enter_does_not_close_the_dialog(dialog: SettingsDialog) -> None:
    QTest.keyClicks(dialog.search, "grid")
    QTest.keyClick(dialog.search, Qt.Key.Key_Return)
    assert dialog.isVisible()


def test_scale_offers_a_restart(window: MainWindow, dialog: SettingsDialog, qtbot: QtBot) -> None:
    row = row_of(dialog, "interface_scale")
    assert row._restart is not None and not row._restart.isVisible()
    assert isinstance(row.field, SpinBox)
    QTest.keyClick(row.field, Qt.Key.Key_Up)
    assert window.settings.preferences.get(INTERFACE_SCALE) == 110 and row._restart.isVisible()
    with qtbot.waitSignal(window.restart_requested):
        QTest.mouseClick(row._restart, LEFT)


def test_dialog_fits_a_small_screen_at_200_percent(window: MainWindow, dialog: SettingsDialog) -> None:
    dialog.resize(500, 320)
    for row in dialog.rows:
        row.field.setFocus(Qt.FocusReason.TabFocusReason)
        dialog._area.ensureWidgetVisible(row, 0, 0)
        QApplication.processEvents()
        area = QRect(row.field.mapTo(dialog, QPoint(0, 0)), row.field.size())
        assert dialog.rect().contains(area) and row.field.visibleRegion().boundingRect().size() == row.field.size()


# -- what settings change


def test_scale_multiplies_the_factor_of_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for before, factor in ((None, 1.5), ("2", 3.0), ("nonsense", 1.5), ("0", 1.5)):
        if before is None:
            monkeypatch.delenv("QT_SCALE_FACTOR", raising=False)
        else:
            monkeypatch.setenv("QT_SCALE_FACTOR", before)
        with interface_scale.environment(150):
            assert float(os.environ["QT_SCALE_FACTOR"]) == factor and interface_scale.applied() == 150
        assert os.environ.get("QT_SCALE_FACTOR") == before
    monkeypatch.setattr(interface_scale, "_applied", 100)


def canvas_with_node(window: MainWindow, at: tuple[float, float]) -> CanvasView:
    project = window.open_projects.new()
    project.store.edit("Add", lambda document: edits.add(document, "relu", Node("nn.ReLU", at=at)))
    assert window.canvas is not None
    window.canvas.camera.fit(window.canvas.camera.visible, animated=False)
    window.canvas.setFocus()
    return window.canvas


def drag(canvas: CanvasView, by: QPoint) -> None:
    """Drag the node by its header, in scene units."""
    box = canvas.canvas_scene.nodes["relu"].box
    start = canvas.camera.to_view(QPointF(box.left + 20, box.top + 8)).toPoint()
    end = start + by * canvas.camera.scale
    QTest.mousePress(canvas.viewport(), LEFT, pos=start)
    QTest.mouseMove(canvas.viewport(), (start + end) / 2)
    QTest.mouseMove(canvas.viewport(), end)
    QTest.mouseRelease(canvas.viewport(), LEFT, pos=end)


def test_grid_size_and_snapping_of_drags_and_steps(window: MainWindow, qtbot: QtBot) -> None:
    preferences, canvas = window.settings.preferences, canvas_with_node(window, (0.0, 0.0))
    canvas.camera.zoom_to(1.0, animated=False)
    node = lambda: canvas.store.document.nodes["relu"]  # noqa: E731
    preferences.set(GRID_SIZE, 32)
    drag(canvas, QPoint(45, 0))
    assert node().at == (32.0, 0.0)
    QTest.keyClick(canvas, Qt.Key.Key_Right, SHIFT)
    assert node().at == (64.0, 0.0)
    preferences.set(GRID_SNAPPING, False)
    drag(canvas, QPoint(21, 3))
    assert node().at == (85.0, 3.0)


def turn_wheel(canvas: CanvasView, modifiers: Qt.KeyboardModifier = Qt.KeyboardModifier.NoModifier) -> None:
    at = QPointF(canvas.viewport().rect().center())
    none = Qt.MouseButton.NoButton
    phase = Qt.ScrollPhase.NoScrollPhase
    event = QWheelEvent(at, at, QPoint(), QPoint(0, 120), none, modifiers, phase, False)
    QApplication.sendEvent(canvas.viewport(), event)


def test_wheel_zooms_or_scrolls_at_the_chosen_speed(window: MainWindow) -> None:
    preferences, canvas = window.settings.preferences, canvas_with_node(window, (0.0, 0.0))
    canvas.camera.zoom_to(1.0, animated=False)
    turn_wheel(canvas)
    assert canvas.camera.scale == pytest.approx(1.2)
    preferences.set(ZOOM_SPEED, 200)
    turn_wheel(canvas)
    assert canvas.camera.scale == pytest.approx(1.2**3)
    preferences.set(WHEEL, "scroll")
    top = canvas.camera.visible.top()
    turn_wheel(canvas)
    assert canvas.camera.scale == pytest.approx(1.2**3) and canvas.camera.visible.top() < top
    turn_wheel(canvas, CTRL)
    assert canvas.camera.scale > 2


def test_new_projects_have_the_chosen_device(window: MainWindow) -> None:
    window.settings.preferences.set(NEW_DEVICE, "cpu")
    window.settings.preferences.set(NEW_COMPILE, False)
    QTest.keyClick(window, Qt.Key.Key_N, CTRL)
    assert window.project is not None
    training = window.project.store.document.training
    assert (training.device, training.compile) == ("cpu", False)
    assert window.project.store.is_saved, "defaults of new projects are no edit"


def test_recent_files_are_limited(window: MainWindow, tmp_path: Path) -> None:
    for index in range(3):
        project = window.open_projects.new()
        window.open_projects.save(project, tmp_path / f"{index}.gradwire")
    assert len(window.open_projects.recent) == 3
    window.settings.preferences.set(RECENT_FILES, 2)
    assert [path.name for path in window.open_projects.recent] == ["2.gradwire", "1.gradwire"]
    window.settings.preferences.set(RECENT_FILES, 0)
    assert window.open_projects.recent == ()


def test_backup_is_written_after_the_chosen_delay(window: MainWindow, tmp_path: Path, qtbot: QtBot) -> None:
    window.settings.preferences.set(BACKUP_DELAY, 300)
    canvas_with_node(window, (0.0, 0.0))
    qtbot.wait(1300)
    journals = tmp_path / "state" / "autosave"
    assert not list(journals.glob("*.json"))
    window.settings.preferences.set(BACKUP_DELAY, 1)
    assert window.canvas is not None
    QTest.keyClick(window.canvas, Qt.Key.Key_A, CTRL)
    QTest.keyClick(window.canvas, Qt.Key.Key_Right, SHIFT)
    qtbot.waitUntil(lambda: bool(list(journals.glob("*.json"))))


def test_closing_a_training_project_asks_first(
    window: MainWindow, project: Project, qtbot: QtBot, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    asked: list[list[str]] = []
    monkeypatch.setattr(dialogs, "confirm_stop", lambda _, names: bool(asked.append(list(names))))
    window.open_projects.save(project, tmp_path / "digits.gradwire")
    QTest.keyClick(window, Qt.Key.Key_F5)
    qtbot.waitUntil(lambda: project.runner.is_active)
    QTest.keyClick(window, Qt.Key.Key_W, CTRL)
    assert asked == [["digits"]] and project in window.open_projects.projects and project.runner.is_active
    window.settings.preferences.set(CONFIRM_STOP, False)
    QTest.keyClick(window, Qt.Key.Key_W, CTRL)
    assert len(asked) == 1 and project not in window.open_projects.projects


def test_window_fits_1024_by_700_pixels_at_200_percent(window: MainWindow, project: Project, qtbot: QtBot) -> None:
    window.resize(512, 350)
    QTest.keyClick(window, Qt.Key.Key_F10)
    qtbot.waitUntil(lambda: project.runner.state == "paused")
    QApplication.processEvents()
    assert (window.width(), window.height()) == (512, 350)
    assert window.status._zoom.isVisible() and window.topbar.device.isVisible()
    assert not window.topbar._search.text() and window.topbar._search.accessibleName()
    window.commands.run("run.stop")
    qtbot.waitUntil(lambda: not project.runner.is_active)
