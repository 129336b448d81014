"""The commands of the canvas with their default keys, for menus, the command palette and key bindings."""

from __future__ import annotations

from collections.abc import Callable

from PySide6.QtWidgets import QWidget

from studio.ui.canvas.arranging_commands import arranging_commands
from studio.ui.canvas.canvas_command_factory import CanvasCommandFactory
from studio.ui.canvas.canvas_style import FRAME_TOKENS
from studio.ui.canvas.canvas_view import CanvasView
from studio.ui.canvas.frames.frame_actions import COLORS
from studio.ui.canvas.wires.wire_graph import Direction
from studio.ui.command_registry import Command

_DIRECTIONS: tuple[Direction, ...] = ("left", "right", "up", "down")


def canvas_commands(current: Callable[[], CanvasView | None], scope: QWidget) -> tuple[Command, ...]:
    """Commands for the canvas that `current()` returns. Their keys work while `scope` has the focus."""
    make = CanvasCommandFactory(current, scope)
    return (
        *_editing(make),
        *_framing(make),
        *_wiring(make),
        *_probing(make),
        *_breaking(make),
        *_selecting(make),
        *_viewing(make),
        *arranging_commands(make),
        *_blocks(make),
        *_navigating(make),
    )


def _editing(make: CanvasCommandFactory) -> tuple[Command, ...]:
    return (
        make(
            "add",
            "Add node…",
            lambda v: v.open_search(),
            "Tab",
            "Shift+A",
            menu="Edit",
            icon="add",
            separated=True,
            words="insert layer create new",
        ),
        make(
            "cut",
            "Cut",
            lambda v: v.canvas_actions.cut(),
            "Ctrl+X",
            menu="Edit",
            icon="cut",
            when=_has_copyable,
            separated=True,
            reason="Select nodes or frames",
        ),
        make(
            "copy",
            "Copy",
            lambda v: v.canvas_actions.copy(),
            "Ctrl+C",
            menu="Edit",
            icon="copy",
            when=_has_copyable,
            reason="Select nodes or frames",
        ),
        make("paste", "Paste", lambda v: v.paste(), "Ctrl+V", menu="Edit", icon="paste"),
        make("paste-inputs", "Paste with inputs", lambda v: v.paste(with_inputs=True), "Ctrl+Shift+V", menu="Edit"),
        make(
            "duplicate",
            "Duplicate",
            lambda v: v.canvas_actions.duplicate(),
            "Ctrl+D",
            menu="Edit",
            icon="duplicate",
            when=_has_copyable,
            reason="Select nodes or frames",
            words="clone",
        ),
        make(
            "delete",
            "Delete",
            lambda v: v.delete(),
            "Del",
            "Backspace",
            menu="Edit",
            icon="trash",
            words="remove erase",
        ),
        make(
            "delete-bridge",
            "Delete and reconnect",
            lambda v: v.canvas_actions.delete_and_reconnect(),
            "Ctrl+Del",
            menu="Edit",
            needs=1,
            words="remove",
        ),
        make(
            "parameters",
            "Edit parameters",
            lambda v: v.parameters_requested.emit(),
            "Alt+Return",
            menu="Edit",
            icon="inspector",
            separated=True,
            words="properties values inspector",
        ),
        make(
            "rename",
            "Rename…",
            lambda v: v.rename(),
            "F2",
            menu="Edit",
            icon="edit",
            when=_has_renamable,
            reason="Select one node or frame",
            words="name title label",
        ),
        make(
            "mute",
            "Mute",
            lambda v: v.canvas_actions.mute(),
            "M",
            menu="Edit",
            icon="mute",
            needs=1,
            words="disable bypass skip",
        ),
        make(
            "freeze",
            "Freeze",
            lambda v: v.canvas_actions.freeze(),
            "Shift+M",
            menu="Edit",
            icon="frozen",
            when=lambda v: bool(v.canvas_actions.freezable),
            reason="Select nodes with weights",
            words="lock fixed weights transfer",
        ),
        make(
            "recompute",
            "Recompute in the backward pass",
            lambda v: v.canvas_actions.recompute(),
            menu="Edit",
            icon="recomputed",
            needs=1,
            words="checkpointing memory",
        ),
        make(
            "share-weights",
            "Share weights",
            lambda v: v.canvas_actions.share_weights(),
            menu="Edit",
            icon="link",
            needs=1,
            reason="Select nodes",
            words="tie siamese",
        ),
        make("collapse", "Collapse", lambda v: v.canvas_actions.collapse(), menu="Edit", needs=1),
    )


def _has_copyable(view: CanvasView) -> bool:
    return bool(view.store.selection or view.canvas_scene.frames.selected)


def _has_renamable(view: CanvasView) -> bool:
    return len(view.store.selection) == 1 or (not view.store.selection and len(view.canvas_scene.frames.selected) == 1)


def _wiring(make: CanvasCommandFactory) -> tuple[Command, ...]:
    menu = "Edit/Wire"
    return (
        make(
            "connect",
            "Connect…",
            lambda v: v.overlays.wire_chooser.connect_selected(),
            "C",
            menu=menu,
            icon="link",
            when=lambda v: len(v.store.selection) in (1, 2),
            reason="Select one or two nodes",
            words="wire link",
        ),
        make(
            "disconnect",
            "Disconnect…",
            lambda v: v.overlays.wire_chooser.disconnect_selected(),
            "Shift+C",
            menu=menu,
            when=lambda v: bool(v.overlays.wire_chooser.wires),
            reason="There are no wires to choose from",
            words="unlink remove wire",
        ),
        make(
            "select-wire",
            "Select wire…",
            lambda v: v.overlays.wire_chooser.select_wire(),
            "W",
            menu=menu,
            when=lambda v: bool(v.overlays.wire_chooser.wires),
            reason="There are no wires to choose from",
            words="pick link",
        ),
        make(
            "wire-values",
            "Show values on wire",
            lambda v: v.values_requested.emit(v.canvas_scene.selection.wires[0]),
            "Shift+W",
            menu=menu,
            when=lambda v: len(v.canvas_scene.selection.wires) == 1,
            reason="Select one wire",
            words="statistics mean histogram tensor nan",
        ),
        make(
            "reroute",
            "Add reroute point",
            lambda v: v.add_reroute_point(),
            menu=menu,
            icon="bridge",
            separated=True,
            when=lambda v: len(v.canvas_scene.selection.wires) == 1,
            reason="Select one wire",
            words="bend knee",
        ),
        make(
            "straighten",
            "Remove reroute points",
            lambda v: v.route_actions.straighten(),
            menu=menu,
            when=lambda v: bool(v.route_actions.rerouted),
            reason="Select wires with reroute points",
        ),
    )


def _probing(make: CanvasCommandFactory) -> tuple[Command, ...]:
    menu = "Edit/Probe"
    return (
        make(
            "probe",
            "Probe the selection",
            lambda v: v.probes and v.probes.probe_selection(),
            "Shift+P",
            menu=menu,
            icon="eye",
            when=_has_probed,
            reason="Select a wire or a node",
            words="watch values activations tensor histogram feature maps attention",
        ),
        make(
            "probe-gradient",
            "Probe the gradient of the selection",
            lambda v: v.probes and v.probes.probe_selection(is_gradient=True),
            menu=menu,
            when=_has_probed,
            reason="Select a wire or a node",
            words="watch backward",
        ),
        make(
            "check-probes",
            "Check probes by recomputation",
            lambda v: v.probes and v.probes.verify(),
            menu=menu,
            icon="check",
            separated=True,
            when=lambda v: v.probes is not None and v.probes.has_probes,
            reason="The project has no probes",
            words="verify replay difference",
        ),
        make(
            "close-probes",
            "Close all probes",
            lambda v: v.probes and v.probes.close_all(),
            menu=menu,
            when=lambda v: v.probes is not None and v.probes.has_probes,
            reason="The project has no probes",
            words="remove delete",
        ),
    )


def _breaking(make: CanvasCommandFactory) -> tuple[Command, ...]:
    menu = "Edit/Breakpoint"
    return (
        make(
            "breakpoint",
            "Breakpoint on NaN",
            lambda v: v.toggle_breakpoint(),
            "F9",
            menu=menu,
            icon="breakpoint",
            token="error",
            when=_has_probed,
            reason="Select a wire or a node",
            words="debug pause stop infinity toggle",
        ),
        make(
            "add-breakpoint",
            "Add breakpoint…",
            lambda v: v.breakpoint_requested.emit(),
            "Ctrl+F9",
            menu=menu,
            icon="add",
            words="debug condition pause stop gradient norm dead loss",
        ),
    )


def _has_probed(view: CanvasView) -> bool:
    return bool(view.store.selection or view.canvas_scene.selection.wires)


def _framing(make: CanvasCommandFactory) -> tuple[Command, ...]:
    menu = "Edit/Frame"
    return (
        make(
            "frame",
            "Frame selection",
            lambda v: v.frame_selection(),
            "Ctrl+J",
            menu=menu,
            icon="frame",
            words="box color annotation",
        ),
        make(
            "comment",
            "Add comment",
            lambda v: v.add_comment(),
            "Ctrl+Shift+J",
            menu=menu,
            icon="comment",
            words="note text annotation",
        ),
        make(
            "frame-text",
            "Edit text…",
            lambda v: v.edit_frame("text"),
            menu=menu,
            separated=True,
            when=lambda v: len(v.canvas_scene.frames.selected) == 1,
            reason="Select one frame",
        ),
        *(
            make(
                f"frame-{color}",
                f"{color.capitalize()} frame",
                lambda v, color=color: v.frame_actions.set_color(color),
                menu=menu,
                icon="swatch",
                token=FRAME_TOKENS[color],
                separated=color == COLORS[0],
                reason="Select a frame",
                when=lambda v: bool(v.canvas_scene.frames.selected),
            )
            for color in COLORS
        ),
    )


def _selecting(make: CanvasCommandFactory) -> tuple[Command, ...]:
    return (
        make(
            "select-all", "Select all", lambda v: v.canvas_actions.select_all(), "Ctrl+A", menu="Edit", separated=True
        ),
        make(
            "select-sharing",
            "Select nodes with the same weights",
            lambda v: v.canvas_actions.select_sharing(),
            menu="Edit",
            needs=1,
        ),
        make("select-linked", "Select connected", lambda v: v.canvas_actions.select_linked(), menu="Edit", needs=1),
    )


def _viewing(make: CanvasCommandFactory) -> tuple[Command, ...]:
    return (
        make(
            "fit-selection",
            "Fit selection",
            lambda v: v.canvas_actions.fit_selection(),
            "F",
            menu="View",
            icon="fit",
            separated=True,
            words="zoom",
        ),
        make(
            "fit-all",
            "Fit all",
            lambda v: v.canvas_actions.fit_all(),
            "Home",
            menu="View",
            words="zoom everything center",
        ),
        make(
            "zoom-in",
            "Zoom in",
            lambda v: v.canvas_actions.zoom(1),
            "Ctrl++",
            "Ctrl+=",
            menu="View",
            icon="zoom-in",
            words="magnify larger",
        ),
        make(
            "zoom-out",
            "Zoom out",
            lambda v: v.canvas_actions.zoom(-1),
            "Ctrl+-",
            menu="View",
            icon="zoom-out",
            words="smaller",
        ),
        make(
            "zoom-100",
            "Zoom to 100%",
            lambda v: v.canvas_actions.zoom_to(1.0),
            "Ctrl+0",
            menu="View",
            words="actual size",
        ),
        make(
            "minimap", "Show or hide minimap", lambda v: v.toggle_minimap(), menu="View", words="overview map navigator"
        ),
    )


def _blocks(make: CanvasCommandFactory) -> tuple[Command, ...]:
    menu = "Edit/Block"
    return (
        make(
            "group",
            "Group into block",
            lambda v: v.group(),
            "Ctrl+G",
            menu=menu,
            icon="block",
            needs=1,
            words="subgraph module function",
        ),
        make(
            "unpack",
            "Unpack block",
            lambda v: v.block_actions.unpack(),
            "Ctrl+Shift+G",
            menu=menu,
            when=lambda v: v.block_actions.has_instance(),
            reason="Select an instance of a block",
            words="ungroup expand",
        ),
        make(
            "make-unique",
            "Make block unique",
            lambda v: v.block_actions.make_unique(),
            menu=menu,
            when=lambda v: v.block_actions.has_instance(),
            reason="Select an instance of a block",
        ),
        make(
            "enter",
            "Edit block",
            lambda v: v.block_actions.enter(),
            "Ctrl+Down",
            menu=menu,
            separated=True,
            when=lambda v: v.block_actions.can_enter(),
            reason="Select one instance of a block",
            words="open inside",
        ),
        make(
            "leave",
            "Leave block",
            lambda v: v.block_actions.leave(),
            "Ctrl+Up",
            menu=menu,
            when=lambda v: bool(v.store.location),
            reason="The canvas shows no block",
            words="out parent",
        ),
        *(
            make(
                f"{side}-copy",
                f"Show the {side} copy of a repeated block",
                lambda v, step=step: v.block_actions.step_copy(step),
                key,
                menu=menu,
                when=lambda v: v.store.copies > 1,
                reason="The canvas shows no repeated block",
            )
            for side, step, key in (("next", 1, "Ctrl+PgDown"), ("previous", -1, "Ctrl+PgUp"))
        ),
        make(
            "remove-unused-blocks",
            "Remove unused blocks",
            lambda v: v.block_actions.remove_unused(),
            menu=menu,
            separated=True,
            when=lambda v: v.block_actions.has_unused(),
            reason="All blocks are used",
        ),
        make(
            "path",
            "Focus the path of the block",
            lambda v: v.overlays.breadcrumbs.focus(),
            menu=menu,
            when=lambda v: bool(v.store.location),
            reason="The canvas shows no block",
        ),
    )


def _navigating(make: CanvasCommandFactory) -> tuple[Command, ...]:
    """Arrow keys select the next node; with Shift they move the selected nodes."""
    moves = (
        make(
            f"go-{direction}",
            f"Go to the node {_direction_text(direction)}",
            lambda v, to=direction: v.canvas_actions.select_in_direction(to),
            direction.capitalize(),
        )
        for direction in _DIRECTIONS
    )
    nudges = (
        make(
            f"nudge-{direction}",
            f"Move {direction}",
            lambda v, to=direction: v.canvas_actions.nudge(to),
            f"Shift+{direction.capitalize()}",
            when=_has_copyable,
            reason="Select nodes or frames",
        )
        for direction in _DIRECTIONS
    )
    return (*moves, *nudges)


def _direction_text(direction: Direction) -> str:
    return {"left": "on the left", "right": "on the right", "up": "above", "down": "below"}[direction]
