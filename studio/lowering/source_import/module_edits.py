"""Apply the changes of one module class to the graph that it was generated from."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field

from studio.document import blocks, edits
from studio.document import node_names as naming
from studio.document.block_edits import edit_block, reorder_ports, view
from studio.document.document_errors import EditError
from studio.document.model import Document, Endpoint, Node, ParamRef, Wire
from studio.document.weight_sharing import share, unshare
from studio.lowering.analysis.node_graph import NodeGraph
from studio.lowering.codegen.source_writer import MODEL_ROLES
from studio.lowering.source_import.call_arguments import growing_ports
from studio.lowering.source_import.definition_values import ABSENT, bind, release, set_values, to_json
from studio.lowering.source_import.known_statements import PREFIX
from studio.lowering.source_import.module_source import (
    REQUIRED,
    Argument,
    Each,
    ModuleSource,
    NodeSource,
    Tensor,
    Value,
    same,
)
from studio.lowering.source_import.node_matching import match_nodes
from studio.lowering.source_import.node_order import ordered
from studio.lowering.source_import.node_positions import place
from studio.lowering.source_import.source_errors import SourceError
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


class ModuleEdit:
    """Applies one class after the classes that it uses.

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
        self.document, self._catalogue = document, catalogue
        self._old, self._before, self._new = old, before, new
        self._classes, self._graphs = classes, classes.graphs
        self.block = before.block
        self._matched = match_nodes(old, new)
        self.after = Graph(self.block, [], available=before.available, arguments=dict(before.arguments))
        self.previous = Graph(self.block, list(before.inputs), list(before.outputs))
        """The graph with the ports in their order before the edit, under their present names."""
        self.renamed: dict[str, str] = {}
        """New names of nodes by their old ones."""
        self.added: list[str] = []
        """Names of new nodes."""
        self._templates = {
            node.target: self.shown.nodes[before.nodes[name]]
            for name, node in old.nodes.items()
            if node.target.startswith(PREFIX)
        }
        """The nodes of statements of the generated code, by target."""
        self._statement_ports = self._ports_of_statements() if self._templates else {}
        self._readers = [] if self.block else _readers(document, catalogue, before.results)

    def apply(self) -> Document:
        """The document after the edit; `after` then has the graph of the class. Raises SourceError."""
        self._check_unused()
        self._rename_nodes()
        self._input_ports()
        self._change_nodes()
        self._share_weights()
        self._arguments()
        self._values()
        self._connect()
        self._results()
        self._edit(lambda shown: place(shown, self.added))
        self._edit(lambda shown: ordered(shown, self._catalogue, list(self.after.nodes.values())))
        return self.document

    # -- helpers

    @property
    def shown(self) -> Document:
        """The graph as a document."""
        return view(self.document, self.block) if self.block else self.document

    def _edit(self, edit: Callable[[Document], Document], line: int | None = None) -> None:
        try:
            self.document = edit_block(self.document, self.block, edit) if self.block else edit(self.document)
        except EditError as error:
            raise SourceError(str(error), self._new.line if line is None else line) from None

    def _old_node(self, name: str) -> NodeSource | None:
        return self._old.nodes[self._matched[name]] if name in self._matched else None

    def _ports_of_statements(self) -> dict[str, list[list[str]]]:
        """The inputs that each variable of a statement feeds, by target."""
        graph = NodeGraph(self.shown, self._catalogue)
        found: dict[str, list[list[str]]] = {}
        for name, node in self._old.nodes.items():
            if node.target in self._templates:
                sources = graph.sources(self._before.nodes[name]).items()
                ends = [self._original_end(tensor) for tensor in node.inputs.values()]
                found[node.target] = [[port for port, source in sources if source == end] for end in ends]
        return found

    def _original_end(self, tensor: Tensor) -> Endpoint | None:
        """The output that a tensor of the class before the edit is, before nodes are renamed."""
        if not tensor.node:
            return self._before.inputs[tensor.index]
        port = self._output(self._old.nodes[tensor.node], tensor.index, self._classes.previous)
        return None if port is None else Endpoint(self._before.nodes[tensor.node], port)

    def _output(self, node: NodeSource, index: int, graphs: Mapping[str, Graph]) -> str | None:
        """The port of an output of a node."""
        if node.is_instance:
            return graphs[node.target].outputs[index]
        return node.output_names[index] if node.output_names else self._catalogue[node.target].outputs[index].name

    def _type(self, node: NodeSource) -> str:
        if node.target in self._templates:
            return self._templates[node.target].type
        return blocks.type_of(self._graphs[node.target].block) if node.is_instance else node.target

    def _check_unused(self) -> None:
        known = {node.name for node in self._old.unused()}
        for node in self._new.unused():
            if node.name not in known:
                name = f"self.{node.name}" if node.name.isidentifier() and not node.is_operation else "this line"
                raise SourceError(
                    f"Nothing that forward returns depends on {name}. Use the result, or remove the line.", node.line
                )

    # -- nodes

    def _rename_nodes(self) -> None:
        """Remove nodes and rename others, and choose the names of all."""
        before, after = self._before.nodes, self.after.nodes
        kept = set(self._matched.values())
        self._edit(lambda shown: edits.remove(shown, [before[name] for name in self._old.nodes if name not in kept]))
        names: dict[str, str] = {}
        taken = set(self.shown.nodes) - {before[name] for name in kept}
        layers_first = sorted(self._new.nodes.items(), key=lambda item: item[1].is_operation)
        for name, node in layers_first:
            current = before[self._matched[name]] if name in self._matched else None
            if name.isidentifier() and not (node.is_operation and name in taken):
                wanted = current if current is not None and self._matched[name] == name else name
            else:
                wanted = current or naming.unique_name(
                    naming.to_identifier(self._type(node)), {*taken, *self._new.nodes}
                )
            if wanted in taken:
                raise SourceError(
                    f"There is already a node {wanted} in the project. Choose another name.", node.made_line
                )
            taken.add(wanted)
            names[name] = wanted
        after.update((name, names[name]) for name in self._new.nodes)
        self.renamed = {before[old]: after[new] for new, old in self._matched.items() if before[old] != after[new]}
        self._edit(lambda shown: _renamed(shown, self.renamed))

    def _change_nodes(self) -> None:
        """Add new nodes, and set types and flags of the others."""
        for name, node in self._new.nodes.items():
            title, old = self.after.nodes[name], self._old_node(name)
            key = self._type(node)
            if old is None:
                self.added.append(title)
                params = self._templates[node.target].params if node.target in self._templates else {}
                made = Node(key, params, frozen=node.frozen, recomputed=node.recomputed)
                self._edit(lambda shown, title=title, made=made: edits.add(shown, title, made), node.made_line)
                continue
            if key != self.shown.nodes[title].type:
                params = self._templates[node.target].params if node.target in self._templates else {}
                self._edit(lambda shown, title=title, key=key, p=params: edits.retype(shown, title, key, p))
                frozen = node.frozen
                self._edit(lambda shown, title=title, frozen=frozen: edits.set_flag(shown, [title], frozen=frozen))
            elif node.frozen != old.frozen:
                self._freeze(title, node)
            if node.recomputed != old.recomputed:
                again = node.recomputed
                self._edit(lambda shown, title=title, again=again: edits.set_flag(shown, [title], recomputed=again))
        if dict.fromkeys(self._old.frozen_paths) != dict.fromkeys(self._new.frozen_paths):
            paths = self._new.frozen_paths
            line = next((line for path, line in paths.items() if path not in self._old.frozen_paths), self._new.line)
            raise SourceError(
                "Layers inside a block are frozen in the class of the block, or with the whole instance.", line
            )

    def _freeze(self, title: str, node: NodeSource) -> None:
        if not node.frozen and not self.shown.nodes[title].frozen:
            raise SourceError(
                f"No optimizer trains {title}, so it stays frozen. Select it at an optimizer.", node.made_line
            )
        self._edit(lambda shown: edits.set_flag(shown, [title], frozen=node.frozen))

    def _share_weights(self) -> None:
        """Let nodes use the weights of others, or separate ones."""
        now = {self._before.nodes[old]: self.after.nodes[new] for new, old in self._matched.items()}
        for name, node in self._new.nodes.items():
            title, old = self.after.nodes[name], self._old_node(name)
            before = "" if old is None or not old.shares else now.get(self._before.nodes[old.shares], "")
            owner = self.after.nodes[node.shares] if node.shares else ""
            if owner == before:
                continue
            self._edit(lambda shown, title=title: unshare(shown, [title]), node.line)
            if owner:
                self._edit(lambda shown, title=title, owner=owner: share(shown, [title], owner), node.line)

    # -- parameters

    def _arguments(self) -> None:
        """Let arguments of the constructor set what the class says. A new one is promoted."""
        if not self.block:
            self._model_arguments()
            return
        for name, node in self._new.nodes.items():
            old = self._old_node(name)
            listed = {**node.arguments, blocks.REPEAT: node.copies}
            before: dict[str, Value] = {} if old is None else {**old.arguments, blocks.REPEAT: old.copies}
            for key, value in listed.items():
                ref = self._ref(node, key)
                previous = before.get(key, ABSENT)
                if isinstance(previous, Argument) and not same(previous, value) and ref is not None:
                    self.document = release(self.document, self.block, ref)
                if not isinstance(value, Argument) or ref is None or same(previous, value):
                    continue
                self._bind(ref, value.name, node.made_line)
        for argument, refs in self.after.arguments.items():
            for param, listed in self.document.blocks[self.block].params.items():
                if refs & set(listed):
                    self.after.params.setdefault(argument, param)

    def _bind(self, ref: ParamRef, argument: str, line: int) -> None:
        default = self._new.arguments.get(argument, REQUIRED)
        shown = self.shown
        if default is not REQUIRED and ref.param not in shown.nodes[ref.node].params:
            self._edit(lambda shown: edits.set_param(shown, ref.node, ref.param, to_json(default)), line)
        try:
            self.document, param = bind(self.document, self.block, ref, argument, self.after.params.get(argument))
        except EditError as error:
            raise SourceError(str(error), line) from None
        self.after.params[argument] = param

    def _model_arguments(self) -> None:
        if self._new.arguments:
            raise SourceError("The constructor of the model takes no arguments. Write the values.", self._new.line)

    def _ref(self, node: NodeSource, key: str) -> ParamRef | None:
        """The parameter that an argument of a constructor sets; None if it is inferred in all instances."""
        title = self.after.nodes[node.name]
        if not node.is_instance or key == blocks.REPEAT:
            return ParamRef(title, key)
        inner = self._graphs[node.target]
        return ParamRef(title, inner.params[key]) if key in inner.params else None

    def _values(self) -> None:
        """Set what changed at the layers, operations and instances."""
        values: dict[ParamRef, Value] = {}
        for name, node in self._new.nodes.items():
            old = self._old_node(name)
            before: Mapping[str, Value] = {} if old is None or old.target != node.target else old.arguments
            for key, value in node.arguments.items():
                if (key in before and same(before[key], value)) or isinstance(value, Argument):
                    continue
                self._check_each(node, value)
                if (ref := self._ref(node, key) or self._promote_inferred(node, key, is_new=old is None)) is not None:
                    values[ref] = value
            for key in before:
                if key not in node.arguments and (ref := self._ref(node, key)) is not None:
                    values[ref] = ABSENT
            copies = None if old is None else old.copies
            if not same(copies, node.copies) and not isinstance(node.copies, Argument):
                self._check_each(node, node.copies)
                values[ParamRef(self.after.nodes[name], blocks.REPEAT)] = ABSENT if node.copies is None else node.copies
        try:
            self.document = set_values(self.document, self.block, values)
        except EditError as error:
            raise SourceError(str(error), self._new.line) from None

    def _check_each(self, node: NodeSource, value: Value) -> None:
        if isinstance(value, Each) and (isinstance(value.values, Argument) or not value.values):
            raise SourceError(
                "Values per copy that differ between instances can be changed on the canvas only.", node.made_line
            )

    def _promote_inferred(self, node: NodeSource, key: str, *, is_new: bool) -> ParamRef | None:
        """Promote what was inferred in all instances so far, because one of them now sets it."""
        inner = self._graphs[node.target] if node.is_instance else None
        if inner is None or is_new or key not in inner.arguments:
            return None
        for ref in sorted(inner.arguments[key]):
            self.document, inner.params[key] = bind(self.document, inner.block, ref, key, inner.params.get(key))
        return ParamRef(self.after.nodes[node.name], inner.params[key])

    # -- wires

    def _end(self, tensor: Tensor, module: ModuleSource, graph: Graph, graphs: Mapping[str, Graph]) -> Endpoint | None:
        """The output that a tensor of a class is, in the present graph; None if it is gone."""
        if not tensor.node:
            return graph.inputs[tensor.index]
        node = module.nodes[tensor.node]
        if module is self._old:
            names = {old: self.after.nodes[new] for new, old in self._matched.items()}
            if tensor.node not in names:
                return None
            title = names[tensor.node]
        else:
            title = self.after.nodes[tensor.node]
        port = self._output(node, tensor.index, graphs)
        return None if port is None else Endpoint(title, port)

    def _input_port(self, node: NodeSource, key: str, graphs: Mapping[str, Graph], inputs: Iterable[str]) -> str | None:
        """The port of an input that a class names."""
        if not node.is_instance:
            return key
        end = graphs[node.target].inputs[list(inputs).index(key)]
        return None if end is None else end.node

    def _grown(self, key: str, title: str) -> list[str]:
        """Inputs of a node that combines any number of tensors: those with a wire first, in order."""
        ports = growing_ports(self._catalogue[key])
        wired = {wire.target.port for wire in self.shown.wires if wire.target.node == title} if ports else set[str]()
        return [port for port in ports if port in wired] + [port for port in ports if port not in wired]

    def _wanted(self, node: NodeSource, title: str, *, new: bool) -> dict[str, Endpoint | None]:
        """The output at each input of a node, in the present graph."""
        module, graph = (self._new, self.after) if new else (self._old, self.previous)
        graphs, classes = (self._graphs, self._classes.new) if new else (self._classes.previous, self._classes.old)
        names = classes[node.target].inputs if node.is_instance else ()
        wanted: dict[str, Endpoint | None] = {}
        if node.target in self._templates:
            for ports, tensor in zip(self._statement_ports[node.target], node.inputs.values(), strict=True):
                wanted.update(dict.fromkeys(ports, self._end(tensor, module, graph, graphs)))
            return wanted
        growing = [] if node.is_instance else self._grown(node.target, title)
        for index, (key, tensor) in enumerate(node.inputs.items()):
            port = growing[index] if growing else self._input_port(node, key, graphs, names)
            if port is not None:
                wanted[port] = self._end(tensor, module, graph, graphs)
        return wanted

    def _connect(self) -> None:
        for name, node in self._new.nodes.items():
            old, title = self._old_node(name), self.after.nodes[name]
            wanted = self._wanted(node, title, new=True)
            current = {} if old is None else self._wanted(old, title, new=False)
            for port, end in wanted.items():
                if end is not None and current.get(port) != end:
                    wire = Wire(end, Endpoint(title, port))
                    self._edit(lambda shown, wire=wire: edits.connect(shown, wire), node.line)
            gone = {Endpoint(title, port) for port in current.keys() - wanted.keys()}
            self._edit(lambda shown, gone=gone: edits.disconnect(shown, [w for w in shown.wires if w.target in gone]))

    # -- ports and results

    def _input_ports(self) -> None:
        """Find the outputs that the arguments of `forward` are; add, rename and remove ports of a block."""
        old = dict(zip(self._old.inputs, self._before.inputs, strict=True))
        new = self._new.inputs
        if not self.block:
            if len(new) == len(old):
                self.after.inputs = list(self._before.inputs)
                return
            for name in new:
                end = old.get(name) or self.after.available.get(name)
                if end is None:
                    known = ", ".join(self.after.available)
                    raise SourceError(f"The loader has no output {name}; it has {known}.", self._new.line)
                self.after.inputs.append(end)
            return
        names = {name: name for name in new if name in old}
        removed, added = [name for name in old if name not in names], [name for name in new if name not in names]
        if len(removed) == len(added):
            names |= dict(zip(added, removed, strict=True))
        ports: dict[str, str] = {}
        for name in new:
            end = old[names[name]] if name in names else None
            if end is None:
                ports[name] = self._add_port(name, blocks.INPUT)
            elif names[name] != name:
                ports[name] = self._free(name, end.node)
                self._edit(lambda shown, a=end.node, b=ports[name]: edits.rename(shown, a, b))
                index = self._old.inputs.index(names[name])
                self.previous.inputs[index] = Endpoint(ports[name], blocks.GIVEN)
            else:
                ports[name] = end.node
        gone = [name for name in old if name not in names.values()]
        for name in gone:
            end = old[name]
            self.previous.inputs[self._old.inputs.index(name)] = None
            if end is not None:
                self._edit(lambda shown, port=end.node: edits.remove(shown, [port]))
        self.after.inputs = [Endpoint(ports[name], blocks.GIVEN) for name in new]
        self._order_ports([end.node for end in self.after.inputs if end is not None], blocks.input_ports)

    def _add_port(self, name: str, key: str) -> str:
        title = self._free(name)
        self.added.append(title)
        self._edit(lambda shown: edits.add(shown, title, Node(key)))
        return title

    def _free(self, name: str, own: str = "") -> str:
        used = {*self.shown.nodes, *self.after.nodes.values()} - {own}
        return naming.unique_name(name if naming.problem(name) is None else naming.to_identifier(name), used)

    def _order_ports(self, wanted: list[str], listed: Callable[[Mapping[str, Node]], list[str]]) -> None:
        current = [port for port in listed(self.document.blocks[self.block].nodes) if port in wanted]
        if current != wanted:
            self.document = reorder_ports(self.document, self.block, wanted)

    def _results(self) -> None:
        ends = [self._end(tensor, self._new, self.after, self._graphs) for tensor in self._new.results]
        found = [end for end in ends if end is not None]
        if self.block:
            self._output_ports(found)
            return
        old = [self._end(tensor, self._old, self.previous, self._classes.previous) for tensor in self._old.results]
        if len(found) != len(old):
            raise SourceError(
                f"forward returned {len(old)} tensors, which losses and metrics read, and now returns {len(found)}. "
                "Wire losses and metrics on the canvas.",
                self._new.return_line,
            )
        for index, (before, end) in enumerate(zip(old, found, strict=True)):
            for target in self._readers[index] if before != end else ():
                wire = Wire(end, target)
                self._edit(lambda shown, wire=wire: edits.connect(shown, wire))

    def _output_ports(self, ends: list[Endpoint]) -> None:
        old = [self._end(tensor, self._old, self.previous, self._classes.previous) for tensor in self._old.results]
        ports: list[str | None] = list(self._before.outputs)
        chosen: list[str | None] = [None] * len(ends)
        free = list(range(len(ports)))
        for index, end in enumerate(ends):
            match = next((each for each in free if old[each] == end), None)
            if match is not None:
                chosen[index] = ports[match]
                free.remove(match)
        if len(ends) >= len(ports):
            for index in range(len(ends)):
                if chosen[index] is None and index in free:
                    chosen[index] = ports[index]
                    free.remove(index)
        for each in free:
            if (port := ports[each]) is not None:
                self._edit(lambda shown, port=port: edits.remove(shown, [port]))
        for index, end in enumerate(ends):
            port = chosen[index]
            if port is None:
                port = chosen[index] = self._add_port(self._output_name(index), blocks.OUTPUT)
            wire = Wire(end, Endpoint(port, blocks.TAKEN))
            if wire not in self.shown.wires and not (index < len(old) and self._is_same_result(port, end, old)):
                self._edit(lambda shown, wire=wire: edits.connect(shown, wire))
        self.after.outputs = chosen
        self.previous.outputs = [port if port in chosen else None for port in ports]
        self._order_ports([port for port in chosen if port is not None], blocks.output_ports)

    def _output_name(self, index: int) -> str:
        """A name for a new output: the one in variables such as `block_mask`, otherwise that of the result."""
        modules = self._classes.new.values()
        users = [node for each in modules for node in each.nodes.values() if node.target == self._new.name]
        listed = next((node.output_names for node in users if node.output_names), ())
        return listed[index] if index < len(listed) else self._new.result_names[index] or "output"

    def _is_same_result(self, port: str, end: Endpoint, old: list[Endpoint | None]) -> bool:
        """Whether a port showed this output before, perhaps through muted nodes."""
        ports = list(self._before.outputs)
        return port in ports and old[ports.index(port)] == end


def _readers(document: Document, catalogue: Catalogue, results: Iterable[Endpoint]) -> list[list[Endpoint]]:
    """The inputs of losses and metrics that read each result."""
    graph = NodeGraph(document, catalogue)
    return [[each for each in graph.readers(end) if graph.types[each.node].role not in MODEL_ROLES] for end in results]


def _renamed(document: Document, names: Mapping[str, str]) -> Document:
    """Rename nodes, also where they swap names."""
    waiting = dict(names)
    while waiting:
        old = next((old for old, new in waiting.items() if new not in document.nodes), None)
        if old is None:
            old, new = next(iter(waiting.items()))
            free = naming.unique_name(new, document.nodes)
            document = edits.rename(document, old, free)
            del waiting[old]
            waiting[free] = new
            continue
        document = edits.rename(document, old, waiting.pop(old))
    return document


__all__ = ["Graph", "ModuleEdit"]
