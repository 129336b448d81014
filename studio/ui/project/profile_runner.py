"""Profiles the training steps of a project in the background: of its run, or of a copy without a run."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator
from pathlib import Path
from typing import Literal

from PySide6.QtCore import QObject, Signal

from studio.document.blocks.block_expansion import flat_document
from studio.document.model import Document
from studio.lowering.program import LoweringError
from studio.lowering.report import Report
from studio.training.profiling.machine_limits import MachineLimits, machine_limits
from studio.training.profiling.node_paths import without_copies
from studio.training.profiling.profile_data import Profile, ProfileStage
from studio.training.profiling.profile_events import Profiled, ProfileFailed, ProfileProgressed
from studio.training.profiling.training_profile import ProfileError, profile_project
from studio.training.staged_explanation import is_same_step
from studio.ui.background_task import BackgroundTask
from studio.ui.project.project_store import ProjectStore
from studio.ui.project.training_runner import TrainingRunner

State = Literal["empty", "working", "ready", "failed"]


class ProfileRunner(QObject):
    """Keeps the last profile of a project until there is a new one."""

    changed = Signal()
    """State, stage, profile or limits changed."""

    def __init__(self, store: ProjectStore, runner: TrainingRunner, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._store, self._runner = store, runner
        self._task: BackgroundTask | None = None
        self._follows_run = False
        self._requested: Document | None = None
        self._categories: dict[str, str] = {}
        self._pending: Profile | None = None
        """A profile whose limits are not known yet."""
        self.state: State = "empty"
        self.stage: ProfileStage | None = None
        self.profile: Profile | None = None
        self.limits: MachineLimits | None = None
        self.document: Document | None = None
        """The document that was profiled."""
        self.problem = ""
        """Why there is no profile."""
        runner.events.connect(self._take_events)

    @property
    def is_stale(self) -> bool:
        """Whether the graph has changed since it was profiled."""
        return self.document is not None and not is_same_step(self.document, self._store.document)

    def category(self, path: str) -> str:
        """The category of a node; that of blocks for an instance."""
        return self._categories.get(path, "block")

    def start(self, steps: int, *, eager: bool = False) -> None:
        """Profile steps of the run in progress, or else of a copy of the project. Replaces a profile in progress."""
        self._stop()
        errors = self._store.check_report.errors
        session = self._runner.session
        if self._runner.state == "running" and session is not None:
            self._requested, self._follows_run = session.document, True
            self._enter_working(ProfileStage("measuring", 0, steps))
            session.profiler.request(steps)
        elif errors:
            several = f"The graph has {len(errors)} errors. Fix them before profiling."
            self._fail(errors[0].message if len(errors) == 1 else several)
        else:
            self._requested = self._store.document
            self._enter_working(ProfileStage("preparing"))
            self._begin(_profile_items(self._store.request_report(), steps, eager=eager, name=self._store.name))

    def cancel(self) -> None:
        """Stop without a new profile; the previous one is kept."""
        if self.state == "working":
            self._stop()
            self._set_state("ready" if self.profile is not None else "empty")

    def measure_limits(self) -> None:
        """Measure the limits of the machine again."""
        if self.state == "ready" and self.profile is not None:
            self._begin(_limits(self.profile.device, again=True))

    def write(self, path: Path, text: Callable[[Profile, MachineLimits], str]) -> str:
        """Write the profile to a file. Returns why that failed; empty if it did not."""
        if self.profile is None or self.limits is None:
            return "There is no profile to export."
        try:
            path.write_text(text(self.profile, self.limits), encoding="utf-8")
        except OSError as error:
            return f"Could not write {path}: {error.strerror or error}. Choose another folder."
        return ""

    def close(self) -> None:
        """Stop the thread. The runner must not be used afterwards."""
        self._follows_run = False
        if self._task is not None:
            self._task.close()

    def _begin(self, items: Iterator[object]) -> None:
        self._task = BackgroundTask(items, self)
        self._task.item_ready.connect(self._on_item)
        self._task.start()

    def _stop(self) -> None:
        if self._follows_run and self._runner.session is not None:
            self._runner.session.profiler.cancel()
        self._follows_run = False
        if self._task is not None:
            self._task.cancel()
            self._task.item_ready.disconnect(self._on_item)
            self._task = None

    def _take_events(self, events: list[object]) -> None:
        if not self._follows_run:
            return
        for event in events:
            match event:
                case ProfileProgressed():
                    self._on_item(event.stage)
                case Profiled():
                    self._follows_run = False
                    self._on_item(event.profile)
                    self._begin(_limits(event.profile.device))
                case ProfileFailed():
                    self._follows_run = False
                    self._fail(event.message)
                case _:
                    pass

    def _on_item(self, item: object) -> None:
        match item:
            case None:
                return
            case ProfileStage():
                self.stage = item
                self.changed.emit()
            case Profile():
                self._pending = item
            case MachineLimits():
                self._show(item)
            case _:
                self._fail(str(item))

    def _show(self, limits: MachineLimits) -> None:
        self.limits = limits
        if self.state == "working":
            self.profile, self.document = self._pending, self._requested
            if self.document is not None:
                nodes = flat_document(self.document).nodes
                known = {name: self._store.catalogue.get(node.type) for name, node in nodes.items()}
                self._categories = {
                    without_copies(name): kind.category for name, kind in known.items() if kind is not None
                }
        self._set_state("ready")

    def _enter_working(self, stage: ProfileStage) -> None:
        self.stage, self.problem = stage, ""
        self.state = "working"
        self.changed.emit()

    def _fail(self, problem: str) -> None:
        self.problem = problem
        self._set_state("failed")

    def _set_state(self, state: State) -> None:
        self.state, self.stage = state, None
        self.changed.emit()


def _profile_items(
    get_report: Callable[[], Report], steps: int, *, eager: bool, name: str
) -> Generator[object, None, None]:
    """Stages, the profile and the limits, or a problem. Runs in the background thread."""
    try:
        for item in profile_project(get_report(), steps=steps, eager=eager, name=name):
            yield item
            if isinstance(item, Profile):
                yield from _limits(item.device)
    except (LoweringError, ProfileError) as error:
        yield str(error)
    except MemoryError:
        yield "There is not enough memory for a step. Reduce the batch size."


def _limits(device: str, *, again: bool = False) -> Generator[object, None, None]:
    yield machine_limits(device, again=again)


__all__ = ["ProfileRunner", "State"]
