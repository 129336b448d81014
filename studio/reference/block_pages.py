"""Reference of the shipped blocks: a section with a picture per block."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping

from engine.registry import Parameter
from studio.document.blocks import block_nodes
from studio.document.blocks.block_library import LibraryBlock, shipped_blocks
from studio.document.model import Block, Node
from studio.lowering.analysis.block_types import BlockTypes
from studio.nodes.catalogue import catalogue
from studio.nodes.types import NodeType
from studio.reference.block_examples import shipped_example
from studio.reference.block_picture import picture
from studio.reference.markdown import code, fence, joined, prose, table

PATH = "reference/blocks.md"


def pages() -> Iterator[tuple[str, str]]:
    entries = shipped_blocks()
    rows = [(f"[{entry.name}](#{entry.name})", prose(_kind(entry).summary)) for entry in entries]
    yield (
        PATH,
        joined(
            [
                "# Blocks",
                (
                    "Look up the shipped blocks: what they compute, their ports and parameters. Add one from the "
                    "palette; the project gets a copy that you can edit. The same list in a terminal:"
                ),
                fence("sh", "gradwire blocks list"),
                table(("Block", "What it does"), rows),
                *(_section(entry, {each.name for each in entries}) for entry in entries),
            ]
        ),
    )


def _section(entry: LibraryBlock, shipped: Iterable[str]) -> str:
    used = [each for each in entry.definitions if each != entry.name]
    links = ", ".join(f"[{each}](#{each})" if each in shipped else code(each) for each in used)
    drawing = picture(entry.block, f"Graph of the block {entry.name}")
    return joined(
        [
            f"## {entry.name} {{ #{entry.name} }}",
            block_section(_kind(entry), entry.block),
            f'<figure style="overflow-x: auto">\n{drawing}\n</figure>',
            f"It contains {links}." if links else "",
            shipped_example(entry.document, entry.name),
            "**In a project file**",
            fence("json", json.dumps({entry.name: {"type": block_nodes.type_of(entry.name)}})),
        ]
    ).rstrip()


def block_section(kind: NodeType, block: Block | None = None) -> str:
    """Description, ports and parameters of a block, without a heading.

    Args:
        block: its definition, to say which parameters of inner nodes each of its parameters sets
    """
    sets = {} if block is None else block.params
    ports = [("input", port) for port in kind.inputs] + [("output", port) for port in kind.outputs]
    return joined(
        [
            f"{code(kind.key)}: {prose(kind.summary)}",
            prose(kind.help),
            table(
                ("Port", "Direction", "Meaning"), [(code(port.name), side, prose(port.help)) for side, port in ports]
            ),
            table(
                ("Parameter", "Default", "Sets", "Meaning"),
                [
                    (
                        code(each.name),
                        _default(each),
                        ", ".join(code(f"{ref.node}.{ref.param}") for ref in sets.get(each.name, ())),
                        prose(each.help),
                    )
                    for each in kind.params
                ],
            ),
        ]
    )


def _default(parameter: Parameter) -> str:
    if parameter.from_input is not None:
        return "from the wire"
    if parameter.required:
        return "**required**"
    return code(json.dumps(parameter.default, ensure_ascii=False, default=list))


def _kind(entry: LibraryBlock) -> NodeType:
    return _type(entry.definitions, entry.name)


def _type(definitions: Mapping[str, Block], name: str) -> NodeType:
    found = BlockTypes(definitions, catalogue()).type_of(Node(block_nodes.type_of(name)))
    if found is None:
        raise LookupError(f"the block {name!r} has no type")
    return found
