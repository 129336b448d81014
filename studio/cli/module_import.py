"""Import of a module class from a Python file by the command `import`. The file is parsed and never executed."""

from __future__ import annotations

from pathlib import Path

from studio.cli.error_output import InputError
from studio.document.model import Document
from studio.lowering.source_import.module_import import insert_module
from studio.lowering.source_import.reading.source_errors import SourceError
from studio.nodes.catalogue import catalogue

SUFFIX = ".py"


def is_module(path: Path) -> bool:
    """Whether a path is `FILE.py`, `FILE.py:Class` or `FILE.py:Class(64)`."""
    return _parts(path)[0].suffix == SUFFIX


def with_module(
    path: Path, document: Document, at: tuple[float, float], *, python_nodes: bool = False
) -> tuple[Document, list[str]]:
    """The document with the class as a block and an instance of it, and the names of its blocks.

    Args:
        python_nodes: make Python nodes of what no graph can express
    """
    file, title = _parts(path)
    try:
        text = file.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"{file} cannot be read: {error}.") from None
    try:
        document, blocks, _ = insert_module(document, text, catalogue(), title, at, python_nodes=python_nodes)
    except SourceError as error:
        advice = "" if python_nodes else " Or pass --python-nodes, to keep such parts as Python nodes."
        raise InputError(f"{file}:{error.line}: {error.message}{advice}") from None
    return document, blocks


def _parts(path: Path) -> tuple[Path, str | None]:
    file, mark, title = str(path).partition(f"{SUFFIX}:")
    return (Path(f"{file}{SUFFIX}"), title) if mark else (path, None)


__all__ = ["is_module", "with_module"]
