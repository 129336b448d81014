"""The menu bar, built from the registered commands."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial
from pathlib import Path

from PySide6.QtWidgets import QMenu, QMenuBar

from studio.ui.command_registry import CommandRegistry
from studio.ui.widgets.labels import tip

ORDER = ("File", "Edit", "Add", "View", "Run", "Help")


def build_menus(bar: QMenuBar, commands: CommandRegistry) -> dict[str, QMenu]:
    """Build the menus that the commands name; "View/Panels" is a submenu. Returns the menus by path."""
    bar.clear()
    menus: dict[str, QMenu] = {}
    titles = {command.menu.partition("/")[0] for command in commands if command.menu}
    for title in sorted(titles, key=lambda each: ORDER.index(each) if each in ORDER else len(ORDER)):
        menus[title] = bar.addMenu(f"&{title}")
        menus[title].aboutToShow.connect(commands.refresh)
        menus[title].aboutToShow.connect(partial(enable_inner, menus[title]))
    for command in commands:
        if not command.menu:
            continue
        menu = _menu(menus, command.menu)
        if command.separated:
            menu.addSeparator()
        menu.addAction(commands.action(command.id))
        if command.id == "file.open":
            menus["File/Recent"] = menu.addMenu("Open recent")
    return menus


def enable_inner(menu: QMenu) -> None:
    """Disable submenus that contain no enabled action."""
    for action in menu.actions():
        inner = action.menu()
        if isinstance(inner, QMenu):
            enable_inner(inner)
            action.setEnabled(any(each.isEnabled() for each in inner.actions() if not each.isSeparator()))


def fill_recent(
    menu: QMenu, paths: Iterable[Path], run: Callable[[Path], object], forget: Callable[[], object]
) -> None:
    """List recent files."""
    menu.clear()
    for path in paths:
        action = menu.addAction(path.name)
        action.setToolTip(tip(str(path)))
        action.triggered.connect(partial(_call, run, path))
    if menu.isEmpty():
        menu.addAction("No recent files").setEnabled(False)
        return
    menu.addSeparator()
    menu.addAction("Clear recent files").triggered.connect(partial(_call, forget))


def _menu(menus: dict[str, QMenu], path: str) -> QMenu:
    if path not in menus:
        parent, _, title = path.rpartition("/")
        menus[path] = _menu(menus, parent).addMenu(title)
    return menus[path]


def _call(run: Callable[..., object], *arguments: object) -> None:
    """Drop the "checked" argument that Qt passes."""
    run(*(argument for argument in arguments if not isinstance(argument, bool)))
