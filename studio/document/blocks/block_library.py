"""Libraries of blocks: those in `assets/blocks`, and the user's. Each block is a project file with its name."""

from __future__ import annotations

import functools
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, TypeAlias

import platformdirs
from msgspec.structs import replace

from engine.io import atomic_file
from engine.system.assets import asset
from engine.system.files import read_regular
from studio.document import SUFFIX
from studio.document import node_names as naming
from studio.document.blocks import block_nodes
from studio.document.blocks.block_digest import block_digest
from studio.document.blocks.block_edits import rename_block
from studio.document.document_errors import FileError, printable
from studio.document.files.project_files import load, save
from studio.document.files.strict_json import MAX_FILE_BYTES
from studio.document.model import Block, BlockOrigin, Document, Node

Library: TypeAlias = Literal["shipped", "user"]


@dataclass(frozen=True, slots=True)
class LibraryBlock:
    """A block of a library."""

    library: Library
    name: str
    definitions: Mapping[str, Block]
    """Its definition and those that it uses, by name."""
    document: Document
    """The whole file: the definitions, and a canvas with an example."""
    digest: str

    @property
    def block(self) -> Block:
        return self.definitions[self.name]

    @property
    def exported(self) -> Document:
        """The content of a file with this block alone: with its example, unless that has other blocks."""
        if self.document.blocks.keys() == self.definitions.keys():
            return self.document
        return block_document(Document(blocks=dict(self.definitions)), self.name, self.name)

    @property
    def origin(self) -> BlockOrigin:
        return BlockOrigin(self.library, self.name, self.digest)


def library_folder() -> Path:
    """The folder of the user's library, or GRADWIRE_LIBRARY if it is set. It may not exist yet."""
    chosen = os.environ.get("GRADWIRE_LIBRARY")
    return Path(chosen) if chosen else platformdirs.user_data_path("gradwire", appauthor=False) / "blocks"


@functools.cache
def shipped_blocks() -> tuple[LibraryBlock, ...]:
    """The blocks in `assets/blocks`, by name. Raises FileError or FileNotFoundError if the installation is damaged."""
    return tuple(read_block(path, "shipped") for path in sorted(asset("blocks").glob(f"*{SUFFIX}")))


class UserLibrary:
    """The blocks in a folder. Files that have changed are read again."""

    def __init__(self, folder: Path | None = None) -> None:
        self.folder = folder or library_folder()
        self._read: dict[Path, tuple[tuple[int, int], LibraryBlock | FileError]] = {}

    def blocks(self) -> tuple[LibraryBlock, ...]:
        """All readable blocks, by name."""
        return tuple(found for found in self._entries() if isinstance(found, LibraryBlock))

    def problems(self) -> tuple[FileError, ...]:
        """Why the other files of the folder are not listed."""
        return tuple(found for found in self._entries() if isinstance(found, FileError))

    def find(self, name: str) -> LibraryBlock | None:
        return next((block for block in self.blocks() if block.name == name), None)

    def path(self, name: str) -> Path:
        """The file of a block."""
        return self.folder / f"{name}{SUFFIX}"

    def save(self, document: Document, name: str, title: str | None = None) -> LibraryBlock:
        """Store a definition of a document, with those that it uses, as `title`. Replaces a block of this name.

        Raises EditError for an invalid title, and FileError.
        """
        piece = block_document(document, name, title or name)
        self._make_folder()
        save(piece, self.path(title or name))
        return read_block(self.path(title or name), "user")

    def import_file(self, path: Path) -> LibraryBlock:
        """Store the block of any project file under its name. Replaces a block of this name. Raises FileError."""
        found = read_block(path, "user", any_name=True)
        self._make_folder()
        save(found.exported, self.path(found.name))
        return found

    def content(self, name: str) -> bytes | None:
        """The bytes of a block's file, to restore it; None without one. Raises FileError."""
        try:
            return read_regular(self.path(name), MAX_FILE_BYTES)
        except FileNotFoundError:
            return None
        except OSError as error:
            raise FileError.from_os_error(self.path(name), "cannot be read", error) from error

    def restore(self, name: str, content: bytes | None) -> None:
        """Write the bytes of a block's file; None deletes it. Raises FileError."""
        path = self.path(name)
        try:
            if content is None:
                path.unlink(missing_ok=True)
            else:
                atomic_file.write(path, content)
        except OSError as error:
            raise FileError.from_os_error(path, "cannot be changed", error) from error

    def rename(self, old: str, new: str) -> LibraryBlock:
        """Rename a block. Raises EditError for an invalid name, and FileError."""
        if self.path(new).exists():
            raise FileError(printable(self.path(new)), "", "exists already", "Choose another name.")
        found = read_block(self.path(old), "user")
        save(rename_block(found.document, old, new), self.path(new))
        self.restore(old, None)
        return read_block(self.path(new), "user")

    def _make_folder(self) -> None:
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise FileError.from_os_error(self.folder, "cannot be created", error) from error

    def _entries(self) -> list[LibraryBlock | FileError]:
        try:
            with os.scandir(self.folder) as found:
                stamps = {Path(each.path): each.stat() for each in found if each.name.endswith(SUFFIX)}
        except FileNotFoundError:
            return []
        except OSError as error:
            return [FileError.from_os_error(self.folder, "cannot be read", error)]
        fresh: dict[Path, tuple[tuple[int, int], LibraryBlock | FileError]] = {}
        for path in sorted(stamps):
            stamp = (stamps[path].st_mtime_ns, stamps[path].st_size)
            before = self._read.get(path)
            fresh[path] = before if before is not None and before[0] == stamp else (stamp, _read_or_error(path))
        self._read = fresh
        return [found for _, found in fresh.values()]


def _read_or_error(path: Path) -> LibraryBlock | FileError:
    try:
        return read_block(path, "user")
    except FileError as error:
        return error


def read_block(path: Path, library: Library, *, any_name: bool = False) -> LibraryBlock:
    """The block that a file is named after. Raises FileError.

    Args:
        any_name: or else the only block of the file that no other block of it uses
    """
    document = load(path)
    name = path.stem
    if name not in document.blocks:
        inner = {used for block in document.blocks.values() for used in block_nodes.used_blocks(block.nodes)}
        outer = [each for each in document.blocks if each not in inner]
        if not any_name or len(outer) != 1:
            listed = ", ".join(document.blocks) or "none"
            raise FileError(
                printable(path), "", f"has no block {name!r}", f"Name the file after one of its blocks: {listed}."
            )
        name = outer[0]
    used = block_nodes.reachable_blocks(document.blocks, document.blocks[name].nodes)
    if name in used:
        raise FileError(printable(path), f"blocks.{name}", "contains itself", "Remove the instance in it.")
    definitions = {each: document.blocks[each] for each in (name, *used)}
    for each, block in definitions.items():
        if missing := [other for other in block_nodes.used_blocks(block.nodes) if other not in definitions]:
            problem = f"uses the block {missing[0]!r}, which the file does not define"
            raise FileError(printable(path), f"blocks.{each}", problem, "Save it to the library again.")
    return LibraryBlock(library, name, definitions, document, block_digest(definitions, name))


def block_document(document: Document, name: str, title: str) -> Document:
    """A project with one definition as `title`, those that it uses, and an instance of it."""
    used = [name, *block_nodes.reachable_blocks(document.blocks, document.blocks[name].nodes)]
    piece = Document(
        nodes={naming.to_identifier(title): Node(block_nodes.type_of(name))},
        blocks={each: document.blocks[each] for each in used},
    )
    piece = rename_block(piece, name, title)
    own = replace(piece.blocks[title], origin=None)
    return replace(piece, blocks={**piece.blocks, title: own}, description=own.description)
