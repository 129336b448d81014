"""Runs the diagnosis of a planted mistake, and trains its fixed project."""

from __future__ import annotations

import time
from pathlib import Path

from engine import fit
from studio.document.model import Document
from studio.lowering import lower
from studio.lowering.check import check
from studio.lowering.problems.problem import Problem
from studio.nodes.catalogue import catalogue
from studio.reference.mistakes.mistake import Mistake
from studio.training import TrainingSession, Warned
from studio.training.data.data_inspector import DataInspector
from studio.training.experiments.diagnosis_run import Conclusion
from studio.training.experiments.diagnosis_run import diagnose as run_experiments


def diagnose(document: Document, mistake: Mistake, base: Path) -> list[Problem]:
    """The problems that the stage of a mistake shows."""
    if mistake.stage == "run":
        return _of_run(document, mistake, base)
    report = check(document, catalogue(), base)
    if mistake.stage == "diagnose":
        *_, conclusion = run_experiments(lambda: report, clock=time.monotonic)
        assert isinstance(conclusion, Conclusion)
        return [] if conclusion.cause is None else [conclusion.cause]
    if mistake.stage == "data":
        return list(DataInspector().inspect(report).joined(report).problems)
    return list(report.problems)


def _of_run(document: Document, mistake: Mistake, base: Path) -> list[Problem]:
    session = TrainingSession(document, catalogue(), base=base, epochs=mistake.epochs, device="cpu")
    session.start()
    assert session.join(120)
    return [event.problem for event in session.events() if isinstance(event, Warned)]


def trained_figure(document: Document, figure: str, epochs: int, base: Path) -> float:
    """The best value of a loss or metric, such as "val_loss", in a training."""
    task = lower(check(document, catalogue(), base)).build(device="cpu", seed=0)
    ended = [event for event in fit.fit(task, epochs=epochs) if isinstance(event, fit.Epoch)]
    part, _, name = figure.partition("_")
    values = [
        (each.val_loss if part == "val" else each.train_loss)
        if name == "loss"
        else (each.val_metrics if part == "val" else each.train_metrics)[name]
        for each in ended
    ]
    found = [value for value in values if value is not None]
    return min(found) if name == "loss" else max(found)
