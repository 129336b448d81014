"""Add, rename, order and remove the ports of a block, and connect the results of a class."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from studio.document import edits
from studio.document import node_names as naming
from studio.document.blocks import block_nodes
from studio.document.blocks.block_edits import reorder_ports
from studio.document.model import Endpoint, Node, Wire
from studio.lowering.source_import.edits.module_change import ModuleChange
from studio.lowering.source_import.reading.source_errors import SourceError


def match_input_ports(change: ModuleChange) -> None:
    """Find the outputs that the arguments of `forward` are; add, rename and remove ports of a block."""
    old = dict(zip(change.old.inputs, change.before.inputs, strict=True))
    if not change.block:
        change.after.inputs = _loader_outputs(change, old)
        return
    names = _matched_arguments(list(old), change.new.inputs)
    ports: dict[str, str] = {}
    for name in change.new.inputs:
        end = old[names[name]] if name in names else None
        if end is None:
            ports[name] = _add_port(change, name, block_nodes.INPUT)
        elif names[name] != name:
            ports[name] = _free(change, name, end.node)
            change.edit(lambda shown, a=end.node, b=ports[name]: edits.rename(shown, a, b))
            index = change.old.inputs.index(names[name])
            change.previous.inputs[index] = Endpoint(ports[name], block_nodes.GIVEN)
        else:
            ports[name] = end.node
    for name in [name for name in old if name not in names.values()]:
        end = old[name]
        change.previous.inputs[change.old.inputs.index(name)] = None
        if end is not None:
            change.edit(lambda shown, port=end.node: edits.remove(shown, [port]))
    change.after.inputs = [Endpoint(ports[name], block_nodes.GIVEN) for name in change.new.inputs]
    _order_ports(change, [end.node for end in change.after.inputs if end is not None], block_nodes.input_ports)


def _loader_outputs(change: ModuleChange, old: Mapping[str, Endpoint | None]) -> list[Endpoint | None]:
    """The outputs of loaders that the arguments of the model are."""
    if len(change.new.inputs) == len(old):
        return list(change.before.inputs)
    found: list[Endpoint | None] = []
    for name in change.new.inputs:
        end = old.get(name) or change.after.available.get(name)
        if end is None:
            known = ", ".join(change.after.available)
            raise SourceError(f"The loader has no output {name}; it has {known}.", change.new.line)
        found.append(end)
    return found


def _matched_arguments(old: Sequence[str], new: Sequence[str]) -> dict[str, str]:
    """The old names of arguments. If as many have new names as are gone, they are renamed."""
    names = {name: name for name in new if name in old}
    removed, added = [name for name in old if name not in names], [name for name in new if name not in names]
    return names | dict(zip(added, removed, strict=True)) if len(removed) == len(added) else names


def _add_port(change: ModuleChange, name: str, key: str) -> str:
    title = _free(change, name)
    change.added.append(title)
    change.edit(lambda shown: edits.add(shown, title, Node(key)))
    return title


def _free(change: ModuleChange, name: str, own: str = "") -> str:
    used = {*change.shown.nodes, *change.after.nodes.values()} - {own}
    return naming.unique_name(name if naming.problem(name) is None else naming.to_identifier(name), used)


def _order_ports(change: ModuleChange, wanted: list[str], listed: Callable[[Mapping[str, Node]], list[str]]) -> None:
    current = [port for port in listed(change.document.blocks[change.block].nodes) if port in wanted]
    if current != wanted:
        change.document = reorder_ports(change.document, change.block, wanted)


def connect_results(change: ModuleChange) -> None:
    ends = [change.end(tensor, change.new, change.after, change.graphs) for tensor in change.new.results]
    found = [end for end in ends if end is not None]
    if change.block:
        _output_ports(change, found)
        return
    old = [change.end(tensor, change.old, change.previous, change.classes.previous) for tensor in change.old.results]
    if len(found) != len(old):
        raise SourceError(
            f"forward returned {len(old)} tensors, which losses and metrics read, and now returns {len(found)}. "
            "Wire losses and metrics on the canvas.",
            change.new.return_line,
        )
    for index, (before, end) in enumerate(zip(old, found, strict=True)):
        for target in change.readers[index] if before != end else ():
            wire = Wire(end, target)
            change.edit(lambda shown, wire=wire: edits.connect(shown, wire))


def _output_ports(change: ModuleChange, ends: list[Endpoint]) -> None:
    old = [change.end(tensor, change.old, change.previous, change.classes.previous) for tensor in change.old.results]
    ports: list[str | None] = list(change.before.outputs)
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
            change.edit(lambda shown, port=port: edits.remove(shown, [port]))
    for index, end in enumerate(ends):
        port = chosen[index]
        if port is None:
            port = chosen[index] = _add_port(change, _output_name(change, index), block_nodes.OUTPUT)
        wire = Wire(end, Endpoint(port, block_nodes.TAKEN))
        if wire not in change.shown.wires and not (index < len(old) and _is_same_result(change, port, end, old)):
            change.edit(lambda shown, wire=wire: edits.connect(shown, wire))
    change.after.outputs = chosen
    change.previous.outputs = [port if port in chosen else None for port in ports]
    _order_ports(change, [port for port in chosen if port is not None], block_nodes.output_ports)


def _output_name(change: ModuleChange, index: int) -> str:
    """A name for a new output: the one in variables such as `block_mask`, otherwise that of the result."""
    modules = change.classes.new.values()
    users = [node for each in modules for node in each.nodes.values() if node.target == change.new.name]
    listed = next((node.output_names for node in users if node.output_names), ())
    return listed[index] if index < len(listed) else change.new.result_names[index] or "output"


def _is_same_result(change: ModuleChange, port: str, end: Endpoint, old: list[Endpoint | None]) -> bool:
    """Whether a port showed this output before, perhaps through muted nodes."""
    ports = list(change.before.outputs)
    return port in ports and old[ports.index(port)] == end


__all__ = ["connect_results", "match_input_ports"]
