"""Commands of the menu File."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from studio.ui.command_registry import Command
from studio.ui.project.project import Project
from studio.ui.window.artifact_dialog import ArtifactDialog
from studio.ui.window.command_window import CommandWindow
from studio.ui.window.export_dialog import ExportDialog
from studio.ui.window.import_actions import ImportActions
from studio.ui.window.project_actions import on_project, when
from studio.ui.window.trust_dialog import TrustDialog, untrusted_in


def file_commands(window: CommandWindow) -> Iterator[Command]:
    files, imports = window.files, ImportActions(window)
    is_open = when(window, lambda _: True)
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
    yield Command("file.open", "Open…", window.ask_and_open, ("Ctrl+O",), "File", "open", words="load project")
    yield Command(
        "file.import-data",
        "Import data…",
        imports.ask_for_data,
        ("Ctrl+Shift+I",),
        "File",
        "data",
        help="Add a table, arrays, images or a text to the project, as nodes that read it",
        words="load dataset csv table images own",
    )
    yield Command(
        "file.import-folder",
        "Import folder…",
        imports.ask_for_folder,
        menu="File",
        help="Add a folder with one folder of images per class, or with IDX, CIFAR or tar files, as nodes that read it",
    )
    yield Command(
        "file.import-module",
        "Import module…",
        imports.ask_for_module,
        menu="File",
        icon="code",
        help="Add the last module class of a Python file, of the engine or PyTorch, as a block, without executing it",
        words="pytorch python class model",
    )
    yield Command(
        "file.trust",
        "Trust Python code…",
        on_project(window, lambda project: TrustDialog(project, window).show()),
        menu="File",
        help="Review the Python code of the project, which runs only once you trust it",
        enabled=when(window, lambda project: bool(untrusted_in(project))),
        reason="The project has no untrusted code",
        words="security unsafe",
    )
    yield Command(
        "file.save",
        "Save",
        on_project(window, files.save),
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
        on_project(window, files.save_as),
        ("Ctrl+Shift+S",),
        "File",
        enabled=is_open,
        words="copy rename",
    )
    yield Command(
        "file.compare-saved",
        "Compare with saved",
        on_project(window, lambda project: window.project_views[project].compare_with_saved()),
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
        on_project(window, partial(_compare, window)),
        (),
        "File",
        help="Mark on the canvas what differs from another project file",
        enabled=is_open,
        words="diff changes",
    )
    is_comparing = when(window, lambda project: window.project_views[project].comparison.is_active)
    for key, title, by in (("F7", "Next difference", 1), ("Shift+F7", "Previous difference", -1)):
        yield Command(
            f"file.{title.split()[0].lower()}-difference",
            title,
            on_project(window, lambda project, by=by: window.project_views[project].comparison.step(by)),
            (key,),
            "File",
            enabled=is_comparing,
            reason="No comparison is shown",
        )
    yield Command(
        "file.export-code",
        "Export as Python…",
        on_project(window, lambda project: ExportDialog(project, window).show()),
        ("Ctrl+E",),
        "File/Export",
        "code",
        help="Write the project as a Python program for PyTorch or for the engine, with its data and weights",
        enabled=when(window, lambda project: bool(project.store.document.nodes) and not project.store.report.errors),
        reason="The graph is empty or has errors",
        words="save code script py pytorch package",
    )
    yield Command(
        "file.export-artifact",
        "Export artifact…",
        on_project(window, lambda project: ArtifactDialog(project, window).show()),
        (),
        "File/Export",
        help="Write the network with its weights as one file that runs without the project and its code",
        enabled=when(window, lambda project: bool(project.store.document.nodes) and not project.store.report.errors),
        reason="The graph is empty or has errors",
        words="save gwx network weights model deploy",
    )
    yield Command(
        "file.export-picture",
        "Export picture…",
        on_project(window, files.export_picture),
        (),
        "File/Export",
        "picture",
        help="Save a picture of the shown graph as SVG, PNG or PDF",
        enabled=when(window, lambda project: bool(project.scope.document.nodes or project.scope.document.frames)),
        reason="The graph is empty",
        words="save image screenshot svg png pdf",
    )
    yield Command(
        "file.export-selection",
        "Export picture of selection…",
        on_project(window, lambda project: files.export_picture(project, selected=True)),
        (),
        "File/Export",
        help="Save a picture of the selected nodes as SVG, PNG or PDF",
        enabled=when(window, lambda project: bool(project.scope.selection)),
        reason="Select nodes",
        words="save image screenshot svg png pdf",
    )
    yield Command(
        "file.close",
        "Close project",
        on_project(window, files.close),
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


def _compare(window: CommandWindow, project: Project) -> None:
    """Ask for another project and show the differences from it."""
    other = window.files.ask_for_comparison(project)
    if other is not None:
        window.project_views[project].compare_with(*other)
