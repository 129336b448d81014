"""The Python sources of a document, and which of them the user does not trust. Nothing is executed."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable

from studio.document.blocks.block_expansion import Expansion
from studio.document.code_trust import TRUST, source_digest
from studio.document.document_errors import FileError
from studio.document.model import Document
from studio.lowering.user_code.code_loader import is_trusted
from studio.nodes.python_node import DEFAULT_SOURCE, PYTHON, source_of
from studio.nodes.python_source import code_error


def document_code(document: Document) -> dict[str, list[str]]:
    """The paths of the nodes of each source, in blocks too. The source of new nodes, which is known, is left out."""
    return _by_source(document if not document.blocks else Expansion(document).flat)


def untrusted_code(flat: Document) -> dict[str, list[str]]:
    """The paths of the nodes of each source that can be executed, but that the user does not trust.

    Args:
        flat: the flat graph
    """
    found = _by_source(flat).items()
    return {source: paths for source, paths in found if not is_trusted(source) and code_error(source) is None}


def allow_code(document: Document) -> None:
    """Let this process execute the code of a document, without remembering it."""
    TRUST.allow(document_code(document))


def trust_code(document: Document, label: str = "") -> None:
    """Remember that the user trusts the code of a document. Raises FileError.

    Args:
        label: what the list of trusted code shows, such as the name of the project
    """
    digests = {source_digest(source): paths for source, paths in document_code(document).items()}
    for digest, paths in digests.items():
        TRUST.store.add([digest], f"{label} {paths[0]}".strip())


def trust_typed(before: Iterable[str], sources: Iterable[str]) -> None:
    """Remember that the user trusts sources that the user typed; without a file, only while the program runs.

    Args:
        before: the sources that they change. If one of these is not trusted, neither are the changed ones
    """
    typed = [source for source in sources if not is_trusted(source)]
    if not typed or not all(map(is_trusted, before)):
        return
    try:
        TRUST.store.add(map(source_digest, typed), "typed in the window")
    except FileError:
        TRUST.allow(typed)


def trust_corrected(before: Document, after: Document) -> None:
    """Remember that the user trusts sources that a fix corrected, if those of the project before were remembered."""
    old, new = document_code(before), document_code(after)
    known = TRUST.store
    corrected = [source for source in new if source not in old and not known.has(source_digest(source))]
    if corrected and all(known.has(source_digest(source)) for source in old):
        with contextlib.suppress(FileError):  # the process trusts them in any case
            known.add(map(source_digest, corrected), "corrected by a fix")


def _by_source(flat: Document) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for path, node in flat.nodes.items():
        if node.type == PYTHON and (source := source_of(node.params)) not in ("", DEFAULT_SOURCE):
            found.setdefault(source, []).append(path)
    return found


__all__ = ["allow_code", "document_code", "trust_code", "trust_corrected", "trust_typed", "untrusted_code"]
