"""Inputs and outputs of nodes that no wire uses yet, which become ports of a block made of these nodes."""

from __future__ import annotations

from collections.abc import Collection
from typing import NamedTuple

from studio.document.model import Document, Endpoint
from studio.lowering.analysis.block_types import known_type
from studio.nodes.catalogue import Catalogue
from studio.nodes.types import Port


class OpenEnds(NamedTuple):
    """The ends, in the order of the document."""

    inputs: tuple[Endpoint, ...] = ()
    outputs: tuple[Endpoint, ...] = ()


def open_ends(document: Document, catalogue: Catalogue, names: Collection[str]) -> OpenEnds:
    """The required inputs without a wire, and the first output of each node whose outputs have no wire."""
    wired = {wire.target for wire in document.wires}
    read = {wire.source.node for wire in document.wires}
    kinds = {name: known_type(document, catalogue, name) for name in document.nodes if name in names}
    inputs = [
        end
        for name, kind in kinds.items()
        for port in (kind.inputs if kind is not None else ())
        if (end := Endpoint(name, port.name)) not in wired and _is_required(document, name, port)
    ]
    outputs = [
        Endpoint(name, kind.outputs[0].name)
        for name, kind in kinds.items()
        if kind is not None and kind.outputs and name not in read
    ]
    return OpenEnds(tuple(inputs), tuple(outputs))


def _is_required(document: Document, name: str, port: Port) -> bool:
    return not port.optional and document.nodes[name].params.get(port.name) is None


__all__ = ["OpenEnds", "open_ends"]
