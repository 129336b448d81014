"""Context menus of the canvas. Their entries are commands, so they show the same shortcuts everywhere."""

from __future__ import annotations

from collections.abc import Callable

from PySide6.QtGui import QAction
from PySide6.QtWidgets import QMenu, QWidget

from studio.ui.canvas.frames.frame_actions import COLORS
from studio.ui.canvas.hit_testing import Hit

NODE = (
    ("canvas.enter",),
    ("canvas.rename", "canvas.mute", "canvas.freeze", "canvas.recompute", "canvas.collapse"),
    ("canvas.group", "canvas.unpack", "canvas.make-unique", "library.save", "library.update"),
    ("canvas.connect", "canvas.disconnect"),
    ("canvas.breakpoint", "canvas.add-breakpoint"),
    ("canvas.cut", "canvas.copy", "canvas.duplicate"),
    ("canvas.select-linked", "canvas.select-sharing", "canvas.layout", "canvas.frame"),
    ("canvas.delete", "canvas.delete-bridge"),
)
SEVERAL = (
    ("canvas.mute", "canvas.freeze", "canvas.recompute", "canvas.share-weights", "canvas.collapse"),
    ("canvas.group", "canvas.unpack"),
    ("canvas.connect", "canvas.disconnect"),
    ("canvas.cut", "canvas.copy", "canvas.duplicate"),
    ("canvas.layout", "canvas.frame"),
    ("canvas.align-left", "canvas.align-center", "canvas.align-right"),
    ("canvas.align-top", "canvas.align-middle", "canvas.align-bottom"),
    ("canvas.distribute-x", "canvas.distribute-y"),
    ("canvas.delete", "canvas.delete-bridge"),
)
WIRE = (("canvas.reroute", "canvas.straighten"), ("canvas.breakpoint",), ("canvas.delete",))
FRAME = (
    ("canvas.rename", "canvas.frame-text"),
    tuple(f"canvas.frame-{color}" for color in COLORS),
    ("canvas.cut", "canvas.copy", "canvas.duplicate"),
    ("canvas.delete",),
)
EMPTY_AREA = (
    ("canvas.add", "canvas.comment", "canvas.paste", "canvas.paste-inputs"),
    ("canvas.select-all", "canvas.layout"),
    ("canvas.leave",),
    ("canvas.fit-all", "canvas.zoom-100", "canvas.minimap"),
)

OF_BLOCKS = frozenset(
    {"canvas.enter", "canvas.unpack", "canvas.make-unique", "canvas.leave", "library.save", "library.update"}
)
"""Commands that a menu shows only where they are enabled."""


def command_groups(hit: Hit, selected: int) -> tuple[tuple[str, ...], ...]:
    """Command ids of the context menu for a hit, in groups that separators divide."""
    if hit.node is not None:
        return SEVERAL if selected > 1 else NODE
    if hit.wire is not None:
        return WIRE
    return FRAME if hit.frame is not None else EMPTY_AREA


def context_menu(hit: Hit, selected: int, action: Callable[[str], QAction | None], parent: QWidget) -> QMenu:
    """The context menu for a hit. Commands that `action` does not find are left out."""
    menu = QMenu(parent)
    for group in command_groups(hit, selected):
        found = [(id, action(id)) for id in group]
        actions = [each for id, each in found if each is not None and (each.isEnabled() or id not in OF_BLOCKS)]
        if actions and not menu.isEmpty():
            menu.addSeparator()
        menu.addActions(actions)
    return menu
