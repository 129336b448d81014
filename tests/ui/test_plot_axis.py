"""Titles of the axes of small plots."""

from __future__ import annotations

import pyqtgraph as pg
from PySide6.QtWidgets import QApplication
from pytestqt.qtbot import QtBot

from studio.ui.panels.runs.plot_axis import PlotAxis


def test_a_title_is_shortened_to_the_height_of_its_axis(qtbot: QtBot) -> None:
    axis = PlotAxis("left")
    plot = pg.PlotWidget(axisItems={"left": axis})
    qtbot.addWidget(plot)
    axis.setLabel("Loss of discriminator_adam")
    plot.resize(200, 120)
    plot.show()
    QApplication.processEvents()
    assert axis.label.toPlainText().strip().endswith("…")
    assert axis.label.boundingRect().width() <= axis.size().height()
    plot.resize(300, 500)
    QApplication.processEvents()
    assert axis.label.toPlainText().strip() == axis.labelText == "Loss of discriminator_adam"
