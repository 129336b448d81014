"""Measures the time of each node in a background thread."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Literal

from PySide6.QtCore import QObject, Signal

from studio.document.graph_comparison import compare
from studio.document.model import Document
from studio.lowering.report import Report
from studio.training.data.data_chain import ChainOpener
from studio.training.probing.node_probe import NodeProbe, ProbeError
from studio.training.probing.node_times import Measuring, NodeTimes, measure_times
from studio.ui.background_task import BackgroundTask
from studio.ui.project.project_store import ProjectStore
from studio.ui.project.training_runner import TrainingRunner

State = Literal["empty", "measuring", "ready", "failed"]

_SHARE = 0.01
"""Smallest progress that is reported."""


class TimeMeasurer(QObject):
    """Keeps the last times of a project until they are measured again."""

    changed = Signal()
    """State, share or times changed."""

    def __init__(self, store: ProjectStore, runner: TrainingRunner, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._store, self._runner = store, runner
        self._task: BackgroundTask | None = None
        self._document: Document | None = None
        """The document that was measured."""
        self._compared: tuple[Document, bool] | None = None
        self.state: State = "empty"
        self.share = 0.0
        """Progress from 0 to 1 while measuring."""
        self.times: NodeTimes | None = None
        self.problem = ""
        """Why measuring failed."""

    @property
    def is_stale(self) -> bool:
        """Whether the graph has changed since it was measured; positions do not matter."""
        document = self._store.document
        if self._document is None or self._document is document:
            return False
        if self._compared is None or self._compared[0] is not document:
            self._compared = document, bool(compare(self._document, document))
        return self._compared[1]

    def measure(self) -> None:
        """Measure the current graph. Replaces a measurement in progress."""
        self._stop()
        if self._runner.is_active:
            self._fail("A run is in progress, which would distort the times. Stop it, or wait for its end.")
            return
        self.state, self.share, self.problem = "measuring", 0.0, ""
        self._document = self._store.document
        self._compared = None
        self._task = BackgroundTask(_steps(self._store.request_report()), self)
        self._task.item_ready.connect(self._on_item)
        self._task.start()
        self.changed.emit()

    def cancel(self) -> None:
        """Stop after the current node, without times."""
        if self.state == "measuring":
            self._stop()
            self.state, self.times = "empty", None
            self.changed.emit()

    def close(self) -> None:
        if self._task is not None:
            self._task.close()

    def _stop(self) -> None:
        if self._task is not None:
            self._task.cancel()
            self._task.item_ready.disconnect(self._on_item)
            self._task = None

    def _fail(self, problem: str) -> None:
        self.state, self.problem, self.times = "failed", problem, None
        self.changed.emit()

    def _on_item(self, item: object) -> None:
        match item:
            case None:
                return
            case Measuring():
                self.share = item.share
            case NodeTimes():
                self.state, self.times = "ready", item
            case _:
                self._fail(str(item))
                return
        self.changed.emit()


def _steps(get_report: Callable[[], Report]) -> Iterator[object]:
    """Progress, then times or a problem. Runs in the background thread."""
    shown = 0.0
    try:
        for item in measure_times(NodeProbe(get_report().checked, ChainOpener())):
            if not isinstance(item, Measuring):
                yield item
            elif item.share >= shown + _SHARE:
                shown = item.share
                yield item
            else:
                yield None  # lets the task stop here
    except ProbeError as error:
        yield str(error)
    except MemoryError:
        yield "There is not enough memory for a batch."


__all__ = ["State", "TimeMeasurer"]
