"""Commands of the menu View: panels, overlays of the canvas, theme."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from studio.ui.canvas.heat_map import FIGURES
from studio.ui.command_registry import Command
from studio.ui.preferences.declarations import THEME
from studio.ui.window import keyboard_focus
from studio.ui.window.command_window import CommandWindow
from studio.ui.window.project_actions import on_project, when

_PANEL_WORDS = {
    "palette": "nodes layers library add",
    "inspector": "properties parameters form",
    "runs": "curves plots loss metrics charts history tensorboard",
    "problems": "errors warnings checks",
    "data": "samples dataset preview images",
    "autograd": "gradients backward graph",
    "compile": "kernels graph breaks compiler",
    "code": "python source pytorch class",
    "log": "messages output console terminal",
    "history": "versions edits steps",
    "lesson": "tutorial course learn steps exercise",
}
"""Further words that find the command of a panel."""


_NUMBERED = 10
"""Number of panels with a digit as key, from Alt+1 to Alt+0."""
_LETTERS = {"lesson": "Alt+L"}
"""Keys of further panels."""


def view_commands(window: CommandWindow) -> Iterator[Command]:
    is_open = when(window, lambda _: True)
    for number, dock in enumerate(window.docks, start=1):
        yield Command(
            f"view.{dock.objectName()}",
            dock.title,
            partial(_toggle_dock, window, dock.objectName()),
            (f"Alt+{number % 10}" if number <= _NUMBERED else _LETTERS[dock.objectName()],),
            "View/Panels",
            dock.objectName(),
            help=f"Show or hide the {dock.title} panel",
            enabled=is_open,
            checked=dock.isVisible,
            words=f"panel {_PANEL_WORDS[dock.objectName()]}",
        )
    for title, step, key in (("next", 1, "Ctrl+F6"), ("previous", -1, "Ctrl+Shift+F6")):
        yield Command(
            f"view.{title}-panel",
            f"Focus the {title} panel",
            partial(_go_to_panel, window, step),
            (key,),
            "View/Panels",
            help=f"Show the {title} panel and move the keyboard focus to it",
            enabled=is_open,
            separated=step == 1,
        )
    yield Command(
        "view.focus",
        "Focus mode",
        window.toggle_focus,
        ("F11",),
        "View",
        "focus",
        help="Show only the canvas",
        enabled=is_open,
        checked=lambda: window.is_focused,
        words="fullscreen zen hide panels",
    )
    yield Command(
        "view.regions",
        "Compiled regions",
        window.toggle_regions,
        ("Ctrl+Shift+R",),
        "View",
        "regions",
        help="Highlight compiled regions and the Python between them on the canvas",
        enabled=is_open,
        checked=when(window, lambda project: window.project_views[project].overlay.is_on),
        words="fusion kernels graph breaks",
    )
    for key, figure in FIGURES.items():
        yield Command(
            f"view.color-{key}",
            f"Color by {figure.title.lower()}",
            on_project(window, lambda project, key=key: window.project_views[project].heat_map.toggle(key)),
            (),
            "View/Color by",
            help=f"Color nodes by their share, and show it on them: {figure.help.lower()}",
            enabled=is_open,
            checked=when(window, lambda project, key=key: window.project_views[project].heat_map.key == key),
        )
    yield Command(
        "view.measure-time",
        "Measure time of nodes",
        on_project(window, lambda project: window.project_views[project].heat_map.measure()),
        (),
        "View/Color by",
        help="Run forward and backward of each node on a few batches in the background, and color nodes by their time",
        enabled=is_open,
        words="profile speed slow duration",
    )
    yield Command(
        "view.layout",
        "Restore default layout",
        window.restore_layout,
        (),
        "View",
        "layout",
        enabled=is_open,
        words="reset panels docks windows",
    )
    preferences = window.settings.preferences
    for mode, title in THEME.choices.items():
        yield Command(
            f"view.theme-{mode}",
            f"{title} theme",
            partial(preferences.set, THEME, mode),
            (),
            "View/Theme",
            {"light": "sun", "dark": "moon"}.get(mode, ""),
            words="mode colors night day",
            checked=lambda mode=mode: preferences.get(THEME) == mode,
        )


def _go_to_panel(window: CommandWindow, step: int) -> None:
    """The card of a lesson, the canvas, then the docks."""
    shown = [dock.panel for dock in window.docks if dock.isVisible() and not dock.visibleRegion().isEmpty()]
    keyboard_focus.cycle_focus(
        [panel for panel in (window.step_card, window.canvas, *shown) if panel is not None], step
    )


def _toggle_dock(window: CommandWindow, name: str) -> None:
    """Close a visible panel; otherwise bring it to the front."""
    dock = window.docks[name]
    if dock.isVisible() and not dock.visibleRegion().isEmpty():
        dock.hide()
    else:
        dock.reveal()
