"""Edits of definitions: their graphs, ports and promoted parameters. Instances follow.

As in `edits`, what an edit does not touch stays the identical object, and what cannot be done raises EditError.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from typing import Any, TypeAlias

from msgspec.structs import replace

from studio.document import edits
from studio.document import node_names as naming
from studio.document.blocks import block_nodes
from studio.document.blocks.instance_updates import update_instances
from studio.document.breakpoints.breakpoint_edits import renamed_inside
from studio.document.document_difference import difference
from studio.document.document_errors import EditError
from studio.document.model import Block, Document, Node, ParamRef

Edit: TypeAlias = Callable[[Document], Document]


# -- editing a definition ---------------------------------------------------------------------


def view(document: Document, name: str) -> Document:
    """A definition as a document, which the functions in `edits` can change."""
    block = _block(document, name)
    return Document(
        block.nodes, block.wires, document.training, block.description, document.blocks, block.frames, block.routes
    )


def with_graph(block: Block, graph: Document, **fields: Any) -> Block:
    """A definition with the graph of its edited view, and other fields."""
    return replace(block, nodes=graph.nodes, wires=graph.wires, frames=graph.frames, routes=graph.routes, **fields)


def edit_block(document: Document, name: str, edit: Edit) -> Document:
    """Apply an edit to the graph of a definition. All its instances follow.

    Wires of instances follow ports that the edit renames, and promoted parameters follow their nodes. Wires at ports
    and parameters of nodes that it removes are removed.
    """
    before = view(document, name)
    after = edit(before)
    if after is before:
        return document
    block = document.blocks[name]
    changed = difference(before, after)
    new = with_graph(
        block,
        after,
        description=after.description,
        params=_following(block.params, changed.renamed, after.nodes),
    )
    was_recursive = block_nodes.is_recursive(document.blocks, name)
    breakpoints = document.breakpoints
    if breakpoints and changed.renamed:
        breakpoints = renamed_inside(document, name, changed.renamed)
    document = replace(document, blocks={**after.blocks, name: new}, breakpoints=breakpoints)
    if not was_recursive and block_nodes.is_recursive(document.blocks, name):
        raise EditError(f"The block {name!r} cannot contain itself.")
    ports = {port: changed.renamed.get(port) for port in _ports(block) if port not in _ports(new)}
    gone = block.params.keys() - new.params.keys()
    return update_instances(document, name, ports, dict.fromkeys(gone)) if ports or gone else document


def edit_graph(document: Document, block: str, edit: Edit) -> Document:
    """Apply an edit to the graph of a definition, or to that of the canvas if `block` is empty."""
    return edit_block(document, block, edit) if block else edit(document)


def promote(document: Document, name: str, ref: ParamRef, param: str | None = None) -> Document:
    """Make a parameter of an inner node one of all instances, under the name `param` or that of the parameter.

    A name that is promoted already then sets both.
    """
    block = _block(document, name)
    if ref.node not in block.nodes:
        raise EditError(f"The block {name!r} has no node {ref.node!r}.")
    if (other := promoted_as(block, ref)) is not None:
        raise EditError(f"{ref} is promoted already, as {other}.")
    param = param or naming.unique_name(ref.param, [*block.params, block_nodes.REPEAT])
    _check_param_name(param)
    params = {**block.params, param: (*block.params.get(param, ()), ref)}
    return _with_block(document, name, replace(block, params=params))


def demote(document: Document, name: str, param: str, ref: ParamRef | None = None) -> Document:
    """Make a promoted parameter one of the definition alone. Values at instances are removed.

    Args:
        ref: demote only this one of several parameters that it sets
    """
    block = _block(document, name)
    _check_promoted(block, name, param)
    rest = () if ref is None else tuple(each for each in block.params[param] if each != ref)
    if rest:
        return _with_block(document, name, replace(block, params={**block.params, param: rest}))
    params = {key: refs for key, refs in block.params.items() if key != param}
    return update_instances(_with_block(document, name, replace(block, params=params)), name, {}, {param: None})


def rename_param(document: Document, name: str, old: str, new: str) -> Document:
    """Rename a promoted parameter, also at the instances."""
    block = _block(document, name)
    _check_promoted(block, name, old)
    if old == new:
        return document
    _check_param_name(new)
    if new in block.params:
        raise EditError(f"The block {name!r} already has a parameter {new!r}. Choose another name.")
    params = {new if key == old else key: refs for key, refs in block.params.items()}
    return update_instances(_with_block(document, name, replace(block, params=params)), name, {}, {old: new})


def promoted_as(block: Block, ref: ParamRef) -> str | None:
    """The name under which a parameter of an inner node is promoted."""
    return next((name for name, refs in block.params.items() if ref in refs), None)


def reorder_ports(document: Document, name: str, ports: Iterable[str]) -> Document:
    """Put the named ports first, in this order. Others follow."""
    block = _block(document, name)
    first = list(dict.fromkeys(ports))
    if unknown := [port for port in first if port not in _ports(block)]:
        raise EditError(f"The block {name!r} has no port {unknown[0]!r}.")
    order = [*first, *(node for node in block.nodes if node not in first)]
    if order == list(block.nodes):
        return document
    return _with_block(document, name, replace(block, nodes={node: block.nodes[node] for node in order}))


# -- definitions ------------------------------------------------------------------------------


def rename_block(document: Document, old: str, new: str) -> Document:
    """Rename a definition; its instances keep their names."""
    _block(document, old)
    if old == new:
        return document
    check_block_name(document, new)
    renamed = {new if name == old else name: each for name, each in document.blocks.items()}
    defined = {name: replace(each, nodes=retyped(each.nodes, old, new)) for name, each in renamed.items()}
    return replace(document, nodes=retyped(document.nodes, old, new), blocks=defined)


def describe_block(document: Document, name: str, text: str) -> Document:
    """Set the description of a definition."""
    block = _block(document, name)
    return document if block.description == text else _with_block(document, name, replace(block, description=text))


def remove_block(document: Document, name: str) -> Document:
    """Remove a definition that nothing uses."""
    _block(document, name)
    if is_used(document, name):
        raise EditError(f"The block {name!r} is in use. Remove or unpack its instances first.")
    return replace(document, blocks={key: each for key, each in document.blocks.items() if key != name})


def unused_blocks(document: Document) -> list[str]:
    """The definitions that the canvas does not use, directly or inside other blocks."""
    if not document.blocks:
        return []
    used = set(block_nodes.reachable_blocks(document.blocks, document.nodes))
    return [name for name in document.blocks if name not in used]


def remove_unused_blocks(document: Document) -> Document:
    """Remove the definitions that the canvas does not use."""
    unused = set(unused_blocks(document))
    kept = {name: block for name, block in document.blocks.items() if name not in unused}
    return replace(document, blocks=kept) if unused else document


def is_used(document: Document, name: str) -> bool:
    """Whether the canvas or another definition has an instance of a block."""
    graphs = (document.nodes, *(block.nodes for block in document.blocks.values()))
    return any(name in block_nodes.used_blocks(nodes) for nodes in graphs)


def make_unique(document: Document, instance: str) -> Document:
    """Copy the definition of an instance, so that edits of the copy affect no other instance."""
    node, name, block = instance_of(document, instance)
    copy = naming.unique_name(name, document.blocks)
    document = replace(document, blocks={**document.blocks, copy: block})
    return edits.retype(document, instance, block_nodes.type_of(copy), node.params)


def free_block_name(document: Document, base: str) -> str:
    """A name that no definition has, from a title: "Residual block" → "residual_block"."""
    return naming.unique_name(naming.to_identifier(base), document.blocks)


def with_blocks(document: Document, piece: Document) -> tuple[Document, Document]:
    """The document with the definitions that another one uses, and that one with their names here.

    Equal definitions are shared, whatever their origin. One with another definition's name gets a new name.
    """
    names = naming.UniqueNames([*document.blocks, *piece.blocks])
    while other := _conflict(document.blocks, piece):
        piece = rename_block(piece, other, names.reserve(other))
    used = block_nodes.reachable_blocks(piece.blocks, piece.nodes)
    added = {name: piece.blocks[name] for name in used if name not in document.blocks}
    return (replace(document, blocks={**document.blocks, **added}) if added else document), piece


def _conflict(defined: Mapping[str, Block], piece: Document) -> str | None:
    """A block that `piece` uses, whose name is that of another definition."""
    used = block_nodes.reachable_blocks(piece.blocks, piece.nodes)
    return next((name for name in used if name in defined and not _are_equal(defined[name], piece.blocks[name])), None)


def _are_equal(block: Block, other: Block) -> bool:
    return block_nodes.are_equal(block, replace(other, origin=block.origin))


# -- what all of them use ---------------------------------------------------------------------


def instance_of(document: Document, name: str) -> tuple[Node, str, Block]:
    """An instance with the name of its block and the definition. Raises EditError for any other node."""
    node = document.nodes.get(name)
    if node is None:
        raise EditError(f"The project has no node {name!r}.")
    used = block_nodes.name_of(node)
    if used is None:
        raise EditError(f"{name} is not an instance of a block.")
    return node, used, _block(document, used)


def check_block_name(document: Document, name: str) -> None:
    """Raise EditError unless a new definition can have this name."""
    if (problem := naming.problem(name)) is not None:
        raise EditError(f"The name {name!r} {problem}.")
    if name in document.blocks:
        raise EditError(f"There is already a block {name!r}. Choose another name.")


def retyped(nodes: dict[str, Node], old: str, new: str) -> dict[str, Node]:
    """Nodes whose instances of one block are instances of another; the same dict if there are none."""
    if old not in block_nodes.used_blocks(nodes):
        return nodes
    key = block_nodes.type_of(new)
    return {name: replace(node, type=key) if block_nodes.name_of(node) == old else node for name, node in nodes.items()}


def _block(document: Document, name: str) -> Block:
    try:
        return document.blocks[name]
    except KeyError:
        raise EditError(f"The project has no block {name!r}.") from None


def _with_block(document: Document, name: str, block: Block) -> Document:
    return replace(document, blocks={**document.blocks, name: block})


def _ports(block: Block) -> list[str]:
    return [*block_nodes.input_ports(block.nodes), *block_nodes.output_ports(block.nodes)]


def _check_promoted(block: Block, name: str, param: str) -> None:
    if param not in block.params:
        raise EditError(f"The block {name!r} has no parameter {param!r}.")


def _check_param_name(name: str) -> None:
    if (problem := naming.problem(name)) is not None:
        raise EditError(f"The name {name!r} {problem}.")
    if name == block_nodes.REPEAT:
        raise EditError(f"Every instance has a parameter {name!r} already. Choose another name.")


def _following(
    params: Mapping[str, tuple[ParamRef, ...]], renamed: Mapping[str, str], nodes: Collection[str]
) -> dict[str, tuple[ParamRef, ...]]:
    """Promoted parameters with renamed nodes, and without nodes that are gone."""
    followed: dict[str, tuple[ParamRef, ...]] = {}
    for param, refs in params.items():
        moved = [ParamRef(renamed.get(ref.node, ref.node), ref.param) for ref in refs]
        if kept := tuple(ref for ref in moved if ref.node in nodes):
            followed[param] = kept
    return followed
