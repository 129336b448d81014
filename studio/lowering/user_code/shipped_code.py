"""The Python sources of the bundled templates, which are part of Gradwire and need no trust."""

from __future__ import annotations

from functools import cache

from studio.document.document_errors import FileError
from studio.document.files.project_templates import templates
from studio.nodes.python_node import PYTHON, source_of


@cache
def shipped_sources() -> frozenset[str]:
    """The sources of Python nodes in the templates."""
    try:
        documents = [each.document for each in templates()]
    except (FileError, OSError):  # a damaged installation, which the start page reports
        documents = []
    nodes = (node for document in documents for node in document.nodes.values() if node.type == PYTHON)
    return frozenset(source_of(node.params) for node in nodes)


__all__ = ["shipped_sources"]
