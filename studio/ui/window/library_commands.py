"""Commands for the libraries of blocks."""

from __future__ import annotations

from collections.abc import Callable

from PySide6.QtWidgets import QWidget

from studio.ui import dialogs
from studio.ui.command_registry import Command
from studio.ui.project.block_library_actions import BlockLibraryActions


def library_commands(current: Callable[[], BlockLibraryActions | None], parent: QWidget) -> tuple[Command, ...]:
    """Commands for the block that `current()` returns; dialogs open over `parent`."""

    def act(run: Callable[[BlockLibraryActions], object]) -> Callable[[], None]:
        def command() -> None:
            if (actions := current()) is not None:
                run(actions)

        return command

    def has_block() -> bool:
        actions = current()
        return actions is not None and bool(actions.block)

    def can_update() -> bool:
        actions = current()
        return actions is not None and actions.can_update(actions.block)

    def import_files(actions: BlockLibraryActions) -> None:
        for path in dialogs.paths_to_open(parent, None):
            actions.import_file(path)

    menu = "Edit/Block"
    return (
        Command(
            "library.save",
            "Save block to library",
            act(lambda actions: actions.save(actions.block)),
            menu=menu,
            icon="save",
            enabled=has_block,
            separated=True,
            reason="Select an instance of a block",
            words="export reuse",
        ),
        Command(
            "library.update",
            "Update block from library",
            act(lambda actions: actions.update(actions.block)),
            menu=menu,
            icon="reset",
            enabled=can_update,
            reason="Select a block that differs from its library",
            words="upgrade newer",
        ),
        Command(
            "library.import",
            "Import block to library…",
            act(import_files),
            menu=menu,
            enabled=lambda: current() is not None,
            words="load",
        ),
    )
