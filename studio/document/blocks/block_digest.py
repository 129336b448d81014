"""Digests of definitions: equal for two that compute and promote the same, wherever their nodes are on the canvas."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping

from msgspec.structs import replace

from studio.document.blocks import block_nodes
from studio.document.files.project_format import block_text
from studio.document.model import Block


def block_digest(definitions: Mapping[str, Block], name: str) -> str:
    """Digest of a definition with those that it uses.

    Names of definitions, positions, collapsed nodes, dismissed problems and origins make no difference.
    """
    used = [
        name,
        *(each for each in block_nodes.reachable_blocks(definitions, definitions[name].nodes) if each != name),
    ]
    types = {block_nodes.type_of(each): block_nodes.type_of(str(index)) for index, each in enumerate(used)}
    texts = [block_text(_without_layout(definitions[each], types)) for each in used]
    return hashlib.blake2b("\n".join(texts).encode(), digest_size=16).hexdigest()


def _without_layout(block: Block, types: Mapping[str, str]) -> Block:
    nodes = {
        name: replace(node, type=types.get(node.type, node.type), at=(0.0, 0.0), collapsed=False, dismissed=())
        for name, node in block.nodes.items()
    }
    return replace(block, nodes=nodes, origin=None)
