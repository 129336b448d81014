"""Makes commands that act on the current canvas."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from PySide6.QtWidgets import QWidget

from studio.ui.canvas.canvas_view import CanvasView
from studio.ui.command_registry import NEEDS_PROJECT, Command

_MISSING_NODES = (NEEDS_PROJECT, "Select a node", "Select two nodes", "Select three nodes")
"""Why a command is disabled, by the number of nodes that it needs."""


class CanvasCommandFactory:
    def __init__(self, current: Callable[[], CanvasView | None], scope: QWidget) -> None:
        self._current = current
        self._scope = scope

    def __call__(
        self,
        id: str,
        title: str,
        run: Callable[[CanvasView], object],
        *keys: str,
        menu: str = "",
        icon: str = "",
        needs: int = 0,
        separated: bool = False,
        when: Callable[[CanvasView], bool] = lambda _: True,
        token: str = "text",
        reason: str = "",
        words: str = "",
    ) -> Command:
        """A command that is enabled when at least `needs` nodes are selected and `when` holds.

        Args:
            reason: why it is disabled; by default, that too few nodes are selected
            words: further words that find it
        """
        return Command(
            f"canvas.{id}",
            title,
            partial(self._run, run),
            keys,
            menu=menu,
            icon=icon,
            token=token,
            enabled=partial(self._is_enabled, needs, when),
            reason=reason or _MISSING_NODES[needs],
            words=words,
            separated=separated,
            scope=self._scope,
        )

    def _run(self, run: Callable[[CanvasView], object]) -> None:
        if (view := self._current()) is not None:
            run(view)

    def _is_enabled(self, count: int, when: Callable[[CanvasView], bool]) -> bool:
        view = self._current()
        return view is not None and len(view.store.selection) >= count and when(view)
