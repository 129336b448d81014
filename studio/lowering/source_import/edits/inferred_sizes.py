"""Leave out sizes in edited source that the graph infers, such as `in_features`."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, TypeAlias

from studio.document import edits
from studio.document.blocks.block_edits import edit_block, view
from studio.document.model import Document, Node
from studio.lowering.analysis.block_types import known_type
from studio.lowering.report import Report
from studio.nodes.catalogue import Catalogue

Check: TypeAlias = Callable[[Document], Report]
_Size: TypeAlias = tuple[str, str, str]
"""Block or an empty text, node and parameter."""


def infer_sizes(before: Document, after: Document, catalogue: Catalogue, check: Check) -> Document:
    """`after` without the sizes that it sets, `before` did not set, and that are inferred with the same value."""
    known = {size for size, _ in _sizes(before, catalogue)}
    written = {size: value for size, value in _sizes(after, catalogue) if size not in known}
    if not written:
        return after
    shorter = _without(after, written)
    report = check(shorter)
    inferred = [size for size, value in written.items() if _inferred_values(report, *size) == [value]]
    return _without(after, inferred)


def _sizes(document: Document, catalogue: Catalogue) -> Iterator[tuple[_Size, Any]]:
    graphs = {"": document, **{name: view(document, name) for name in document.blocks}}
    for block, shown in graphs.items():
        for name, node in shown.nodes.items():
            for param in _inferable(shown, catalogue, name, node):
                yield (block, name, param), node.params[param]


def _inferable(document: Document, catalogue: Catalogue, name: str, node: Node) -> list[str]:
    found = known_type(document, catalogue, name) if node.params else None
    params = () if found is None else found.params
    return [param.name for param in params if param.from_input is not None and param.name in node.params]


def _without(document: Document, sizes: Any) -> Document:
    for block, name, param in sizes:

        def edit(shown: Document, name: str = name, param: str = param) -> Document:
            return edits.clear_param(shown, name, param)

        document = edit_block(document, block, edit) if block else edit(document)
    return document


def _inferred_values(report: Report, block: str, name: str, param: str) -> list[Any]:
    """The different values that a size has in all instances of a block."""
    flow = report.dataflow
    if flow is None:
        return []
    scopes = [scope for scope in flow.expansion.root.with_inner() if scope.block == block]
    infos = [report.nodes.get(scope.prefix + name) for scope in scopes]
    values = [None if info is None else info.arguments.get(param) for info in infos]
    return [value for index, value in enumerate(values) if value not in values[:index]]


__all__ = ["infer_sizes"]
