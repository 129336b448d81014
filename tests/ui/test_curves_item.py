"""Long curves in a plot: smoothed in a background thread, and repainted only when needed."""

from __future__ import annotations

import gc
from collections.abc import Iterator

import numpy as np
import pytest
from PySide6.QtCore import QCoreApplication, QEvent, QMimeData, QPoint, Qt
from PySide6.QtGui import QDragEnterEvent
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication
from pytestqt.qtbot import QtBot

from engine import fit
from studio.training.runs.metric_points import MetricPoints
from studio.training.runs.run_history import Run
from studio.ui.panels.runs import curves_item
from studio.ui.panels.runs.curve_plot import CurvePlot, PlotOptions
from studio.ui.theme import theme


def run(number: int, points: int) -> Run:
    made = Run(number, is_own=True)
    made.take([fit.Started(10, None, points // 10, points, 0, 1, "cpu", 0)])
    add(made, 0, points)
    return made


def add(made: Run, begin: int, count: int) -> None:
    steps = np.arange(begin + 1.0, begin + count + 1)
    values = 1 / steps**0.1 * (1 + 0.2 * np.random.default_rng(made.number + begin).normal(size=count))
    made.add([MetricPoints("steps", steps, steps * 1e-3, {"loss": values})])


@pytest.fixture
def plot(qtbot: QtBot) -> Iterator[CurvePlot]:
    made = CurvePlot("loss")
    made.resize(500, 300)
    made.show()
    qtbot.waitExposed(made)
    yield made
    qtbot.waitUntil(lambda: not made.curves.is_smoothing)
    made.hide()
    made.deleteLater()
    QCoreApplication.sendPostedEvents(made, QEvent.Type.DeferredDelete)  # it no longer hears of themes
    gc.collect()  # here, not in the thread of a later test's training


@pytest.fixture
def paintings(monkeypatch: pytest.MonkeyPatch) -> list[object]:
    """One entry per repainted image."""
    made: list[object] = []
    painted = curves_item.CurvesItem._painted
    monkeypatch.setattr(
        curves_item.CurvesItem, "_painted", lambda self, *what: made.append(self) or painted(self, *what)
    )
    return made


def wait_until_settled(qtbot: QtBot, plot: CurvePlot) -> None:
    """Wait until all curves are smoothed and the axes have their final widths."""
    while True:
        before = plot.getViewBox().sceneBoundingRect()
        plot.grab()
        qtbot.waitUntil(lambda: not plot.curves.is_smoothing)
        QApplication.processEvents()
        if plot.getViewBox().sceneBoundingRect() == before:
            return


def test_long_curves_are_smoothed_in_another_thread(
    qtbot: QtBot, plot: CurvePlot, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(curves_item, "_MAX_SYNC_VALUES", 10_000)
    made = run(1, 50_000)
    column = made._tables["steps"].columns["loss"]
    plot.show_runs([made], PlotOptions(smoothing=0.5))
    without = plot.grab().toImage()
    assert plot.curves.is_smoothing and column.smoothed is None
    wait_until_settled(qtbot, plot)
    assert column.count_unsmoothed(0.5) < 64 and plot.grab().toImage() != without
    before = plot.grab().toImage()
    plot.show_runs([made], PlotOptions(smoothing=0.98))
    assert plot.grab().toImage() == before  # the old curve is shown until the new one is ready
    wait_until_settled(qtbot, plot)
    assert column.count_unsmoothed(0.98) < 64 and plot.grab().toImage() != before


def test_last_smoothing_value_of_a_drag_is_shown(
    qtbot: QtBot, plot: CurvePlot, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(curves_item, "_MAX_SYNC_VALUES", 10_000)
    runs = [run(number, 50_000) for number in (1, 2)]
    for share in (0.5, 0.6, 0.7, 0.8):
        plot.show_runs(runs, PlotOptions(smoothing=share))
        plot.grab()
    qtbot.waitUntil(lambda: plot.grab() and not plot.curves.is_smoothing)
    assert all(made._tables["steps"].columns["loss"].count_unsmoothed(0.8) < 64 for made in runs)


def test_outdated_smoothing_of_a_cut_run_is_discarded(
    qtbot: QtBot, plot: CurvePlot, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(curves_item, "_MAX_SYNC_VALUES", 10_000)
    made = run(1, 50_000)
    plot.show_runs([made], PlotOptions(smoothing=0.5))
    plot.grab()
    assert plot.curves.is_smoothing
    made._tables["steps"].cut(100)
    add(made, 100, 40_000)
    plot.show_runs([made], PlotOptions(smoothing=0.5))
    qtbot.waitUntil(lambda: plot.grab() and not plot.curves.is_smoothing)
    column = made._tables["steps"].columns["loss"]
    assert column.smoothed is not None and len(column.smoothed) <= len(column)
    band = column.band(np.arange(40_100.0), 0, 40_100, 50, decay=0.5)
    assert band.high.max() == column.smooth(0.5).extremes.level(0)[1].max()


def test_items_above_the_curves_do_not_repaint_them(qtbot: QtBot, plot: CurvePlot, paintings: list[object]) -> None:
    made = run(1, 5000)
    plot.show_runs([made], PlotOptions())
    wait_until_settled(qtbot, plot)
    before = len(paintings)
    QTest.mouseMove(plot.viewport(), QPoint(250, 120))
    plot.point_at(3.0)
    plot.grab()
    assert len(paintings) == before
    add(made, 5000, 10)
    plot.show_runs([made], PlotOptions())
    plot.grab()
    assert len(paintings) == before + 1
    plot.getViewBox().setRange(xRange=(2, 5), padding=0)
    plot.grab()
    assert len(paintings) == before + 2


def test_pan_that_changes_both_ranges_paints_once(qtbot: QtBot, plot: CurvePlot, paintings: list[object]) -> None:
    made = run(1, 5000)
    plot.show_runs([made], PlotOptions())
    plot.getViewBox().setAutoVisible(y=True)
    wait_until_settled(qtbot, plot)
    before = len(paintings)
    plot.getViewBox().setRange(xRange=(4, 5), padding=0)
    qtbot.waitUntil(lambda: len(paintings) > before)
    plot.grab()
    assert len(paintings) == before + 1


def test_plot_accepts_no_drops(plot: CurvePlot) -> None:
    """pyqtgraph would ignore drag-enter events, and Qt would then warn about drag-leave events."""
    event = QDragEnterEvent(
        QPoint(50, 50), Qt.DropAction.CopyAction, QMimeData(), Qt.MouseButton.LeftButton, Qt.KeyboardModifier.NoModifier
    )
    QApplication.sendEvent(plot.viewport(), event)
    assert not plot.viewport().acceptDrops() and not event.isAccepted()


def test_values_below_1_are_shown_unscaled_after_a_change_of_the_theme(qtbot: QtBot, plot: CurvePlot) -> None:
    plot.show()
    plot.item.getViewBox().setYRange(0.1, 0.4)
    QApplication.processEvents()
    theme.manager().set_mode("dark")
    QApplication.processEvents()
    scale = plot.getAxis("left").autoSIPrefixScale
    theme.manager().set_mode("light")
    assert scale == 1
