"""Differences between two documents, found by identity. Canvas and panels apply only these."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from msgspec.structs import replace

from studio.document.blocks.block_nodes import are_equal
from studio.document.model import Block, Document, Endpoint, Frame, ImportedWeights, Node, TrainingSettings, Wire


@dataclass(frozen=True, slots=True)
class Difference:
    """The changes from an old document to a new one. True if there are any."""

    removed: tuple[str, ...] = ()
    renamed: Mapping[str, str] = field(default_factory=dict[str, str])
    """Old name → new name, of nodes that are the same object under another name."""
    added: Mapping[str, Node] = field(default_factory=dict[str, Node])
    changed: Mapping[str, Node] = field(default_factory=dict[str, Node])
    """Changed nodes with an unchanged name, in their new version."""
    wires_removed: tuple[Wire, ...] = ()
    wires_added: tuple[Wire, ...] = ()
    """Wires of a renamed node appear here with the new name and in `wires_removed` with the old one."""
    training: TrainingSettings | None = None
    """The new run settings, if they changed."""
    description: str | None = None
    """The new description, if it changed."""
    blocks: Mapping[str, Block] | None = None
    """The new definitions, if they changed."""
    frames: Mapping[str, Frame] | None = None
    """The new frames, if they changed."""
    routes: Mapping[Endpoint, tuple[tuple[float, float], ...]] | None = None
    """The new reroute points, if they changed."""
    breakpoints: Mapping[str, bool] | None = None
    """The new breakpoints, if they changed."""
    weights: tuple[ImportedWeights | None] | None = None
    """The new weights that a training starts from, or None in a tuple, if they changed."""

    def __bool__(self) -> bool:
        return self != Difference()

    def apply(self, document: Document) -> Document:
        """The new document, made from the old one."""
        removed = set(self.removed)
        nodes = {self.renamed.get(name, name): node for name, node in document.nodes.items() if name not in removed}
        nodes.update(self.changed)
        nodes.update(self.added)
        wires = set(document.wires).difference(self.wires_removed).union(self.wires_added)
        return replace(
            document,
            nodes=nodes,
            wires=tuple(sorted(wires)),
            training=document.training if self.training is None else self.training,
            description=document.description if self.description is None else self.description,
            blocks=document.blocks if self.blocks is None else dict(self.blocks),
            frames=document.frames if self.frames is None else dict(self.frames),
            routes=document.routes if self.routes is None else dict(self.routes),
            breakpoints=document.breakpoints if self.breakpoints is None else dict(self.breakpoints),
            weights=document.weights if self.weights is None else self.weights[0],
        )


def difference(old: Document, new: Document) -> Difference:
    """The changes from `old` to `new`. Takes well under a millisecond for thousands of nodes."""
    if old is new:
        return Difference()
    removed, renamed, added, changed = _compare_nodes(old.nodes, new.nodes)
    return Difference(
        removed=removed,
        renamed=renamed,
        added=added,
        changed=changed,
        wires_removed=_missing(old.wires, new.wires),
        wires_added=_missing(new.wires, old.wires),
        training=None if old.training == new.training else new.training,
        description=None if old.description == new.description else new.description,
        blocks=None if _are_equal(old.blocks, new.blocks) else new.blocks,
        frames=None if old.frames is new.frames or old.frames == new.frames else new.frames,
        routes=None if old.routes is new.routes or old.routes == new.routes else new.routes,
        breakpoints=None if old.breakpoints == new.breakpoints else new.breakpoints,
        weights=None if old.weights == new.weights else (new.weights,),
    )


def reuse_equal_objects(old: Document, new: Document) -> Document:
    """`new` with equal objects replaced by those of `old`, so that `difference` finds only actual changes."""
    nodes = {name: old.nodes[name] if old.nodes.get(name) == node else node for name, node in new.nodes.items()}
    if list(nodes.items()) == list(old.nodes.items()) and new == old:
        return old
    old_wires = {wire: wire for wire in old.wires}
    wires = old.wires if new.wires == old.wires else tuple(old_wires.get(wire, wire) for wire in new.wires)
    return replace(new, nodes=nodes, wires=wires)


def _compare_nodes(
    old: Mapping[str, Node], new: Mapping[str, Node]
) -> tuple[tuple[str, ...], dict[str, str], dict[str, Node], dict[str, Node]]:
    """(removed, renamed, added, changed)."""
    if old is new:
        return (), {}, {}, {}
    added = {name: node for name, node in new.items() if name not in old}
    changed = {name: node for name, node in new.items() if name in old and old[name] is not node}
    missing = {name: node for name, node in old.items() if name not in new}
    added_by_id = {id(node): name for name, node in added.items()}
    renamed = {
        name: new_name for name, node in missing.items() if (new_name := added_by_id.pop(id(node), None)) is not None
    }
    for name in renamed.values():
        del added[name]
    return tuple(name for name in missing if name not in renamed), renamed, added, changed


def _are_equal(old: Mapping[str, Block], new: Mapping[str, Block]) -> bool:
    return old is new or (old.keys() == new.keys() and all(are_equal(old[name], new[name]) for name in old))


def _missing(wires: tuple[Wire, ...], other: tuple[Wire, ...]) -> tuple[Wire, ...]:
    """The wires that are not in `other`. Compares identity first: edits keep wire objects."""
    if wires is other:
        return ()
    other_ids = {id(wire) for wire in other}
    candidates = [wire for wire in wires if id(wire) not in other_ids]
    if not candidates:
        return ()
    other_wires = set(other)
    return tuple(wire for wire in candidates if wire not in other_wires)
