"""Connect, disconnect and select wires with the keyboard: lists of ports and wires at the selected nodes."""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial

from PySide6.QtCore import QObject, QPoint, QPointF

from studio.document.model import Endpoint, Wire
from studio.ui.canvas.canvas_context import CanvasContext
from studio.ui.canvas.geometry import Point, Side
from studio.ui.canvas.hit_testing import NO_HIT, Hit
from studio.ui.canvas.overlays.canvas_tooltips import shape_at
from studio.ui.canvas.wires.pending_wire_drawing import show_pending_wire
from studio.ui.canvas.wires.wire_candidates import (
    OpenPort,
    WireCandidate,
    open_ports,
    wire_candidates,
    wires_between,
)
from studio.ui.canvas.wires.wire_edits import connect, disconnect
from studio.ui.widgets.choice_palette import Choice, ChoicePalette

_GAP = 12
"""Distance between the selected node and the list, in pixels."""
_ROWS = 6
"""Rows of the list, few enough to leave the canvas visible."""


class WireChooser(QObject):
    """Shows the current choice of the list on the canvas while the list is open."""

    def __init__(self, context: CanvasContext) -> None:
        super().__init__(context.view)
        self._context, self._store, self._scene = context, context.store, context.scene
        self.palette = ChoicePalette(context.view, "Search ports and wires", "", "No matching ports or wires", _ROWS)
        self._candidates: dict[Choice, OpenPort | WireCandidate | Wire] = {}
        self.palette.current_changed.connect(self._preview)
        self.palette.closed.connect(self._clear_preview)
        self._store.document_changed.connect(self.palette.hide)

    # -- connecting

    def connect_selected(self) -> None:
        """List the ports of the selected node, or the wires between two selected nodes."""
        names = [name for name in self._store.document.nodes if name in self._store.selection]
        if len(names) == 1:
            self._choose_port(names[0])
        elif len(names) == 2:
            self._choose_between(*names)

    def _choose_port(self, name: str) -> None:
        """Let the user choose a port of a node, unless it has only one."""
        ports = open_ports(self._store.document, self._store.catalogue, name)
        if len(ports) == 1:
            self._choose_target(ports[0])
        elif ports:
            choices = [self._port_choice(port) for port in ports]
            self._open(choices, [name], f"Port of {name} to connect")
        else:
            self._context.show_message(f"{name} has no free ports.")

    def _choose_target(self, port: OpenPort) -> None:
        """List the ports that a wire from `port` can lead to."""
        found = wire_candidates(self._store.document, self._store.catalogue, port, self._position)
        if not found:
            self._context.show_message(f"There is no node to connect {port.end} to.")
            return
        self._open(map(self._target_choice, found), [port.end.node], f"Connect {port.end} to")

    def _choose_between(self, first: str, second: str) -> None:
        """List the wires between two nodes, then the ports of each of them."""
        found = wires_between(self._store.document, self._store.catalogue, first, second, self._position)
        others = [
            Choice(f"Connect {name} to another node…", partial(self._choose_port, name), icon="link")
            for name in (first, second)
        ]
        wires = [self._candidate_choice(each, f"{each.wire.source} → {each.wire.target}") for each in found]
        fitting = [choice for choice in wires if not choice.refusal]
        refused = [choice for choice in wires if choice.refusal]
        self._open((*fitting, *others, *refused), [first, second], f"Connect {first} and {second}")

    def _port_choice(self, port: OpenPort) -> Choice:
        title = _joined(port.end.port, self._about(port.end, port.side))
        choice = Choice(title, partial(self._choose_target, port), port.side, icon=self._icon(port.end.node))
        self._candidates[choice] = port
        return choice

    def _target_choice(self, candidate: WireCandidate) -> Choice:
        end, side = candidate.end, candidate.pending.loose_side
        return self._candidate_choice(candidate, _joined(end.node, end.port, self._about(end, side)))

    def _candidate_choice(self, candidate: WireCandidate, title: str) -> Choice:
        hint = f"replaces {candidate.replaced.source}" if candidate.replaced else ""
        run = partial(connect, self._store, candidate.pending, candidate.wire)
        choice = Choice(title, run, hint, icon=self._icon(candidate.end.node), refusal=candidate.refusal)
        self._candidates[choice] = candidate
        return choice

    def _about(self, end: Endpoint, side: Side) -> str:
        """The shape at a port, or the summary of its node."""
        shape = shape_at(self._store.report, self._scene, Hit(end.node, side, end.port))
        return shape or self._scene.nodes[end.node].content.summary

    def _icon(self, name: str) -> str:
        return self._scene.nodes[name].content.icon

    # -- existing wires

    @property
    def wires(self) -> tuple[Wire, ...]:
        """The wires at the selected nodes, or all wires if no node is selected."""
        selection = self._store.selection
        return tuple(
            wire
            for wire in self._store.document.wires
            if not selection or wire.source.node in selection or wire.target.node in selection
        )

    def disconnect_selected(self) -> None:
        """List the wires at the selected nodes, to remove one or all of them."""
        wires = self.wires
        choices = [self._wire_choice(wire, partial(disconnect, self._store, [wire])) for wire in wires]
        if len(wires) > 1:
            choices.append(Choice(f"All {len(wires)} wires", partial(disconnect, self._store, wires), icon="cut"))
        self._open(choices, self._store.selection, "Wire to disconnect")

    def select_wire(self) -> None:
        """List the wires at the selected nodes, to select one of them."""
        choices = [self._wire_choice(wire, partial(self._select, wire)) for wire in self.wires]
        self._open(choices, self._store.selection, "Wire to select")

    def _wire_choice(self, wire: Wire, run: partial[None]) -> Choice:
        choice = Choice(f"{wire.source} → {wire.target}", run, self._scene.wires[wire].label, icon="bridge")
        self._candidates[choice] = wire
        return choice

    def _select(self, wire: Wire) -> None:
        self._store.select(())
        self._scene.selection.select({wire})

    # -- the list

    def _open(self, choices: Iterable[Choice], names: Iterable[str], placeholder: str) -> None:
        """Open the list below the named nodes."""
        choices = list(choices)
        boxes = self._scene.boxes(names).values()
        self._context.camera.finish()
        corner = QPointF(min((box.left for box in boxes), default=0), max((box.bottom for box in boxes), default=0))
        at = self._context.camera.to_view(corner).toPoint() + QPoint(0, _GAP) if boxes else None
        self.palette.open(choices, at, placeholder)

    def _position(self, end: Endpoint, side: Side) -> Point:
        return self._scene.nodes[end.node].port(side, end.port)

    def _preview(self, choice: Choice | None) -> None:
        """Show the port or wire of a choice on the canvas."""
        candidate = self._candidates.get(choice) if choice is not None else None
        if isinstance(candidate, Wire):
            self._scene.marks.hover(Hit(wire=candidate))
        elif isinstance(candidate, OpenPort):
            self._scene.marks.hover(Hit(candidate.end.node, candidate.side, candidate.end.port))
        elif isinstance(candidate, WireCandidate):
            self._preview_candidate(candidate)
        else:
            self._clear_preview(keeps_candidates=True)

    def _preview_candidate(self, candidate: WireCandidate) -> None:
        pending, end = candidate.pending, candidate.end
        self._scene.marks.set_pending_wire(pending)
        self._scene.marks.hover(Hit(end.node, pending.loose_side, end.port))
        show_pending_wire(
            self._scene, pending, self._position(end, pending.loose_side), refused=bool(candidate.refusal)
        )

    def _clear_preview(self, *, keeps_candidates: bool = False) -> None:
        self._scene.marks.set_pending_wire(None)
        self._scene.marks.hover(NO_HIT)
        self._scene.gesture_overlay.clear()
        if not keeps_candidates:
            self._candidates.clear()


def _joined(*parts: str) -> str:
    return " · ".join(part for part in parts if part)
