"""Which node types usually follow or precede a node: by convention, and learned from wires of projects."""

from __future__ import annotations

import functools
from collections import defaultdict
from collections.abc import Iterable, Mapping
from typing import Literal

from engine.shape import Spec
from studio.document.blocks.block_nodes import INPUT, OUTPUT
from studio.document.files.project_templates import templates
from studio.document.model import Document
from studio.nodes.types import NodeType, Role

Side = Literal["input", "output"]
"""The side of a node that the other one is connected to."""
Counts = Mapping[tuple[str, str], Mapping[str, float]]
"""By type and port: how often each type is connected there."""

_CONVENTIONS: Mapping[str, tuple[str, ...]] = {
    "data": ("transforms.Normalize", "data.Batches", "data.HoldOut"),
    "transform": ("data.Batches", "transforms.Normalize"),
    "Convolution": ("nn.BatchNorm", "nn.ReLU", "nn.MaxPool", "ops.add"),
    "Normalization": ("nn.ReLU", "nn.Conv", "nn.Linear", "nn.GELU", "ops.add"),
    "Pooling": ("nn.Conv", "nn.Flatten", "nn.Dropout"),
    "Dropout": ("nn.Linear", "nn.Conv"),
    "Linear": ("nn.ReLU", "nn.Dropout", "nn.CrossEntropyLoss", "nn.MSELoss", "nn.LayerNorm", "nn.GELU"),
    "Shape": ("nn.Linear", "nn.Conv"),
    "Embedding": ("nn.LSTM", "ops.add", "nn.TransformerEncoderLayer", "nn.Dropout", "nn.GRU"),
    "Recurrent": ("nn.Linear", "nn.Dropout", "nn.LayerNorm"),
    "Attention": ("nn.LayerNorm", "nn.Linear", "ops.add", "nn.Dropout"),
    "activation": ("nn.Linear", "nn.Conv", "nn.MaxPool", "nn.Dropout"),
    "operation": ("nn.ReLU", "nn.LayerNorm", "nn.Linear", "nn.Conv"),
    "block": ("nn.Linear", "nn.Conv", "nn.Flatten", "nn.MaxPool"),
    "loss": ("optim.Adam", "optim.AdamW", "optim.SGD", "studio.LossSum"),
    "optimizer": ("lr_scheduler.CosineAnnealingLR", "lr_scheduler.OneCycleLR", "lr_scheduler.StepLR"),
}
"""By group, or by category: what usually follows. `nn.Conv` stands for the one with the dimensions of the data."""
_BY_DIMENSIONS: Mapping[int, tuple[str, ...]] = {
    1: ("nn.CrossEntropyLoss", "metrics.Accuracy", "nn.MSELoss", "nn.BCEWithLogitsLoss"),
    2: ("nn.Linear", "nn.LayerNorm", "nn.BatchNorm1d"),
    3: ("nn.LSTM", "nn.Conv1d", "nn.TransformerEncoderLayer", "nn.GRU", "nn.Linear"),
    4: ("nn.Conv2d", "nn.Flatten", "nn.MaxPool2d", "nn.BatchNorm2d"),
    5: ("nn.Conv3d", "nn.MaxPool3d", "nn.Flatten"),
}
"""By number of dimensions, batch included: what usually follows a loader or any other node."""
_INDICES = ("nn.Embedding", "nn.EmbeddingBag", "nn.Positions")
_TARGETS = ("nn.CrossEntropyLoss", "metrics.Accuracy", "nn.MSELoss", "nn.BCEWithLogitsLoss", "metrics.R2")
_PREDECESSORS: Mapping[str, tuple[str, ...]] = {
    "loss": ("nn.Linear", "data.Batches"),
    "metric": ("nn.Linear", "data.Batches"),
    "optimizer": ("nn.CrossEntropyLoss", "nn.MSELoss"),
    "transform": ("data.Digits", "data.ImageFolder", "data.CSV"),
}
_SPATIAL = {"1d": 3, "2d": 4, "3d": 5}
_PORTS = (INPUT, OUTPUT)
"""Ports of blocks, which follow anything."""


class Successors:
    """Types that follow others, from the wires of documents."""

    def __init__(self, documents: Iterable[Document]) -> None:
        self._documents = tuple(documents)

    def weights(self, kind: NodeType, port: str, side: Side, spec: Spec | None = None) -> dict[str, float]:
        """Weights by type of what is usually connected to a port, 1 for the most usual.

        Args:
            side: whether the port is an input or an output of `kind`
            spec: shape and dtype at the port, if they are known
        """
        found: dict[str, float] = defaultdict(float)
        for index, key in enumerate(_conventional(kind, port, side, spec)):
            found[key] += 4.0 / (1 + index)
        for counts, weight in self._learned(kind, side):
            for key, count in counts.get((kind.key, port), {}).items():
                found[key] += weight * count
        fitting = {key: weight * _dimension_factor(key, spec) for key, weight in found.items()}
        greatest = max(fitting.values(), default=1.0)
        return {key: weight / greatest for key, weight in fitting.items()}

    def _learned(self, kind: NodeType, side: Side) -> Iterable[tuple[Counts, float]]:
        # What follows a loader depends on the data, and templates have other data.
        if kind.role is not Role.LOADER:
            yield _template_shares(side), 4.0
        yield count_neighbors(self._documents, side), 1.0


def fits_dimensions(key: str, spec: Spec | None) -> bool:
    """Whether a type is for values with these dimensions. True for types without a fixed number of them."""
    return _dimension_factor(key, spec) == 1.0


def count_neighbors(documents: Iterable[Document], side: Side) -> Counts:
    """How often each type is connected to each port of each type."""
    counts: dict[tuple[str, str], dict[str, float]] = defaultdict(lambda: defaultdict(float))
    for document in documents:
        for graph in (document, *document.blocks.values()):
            for wire in graph.wires:
                end, other = (wire.source, wire.target) if side == "output" else (wire.target, wire.source)
                if all(each.node in graph.nodes and graph.nodes[each.node].type not in _PORTS for each in (end, other)):
                    counts[graph.nodes[end.node].type, end.port][graph.nodes[other.node].type] += 1.0
    return counts


@functools.cache
def _template_shares(side: Side) -> Counts:
    """The share of each type at each port in the templates, so that their number does not outweigh the project."""
    counts = count_neighbors((each.document for each in templates()), side)
    return {port: {key: count / sum(types.values()) for key, count in types.items()} for port, types in counts.items()}


def _conventional(kind: NodeType, port: str, side: Side, spec: Spec | None) -> tuple[str, ...]:
    rank = None if spec is None else len(spec.shape)
    if side == "input":
        return _PREDECESSORS.get(kind.category, ())
    if kind.role is Role.LOADER:
        if port == "target":
            return _TARGETS
        if spec is not None and spec.dtype.name.startswith("int"):
            return (*_INDICES, *_BY_DIMENSIONS.get(rank or 2, ()))
        return _BY_DIMENSIONS.get(rank or 2, ())
    usual = _CONVENTIONS.get(kind.group) or _CONVENTIONS.get(kind.category, ())
    named = [_with_dimensions(key, rank) for key in usual]
    return tuple(key for key in named if key is not None)


def _with_dimensions(key: str, rank: int | None) -> str | None:
    """`nn.Conv` as "nn.Conv2d" for images; None where there is none, or no longer the usual."""
    if key not in ("nn.Conv", "nn.BatchNorm", "nn.MaxPool"):
        return key
    suffix = next((suffix for suffix, dimensions in _SPATIAL.items() if dimensions == rank), None)
    if rank == 2:
        return "nn.BatchNorm1d" if key == "nn.BatchNorm" else None
    return f"{key}{suffix or '2d'}"


def _dimension_factor(key: str, spec: Spec | None) -> float:
    dimensions = _SPATIAL.get(key[-2:])
    if spec is None:
        return 1.0
    rank = len(spec.shape)
    if dimensions is None:
        return 0.1 if key == "nn.Linear" and rank > 3 else 1.0  # a linear layer of the width of images
    return 1.0 if rank == dimensions or (rank == 2 and key in ("nn.BatchNorm1d", "nn.Dropout1d")) else 0.1
