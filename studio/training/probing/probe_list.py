"""The probes of a project as settings: what each shows, how, and where its card is. Kept as JSON text."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Annotated, Literal

import msgspec
from msgspec import Meta

from studio.document.model import Coordinate, Endpoint
from studio.lowering.report import Report
from studio.training.probing.probe_target import ProbeTarget
from studio.training.probing.views.view_kinds import ViewKind

MIN_CARD = (176.0, 136.0)
MAX_CARD = 1200.0
DEFAULT_CARD = (232.0, 200.0)
"""Sizes of a card in pixels at 100%."""
MAX_PROBES = 64
"""More probes of a project are not kept."""

_Size = Annotated[float, Meta(ge=64, le=MAX_CARD)]


class Probe(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One probe."""

    node: str
    """Path of the node on the canvas, which may be an instance: "encoder.0.fc1"."""
    name: str
    """Output port, or path of the parameter in the layer."""
    kind: Literal["output", "parameter"] = "output"
    is_gradient: bool = False
    view: ViewKind | None = None
    """None for the view that suits the shape."""
    index: Annotated[int, Meta(ge=0)] = 0
    """The sample, filter or slice that is shown."""
    is_pinned: bool = True
    """Whether it is a card on the canvas, beside its node."""
    offset: tuple[Coordinate, Coordinate] | None = None
    """Position of the card relative to its node; None until it has one."""
    size: tuple[_Size, _Size] = DEFAULT_CARD

    @property
    def key(self) -> tuple[str, str, str, bool]:
        """What it shows. A project has one probe for each."""
        return self.node, self.name, self.kind, self.is_gradient

    @property
    def title(self) -> str:
        name = f"{self.node}.{self.name}"
        return f"Gradient of {name}" if self.is_gradient else name

    @property
    def owner(self) -> str:
        """Name of the node in its graph."""
        return self.node.rpartition(".")[2]


def target_of(probe: Probe, report: Report) -> ProbeTarget | None:
    """The tensor of the flat graph that a probe shows; None if the graph has none."""
    flow = report.dataflow
    if flow is None:
        return None
    if probe.kind == "parameter":
        known = probe.node in flow.facts
        return ProbeTarget(probe.node, probe.name, "parameter", probe.is_gradient) if known else None
    prefix = probe.node[: -len(probe.owner)]
    scope = next((each for each in flow.expansion.root.with_inner() if each.prefix == prefix), None)
    end = None if scope is None else flow.expansion.source(scope, Endpoint(probe.owner, probe.name))
    if end is None or end.node not in flow.facts:
        return None
    end = flow.graph.unmuted(end)
    return None if end is None else ProbeTarget(end.node, end.port, "output", probe.is_gradient)


def renamed(probes: Iterable[Probe], new_path: Callable[[str], str | None]) -> tuple[Probe, ...]:
    """The probes after nodes were renamed.

    Args:
        new_path: returns the path that a node has now; None if it was removed, and its probe waits for an undo
    """
    found: list[Probe] = []
    for probe in probes:
        path = new_path(probe.node)
        found.append(probe if path in (None, probe.node) else msgspec.structs.replace(probe, node=path))
    return tuple(found)


def dump_probes(probes: Iterable[Probe]) -> str:
    return msgspec.json.encode(list(probes)[:MAX_PROBES]).decode()


def load_probes(text: str) -> tuple[Probe, ...]:
    """The probes of a stored text; probes that cannot be read are left out."""
    try:
        entries = msgspec.json.decode(text or "[]", type=list[msgspec.Raw])
    except (msgspec.DecodeError, RecursionError):
        return ()
    found: dict[tuple[str, str, str, bool], Probe] = {}
    for entry in entries[:MAX_PROBES]:
        try:
            probe = msgspec.json.decode(entry, type=Probe)
        except (msgspec.DecodeError, RecursionError):
            continue
        found.setdefault(probe.key, probe)
    return tuple(found.values())


__all__ = ["DEFAULT_CARD", "MAX_CARD", "MIN_CARD", "Probe", "dump_probes", "load_probes", "renamed", "target_of"]
