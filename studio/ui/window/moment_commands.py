"""Commands of the menu Run › Shown step: which step of a run canvas and probes show."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from studio.ui import dialogs
from studio.ui.command_registry import Command
from studio.ui.project.project import Project
from studio.ui.project.shown_moment import ShownMoment
from studio.ui.window.command_window import CommandWindow
from studio.ui.window.project_actions import on_project, when

_MENU = "Run/Shown step"
_NOTHING = "Start a run that measures statistics"
_WORDS = "time scrub statistics scrubbing"


def moment_commands(window: CommandWindow) -> Iterator[Command]:
    def on_moment(act: Callable[[ShownMoment], object]) -> Callable[[], None]:
        return on_project(window, lambda project: act(project.moment))

    can_move = when(window, lambda project: project.moment.statistics is not None or not project.moment.is_live)
    moves: tuple[tuple[str, str, str, Callable[[ShownMoment], object]], ...] = (
        ("previous", "Previous measured step", "Alt+,", lambda moment: moment.move(-1)),
        ("next", "Next measured step", "Alt+.", lambda moment: moment.move(1)),
        ("first", "First measured step", "", lambda moment: moment.move_to_end(first=True)),
        ("last", "Last measured step", "", lambda moment: moment.move_to_end(first=False)),
    )
    for key, title, shortcut, move in moves:
        yield Command(
            f"moment.{key}",
            title,
            on_moment(move),
            (shortcut,) if shortcut else (),
            _MENU,
            help="Show another step of the run on the canvas and in probes",
            enabled=can_move,
            reason=_NOTHING,
            words=_WORDS,
        )
    yield Command(
        "moment.show",
        "Show step…",
        on_project(window, lambda project: _ask_for_step(window, project)),
        (),
        _MENU,
        help="Show a step of the run on the canvas and in probes",
        enabled=can_move,
        reason=_NOTHING,
        words=_WORDS,
    )
    yield Command(
        "moment.follow",
        "Follow the run",
        on_moment(lambda moment: moment.follow()),
        ("Alt+/",),
        _MENU,
        help="Show the last measured step again, also while the run trains",
        enabled=when(window, lambda project: not project.moment.is_live),
        reason="The run is being followed",
        words=f"live {_WORDS}",
    )
    yield Command(
        "moment.compare",
        "Compare with the shown step",
        on_moment(lambda moment: moment.compare(moment.moment)),
        (),
        _MENU,
        help="Color the canvas by the change since this step, when another step is shown",
        enabled=when(window, lambda project: project.moment.statistics is not None),
        reason=_NOTHING,
        separated=True,
        words=f"base difference ratio {_WORDS}",
    )
    yield Command(
        "moment.stop-comparing",
        "Stop comparing",
        on_moment(lambda moment: moment.compare(None)),
        (),
        _MENU,
        enabled=when(window, lambda project: project.moment.base is not None),
        reason="No step is compared with another one",
        words=_WORDS,
    )


def _ask_for_step(window: CommandWindow, project: Project) -> None:
    moment = project.moment
    run, steps = moment.run, moment.measured_steps()
    if run is None or run.folder is None or not len(steps):
        return
    step = dialogs.step_to_show(window, run.name, moment.step, max(int(steps[-1]), run.step))
    if step is not None:
        moment.show(run.folder, step)


__all__ = ["moment_commands"]
