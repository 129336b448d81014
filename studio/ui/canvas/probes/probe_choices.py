"""What can be probed: wires, ports and parameters of the shown graph, as new probes."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial

from PySide6.QtGui import QAction
from PySide6.QtWidgets import QMenu

from studio.document.model import Endpoint, Wire
from studio.nodes.types import PortType
from studio.training.probing.parameter_names import parameter_names
from studio.training.probing.probe_list import Probe
from studio.ui.canvas.hit_testing import Hit
from studio.ui.canvas.nodes.node_item import NodeItem
from studio.ui.project.probes.probe_store import ProbeStore
from studio.ui.project.scope_store import ScopeStore

TENSORS = frozenset({PortType.TENSOR, PortType.LOSS})
NO_TENSOR = "Select a wire or a node with a tensor. The Data panel shows samples."


class ProbeChoices:
    """Makes probes for the graph that the canvas shows."""

    def __init__(self, scope: ScopeStore, probes: ProbeStore, nodes: Mapping[str, NodeItem]) -> None:
        self._scope, self._probes, self._nodes = scope, probes, nodes

    def of_selection(self, names: Iterable[str], wires: Sequence[Wire], *, is_gradient: bool = False) -> list[Probe]:
        """Probes of the selected wires, else of the first tensor output of each selected node."""
        ends = [wire.source for wire in wires if self._has_tensor(wire.source)]
        if not wires:
            outputs = (next(iter(self.outputs(name)), None) for name in names)
            ends = [end for end in outputs if end is not None]
        return [self.of_output(end, is_gradient=is_gradient) for end in dict.fromkeys(ends)]

    def outputs(self, name: str) -> list[Endpoint]:
        """The outputs of a node that carry tensors."""
        item = self._nodes.get(name)
        ports = () if item is None else item.content.outputs
        return [Endpoint(name, port.name) for port in ports if port.type in TENSORS]

    def of_output(self, end: Endpoint, *, is_gradient: bool = False) -> Probe:
        return Probe(self._scope.prefix + end.node, end.port, is_gradient=is_gradient)

    def parameters(self, name: str) -> list[str]:
        """The parameters of a layer, by their paths in it."""
        flow = self._scope.project.report.dataflow
        return [] if flow is None else parameter_names(flow, self._scope.prefix + name)

    def source_at(self, hit: Hit) -> Endpoint | None:
        """The output whose tensor is at a wire or port; None without one."""
        if hit.wire is not None:
            return hit.wire.source if self._has_tensor(hit.wire.source) else None
        if hit.end is None:
            return None
        if hit.side == "output":
            return hit.end if self._has_tensor(hit.end) else None
        wires = self._scope.document.wires
        source = next((wire.source for wire in wires if wire.target == hit.end), None)
        return source if source is not None and self._has_tensor(source) else None

    def fill_menu(self, hit: Hit, menu: QMenu) -> None:
        """Add the probes of what was clicked to its context menu."""
        end = self.source_at(hit)
        if end is not None:
            separator = _separator_at_top(menu)
            for title, is_gradient in (("Probe values", False), ("Probe gradient", True)):
                self._insert(menu, separator, f"{title} of {end}", self.of_output(end, is_gradient=is_gradient))
        elif hit.node is not None and hit.port is None:
            self._add_submenu(hit.node, menu)

    def _add_submenu(self, name: str, menu: QMenu) -> None:
        outputs, parameters = self.outputs(name), self.parameters(name)
        if not outputs and not parameters:
            return
        inner = QMenu("Probe", menu)
        for is_gradient in (False, True):
            what = "Gradient of " if is_gradient else ""
            for end in outputs:
                inner.addAction(f"{what}{end.port}", self._adder(self.of_output(end, is_gradient=is_gradient)))
        path = self._scope.prefix + name
        for is_gradient in (False, True) if parameters else ():
            inner.addSeparator()
            what = "Gradient of " if is_gradient else ""
            for each in parameters:
                probe = Probe(path, each, "parameter", is_gradient)
                inner.addAction(f"{what}{each}", self._adder(probe))
        separator = _separator_at_top(menu)
        menu.insertMenu(separator, inner)

    def _insert(self, menu: QMenu, before: QAction, title: str, probe: Probe) -> None:
        action = QAction(title, menu)
        action.triggered.connect(self._adder(probe))
        menu.insertAction(before, action)

    def _adder(self, probe: Probe) -> Callable[..., None]:
        return partial(_add, self._probes, probe)

    def _has_tensor(self, end: Endpoint) -> bool:
        item = self._nodes.get(end.node)
        port = None if item is None else item.content.port(end.port, is_input=False)
        return port is not None and port.type in TENSORS


def _add(probes: ProbeStore, probe: Probe, *_: object) -> None:
    probes.add([probe])


def _separator_at_top(menu: QMenu) -> QAction:
    """A new separator above all entries of a menu."""
    entries = menu.actions()
    return menu.insertSeparator(entries[0]) if entries else menu.addSeparator()


__all__ = ["NO_TENSOR", "TENSORS", "ProbeChoices"]
