"""Writes the report of a run as one HTML file."""

from __future__ import annotations

from collections.abc import Generator, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

from engine.errors import EngineError
from engine.io import atomic_file
from engine.random.generator import Generator as RandomGenerator
from engine.random.generator import drawing_from
from studio.document.blocks.block_expansion import flat_document
from studio.document.document_errors import FileError
from studio.document.model import Document
from studio.export.run_report.class_results import ClassResults, class_results
from studio.export.run_report.curve_drawing import Line
from studio.export.run_report.report_page import ReportContent, report_page
from studio.lowering.check import check
from studio.lowering.program import LoweringError
from studio.lowering.report import Report
from studio.lowering.user_code.document_code import untrusted_code
from studio.nodes.catalogue import Catalogue
from studio.reference.block_picture import picture
from studio.training.prediction import task_with_weights
from studio.training.runs.run_comparison import ComparisonGroup, compare_runs
from studio.training.runs.run_export import ExportedRun, ExportProgress, RunReader
from studio.training.runs.run_history import Run

_READ, _PREDICTED = 0.1, 0.95
"""Completed shares after reading the run, and after the predictions."""
_NO_CLASSES = "There are none: the network does not give one score per class for targets that are classes."
_LABELS = {"train": "training", "validation": "validation"}

Results = Generator[float, None, tuple[ClassResults | None, str]]


def write_run_report(
    run: Run, read: RunReader, catalogue: Catalogue, path: Path, *, project: str, base: Path | None
) -> ExportProgress:
    """Write curves, graph, results by class, settings, data and versions of a run to an HTML file.

    The network is run on the validation data, unless its project has errors or code that is not trusted. Then the
    report says why it has no results. Yields the completed share.

    Args:
        read: reads the curves
        project: name of the project
        base: folder that relative paths of the project start from

    Raises:
        FileError: the file cannot be written, or the run cannot be read.
    """
    exported = read()
    document = run.read_document()
    report = check(document, catalogue, base)
    yield _READ
    results, problem = yield from _class_results(run, document, report, base)
    content = ReportContent(
        title=f"{run.name} of {project}",
        summary=tuple(_summary(run, document, report)),
        note=run.note,
        is_failed=run.state == "failed",
        figures=tuple(_figures(run)),
        curves=tuple(_curves(exported)),
        graphs=tuple(_graphs(document)),
        results=results,
        no_results=problem,
        groups=tuple(_groups(run, catalogue)),
    )
    try:
        atomic_file.write(path, report_page(content).encode())
    except OSError as error:
        raise FileError.from_os_error(path, "cannot be written", error) from None
    yield 1.0


def _class_results(run: Run, document: Document, report: Report, base: Path | None) -> Results:
    """The results by class, or why there are none."""
    if report.errors:
        return None, f"There are none: {report.errors[0].message}"
    if untrusted_code(flat_document(document)):
        return None, "There are none: the project has Python code that is not trusted, and so was not run."
    assert run.folder is not None
    try:
        with drawing_from(RandomGenerator(0)):  # a training may draw from the default one
            task = task_with_weights(report, run.folder, name="network", device="cpu", base=base)
            steps = class_results(task)
            while True:
                try:
                    share = next(steps)
                except StopIteration as end:
                    return end.value, "" if end.value is not None else _NO_CLASSES
                yield _READ + share * (_PREDICTED - _READ)
    except LoweringError as error:
        return None, f"There are none: {error.problems[0].message}"
    except (EngineError, FileError, OSError, LookupError, RuntimeError, TypeError, ValueError, MemoryError) as error:
        return None, f"There are none: {error}"


def _summary(run: Run, document: Document, report: Report) -> Iterator[str]:
    ends = [f"{time:%Y-%m-%d %H:%M}" for time in (run.started, run.ended) if time is not None]
    state = f"{run.state}, {run.loss_problem}" if run.loss_problem and not run.is_live else run.state
    message = str(run.metadata.get("message") or "")
    time = f", {' to '.join(dict.fromkeys(ends))}" if ends else ""
    yield f"{state.capitalize()}{time}. {message}".strip()
    reached = (
        f"epoch {run.last['epoch']}, step {run.last['step']:,}" if "epoch" in run.last else "no epoch was completed"
    )
    nodes = f"{len(document.nodes)} nodes, {report.parameters:,} parameters"
    yield f"{nodes}; {reached}; device {run.device or 'unknown'}, seed {run.settings.get('seed', 'unknown')}."
    yield from filter(None, document.description.splitlines())


def _figures(run: Run) -> Iterator[tuple[str, str]]:
    """Losses and metrics of the best epoch."""
    best: Any = run.best or run.last
    if "epoch" in best:
        yield ("best epoch" if run.best else "last epoch"), str(best["epoch"])
    for name, value in best.items():
        if name not in ("epoch", "step") and isinstance(value, (int, float)):
            yield name.replace("val_", "validation ").replace("train_", "training ").replace("_", " "), f"{value:.4g}"


def _curves(exported: ExportedRun) -> Iterator[tuple[str, tuple[Line, ...]]]:
    quantities = dict.fromkeys(quantity for quantity, *_ in exported.curves)
    for quantity in quantities:
        lines = (
            Line(_LABELS[kind], epochs.astype(float), values.astype(float))
            for name, kind, _, epochs, _, values in exported.curves
            if name == quantity
        )
        yield quantity.replace("_", " "), tuple(lines)


def _graphs(document: Document) -> Iterator[tuple[str, str]]:
    yield "Graph", picture(document, "Graph")
    used = {node.type for owner in (document, *document.blocks.values()) for node in owner.nodes.values()}
    for name, block in document.blocks.items():
        if f"block.{name}" in used and block.nodes:
            yield f"Block {name}", picture(block, f"Block {name}")


def _groups(run: Run, catalogue: Catalogue) -> Iterator[ComparisonGroup]:
    for group in compare_runs([run], catalogue):
        if group.key == "graph":
            yield replace(group, title="Nodes and parameters")
        elif group.key != "figures":  # at the top
            yield group


__all__ = ["write_run_report"]
