"""The data chain up to a node: sources opened and transforms applied, as in training."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Collection
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeAlias

from engine.data.splits import Splits
from engine.errors import EngineError
from studio.document.graph_walk import walk
from studio.document.model import Document, Endpoint
from studio.lowering.analysis.data_nodes import apply_data_node
from studio.lowering.analysis.node_arguments import resolve_arguments, resolve_paths
from studio.lowering.analysis.node_evaluation import FileStamps, file_stamps, hashable_arguments
from studio.lowering.analysis.node_graph import NodeGraph
from studio.nodes.types import NodeType, PortType, Role

DATA_ROLES = frozenset({Role.SOURCE, Role.TRANSFORM, Role.DIVISION, Role.LOADER})

MAX_SAMPLED_ROWS = 20_000
"""Number of rows that are read of a large table."""

_MAX_OPENED_LINKS = 32
"""Maximum number of cached opened links."""
_MAX_SOURCES = 2
"""Maximum number of cached sources."""


class DataProblem(Exception):  # noqa: N818 - shown to users, like a Problem
    """The samples at a node cannot be read. `node` is the node to fix."""

    def __init__(self, node: str, message: str) -> None:
        self.node = node
        super().__init__(message)


@dataclass(frozen=True, slots=True)
class ChainLink:
    """A data node with its arguments. Equal links produce equal data."""

    name: str
    key: str
    arguments: tuple[tuple[str, str, Any], ...]
    """Name, type and value of each."""
    type: NodeType = field(compare=False)

    @property
    def values(self) -> dict[str, Any]:
        return {name: value for name, _, value in self.arguments}


Chain: TypeAlias = tuple[ChainLink, ...]
"""The data nodes from a source to the selected node."""


def data_node_for_selection(graph: NodeGraph, selection: Collection[str]) -> str | None:
    """The data node for a selection: a selected one, else the nearest upstream, else the loader.

    None if the graph has no data.
    """
    selected = [name for name in graph.types if name in selection]
    for name in walk(selected, lambda name: [end.node for end in graph.input_sources[name].values()]):
        if graph.types[name].role in DATA_ROLES:
            return name
    if loaders := graph.with_role(Role.LOADER):
        return loaders[0]
    data = [name for name in graph.order if graph.types[name].role in DATA_ROLES]
    return data[-1] if data else None


def chain_to(name: str, document: Document, graph: NodeGraph, base: Path | None) -> Chain:
    """The chain that ends at a node, without muted nodes.

    Raises:
        DataProblem: a wire or an argument is missing or wrong.
    """
    if name in graph.muted and graph.types[name].role is not Role.SOURCE:
        return chain_to(upstream_data_node(name, graph), document, graph, base)
    links = [_link(name, document, graph, base)]
    while (role := graph.types[name].role) is not Role.SOURCE:
        if role not in DATA_ROLES:
            raise DataProblem(name, f"{name} outputs no samples. Connect a data source instead.")
        name = upstream_data_node(name, graph)
        links.append(_link(name, document, graph, base))
    return tuple(reversed(links))


class ChainOpener:
    """Opens chains. The common beginning of chains is opened once, until its files change.

    Args:
        is_sampled: read only some rows of large tables that have not been read before
    """

    def __init__(self, *, is_sampled: bool = False) -> None:
        self._is_sampled = is_sampled
        self._opened: OrderedDict[Chain, Splits] = OrderedDict()
        self._stamps: dict[ChainLink, FileStamps] = {}

    def open(self, chain: Chain) -> tuple[Splits, ...]:
        """The samples after each node of a chain; for a loader, the samples that it batches.

        Raises:
            DataProblem: a source cannot be read, or a transform does not accept its input.
        """
        self._evict(chain[0])
        splits: list[Splits] = []
        for index, link in enumerate(chain):
            key = chain[: index + 1]
            found = self._opened.get(key)
            if found is None:
                found = _open_link(link, splits[-1] if splits else None, is_sampled=self._is_sampled)
                self._opened[key] = found
                if index == 0:
                    self._stamps[link] = file_stamps(list(found.files))
            self._opened.move_to_end(key)
            splits.append(found)
        return tuple(splits)

    def _evict(self, source: ChainLink) -> None:
        """Drop cached data of changed files, and keep only two sources, which hold memory and open files."""
        stamps = self._stamps.get(source, ())
        if stamps and file_stamps([path for path, _ in stamps]) != stamps:
            del self._stamps[source]
        else:
            self._stamps[source] = self._stamps.pop(source, ())
        for old in list(self._stamps)[:-_MAX_SOURCES]:
            del self._stamps[old]
        opened = {chain: splits for chain, splits in self._opened.items() if chain[0] in self._stamps}
        self._opened = OrderedDict(list(opened.items())[-_MAX_OPENED_LINKS:])


def upstream_data_node(name: str, graph: NodeGraph) -> str:
    """The upstream node of a node's samples port."""
    port = next(port.name for port in graph.types[name].inputs if port.type is PortType.SAMPLES)
    if graph.cyclic and name not in graph.order:
        raise DataProblem(name, f"{name} is part of a cycle or depends on one. Remove a wire of the cycle.")
    end = graph.source(name, port)
    if end is None:
        raise DataProblem(name, f"{Endpoint(name, port)} is not connected. Connect a data source to it.")
    return end.node


def _link(name: str, document: Document, graph: NodeGraph, base: Path | None) -> ChainLink:
    node, kind = document.nodes[name], graph.types[name]
    arguments = resolve_arguments(kind, node.params, None)
    if arguments.problems:
        raise DataProblem(name, f"{name}: {arguments.problems[0].message}")
    return ChainLink(name, kind.key, hashable_arguments(resolve_paths(kind, arguments.values, base)), kind)


def _open_link(link: ChainLink, upstream_data_node: Splits | None, *, is_sampled: bool) -> Splits:
    try:
        found = apply_data_node(link.type, link.values, upstream_data_node)
        return found.sampled(MAX_SAMPLED_ROWS) if is_sampled and upstream_data_node is None else found
    except Exception as error:
        raise DataProblem(link.name, error_text(error)) from error


def error_text(error: Exception) -> str:
    """The text of an error of a source or transform."""
    text = str(error) or type(error).__name__
    return text if isinstance(error, (EngineError, ValueError, TypeError)) else f"{type(error).__name__}: {text}"


__all__ = [
    "DATA_ROLES",
    "Chain",
    "DataProblem",
    "ChainLink",
    "ChainOpener",
    "upstream_data_node",
    "chain_to",
    "data_node_for_selection",
    "error_text",
]
