"""The register of states, and names that are hard to show."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QWidget

from studio.ui.window.main_window import MainWindow

LATIN = "a_name_of_a_layer_that_describes_everything_about_it_in_far_more_than_eighty_characters"
CHINESE = "用于图像分类的卷积神经网络的第一个全连接隐藏层的非常长的名称" * 2
ARABIC = "طبقة_مخفية_ذات_اسم_طويل_جدا_يصف_كل_شيء_عن_هذه_الطبقة_وما_تفعله_في_الشبكة"
EMOJI = "🧠🔥 A title with emoji 👩🏽‍🔬 that is much longer than any title should ever be 🚀🚀🚀 and goes on and on"
DOCKS = (
    "runs",
    "problems",
    "data",
    "autograd",
    "compile",
    "code",
    "log",
    "history",
    "probes",
    "profiler",
    "breakpoints",
    "stepping",
)

State = Callable[[MainWindow, Path], None]
STATES: dict[str, State] = {}
PARTS: dict[str, str] = {}
"""The dock that contact sheets show of a state, by name; states without one are shown whole."""


def add_state(name: str, show: State, part: str = "") -> None:
    """Register a state. `part` is the dock that contact sheets show of it; empty for the whole window."""
    STATES[name] = show
    PARTS[name] = part


def state(part: str = "") -> Callable[[State], State]:
    """Register a state under the name of its function."""

    def register(function: State) -> State:
        add_state(function.__name__, function, part)
        return function

    return register


def focused() -> QWidget:
    QTest.qWait(100)
    widget = QApplication.focusWidget()
    assert widget is not None
    return widget
