"""The nodes that an import adds, and what is known about their samples."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeAlias

from studio.document import edits
from studio.document.model import Document, Endpoint, Json, Node, Wire
from studio.nodes.catalogue import catalogue
from studio.nodes.types import Role
from studio.training.data.imports.preview_samples import PreviewSamples
from studio.training.data.imports.starter_network import StarterNetwork, add_network

SPACING = 288.0
"""Horizontal distance of nodes."""
_LOADER_TYPE = "data.Batches"

ReportProgress: TypeAlias = Callable[[float], None]
"""Receives the finished fraction. An exception ends the work."""


@dataclass(frozen=True, slots=True)
class PlannedNode:
    """A node that an import adds."""

    name: str
    """Proposed name."""
    type: str
    params: Mapping[str, Json] = field(default_factory=dict[str, Json])


@dataclass(frozen=True, slots=True)
class ImportPreview:
    """The samples that the nodes give."""

    training: int
    validation: int
    input: str
    """Shape and dtype of an input."""
    target: str
    columns: tuple[str, ...] = ()
    rows: tuple[tuple[str, ...], ...] = ()
    """Target and inputs of the first training samples after all transforms."""
    classes: tuple[tuple[str, int], ...] = ()
    """Name and number of training samples of each class."""
    samples: PreviewSamples | None = field(default=None, compare=False)
    """Samples that are shown as pictures or text."""


@dataclass(frozen=True, slots=True)
class ImportPlan:
    """Nodes in the order of the data, from the source to the last transform."""

    title: str
    nodes: tuple[PlannedNode, ...]
    preview: ImportPreview
    warnings: tuple[str, ...] = ()
    batch_size: int = 32
    network: StarterNetwork | None = None
    """The network after the loader, if the import adds one."""


def apply_plan(
    plan: ImportPlan, document: Document, at: tuple[float, float] = (0.0, 0.0)
) -> tuple[Document, list[str]]:
    """Add and connect the nodes, and a loader if the project has none. Returns the names of the new nodes too.

    The network of the plan is added after a new loader.
    """
    nodes = list(plan.nodes)
    is_first = not has_loader(document)
    if is_first:
        nodes.append(PlannedNode("batches", _LOADER_TYPE, {"batch_size": plan.batch_size}))
    added: list[str] = []
    for number, planned in enumerate(nodes):
        name = edits.unique_name(document, planned.name)
        position = (at[0] + number * SPACING, at[1])
        document = edits.add(document, name, Node(planned.type, dict(planned.params), at=position))
        if added:
            document = edits.connect(document, Wire(Endpoint(added[-1], "samples"), Endpoint(name, "samples")))
        added.append(name)
    if is_first and plan.network is not None:
        document, layers = add_network(document, plan.network, added[-1], at)
        added += layers
    return document, added


def has_loader(document: Document) -> bool:
    types = (catalogue().get(node.type) for node in document.nodes.values())
    return any(kind is not None and kind.role is Role.LOADER for kind in types)


def written_path(path: Path, base: Path | None) -> str:
    """A path as it is written into the project: relative if it lies in the folder of the project."""
    full = path.resolve()
    if base is not None and full.is_relative_to(base.resolve()):
        return full.relative_to(base.resolve()).as_posix()
    return str(full)


__all__ = [
    "SPACING",
    "ImportPlan",
    "ImportPreview",
    "PlannedNode",
    "ReportProgress",
    "apply_plan",
    "has_loader",
    "written_path",
]
