"""Figures of the shown graph that are known without training: sizes, devices, and where the value of a wire is made."""

from __future__ import annotations

from collections.abc import Mapping

from engine.shape import Spec
from studio.document.blocks.block_locations import Location
from studio.document.model import Endpoint, Wire
from studio.lowering.analysis.activation_memory import batch_bytes
from studio.lowering.analysis.block_types import known_type
from studio.lowering.report import Report
from studio.lowering.scope_report import scope_at
from studio.nodes.types import Role
from studio.training.run_settings import resolve_device
from studio.training.runs.run_history import Run
from studio.training.statistics.canvas_values import CanvasValues, Ends, graph_values
from studio.ui.project.scope_store import ScopeStore

_ON_CPU = frozenset({Role.SOURCE, Role.TRANSFORM, Role.DIVISION, Role.LOADER})
"""Nodes that make batches, on the CPU also if a GPU trains."""
_DEVICES = {"cpu": "CPU", "cuda": "GPU"}


class GraphFigures:
    """Reads the report of the shown graph."""

    def __init__(self, store: ScopeStore) -> None:
        self._store = store
        self._known: tuple[Report, Location, Ends] | None = None

    @property
    def ends(self) -> Ends:
        """The output in the flat graph whose value each wire carries."""
        report, location = self._store.project.report, self._store.location
        if self._known is None or self._known[0] is not report or self._known[1] != location:
            self._known = report, location, _ends(report, location)
        return self._known[2]

    def values(self, key: str) -> CanvasValues:
        """Parameters, multiply-adds or memory of the nodes; memory also of wires."""
        names = self._store.document.nodes.keys()
        infos = {name: info for name, info in self._store.report.nodes.items() if name in names}
        return graph_values(key, infos, self._wire_bytes() if key == "memory" else {})

    def devices(self, run: Run | None) -> tuple[Mapping[str, str], Mapping[Wire, str]]:
        """The devices of nodes and wires: of a run in progress, else of the next one."""
        document, catalogue = self._store.document, self._store.catalogue
        requested = resolve_device(self._store.project.document.training.device)
        name = run.device if run is not None and run.is_live and run.device else requested
        trained = _DEVICES.get(name.partition(":")[0], name)
        nodes: dict[str, str] = {}
        for node in document.nodes:
            kind = known_type(document, catalogue, node)
            if kind is not None and kind.role is not Role.UNKNOWN:
                nodes[node] = _DEVICES["cpu"] if kind.role in _ON_CPU else trained
        # A batch is moved to the device of the node that gets it.
        wires = {wire: nodes[wire.target.node] for wire in document.wires if wire.target.node in nodes}
        return nodes, wires

    def _wire_bytes(self) -> dict[Wire, int]:
        report = self._store.project.report
        if report.dataflow is None:
            return {}
        facts = report.dataflow.facts
        values = {wire: facts[end.node].outputs.get(end.port) for wire, end in self.ends.items() if end.node in facts}
        return {wire: batch_bytes(value) for wire, value in values.items() if isinstance(value, Spec)}


def _ends(report: Report, location: Location) -> Ends:
    scope = scope_at(report, location)
    if scope is None:
        return {}
    flow = report.checked
    ends: dict[Wire, Endpoint] = {}
    for target, source in scope.sources.items():
        end = flow.expansion.source(scope, source)
        if end is not None and end.node in flow.facts and (end := flow.graph.unmuted(end)) is not None:
            ends[Wire(source, target)] = end
    return ends


__all__ = ["GraphFigures"]
