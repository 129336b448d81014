"""A class and its edited version, with the graph that its names stand for."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field

from studio.document.blocks import block_nodes
from studio.document.blocks.block_edits import edit_block, view
from studio.document.document_errors import EditError
from studio.document.model import Document, Endpoint, ParamRef
from studio.lowering.analysis.node_graph import NodeGraph
from studio.lowering.codegen.source_writer import MODEL_ROLES
from studio.lowering.source_import.edits.node_matching import match_nodes
from studio.lowering.source_import.reading.known_statements import PREFIX
from studio.lowering.source_import.reading.module_source import ModuleSource, NodeSource, Tensor
from studio.lowering.source_import.reading.source_errors import SourceError
from studio.nodes.catalogue import Catalogue


@dataclass(slots=True)
class Graph:
    """What the names in a class stand for: the canvas or the definition of a block."""

    block: str
    """Empty for the canvas."""
    inputs: list[Endpoint | None]
    """The outputs that the arguments of `forward` are; None for a removed port."""
    outputs: list[str | None] = field(default_factory=list[str | None])
    """For a block: the ports of the results; None for a removed one."""
    results: list[Endpoint] = field(default_factory=list[Endpoint])
    """For the canvas: the returned outputs."""
    available: Mapping[str, Endpoint] = field(default_factory=dict[str, Endpoint])
    nodes: dict[str, str] = field(default_factory=dict[str, str])
    """Nodes by their names in the source."""
    arguments: dict[str, frozenset[ParamRef]] = field(default_factory=dict[str, frozenset[ParamRef]])
    params: dict[str, str] = field(default_factory=dict[str, str])
    """Promoted parameters by argument of the constructor."""


@dataclass(slots=True)
class Classes:
    """All classes of a program before and after an edit."""

    old: Mapping[str, ModuleSource]
    new: Mapping[str, ModuleSource]
    graphs: dict[str, Graph] = field(default_factory=dict[str, Graph])
    """The graphs of the classes that were edited so far."""
    previous: dict[str, Graph] = field(default_factory=dict[str, Graph])
    """The same with the ports in their order before the edit, under their present names."""


class ModuleChange:
    """The changes of one class, and what they made of the document so far.

    Args:
        old: the class before the edit, with what its names stand for in `before`
    """

    def __init__(
        self,
        document: Document,
        catalogue: Catalogue,
        old: ModuleSource,
        before: Graph,
        new: ModuleSource,
        classes: Classes,
    ) -> None:
        self.document, self.catalogue = document, catalogue
        self.old, self.before, self.new = old, before, new
        self.classes, self.graphs = classes, classes.graphs
        self.block = before.block
        self.matched = match_nodes(old, new)
        self.after = Graph(self.block, [], available=before.available, arguments=dict(before.arguments))
        self.previous = Graph(self.block, list(before.inputs), list(before.outputs))
        """The graph with the ports in their order before the edit, under their present names."""
        self.renamed: dict[str, str] = {}
        """New names of nodes by their old ones."""
        self.added: list[str] = []
        """Names of new nodes."""
        self.templates = {
            node.target: self.shown.nodes[before.nodes[name]]
            for name, node in old.nodes.items()
            if node.target.startswith(PREFIX)
        }
        """The nodes of statements of the generated code, by target."""
        self.statement_ports = self._ports_of_statements() if self.templates else {}
        self.readers = [] if self.block else _readers(document, catalogue, before.results)

    @property
    def shown(self) -> Document:
        """The graph as a document."""
        return view(self.document, self.block) if self.block else self.document

    def edit(self, edit: Callable[[Document], Document], line: int | None = None) -> None:
        try:
            self.document = edit_block(self.document, self.block, edit) if self.block else edit(self.document)
        except EditError as error:
            raise SourceError(str(error), self.new.line if line is None else line) from None

    def old_node(self, name: str) -> NodeSource | None:
        return self.old.nodes[self.matched[name]] if name in self.matched else None

    def _ports_of_statements(self) -> dict[str, list[list[str]]]:
        """The inputs that each variable of a statement feeds, by target."""
        graph = NodeGraph(self.shown, self.catalogue)
        found: dict[str, list[list[str]]] = {}
        for name, node in self.old.nodes.items():
            if node.target in self.templates:
                sources = graph.sources(self.before.nodes[name]).items()
                ends = [self._original_end(tensor) for tensor in node.inputs.values()]
                found[node.target] = [[port for port, source in sources if source == end] for end in ends]
        return found

    def _original_end(self, tensor: Tensor) -> Endpoint | None:
        """The output that a tensor of the class before the edit is, before nodes are renamed."""
        if not tensor.node:
            return self.before.inputs[tensor.index]
        port = self.output_port(self.old.nodes[tensor.node], tensor.index, self.classes.previous)
        return None if port is None else Endpoint(self.before.nodes[tensor.node], port)

    def output_port(self, node: NodeSource, index: int, graphs: Mapping[str, Graph]) -> str | None:
        """The port of an output of a node."""
        if node.is_instance:
            return graphs[node.target].outputs[index]
        return node.output_names[index] if node.output_names else self.catalogue[node.target].outputs[index].name

    def type_of(self, node: NodeSource) -> str:
        if node.target in self.templates:
            return self.templates[node.target].type
        return block_nodes.type_of(self.graphs[node.target].block) if node.is_instance else node.target

    def end(self, tensor: Tensor, module: ModuleSource, graph: Graph, graphs: Mapping[str, Graph]) -> Endpoint | None:
        """The output that a tensor of a class is, in the present graph; None if it is gone."""
        if not tensor.node:
            return graph.inputs[tensor.index]
        node = module.nodes[tensor.node]
        if module is self.old:
            names = {old: self.after.nodes[new] for new, old in self.matched.items()}
            if tensor.node not in names:
                return None
            title = names[tensor.node]
        else:
            title = self.after.nodes[tensor.node]
        port = self.output_port(node, tensor.index, graphs)
        return None if port is None else Endpoint(title, port)


def _readers(document: Document, catalogue: Catalogue, results: Iterable[Endpoint]) -> list[list[Endpoint]]:
    """The inputs of losses and metrics that read each result."""
    graph = NodeGraph(document, catalogue)
    return [[each for each in graph.readers(end) if graph.types[each.node].role not in MODEL_ROLES] for end in results]


__all__ = ["Classes", "Graph", "ModuleChange"]
