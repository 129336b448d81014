"""Definitions of a project that are copies of blocks of a library: inserting, comparing and updating them."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum

from msgspec.structs import replace

from studio.document import node_names as naming
from studio.document.blocks import block_nodes
from studio.document.blocks.block_digest import block_digest
from studio.document.blocks.block_edits import is_used, rename_block, with_blocks
from studio.document.blocks.block_library import LibraryBlock
from studio.document.blocks.instance_updates import update_instances
from studio.document.model import Block, Document, Node


class CopyState(StrEnum):
    """How a definition relates to the block that it is a copy of."""

    EQUAL = "equal"
    OUTDATED = "outdated"
    """The library has another version, and the project's is unchanged."""
    MODIFIED = "modified"
    """The project's version was edited, and the library's is unchanged."""
    DIVERGED = "diverged"
    """Both changed."""
    MISSING = "missing"
    """The library has no such block any more."""


@dataclass(frozen=True, slots=True)
class LibraryUpdate:
    """A document in which a definition has the version of the library."""

    document: Document
    changes: tuple[str, ...]
    """What differs in the definition, as phrases: "adds input mask"."""
    losses: tuple[str, ...]
    """Wires and values at instances that it removes: "encoder: wire to mask"."""


def insert(
    document: Document, entry: LibraryBlock, base: str | None = None, at: tuple[float, float] = (0.0, 0.0)
) -> tuple[Document, str]:
    """Add an instance of a library's block, and its definition unless the project has it; also returns its name."""
    name = existing_copy(document, entry)
    if name is None:
        document, name = add_definition(document, entry)
    instance = naming.unique_name(base or naming.to_identifier(name), document.nodes)
    return replace(document, nodes={**document.nodes, instance: Node(block_nodes.type_of(name), at=at)}), instance


def existing_copy(document: Document, entry: LibraryBlock) -> str | None:
    """The definition of a document that equals a library's block."""
    origin = entry.origin
    candidates = (name for name, block in document.blocks.items() if name == entry.name or block.origin == origin)
    return next((name for name in candidates if block_digest(document.blocks, name) == entry.digest), None)


def add_definition(document: Document, entry: LibraryBlock) -> tuple[Document, str]:
    """Add the definition of a library's block and those that it uses; also returns its name in the document."""
    used = "used"
    copied = {**entry.definitions, entry.name: replace(entry.block, origin=entry.origin)}
    document, piece = with_blocks(document, Document({used: Node(block_nodes.type_of(entry.name))}, blocks=copied))
    return document, block_nodes.name_of(piece.nodes[used]) or entry.name


def linked(document: Document, name: str, entry: LibraryBlock) -> Document:
    """Record that a definition was saved to, or came from, a library."""
    return replace(document, blocks={**document.blocks, name: replace(document.blocks[name], origin=entry.origin)})


def find_origin(block: Block, libraries: Iterable[LibraryBlock]) -> LibraryBlock | None:
    """The block of the libraries that a definition is a copy of."""
    origin = block.origin
    if origin is None:
        return None
    return next((each for each in libraries if (each.library, each.name) == (origin.library, origin.name)), None)


def copy_state(document: Document, name: str, libraries: Iterable[LibraryBlock]) -> CopyState | None:
    """How a definition relates to its library; None for one that is from no library."""
    origin = document.blocks[name].origin
    if origin is None:
        return None
    entry = find_origin(document.blocks[name], libraries)
    if entry is None:
        return CopyState.MISSING
    digest = block_digest(document.blocks, name)
    if digest == entry.digest:
        return CopyState.EQUAL
    if digest == origin.digest:
        return CopyState.OUTDATED
    return CopyState.MODIFIED if entry.digest == origin.digest else CopyState.DIVERGED


def update(document: Document, name: str, entry: LibraryBlock) -> LibraryUpdate:
    """Replace a definition by a library's block. Instances keep parameters and wires with the same names."""
    old = document.blocks[name]
    bare = _without_unused(replace(document, blocks={**document.blocks, name: Block()}), old)
    added, root = _added(bare, entry)
    new = replace(added.blocks[root], origin=entry.origin)
    kept = {key: block for key, block in document.blocks.items() if key in added.blocks}
    fresh = {key: block for key, block in added.blocks.items() if key != root}
    updated = replace(document, blocks={**kept, **fresh, name: new})
    gone = dict.fromkeys(old.params.keys() - new.params.keys())
    updated = update_instances(updated, name, _gone_ports(old, new), gone)
    return LibraryUpdate(updated, tuple(_changes(old, new)), tuple(_losses(document, updated, name)))


def _without_unused(document: Document, block: Block) -> Document:
    """The document without definitions that only this block used."""
    candidates = block_nodes.reachable_blocks(document.blocks, block.nodes)
    while unused := [each for each in candidates if each in document.blocks and not is_used(document, each)]:
        document = replace(document, blocks={key: each for key, each in document.blocks.items() if key not in unused})
    return document


def _added(document: Document, entry: LibraryBlock) -> tuple[Document, str]:
    """The document with the library's definition under a name that it does not have yet."""
    free = naming.unique_name(entry.name, [*document.blocks, *entry.definitions])
    piece = rename_block(Document(blocks=dict(entry.definitions)), entry.name, free)
    return add_definition(document, dataclasses.replace(entry, name=free, definitions=piece.blocks))


def _gone_ports(old: Block, new: Block) -> dict[str, str | None]:
    gone = set(block_nodes.input_ports(old.nodes)) - set(block_nodes.input_ports(new.nodes))
    gone |= set(block_nodes.output_ports(old.nodes)) - set(block_nodes.output_ports(new.nodes))
    return dict.fromkeys(gone)


def _changes(old: Block, new: Block) -> Iterator[str]:
    named = (
        ("input", block_nodes.input_ports(old.nodes), block_nodes.input_ports(new.nodes)),
        ("output", block_nodes.output_ports(old.nodes), block_nodes.output_ports(new.nodes)),
        ("parameter", old.params, new.params),
        ("node", _inner(old), _inner(new)),
    )
    for kind, before, after in named:
        yield from (f"adds {kind} {name}" for name in after if name not in before)
        yield from (f"removes {kind} {name}" for name in before if name not in after)
    before, after = _inner(old), _inner(new)
    moved = {
        name: replace(after[name], at=node.at, collapsed=node.collapsed, dismissed=node.dismissed)
        for name, node in before.items()
        if name in after
    }
    yield from (f"changes node {name}" for name, node in moved.items() if node != before[name])
    if old.wires != new.wires:
        yield "changes wires"
    if old.description != new.description:
        yield "changes the description"


def _inner(block: Block) -> Mapping[str, Node]:
    return {
        name: node for name, node in block.nodes.items() if node.type not in (block_nodes.INPUT, block_nodes.OUTPUT)
    }


def _losses(before: Document, after: Document, name: str) -> Iterator[str]:
    """Wires and values that the instances of a definition have lost."""
    yield from _graph_losses(before, after, name, "")
    for key in before.blocks:
        if key != name and key in after.blocks:
            yield from _graph_losses(before.blocks[key], after.blocks[key], name, f"{key}: ")


def _graph_losses(before: Document | Block, after: Document | Block, name: str, prefix: str) -> Iterator[str]:
    kept = set(after.wires)
    yield from (f"{prefix}wire {wire}" for wire in before.wires if wire not in kept)
    for key, node in before.nodes.items():
        if block_nodes.name_of(node) == name:
            gone = node.params.keys() - after.nodes[key].params.keys()
            yield from (f"{prefix}{key}.{param} = {node.params[param]}" for param in sorted(gone))
