"""Commands that lay out, align and distribute nodes."""

from __future__ import annotations

from studio.ui.canvas.canvas_command_factory import CanvasCommandFactory
from studio.ui.command_registry import Command


def arranging_commands(make: CanvasCommandFactory) -> tuple[Command, ...]:
    menu = "Edit/Arrange"
    return (
        make(
            "layout",
            "Lay out",
            lambda v: v.canvas_actions.lay_out(),
            "L",
            menu=menu,
            icon="layout",
            words="arrange tidy organize auto",
        ),
        make(
            "align-left",
            "Align left edges",
            lambda v: v.canvas_actions.align("left"),
            menu=menu,
            icon="align-left",
            needs=2,
            separated=True,
        ),
        make(
            "align-center",
            "Align horizontal centers",
            lambda v: v.canvas_actions.align("center"),
            menu=menu,
            icon="align-center",
            needs=2,
        ),
        make(
            "align-right",
            "Align right edges",
            lambda v: v.canvas_actions.align("right"),
            menu=menu,
            icon="align-right",
            needs=2,
        ),
        make(
            "align-top",
            "Align top edges",
            lambda v: v.canvas_actions.align("top"),
            menu=menu,
            icon="align-top",
            needs=2,
        ),
        make(
            "align-middle",
            "Align vertical centers",
            lambda v: v.canvas_actions.align("middle"),
            menu=menu,
            icon="align-middle",
            needs=2,
        ),
        make(
            "align-bottom",
            "Align bottom edges",
            lambda v: v.canvas_actions.align("bottom"),
            menu=menu,
            icon="align-bottom",
            needs=2,
        ),
        make(
            "distribute-x",
            "Distribute horizontally",
            lambda v: v.canvas_actions.distribute("x"),
            menu=menu,
            icon="distribute-x",
            needs=3,
            separated=True,
        ),
        make(
            "distribute-y",
            "Distribute vertically",
            lambda v: v.canvas_actions.distribute("y"),
            menu=menu,
            icon="distribute-y",
            needs=3,
        ),
    )
