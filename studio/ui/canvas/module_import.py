"""Import of Python files with module classes as blocks. The files are parsed and never executed."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from studio.document.document_errors import EditError
from studio.document.model import Document
from studio.lowering.source_import.module_import import insert_module
from studio.lowering.source_import.source_errors import SourceError
from studio.ui.project.scope_store import ScopeStore

SUFFIX = ".py"
_COLUMN, _ROW = 160.0, 96.0
"""Distances between an instance and other nodes, in pixels at 100%."""


def import_modules(store: ScopeStore, paths: Iterable[Path], at: tuple[float, float]) -> None:
    """Add the last module class of each file as a block, with an instance below the one before; each is one edit."""
    x, y = at
    for path in paths:
        added: list[str] = []
        y = _free(store.document, x, y)

        def edit(document: Document, path: Path = path, y: float = y, added: list[str] = added) -> Document:
            try:
                text = path.read_text(encoding="utf-8")
                document, _, names = insert_module(document, text, store.catalogue, at=(x, y))
            except SourceError as error:
                raise EditError(f"{path.name}, line {error.line}: {error.message}") from None
            except (OSError, UnicodeDecodeError) as error:
                raise EditError(f"{path.name} cannot be read: {error}.") from None
            added.extend(names)
            return document

        if store.edit(f"Import {path.name}", edit):
            store.select(added)


def _free(document: Document, x: float, y: float) -> float:
    """The first free row at or below a position."""
    while any(abs(node.at[0] - x) < _COLUMN and abs(node.at[1] - y) < _ROW for node in document.nodes.values()):
        y += _ROW
    return y


__all__ = ["SUFFIX", "import_modules"]
