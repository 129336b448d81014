"""Widgets in reference cycles are destroyed in the UI thread, whichever thread allocates."""

from __future__ import annotations

import gc
import threading
import weakref
from collections.abc import Iterator

import pytest
from PySide6.QtCore import QObject
from pytestqt.qtbot import QtBot

from studio.ui.garbage_collector import GarbageCollector


class Cyclic(QObject):
    """An object that only the garbage collector can free."""

    died_in: threading.Thread | None = None

    def __init__(self) -> None:
        super().__init__()
        self.me = self
        weakref.finalize(self, Cyclic.note)

    @staticmethod
    def note() -> None:
        Cyclic.died_in = threading.current_thread()


@pytest.fixture
def collector(qtbot: QtBot) -> Iterator[GarbageCollector]:
    collector = GarbageCollector()
    yield collector
    collector.stop()
    assert gc.isenabled()


def test_a_busy_thread_does_not_destroy_widgets(qtbot: QtBot, collector: GarbageCollector) -> None:
    Cyclic.died_in = None
    Cyclic()
    worker = threading.Thread(target=lambda: [[] for _ in range(200_000)])
    worker.start()
    worker.join()
    assert Cyclic.died_in is None
    kept: list[object] = []

    def has_died() -> bool:
        kept.extend([] for _ in range(1_000))  # what makes a collection due
        return Cyclic.died_in is not None

    qtbot.waitUntil(has_died)
    assert Cyclic.died_in is threading.main_thread()
