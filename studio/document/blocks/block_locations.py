"""Where a graph of a document is: the canvas, or a definition entered through an instance and one of its copies."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple, TypeAlias, cast

from msgspec.structs import replace

from studio.document.blocks import block_nodes
from studio.document.blocks.block_edits import promoted_as, view
from studio.document.model import Block, Document, Json, Node, ParamRef

UNSET = object()
"""No value is set."""


class Step(NamedTuple):
    """An instance that was entered, and which of its copies."""

    instance: str
    copy: int = 0


Location: TypeAlias = tuple[Step, ...]
"""The instances around a graph, outermost first; empty for the canvas."""


def block_at(document: Document, location: Location) -> str:
    """Name of the definition at a location; empty for the canvas. Raises KeyError if there is none."""
    block = ""
    for step in location:
        used = block_nodes.name_of(_nodes(document, block)[step.instance])
        if used is None or used not in document.blocks:
            raise KeyError(step.instance)
        block = used
    return block


def graph_at(document: Document, location: Location) -> Document:
    """The graph at a location, as a document. Raises KeyError if there is none."""
    block = block_at(document, location)
    return view(document, block) if block else document


def prefix_of(document: Document, location: Location) -> str:
    """Beginning of the paths of the nodes at a location: "encoder.3."; empty for the canvas. Raises KeyError."""
    text = ""
    for depth, (instance, copy) in enumerate(location):
        text += f"{instance}."
        if is_indexed(document, block_at(document, location[:depth]), instance):
            text += f"{copy}."
    return text


def is_indexed(document: Document, block: str, instance: str) -> bool:
    """Whether paths have the index of the copy of an instance: where `block` sets or promotes its repetition.

    Args:
        block: the definition that the instance is in; empty for the canvas
    """
    if block_nodes.REPEAT in _nodes(document, block)[instance].params:
        return True
    ref = ParamRef(instance, block_nodes.REPEAT)
    return bool(block) and any(ref in refs for refs in document.blocks[block].params.values())


def copy_count(document: Document, location: Location) -> int:
    """How many copies the last instance of a location stands for."""
    if not location:
        return 1
    value = value_at(document, location[:-1], location[-1].instance, block_nodes.REPEAT)
    return block_nodes.repeat_count(Node("", {} if value is UNSET else {block_nodes.REPEAT: cast("Json", value)}))


def value_at(document: Document, location: Location, name: str, param: str) -> object:
    """The value that is set for a parameter of a node at a location, there or at an instance around it; else UNSET."""
    block = block_at(document, location)
    promoted = promoted_as(document.blocks[block], ParamRef(name, param)) if block else None
    if promoted is not None:
        step = location[-1]
        value = value_at(document, location[:-1], step.instance, promoted)
        each = block_nodes.values_per_copy(cast("Json", value))
        if each is not None:
            value = each[step.copy] if step.copy < len(each) else UNSET
        if value is not UNSET:
            return value
    return _nodes(document, block)[name].params.get(param, UNSET)


def locate(document: Document, path: str) -> tuple[Location, str]:
    """The location of a node, and its name there. A missing index of a copy is 0. Raises KeyError."""
    location: Location = ()
    names = path.split(".")
    while len(names) > 1:
        name = names.pop(0)
        copy = int(names.pop(0)) if len(names) > 1 and names[0].isdecimal() else 0
        location = (*location, Step(name, copy))
        if copy >= copy_count(document, location):
            raise KeyError(path)
    if names[0] not in _nodes(document, block_at(document, location)):
        raise KeyError(path)
    return location, names[0]


def nearest(document: Document, path: str) -> tuple[Location, str] | None:
    """The location and name of a node, or of the innermost instance around it that exists."""
    for each in block_nodes.path_and_outer(path):
        try:
            return locate(document, each)
        except KeyError:
            continue
    return None


def canonical_paths(document: Document, paths: Iterable[str]) -> Iterator[str]:
    """The paths of nodes that exist, with an index where copies have one."""
    for path in paths:
        if path in document.nodes:
            yield path
            continue
        try:
            location, name = locate(document, path)
        except KeyError:
            continue
        yield prefix_of(document, location) + name


class Renaming:
    """Finds nodes of an old document in a new one, also under new names."""

    def __init__(self, old: Document, new: Document) -> None:
        self.old, self.new = old, new
        self._names: dict[tuple[str, str], dict[int, str]] = {}

    def location(self, location: Location) -> Location:
        """The same location, as far as its instances still exist."""
        found: Location = ()
        for depth, step in enumerate(location):
            name = self._name(block_at(self.old, location[:depth]), block_at(self.new, found), step.instance)
            if name is None or block_nodes.name_of(_node(self.new, found, name)) not in self.new.blocks:
                break
            inner = (*found, Step(name))
            found = (*found, Step(name, min(step.copy, copy_count(self.new, inner) - 1)))
        return found

    def path(self, path: str) -> str | None:
        """The path of the same node; None if it is gone."""
        if path in self.old.nodes and path in self.new.nodes:
            return path
        try:
            location, name = locate(self.old, path)
        except KeyError:
            return None
        moved = self.location(location)
        if len(moved) < len(location):
            return None
        new = self._name(block_at(self.old, location), block_at(self.new, moved), name)
        return None if new is None else prefix_of(self.new, moved) + new

    def _name(self, old: str, new: str, name: str) -> str | None:
        before, after = _nodes(self.old, old), _nodes(self.new, new)
        if name in after:
            return name
        if (old, new) not in self._names:
            self._names[old, new] = {id(node): key for key, node in after.items() if key not in before}
        return self._names[old, new].get(id(before[name]))


def changed_location(
    old: Document, new: Document, shown: Location, preferred: Iterable[Location] = ()
) -> Location | None:
    """Where a change is to be seen: None if the graph at `shown` has changed, or if no graph has.

    Args:
        shown: a location in `new`
        preferred: locations to choose first, which may be gone
    """
    if _is_changed(old, new, block_at(new, shown)) or _has_other_values(old, new, shown):
        return None
    if _is_changed(old, new, ""):
        return ()
    changed = {name for name in new.blocks if _is_changed(old, new, name)}
    for location in preferred:
        try:
            if block_at(new, location) in changed:
                return location
        except KeyError:
            continue
    return next((location for location in _locations(new) if block_at(new, location) in changed), None)


def first_paths(document: Document, paths: Iterable[str]) -> set[str]:
    """The paths of nodes in the first instances of their blocks, without indexes of copies: those of program lines."""
    prefixes: dict[Location, str] = {}
    found: set[str] = set()
    for path in paths:
        location, name = nearest(document, path) or ((), path)
        if location not in prefixes:
            prefixes[location] = first_prefix(document, location)
        found.add(prefixes[location] + name)
    return found


def first_prefix(document: Document, location: Location) -> str:
    """Beginning of the paths in the first instance of the block at a location, without indexes of copies."""
    if not location:
        return ""
    block = block_at(document, location)
    first = next((each for each in _in_order(document, (), set()) if block_at(document, each) == block), location)
    return "".join(f"{step.instance}." for step in first)


def shared_prefixes(document: Document, graph: Document) -> dict[str, str]:
    """For each instance in a graph, the prefix of the first instance of its block: its code is that of both."""
    first: dict[str, str] = {}
    for location in _in_order(document, (), set()):
        first.setdefault(block_at(document, location), "".join(f"{step.instance}." for step in location))
    used = {name: block_nodes.name_of(node) for name, node in graph.nodes.items() if not node.muted}
    return {name: first[block] for name, block in used.items() if block in first}


def _in_order(document: Document, location: Location, seen: set[str]) -> Iterator[Location]:
    """Locations of all definitions in use, depth first as in an Expansion; each definition once."""
    for name, node in _nodes(document, block_at(document, location)).items():
        used = block_nodes.name_of(node)
        if used in document.blocks and used not in seen and not node.muted:
            seen.add(used)
            yield (*location, Step(name))
            yield from _in_order(document, (*location, Step(name)), seen)


def all_nodes(document: Document) -> Iterator[tuple[str, Node]]:
    """Paths and nodes of the canvas, then of all instances, outer ones first; of repeated ones, those of copy 0."""
    queue: list[tuple[Location, frozenset[str]]] = [((), frozenset())]
    for location, around in queue:  # which grows
        prefix = prefix_of(document, location)
        for name, node in _nodes(document, block_at(document, location)).items():
            yield prefix + name, node
            used = block_nodes.name_of(node)
            if used in document.blocks and used not in around:
                queue.append(((*location, Step(name)), around | {used}))


def _locations(document: Document) -> Iterator[Location]:
    """Locations of all definitions in use, outer ones first; each definition once."""
    seen: set[str] = set()
    queue: list[Location] = [()]
    for location in queue:  # which grows
        for name, node in _nodes(document, block_at(document, location)).items():
            used = block_nodes.name_of(node)
            if used in document.blocks and used not in seen:
                seen.add(used)
                queue.append((*location, Step(name)))
                yield queue[-1]


def _is_changed(old: Document, new: Document, block: str) -> bool:
    if not block:
        return _graph(old) != _graph(new)
    before, after = old.blocks.get(block, Block()), new.blocks[block]
    return not block_nodes.are_equal(replace(before, description=""), replace(after, description=""))


def _graph(document: Document) -> tuple[object, ...]:
    """What the canvas shows of the project."""
    return (document.nodes, document.wires, document.frames, document.routes)


def _has_other_values(old: Document, new: Document, location: Location) -> bool:
    """Whether the instances around a graph set other values for its promoted parameters."""
    block = block_at(new, location)
    refs = [ref for each in new.blocks[block].params.values() for ref in each] if block else []
    try:
        return any(
            value_at(old, location, ref.node, ref.param) != value_at(new, location, ref.node, ref.param) for ref in refs
        )
    except KeyError:
        return True


def _nodes(document: Document, block: str) -> Mapping[str, Node]:
    return document.blocks[block].nodes if block else document.nodes


def _node(document: Document, location: Location, name: str) -> Node:
    return _nodes(document, block_at(document, location))[name]


__all__ = [
    "UNSET",
    "Location",
    "Renaming",
    "Step",
    "all_nodes",
    "block_at",
    "canonical_paths",
    "first_paths",
    "first_prefix",
    "changed_location",
    "copy_count",
    "graph_at",
    "is_indexed",
    "locate",
    "nearest",
    "prefix_of",
    "value_at",
]
