"""Commands of the menu View: panels, overlays of the canvas, theme."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from PySide6.QtCore import Qt

from studio.training.statistics.canvas_figures import FIGURES
from studio.ui.canvas.coloring.color_chooser import COMMANDS
from studio.ui.command_registry import Command
from studio.ui.preferences.declarations import THEME
from studio.ui.widgets.choice_palette import Choice, ChoicePalette
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
    "probes": "watch values tensors activations gradients feature maps attention embedding",
    "profiler": "profile time memory slow performance flame graph roofline kernels bottleneck",
    "breakpoints": "debug pause stop conditions nan watch",
    "lesson": "tutorial course learn steps exercise",
    "stepping": "debug node values forward backward",
}
"""Further words that find the command of a panel."""


_NUMBERED = 10
"""Number of panels with a digit as key, from Alt+1 to Alt+0."""
_LETTERS = {
    "probes": "Alt+P",
    "profiler": "Alt+M",
    "breakpoints": "Alt+K",
    "lesson": "Alt+L",
    "stepping": "Alt+T",
}
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
    yield from _color_commands(window)
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


def _color_commands(window: CommandWindow) -> Iterator[Command]:
    """The figures by which the canvas is colored, one at a time."""
    is_open = when(window, lambda _: True)
    yield Command(
        "view.color-by",
        "Color by…",
        partial(_choose_figure, window),
        ("Ctrl+Shift+C",),
        "View/Color by",
        "swatch",
        help="Choose the figure by which nodes and wires are colored",
        enabled=is_open,
        words="heat map overlay legend",
    )
    yield Command(
        "view.color-none",
        "No colors",
        on_project(window, lambda project: window.project_views[project].color_by.show_figure("")),
        (),
        "View/Color by",
        help="Show nodes and wires in the colors of their types",
        enabled=is_open,
        checked=when(window, lambda project: not window.project_views[project].color_by.key),
        separated=True,
        words="remove heat map overlay",
    )
    previous = "graph"
    for key, figure in FIGURES.items():
        yield Command(
            f"view.color-{key}",
            f"Color by {figure.phrase}",
            on_project(window, lambda project, key=key: window.project_views[project].color_by.toggle(key)),
            ("Ctrl+Shift+R",) if key == "regions" else (),
            "View/Color by",
            help=figure.help,
            enabled=is_open,
            checked=when(window, lambda project, key=key: window.project_views[project].color_by.key == key),
            separated=figure.source != previous and figure.source != "regions",
            words=f"heat map overlay {figure.words}",
        )
        previous = figure.source
    yield Command(
        "view.measure-time",
        "Measure time of nodes",
        on_project(window, lambda project: window.project_views[project].color_by.measure()),
        (),
        "View/Color by",
        help="Run forward and backward of each node on a few batches in the background, and color nodes by their time",
        enabled=is_open,
        separated=True,
        words="profile speed slow duration",
    )


def _choose_figure(window: CommandWindow) -> None:
    """List the figures; typing filters them."""
    if window.canvas is None:
        return
    window.commands.refresh()
    palette = ChoicePalette(window.canvas, "Search figures", "Color by", "No matching figures")
    palette.closed.connect(palette.deleteLater)
    commands = {each.id: each for each in window.commands}
    titles = {COMMANDS[0]: "No colors", **{f"view.color-{key}": figure.title for key, figure in FIGURES.items()}}
    palette.open(
        Choice(
            title,
            partial(window.commands.run, command),
            "Shown" if window.commands.action(command).isChecked() else "",
            synonyms=commands[command].words,
        )
        for command, title in titles.items()
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
        field = None if dock.panel is None else dock.panel.focusProxy()
        if field is not None:  # the panel is opened to type into this field
            field.setFocus(Qt.FocusReason.ShortcutFocusReason)
