"""An open project: document store, runs, training, project file, and a journal for crash recovery."""

from __future__ import annotations

from functools import partial
from pathlib import Path

from PySide6.QtCore import QFileSystemWatcher, QObject, QTimer, Signal

from studio.document.document_errors import FileError
from studio.document.files import project_files
from studio.document.files.autosave import Autosave, Recovery
from studio.document.model import Document
from studio.lowering.check import Checker
from studio.nodes.catalogue import Catalogue
from studio.ui.project.compile_explainer import CompileExplainer
from studio.ui.project.fix_trial_runner import FixTrialRunner
from studio.ui.project.graph_break_mender import GraphBreakMender
from studio.ui.project.profile_runner import ProfileRunner
from studio.ui.project.project_store import ProjectStore
from studio.ui.project.run_library import RunLibrary
from studio.ui.project.scope_store import ScopeStore
from studio.ui.project.shown_moment import ShownMoment
from studio.ui.project.training_runner import TrainingRunner

_SETTLE_MS = 300
"""Editors write a file in several steps, so changes are reported after a pause."""


class Project(QObject):
    disk_changed = Signal()
    """Another program changed or removed the file."""
    logged = Signal(str, str)
    """A log message: text, and "info", "warning" or "error"."""

    def __init__(
        self,
        document: Document,
        catalogue: Catalogue,
        *,
        path: Path | None = None,
        stamp: project_files.FileStamp | None = None,
        title: str | None = None,
        journals: Path | None = None,
        backup_delay: int = 1,
        saves_itself: bool = False,
        parent: QObject | None = None,
    ) -> None:
        """`saves_itself`: every change is saved to `path` after the backup delay, as in lessons."""
        super().__init__(parent)
        checker = Checker()
        self.store = ProjectStore(
            document,
            catalogue,
            lambda checked_document, base: checker.check(checked_document, catalogue, base),
            path=path,
            title=title,
            parent=self,
        )
        self.scope = ScopeStore(self.store)
        """The graph that the canvas shows."""
        self._journal = Autosave(journals)
        self._saved_file = path if saves_itself else None
        self.library = RunLibrary(_run_folder_of(path, self._journal), self)
        self.library.scan()
        self.runner = TrainingRunner(self.store, self.library, self)
        self.moment = ShownMoment(self.runner, self.library, self)
        """The step of a run whose statistics are shown."""
        self.fix_trials = FixTrialRunner(self.store, self.runner, self)
        self.store.fix_previewer.measured_text = self.fix_trials.measured_text
        self.store.fix_previewer.recommended = self.fix_trials.recommended
        self.explainer = CompileExplainer(self.store, self.runner, self)
        self.profiler = ProfileRunner(self.store, self.runner, self)
        self.break_mender = GraphBreakMender(self.store, self.runner, self.explainer, self)
        self._stamp = stamp
        self._autosave = QTimer(self)
        self._autosave.setSingleShot(True)
        self._autosave.setInterval(1000 * backup_delay)
        self._autosave.timeout.connect(self.write_journal)
        self._disk_timer = QTimer(self)
        self._disk_timer.setSingleShot(True)
        self._disk_timer.setInterval(_SETTLE_MS)
        self._disk_timer.timeout.connect(self.check_disk)
        self._watcher = QFileSystemWatcher(self)
        self._watcher.fileChanged.connect(partial(_start, self._disk_timer))
        self.store.document_changed.connect(partial(_start, self._autosave))
        self.runner.state_changed.connect(self._move_runs)
        self.runner.state_changed.connect(partial(_start, self._autosave))
        self.library.runs_changed.connect(partial(_start, self._autosave))
        self._watch()

    def set_backup_delay(self, seconds: int) -> None:
        """Set the pause after an edit until it is backed up."""
        self._autosave.setInterval(1000 * seconds)

    @property
    def changed_on_disk(self) -> bool:
        """Whether another program has changed the file since it was read or saved."""
        path = self.store.path
        return path is not None and path.exists() and (self._stamp is None or not self._stamp.matches(path))

    @property
    def needs_saving(self) -> bool:
        """Whether closing would lose work."""
        if self._saves_itself:
            return False
        return not self.store.is_saved or bool(self.unsaved_runs)

    @property
    def unsaved_runs(self) -> int:
        """Number of runs that would be lost with a project that was never saved."""
        return 0 if self.store.path is not None else len(self.library.runs)

    def save(self, path: Path) -> None:
        """Save the project to `path`, which becomes its file. Raises FileError, and then changes nothing."""
        document, before = self.store.document, self.store.path
        self._stamp = project_files.save(document, path)
        self.store.mark_saved(document, path)
        if self.library.folder == self._journal.runs:
            self._assign_runs(path)
            self._move_runs()
        elif before != path:
            self.library.switch_folder(_run_folder_of(path, self._journal))
        self._journal.clear()
        self._watch()
        self.logged.emit(f"Saved {path}", "info")

    def reload(self) -> None:
        """Load the file again, as an undoable edit. Raises FileError."""
        path = self.store.path
        assert path is not None
        document, self._stamp = project_files.load_stamped(path)
        self.store.edit("Reload from disk", lambda _: document)
        self.store.mark_saved(self.store.document, path)
        self._watch()

    def keep_current_version(self) -> None:
        """Keep the open version. It counts as unsaved, and saving asks before overwriting the file."""
        self.store.mark_unsaved()

    def recover(self, recovery: Recovery) -> bool:
        """Take over the journal of a crashed process. Returns False if another process has already done so."""
        if not self._journal.adopt(recovery):
            return False
        self.store.mark_unsaved()
        self.library.scan()
        return True

    def write_journal(self) -> None:
        """Write the journal, or delete it if closing would lose nothing.

        The journal also records where the runs of an unsaved project are.
        """
        self._autosave.stop()
        if self._saves_itself:
            self._save_itself()
            return
        if not self.needs_saving:
            self._journal.clear()
            return
        try:
            self._journal.write(self.store.document, self.store.path)
        except FileError as error:
            self.logged.emit(f"Could not back up unsaved work: {error}", "warning")

    def check_disk(self) -> None:
        """Report if the file is no longer the version that was last read or written."""
        path = self.store.path
        if path is not None and self._stamp is not None and not self._stamp.matches(path):
            self._stamp = None
            self.disk_changed.emit()
        self._watch()

    def close(self) -> None:
        """Stop training and delete the journal; the work has been saved or discarded."""
        self._autosave.stop()
        if self._saves_itself:
            self._save_itself()
        self.fix_trials.close()
        self.runner.close()
        self.library.close()
        self.break_mender.close()
        self.explainer.close()
        self.profiler.close()
        self.store.close()
        self._journal.clear()
        if self.store.path is None:
            self._journal.delete_runs()
        else:
            self._journal.move_runs_to_destination()

    @property
    def _saves_itself(self) -> bool:
        return self._saved_file is not None and self.store.path == self._saved_file

    def _save_itself(self) -> None:
        if not self.store.is_saved and self._saved_file is not None:
            try:
                self.save(self._saved_file)
            except FileError as error:
                self.logged.emit(f"Could not save the work: {error}", "warning")

    def _assign_runs(self, path: Path) -> None:
        """Record the target folder of the runs in the journal, so that closing or a crash does not lose them."""
        if not self.library.runs:
            return
        try:
            self._journal.set_runs_destination(_run_folder_of(path, self._journal))
        except FileError as error:
            self.logged.emit(str(error), "warning")

    def _move_runs(self, *_: object) -> None:
        """Move the runs of a previously unsaved project to its run folder, after an active run has ended."""
        path = self.store.path
        if path is not None and not self.runner.is_active and self.library.folder == self._journal.runs:
            self.library.move(_run_folder_of(path, self._journal))

    def _watch(self) -> None:
        """Watch the file again after each save, because replacing a file ends the watch."""
        path = self.store.path
        if path is not None and str(path) not in self._watcher.files():
            if self._watcher.files():
                self._watcher.removePaths(self._watcher.files())
            if path.exists():
                self._watcher.addPath(str(path))


def _run_folder_of(path: Path | None, journal: Autosave) -> Path:
    """Run folder of a project; a temporary one for projects without a file."""
    return journal.runs if path is None else path.with_suffix(".runs")


def _start(timer: QTimer, *_: object) -> None:
    timer.start()
