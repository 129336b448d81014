"""Nodes, parameters and paths of a checked document, by the references that conditions use."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator
from functools import cached_property

from studio.document.graph_walk import walk
from studio.document.model import Document, Endpoint, Json, Node, Wire
from studio.lessons.conditions import NodeRef, PortRef
from studio.lowering.report import Report
from studio.nodes.catalogue import catalogue

_ANY = "@"


class GraphView:
    """The nodes of the canvas and those inside blocks, by path, with all wires."""

    def __init__(self, report: Report) -> None:
        self._report = report
        flow = report.checked
        document, flat = flow.expansion.document, flow.document
        self.nodes: dict[str, Node] = {**flat.nodes, **document.nodes}
        self.wires: frozenset[Wire] = frozenset({*document.wires, *flat.wires})
        self.document: Document = document

    def find(self, ref: NodeRef) -> list[str]:
        """The paths of the nodes that a reference names, in the order of creation."""
        if not ref.startswith(_ANY):
            return [ref] if ref in self.nodes else []
        key = ref.removeprefix(_ANY)
        return [path for path, node in self.nodes.items() if node.type == key]

    def ports(self, ref: PortRef) -> list[Endpoint]:
        """The ports that a reference names. Their existence is not checked."""
        node, _, port = ref.rpartition(".")
        return [Endpoint(path, port) for path in self.find(node)]

    def argument(self, path: str, param: str) -> Json:
        """The value of a parameter, also an inferred or default one; None if the node does not have it."""
        info = self._report.nodes.get(path)
        if info is not None and param in info.arguments:
            return plain(info.arguments[param])
        node = self.nodes[path]
        if param in node.params:
            return node.params[param]
        declared = catalogue()[node.type].param(param) if node.type in catalogue() else None
        return None if declared is None else plain(declared.default)

    def after(self, paths: Iterable[str]) -> set[str]:
        """These nodes and all that depend on them."""
        return set(walk(paths, lambda path: self._targets[path]))

    def before(self, paths: Iterable[str]) -> set[str]:
        """These nodes and all that they depend on."""
        return set(walk(paths, lambda path: self._sources[path]))

    @cached_property
    def _targets(self) -> defaultdict[str, list[str]]:
        return _by_node((wire.source.node, wire.target.node) for wire in self.wires)

    @cached_property
    def _sources(self) -> defaultdict[str, list[str]]:
        return _by_node((wire.target.node, wire.source.node) for wire in self.wires)


def name_of(ref: NodeRef) -> str:
    """A reference in words: "hidden", or the title of a type or a block."""
    if not ref.startswith(_ANY):
        return ref
    key = ref.removeprefix(_ANY)
    title = catalogue()[key].title if key in catalogue() else key.removeprefix("block.")
    return f"{'an' if title[0] in 'AEIOUaeiou' else 'a'} {title} node"


def plain(value: object) -> Json:
    """An argument as a JSON value."""
    if isinstance(value, (list, tuple)):
        return [plain(each) for each in value]
    return value if isinstance(value, (bool, int, float, str)) else None if value is None else str(value)


def _by_node(pairs: Iterator[tuple[str, str]]) -> defaultdict[str, list[str]]:
    found: defaultdict[str, list[str]] = defaultdict(list)
    for here, there in pairs:
        found[here].append(there)
    return found


__all__ = ["GraphView", "name_of", "plain"]
