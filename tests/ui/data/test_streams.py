"""Streams in the window: samples, and runs of unknown length."""

from __future__ import annotations

from pathlib import Path

from pytestqt.qtbot import QtBot

from studio.document.model import TrainingSettings
from studio.ui.panels.data.data_panel import DataPanel
from studio.ui.window.main_window import MainWindow
from tests.studio.training.shards import shards, streamed
from tests.ui.data.conftest import Show, click, is_filled


def test_stream_shows_its_first_samples(qtbot: QtBot, show: Show, tmp_path: Path) -> None:
    panel: DataPanel = show(streamed(shards(tmp_path / "shards")))
    assert is_filled(panel)
    assert panel.header.index_box.suffix() == " / 25+"
    assert "the first 25 samples of a stream" in panel.header.index_box.toolTip()
    click(panel.header.pages["statistics"])
    qtbot.waitUntil(lambda: panel._previewer.statistics is not None)
    texts = [label.text() for label in panel.statistics.counts.parentWidget().findChildren(type(panel.header.title))]
    assert any("the first 25 samples of a stream" in text for text in texts)


def test_progress_of_a_streamed_run_is_known_after_its_first_epoch(
    qtbot: QtBot, window: MainWindow, show: Show, tmp_path: Path
) -> None:
    show(streamed(shards(tmp_path / "shards"), training=TrainingSettings(epochs=3)))
    project = window.open_projects.projects[-1]
    bar = window.topbar
    window.commands.run("run.step")
    qtbot.waitUntil(lambda: project.runner.state == "paused")
    bar.refresh()
    assert bar._progress_text.text() == "Epoch 1 of 3 · batch 1 · paused"
    assert not bar._bar.isVisible()
    window.commands.run("run.start")
    qtbot.waitUntil(lambda: project.runner.state == "done")
    qtbot.waitUntil(lambda: bar._progress_text.text() == "Epoch 3 of 3 · done")
    run = project.runner.run
    assert run is not None
    assert (run.progress.batches, run.progress.fraction) == (7, 1.0)
    curve = run.curve("loss", "train")
    assert curve is not None
    assert curve.x("epoch")[-1] == 3.0
