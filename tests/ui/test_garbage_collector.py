"""Widgets in reference cycles are destroyed in the GUI thread, even if another thread allocates."""

from __future__ import annotations

import gc
import linecache
import threading
import weakref
from collections.abc import Iterator

import pytest
from PySide6.QtCore import QObject
from PySide6.QtWidgets import QApplication
from pytestqt.qtbot import QtBot

from studio.ui.garbage_collector import GarbageCollector


class CyclicObject(QObject):
    """An object that only the garbage collector can free."""

    died_in: threading.Thread | None = None

    def __init__(self) -> None:
        super().__init__()
        self.me = self
        weakref.finalize(self, CyclicObject.record_thread)

    @staticmethod
    def record_thread() -> None:
        CyclicObject.died_in = threading.current_thread()


@pytest.fixture
def collector(qtbot: QtBot) -> Iterator[GarbageCollector]:
    collector = GarbageCollector()
    yield collector
    collector.stop()
    assert gc.isenabled()


def test_allocating_thread_does_not_destroy_widgets(qtbot: QtBot, collector: GarbageCollector) -> None:
    CyclicObject.died_in = None
    CyclicObject()
    worker = threading.Thread(target=lambda: [[] for _ in range(200_000)])
    worker.start()
    worker.join()
    assert CyclicObject.died_in is None
    allocated: list[object] = []

    def is_destroyed() -> bool:
        allocated.extend([] for _ in range(1_000))  # exceeds the threshold of the garbage collector
        return CyclicObject.died_in is not None

    qtbot.waitUntil(is_destroyed)
    assert CyclicObject.died_in is threading.main_thread()


def test_full_collections_wait_for_a_pause(
    qtbot: QtBot, collector: GarbageCollector, monkeypatch: pytest.MonkeyPatch
) -> None:
    collected: list[int] = []
    monkeypatch.setattr(gc, "get_count", lambda: (0, 11, 11))
    monkeypatch.setattr(gc, "collect", collected.append)
    while len(collected) < 2:  # the thread works without a pause
        QApplication.processEvents()
    assert collected == [1, 1]
    qtbot.waitUntil(lambda: 2 in collected)


def test_lines_of_source_files_are_freed(qtbot: QtBot) -> None:
    generated = "<test of generated code>"
    linecache.cache[generated] = (2, None, ["x\n"], generated)
    assert linecache.getlines(__file__)
    GarbageCollector().stop()
    assert __file__ not in linecache.cache
    assert linecache.getlines(generated) == ["x\n"]
    del linecache.cache[generated]
