"""Finds rewrites for graph breaks in the code of nodes, applies them, and measures what a step gains."""

from __future__ import annotations

import threading
from collections.abc import Callable, Generator, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Literal

from PySide6.QtCore import QObject, Signal

from studio.document.blocks.block_expansion import flat_document
from studio.document.flat_edits import edit_flat
from studio.document.model import Document
from studio.lowering.report import Report
from studio.lowering.user_code.code_problems import changed_source
from studio.lowering.user_code.document_code import trust_typed
from studio.lowering.user_code.graph_breaks.mended_code import MendedCode, Unmended
from studio.nodes.python_node import PYTHON, source_of
from studio.training.failures import error_message
from studio.training.graph_breaks.node_rewrite import find_rewrite
from studio.training.graph_breaks.step_gain import GainProgress, StepGain, measure_gain
from studio.ui.background_task import BackgroundTask
from studio.ui.latest_task import LatestTask
from studio.ui.project.compile_explainer import CompileExplainer
from studio.ui.project.project_store import ProjectStore
from studio.ui.project.training_runner import TrainingRunner

GainState = Literal["waiting", "measuring", "measured", "cancelled", "failed"]
_SHARE = 0.01
"""Smallest progress that is reported."""


class _CancelledError(Exception):
    """The search was cancelled."""


@dataclass(slots=True)
class AppliedRewrite:
    """A rewrite that was applied, and its measurement."""

    path: str
    old: str
    """The source before."""
    rewrite: MendedCode
    before: Document
    after: Document
    state: GainState = "waiting"
    share: float = 0.0
    gain: StepGain | None = None
    problem: str = ""
    """Why measuring failed."""


class GraphBreakMender(QObject):
    """Keeps what it found for each source, so that undo and redo need no new search or measurement."""

    changed = Signal()

    def __init__(
        self, store: ProjectStore, runner: TrainingRunner, explainer: CompileExplainer, parent: QObject | None = None
    ) -> None:
        super().__init__(parent)
        self._store, self._runner, self._explainer = store, runner, explainer
        self._search = LatestTask("gradwire-graph-breaks", self)
        self._search.finished.connect(self._on_found)
        self._searched: tuple[str, str] | None = None
        self._stops_search = threading.Event()
        self._found: dict[tuple[str, str], MendedCode | Unmended] = {}
        self._applied: dict[tuple[str, str], AppliedRewrite] = {}
        self._task: BackgroundTask | None = None
        self._measured: AppliedRewrite | None = None
        runner.state_changed.connect(self._follow_run)

    # -- reading

    def source(self, path: str) -> str | None:
        """The current code of the node with a path; None if it is no Python node."""
        node = flat_document(self._store.document).nodes.get(path)
        return None if node is None or node.type != PYTHON else source_of(node.params)

    def found(self, path: str) -> MendedCode | Unmended | None:
        """The rewrite for the current code of a node, or why there is none. None before the search has ended."""
        source = self.source(path)
        if source is None:
            return Unmended("The break is not in the code of a Python node, so it cannot be rewritten here.")
        return self._found.get((path, source))

    def is_searching(self, path: str) -> bool:
        return self._searched is not None and self._searched == (path, self.source(path))

    def applied(self, path: str | None = None) -> AppliedRewrite | None:
        """The rewrite that the current code of a node, or of any node, came from. None after undo."""
        current = [each for each in reversed(self._applied.values()) if path in (None, each.path)]
        return next((each for each in current if self.source(each.path) == each.rewrite.source), None)

    # -- changing

    def search(self, path: str) -> None:
        """Search a rewrite in the background, unless it is known."""
        source = self.source(path)
        if source is None or (path, source) in self._found or self.is_searching(path):
            return
        self.cancel_search()
        stops = self._stops_search = threading.Event()
        self._searched = (path, source)

        def advance() -> None:
            if stops.is_set():
                raise _CancelledError

        get_report = self._store.request_report()
        self._search.request(self._searched, lambda: find_rewrite(get_report(), path, advance))
        self.changed.emit()

    def cancel_search(self) -> None:
        self._stops_search.set()
        if self._searched is not None:
            self._search.cancel()
            self._searched = None
            self.changed.emit()

    def apply(self, path: str) -> bool:
        """Apply the rewrite of a node as one undo step, then measure what a step gains."""
        found, old, before = self.found(path), self.source(path), self._store.document
        if not isinstance(found, MendedCode) or old is None:
            return False
        trust_typed([old], [found.source])
        edit = partial(changed_source, name=path, source=found.source)
        if not self._store.edit(f"Mend graph break ({path})", lambda document: edit_flat(document, edit)):
            return False
        self._applied[path, found.source] = AppliedRewrite(path, old, found, before, self._store.document)
        self.measure(path)
        return True

    def measure(self, path: str) -> None:
        """Measure the steps before and after the applied rewrite of a node; after a run, if one is in progress."""
        applied = self.applied(path)
        if applied is None:
            return
        if self._measured is not None:
            self._measured.state = "cancelled"
        self._stop_measuring()
        applied.gain, applied.share, applied.problem, applied.state = None, 0.0, "", "waiting"
        if not self._runner.is_active:
            self._measure(applied)
        self.changed.emit()

    def cancel_measurement(self) -> None:
        """Stop measuring; the rewrite stays."""
        applied = self._measured or self.applied()
        self._stop_measuring()
        if applied is not None and applied.state in ("waiting", "measuring"):
            applied.state = "cancelled"
            self._explain(applied)
            self.changed.emit()

    def close(self) -> None:
        self._stops_search.set()
        self._searched = None
        if self._task is not None:
            self._task.close()

    # -- in the background

    def _measure(self, applied: AppliedRewrite) -> None:
        applied.state = "measuring"
        self._measured = applied
        before, after = self._store.check_copy(applied.before), self._store.check_copy(applied.after)
        self._task = BackgroundTask(_steps(before.result, after.result, self._store.name), self)
        self._task.item_ready.connect(self._on_item)
        self._task.start()

    def _stop_measuring(self) -> None:
        if self._task is not None:
            self._task.cancel()
            self._task.item_ready.disconnect(self._on_item)
            self._task = None
        self._measured = None

    def _on_item(self, item: object) -> None:
        applied = self._measured
        if applied is None or item is None:
            return
        match item:
            case GainProgress():
                applied.share = item.share
            case StepGain():
                applied.gain, applied.state = item, "measured"
            case _:
                applied.state, applied.problem = "failed", str(item)
        if applied.state != "measuring":
            self._task = self._measured = None
            self._explain(applied)
        self.changed.emit()

    def _explain(self, applied: AppliedRewrite) -> None:
        """Explain the step without the break, so that the canvas no longer shows it."""
        if self.applied(applied.path) is applied and self._explainer.explanation is not None:
            self._explainer.explain()

    def _on_found(self, key: object, result: object) -> None:
        if key != self._searched or self._searched is None:
            return
        searched, self._searched = self._searched, None
        match result:
            case MendedCode() | Unmended():
                self._found[searched] = result
            case Exception():
                self._found[searched] = Unmended(f"The search failed: {error_message(result).rstrip('.')}.")
            case _:
                pass
        self.changed.emit()

    def _follow_run(self, *_: object) -> None:
        """A run distorts the times: measure after it."""
        if self._runner.is_active:
            if self._measured is not None:
                waiting = self._measured
                self._stop_measuring()
                waiting.state = "waiting"
                self.changed.emit()
            return
        applied = self.applied()
        if applied is not None and applied.state == "waiting" and self._task is None:
            self._measure(applied)
            self.changed.emit()


def _steps(before: Callable[[], Report], after: Callable[[], Report], name: str) -> Iterator[object]:
    """Progress, then the gain or a problem. Runs in the background thread."""
    shown = -1.0
    items: Generator[object, None, None] = measure_gain(before, after, name)
    try:
        for item in items:
            if isinstance(item, GainProgress) and item.share < shown + _SHARE:
                yield None  # lets the task stop here
                continue
            shown = item.share if isinstance(item, GainProgress) else shown
            yield item
    except Exception as error:  # noqa: BLE001 - shown beside the rewrite; the editor goes on
        yield error_message(error)
    finally:
        items.close()


__all__ = ["AppliedRewrite", "GraphBreakMender"]
