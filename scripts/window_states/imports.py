"""The import page of each kind of file."""

from __future__ import annotations

import csv
from collections.abc import Callable
from pathlib import Path

import numpy as np
from PySide6.QtCore import QPointF
from PySide6.QtGui import QColor, QImage
from PySide6.QtTest import QTest

from screenshots import until
from studio.ui.window.main_window import MainWindow
from window_states.registry import ARABIC, CHINESE, EMOJI, LATIN, State, add_state


def _import(make: Callable[[Path], Path], *, waits: bool = True) -> State:
    def show(window: MainWindow, folder: Path) -> None:
        project = window.open_projects.new()
        until(lambda: project.store.is_checked)
        window.imports.start(window.project_views[project].canvas, [make(folder)], QPointF())
        dialog = window.imports.dialog
        assert dialog is not None
        if waits:
            until(lambda: dialog._job is None and not dialog._timer.isActive())
            QTest.qWait(300)

    return show


def _table(folder: Path) -> Path:
    path = folder / "people.csv"
    with path.open("w", newline="", encoding="utf-8") as file:
        rows = csv.writer(file)
        rows.writerow(["", "age", "sex", "joined", "comment", "survived"])
        for row in range(300):
            age = "" if row % 9 == 0 else row * 7 % 60
            text = "needs ticket" if row % 2 else "paid in full, twice"
            rows.writerow([row, age, "fm"[row % 2], f"{row % 28 + 1:02}/03/2020", text, int(row % 3 == 0)])
    return path


def _long_table(folder: Path) -> Path:
    path = folder / f"{LATIN}.csv"
    with path.open("w", newline="", encoding="utf-8") as file:
        rows = csv.writer(file)
        rows.writerow([LATIN, CHINESE, ARABIC, EMOJI, *(f"{LATIN}_{index}" for index in range(40))])
        for row in range(200):
            rows.writerow([row % 3, f"{LATIN}{row % 3}", ARABIC, EMOJI, *([row * 1e12] * 40)])
    return path


def _constant_table(folder: Path) -> Path:
    path = folder / "constant.csv"
    path.write_text("a,b\n" + "1,1\n" * 50)
    return path


def _no_data(folder: Path) -> Path:
    path = folder / f"{LATIN}.csv"
    path.write_text("")
    return path


add_state("import_table", _import(_table))
add_state("import_long_names", _import(_long_table))
add_state("import_constant", _import(_constant_table))
add_state("import_empty_file", _import(_no_data))
add_state("import_reading", _import(_long_table, waits=False))


def _images(folder: Path) -> Path:
    path = folder / "photos"
    for label in ("cat", "dog", LATIN):
        (path / label).mkdir(parents=True)
        for index in range(12):
            image = QImage(24, 16 + index % 3, QImage.Format.Format_RGB32)
            image.fill(QColor.fromHsv(index * 20, 160, 200))
            image.save(str(path / label / f"{index}.png"))
    return path


def _arrays(folder: Path) -> Path:
    path = folder / "arrays.npz"
    np.savez(path, x=np.random.default_rng(0).normal(size=(200, 8)).astype(np.float32), y=np.arange(200) % 3)
    return path


def _text(folder: Path) -> Path:
    path = folder / "novel.txt"
    path.write_text("It was the best of times,\nit was the worst of times. It was the age of wisdom\n\n" * 400)
    return path


def _array(folder: Path) -> Path:
    path = folder / "series.npy"
    np.save(path, np.sin(np.arange(1000) / 9).astype(np.float32))
    return path


add_state("import_images", _import(_images))
add_state("import_arrays", _import(_arrays))
add_state("import_array", _import(_array))
add_state("import_text", _import(_text))
