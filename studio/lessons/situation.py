"""What a learner has done so far: the graph with its check, the finished runs, the selection, and values of tensors."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from studio.document.document_errors import FileError
from studio.document.graph_comparison import compare
from studio.document.model import Document, Endpoint
from studio.lowering.report import Report
from studio.training.data.data_chain import ChainOpener
from studio.training.probing.node_probe import NodeProbe, ProbeError
from studio.training.probing.tensor_statistics import TensorStatistics, tensor_statistics
from studio.training.runs.metric_points import MetricSource
from studio.training.runs.run_history import MetricsFollower, Run, RunFolder, StoredRun, run_from_stored
from studio.training.runs.run_resuming import load_weights

ValueReader = Callable[[Endpoint], TensorStatistics | None]
"""The statistics of the tensor at an output of the flat graph; None if it cannot be computed."""


@dataclass(frozen=True, slots=True)
class MeasuredRun:
    """A run that has ended, as conditions and predictions see it."""

    document: Document
    """The graph and the settings that it trained."""
    steps: int
    """Number of trained batches."""
    figures: Mapping[str, tuple[float, ...]] = field(default_factory=dict[str, "tuple[float, ...]"])
    """Values per epoch or validation: "train_loss", "val_loss", "train_NAME", "val_NAME"."""
    weights: Path | None = None
    """Its folder or weights file."""
    is_resumed: bool = False
    """Whether it was resumed from a checkpoint."""
    graph_breaks: int | None = None
    """Graph breaks in its last kind of compiled step; None if steps were not compiled."""
    is_complete: bool = True
    """Whether it trained to its end; not if it was stopped or failed."""

    @classmethod
    def of(cls, run: Run) -> MeasuredRun | None:
        """From a run whose curves are known; None while it trains and if its graph is unknown."""
        if run.document is None or run.is_live:
            return None
        is_resumed = bool(run.metadata.get("resumed"))
        return cls(
            run.document, run.step, dict(_figures(run)), run.folder, is_resumed, _graph_breaks(run), run.state == "done"
        )

    @property
    def epochs(self) -> int:
        """Number of completed epochs."""
        return len(self.figures.get("train_loss", ()))

    def trained(self, document: Document) -> bool:
        """Whether it trained this graph, up to positions and names of blocks."""
        return self.document is document or not compare(self.document, document)


@dataclass(frozen=True, slots=True)
class Situation:
    """What conditions and predictions are evaluated on."""

    document: Document
    report: Report
    """The check of `document`."""
    runs: tuple[MeasuredRun, ...] = ()
    """Finished runs of the lesson, oldest first."""
    selection: frozenset[str] = frozenset()
    value: ValueReader = lambda _: None

    @property
    def last_run(self) -> MeasuredRun | None:
        return self.runs[-1] if self.runs else None


def finished_runs(folder: Path) -> tuple[MeasuredRun, ...]:
    """The finished runs in the folder of a project's runs, oldest first. Unreadable runs are left out."""
    found = (read_run(stored) for stored in RunFolder(folder).scan())
    return tuple(measured for measured in found if measured is not None)


def read_run(stored: StoredRun) -> MeasuredRun | None:
    """A finished run, read from its folder; None while it is trained and if it cannot be read."""
    run = run_from_stored(stored, ())
    follower = MetricsFollower(stored.folder)
    try:
        run.read_document()
    except FileError:
        return None
    is_complete = False
    while not is_complete:
        update = follower.read()
        run.apply_update(update)
        is_complete = update.is_complete
    return MeasuredRun.of(run)


def value_reader(report: Report, runs: tuple[MeasuredRun, ...], opener: ChainOpener | None = None) -> ValueReader:
    """Reads values for the first batch, with the weights of the last run if it trained this graph.

    Takes milliseconds for small graphs: call it in a background thread in the window.
    """
    opener = ChainOpener() if opener is None else opener
    last = runs[-1] if runs else None
    weights = _weights(last) if last is not None and last.trained(report.document) else None
    found: dict[Endpoint, TensorStatistics | None] = {}

    def read(end: Endpoint) -> TensorStatistics | None:
        if end not in found:
            found[end] = None
            try:
                for name, outputs, _ in NodeProbe(report.checked, opener, weights).run([end.node]):
                    if name == end.node and end.port in outputs:
                        found[end] = tensor_statistics(outputs[end.port])
            except (ProbeError, MemoryError):
                pass
        return found[end]

    return read


def _weights(run: MeasuredRun) -> Mapping[str, Any] | None:
    try:
        return None if run.weights is None else load_weights(run.weights)
    except (FileError, OSError):  # a run that was stopped before its first step has no weights
        return None


def _graph_breaks(run: Run) -> int | None:
    if run.compile_state is not None:
        return run.compile_state.breaks
    found: Any = run.metadata.get("compile")
    breaks = found.get("breaks") if isinstance(found, dict) else None
    return breaks if type(breaks) is int else None


def _figures(run: Run) -> Iterator[tuple[str, tuple[float, ...]]]:
    sources: tuple[tuple[MetricSource, str], ...] = (("epochs", "train"), ("validation", "val"))
    for source, prefix in sources:
        for quantity, values in run.values(source).items():
            yield f"{prefix}_{quantity}", values


__all__ = ["MeasuredRun", "Situation", "ValueReader", "finished_runs", "read_run", "value_reader"]
