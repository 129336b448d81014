"""Create pictures of every panel and dialog in its states, and contact sheets of them, without a display.

    .venv/bin/python scripts/panel_states.py -o DIR [--only runs,import] [--themes light] [--sizes 1024x700] [--scale 2]

A state is a function in window_states.py. Its pictures are named after it, the window's size and the theme. `--only`
takes the beginnings of names. With `--scale 2`, pictures have twice the resolution.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

from PySide6.QtCore import QPoint, QRect, QSize, Qt
from PySide6.QtGui import QColor, QImage, QPainter, QPixmap
from PySide6.QtWidgets import QApplication, QWidget

from screenshots import THEMES, close, settle
from studio.ui import app
from studio.ui.preferences.declarations import REDUCE_MOTION, THEME
from studio.ui.settings import Settings
from studio.ui.theme import theme
from studio.ui.window.main_window import MainWindow
from window_states import STATES

SIZES = ("1024x700", "1440x900")
COLUMNS, CELLS, CELL = 2, 4, QSize(1000, 625)


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("-o", "--out", type=Path, required=True)
    parser.add_argument("--scale", type=float, default=1.0, help="device pixel ratio")
    parser.add_argument("--only", default="", help="beginnings of names, separated by commas")
    parser.add_argument("--themes", default=",".join(THEMES))
    parser.add_argument("--sizes", default=",".join(SIZES))
    options = parser.parse_args()
    os.environ.setdefault("QT_QPA_PLATFORM", "offscreen")
    os.environ["QT_SCALE_FACTOR"] = f"{options.scale:g}"
    options.out.mkdir(parents=True, exist_ok=True)
    application = app.make_application(sys.argv[:1])
    pictures: list[Path] = []
    with tempfile.TemporaryDirectory() as folder:
        for name in [name for name in STATES if name.startswith(tuple(options.only.split(",")))]:
            pictures += _pictures(name, Path(folder) / name, options)
            application.processEvents()
    for index in range(0, len(pictures), CELLS):
        print(_sheet(pictures[index : index + CELLS], options.out / f"sheet-{index // CELLS:02}.png"))
    return 0


def _pictures(name: str, folder: Path, options: argparse.Namespace) -> Iterator[Path]:
    """Reach a state once, and yield its pictures in each theme and size."""
    folder.mkdir()
    settings = Settings(folder / "settings.ini")
    settings.preferences.set(THEME, options.themes.split(",")[0])
    settings.preferences.set(REDUCE_MOTION, True)
    settings.answered_tour = True
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
            _grab(window).save(str(path))
            yield path
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


def _sheet(paths: Sequence[Path], path: Path) -> Path:
    sheet = QImage(CELL.width() * COLUMNS, CELL.height() * -(-len(paths) // COLUMNS), QImage.Format.Format_RGB32)
    sheet.fill(QColor("gray"))
    painter = QPainter(sheet)
    for index, each in enumerate(paths):
        image = QImage(str(each)).scaled(
            CELL, Qt.AspectRatioMode.KeepAspectRatio, Qt.TransformationMode.SmoothTransformation
        )
        row, column = divmod(index, COLUMNS)
        painter.drawImage(QPoint(column * CELL.width(), row * CELL.height()), image)
    painter.end()
    sheet.save(str(path))
    return path


if __name__ == "__main__":
    sys.exit(main())
