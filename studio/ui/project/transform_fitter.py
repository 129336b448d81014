"""Fits transform parameters to the training data in a background thread and sets them in one edit."""

from __future__ import annotations

import itertools
import threading
from dataclasses import dataclass
from functools import partial

from PySide6.QtCore import QObject, Signal

from studio.document.fit_records import applies
from studio.lowering.analysis.node_graph import NodeGraph
from studio.training.data.data_chain import Chain, DataProblem, chain_to, upstream_data_node
from studio.training.data.data_statistics import Progress
from studio.training.data.transform_fitting import FittedArguments, fit_arguments
from studio.ui import number_format
from studio.ui.project.project_store import ProjectStore

_JOIN_TIMEOUT = 5.0


class _StoppedError(Exception):
    """The request was cancelled or replaced."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """Result of the last fit at a node."""

    fitted: FittedArguments | None = None
    problem: str = ""


class TransformFitter(QObject):
    """Fits one node at a time; a new request cancels the current one."""

    changed = Signal()
    """Node, progress or outcomes changed."""
    status_message = Signal(str)
    """A status-line message."""
    _reported = Signal(int, object)

    def __init__(self, store: ProjectStore, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._store = store
        self._request_numbers = itertools.count(1)
        self._current_request = 0
        self._thread: threading.Thread | None = None
        self._outcomes: dict[str, Outcome] = {}
        self.node: str | None = None
        """Node that is being fitted."""
        self.progress = Progress(0, 0)
        self._reported.connect(self._on_reported)
        store.document_changed.connect(self._on_document_changed)

    def start(self, node: str) -> None:
        """Fit the parameters of a node."""
        store = self._store
        number = self._current_request = next(self._request_numbers)
        self.node, self.progress = node, Progress(0, 0)
        self._outcomes.pop(node, None)
        work = partial(
            fit_arguments, store.document, store.catalogue, node, partial(self._report, number), base=store.base
        )
        self._thread = threading.Thread(target=self._work, args=(number, work), name="gradwire-learn", daemon=True)
        self._thread.start()
        self.changed.emit()

    def cancel(self) -> None:
        """Cancel the current fit."""
        self._current_request = 0
        if self.node is not None:
            self.node = None
            self.changed.emit()

    def message(self, node: str) -> tuple[str, bool]:
        """What the parameters of a node were computed from, or why the last fit failed, and whether it failed.

        Empty if they have other values.
        """
        found = self._store.document.nodes.get(node)
        outcome = self._outcomes.get(node)
        if found is not None and outcome is not None and outcome.fitted is None:
            return outcome.problem, True
        if found is None or found.fitted is None or not applies(found):
            return "", False
        record = found.fitted
        if record.part == "training":
            return f"Computed from {number_format.count(record.samples, 'training samples')} of {record.source}.", False
        count = number_format.count(record.samples, "samples")
        return f"Computed from {count} of {record.source}, before any were kept for validation.", False

    def close(self) -> None:
        """Stop the thread. The fitter must not be used afterwards."""
        self._current_request = 0
        if self._thread is not None:
            self._thread.join(_JOIN_TIMEOUT)

    # -- background thread

    def _work(self, number: int, work: partial[FittedArguments]) -> None:
        try:
            result: object = work()
        except _StoppedError:
            return
        except Exception as error:  # noqa: BLE001 - shown in the form; the editor goes on
            result = error
        try:
            self._reported.emit(number, result)
        except RuntimeError:  # the project was closed in the meantime
            return

    def _report(self, number: int, done: int, total: int) -> None:
        if number != self._current_request:
            raise _StoppedError
        self._reported.emit(number, Progress(done, total))

    def _on_document_changed(self, *_: object) -> None:
        """Messages about nodes may no longer apply."""
        self.changed.emit()

    # -- results, in the GUI thread

    def _on_reported(self, number: int, item: object) -> None:
        if number != self._current_request or self.node is None:
            return
        node = self.node
        match item:
            case Progress():
                self.progress = item
            case FittedArguments():
                self._set(node, item)
            case _:
                is_data_problem = isinstance(item, DataProblem)
                self._end(node, Outcome(problem=str(item) if is_data_problem else f"{type(item).__name__}: {item}"))
        self.changed.emit()

    def _set(self, node: str, fitted: FittedArguments) -> None:
        if _chain_before(node, self._store) != fitted.chain:
            self._end(
                node,
                Outcome(
                    problem=(f"The input of {node} changed while its parameters were computed. Compute them again.")
                ),
            )
            return

        self._end(node, Outcome(fitted))
        if self._store.edit(f"Set {node} from data", fitted.applied):
            self.status_message.emit(
                f"{node}: parameters computed from {number_format.count(fitted.samples, 'training samples')}"
            )

    def _end(self, node: str, outcome: Outcome) -> None:
        self.node = None
        self._outcomes[node] = outcome


def _chain_before(node: str, store: ProjectStore) -> Chain | None:
    """Data source and transforms before a node."""
    document = store.document
    if node not in document.nodes:
        return None
    graph = NodeGraph(document, store.catalogue)
    try:
        return chain_to(upstream_data_node(node, graph), document, graph, store.base)
    except DataProblem:
        return None


__all__ = ["TransformFitter"]
