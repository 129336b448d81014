"""Breakpoints of a project in the window: undoable edits of its list, and the hit at which its run is paused."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from difflib import get_close_matches

from PySide6.QtCore import QObject, Signal

from studio.document.breakpoints.breakpoint_edits import (
    breakpoint_paths,
    change_breakpoint,
    checked_condition,
    remove_breakpoints,
    set_breakpoint,
    unknown_node,
)
from studio.document.document_errors import EditError
from studio.document.model import Document
from studio.training.session_events import BreakpointsHit
from studio.ui.project.project_store import ProjectStore
from studio.ui.project.training_runner import TrainingRunner


class BreakpointStore(QObject):
    changed = Signal()
    """The list of breakpoints has changed."""
    hit_changed = Signal()
    """The run has paused at a breakpoint, or continues."""

    def __init__(self, store: ProjectStore, runner: TrainingRunner, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._store, self._runner = store, runner
        store.document_changed.connect(self._on_document_changed)
        runner.hit_changed.connect(self.hit_changed)

    @property
    def breakpoints(self) -> Mapping[str, bool]:
        """Conditions, and whether each is enabled."""
        return self._store.document.breakpoints

    @property
    def hit(self) -> BreakpointsHit | None:
        """The hit at which the run is paused."""
        return self._runner.hit

    def paths(self, *, enabled: bool) -> frozenset[str]:
        """The nodes, outputs and parameters that enabled or disabled breakpoints name."""
        return frozenset(
            path
            for condition, is_enabled in self.breakpoints.items()
            if is_enabled is enabled
            for path in breakpoint_paths(condition)
        )

    def add(self, condition: str) -> str:
        """Add a breakpoint. Returns what is wrong with it, or an empty text."""
        problem = problem_of(condition) or self._unknown_node(condition)
        if problem:
            return problem
        return self._edit(f"Add breakpoint {_short(condition)}", lambda document: set_breakpoint(document, condition))

    def change(self, old: str, new: str) -> str:
        """Change the condition of a breakpoint. Returns what is wrong with it, or an empty text."""
        problem = problem_of(new) or self._unknown_node(new)
        if problem:
            return problem
        return self._edit(f"Change breakpoint {_short(new)}", lambda document: change_breakpoint(document, old, new))

    def set_enabled(self, condition: str, enabled: bool) -> None:
        word = "Enable" if enabled else "Disable"
        self._edit(
            f"{word} breakpoint {_short(condition)}",
            lambda document: set_breakpoint(document, condition, enabled=enabled),
        )

    def remove(self, conditions: Collection[str]) -> None:
        what = _short(next(iter(conditions))) if len(conditions) == 1 else f"{len(conditions)} breakpoints"
        self._edit(f"Remove breakpoint {what}", lambda document: remove_breakpoints(document, conditions))

    def toggle(self, paths: Collection[str]) -> None:
        """Set a breakpoint on NaN at nodes; where all have one, remove it."""
        conditions = [f"NaN in {path}" for path in sorted(paths)]
        if all(condition in self.breakpoints for condition in conditions):
            self.remove(conditions)
            return

        def add_all(document: Document) -> Document:
            for condition in conditions:
                document = set_breakpoint(document, condition)
            return document

        self._edit(f"Add breakpoint {_short(conditions[0])}", add_all)

    def _unknown_node(self, condition: str) -> str:
        """That a condition names no node of the graph, with the nearest name; empty if it does."""
        document = self._store.document
        if not (name := unknown_node(document, condition)):
            return ""
        near = get_close_matches(name, document.nodes, 1)
        return f"There is no node {name}." + (f" Did you mean {near[0]}?" if near else "")

    def _edit(self, title: str, function: Callable[[Document], Document]) -> str:
        try:
            function(self._store.document)
        except EditError as error:
            return str(error)
        self._store.edit(title, function)
        return ""

    def _on_document_changed(self, old: Document, new: Document) -> None:
        if old.breakpoints != new.breakpoints:
            self.changed.emit()


def problem_of(condition: str) -> str:
    """What is wrong with a condition; empty if it can be read."""
    try:
        checked_condition(condition)
    except EditError as error:
        return str(error)
    return ""


def _short(condition: str) -> str:
    condition = " ".join(condition.split())
    return condition if len(condition) <= 40 else f"{condition[:39]}…"


__all__ = ["BreakpointStore", "problem_of"]
