"""The window's commands: those of each menu, of Edit and of Help. `canvas_commands` defines those of the canvas."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from importlib import metadata

from studio.ui import dialogs
from studio.ui.command_registry import Command
from studio.ui.panels.inspector.code_window import selected_code, show_code_window
from studio.ui.window.command_window import CommandWindow
from studio.ui.window.context_help import show_context_help
from studio.ui.window.file_commands import file_commands
from studio.ui.window.moment_commands import moment_commands
from studio.ui.window.project_actions import on_canvas, on_project, when
from studio.ui.window.stepping_commands import stepping_commands
from studio.ui.window.training_commands import training_commands
from studio.ui.window.view_commands import view_commands


def window_commands(window: CommandWindow) -> tuple[Command, ...]:
    return (
        *file_commands(window),
        *_edit(window),
        *view_commands(window),
        *training_commands(window),
        *moment_commands(window),
        *stepping_commands(window),
        *_help(window),
    )


def _edit(window: CommandWindow) -> Iterator[Command]:
    yield Command(
        "edit.undo",
        "Undo",
        on_project(window, lambda project: project.store.undo()),
        ("Ctrl+Z",),
        "Edit",
        "undo",
        enabled=when(window, lambda project: project.store.history.can_undo),
        reason="There is nothing to undo",
        words="revert back",
    )
    yield Command(
        "edit.redo",
        "Redo",
        on_project(window, lambda project: project.store.redo()),
        ("Ctrl+Shift+Z", "Ctrl+Y"),
        "Edit",
        "redo",
        enabled=when(window, lambda project: project.store.history.can_redo),
        reason="There is nothing to redo",
        words="repeat again",
    )
    is_open = when(window, lambda _: True)
    yield Command(
        "edit.find",
        "Find node…",
        on_canvas(window, lambda canvas: canvas.overlays.find_bar.open()),
        ("Ctrl+F",),
        "Edit",
        "search",
        help="Find nodes by name, type, parameter or problem, also inside blocks",
        enabled=is_open,
        separated=True,
        words="search",
    )
    for title, step, key in (("next", 1, "F3"), ("previous", -1, "Shift+F3")):
        yield Command(
            f"edit.find-{title}",
            f"Find {title}",
            on_canvas(window, lambda canvas, step=step: canvas.find_next(step)),
            (key,),
            "Edit",
            enabled=is_open,
        )
    yield Command(
        "edit.code-window",
        "Edit code in larger window",
        on_project(window, lambda project: show_code_window(project.scope, window)),
        ("Alt+Shift+Return",),
        "Edit",
        "external",
        help="Edit the code of the selected Python node in a separate window, which follows the selection",
        enabled=when(window, lambda project: selected_code(project.scope) is not None),
        reason="Select a Python node",
    )


def _help(window: CommandWindow) -> Iterator[Command]:
    yield Command("help.commands", "Command palette", window.open_palette, ("Ctrl+Shift+P",), "Help", "search")
    yield Command(
        "help.context",
        "Help on selection",
        partial(show_context_help, window),
        ("F1",),
        "Help",
        "help",
        help="Show help for the selected node, problem, template or panel (F1)",
        words="documentation manual explain",
    )
    yield Command(
        "help.first-lesson",
        "First lesson",
        window.start_first_lesson,
        (),
        "Help",
        "lesson",
        help="Build and train a first network, step by step, in a separate project",
        words="tour tutorial guide introduction getting started first steps beginner onboarding walkthrough",
    )
    yield Command(
        "help.lessons",
        "Lessons…",
        window.show_lessons,
        (),
        "Help",
        "book",
        help="Choose a lesson on the start page",
        words="learn course exercise teach tutorial study",
    )
    yield Command(
        "help.step-card",
        "Point at the step",
        window.show_step_card,
        (),
        "Help",
        help="Show the card that points at the controls of the lesson's step",
        enabled=lambda: window.has_lesson,
        reason="Open a lesson",
        words="tour card hint where",
    )
    yield Command(
        "help.restart-lesson",
        "Start the lesson again",
        window.restart_lesson,
        (),
        "Help",
        "reset",
        help="Restore the start project of the lesson, and forget answers and completed steps",
        enabled=lambda: window.has_lesson,
        reason="Open a lesson",
        words="reset repeat",
    )
    yield Command(
        "help.shortcuts",
        "Keyboard shortcuts…",
        window.open_shortcuts,
        (),
        "Help",
        "settings",
        help="Look up and change the keys of all commands",
        words="keys hotkeys bindings keymap",
    )
    yield Command("help.about", "About Gradwire", partial(_about, window), (), "Help", "info", words="version license")


def _about(window: CommandWindow) -> None:
    dialogs.about(window, _version())


def _version() -> str:
    try:
        return metadata.version("gradwire")
    except metadata.PackageNotFoundError:
        return "from source"
