"""The commands `evaluate`, `predict`, `find-rate` and `overfit`."""

from __future__ import annotations

import csv
import os
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Annotated, Any, Literal, TextIO

import numpy as np
import typer
from numpy.typing import NDArray

from engine import fit
from engine.data.splits import Splits
from engine.errors import EngineError
from engine.fit.batch_iteration import batch_count
from studio.cli.error_output import FAILED, InputError, print_error, print_json, print_text
from studio.cli.error_reporting import exit_with_error, report_errors
from studio.cli.progress_display import track_progress
from studio.cli.shared_options import (
    Assignments,
    DeviceName,
    File,
    Json,
    Trust,
    check_or_exit,
    project_folder,
    read_project,
)
from studio.cli.training_options import find_weights, parse_device
from studio.document.document_errors import FileError
from studio.document.model import Document
from studio.lowering.check import check
from studio.lowering.problems.problem import Problem
from studio.lowering.program import LoweringError, lower
from studio.nodes.catalogue import catalogue
from studio.training.experiments.overfit import LEARNED
from studio.training.prediction import (
    ARRAY_SUFFIXES,
    JointSamples,
    predict_batches,
    prediction_batch_size,
    prediction_samples,
    replace_source_path,
    sample_names,
    splits_of,
    task_with_weights,
)
from studio.training.run_settings import resolve_device
from studio.training.runs.event_json import event_to_json
from studio.training.runs.metric_points import losses_by_optimizer
from studio.training.weights.weight_import import chosen_weights, load_initial_weights

Weights = Annotated[
    Path,
    typer.Option(
        "--weights",
        "-w",
        metavar="WEIGHTS",
        help="Number, name or folder of a run (its last weights), or a checkpoint or weights file.",
    ),
]
Unseen = Annotated[
    Literal["zeros", "refuse"],
    typer.Option(
        metavar="zeros|refuse",
        help="Categories that are not in the training data: encode as zeros with a warning, or exit with an error.",
    ),
]
Steps = Annotated[int, typer.Option(metavar="N", min=2, help="Maximum number of batches.")]


def evaluate(
    file: File,
    weights: Weights,
    device: DeviceName = None,
    assignments: Assignments = None,
    trust: Trust = False,
    as_json: Json = False,
) -> None:
    with report_errors(as_json=as_json):
        task = _build_task(file, read_project(file, assignments, trust=trust), weights, device, as_json=as_json)
        validation = task.setup().validation
        batches = 0 if validation is None else batch_count(validation)
        [*_, found] = track_progress(fit.evaluate(task), batches, "evaluating", hidden=as_json)
        assert isinstance(found, fit.Validated)
    if as_json:
        print_json({**(event_to_json(found) or {}), "event": "evaluated"})
        return
    for name, value in {"loss": found.val_loss, **losses_by_optimizer(found.val_losses), **found.val_metrics}.items():
        print_text(f"{name} {value:.6g}")
    for name, table in found.tables.items():
        print_text(f"{name} (rows: targets, columns: predictions)")
        for row in table:
            print_text(" ".join(f"{count:6}" for count in row))


def predict(
    file: File,
    inputs: Annotated[
        list[Path],
        typer.Argument(
            metavar="INPUT",
            help="Arrays (.npy, .npz), or files or folders in the format of the project's data source.",
        ),
    ],
    weights: Weights,
    out: Annotated[
        Path | None,
        typer.Option(
            "--out", "-o", metavar="FILE", help="Output file, .csv or .npy (default: CSV on standard output)."
        ),
    ] = None,
    unseen: Unseen = "zeros",
    device: DeviceName = None,
    assignments: Assignments = None,
    trust: Trust = False,
    as_json: Json = False,
) -> None:
    with report_errors(as_json=as_json):
        if out is not None and out.suffix not in (".csv", ".npy"):
            raise InputError(f"--out {out}: the file name must end in .csv or .npy.")
        document = read_project(file, assignments, trust=trust)
        training_splits = _training_splits(file, document)
        output_batches: list[NDArray[Any]] = []
        names: list[str] = []
        warnings: list[str] = []
        classes: tuple[str, ...] = ()
        for path in inputs:
            if not os.path.exists(path):
                raise FileError(str(path), "", "does not exist", "Check the path.")
            unlabeled = (
                None if training_splits is None or path.suffix in ARRAY_SUFFIXES else training_splits.unlabeled(path)
            )
            input_document = (
                document
                if unlabeled or path.suffix in ARRAY_SUFFIXES
                else replace_source_path(document, catalogue(), path)
            )
            task = _build_task(file, input_document, weights, device, as_json=as_json)
            samples = (
                JointSamples((unlabeled,))
                if unlabeled
                else prediction_samples(task, path if path.suffix in ARRAY_SUFFIXES else None)
            )
            warnings.extend(_input_warnings(samples, refuse=unseen == "refuse"))
            batches = -(-len(samples) // prediction_batch_size(task))
            output_batches += track_progress(
                predict_batches(task, samples), batches, f"predicting {path.name}", hidden=as_json
            )
            names += sample_names(samples, len(names))
            classes = classes or _class_names(training_splits or splits_of(task))
        outputs = np.concatenate(output_batches) if output_batches else np.empty((0, 1), np.float32)
        nonfinite = np.flatnonzero(~np.isfinite(outputs.reshape(len(outputs), -1)).all(1))
        if len(nonfinite):
            first = names[nonfinite[0]]
            summary = f"{len(nonfinite)} of {len(outputs)} predictions are NaN or infinite, first for sample {first}"
            warnings.append(f"{summary}. Check the inputs of that sample.")
        for message in warnings:
            print_error(message, "warning")
            if as_json and out is not None:
                print_json({"event": "warning", **Problem("warning", "answers", message).as_dict()})
        try:
            _write_predictions(outputs, names, classes, out)
        except OSError as error:
            raise FileError.from_os_error(out or "output", "cannot be written", error) from None
    if as_json and out is not None:
        print_json({"event": "predicted", "samples": len(outputs), "out": str(out)})


def find_rate(
    file: File,
    steps: Steps = 100,
    low: Annotated[float, typer.Option(metavar="RATE", help="First learning rate.")] = 1e-7,
    high: Annotated[float, typer.Option(metavar="RATE", help="Last learning rate.")] = 10.0,
    device: DeviceName = None,
    assignments: Assignments = None,
    trust: Trust = False,
    as_json: Json = False,
) -> None:
    with report_errors(as_json=as_json):
        task = _build_task(file, read_project(file, assignments, trust=trust), None, device, as_json=as_json)
        if not 0 < low < high:
            raise InputError(f"--low must be above 0 and below --high, but they are {low:g} and {high:g}.")
    for event in track_progress(
        fit.find_rate(task, low=low, high=high, steps=steps), steps, "searching", hidden=as_json
    ):
        if isinstance(event, fit.LearningRateTrial):
            if as_json:
                print_json({"event": "rate", "rate": event.rate, "loss": event.loss, "smoothed": event.smoothed})
            continue
        if as_json:
            print_json({"event": "found", "rate": event.rate, "lowest": event.lowest})
        elif event.rate is None:
            print_text("No learning rate lowers the loss. Run `gradwire overfit` to check the network.")
        else:
            print_text(
                f"Suggested learning rate: {event.rate:.2g} (steepest loss decrease; lowest loss at {event.lowest:.2g})"
            )


def overfit(
    file: File,
    steps: Steps = 200,
    device: DeviceName = None,
    assignments: Assignments = None,
    trust: Trust = False,
    as_json: Json = False,
) -> None:
    with report_errors(as_json=as_json):
        task = _build_task(file, read_project(file, assignments, trust=trust), None, device, as_json=as_json)
    [*_, last] = track_progress(fit.overfit_one_batch(task, steps=steps), steps, "training", hidden=as_json)
    learns = last.share < LEARNED
    if as_json:
        print_json(
            {"event": "overfitted", "steps": last.step, "loss": last.loss, "share": last.share, "learns": learns}
        )
    if not learns:
        message = (
            f"after {last.step} steps on one batch, the loss is still {last.share:.0%} of its first value. "
            "Check that the loss fits the targets, the learning rate is high enough and each layer is wired to it."
        )
        exit_with_error(Problem("error", "not-learning", message), as_json=as_json, code=FAILED)
    if not as_json:
        print_text(f"The network learns: after {last.step} steps on one batch, the loss fell to {last.share:.2%}.")


def _build_task(file: Path, document: Document, weights: Path | None, device: str | None, *, as_json: bool) -> fit.Task:
    resolved = resolve_device(parse_device(device) or document.training.device)
    report = check_or_exit(file, document, as_json=as_json)
    if weights is not None:
        weights = find_weights(file, weights)
        base = project_folder(file)
        return task_with_weights(report, weights, name=file.stem, device=resolved, base=base)
    task = lower(report, file.stem).build(device=resolved, seed=document.training.seed)
    task.setup()
    if (initial := chosen_weights(document, project_folder(file))) is not None:
        for message in load_initial_weights(initial, task):
            print_error(message, "warning")
    return task


def _training_splits(file: Path, document: Document) -> Splits | None:
    """The training data; None if it can no longer be read."""
    try:
        return splits_of(lower(check(document, catalogue(), base=project_folder(file))).build())
    except (LoweringError, EngineError):
        return None


def _input_warnings(samples: JointSamples, *, refuse: bool) -> list[str]:
    """Warnings about the inputs. Raises InputError if `refused` is set and there are any."""
    messages = [each.message for source in samples.sources for each in source.diagnostics]
    if messages and refuse:
        raise InputError(f"{messages[0]} Pass --unseen zeros to predict anyway.")
    return messages


def _class_names(splits: Splits) -> tuple[str, ...]:
    """Names of the classes that the network outputs scores for."""
    return splits.class_names or tuple(map(str, range(splits.classes or 0)))


def _write_predictions(outputs: NDArray[Any], names: list[str], classes: tuple[str, ...], out: Path | None) -> None:
    if out is not None and out.suffix == ".npy":
        with out.open("wb") as file:
            np.save(file, outputs)
        return
    if out is None:
        _write_table(sys.stdout, outputs, names, classes)
        return
    with out.open("w", encoding="utf-8", newline="") as file:
        _write_table(file, outputs, names, classes)


def _write_table(file: TextIO, outputs: NDArray[Any], names: list[str], classes: tuple[str, ...]) -> None:
    """One row per sample: the predicted class if there are class scores, then all outputs."""
    rows = outputs.reshape(len(outputs), -1)
    scores = outputs.ndim == 2 and len(classes) == outputs.shape[1] > 1
    writer = csv.writer(file, lineterminator="\n")
    columns = classes if scores else tuple(f"output_{number}" for number in range(rows.shape[1]))
    writer.writerow(["sample", *(["class"] if scores else []), *columns])
    for name, row in zip(names, rows, strict=True):
        values: Iterable[Any] = (format(value, ".9g") for value in row.tolist())
        best = classes[int(row.argmax())] if scores and np.isfinite(row).all() else ""
        writer.writerow([name, *([best] if scores else []), *values])


__all__ = ["evaluate", "find_rate", "overfit", "predict"]
