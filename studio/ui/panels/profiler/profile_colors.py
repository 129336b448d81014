"""Colors of a profile: nodes have those of their category, phases and kinds of memory those of the theme."""

from __future__ import annotations

from collections.abc import Callable

from PySide6.QtGui import QColor

from studio.training.profiling.profile_data import MEMORY_KINDS, MemoryKind, Phase
from studio.training.profiling.profile_tree import TimeItem
from studio.ui.theme import theme
from studio.ui.theme.theme import mix

_PHASES: dict[Phase, str] = {
    "loader": "data",
    "forward": "layer",
    "backward": "block",
    "optimizer": "optimizer",
    "other": "unknown",
}
"""Category whose color a phase has."""
_NODE, _KERNEL, _PHASE = 0.38, 0.2, 0.5
"""Share of the category's color in the fill. Text on it keeps its contrast."""


def phase_color(phase: Phase) -> QColor:
    return theme.current().category(_PHASES[phase])


def item_color(item: TimeItem, category: Callable[[str], str]) -> QColor:
    """The full color of an item."""
    if item.phase is None:
        return theme.current().color("border-strong")
    return theme.current().category(category(item.path)) if item.path else phase_color(item.phase)


def item_fill(item: TimeItem, category: Callable[[str], str]) -> QColor:
    """The fill of an item, on which the text has enough contrast."""
    if item.phase is None:
        share = _KERNEL
    elif not item.path:
        share = _KERNEL if item.kernel is None and not item.children else _PHASE
    else:
        share = _NODE if item.is_node else _KERNEL
    # Strong colors are darker in the light theme and lighter in the dark one.
    share = share if theme.current().is_dark else 0.85 * share
    return mix(theme.current().color("raised"), item_color(item, category), share)


def memory_color(kind: MemoryKind) -> QColor:
    return theme.current().color(f"series-{MEMORY_KINDS.index(kind) + 1}")


__all__ = ["item_color", "item_fill", "memory_color", "phase_color"]
