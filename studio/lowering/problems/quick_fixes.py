"""Quick fixes: undoable edits that a button next to a problem applies."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence

from msgspec.structs import replace

from studio.document import edits, weight_sharing
from studio.document.document_errors import EditError
from studio.document.graph_walk import walk
from studio.document.model import Document, Endpoint, Json, Node, Wire
from studio.lowering.parameter_text import shown
from studio.lowering.problems.problem import Fix
from studio.nodes.loss_sum_node import SUM

NODE_SPACING = 232.0
"""Horizontal distance between nodes: the node width plus room for the wire label."""

BELOW_WIRES = 72.0
"""Vertical distance of a node from the wires to the ports of a node beside it."""


def assign(name: str, param: str, value: Json) -> Fix:
    title = f"Turn {param} {'on' if value else 'off'}" if isinstance(value, bool) else f"Set {param} to {shown(value)}"
    return Fix(
        title,
        lambda document: edits.set_param(document, name, param, value),
        _settings(name, {param: value}),
    )


def assign_all(changes: Mapping[str, Mapping[str, Json]], title: str) -> Fix:
    """Set several parameters, by node."""

    def edit(document: Document) -> Document:
        for name, values in changes.items():
            for param, value in values.items():
                document = edits.set_param(document, name, param, value)
        return document

    settings = [_settings(name, values) for name, values in changes.items()]
    return Fix(title, edit, tuple(each for found in settings for each in found) if all(settings) else ())


def _settings(name: str, values: Mapping[str, Json]) -> tuple[str, ...]:
    """The values as arguments of `--set`; empty unless all can be expressed."""
    texts = [f"{name}.{param}={text}" for param, value in values.items() if (text := _setting(value)) is not None]
    return tuple(texts) if len(texts) == len(values) else ()


def _setting(value: Json) -> str | None:
    match value:
        case bool():
            return str(value).lower()
        case int() | float() | str():
            return str(value)
        case list():
            texts = [_setting(each) for each in value]
            return None if None in texts else ",".join(map(str, texts))
        case _:
            return None


def clear(name: str, param: str, title: str | None = None) -> Fix:
    return Fix(title or f"Clear {param}", lambda document: edits.clear_param(document, name, param))


def rename(old: str, base: str) -> Fix:
    return Fix(f"Rename {old}", lambda document: edits.rename(document, old, edits.unique_name(document, base)))


def unmute(name: str) -> Fix:
    return Fix(f"Unmute {name}", lambda document: edits.set_flag(document, [name], muted=False))


def mute(name: str) -> Fix:
    return Fix(f"Mute {name}", lambda document: edits.set_flag(document, [name], muted=True))


def unfreeze(names: Iterable[str]) -> Fix:
    frozen = tuple(names)
    title = f"Unfreeze {frozen[0]}" if len(frozen) == 1 else f"Unfreeze {len(frozen)} layers"
    return Fix(title, lambda document: edits.set_flag(document, frozen, frozen=False))


def freeze(*names: str) -> Fix:
    title = f"Freeze {' and '.join(names)}" if len(names) < 3 else f"Freeze {len(names)} layers"
    return Fix(title, lambda document: edits.set_flag(document, names, frozen=True))


def separate_weights(name: str) -> Fix:
    return Fix(f"Use separate weights for {name}", lambda document: weight_sharing.unshare(document, [name]))


def trains(optimizer: str, layers: Iterable[str], title: str) -> Fix:
    chosen = tuple(layers)
    return Fix(title, lambda document: edits.set_trains(document, optimizer, chosen))


def follow(metric: str) -> Fix:
    return Fix(
        f"Select weights by {metric}",
        lambda document: edits.set_training(document, follow=metric),
        (f"training.follow={metric}",),
    )


def order_loaders(order: str, title: str) -> Fix:
    return Fix(
        title,
        lambda document: edits.set_training(document, joint_order=order),
        (f"training.joint_order={order}",),
    )


def wire_up(source: Endpoint, target: Endpoint) -> Fix:
    return Fix(f"Connect {source}", lambda document: edits.connect(document, Wire(source, target)))


def swap(name: str, first: str, second: str) -> Fix:
    """Swap the wires of two inputs of a node."""

    def edit(document: Document) -> Document:
        sources = {wire.target.port: wire.source for wire in document.wires if wire.target.node == name}
        for port, source in ((first, sources[second]), (second, sources[first])):
            document = edits.connect(document, Wire(source, Endpoint(name, port)))
        return document

    return Fix("Swap the wires", edit)


def unwire(wire: Wire) -> Fix:
    return Fix("Remove the wire", lambda document: edits.disconnect(document, [wire]))


def retype(name: str, key: str, *, keep: Collection[str] = ()) -> Fix:
    """Change the type of a node to one with the same ports. Only the parameters in `keep` are kept."""

    def edit(document: Document) -> Document:
        node = document.nodes[name]
        params = {param: node.params[param] for param in node.params if param in keep}
        changed = replace(node, type=key, params=params, fitted=None)
        return replace(document, nodes={**document.nodes, name: changed})

    return Fix(f"Use {key.rpartition('.')[2]}", edit, () if keep else (f"{name}={key}",))


def replace_type(name: str, other: Node) -> Fix:
    """Change type and parameters of a node to those of another one with the same ports."""

    def edit(document: Document) -> Document:
        changed = replace(document.nodes[name], type=other.type, params=other.params)
        return replace(document, nodes={**document.nodes, name: changed})

    return Fix(f"Use {other.type.rpartition('.')[2]}", edit)


def add_loss(loss: Endpoint, optimizer: str, current_loss: Endpoint, unused_input: Endpoint | None) -> Fix:
    """Add a loss to the loss of an optimizer: at an unused input of its sum node, or with a new sum node."""
    input_port = Endpoint(optimizer, "loss")

    def edit(document: Document) -> Document:
        if unused_input is not None:
            return edits.connect(document, Wire(loss, unused_input))
        x, y = document.nodes[optimizer].at
        document = edits.move(document, _shifted(document, optimizer))
        name = edits.unique_name(document, "total_loss")
        document = edits.add(document, name, Node(SUM, at=(x, y)))
        for source, port in ((current_loss, "a"), (loss, "b")):
            document = edits.connect(document, Wire(source, Endpoint(name, port)))
        return edits.connect(document, Wire(Endpoint(name, "loss"), input_port))

    return Fix(f"Add {loss.node} to the loss of {optimizer}", edit)


def bypass(name: str, input_port: str) -> Fix:
    """Remove a node and connect the source of an input to all its readers. Inside a block, mute it instead."""
    if "." in name:
        return mute(name)

    def edit(document: Document) -> Document:
        source = next((w.source for w in document.wires if w.target == Endpoint(name, input_port)), None)
        targets = [wire.target for wire in document.wires if wire.source.node == name]
        document = edits.remove(document, [name])
        if source is not None and source.node != name:
            for target in targets:
                document = edits.connect(document, Wire(source, target))
        return document

    return Fix(f"Remove {name}", edit)


def remove(names: Iterable[str], title: str) -> Fix:
    """Remove nodes with their wires."""
    chosen = tuple(names)
    return Fix(title, lambda document: edits.remove(document, chosen))


def insert(target: Endpoint, node: Node, *, title: str, input_port: str = "input", output_port: str = "output") -> Fix:
    """Insert a node into the wire that ends at `target`, and move later nodes aside."""

    def edit(document: Document) -> Document:
        wire = next(wire for wire in document.wires if wire.target == target)
        name = edits.unique_name(document, node.type)
        x, y = document.nodes[target.node].at
        document = edits.move(document, _shifted(document, target.node))
        document = edits.add(document, name, replace(node, at=(x, y)))
        document = edits.connect(document, Wire(wire.source, Endpoint(name, input_port)))
        return edits.connect(document, Wire(Endpoint(name, output_port), target))

    def inner(prefix: str) -> Callable[[Document], Document]:
        end = _inside(target, prefix)
        return insert(end, node, title=title, input_port=input_port, output_port=output_port).edit

    return Fix(title, edit, inner=inner)


def insert_behind(
    source: Endpoint, node: Node, *, title: str, input_port: str = "input", output_port: str = "output"
) -> Fix:
    """Insert a node between an output and all its readers, and move later nodes aside."""

    def edit(document: Document) -> Document:
        targets = [wire.target for wire in document.wires if wire.source == source]
        name = edits.unique_name(document, node.type)
        x, y = document.nodes[source.node].at
        shifted = {each: at for each, at in _shifted(document, source.node).items() if each != source.node}
        document = edits.move(document, shifted)
        document = edits.add(document, name, replace(node, at=(x + NODE_SPACING, y)))
        for target in targets:
            document = edits.connect(document, Wire(Endpoint(name, output_port), target))
        return edits.connect(document, Wire(source, Endpoint(name, input_port)))

    def inner(prefix: str) -> Callable[[Document], Document]:
        end = _inside(source, prefix)
        return insert_behind(end, node, title=title, input_port=input_port, output_port=output_port).edit

    return Fix(title, edit, inner=inner)


def feed(source: Endpoint, node: Node, *targets: Endpoint, title: str, input_port: str = "input") -> Fix:
    """Add a node that computes the value of inputs without a wire from an output."""

    def edit(document: Document) -> Document:
        name = edits.unique_name(document, node.type)
        x, y = document.nodes[targets[0].node].at
        document = edits.move(document, _shifted(document, targets[0].node))
        document = edits.add(document, name, replace(node, at=(x, y + BELOW_WIRES)))
        document = edits.connect(document, Wire(source, Endpoint(name, input_port)))
        for target in targets:
            document = edits.connect(document, Wire(Endpoint(name, "output"), target))
        return document

    def inner(prefix: str) -> Callable[[Document], Document]:
        ends = [_inside(target, prefix) for target in targets]
        return feed(_inside(source, prefix), node, *ends, title=title, input_port=input_port).edit

    return Fix(title, edit, inner=inner)


def _inside(end: Endpoint, prefix: str) -> Endpoint:
    """An end in a block, by its name in the definition. Raises EditError for one elsewhere."""
    name = end.node.removeprefix(prefix)
    if name == end.node or "." in name:
        raise EditError(f"{end.node} is not in this block.")
    return Endpoint(name, end.port)


def all_of(fixes: Sequence[Fix], title: str) -> Fix:
    """Several fixes, one after another."""

    def edit(document: Document) -> Document:
        for fix in fixes:
            document = fix.edit(document)
        return document

    settings = tuple(text for fix in fixes for text in fix.settings) if all(fix.settings for fix in fixes) else ()
    return Fix(title, edit, settings)


def append(
    source: Endpoint,
    node: Node,
    input_port: str,
    *,
    title: str,
    outputs: Mapping[str, Iterable[Endpoint]] | None = None,
) -> Fix:
    """Add a node after an output.

    Args:
        outputs: inputs that its outputs are connected to
    """

    def edit(document: Document) -> Document:
        name = edits.unique_name(document, node.type)
        x, y = document.nodes[source.node].at
        document = edits.add(document, name, replace(node, at=(x + NODE_SPACING, y)))
        document = edits.connect(document, Wire(source, Endpoint(name, input_port)))
        for output, ends in (outputs or {}).items():
            for end in ends:
                document = edits.connect(document, Wire(Endpoint(name, output), end))
        return document

    return Fix(title, edit)


def append_loss(source: Endpoint, targets: Endpoint, node: Node, reader: Endpoint | None = None) -> Fix:
    """Add a loss that compares an output with targets.

    Args:
        reader: the input of an optimizer that the loss is connected to
    """

    def edit(document: Document) -> Document:
        name = edits.unique_name(document, node.type)
        x, y = document.nodes[source.node].at
        document = edits.add(document, name, replace(node, at=(x + NODE_SPACING, y)))
        document = edits.connect(document, Wire(source, Endpoint(name, "input")))
        document = edits.connect(document, Wire(targets, Endpoint(name, "target")))
        return document if reader is None else edits.connect(document, Wire(Endpoint(name, "loss"), reader))

    return Fix(f"Add {node.type.rpartition('.')[2]}", edit)


def _shifted(document: Document, first: str) -> dict[str, tuple[float, float]]:
    """New positions, one step to the right, of a node and all nodes after it."""
    targets: defaultdict[str, list[str]] = defaultdict(list)
    for wire in document.wires:
        if wire.target.node in document.nodes:
            targets[wire.source.node].append(wire.target.node)
    positions = {name: document.nodes[name].at for name in walk([first], lambda name: targets[name])}
    return {name: (x + NODE_SPACING, y) for name, (x, y) in positions.items()}
