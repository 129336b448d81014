"""Import of a module class from a Python file by the command `import`. The file is parsed and never executed."""

from __future__ import annotations

from pathlib import Path

from msgspec import structs

from studio.cli.error_output import InputError
from studio.document import edits
from studio.document.block_edits import with_blocks
from studio.document.model import Document
from studio.lowering.source_import.module_import import import_module
from studio.lowering.source_import.source_errors import SourceError
from studio.nodes.catalogue import catalogue

SUFFIX = ".py"


def is_module(path: Path) -> bool:
    """Whether a path is `FILE.py` or `FILE.py:Class`."""
    return _parts(path)[0].suffix == SUFFIX


def with_module(path: Path, document: Document, at: tuple[float, float]) -> tuple[Document, list[str]]:
    """The document with the class as a block and an instance of it, and the names of its blocks."""
    file, title = _parts(path)
    try:
        text = file.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"{file} cannot be read: {error}.") from None
    try:
        made = import_module(text, catalogue(), title)
    except SourceError as error:
        raise InputError(f"{file}:{error.line}: {error.message}") from None
    document, made = with_blocks(document, made)
    for name, node in made.nodes.items():
        document = edits.add(document, edits.unique_name(document, name), structs.replace(node, at=at))
    return document, list(made.blocks)


def _parts(path: Path) -> tuple[Path, str | None]:
    file, colon, title = path.name.rpartition(":")
    return (path.with_name(file), title) if colon and file.endswith(SUFFIX) else (path, None)


__all__ = ["is_module", "with_module"]
