"""A diverging loss is reported once, at its optimizer, with remedies."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from engine import data, fit
from studio.document import edits
from studio.document.model import Document, Node
from studio.lowering.problems.problem import Problem
from studio.nodes.catalogue import catalogue
from studio.training import Warned
from studio.training.diagnosis.divergence import DivergenceDetector
from studio.training.runs.event_json import event_to_json
from studio.training.runs.run_history import Run
from studio.training.runs.run_metadata import read_metadata
from tests.studio.lowering.graphs import document
from tests.studio.training.data_documents import arrays


def step(number: int, **losses: float) -> fit.Step:
    total = sum(losses.values())
    return fit.Step(1, number, number, total, losses, {}, 0.1, 10.0, 0.1, finite=math.isfinite(total))


def found(document: Document, *values: float) -> list[Problem]:
    watch = DivergenceDetector(document, catalogue())
    told = (watch.check(step(number, adam=value)) for number, value in enumerate(values, start=1))
    return [problem for problems in told for problem in problems]


def with_lbfgs(document: Document, **params: Any) -> Document:
    return edits.retype(document, "adam", "optim.LBFGS", params)


def test_a_loss_that_varies_does_not_diverge(digits) -> None:
    assert found(digits(), 2.3, 0.1, 900.0, 1e-9, 2300.0) == []
    assert found(digits(), 1e-6, 0.5, 900.0) == [], "a loss that was nothing at first"
    assert found(digits(), 1e7, 9e9) == []
    assert found(digits(), 0.5, -1e6) == [], "losses may go far below 0"


@pytest.mark.parametrize(
    ("loss", "told"),
    [(math.nan, "became NaN in batch 3 (first loss: 2.3)"), (math.inf, "became infinite in"), (1e6, "became 1e+06 in")],
)
def test_it_is_reported_once_with_location_and_remedies(digits, loss: float, told: str) -> None:
    [problem] = found(digits(), 2.3, 2.0, loss, loss, 1.0, loss)
    assert (problem.node, problem.severity, problem.code) == ("adam", "warning", "diverged")
    assert f"the loss of adam {told}" in problem.message
    assert "Lower lr of adam from 0.01 to 0.001" in problem.message and "clip_norm" in problem.message
    assert problem.fix is not None
    assert problem.fix.edit(digits()).nodes["adam"].params["lr"] == pytest.approx(0.001)


def test_suggests_a_lower_clip_norm_if_one_is_set(digits) -> None:
    clipped = edits.set_training(digits(), clip_norm=1.0)
    [problem] = found(clipped, 2.3, 1e6)
    assert 'or lower "Clip gradient norm" (clip_norm) from 1 in' in problem.message


def test_l_bfgs_is_to_search_its_lines(digits) -> None:
    plain = with_lbfgs(digits())
    [problem] = found(plain, 2.3, 2e6)
    assert "Set line_search_fn to strong_wolfe, or lower lr of adam from 1 to 0.1" in problem.message
    assert problem.fix is not None
    searching = problem.fix.edit(plain)
    assert searching.nodes["adam"].params["line_search_fn"] == "strong_wolfe"
    [problem] = found(searching, 2.3, math.nan)
    assert "strong_wolfe" not in problem.message and "increase the batch size" in problem.message
    assert problem.fix is not None
    assert problem.fix.edit(searching).nodes["adam"].params["lr"] == pytest.approx(0.1)


def test_a_loss_that_never_was_a_number_is_not_the_learning_rates_fault(digits) -> None:
    [problem] = found(digits(), math.nan, math.nan)
    assert "The first loss of adam is" in problem.message and "lr" not in problem.message
    assert problem.fix is None


def test_each_of_several_optimizers_is_reported_once(digits) -> None:
    watch = DivergenceDetector(digits(), catalogue())
    assert watch.check(step(1, adam=1.0, other=1.0)) == []
    problems = [watch.check(step(number, adam=math.nan, other=1e4)) for number in (2, 3)]
    assert [[problem.node for problem in found] for found in problems] == [["adam", "other"], []]
    assert "Lower the learning rate of other" in problems[0][1].message


def validation(epoch: int, **losses: float) -> fit.Validated:
    return fit.Validated(epoch, epoch, sum(losses.values()), {}, best=False, val_losses=losses)


def test_a_validation_loss_that_is_not_finite_is_reported_once_with_its_batch(digits) -> None:
    watch = DivergenceDetector(digits(), catalogue())
    events = [step(1, adam=0.5), fit.ValidationStep(1, 1, 9), validation(1, adam=0.5)]
    events += [fit.ValidationStep(2, number, 9, finite=number < 4) for number in range(1, 6)]
    assert [found for event in events for found in watch.check(event)] == []
    [problem] = watch.check(validation(2, adam=math.nan))
    assert (problem.node, problem.severity, problem.code) == ("adam", "warning", "validation-not-finite")
    assert "loss of adam is NaN in epoch 2 (training loss: 0.5), first in batch 4 of the valid" in problem.message
    assert watch.check(validation(3, adam=math.inf)) == []
    assert [found.code for found in watch.check(step(2, adam=math.nan))] == ["diverged"], "training is another matter"


def test_a_validation_after_diverged_training_is_not_reported_again(digits) -> None:
    watch = DivergenceDetector(digits(), catalogue())
    assert len(watch.check(step(1, adam=math.nan))) == 1
    assert watch.check(validation(1, adam=math.nan)) == []


def test_a_run_with_nan_in_its_validation_data_tells_it(session, tmp_path: Path) -> None:
    inputs = np.arange(100, dtype=np.float32).reshape(100, 1)
    source = arrays(tmp_path, inputs, inputs)
    splits = data.NPY(str(source.params["path"]))
    assert splits.validation is not None
    row = int(splits.validation[3][0].item())
    inputs[row] = np.nan
    arrays(tmp_path, inputs, np.nan_to_num(inputs))
    run = session(regression(source), out=tmp_path / "out")
    run.start()
    assert run.join(600) and run.state == "done"
    [warned] = [event for event in run.events() if isinstance(event, Warned) and event.problem.node == "sgd"]
    assert "first in batch 1 of the validation data" in warned.message
    assert "The inputs of 1 of 20 samples in a batch contain 1 values that are NaN" in warned.message
    stored = read_metadata(tmp_path / "out" / "run.json")
    assert (stored["state"], stored["loss_problem"]) == ("done", "validation-not-finite")
    assert stored["message"] == warned.message
    read = Run(1)
    read.describe(stored, "done")
    assert read.loss_problem == "val. NaN"


def regression(source: Node) -> Document:
    """One weight, trained for one epoch."""
    nodes: dict[str, Node | str] = {
        "source": source,
        "batches": "data.Batches",
        "layer": Node("nn.Linear", {"out_features": 1}),
        "loss": "nn.MSELoss",
        "sgd": Node("optim.SGD", {"lr": 1e-6}),
    }
    wires = [
        "source.samples -> batches.samples",
        "batches.input -> layer.input",
        "layer.output -> loss.input",
        "batches.target -> loss.target",
        "loss.loss -> sgd.loss",
    ]
    return edits.set_training(document(nodes, wires), epochs=1)


def test_a_run_tells_it_at_the_optimizer(session, digits, tmp_path: Path) -> None:
    document = edits.retype(digits(epochs=1), "adam", "optim.SGD", {"lr": 1e6})
    document = edits.set_dismissed(document, "adam", ("learning-rate-too-high",))  # the check sees it, too
    run = session(document, out=tmp_path)
    run.start()
    assert run.join(600)
    [warned] = [event for event in run.events() if isinstance(event, Warned)]
    assert warned.problem.node == "adam"
    assert "Lower lr of adam from 1e+06 to 100000" in warned.message == warned.problem.message
    assert event_to_json(warned) == {"event": "warning", **warned.problem.as_dict()}
    assert warned.problem.as_dict()["set"] == ["adam.lr=100000.0"]
