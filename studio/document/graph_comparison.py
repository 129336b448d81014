"""Differences between two projects by content, in all graphs: of the canvas and of the definitions of blocks.

Unlike `document_difference`, which follows edits, nodes are compared by value, renamed nodes are recognized by their
content and wires, and positions are ignored.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias

from msgspec.structs import asdict

from studio.document.blocks import block_nodes
from studio.document.model import Block, Document, Endpoint, Node, Wire

Kind: TypeAlias = Literal["added", "removed", "changed", "renamed", "block changed", "rewired"]
KINDS: tuple[Kind, ...] = ("added", "removed", "changed", "renamed", "block changed", "rewired")

_LAYOUT = ("at", "collapsed", "dismissed")
"""Fields of a node without effect on the computation."""
MISSING = "default"
"""Stands for the value of a parameter that is not set."""


@dataclass(frozen=True, slots=True)
class Value:
    """A parameter, flag or setting with a different value. A missing value is the text "default"."""

    name: str
    old: Any
    new: Any

    def __str__(self) -> str:
        return f"{self.name}: {text_of(self.old)} → {text_of(self.new)}"


@dataclass(frozen=True, slots=True)
class Change:
    """The difference of one node."""

    block: str
    """The definition that contains the node; empty for the canvas."""
    kind: Kind
    old: str | None
    """Name before; None for an added node."""
    new: str | None
    """Name after; None for a removed node."""
    values: tuple[Value, ...] = ()
    wires_removed: tuple[Wire, ...] = ()
    """Wires into the node that are gone, with the names before."""
    wires_added: tuple[Wire, ...] = ()
    """New wires into the node, with the names after."""

    @property
    def node(self) -> str:
        """The name in the newer graph that has the node."""
        return self.new or self.old or ""

    @property
    def path(self) -> str:
        """The node with the definition that contains it: "encoder/fc"."""
        return f"{self.block}/{self.node}" if self.block else self.node

    def __str__(self) -> str:
        details = [str(value) for value in self.values]
        details += [f"wire removed: {wire}" for wire in self.wires_removed]
        details += [f"wire added: {wire}" for wire in self.wires_added]
        name = f"{self.path}, formerly {self.old}" if self.old and self.new and self.old != self.new else self.path
        return f"{name}: {self.kind}" + "".join(f"\n  {detail}" for detail in details)


@dataclass(frozen=True, slots=True)
class Comparison:
    """The differences of two projects."""

    changes: tuple[Change, ...] = ()
    """Changed nodes: those of the canvas, then those of definitions."""
    blocks_added: tuple[str, ...] = ()
    blocks_removed: tuple[str, ...] = ()
    training: tuple[Value, ...] = ()
    """Changed training settings."""

    def __bool__(self) -> bool:
        return self != Comparison()

    def within(self, block: str) -> tuple[Change, ...]:
        """The changes in a definition; of the canvas for an empty name."""
        return tuple(change for change in self.changes if change.block == block)


@dataclass(slots=True)
class _Graphs:
    """The nodes and wires of one graph in two versions."""

    block: str
    old: Document | Block
    new: Document | Block
    names: dict[str, str] = field(default_factory=dict[str, str])
    """New names of the old nodes that still exist."""


def compare(old: Document, new: Document) -> Comparison:
    """The differences from an old to a new project."""
    both = [name for name in old.blocks if name in new.blocks]
    graphs = [_Graphs("", old, new), *(_Graphs(name, old.blocks[name], new.blocks[name]) for name in both)]
    found: dict[str, list[Change]] = {}
    for each in graphs:
        each.names = {name: name for name in each.old.nodes if name in each.new.nodes} | _renamed(each.old, each.new)
        found[each.block] = list(_changes(each))
    differing = _differing_blocks(new, {block for block, changes in found.items() if block and changes})
    changes = [change for each in graphs for change in (*found[each.block], *_instances(each, found, differing))]
    return Comparison(
        tuple(changes),
        tuple(name for name in new.blocks if name not in old.blocks),
        tuple(name for name in old.blocks if name not in new.blocks),
        tuple(_values(asdict(old.training), asdict(new.training))),
    )


def _renamed(old: Document | Block, new: Document | Block) -> dict[str, str]:
    """New names of nodes with the same content under another name; of several, those with similar wires."""
    candidates: defaultdict[object, list[str]] = defaultdict(list)
    for name, node in new.nodes.items():
        if name not in old.nodes:
            candidates[_content(node)].append(name)
    names: dict[str, str] = {}
    before, after = _neighbors(old.wires), _neighbors(new.wires)
    for name, node in old.nodes.items():
        if name in new.nodes or not (similar := candidates[_content(node)]):
            continue
        known = {(side, port, names.get(other, other)) for side, port, other in before[name]}
        best = max(similar, key=lambda each: len(known & after[each]))
        names[name] = best
        similar.remove(best)
    return names


def _neighbors(wires: tuple[Wire, ...]) -> defaultdict[str, set[tuple[str, str, str]]]:
    found: defaultdict[str, set[tuple[str, str, str]]] = defaultdict(set)
    for wire in wires:
        found[wire.target.node].add(("input", wire.target.port, wire.source.node))
        found[wire.source.node].add(("output", wire.source.port, wire.target.node))
    return found


def _content(node: Node) -> str:
    fields = asdict(node)
    return repr(sorted((key, value) for key, value in fields.items() if key not in _LAYOUT))


def _changes(graphs: _Graphs) -> Iterator[Change]:
    """Changes of the nodes of one graph, without differences inside instances."""
    old, new, names = graphs.old, graphs.new, graphs.names
    removed, added = _wire_changes(graphs)
    for name, node in old.nodes.items():
        if (now := names.get(name)) is None:
            yield Change(graphs.block, "removed", name, None, (), tuple(removed.get(name, ())))
            continue
        after = new.nodes[now]
        values = () if node is after else tuple(_values(_fields(node), _fields(after)))
        wires = tuple(removed.get(name, ())), tuple(added.get(now, ()))
        if values or name != now or any(wires):
            kind: Kind = "changed" if values else "renamed" if name != now else "rewired"
            yield Change(graphs.block, kind, name, now, values, *wires)
    kept = set(names.values())
    for name in new.nodes:
        if name not in kept:
            yield Change(graphs.block, "added", None, name, (), (), tuple(added.get(name, ())))


def _wire_changes(graphs: _Graphs) -> tuple[dict[str, list[Wire]], dict[str, list[Wire]]]:
    """Removed and added wires by the node that they lead to. Wires of renamed nodes are the same."""
    names = graphs.names

    def renamed(wire: Wire) -> Wire:
        source, target = wire.source, wire.target
        return Wire(
            Endpoint(names.get(source.node, source.node), source.port),
            Endpoint(names.get(target.node, target.node), target.port),
        )

    before, after = {renamed(wire): wire for wire in graphs.old.wires}, set(graphs.new.wires)
    removed: defaultdict[str, list[Wire]] = defaultdict(list)
    added: defaultdict[str, list[Wire]] = defaultdict(list)
    for now, wire in before.items():
        if now not in after:
            removed[wire.target.node].append(wire)
    for wire in graphs.new.wires:
        if wire not in before:
            added[wire.target.node].append(wire)
    return removed, added


def _instances(graphs: _Graphs, found: Mapping[str, list[Change]], differing: set[str]) -> Iterator[Change]:
    """Instances whose definition differs, if they have no other change."""
    listed = {change.new for change in found[graphs.block]}
    before = {now: name for name, now in graphs.names.items()}
    for name, node in graphs.new.nodes.items():
        if name in before and name not in listed and block_nodes.name_of(node) in differing:
            yield Change(graphs.block, "block changed", before[name], name)


def _differing_blocks(document: Document, changed: set[str]) -> set[str]:
    """Definitions that changed or contain instances of such."""
    return {
        name
        for name, block in document.blocks.items()
        if name in changed or changed.intersection(block_nodes.reachable_blocks(document.blocks, block.nodes))
    }


def _fields(node: Node) -> dict[str, Any]:
    """Type, flags and parameters by name."""
    fields = {key: value for key, value in asdict(node).items() if key not in (*_LAYOUT, "params")}
    return fields | dict(node.params)


def _values(old: Mapping[str, Any], new: Mapping[str, Any]) -> Iterator[Value]:
    for name in dict.fromkeys((*old, *new)):
        before, after = old.get(name, MISSING), new.get(name, MISSING)
        if before != after or type(before) is not type(after):
            yield Value(name, before, after)


def text_of(value: object) -> str:
    """A value as text: "on", "none", "3"."""
    if isinstance(value, bool):
        return "on" if value else "off"
    return "none" if value is None else str(value)


__all__ = ["KINDS", "MISSING", "Change", "Comparison", "Kind", "Value", "compare", "text_of"]
