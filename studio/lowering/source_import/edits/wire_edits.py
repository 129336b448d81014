"""Connect the inputs of nodes as a class does."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from studio.document import edits
from studio.document.model import Endpoint, Wire
from studio.lowering.source_import.edits.module_change import Graph, ModuleChange
from studio.lowering.source_import.reading.call_arguments import growing_ports
from studio.lowering.source_import.reading.module_source import NodeSource


def connect_inputs(change: ModuleChange) -> None:
    for name, node in change.new.nodes.items():
        old, title = change.old_node(name), change.after.nodes[name]
        wanted = _wanted(change, node, title, new=True)
        current = {} if old is None else _wanted(change, old, title, new=False)
        for port, end in wanted.items():
            if end is not None and current.get(port) != end:
                wire = Wire(end, Endpoint(title, port))
                change.edit(lambda shown, wire=wire: edits.connect(shown, wire), node.line)
        gone = {Endpoint(title, port) for port in current.keys() - wanted.keys()}
        change.edit(lambda shown, gone=gone: edits.disconnect(shown, [w for w in shown.wires if w.target in gone]))


def _wanted(change: ModuleChange, node: NodeSource, title: str, *, new: bool) -> dict[str, Endpoint | None]:
    """The output at each input of a node, in the present graph."""
    module, graph = (change.new, change.after) if new else (change.old, change.previous)
    graphs, classes = (change.graphs, change.classes.new) if new else (change.classes.previous, change.classes.old)
    names = classes[node.target].inputs if node.is_instance else ()
    wanted: dict[str, Endpoint | None] = {}
    if node.target in change.templates:
        for ports, tensor in zip(change.statement_ports[node.target], node.inputs.values(), strict=True):
            wanted.update(dict.fromkeys(ports, change.end(tensor, module, graph, graphs)))
        return wanted
    growing = [] if node.is_instance else _grown(change, node.target, title)
    for index, (key, tensor) in enumerate(node.inputs.items()):
        port = growing[index] if growing else _input_port(change, node, key, graphs, names)
        if port is not None:
            wanted[port] = change.end(tensor, module, graph, graphs)
    return wanted


def _grown(change: ModuleChange, key: str, title: str) -> list[str]:
    """Inputs of a node that combines any number of tensors: those with a wire first, in order."""
    ports = growing_ports(change.catalogue[key])
    wired = {wire.target.port for wire in change.shown.wires if wire.target.node == title} if ports else set[str]()
    return [port for port in ports if port in wired] + [port for port in ports if port not in wired]


def _input_port(
    change: ModuleChange, node: NodeSource, key: str, graphs: Mapping[str, Graph], inputs: Iterable[str]
) -> str | None:
    """The port of an input that a class names."""
    if not node.is_instance:
        return key
    end = graphs[node.target].inputs[list(inputs).index(key)]
    return None if end is None else end.node


__all__ = ["connect_inputs"]
