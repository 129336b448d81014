"""Actions on the selected runs as commands for menus, the command palette and shortcuts."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from PySide6.QtWidgets import QWidget

from studio.ui.command_registry import Command
from studio.ui.panels.runs.run_actions import RUN_ACTIONS, RunAction, RunActions


def runs_commands(current: Callable[[], RunActions | None], scope: QWidget) -> tuple[Command, ...]:
    """Commands that act on `current()`; their shortcuts work while `scope` has the focus."""
    return tuple(
        Command(
            f"runs.{entry.id}",
            entry.title,
            partial(_run, current, entry),
            entry.keys,
            "/".join(filter(None, ("Run/Selected runs", entry.menu))),
            entry.icon,
            entry.token,
            help=entry.help,
            enabled=partial(_is_possible, current, entry),
            reason=entry.reason,
            words=entry.words,
            checked=partial(_is_on, current, entry.is_on) if entry.is_on is not None else None,
            separated=entry.separated,
            scope=scope,
        )
        for entry in RUN_ACTIONS
    )


def _run(current: Callable[[], RunActions | None], entry: RunAction) -> None:
    actions = current()
    if actions is not None:
        entry.run(actions)


def _is_possible(current: Callable[[], RunActions | None], entry: RunAction) -> bool:
    actions = current()
    return actions is not None and entry.is_possible(actions)


def _is_on(current: Callable[[], RunActions | None], is_on: Callable[[RunActions], bool]) -> bool:
    actions = current()
    return actions is not None and is_on(actions)


__all__ = ["runs_commands"]
