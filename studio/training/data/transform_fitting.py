"""Fits arguments of transforms to the training samples."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from numpy.typing import NDArray

from engine.data.samples import Samples
from engine.data.splits import training_batches
from engine.data.transforms import Fitted
from engine.errors import EngineError
from studio.document import edits
from studio.document.fit_records import with_record
from studio.document.model import Document, FitRecord, Json
from studio.lowering.analysis.input_scale import to_json_value
from studio.lowering.analysis.node_graph import NodeGraph
from studio.nodes.catalogue import Catalogue
from studio.nodes.types import NodeType, Role
from studio.training.data.data_chain import Chain, ChainOpener, DataProblem, chain_to, upstream_data_node
from studio.training.data.fit_provenance import part_of, record_of


@dataclass(frozen=True, slots=True)
class FittedArguments:
    """Fitted arguments of a transform."""

    node: str
    params: dict[str, Json]
    samples: int
    """Number of training samples used."""
    chain: Chain
    """The data that they were fitted to."""
    record: FitRecord
    """What the project file says about it."""

    def applied(self, document: Document) -> Document:
        """A document with the arguments, and the record of what they were computed from."""
        for name, value in self.params.items():
            document = edits.set_param(document, self.node, name, value)
        return with_record(document, self.node, self.record)


def can_fit(kind: NodeType) -> bool:
    """Whether a node's arguments can be fitted to data."""
    target: Any = kind.target
    return kind.role is Role.TRANSFORM and isinstance(target, type) and issubclass(target, Fitted)


def fit_arguments(
    document: Document,
    catalogue: Catalogue,
    node: str,
    report_progress: Callable[[int, int], None] = lambda done, total: None,
    *,
    base: Path | None = None,
) -> FittedArguments:
    """Fit a transform's arguments to its training samples in one pass, without augmentations.

    Args:
        report_progress: called with the number of processed samples and the total; an exception ends the pass
        base: the folder of the project file, where relative paths begin

    Raises:
        DataProblem: the data cannot be read or has no samples to fit to.
    """
    graph = NodeGraph(document, catalogue)
    if node in graph.muted:
        raise DataProblem(node, f"{node} is muted. Unmute it first.")
    # The node's current arguments are ignored, as they are what is fitted, except options of the fit.
    chain = chain_to(upstream_data_node(node, graph), document, graph, base)
    opened = ChainOpener().open(chain)
    splits = opened[-1]
    kind, on = graph.types[node], document.nodes[node].params.get("on", "inputs")
    target: Any = kind.target
    try:
        samples = splits.train
        blocks = _BlocksWithProgress(
            training_batches(samples, "targets" if on == "targets" else "inputs"), samples, report_progress
        )
        given = document.nodes[node].params
        values = target.fitted(blocks, **{name: given[name] for name in target.options if name in given})
    except EngineError as error:
        raise DataProblem(node, str(error)) from error
    params = {name: to_json_value(value) for name, value in values.items()}
    part = part_of(splits)
    record = record_of(document, chain, opened[0], params, on=str(on), samples=blocks.done, part=part)
    return FittedArguments(node, params, blocks.done, chain, record)


class _BlocksWithProgress:
    """Blocks of samples with progress reports. The total of a stream is unknown and reported as 0."""

    def __init__(self, blocks: Iterable[NDArray[Any]], samples: Samples, report: Callable[[int, int], None]) -> None:
        self._blocks = blocks
        self._total = 0 if samples.stream is not None else len(samples)
        self._report_progress = report
        self.done = 0

    def __iter__(self) -> Iterator[NDArray[Any]]:
        for block in self._blocks:
            self._report_progress(self.done, self._total)
            yield block
            self.done += len(block)


__all__ = ["FittedArguments", "can_fit", "fit_arguments"]
