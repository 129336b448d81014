"""What the parameters of a fitted transform were computed from, and whether that has changed since."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Literal

import numpy as np

from engine.data.samples import Samples
from engine.data.splits import Splits
from engine.data.transforms.transform import Augmentation
from studio.document.fit_records import digest, fit_record
from studio.document.model import Document, FitRecord, Json
from studio.nodes.types import Role
from studio.training.data.data_chain import Chain, ChainLink
from studio.training.data.row_sampling import rows_at_intervals

_ROWS = 64
"""Number of samples that the digest of a source is made of."""


def record_of(
    document: Document,
    before: Chain,
    source: Splits,
    params: Mapping[str, Json],
    *,
    on: str,
    samples: int,
    part: Literal["training", "all"],
) -> FitRecord:
    """The record of parameters that were computed from samples.

    Args:
        before: the data nodes before the transform
        source: the samples of the first of them
        on: "inputs" or "targets"
    """
    data = samples_digest(source, on)
    return fit_record(params, before[0].name, part, samples, nodes_digest(document, before, on), data)


def nodes_digest(document: Document, before: Iterable[ChainLink], on: str) -> str:
    """Digest of the data nodes that determine the training samples before a transform. Names do not count."""
    return digest([[link.key, _values(document, link)] for link in before if _matters(link, on)])


def samples_digest(source: Splits, on: str) -> str:
    """Digest of training samples of a source; empty for a stream, and if only a part of a large table was read."""
    if source.is_stream or source.total_rows is not None:
        return ""
    samples = source.train.with_augmentations(False)
    rows = rows_at_intervals(len(samples), _ROWS)
    parts = [f"{len(samples)} {source.input} {source.target}".encode()]
    values: Any = samples.targets(rows) if on == "targets" else samples.arrays(rows)[0]
    parts += [np.ascontiguousarray(value).tobytes() for value in values]
    return digest(b"".join(parts))


def part_of(splits: Splits) -> Literal["training", "all"]:
    """Whether some samples are kept for validation."""
    validation: Samples | None = splits.validation
    return "all" if validation is None else "training"


def _matters(link: ChainLink, on: str) -> bool:
    """Whether a node changes the samples that a transform is fitted to, which have no augmentations."""
    target: Any = link.type.target
    if link.type.role is not Role.TRANSFORM:
        return True
    is_random = isinstance(target, type) and issubclass(target, Augmentation)
    return not is_random and link.values.get("on", "inputs") == on


def _values(document: Document, link: ChainLink) -> list[list[Any]]:
    """The arguments of a node, with paths as the project file has them."""
    paths = {parameter.name for parameter in link.type.params if parameter.kind == "path"}
    given = document.nodes[link.name].params if link.name in document.nodes else {}
    return [[name, given.get(name) if name in paths else value] for name, value in sorted(link.values.items())]


__all__ = ["nodes_digest", "part_of", "record_of", "samples_digest"]
