"""The window's commands: files, undo, training, panels, help. `canvas_commands` defines those of the canvas."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from importlib import metadata

from studio.document import edits
from studio.ui import dialogs
from studio.ui.canvas.canvas_view import CanvasView
from studio.ui.canvas.heat_map import FIGURES
from studio.ui.command_registry import Command
from studio.ui.panels.inspector.code_window import selected_code, show_code_window
from studio.ui.preferences.declarations import THEME
from studio.ui.project.project import Project
from studio.ui.window import keyboard_focus
from studio.ui.window.command_window import CommandWindow
from studio.ui.window.context_help import show_context_help
from studio.ui.window.trust_dialog import untrusted_in

_DEVICES = {
    "auto": ("Choose the device automatically", ""),
    "cpu": ("Use the CPU", "processor"),
    "cuda": ("Use the GPU", "cuda nvidia graphics card accelerator"),
}
"""Title of the command of each device, and further words that find it."""
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
}


def window_commands(window: CommandWindow) -> tuple[Command, ...]:
    return (*_file(window), *_edit(window), *_view(window), *_run(window), *_help(window))


def _action(window: CommandWindow, act: Callable[[Project], object]) -> Callable[[], None]:
    """Wrap an action on the current project; do nothing if no project is open."""

    def run() -> None:
        if window.project is not None:
            act(window.project)

    return run


def _on_canvas(window: CommandWindow, act: Callable[[CanvasView], object]) -> Callable[[], None]:
    """Wrap an action on the shown canvas; do nothing if no project is open."""

    def run() -> None:
        if window.canvas is not None:
            act(window.canvas)

    return run


def _compare(window: CommandWindow, project: Project) -> None:
    """Ask for another project and show the differences from it."""
    other = window.files.ask_for_comparison(project)
    if other is not None:
        window.project_views[project].compare_with(*other)


def _when(window: CommandWindow, holds: Callable[[Project], bool]) -> Callable[[], bool]:
    return lambda: window.project is not None and holds(window.project)


def _file(window: CommandWindow) -> Iterator[Command]:
    files = window.files
    is_open = _when(window, lambda _: True)
    yield Command("file.new", "New", window.new_project, ("Ctrl+N",), "File", "new", words="create blank empty project")
    yield Command(
        "file.welcome",
        "Templates…",
        window.show_welcome,
        ("Ctrl+Shift+N",),
        "File",
        "template",
        words="examples samples gallery start page",
    )
    yield Command("file.open", "Open…", files.ask_and_open, ("Ctrl+O",), "File", "open", words="load project")
    yield Command(
        "file.import-data",
        "Import data…",
        window.import_data,
        ("Ctrl+Shift+I",),
        "File",
        "data",
        help="Add a table, arrays, images or a text to the project, as nodes that read it",
        words="load dataset csv table images own",
    )
    yield Command(
        "file.import-folder",
        "Import folder…",
        window.import_folder,
        menu="File",
        help="Add a folder with one folder of images per class, or with IDX, CIFAR or tar files, as nodes that read it",
    )
    yield Command(
        "file.import-module",
        "Import module…",
        window.import_module,
        menu="File",
        icon="code",
        help="Add the last module class of a Python file, of the engine or PyTorch, as a block, without executing it",
        words="pytorch python class model",
    )
    yield Command(
        "file.trust",
        "Trust Python code…",
        window.review_code,
        menu="File",
        help="Review the Python code of the project, which runs only once you trust it",
        enabled=_when(window, lambda project: bool(untrusted_in(project))),
        reason="The project has no untrusted code",
        words="security unsafe",
    )
    yield Command(
        "file.save",
        "Save",
        _action(window, files.save),
        ("Ctrl+S",),
        "File",
        "save",
        enabled=is_open,
        separated=True,
        words="write store",
    )
    yield Command(
        "file.save-as",
        "Save as…",
        _action(window, files.save_as),
        ("Ctrl+Shift+S",),
        "File",
        enabled=is_open,
        words="copy rename",
    )
    yield Command(
        "file.compare-saved",
        "Compare with saved",
        _action(window, lambda project: window.project_views[project].compare_with_saved()),
        (),
        "File",
        help="Mark on the canvas what differs from the project file",
        enabled=is_open,
        separated=True,
        words="diff changes",
    )
    yield Command(
        "file.compare",
        "Compare with…",
        _action(window, partial(_compare, window)),
        (),
        "File",
        help="Mark on the canvas what differs from another project file",
        enabled=is_open,
        words="diff changes",
    )
    is_comparing = _when(window, lambda project: window.project_views[project].comparison.is_active)
    for key, title, by in (("F7", "Next difference", 1), ("Shift+F7", "Previous difference", -1)):
        yield Command(
            f"file.{title.split()[0].lower()}-difference",
            title,
            _action(window, lambda project, by=by: window.project_views[project].comparison.step(by)),
            (key,),
            "File",
            enabled=is_comparing,
            reason="No comparison is shown",
        )
    yield Command(
        "file.export-picture",
        "Export picture…",
        _action(window, files.export_picture),
        (),
        "File",
        "picture",
        help="Save a picture of the shown graph as SVG, PNG or PDF",
        enabled=_when(window, lambda project: bool(project.scope.document.nodes or project.scope.document.frames)),
        separated=True,
        reason="The graph is empty",
        words="save image screenshot svg png pdf",
    )
    yield Command(
        "file.export-selection",
        "Export picture of selection…",
        _action(window, lambda project: files.export_picture(project, selected=True)),
        (),
        "File",
        help="Save a picture of the selected nodes as SVG, PNG or PDF",
        enabled=_when(window, lambda project: bool(project.scope.selection)),
        reason="Select nodes",
        words="save image screenshot svg png pdf",
    )
    yield Command(
        "file.export-code",
        "Export Python code…",
        _action(window, files.export_code),
        (),
        "File",
        "code",
        help="Save the code of the project as a Python file, which trains without the window",
        enabled=_when(window, lambda project: bool(project.store.document.nodes) and not project.store.report.errors),
        reason="The graph is empty or has errors",
        words="save script py pytorch",
    )
    yield Command(
        "file.close",
        "Close project",
        _action(window, files.close),
        ("Ctrl+W",),
        "File",
        enabled=is_open,
        separated=True,
        words="tab",
    )
    yield Command(
        "file.settings",
        "Settings…",
        window.open_settings,
        ("Ctrl+,",),
        "File",
        "settings",
        words="preferences options configuration",
    )
    yield Command("file.quit", "Quit", window.close, ("Ctrl+Q",), "File", words="exit")


def _edit(window: CommandWindow) -> Iterator[Command]:
    yield Command(
        "edit.undo",
        "Undo",
        _action(window, lambda project: project.store.undo()),
        ("Ctrl+Z",),
        "Edit",
        "undo",
        enabled=_when(window, lambda project: project.store.history.can_undo),
        reason="There is nothing to undo",
        words="revert back",
    )
    yield Command(
        "edit.redo",
        "Redo",
        _action(window, lambda project: project.store.redo()),
        ("Ctrl+Shift+Z", "Ctrl+Y"),
        "Edit",
        "redo",
        enabled=_when(window, lambda project: project.store.history.can_redo),
        reason="There is nothing to redo",
        words="repeat again",
    )
    is_open = _when(window, lambda _: True)
    yield Command(
        "edit.find",
        "Find node…",
        _on_canvas(window, lambda canvas: canvas.overlays.find_bar.open()),
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
            _on_canvas(window, lambda canvas, step=step: canvas.find_next(step)),
            (key,),
            "Edit",
            enabled=is_open,
        )
    yield Command(
        "edit.code-window",
        "Edit code in larger window",
        _action(window, lambda project: show_code_window(project.scope, window)),
        ("Alt+Shift+Return",),
        "Edit",
        "external",
        help="Edit the code of the selected Python node in a separate window, which follows the selection",
        enabled=_when(window, lambda project: selected_code(project.scope) is not None),
        reason="Select a Python node",
    )


def _view(window: CommandWindow) -> Iterator[Command]:
    is_open = _when(window, lambda _: True)
    for number, dock in enumerate(window.docks, start=1):
        yield Command(
            f"view.{dock.objectName()}",
            dock.title,
            partial(_toggle_dock, window, dock.objectName()),
            (f"Alt+{number % 10}",),
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
        checked=_when(window, lambda project: window.project_views[project].overlay.is_on),
        words="fusion kernels graph breaks",
    )
    for key, figure in FIGURES.items():
        yield Command(
            f"view.color-{key}",
            f"Color by {figure.title.lower()}",
            _action(window, lambda project, key=key: window.project_views[project].heat_map.toggle(key)),
            (),
            "View/Color by",
            help=f"Color nodes by their share, and show it on them: {figure.help.lower()}",
            enabled=is_open,
            checked=_when(window, lambda project, key=key: window.project_views[project].heat_map.key == key),
        )
    yield Command(
        "view.measure-time",
        "Measure time of nodes",
        _action(window, lambda project: window.project_views[project].heat_map.measure()),
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


def _run(window: CommandWindow) -> Iterator[Command]:
    def is_in(*states: str) -> Callable[[], bool]:
        return _when(window, lambda project: project.runner.state in states)

    def is_not(*states: str) -> Callable[[], bool]:
        return _when(window, lambda project: project.runner.state not in states)

    yield Command(
        "run.start",
        "Run",
        window.start_run,
        ("Ctrl+Return", "F5"),
        "Run",
        "run",
        token="accent",
        help="Start training, or continue after a pause (Ctrl+Enter)",
        enabled=is_not("running"),
        reason="A run is in progress",
        words="train fit start play execute",
    )
    yield Command(
        "run.pause",
        "Pause",
        _action(window, lambda project: project.runner.pause()),
        ("F6",),
        "Run",
        "pause",
        help="Pause after the current batch (F6)",
        enabled=is_in("running"),
        reason="No run is in progress",
        words="hold suspend",
    )
    yield Command(
        "run.step",
        "Run one batch",
        _action(window, lambda project: project.runner.step()),
        ("F10",),
        "Run",
        "step",
        help="Train one batch, then pause (F10)",
        enabled=is_not("running"),
        reason="A run is in progress",
        words="single debug",
    )
    yield Command(
        "run.stop",
        "Stop",
        _action(window, lambda project: project.runner.stop()),
        ("Ctrl+.",),
        "Run",
        "stop",
        help="Stop training; curves and weights are kept (Ctrl+.)",
        enabled=is_in("running", "paused"),
        reason="No run is active",
        words="cancel abort end halt",
    )
    for device, (title, words) in _DEVICES.items():
        yield Command(
            f"run.device-{device}",
            title,
            _action(window, partial(set_device, device=device)),
            (),
            "Run/Device",
            "chip",
            help="Device that trains this project, saved with it",
            enabled=_when(window, lambda _: True),
            checked=_when(window, lambda project, device=device: project.store.document.training.device == device),
            words=f"device {words}",
        )
    yield Command(
        "run.settings",
        "Training settings",
        window.show_training_settings,
        (),
        "Run",
        "settings",
        help="Show epochs, seed, device and the other training settings of the project in the inspector",
        enabled=_when(window, lambda _: True),
        words="epochs seed precision clipping accumulation early stopping patience checkpoints hyperparameters",
    )
    yield Command(
        "run.look",
        "Show the autograd graph of one step",
        window.show_autograd_graph,
        (),
        "Run",
        "autograd",
        enabled=_when(window, lambda _: True),
        separated=True,
        words="gradients backward",
    )
    yield Command(
        "run.explain",
        "Explain the compiled training step",
        window.explain_step,
        ("Ctrl+Shift+E",),
        "Run",
        "compile",
        help="Run a few steps on a copy of the model and show kernels, graph breaks and timings",
        enabled=_when(window, lambda _: True),
        words="compiler fusion profile performance speed",
    )
    yield Command(
        "run.find-rate",
        "Find a learning rate…",
        window.find_rate,
        (),
        "Run",
        "scheduler",
        help="Train a few batches with increasing learning rates and plot the loss",
        enabled=_when(window, lambda _: True),
        separated=True,
        words="lr finder range test",
    )
    yield Command(
        "run.overfit",
        "Overfit one batch…",
        window.overfit,
        (),
        "Run",
        "check",
        help="Train on a single batch to check that the network can learn",
        enabled=_when(window, lambda _: True),
        words="sanity debug",
    )
    yield Command(
        "run.compile",
        "Compile training steps",
        _action(window, _switch_compiling),
        (),
        "Run",
        help="Compile training steps into fused kernels. Results are identical. Saved with the project.",
        enabled=_when(window, lambda _: True),
        checked=_when(window, lambda project: project.store.document.training.compile),
        separated=True,
        words="speed fast kernels jit",
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
        "help.tour",
        "Tour",
        window.start_tour,
        (),
        "Help",
        "book",
        help="Build and train a first network, step by step, in a new project",
        words="tutorial guide introduction getting started first steps learn beginner onboarding walkthrough",
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


def _switch_compiling(project: Project) -> None:
    on = not project.store.document.training.compile
    title = "Compile training steps" if on else "Do not compile training steps"
    project.store.edit(title, lambda document: edits.set_training(document, compile=on))


def set_device(project: Project, device: str) -> None:
    project.store.edit(f"Set device to {device}", lambda document: edits.set_training(document, device=device))


def _go_to_panel(window: CommandWindow, step: int) -> None:
    """The card of the tour, the canvas, then the docks."""
    shown = [dock.panel for dock in window.docks if dock.isVisible() and not dock.visibleRegion().isEmpty()]
    keyboard_focus.cycle_focus(
        [panel for panel in (window.tour_card, window.canvas, *shown) if panel is not None], step
    )


def _toggle_dock(window: CommandWindow, name: str) -> None:
    """Close a visible panel; otherwise bring it to the front."""
    dock = window.docks[name]
    if dock.isVisible() and not dock.visibleRegion().isEmpty():
        dock.hide()
    else:
        dock.reveal()


def _about(window: CommandWindow) -> None:
    dialogs.about(window, _version())


def _version() -> str:
    try:
        return metadata.version("gradwire")
    except metadata.PackageNotFoundError:
        return "from source"
