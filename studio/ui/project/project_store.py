"""The state of an open project. Views observe it and change it through `edit`; none keeps a copy."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from concurrent.futures import Future
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Literal, TypeAlias

from PySide6.QtCore import QObject, Signal

from studio.document.blocks.block_locations import Renaming, canonical_paths
from studio.document.edit_history import History
from studio.document.edits import EditError
from studio.document.locked_nodes import check_locked
from studio.document.model import Document
from studio.lowering.problems.dismissal import differ_in_dismissals, with_dismissals
from studio.lowering.problems.problem import Fix, Problem
from studio.lowering.report import Report
from studio.lowering.user_code.document_code import trust_corrected
from studio.training.data.data_inspector import Inspection
from studio.ui.project.background_checker import BackgroundChecker, Check
from studio.ui.project.fix_previewer import FixPreviewer

if TYPE_CHECKING:
    from studio.nodes.catalogue import Catalogue


_NEW_NODE_PROBLEMS = ("missing-parameter", "not-wired")
"""Problems of any new node. They are hidden until the node has a wire or the user tried to run it."""


Origin: TypeAlias = Literal["graph", "data", "run"]
"""What shows a problem: the graph, its samples, or the last run."""


class ProjectStore(QObject):
    """The state of a project: edit history, file, selection and check report."""

    document_changed = Signal(object, object)
    """The old and the new Document."""
    report_changed = Signal(object)
    """The Report with the problems of samples and of the last run, without hidden problems of new nodes."""
    selection_changed = Signal(object)
    """Frozenset of the selected nodes' paths."""
    restored = Signal(object, object)
    """The old and the new Document, after an undo or redo."""
    saved_changed = Signal(bool)
    path_changed = Signal(object)
    """The Path, or None for a project without a file."""
    refused = Signal(str)
    """Why an edit was refused."""
    locked_changed = Signal()

    def __init__(
        self,
        document: Document,
        catalogue: Catalogue,
        check: Check,
        *,
        path: Path | None = None,
        title: str | None = None,
        parent: QObject | None = None,
    ) -> None:
        super().__init__(parent)
        self.catalogue = catalogue
        self.history = History(document, "Open" if path else "New project")
        self._path = path
        self._title = title or "Untitled"
        self._titled_path = path if title else None
        """File that is shown under the title instead of its name."""
        self._selection: frozenset[str] = frozenset()
        self._locked: frozenset[str] = frozenset()
        self._check_report = Report()
        self._run_problems: tuple[Problem, ...] = ()
        self._inspection = Inspection()
        self._attempted_nodes: frozenset[str] = frozenset()
        """Nodes that were in the graph when the user last tried to run it."""
        self._report = Report()
        self._checked: Document | None = None
        self._was_saved = self.history.is_saved
        self._drafts: list[Callable[[], str]] = []
        self._checker = BackgroundChecker(check, self)
        self._checker.checked.connect(self._on_checked)
        self.fix_previewer = FixPreviewer(
            lambda: self.document,
            lambda: self._check_report,
            self.check_copy,
            self,
        )
        """Shows what a fix would change before it is applied."""
        self.recheck()

    # -- reading

    @property
    def document(self) -> Document:
        return self.history.document

    @property
    def report(self) -> Report:
        """Report of the graph. It may lag the document by milliseconds; see `is_checked`."""
        return self._report

    @property
    def check_report(self) -> Report:
        """Report of the check, without problems of samples and of the last run."""
        return self._check_report

    @property
    def is_checked(self) -> bool:
        """Whether `report` describes the current document."""
        return self._checked is self.document

    @property
    def selection(self) -> frozenset[str]:
        """Paths of the selected nodes: "conv", or "encoder.0.fc" inside a block."""
        return self._selection

    @property
    def locked(self) -> frozenset[str]:
        """Paths of the nodes that edits cannot change; see `check_locked`."""
        return self._locked

    @property
    def path(self) -> Path | None:
        return self._path

    @property
    def base(self) -> Path | None:
        """Folder against which relative paths of the project are resolved."""
        return self._path.parent if self._path else None

    @property
    def name(self) -> str:
        """Project name for tabs and titles."""
        return self._title if self._path in (None, self._titled_path) else self._path.stem

    @property
    def is_saved(self) -> bool:
        return self.history.is_saved

    # -- changing

    def edit(self, title: str, function: Callable[[Document], Document], *, merge: str | None = None) -> bool:
        """Apply an undoable edit named `title`. Consecutive edits with the same `merge` key become one undo step.

        If `function` raises EditError, nothing changes, `refused` is emitted and the result is False.
        """
        old = self.document
        try:
            new = function(old)
            check_locked(old, new, self._locked)
        except EditError as error:
            self.refused.emit(str(error))
            return False
        self.history.push(title, new, merge)
        self._apply(old)
        return True

    def lock(self, paths: Iterable[str]) -> None:
        """Refuse edits of these nodes. Undo and redo still go to all states of the history."""
        self._locked = frozenset(paths)
        self.locked_changed.emit()

    def apply_fix(self, fix: Fix, node: str | None = None) -> None:
        """Apply a fix as one undo step. Its title names the node of the problem."""
        before = self.document
        if self.edit(fix.title if node is None or node in fix.title else f"{fix.title} ({node})", fix.edit):
            trust_corrected(before, self.document)

    def extend_last_edit(self, function: Callable[[Document], Document]) -> bool:
        """Extend the last edit, so that one undo reverts both.

        Returns False without a change if there is no unsaved last edit, or if there are states to redo.
        """
        old = self.document
        if not self.history.can_undo or self.history.can_redo or self.history.is_saved:
            return False
        self.history.replace_current(function(old))
        self._apply(old)
        return True

    def end_gesture(self) -> None:
        """End a gesture: the next edit is a separate undo step even with the same merge key."""
        self.history.end_gesture()

    def revert_gesture(self, merge: str) -> None:
        """Revert the edits of the current gesture, those with this merge key."""
        old = self.document
        if self.history.revert_gesture(merge):
            self._apply(old)

    def undo(self) -> None:
        self.go_to(max(self.history.position - 1, 0))

    def redo(self) -> None:
        self.go_to(min(self.history.position + 1, len(self.history.entries) - 1))

    def go_to(self, position: int) -> None:
        """Go to a state of the history by index."""
        old = self.document
        self.history.go_to(position)
        self._apply(old, self.history.selection)
        if old is not self.document:
            self.restored.emit(old, self.document)

    def select(self, paths: Iterable[str]) -> None:
        """Select the nodes with these paths. Paths without a node are ignored."""
        selection = frozenset(canonical_paths(self.document, paths))
        self.history.set_selection(selection)
        if selection != self._selection:
            self._selection = selection
            self.selection_changed.emit(selection)

    def mark_saved(self, document: Document, path: Path) -> None:
        """Record that the file at `path` contains `document`."""
        self.history.mark_saved(document)
        if path != self._path:
            self._path = path
            self.path_changed.emit(path)
            self.recheck()
        self._emit_saved()

    def mark_unsaved(self) -> None:
        """Record that no file contains the current document, for example after a recovery."""
        self.history.mark_unsaved()
        self._emit_saved()

    @property
    def inspection(self) -> Inspection:
        """The newest inspection of samples. It may lag the document by seconds."""
        return self._inspection

    def set_inspection(self, inspection: Inspection) -> None:
        """Set the problems of samples, which are shown until those of a later document are known."""
        if inspection != self._inspection:
            self._inspection = inspection
            self._publish()

    def set_run_problems(self, problems: Iterable[Problem]) -> None:
        """Set the problems of the last run, which are shown until the next edit or run."""
        self._run_problems = tuple(problems)
        self._publish()

    def add_run_problem(self, problem: Problem) -> None:
        """Add a problem of the current run."""
        self.set_run_problems((*self._run_problems, problem))

    def origin(self, problem: Problem) -> Origin:
        """What shows a problem of the report."""
        key = problem.code, problem.node
        if any((each.code, each.node) == key for each in self._run_problems):
            return "run"
        return "data" if any((each.code, each.node) == key for each in self._inspection.problems) else "graph"

    def add_draft_check(self, problem: Callable[[], str]) -> None:
        """Register a callback that returns a message if a field contains invalid text, else "". Runs are refused
        then."""
        self._drafts.append(problem)

    def prepare_run(self) -> str:
        """Check whether a run can start, and report incomplete nodes as problems from now on.

        Returns why it cannot start: a message about an invalid field, or about the errors. Empty if it can.
        """
        attempted = frozenset(self.document.nodes)
        if attempted != self._attempted_nodes:
            self._attempted_nodes = attempted
            self._publish()
        if draft_problem := next(filter(None, (problem() for problem in self._drafts)), ""):
            return draft_problem
        errors = self._check_report.errors if self.is_checked else ()  # else the run itself waits for the check
        if len(errors) > 1:
            return f"Fix the {len(errors)} errors before running."
        return errors[0].message if errors else ""

    def recheck(self) -> None:
        """Check again without an edit, for example because a data file changed."""
        self._checker.request(self.document, self.base)

    def request_report(self) -> Callable[[], Report]:
        """Check the current document with the current data files, in the checker's thread.

        Returns a function that waits for the report; it is for worker threads. Only changed nodes are inferred again.
        """
        return self._checker.request_report(self.document, self.base).result

    def check_copy(self, document: Document) -> Future[Report]:
        """Check another document, such as one with a fix, in the checker's thread."""
        return self._checker.request_report(document, self.base)

    def close(self) -> None:
        """Stop the checker. The store must not be used afterwards."""
        self.fix_previewer.close()
        self._checker.close()

    def _apply(self, old: Document, restored_selection: frozenset[str] = frozenset()) -> None:
        """Emit the signals after the current document was replaced.

        `restored_selection` is the selection when the document was last current, after an undo or redo.
        """
        new = self.document
        if new is old:
            return
        if self._run_problems and not differ_in_dismissals(old, new):
            self._run_problems = ()
        self.fix_previewer.end()
        self.document_changed.emit(old, new)
        self.select(_selection_after_change(self._selection, old, new, restored_selection))
        self._emit_saved()
        self.recheck()

    def _on_checked(self, document: Document, report: Report) -> None:
        if document is not self.document:
            return
        self._checked = document
        self._check_report = report
        self._publish()

    def _publish(self) -> None:
        checked = self._check_report
        if self._inspection.problems or self._inspection.dismissed:
            checked = self._inspection.at(self.document).joined(checked)
        found = checked.problems
        ready = self._attempted_nodes | {end.node for wire in self.document.wires for end in (wire.source, wire.target)}
        problems = tuple(each for each in found if each.code not in _NEW_NODE_PROBLEMS or each.node in ready)
        known = {(problem.code, problem.node) for problem in (*problems, *checked.dismissed)}
        of_run = [
            problem
            for problem in with_dismissals(self._run_problems, self.document)
            if problem.node is None or (problem.code, problem.node) not in known
        ]
        problems += tuple(problem for problem in of_run if not problem.dismissed)
        dismissed = (*checked.dismissed, *(problem for problem in of_run if problem.dismissed))
        changed = problems != found or dismissed != checked.dismissed
        report = replace(checked, problems=problems, dismissed=dismissed) if changed else checked
        self._report = report
        self.report_changed.emit(report)

    def _emit_saved(self) -> None:
        if self.is_saved != self._was_saved:
            self._was_saved = self.is_saved
            self.saved_changed.emit(self.is_saved)


def _selection_after_change(
    selection: frozenset[str], old: Document, new: Document, restored_selection: frozenset[str]
) -> frozenset[str]:
    """The selected nodes that still exist, renamed ones under their new paths.

    If the change restores selected nodes, or removes all of the selected ones: `restored_selection`.
    """
    existing = set(canonical_paths(old, restored_selection))
    restored = restored_selection - existing
    renaming = Renaming(old, new)
    remaining = frozenset(path for each in selection if (path := renaming.path(each)) is not None)
    return restored_selection if restored - remaining or (selection and not remaining) else remaining
