"""Import of Python files with module classes as blocks. The files are parsed and never executed."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import TypeAlias

from studio.document.document_errors import EditError
from studio.document.model import Document
from studio.lowering.source_import.module_import import insert_module, module_classes
from studio.lowering.source_import.reading.source_errors import SourceError
from studio.ui.project.scope_store import ScopeStore

SUFFIX = ".py"
Choose: TypeAlias = Callable[[Path, Sequence[str]], str]
"""Returns one of the classes of a file, or an empty text to cancel."""
Offer: TypeAlias = Callable[[Path, str], bool]
"""Asks whether parts that no graph can express become Python nodes, after a message with the reason."""
_COLUMN, _ROW = 160.0, 96.0
"""Distances between an instance and other nodes, in pixels at 100%."""


def import_modules(
    store: ScopeStore, paths: Iterable[Path], at: tuple[float, float], choose: Choose, offer: Offer
) -> None:
    """Add a module class of each file as a block, with an instance below the one before; each is one edit.

    Args:
        choose: asks for the class of a file that has several
        offer: asks whether to keep parts that no graph can express as Python nodes, where that is possible
    """
    x, y = at
    for path in paths:
        try:
            text = path.read_text(encoding="utf-8")
            classes = module_classes(text)
        except (OSError, UnicodeDecodeError) as error:
            store.project.refused.emit(f"{path.name} cannot be read: {error}.")
            continue
        except SourceError as error:
            store.project.refused.emit(_location(path, error))
            continue
        title = choose(path, classes) if len(classes) > 1 else None
        if title == "":
            continue
        y = _free(store.document, x, y)
        try:
            insert_module(store.document, text, store.catalogue, title)
            python_nodes = False
        except SourceError as error:
            python_nodes = _can_have_code(store, text, title)
            if python_nodes and not offer(path, _location(path, error)):
                continue
        _insert(store, path, text, title, (x, y), python_nodes=python_nodes)


def _can_have_code(store: ScopeStore, text: str, title: str | None) -> bool:
    """Whether a file can be imported with Python nodes."""
    try:
        insert_module(store.document, text, store.catalogue, title, python_nodes=True)
    except SourceError:
        return False
    return True


def _insert(
    store: ScopeStore, path: Path, text: str, title: str | None, at: tuple[float, float], *, python_nodes: bool
) -> None:
    added: list[str] = []

    def edit(document: Document) -> Document:
        try:
            document, _, names = insert_module(document, text, store.catalogue, title, at=at, python_nodes=python_nodes)
        except SourceError as error:
            raise EditError(_location(path, error)) from None
        added.extend(names)
        return document

    if store.edit(f"Import {path.name}", edit):
        store.select(added)


def _location(path: Path, error: SourceError) -> str:
    return f"{path.name}, line {error.line}: {error.message}"


def _free(document: Document, x: float, y: float) -> float:
    """The first free row at or below a position."""
    while any(abs(node.at[0] - x) < _COLUMN and abs(node.at[1] - y) < _ROW for node in document.nodes.values()):
        y += _ROW
    return y


__all__ = ["SUFFIX", "Choose", "Offer", "import_modules"]
