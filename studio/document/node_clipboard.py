"""Nodes as clipboard text: a project file with the selected nodes and the wires into them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import cast

from msgspec.structs import replace

from studio.document import edits
from studio.document import node_names as naming
from studio.document.blocks import block_nodes
from studio.document.blocks.block_edits import with_blocks
from studio.document.document_errors import EditError
from studio.document.files.document_reader import read_document, read_wire
from studio.document.files.json_values import JsonError, format_json
from studio.document.files.migrations import migrate
from studio.document.files.project_format import layout, parse_object
from studio.document.frames import add_frame, frames_of, free_frame_name, shifted_frame
from studio.document.model import Document, Endpoint, Node, Wire
from studio.document.weight_sharing import can_share, layer_of
from studio.document.wire_routes import inner_routes, renamed_routes, shifted_route


def copy(document: Document, names: Iterable[str], frames: Iterable[str] = ()) -> str:
    """The nodes as JSON text, with the wires among them, those into them, and the frames that contain only these nodes.

    Raises EditError if there are none.

    Args:
        frames: frames that are copied as well
    """
    chosen, chosen_frames = set(names), set(frames)
    if not chosen and not chosen_frames:
        raise EditError("Nothing is selected. Select the nodes to copy first.")
    if unknown := chosen.difference(document.nodes):
        raise EditError(f"The project has no node {min(unknown)!r}.")
    if unknown := chosen_frames.difference(document.frames):
        raise EditError(f"The project has no frame {min(unknown)!r}.")
    chosen_frames.update(frames_of(document, chosen))
    incoming = [wire for wire in document.wires if wire.target.node in chosen]
    piece = Document(
        nodes={name: _with_params(document, name) for name in document.nodes if name in chosen},
        wires=tuple(wire for wire in incoming if wire.source.node in chosen),
        frames={name: frame for name, frame in document.frames.items() if name in chosen_frames},
        routes=inner_routes(document, chosen),
    )
    used = block_nodes.reachable_blocks(document.blocks, piece.nodes)
    piece = replace(piece, blocks={name: document.blocks[name] for name in used})
    return layout(piece, inputs=[wire for wire in incoming if wire.source.node not in chosen])


def paste(
    document: Document, text: str, at: tuple[float, float], with_inputs: bool = False
) -> tuple[Document, tuple[str, ...]]:
    """Add the nodes and frames in `text`, which may be a whole project. Also returns the names of the new nodes.

    Names that are in use get a number. Definitions of blocks come along; equal ones are shared. Raises EditError if
    `text` contains no nodes.

    Args:
        at: new position of the top left corner of the nodes and frames
        with_inputs: also restore wires from other nodes and shared weights, if nodes with these names exist
    """
    piece, incoming = _read(text)
    document, piece = with_blocks(document, piece)
    corners = [item.at for item in (*piece.nodes.values(), *piece.frames.values())]
    dx, dy = at[0] - min(x for x, _ in corners), at[1] - min(y for _, y in corners)
    unique_names = naming.UniqueNames(document.nodes)
    renamed = {name: unique_names.reserve(name) for name in piece.nodes}
    owners = {**(document.nodes if with_inputs else {}), **piece.nodes}
    document = edits.add_all(
        document,
        {
            renamed[name]: replace(
                _with_owner(node, renamed, owners),
                at=(node.at[0] + dx, node.at[1] + dy),
                trains=tuple(block_nodes.renamed_path(layer, renamed) for layer in node.trains),
            )
            for name, node in piece.nodes.items()
        },
    )
    wires = [Wire(_with_new_name(wire.source, renamed), _with_new_name(wire.target, renamed)) for wire in piece.wires]
    if with_inputs:
        wires += [
            Wire(wire.source, _with_new_name(wire.target, renamed))
            for wire in incoming
            if wire.source.node in document.nodes
        ]
    if wires:
        document = replace(document, wires=tuple(sorted((*document.wires, *wires))))
    for name, frame in piece.frames.items():
        document = add_frame(document, free_frame_name(document, name), shifted_frame(frame, dx, dy))
    if piece.routes:
        routes = {end: shifted_route(points, dx, dy) for end, points in piece.routes.items()}
        document = replace(document, routes={**document.routes, **renamed_routes(routes, renamed)})
    return document, tuple(renamed.values())


def copied_names(text: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Names of the nodes and of the frames in a clipboard text; none if it contains no nodes."""
    try:
        piece, _ = _read(text)
    except EditError:
        return (), ()
    return tuple(piece.nodes), tuple(piece.frames)


def _with_params(document: Document, name: str) -> Node:
    """A node with the parameters that it has, even if they are those of another one."""
    node = document.nodes[name]
    params = document.nodes[layer_of(document.nodes, name)].params
    return node if params is node.params else replace(node, params=params)


def _with_owner(node: Node, renamed: Mapping[str, str], owners: Mapping[str, Node]) -> Node:
    """A pasted node that uses the weights of one of the owners, or else has separate ones."""
    owner = owners.get(node.shares)
    if owner is None or not can_share(node.type, owner.type):
        return replace(node, shares="") if node.shares else node
    params = {} if owner.type == node.type else node.params
    return replace(node, shares=renamed.get(node.shares, node.shares), params=params)


def _read(text: str) -> tuple[Document, Sequence[Wire]]:
    """The nodes with their wires, and the wires into them from elsewhere."""
    try:
        content = migrate(parse_object(text))
        raw = content.pop("inputs", [])
        if not isinstance(raw, list):
            raise JsonError("inputs", f"must be a list of wires, not {format_json(raw)}")
        piece = read_document(content)
        listed = enumerate(cast("list[object]", raw))
        incoming = {wire.target: wire for wire in (read_wire(item, f"inputs[{index}]") for index, item in listed)}
    except JsonError as error:
        problem = f"{error.location or 'the text'} {error.problem}"
        raise EditError(f"The clipboard contains no Gradwire nodes: {problem}. Copy nodes first.") from None
    if not piece.nodes and not piece.frames:
        raise EditError("The project on the clipboard has no nodes. Copy nodes first.")
    connected = {wire.target for wire in piece.wires}
    return piece, [wire for end, wire in incoming.items() if end.node in piece.nodes and end not in connected]


def _with_new_name(end: Endpoint, renamed: Mapping[str, str]) -> Endpoint:
    return Endpoint(renamed[end.node], end.port)
