"""What can be done with the selected runs. Menus, keys and buttons all come from here."""

from __future__ import annotations

from collections.abc import Callable, Sequence, Sized
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from PySide6.QtCore import QObject, QUrl, Signal
from PySide6.QtGui import QDesktopServices
from PySide6.QtWidgets import QFileDialog, QWidget

from studio.document.document_difference import settled
from studio.document.document_errors import FileError
from studio.training.runs.run_export import ExportProgress, RunReader, run_reader, write_csv, write_tensorboard
from studio.training.runs.run_history import UNFINISHED, Run
from studio.training.runs.run_record import annotate
from studio.ui import trash
from studio.ui.panels.runs.file_jobs import FileJobs
from studio.ui.project.project_store import ProjectStore
from studio.ui.project.run_library import RunLibrary
from studio.ui.project.training_runner import TrainingRunner
from studio.ui.theme import theme


class RunActions(QObject):
    said = Signal(str)
    """A remark for the status line."""
    rename_wanted = Signal()
    """The person wants to type another name for the selected run."""
    thrown = Signal(object)
    """A list of what lies in the trash now."""

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
        """The selected ones."""
        return self._selected()

    @property
    def run(self) -> Run | None:
        """The selected one, if it is one."""
        runs = self.runs
        return runs[0] if len(runs) == 1 else None

    # -- what can be done

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
        return bool(self._written)

    def can_export(self) -> bool:
        return self.has_any() and not self.jobs.is_busy

    def can_delete(self) -> bool:
        return not self.jobs.is_busy and any(run.folder is not None and not run.is_live for run in self.runs)

    def can_put_back(self) -> bool:
        return bool(self._trash) and not self.jobs.is_busy

    # -- doing it

    def restore(self) -> None:
        """Make the graph of the selected run that of the canvas, as one edit."""
        run = self.run
        if run is None:
            return
        try:
            document = run.read_document()
        except FileError as error:
            self.said.emit(str(error))
            return
        before = self._store.document
        self._store.edit(f"Restore the graph of {run.name}", lambda now: settled(now, document))
        is_same = self._store.document is before
        self.said.emit(f"The canvas has the graph of {run.name}{' already' if is_same else ''}.")

    def resume(self, epochs: int | None = None) -> None:
        """Go on with the selected run until so many epochs are done; else those it was begun for, or twice as many."""
        run = self.run
        if run is not None:
            self._runner.resume(run, epochs=epochs or (epochs_in_all(run) if run.state == "done" else None))

    def start_from(self) -> None:
        """Begin a new run of the graph on the canvas, with the weights of the selected run that fit."""
        if self.run is not None and self.run.folder is not None:
            self._runner.start(weights=self.run.folder)

    def ask_for_name(self) -> None:
        self.rename_wanted.emit()

    def rename(self, run: Run, name: str) -> None:
        self._annotate(run, name=name)

    def write_note(self, run: Run, note: str) -> None:
        self._annotate(run, note=note)

    def paint(self, color: int | None) -> None:
        """Give the selected runs a colour of the theme's, by its place from 0; None lets each find its own again."""
        for run in self._written:
            run.color = None  # which it would keep otherwise
            self._annotate(run, color=color)

    def has_color(self, color: int | None) -> bool:
        """Whether all selected runs have this colour because a person chose it, or None because nobody did."""
        return bool(self._written) and all(run.chosen_color == color for run in self._written)

    def open_folder(self) -> None:
        """Show the selected run's files in the system's file manager."""
        if self.run is not None and self.run.folder is not None:
            QDesktopServices.openUrl(QUrl.fromLocalFile(str(self.run.folder)))

    def save_csv(self) -> None:
        """Write all points of the selected runs into a file that the person chooses."""
        runs = self.runs
        suggestion = f"{runs[0].name if len(runs) == 1 else 'Runs'}.csv"
        path, _ = QFileDialog.getSaveFileName(self._window, "Save the points", suggestion, "CSV (*.csv)")
        if path and not self.jobs.is_busy:
            self._export(runs, write_csv, Path(path))

    def save_tensorboard(self) -> None:
        """Write event files of the selected runs into a folder that the person chooses."""
        folder = QFileDialog.getExistingDirectory(self._window, "Folder for TensorBoard's event files")
        if folder and not self.jobs.is_busy:
            self._export(self.runs, write_tensorboard, Path(folder))

    def delete(self) -> None:
        """Move the selected runs to the trash, but for those that are under way."""
        gone = {run.folder: run for run in self.runs if run.folder is not None and not run.is_live}
        if not gone or self.jobs.is_busy:
            return
        thrown: list[trash.TrashedItem] = []

        def work() -> ExportProgress:
            for number, folder in enumerate(gone, start=1):
                thrown.append(trash.throw_away(folder))
                yield number / len(gone)

        def over(error: FileError | None) -> None:
            self._library.remove([gone[one.path] for one in thrown])
            self._trash = list(thrown) if all(one.place is not None for one in thrown) else []
            if error is not None:
                self.said.emit(str(error))
            if thrown:
                self.thrown.emit(thrown)

        self.jobs.start(f"Moving {_count(gone)} to the trash", work(), over)

    def put_back(self) -> None:
        """What was deleted last, out of the trash."""
        if self.jobs.is_busy:
            return
        thrown, self._trash = self._trash, []
        left = list(thrown)

        def work() -> ExportProgress:
            for number, one in enumerate(thrown, start=1):
                trash.put_back(one)
                left.remove(one)
                yield number / len(thrown)

        def over(error: FileError | None) -> None:
            if error is not None:
                self.said.emit(str(error))
            elif left:
                self._trash = left
            self._library.look()

        self.jobs.start(f"Putting {_count(thrown)} back", work(), over)

    # -- parts

    @property
    def _written(self) -> list[Run]:
        """Of the selected runs those that have a folder, where what is said of them is kept."""
        return [run for run in self.runs if run.folder is not None]

    def _annotate(self, run: Run, **remarks: str | int | None) -> None:
        if run.folder is None:
            return
        try:
            about = annotate(run.folder, **remarks)
        except FileError as error:
            self.said.emit(str(error))
            about = run.about
        self._library.note(run, about)

    def _export(
        self, runs: Sequence[Run], write: Callable[[Sequence[RunReader], Path], ExportProgress], target: Path
    ) -> None:
        """Runs whose curves were never shown are read meanwhile."""

        def over(error: FileError | None) -> None:
            if error is not None:
                self.said.emit(str(error))
            else:
                self.said.emit("Cancelled: nothing was written" if self.jobs.is_given_up else f"Written to {target}")

        self.jobs.start(f"Saving the points of {_count(runs)}", write([run_reader(run) for run in runs], target), over)


def _count(runs: Sized) -> str:
    return "1 run" if len(runs) == 1 else f"{len(runs)} runs"


def is_resumable(run: Run) -> bool:
    """Whether it lies on disk and can go on: it did not come to its end, or it may be given more epochs."""
    return run.folder is not None and (
        run.state in UNFINISHED or (run.state == "done" and epochs_in_all(run) is not None)
    )


def epochs_in_all(run: Run) -> int | None:
    """Those that a resumed run trains unless somebody says otherwise; None if it was not begun for so many epochs."""
    asked: Any = run.settings.get("epochs")
    if not isinstance(asked, int):
        return None
    return 2 * asked if run.state == "done" else asked


@dataclass(frozen=True, slots=True)
class RunAction:
    """Something that a person can do with the selected runs."""

    id: str
    title: str
    run: Callable[[RunActions], object]
    is_possible: Callable[[RunActions], bool]
    icon: str = ""
    keys: tuple[str, ...] = ()
    help: str = ""
    separated: bool = False
    menu: str = ""
    """Title of the menu in the menu that it stands in."""
    token: str = "text"
    """Colour of the icon."""
    is_on: Callable[[RunActions], bool] | None = None
    """For one of several that exclude each other: whether it is chosen."""


def _color(title: str, color: int | None, icon: str, token: str, help: str) -> RunAction:
    return RunAction(
        f"color-{'automatic' if color is None else color + 1}",
        title,
        partial(RunActions.paint, color=color),
        RunActions.has_any_folder,
        icon,
        help=help,
        separated=color is None,
        menu="Colour",
        token=token,
        is_on=partial(RunActions.has_color, color=color),
    )


COLORS = (
    *(
        _color(name, color, "swatch", f"series-{color + 1}", f"Draw the selected runs in {name.lower()}")
        for color, name in enumerate(theme.SERIES_NAMES)
    ),
    _color("Automatic", None, "reset", "text", "Let each selected run have a colour of its own again"),
)

ENTRIES = (
    RunAction(
        "restore", "Restore graph", RunActions.restore, RunActions.has_one, "history",
        help="Make the graph that this run trained that of the canvas; undo brings the present one back",
    ),
    RunAction(
        "resume", "Resume run", RunActions.resume, RunActions.can_resume, "run",
        help="Go on from the last checkpoint to the same numbers; one that came to its end, for as many epochs again",
    ),
    RunAction(
        "start-from", "Start from these weights", RunActions.start_from, RunActions.can_start_from, "link",
        help="Train the graph on the canvas, beginning with the weights of this run that fit",
    ),
    RunAction(
        "rename", "Rename", RunActions.ask_for_name, RunActions.has_folder, "edit", ("F2",), separated=True,
        help="Give the selected run another name",
    ),
    *COLORS,
    RunAction(
        "folder", "Open folder", RunActions.open_folder, RunActions.has_folder, "folder",
        help="Show the run’s files in the file manager",
    ),
    RunAction(
        "csv", "Save points as CSV…", RunActions.save_csv, RunActions.can_export, "table",
        help="All points of the selected runs, with all their digits",
    ),
    RunAction(
        "tensorboard", "Save TensorBoard event files…", RunActions.save_tensorboard, RunActions.can_export, "external",
        help="The curves of the selected runs for TensorBoard",
    ),
    RunAction(
        "delete", "Move to trash", RunActions.delete, RunActions.can_delete, "trash", ("Del",), separated=True,
        help="Runs that are under way stay",
    ),
    RunAction(
        "put-back", "Put back", RunActions.put_back, RunActions.can_put_back, "undo",
        help="Bring back the runs that were moved to the trash last",
    ),
)  # fmt: skip


__all__ = ["ENTRIES", "RunAction", "RunActions", "epochs_in_all", "is_resumable"]
