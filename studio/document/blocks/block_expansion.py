"""The flat graph of a document: every instance of a block is replaced by the nodes of its definition.

An inner node is named by its path, such as "encoder.3.attention", which is also the prefix of its parameters in weight
files. Copies of a repeated instance have their index in the path.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field

from msgspec.structs import replace

from studio.document.blocks import block_nodes
from studio.document.model import Block, Document, Endpoint, Json, Node, ParamRef, Wire
from studio.document.weight_sharing import layer_of

MAX_NODES = 50_000
"""Instances that would make the flat graph larger are not expanded."""
MAX_DEPTH = 50
"""Instances that are deeper inside each other are not expanded."""


@dataclass(eq=False, slots=True)
class Scope:
    """The canvas, or one copy of an instance."""

    nodes: Mapping[str, Node]
    """Its nodes by name, with the promoted parameters and the flags that instances around them set."""
    sources: Mapping[Endpoint, Endpoint]
    """The source of each wire by its target."""
    prefix: str = ""
    """Beginning of the paths of its nodes, for instance "encoder.3."; empty for the canvas."""
    block: str = ""
    """Name of its definition; empty for the canvas."""
    parent: Scope | None = None
    instance: str = ""
    """Name of the instance in the parent."""
    index: int = 0
    """Number of the copy."""
    copies: dict[str, list[Scope]] = field(default_factory=dict[str, "list[Scope]"])
    """The copies of each expanded instance in it."""

    @property
    def instance_path(self) -> str:
        """Path of the instance, without the index of the copy; empty for the canvas."""
        return "" if self.parent is None else self.parent.prefix + self.instance

    def with_inner(self) -> Iterator[Scope]:
        """This scope and all scopes in it, outer ones first."""
        yield self
        for copies in self.copies.values():
            for copy in copies:
                yield from copy.with_inner()

    def is_boundary(self, name: str) -> bool:
        """Whether a node is a port of the block."""
        return self.parent is not None and self.nodes[name].type in (block_nodes.INPUT, block_nodes.OUTPUT)

    def output(self, port: str) -> Endpoint | None:
        """The output in this scope that an output port shows; None if none is connected."""
        node = self.nodes.get(port)
        is_port = node is not None and node.type == block_nodes.OUTPUT
        return self.sources.get(Endpoint(port, block_nodes.TAKEN)) if is_port else None


class Expansion:
    """The scopes of a document and its flat graph.

    Args:
        only: expand this instance of the canvas alone, and none inside it
        previous: an earlier expansion. Equal nodes and wires of the flat graph are the same objects in both, so that
            what was found out about them still holds.
    """

    def __init__(self, document: Document, previous: Expansion | None = None, *, only: str | None = None) -> None:
        self.document = document
        self._only = only
        self.is_truncated = False
        """Whether instances are not expanded because there would be too many nodes."""
        self.recursive: set[str] = set()
        """Blocks that contain themselves."""
        self._room = MAX_NODES
        self._adapted: dict[str, tuple[Node, Node]] = {}
        self._earlier = {} if previous is None else previous._adapted
        self._sources: dict[str, Mapping[Endpoint, Endpoint]] = {}
        self._passed: dict[str, set[str]] = {}
        """By node of the flat graph: paths of the copies that its inputs pass through."""
        self.root = Scope(document.nodes, _sources(document.wires))
        self.flat = document
        """The document with a flat graph and without layout. Instances that cannot be expanded are nodes of it."""
        if any(True for _ in block_nodes.used_blocks(document.nodes)):
            self._expand(self.root, frozenset())
            nodes = {scope.prefix + name: scope.nodes[name] for scope, name in self._plain_nodes(self.root)}
            wires = tuple(sorted(self._flat_wires()))
            if previous is not None and previous.flat.wires == wires:
                wires = previous.flat.wires
            self.flat = replace(document, nodes=nodes, wires=wires, frames={}, routes={})

    @property
    def is_flat(self) -> bool:
        """Whether the document has no instances."""
        return self.flat is self.document

    def same_nodes(self, paths: Collection[str]) -> set[str]:
        """The nodes of the flat graph that these stand for in all instances that these are in or read through."""
        outer = {path.rpartition(".")[0] for path in paths} - {""}
        outer |= {prefix for target, prefixes in self._passed.items() if target in paths for prefix in prefixes}
        scopes = [scope for scope in self.root.with_inner() if scope.prefix[:-1] in outer]
        names: dict[str, set[str]] = {}
        for scope in scopes:
            names.setdefault(scope.block, set()).update(name for name in scope.nodes if scope.prefix + name in paths)
        return {scope.prefix + name for scope in scopes for name in names[scope.block]}

    def source(self, scope: Scope, end: Endpoint | None, passed: set[str] | None = None) -> Endpoint | None:
        """The output in the flat graph whose value an output in a scope has; None if it has none.

        Adds the paths of the copies that the value comes out of to `passed`.
        """
        seen: set[tuple[int, Endpoint]] = set()
        while end is not None and end.node in scope.nodes:
            if (id(scope), end) in seen:
                return None  # a loop of blocks that pass their input on
            seen.add((id(scope), end))
            if scope.is_boundary(end.node):
                if scope.nodes[end.node].type != block_nodes.INPUT or end.port != block_nodes.GIVEN:
                    return None  # a stray wire
                scope, end = _feeding(scope, end.node)
            elif end.node in scope.copies:
                scope = scope.copies[end.node][-1]
                end = scope.output(end.port)
                if passed is not None:
                    passed.add(scope.prefix[:-1])
            else:
                return Endpoint(scope.prefix + end.node, end.port)
        return None

    def locate(self, path: str) -> tuple[Scope, str]:
        """The scope and the name there of a node of the flat graph or of an instance. Raises KeyError."""
        scope, parts = self.root, path.split(".")
        while len(parts) > 1:
            copies = scope.copies[parts.pop(0)]
            scope = copies[int(parts.pop(0)) if parts[0].isdecimal() else 0]
        if not parts or parts[0] not in scope.nodes:
            raise KeyError(path)
        return scope, parts[0]

    # -- building it

    def _expand(self, scope: Scope, around: frozenset[str]) -> None:
        """Make the scopes of all instances in `scope`. `around`: the blocks that it is in."""
        for name, node in scope.nodes.items():
            used = block_nodes.name_of(node)
            block = self.document.blocks.get(used or "")
            if used is None or block is None or node.muted:
                continue
            if used in around:
                self.recursive.add(used)
                continue
            if self._only is not None and (name != self._only or around):
                continue
            node = self._with_settings(scope, name)
            count, is_indexed = block_nodes.repeat_count(node), self._is_indexed(scope, name)
            self._room -= count * (1 + len(block.nodes))
            if self._room < 0 or len(around) == MAX_DEPTH:
                self.is_truncated = True
                return
            scope.copies[name] = copies = [
                self._scope(used, block, scope, name, index, indexed=is_indexed) for index in range(count)
            ]
            for copy in copies:
                self._expand(copy, around | {used})

    def _scope(self, used: str, block: Block, parent: Scope, instance: str, index: int, *, indexed: bool) -> Scope:
        prefix = f"{parent.prefix}{instance}." + (f"{index}." if indexed else "")
        if used not in self._sources:
            self._sources[used] = _sources(block.wires)
        node = self._with_settings(parent, instance)
        values = _promoted_values(block, node, index)
        owner = self._owner_prefix(parent, instance, index, indexed=indexed)
        nodes: dict[str, Node] = {}
        for name, inner in block.nodes.items():
            shares = owner + name if owner else prefix + inner.shares if inner.shares else ""
            nodes[name] = self._adapt(prefix + name, inner, values.get(name, {}), shares, frozen=node.frozen)
        return Scope(nodes, self._sources[used], prefix, used, parent, instance, index)

    def _is_indexed(self, scope: Scope, name: str) -> bool:
        """Whether paths have the index of the copy: where the definition sets or promotes the repetition."""
        name = layer_of(self._definition(scope), name)
        if scope.parent is None:
            return block_nodes.REPEAT in scope.nodes[name].params
        block = self.document.blocks[scope.block]
        ref = ParamRef(name, block_nodes.REPEAT)
        return block_nodes.REPEAT in block.nodes[name].params or any(ref in refs for refs in block.params.values())

    def _definition(self, scope: Scope) -> Mapping[str, Node]:
        """The nodes of a scope as the document has them."""
        return self.document.nodes if scope.parent is None else self.document.blocks[scope.block].nodes

    def _with_settings(self, scope: Scope, name: str) -> Node:
        """A node with its parameters, which are those of its owner if it shares weights."""
        layer = layer_of(self._definition(scope), name)
        node = scope.nodes[name]
        return node if layer == name else replace(node, params=scope.nodes[layer].params)

    def _owner_prefix(self, parent: Scope, instance: str, index: int, *, indexed: bool) -> str:
        """The prefix of the copy whose weights a copy of an instance uses; empty if it has separate weights."""
        defined = self._definition(parent)
        layer = layer_of(defined, instance)
        if layer == instance and (not parent.nodes[instance].shares or defined[instance].shares):
            return ""  # a node outside this scope can be the owner only if the instance around it shares weights
        path = parent.prefix + layer if layer != instance else parent.nodes[instance].shares
        return f"{path}." + (f"{index}." if indexed else "")

    def _adapt(self, path: str, node: Node, values: Mapping[str, Json], shares: str, *, frozen: bool) -> Node:
        """A node of a definition as it is in one instance: the same object if nothing differs."""
        if not values and (node.frozen or not frozen) and not shares:
            return node
        params = {**node.params, **values} if values else node.params
        adapted = replace(node, params=params, frozen=node.frozen or frozen, shares=shares)
        earlier, result = self._earlier.get(path, (None, None))
        if earlier is not node or result != adapted or result is None:
            result = adapted
        self._adapted[path] = (node, result)
        return result

    def _plain_nodes(self, scope: Scope) -> Iterator[tuple[Scope, str]]:
        """The nodes of the flat graph, those of an instance at the position of the instance."""
        for name in scope.nodes:
            if name in scope.copies:
                for copy in scope.copies[name]:
                    yield from self._plain_nodes(copy)
            elif not scope.is_boundary(name):
                yield scope, name

    def _flat_wires(self) -> Iterator[Wire]:
        for scope in self.root.with_inner():
            for target, source in scope.sources.items():
                if target.node not in scope.nodes or target.node in scope.copies or scope.is_boundary(target.node):
                    continue
                path, passed = scope.prefix + target.node, set[str]()
                if (end := self.source(scope, source, passed)) is not None:
                    yield Wire(end, Endpoint(path, target.port))
                if passed:
                    self._passed.setdefault(path, set()).update(passed)


def flat_document(document: Document) -> Document:
    """The document with its flat graph: itself if it has no instances."""
    return Expansion(document).flat


def _feeding(scope: Scope, port: str) -> tuple[Scope, Endpoint | None]:
    """The scope and the output that feed an input port: of the copy before, or by the wire into the instance."""
    assert scope.parent is not None
    if scope.index and port == block_nodes.input_ports(scope.nodes)[0]:
        before = scope.parent.copies[scope.instance][scope.index - 1]
        outputs = block_nodes.output_ports(before.nodes)
        return before, before.output(outputs[0]) if outputs else None
    return scope.parent, scope.parent.sources.get(Endpoint(scope.instance, port))


def _sources(wires: tuple[Wire, ...]) -> dict[Endpoint, Endpoint]:
    return {wire.target: wire.source for wire in wires}


def _promoted_values(block: Block, instance: Node, index: int) -> dict[str, dict[str, Json]]:
    """The values that one copy of an instance sets, by inner node and parameter."""
    values: dict[str, dict[str, Json]] = {}
    for name, refs in block.params.items():
        if name not in instance.params:
            continue
        value = instance.params[name]
        if (each := block_nodes.values_per_copy(value)) is not None:
            if index >= len(each):
                continue  # a problem that the check reports
            value = each[index]
        for ref in refs:
            values.setdefault(ref.node, {})[ref.param] = value
    return values


__all__ = ["MAX_DEPTH", "MAX_NODES", "Expansion", "Scope", "flat_document"]
