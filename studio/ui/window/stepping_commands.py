"""Commands that step through a training step, node by node."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from studio.ui.command_registry import Command
from studio.ui.project.project import Project
from studio.ui.project.step_recordings import StepRecordings
from studio.ui.window.command_window import CommandWindow
from studio.ui.window.project_actions import on_project, when

_MENU = "Run/Step through"
_NO_STEP = "No step is recorded. Record one with Ctrl+F10"


def stepping_commands(window: CommandWindow) -> Iterator[Command]:
    def shown(act: Callable[[Project, StepRecordings], object]) -> Callable[[], None]:
        """Show the panel, and act on the recordings of the project."""

        def run(project: Project) -> None:
            window.docks["stepping"].reveal()
            act(project, window.project_views[project].step_recordings)

        return on_project(window, run)

    is_ready = when(window, lambda project: window.project_views[project].step_recordings.state == "ready")
    yield Command(
        "step.record",
        "Record the next step",
        shown(lambda _, recordings: recordings.record()),
        ("Ctrl+F10",),
        _MENU,
        "step",
        help="Record forward, backward and update of the next batch, to step through them node by node",
        enabled=when(window, lambda _: True),
        words="debug node values step through inspect batch",
    )
    yield Command(
        "step.next",
        "Next step",
        shown(lambda _, recordings: recordings.show_step(recordings.index + 1)),
        ("F8",),
        _MENU,
        "chevron-right",
        help="Show the next node of the recorded step (F8)",
        enabled=is_ready,
        reason=_NO_STEP,
        separated=True,
        words="debug forward node",
    )
    yield Command(
        "step.previous",
        "Previous step",
        shown(lambda _, recordings: recordings.show_step(recordings.index - 1)),
        ("Shift+F8",),
        _MENU,
        "chevron-left",
        help="Show the node before, in the order of the recorded step (Shift+F8)",
        enabled=is_ready,
        reason=_NO_STEP,
        words="debug back node",
    )
    yield Command(
        "step.node",
        "Go to the step of the selected node",
        shown(_go_to_selected),
        ("Ctrl+F8",),
        _MENU,
        "search",
        help="Show the next step of the selected node: forward, then backward (Ctrl+F8)",
        enabled=is_ready,
        reason=_NO_STEP,
        words="debug run to node cursor",
    )
    yield Command(
        "step.nonfinite",
        "Next NaN or infinity",
        shown(lambda _, recordings: recordings.show_nonfinite()),
        ("Ctrl+Shift+F8",),
        _MENU,
        "error",
        help="Show the next step whose results contain NaN or infinity (Ctrl+Shift+F8)",
        enabled=when(window, lambda project: _has_nonfinite(window.project_views[project].step_recordings)),
        reason="All recorded values are finite",
        words="debug inf overflow first",
    )


def _go_to_selected(project: Project, recordings: StepRecordings) -> None:
    scope = project.scope
    for name in scope.selection:
        if recordings.show_node(scope.prefix + name):
            return


def _has_nonfinite(recordings: StepRecordings) -> bool:
    recording = recordings.recording
    return recordings.state == "ready" and recording is not None and recording.first_nonfinite() is not None


__all__ = ["stepping_commands"]
