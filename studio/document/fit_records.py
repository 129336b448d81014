"""Records of the samples that parameters of a transform were computed from.

A record has a digest of the values, so that it does not apply to values that were changed by hand, also in the file.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from typing import Any, Literal

from msgspec.structs import replace

from studio.document.model import Document, FitRecord, Json, Node

_LENGTH = 16
"""Characters of a digest."""


def digest(value: Any) -> str:
    """Digest of a JSON value, or of bytes."""
    data = value if isinstance(value, bytes) else json.dumps(value, sort_keys=True).encode()
    return hashlib.sha256(data).hexdigest()[:_LENGTH]


def fit_record(
    params: Mapping[str, Json], source: str, part: Literal["training", "all"], samples: int, nodes: str, data: str
) -> FitRecord:
    """The record of computed parameters. The arguments are those of `FitRecord`."""
    names = tuple(sorted(params))
    return FitRecord(names, _values(params, names), source, part, samples, nodes, data)


def applies(node: Node) -> bool:
    """Whether a node has the values that its record is about."""
    record = node.fitted
    return record is not None and record.values == _values(node.params, record.params)


def checked_record(node: Node) -> Node:
    """The node, without its record if that does not apply."""
    return node if node.fitted is None or applies(node) else replace(node, fitted=None)


def with_record(document: Document, name: str, record: FitRecord) -> Document:
    """Record what the parameters of a node were computed from."""
    node = replace(document.nodes[name], fitted=record)
    return replace(document, nodes={**document.nodes, name: checked_record(node)})


def with_renamed_source(node: Node, old: str, new: str) -> Node:
    """The node, with the source of its record under a new name."""
    if node.fitted is None or node.fitted.source != old:
        return node
    return replace(node, fitted=replace(node.fitted, source=new))


def _values(params: Mapping[str, Json], names: tuple[str, ...]) -> str:
    return digest([_plain(params.get(name)) for name in names])


def _plain(value: Any) -> Any:
    """The value with whole numbers as floats: 16 and 16.0 are equal parameters."""
    if isinstance(value, (list, tuple)):
        return [_plain(each) for each in value]  # pyright: ignore[reportUnknownVariableType]
    return float(value) if isinstance(value, int) and not isinstance(value, bool) else value


__all__ = ["applies", "checked_record", "digest", "fit_record", "with_record", "with_renamed_source"]
