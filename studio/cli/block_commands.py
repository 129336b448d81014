"""The commands `blocks list`, `show`, `export` and `import`: shipped blocks, and those of the user's library."""

from __future__ import annotations

import difflib
import os
from pathlib import Path
from typing import Annotated, Any

import typer

from studio.cli.error_output import InputError, print_error, print_json, print_text
from studio.cli.error_reporting import report_errors
from studio.cli.shared_options import File, Json
from studio.document import SUFFIX
from studio.document.blocks import block_nodes
from studio.document.blocks.block_library import LibraryBlock, UserLibrary, read_block, shipped_blocks
from studio.document.files import project_files
from studio.document.model import Node
from studio.lowering.analysis.block_types import BlockTypes
from studio.nodes.catalogue import catalogue
from studio.nodes.types import NodeType

COMMANDS = {
    "list": ("studio.cli.block_commands:list_blocks", "List your blocks and the shipped ones."),
    "show": ("studio.cli.block_commands:show", "Show the ports and parameters of a block."),
    "export": ("studio.cli.block_commands:export", "Write a block to a project file."),
    "import": ("studio.cli.block_commands:import_block", "Copy the block of a project file to your library."),
}
"""The subcommands of `blocks`."""

Name = Annotated[str, typer.Argument(metavar="BLOCK", help="Name of the block, as listed by `gradwire blocks list`.")]
Force = Annotated[bool, typer.Option("--force", help="Replace an existing one.")]


def list_blocks(as_json: Json = False) -> None:
    with report_errors(as_json=as_json):
        found, library = _blocks()
    for problem in library.problems():
        print_error(f"skipped {problem}", "warning")
    width = max((len(each.name) for each in found), default=0)
    for each in found:
        if as_json:
            print_json(_record(each))
        else:
            print_text(
                f"{each.name:{width}}  {each.library:7}  {each.block.description.partition(chr(10))[0]}".rstrip()
            )


def show(name: Name, as_json: Json = False) -> None:
    with report_errors(as_json=as_json):
        found = _find(name)
        record = _record(found)
    if as_json:
        print_json(record)
        return
    print_text(found.block.description or found.name)
    for title in ("inputs", "outputs", "params"):
        if record[title]:
            print_text(title)
        for each in record[title]:
            print_text(f"  {each['name']}  {each['help']}".rstrip())


def export(
    name: Name,
    out: Annotated[Path, typer.Option("--out", "-o", metavar="FILE", help=f"Project file to create ({SUFFIX}).")],
    force: Force = False,
) -> None:
    with report_errors():
        found = _find(name)
        if out.suffix != SUFFIX:
            raise InputError(f"--out {out}: project files end in {SUFFIX}.")
        if os.path.exists(out) and not force:
            raise InputError(f"{out} already exists. Choose another name, or replace it with --force.")
        project_files.save(found.exported, out)
    print_text(f"Exported {name} to {out}")


def import_block(file: File, force: Force = False) -> None:
    with report_errors():
        library = UserLibrary()
        name = read_block(file, "user", any_name=True).name
        if library.path(name).exists() and not force:
            raise InputError(f"Your library already has a block {name}. Replace it with --force.")
        library.import_file(file)
    print_text(f"Imported {name} to {library.folder}")


def _blocks() -> tuple[list[LibraryBlock], UserLibrary]:
    library = UserLibrary()
    return [*library.blocks(), *shipped_blocks()], library


def _find(name: str) -> LibraryBlock:
    """The user's block of a name, or the shipped one."""
    found, _ = _blocks()
    for each in found:
        if each.name == name:
            return each
    close = difflib.get_close_matches(name, [each.name for each in found], n=1)
    hint = f"Did you mean {close[0]}?" if close else "Run `gradwire blocks list` for a list."
    raise InputError(f"There is no block {name!r}. {hint}")


def _record(entry: LibraryBlock) -> dict[str, Any]:
    kind = BlockTypes(entry.definitions, catalogue()).type_of(Node(block_nodes.type_of(entry.name)))
    ports = (
        {"inputs": kind.inputs, "outputs": kind.outputs, "params": kind.params} if isinstance(kind, NodeType) else {}
    )
    return {
        "name": entry.name,
        "library": entry.library,
        "description": entry.block.description,
        "tags": list(entry.block.tags),
        **{title: [{"name": each.name, "help": each.help} for each in listed] for title, listed in ports.items()},
    }


__all__ = ["export", "import_block", "list_blocks", "show"]
