"""Create pictures of every panel and dialog in its states, and contact sheets of them, without a display.

    .venv/bin/python scripts/panel_states.py -o DIR [--only runs,import] [--themes light] [--sizes 1024x700] [--scale 2]

A state is a function in `window_states`. Its pictures are named after it, the window's size and the theme. `--only`
takes the beginnings of names. With `--scale 2`, pictures have twice the resolution.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

from PySide6.QtCore import QPoint, QRect, QSize, Qt
from PySide6.QtGui import QColor, QPainter, QPixmap
from PySide6.QtWidgets import QApplication, QWidget

from screenshots import THEMES, close, settle
from studio.ui import app
from studio.ui.preferences.declarations import REDUCE_MOTION, THEME
from studio.ui.settings import Settings
from studio.ui.theme import theme
from studio.ui.window.main_window import MainWindow
from window_states import PARTS, STATES

SIZES = ("1024x700", "1440x900")
SHEET = QSize(1440, 1000)
"""Logical pixels of a contact sheet, which shows pictures in their full size."""
GAP = 8


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("-o", "--out", type=Path, required=True)
    parser.add_argument("--scale", type=float, default=1.0, help="device pixel ratio")
    parser.add_argument("--only", default="", help="beginnings of names, separated by commas")
    parser.add_argument("--themes", default=",".join(THEMES))
    parser.add_argument("--sizes", default=",".join(SIZES))
    options = parser.parse_args()
    sizes = [tuple(map(int, size.split("x"))) for size in options.sizes.split(",")]
    options.out.mkdir(parents=True, exist_ok=True)
    screens = options.out / "screens.json"
    screens.write_text(json.dumps({"screens": [_screen(*(round(options.scale * side) for side in max(sizes)))]}))
    os.environ["QT_QPA_PLATFORM"] = f"offscreen:configfile={screens}"
    os.environ["QT_SCALE_FACTOR"] = f"{options.scale:g}"
    application = app.make_application(sys.argv[:1])
    cells: list[QPixmap] = []
    with tempfile.TemporaryDirectory() as folder:
        os.environ["GRADWIRE_STATE"] = str(Path(folder) / "user")  # code that is trusted in a state
        for name in [name for name in STATES if name.startswith(tuple(options.only.split(",")))]:
            cells += _pictures(name, Path(folder) / name, options)
            application.processEvents()
    for number, sheet in enumerate(_sheets(cells)):
        path = options.out / f"sheet-{number:03}.png"
        _sheet(sheet).save(str(path))
        print(path)
    return 0


def _screen(width: int, height: int) -> dict[str, object]:
    """A screen of the offscreen platform, whose default of 800 × 800 pixels would make dialogs small."""
    area = {"x": 0, "y": 0, "width": width, "height": height}
    return {"name": "screen", **area, "logicalDpi": 96, "logicalBaseDpi": 96, "dpr": 1}


def _pictures(name: str, folder: Path, options: argparse.Namespace) -> Iterator[QPixmap]:
    """Reach a state once, save its pictures in each theme and size, and yield their parts for contact sheets."""
    folder.mkdir()
    settings = Settings(folder / "settings.ini")
    settings.preferences.set(THEME, options.themes.split(",")[0])
    settings.preferences.set(REDUCE_MOTION, True)
    settings.answered_offer = True
    window = app.make_window(settings, folder / "state")
    sizes = [QSize(*map(int, size.split("x"))) for size in options.sizes.split(",")]
    window.resize(sizes[-1])
    window.show()
    STATES[name](window, folder)
    for mode in options.themes.split(","):
        theme.manager().set_mode(mode)
        for size in sizes:
            window.resize(size)
            settle(window)
            path = (
                options.out / f"{name}-{size.width()}-{mode}{'' if options.scale == 1 else f'@{options.scale:g}x'}.png"
            )
            picture = _grab(window)
            picture.save(str(path))
            yield _part(picture, window, PARTS[name])
    for widget in _windows(window):
        widget.close()
    close(window)


def _windows(window: MainWindow) -> list[QWidget]:
    """The visible dialogs and popups."""
    return [each for each in QApplication.topLevelWidgets() if each.isVisible() and each is not window]


def _grab(window: MainWindow) -> QPixmap:
    """The window with its dialogs and popups."""
    picture = window.grab()
    painter = QPainter(picture)
    for each in _windows(window):
        corner = each.mapToGlobal(QPoint()) - window.mapToGlobal(QPoint())
        if each.isModal() or each.windowType() == Qt.WindowType.Dialog:
            corner = window.rect().center() - each.rect().center()
        painter.drawPixmap(corner, each.grab())
        painter.setPen(QColor("gray"))
        painter.drawRect(QRect(corner, each.size()).adjusted(-1, -1, 0, 0))
    painter.end()
    return picture


def _part(picture: QPixmap, window: MainWindow, part: str) -> QPixmap:
    """The open dialog, the dock of this name, or else the whole window."""
    dialog = next(
        (each for each in _windows(window) if each.isModal() or each.windowType() == Qt.WindowType.Dialog), None
    )
    if dialog is not None:
        area = QRect(window.rect().center() - dialog.rect().center(), dialog.size())
    elif part and (dock := window.docks[part]).isVisible():
        area = QRect(dock.mapTo(window, QPoint()), dock.size()).adjusted(0, -32, 0, 0)  # with its tabs
    else:
        return picture
    ratio = picture.devicePixelRatio()
    return picture.copy(QRect(area.topLeft() * ratio, area.size() * ratio))


def _sheets(cells: Sequence[QPixmap]) -> Iterator[Sequence[QPixmap]]:
    """Cells of equal size that fit a sheet."""
    groups: dict[tuple[int, int], list[QPixmap]] = {}
    for cell in cells:
        groups.setdefault((cell.width(), cell.height()), []).append(cell)
    for (width, height), group in groups.items():
        count = max(SHEET.width() // width, 1) * max(SHEET.height() // height, 1)
        for index in range(0, len(group), count):
            yield group[index : index + count]


def _sheet(cells: Sequence[QPixmap]) -> QPixmap:
    width, height = cells[0].width() + GAP, cells[0].height() + GAP
    columns = min(max(SHEET.width() // cells[0].width(), 1), len(cells))
    sheet = QPixmap(width * columns, height * -(-len(cells) // columns))
    sheet.fill(QColor("gray"))
    painter = QPainter(sheet)
    for index, cell in enumerate(cells):
        row, column = divmod(index, columns)
        cell.setDevicePixelRatio(1)
        painter.drawPixmap(QPoint(column * width, row * height), cell)
    painter.end()
    return sheet


if __name__ == "__main__":
    sys.exit(main())
