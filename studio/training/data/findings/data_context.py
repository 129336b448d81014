"""What the rules know about samples: their statistics, the chain that they pass, and the graph that uses them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, TypeAlias

from studio.document.model import Endpoint
from studio.lowering.analysis.dataflow import Dataflow
from studio.lowering.checks.value_paths import origin_of_values
from studio.nodes.types import NodeType, Role
from studio.training.data.data_chain import ChainLink
from studio.training.data.sample_preview import Part, Preview
from studio.training.data.statistics_records import PartFigures, Statistics

MAX_NAMES = 4
"""Maximum number of names in a message."""

Row: TypeAlias = tuple[Part, int]
"""An example sample: part and row."""


@dataclass(frozen=True, eq=False)
class DataContext:
    """The samples at a node.

    Args:
        found: their statistics
        preview: the opened chain to the node
        flow: the graph that uses them, if it is known
    """

    found: Statistics
    preview: Preview
    flow: Dataflow | None

    @property
    def source(self) -> ChainLink:
        return self.preview.chain[0]

    @property
    def training(self) -> PartFigures:
        return self.found.parts[0]

    @property
    def validation(self) -> PartFigures | None:
        return self.found.part("validation")

    @property
    def is_complete(self) -> bool:
        """Whether all samples were looked at."""
        is_sample = self.preview.splits[0].total_rows is not None
        return not is_sample and all(part.looked_at == part.samples and not part.is_stream for part in self.found.parts)

    @cached_property
    def loader(self) -> str | None:
        """The loader at the end of the chain, if the graph that uses its batches is known."""
        last = self.preview.chain[-1]
        is_loader = last.type.role is Role.LOADER and self.flow is not None and last.name in self.flow.facts
        return last.name if is_loader else None

    @property
    def last(self) -> Endpoint | None:
        """The input of the loader, before which a transform can be inserted."""
        link = self.preview.chain[-1]
        return Endpoint(link.name, link.type.inputs[0].name) if link.type.role is Role.LOADER else None

    def transforms(self, on: str = "inputs") -> Iterator[tuple[int, ChainLink]]:
        """The transforms of inputs or targets with their index in the chain."""
        for index, link in enumerate(self.preview.chain):
            if link.type.role is Role.TRANSFORM and link.values.get("on", "inputs") == on:
                yield index, link

    def with_role(self, role: Role) -> list[tuple[str, NodeType]]:
        """The nodes of the graph with a role that a run uses."""
        flow = self.flow
        if flow is None:
            return []
        return [(name, flow.graph.types[name]) for name in flow.graph.with_role(role) if name in flow.graph.needed]

    def comparing(self, role: Role) -> Iterator[tuple[str, NodeType]]:
        """Losses or metrics that compare outputs with the targets of the loader."""
        for name, node_type in self.with_role(role):
            if self.flow is not None and self.compared_output(name) == Endpoint(str(self.loader), "target"):
                yield name, node_type

    def compared_output(self, name: str) -> Endpoint | None:
        """The output that a loss or metric compares with, through nodes that do not change values."""
        flow = self.flow
        return None if flow is None or name not in flow.graph.types else origin_of_values(flow.graph, name, "target")

    def scope(self) -> str:
        """Text about how many of the training samples were looked at; empty if all were."""
        if self.is_complete:
            return ""
        part, total = self.training, self.preview.splits[0].total_rows
        of_all = f"about {total:,} rows" if total is not None else f"{part.samples:,} training samples"
        return f" (looked at {part.looked_at:,} of {of_all})"


def examples(rows: Iterable[Row]) -> list[list[Any]]:
    """Example samples as evidence."""
    return [[part, int(row)] for part, row in rows]


def listed(names: Sequence[str]) -> str:
    """Names in a message, at most four."""
    found = list(dict.fromkeys(names))
    rest = len(found) - MAX_NAMES
    return ", ".join(found[:MAX_NAMES]) + (f" and {rest} more" if rest > 0 else "")


def number_text(value: float) -> str:
    """A number in a message: 3,212,000 or 0.125."""
    return f"{value:,.0f}" if 1000 <= abs(value) < 1e12 else f"{value:.4g}"


__all__ = ["DataContext", "Row", "examples", "listed", "number_text"]
