"""Actions on the selected runs, used by menus, shortcuts and buttons."""

from __future__ import annotations

from collections.abc import Callable, Sequence, Sized
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from PySide6.QtCore import QObject, QUrl, Signal
from PySide6.QtGui import QDesktopServices
from PySide6.QtWidgets import QFileDialog, QWidget

from studio.document.document_difference import reuse_equal_objects
from studio.document.document_errors import FileError
from studio.export.run_report import write_run_report
from studio.training.reproduction.reproduce import Reproduction
from studio.training.runs.run_export import ExportProgress, RunReader, run_reader, write_csv, write_tensorboard
from studio.training.runs.run_history import UNFINISHED, Run
from studio.training.runs.run_record import annotate
from studio.ui import trash
from studio.ui.panels.runs.file_jobs import FileJobs
from studio.ui.panels.runs.reproduction_job import can_fail, reproduction_work
from studio.ui.project.project_store import ProjectStore
from studio.ui.project.run_library import RunLibrary
from studio.ui.project.training_runner import TrainingRunner
from studio.ui.theme import theme


class RunActions(QObject):
    status_message = Signal(str)
    comparison_requested = Signal(str, object)
    """Name and Document of a run."""
    """A status-line message."""
    rename_requested = Signal()
    """The user asked to rename the selected run."""
    project_requested = Signal(object)
    """Path of a project file to open."""
    trash_changed = Signal(object)
    """List of items in the trash."""

    def __init__(
        self,
        store: ProjectStore,
        runner: TrainingRunner,
        library: RunLibrary,
        selected: Callable[[], list[Run]],
        parent: QWidget,
    ) -> None:
        super().__init__(parent)
        self._store, self._runner, self._library = store, runner, library
        self._selected = selected
        self._window = parent
        self._trash: list[trash.TrashedItem] = []
        self.jobs = FileJobs(self)
        library.closing.connect(self.jobs.close)

    @property
    def runs(self) -> list[Run]:
        """Selected runs that have a folder."""
        return self._selected()

    @property
    def run(self) -> Run | None:
        """The selected run, if exactly one is selected."""
        runs = self.runs
        return runs[0] if len(runs) == 1 else None

    # -- availability

    def has_one(self) -> bool:
        return self.run is not None

    def has_folder(self) -> bool:
        return self.run is not None and self.run.folder is not None

    def has_any(self) -> bool:
        return bool(self.runs)

    def can_resume(self) -> bool:
        return self.run is not None and is_resumable(self.run) and not self._runner.is_active

    def can_start_from(self) -> bool:
        return self.has_folder() and not self._runner.is_active

    def has_any_folder(self) -> bool:
        return bool(self._saved_runs)

    def can_export(self) -> bool:
        return self.has_any() and not self.jobs.is_busy

    def can_reproduce(self) -> bool:
        return self.run is not None and can_fail(self.run) and not self.jobs.is_busy

    def can_delete(self) -> bool:
        return not self.jobs.is_busy and any(run.folder is not None and not run.is_live for run in self.runs)

    def can_restore_from_trash(self) -> bool:
        return bool(self._trash) and not self.jobs.is_busy

    # -- actions

    def restore(self) -> None:
        """Load the graph of the selected run onto the canvas, as one edit."""
        run = self.run
        if run is None:
            return
        try:
            document = run.read_document()
        except FileError as error:
            self.status_message.emit(str(error))
            return
        before = self._store.document
        self._store.edit(f"Restore graph of {run.name}", lambda current: reuse_equal_objects(current, document))
        is_same = self._store.document is before
        self.status_message.emit(
            f"{'The canvas already shows' if is_same else 'The canvas now shows'} the graph of {run.name}."
        )

    def compare_graph(self) -> None:
        """Show on the canvas what differs from the graph of the selected run."""
        run = self.run
        if run is None:
            return
        try:
            self.comparison_requested.emit(run.name, run.read_document())
        except FileError as error:
            self.status_message.emit(str(error))

    def resume(self, epochs: int | None = None) -> None:
        """Resume the selected run until it has trained for `epochs` in total; by default the number it was started
        with, or twice as many if it is done."""
        run = self.run
        if run is not None:
            self._runner.resume(run, epochs=epochs or (default_total_epochs(run) if run.state == "done" else None))

    def start_from(self) -> None:
        """Start a new run of the canvas graph from the matching weights of the selected run."""
        if self.run is not None and self.run.folder is not None:
            self._runner.start(weights=self.run.folder)

    def request_rename(self) -> None:
        self.rename_requested.emit()

    def rename(self, run: Run, name: str) -> None:
        self._annotate(run, name=name)

    def write_note(self, run: Run, note: str) -> None:
        self._annotate(run, note=note)

    def set_color(self, color: int | None) -> None:
        """Set the color of the selected runs to a theme color (index from 0); None restores automatic colors."""
        for run in self._saved_runs:
            run.color = None  # otherwise an automatic color would not change
            self._annotate(run, color=color)

    def has_color(self, color: int | None) -> bool:
        """Whether the user chose this color for all selected runs; None: no chosen color."""
        return bool(self._saved_runs) and all(run.chosen_color == color for run in self._saved_runs)

    def open_folder(self) -> None:
        """Open the selected run's folder in the file manager."""
        if self.run is not None and self.run.folder is not None:
            QDesktopServices.openUrl(QUrl.fromLocalFile(str(self.run.folder)))

    def save_csv(self) -> None:
        """Export all points of the selected runs to a file that the user chooses."""
        runs = self.runs
        file_name = f"{runs[0].name if len(runs) == 1 else 'Runs'}.csv"
        path, _ = QFileDialog.getSaveFileName(self._window, "Export CSV", file_name, "CSV (*.csv)")
        if path and not self.jobs.is_busy:
            self._export(runs, write_csv, Path(path))

    def save_tensorboard(self) -> None:
        """Export TensorBoard event files of the selected runs to a folder that the user chooses."""
        folder = QFileDialog.getExistingDirectory(self._window, "Choose folder for TensorBoard event files")
        if folder and not self.jobs.is_busy:
            self._export(self.runs, write_tensorboard, Path(folder))

    def can_report(self) -> bool:
        run = self.run
        return run is not None and run.folder is not None and not run.is_live and not self.jobs.is_busy

    def save_report(self) -> None:
        """Write the selected run as an HTML file that the user chooses."""
        run = self.run
        if run is None or not self.can_report():
            return
        path, _ = QFileDialog.getSaveFileName(self._window, "Export report", f"{run.name}.html", "HTML (*.html)")
        if path and not self.jobs.is_busy:
            target = Path(path)
            store = self._store
            work = write_run_report(run, run_reader(run), store.catalogue, target, project=store.name, base=store.base)
            self._start_export(f"Writing the report of {run.name}", work, target)

    def reproduce(self) -> None:
        """Reduce the failed run to the smallest project that fails the same way, and open it."""
        if self.run is not None and self.can_reproduce():
            self._reproduce(self.run)

    def reproduction_of_last(self) -> Callable[[], object] | None:
        """Reduces the last run of this session; None if it did not fail, or files are being written."""
        run = self._runner.run
        return None if run is None or not can_fail(run) or self.jobs.is_busy else partial(self._reproduce, run)

    def _reproduce(self, run: Run) -> None:
        results: list[Reproduction] = []

        def on_finished(error: FileError | None) -> None:
            if error is not None:
                self.status_message.emit(str(error))
            elif not results:
                self.status_message.emit("Canceled. No files were written.")
            else:
                self.status_message.emit(results[0].summary)
                self.project_requested.emit(results[0].project)

        work = reproduction_work(run, self._store.catalogue, self._store.base, results.append)
        self.jobs.start(f"Reducing {run.name} to a minimal reproduction", work, on_finished)

    def delete(self) -> None:
        """Move the selected runs to the trash, except active ones."""
        runs_by_folder = {run.folder: run for run in self.runs if run.folder is not None and not run.is_live}
        if not runs_by_folder or self.jobs.is_busy:
            return
        trashed: list[trash.TrashedItem] = []

        def work() -> ExportProgress:
            for number, folder in enumerate(runs_by_folder, start=1):
                trashed.append(trash.move_to_trash(folder))
                yield number / len(runs_by_folder)

        def on_finished(error: FileError | None) -> None:
            self._library.remove([runs_by_folder[item.path] for item in trashed])
            self._trash = list(trashed) if all(item.trash_path is not None for item in trashed) else []
            if error is not None:
                self.status_message.emit(str(error))
            if trashed:
                self.trash_changed.emit(trashed)

        self.jobs.start(f"Moving {_count(runs_by_folder)} to the trash", work(), on_finished)

    def restore_from_trash(self) -> None:
        """Restore the runs that were deleted last."""
        if self.jobs.is_busy:
            return
        trashed, self._trash = self._trash, []
        remaining = list(trashed)

        def work() -> ExportProgress:
            for number, item in enumerate(trashed, start=1):
                trash.restore_from_trash(item)
                remaining.remove(item)
                yield number / len(trashed)

        def on_finished(error: FileError | None) -> None:
            if error is not None:
                self.status_message.emit(str(error))
            elif remaining:
                self._trash = remaining
            self._library.scan()

        self.jobs.start(f"Restoring {_count(trashed)}", work(), on_finished)

    # -- helpers

    @property
    def _saved_runs(self) -> list[Run]:
        """Selected runs that have a folder, which stores their annotations."""
        return [run for run in self.runs if run.folder is not None]

    def _annotate(self, run: Run, **annotations: str | int | None) -> None:
        if run.folder is None:
            return
        try:
            about = annotate(run.folder, **annotations)
        except FileError as error:
            self.status_message.emit(str(error))
            about = run.metadata
        self._library.set_metadata(run, about)

    def _export(
        self, runs: Sequence[Run], write: Callable[[Sequence[RunReader], Path], ExportProgress], target: Path
    ) -> None:
        """Write runs in a background thread. Reads the curves of runs that were never shown."""
        self._start_export(f"Exporting {_count(runs)}", write([run_reader(run) for run in runs], target), target)

    def _start_export(self, title: str, work: ExportProgress, target: Path) -> None:
        def on_finished(error: FileError | None) -> None:
            if error is not None:
                self.status_message.emit(str(error))
            else:
                was_canceled = self.jobs.is_canceled
                self.status_message.emit(
                    "Canceled. No files were written." if was_canceled else f"Exported to {target}"
                )

        self.jobs.start(title, work, on_finished)


def _count(runs: Sized) -> str:
    return "1 run" if len(runs) == 1 else f"{len(runs)} runs"


def is_resumable(run: Run) -> bool:
    """Whether a run is saved and can continue: it is unfinished, or its number of epochs can be raised."""
    return run.folder is not None and (
        run.state in UNFINISHED or (run.state == "done" and default_total_epochs(run) is not None)
    )


def default_total_epochs(run: Run) -> int | None:
    """Default total number of epochs of a resumed run; None if it was not started with a number of epochs."""
    epochs: Any = run.settings.get("epochs")
    if not isinstance(epochs, int):
        return None
    return 2 * epochs if run.state == "done" else epochs


@dataclass(frozen=True, slots=True)
class RunAction:
    """Declaration of an action on the selected runs."""

    id: str
    title: str
    run: Callable[[RunActions], object]
    is_possible: Callable[[RunActions], bool]
    icon: str = ""
    keys: tuple[str, ...] = ()
    help: str = ""
    separated: bool = False
    menu: str = ""
    """Title of the submenu."""
    token: str = "text"
    """Theme color of the icon."""
    is_on: Callable[[RunActions], bool] | None = None
    """For mutually exclusive actions: whether this one is active."""
    reason: str = "Select a run"
    """Why it is not possible."""
    words: str = ""
    """Further words that find it."""


def _color(title: str, color: int | None, icon: str, token: str, help: str) -> RunAction:
    return RunAction(
        f"color-{'automatic' if color is None else color + 1}",
        title,
        partial(RunActions.set_color, color=color),
        RunActions.has_any_folder,
        icon,
        help=help,
        separated=color is None,
        menu="Color",
        token=token,
        is_on=partial(RunActions.has_color, color=color),
    )


COLORS = (
    *(
        _color(name, color, "swatch", f"series-{color + 1}", f"Draw the selected runs in {name.lower()}")
        for color, name in enumerate(theme.SERIES_NAMES)
    ),
    _color("Automatic", None, "reset", "text", "Choose colors automatically"),
)

RUN_ACTIONS = (
    RunAction(
        "restore", "Restore graph", RunActions.restore, RunActions.has_one, "history",
        help="Load this run's graph onto the canvas. Undo restores the current graph.",
        reason="Select one run", words="load graph version",
    ),
    RunAction(
        "compare-graph", "Compare graph", RunActions.compare_graph, RunActions.has_one, "",
        help="Mark on the canvas what differs from this run's graph",
    ),
    RunAction(
        "resume", "Resume run", RunActions.resume, RunActions.can_resume, "run",
        help=(
            "Continue from the last checkpoint with identical results. A completed run trains for as many epochs "
            "again."
        ),
        reason="Select one run with a checkpoint, while none is active", words="continue checkpoint",
    ),
    RunAction(
        "start-from", "Start from these weights", RunActions.start_from, RunActions.can_start_from, "link",
        help="Train the canvas graph from the matching weights of this run",
        reason="Select one run, while none is active", words="fine-tune pretrained load checkpoint",
    ),
    RunAction(
        "rename", "Rename", RunActions.request_rename, RunActions.has_folder, "edit", ("F2",), separated=True,
        help="Rename the selected run",
    ),
    *COLORS,
    RunAction(
        "folder", "Open folder", RunActions.open_folder, RunActions.has_folder, "folder",
        help="Open the run's folder in the file manager",
    ),
    RunAction(
        "csv", "Export CSV…", RunActions.save_csv, RunActions.can_export, "table",
        help="Export all points of the selected runs in full precision",
        words="save points curves table spreadsheet",
    ),
    RunAction(
        "tensorboard", (
            "Export TensorBoard event files…"
        ), RunActions.save_tensorboard, RunActions.can_export, "external",
        help="Export the curves of the selected runs for TensorBoard",
    ),
    RunAction(
        "report", "Export report…", RunActions.save_report, RunActions.can_report, "file",
        help="Write curves, graph, results by class and settings of this run as one HTML file",
        reason="Select one run that has ended, while no file operation runs",
        words="save html page confusion matrix share print",
    ),
    RunAction(
        "reproduce", "Make minimal reproduction", RunActions.reproduce, RunActions.can_reproduce, "split",
        help="Reduce this failed run to the fewest nodes and samples that fail the same way: a script and a project",
        reason="Select one run that has failed or diverged, while no file operation runs",
        words="reduce bug report debug nan error smallest delta debugging", separated=True,
    ),
    RunAction(
        "delete", "Move to trash", RunActions.delete, RunActions.can_delete, "trash", ("Del",), separated=True,
        help="Move the selected runs to the trash. Active runs are kept.",
        reason="Select runs that are not active",
    ),
    RunAction(
        "put-back", "Restore", RunActions.restore_from_trash, RunActions.can_restore_from_trash, "undo",
        help="Restore the runs that were moved to the trash last",
        reason="No runs are in the trash",
    ),
)  # fmt: skip


__all__ = ["RUN_ACTIONS", "RunAction", "RunActions", "default_total_epochs", "is_resumable"]
