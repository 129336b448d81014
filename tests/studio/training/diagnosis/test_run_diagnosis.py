"""Runs are diagnosed from their events: one problem for a root cause, and silence for healthy curves."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from engine import fit
from studio.cli.command_line import main
from studio.document import edits
from studio.document.files import project_files
from studio.document.files.project_templates import template, templates
from studio.document.model import Document, Node
from studio.lowering import check
from studio.lowering.problems.dismissal import dismiss
from studio.lowering.problems.problem import Problem
from studio.nodes import catalogue
from studio.reference.mistakes import MISTAKES
from studio.reference.mistakes.projects import digits
from studio.training import Warned
from studio.training.diagnosis.run_diagnosis import RunDiagnosis
from studio.training.runs.run_comparison import compare_runs
from studio.training.runs.run_history import Run
from studio.training.runs.run_metadata import read_metadata

BATCHES = 25
HEALTHY = 3e-3
"""Ratio of an update to the weights."""


def planted(name: str, folder: Path = Path()) -> Document:
    return next(each for each in MISTAKES if each.name == name).plant(folder)


PERCEPTRON = digits(
    {
        "flatten": "nn.Flatten",
        "hidden": Node("nn.Linear", {"out_features": 64}),
        "relu": "nn.ReLU",
        "logits": Node("nn.Linear", {"out_features": 10}),
    },
    adam=Node("optim.SGD", {"lr": 0.05}),
)
"""Its rate does not matter here: events are made by hand."""


def events(
    losses: Iterable[float],
    *,
    validation: Callable[[int, float], float] = lambda epoch, loss: loss,
    update: float = HEALTHY,
    rate: Callable[[int], float] = lambda step: 0.01,
    layers: dict[str, dict[str, float]] | None = None,
    first_gradient: float = 0.1,
    epochs: int | None = None,
) -> Iterator[fit.TrainingEvent]:
    """The events of a run with these losses, observed every 20 steps."""
    values = list(losses)
    planned = epochs or max(len(values) // BATCHES, 1)
    yield fit.Started(planned, None, BATCHES, 1600, 400, 5000, "cpu", 0)
    for number, loss in enumerate(values, start=1):
        epoch = (number - 1) // BATCHES + 1
        lr = rate(number)
        yield fit.Step(epoch, (number - 1) % BATCHES + 1, number, loss, {"adam": loss}, {}, 0.001, 1e3, lr, finite=True)
        if number % 20 == 1:
            weights = {
                "hidden.weight": {"norm": 5.0, "gradient": first_gradient, "gradient_zeros": 0.0, "update": 5 * update},
                "other.weight": {"norm": 5.0, "gradient": 0.3, "gradient_zeros": 0.0, "update": 5 * update},
                "logits.weight": {"norm": 5.0, "gradient": 0.3, "gradient_zeros": 0.0, "update": 5 * update},
            }
            yield fit.Observed(
                number, layers or {"relu": {"mean": 0.1, "dead": 0.1, "units": 64.0}}, weights, 1.0, 1e-3
            )
        if number % BATCHES == 0:
            mean = float(np.mean(values[number - BATCHES : number]))
            yield fit.Epoch(epoch, number, mean, validation(epoch, mean), {}, {}, 0.1, 1e3, lr, finite=True)
    yield fit.Done(planned, len(values), 1.0, "epochs")


def problems(made: Iterable[fit.TrainingEvent], document: Document = PERCEPTRON, **options: Any) -> list[Problem]:
    diagnosis = RunDiagnosis(check(document, catalogue()), catalogue(), **options)
    return [problem for event in made for problem in diagnosis.update(event)]


def codes(made: Iterable[fit.TrainingEvent], document: Document = PERCEPTRON, **options: Any) -> list[str]:
    return [problem.code for problem in problems(made, document, **options)]


def noise(steps: int, size: float, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).normal(0, size, steps)


def falling(steps: int = 500, first: float = 2.3, last: float = 0.2) -> np.ndarray:
    return last + (first - last) * np.exp(-np.arange(steps) / (steps / 6))


FLAT = np.full(500, 2.3) + noise(500, 0.02)
SOUND: dict[str, tuple[Iterable[float], dict[str, Any]]] = {
    "falls": (falling(), {}),
    "falls with the noise of small batches": (np.abs(falling() + noise(500, 0.5)) + 0.05, {}),
    "noise stays at a level that the data has": (falling(last=1.2) + noise(500, 0.3), {"update": 0.02}),
    "falls by little but ever slower": (falling(last=1.2), {"update": 4e-4}),
    "falls late": (np.concatenate([np.full(150, 2.3), falling(350)]), {}),
    "short": (np.full(25, 2.3) + noise(25, 0.02), {"update": 1e-5}),
    "short with a warm-up": (np.full(50, 2.3), {"update": 1e-5, "rate": lambda step: 1e-4 * step}),
    "learns so slowly that validation does, too": (np.linspace(2.3, 2.27, 500), {}),
    "flat for a reason that is not measured": (FLAT, {}),
    "warms up": (
        np.concatenate([np.full(180, 2.3), falling(320)]),
        {"update": 1e-4, "rate": lambda step: 1e-4 * step},
    ),
    "restarts": (
        np.tile(falling(100, 1.5, 0.3), 5),
        {"update": 0.05, "rate": lambda step: 0.1 * (1 - step % 100 / 100)},
    ),
    "overfits a little": (falling(last=0.05), {"validation": lambda epoch, loss: max(loss, 0.3) * (1 + epoch / 200)}),
    "overfits at a tiny loss": (falling(last=1e-4), {"validation": lambda epoch, loss: 1e-4 * (1 + abs(epoch - 6))}),
    "has dead units as many networks": (falling(), {"layers": {"relu": {"dead": 0.5, "units": 64.0}}}),
    "saturates while it learns": (falling(), {"layers": {"sigmoid": {"saturated": 0.95}, "logits": {"mean": 0.0}}}),
    "has small gradients at the input while it learns": (falling(), {"first_gradient": 1e-5}),
    "jumps once": (np.concatenate([falling(200), [9.0], falling(299, 0.6)]), {"update": 0.05}),
}


@pytest.mark.parametrize("name", SOUND)
def test_sound_runs_are_silent(name: str) -> None:
    losses, options = SOUND[name]
    assert codes(events(losses, **options)) == []


def test_a_flat_curve_has_the_cause_that_was_measured() -> None:
    assert codes(events(FLAT, update=1e-5)) == ["learning-rate-too-low"]
    assert codes(events(np.linspace(2.3, 1.2, 500), update=4e-4)) == ["learning-rate-too-low"]
    assert codes(events(FLAT, first_gradient=1e-6)) == ["vanishing-gradients"]
    dead = {"relu": {"dead": 0.95, "units": 64.0}}
    [problem] = problems(events(FLAT, layers=dead, first_gradient=1e-6, update=1e-5))
    assert (problem.code, problem.node) == ("dead-relu", "relu")
    assert problem.evidence["dead_share"] == 0.95
    assert "61 of 64 units of relu (95%) are dead" in problem.message


def test_a_short_run_is_judged_at_its_end() -> None:
    short = np.full(50, 2.3) + noise(50, 0.02)
    assert codes(events(short, update=1e-5)) == ["learning-rate-too-low"]
    assert codes(events(short, first_gradient=1e-6)) == ["vanishing-gradients"]


def test_a_level_curve_with_a_blocked_gradient_has_learned_the_mean() -> None:
    level = np.concatenate([np.linspace(100, 25, 40), np.full(300, 25.0)])
    assert codes(events(level, first_gradient=1e-6)) == ["vanishing-gradients"]
    assert codes(events(level, first_gradient=1e-3)) == []


def test_what_is_memorized_does_not_hold_for_validation() -> None:
    slow = np.linspace(2.3, 2.27, 500)
    assert codes(events(slow, validation=lambda epoch, loss: 2.31)) == ["unrelated-targets"]
    assert codes(events(slow, validation=lambda epoch, loss: 2.0)) == []


def test_a_loss_that_diverges_is_a_consequence_of_a_known_problem() -> None:
    fast = edits.set_param(PERCEPTRON, "adam", "lr", 50.0)
    [problem] = problems(events([2.3, 1e8, *[1e8] * 40], update=0.5), fast)
    assert (problem.code, problem.severity) == ("diverged", "hint")
    assert "learning-rate-too-high at adam explains it" in problem.message
    made = events([2.3, *[9.0] * 40])
    invalid = [replace(each, val_losses={"adam": np.nan}) if isinstance(each, fit.Epoch) else each for each in made]
    assert [(each.code, each.severity) for each in problems(invalid, fast)] == [("validation-not-finite", "hint")]


def test_curves_that_rise_or_swing_are_found() -> None:
    swings = 2.3 - 1.8 * np.sin(np.arange(600) / 50) ** 2 + noise(600, 0.02)
    assert codes(events(swings, update=0.08)) == ["oscillating-loss"]
    rises = np.concatenate([falling(200, last=0.8), np.linspace(0.8, 2.5, 300)])
    [problem] = problems(events(rises))
    assert problem.code == "diverged" and problem.fix is not None and problem.fix.title == "Set lr to 0.005"
    collapses = np.concatenate([np.linspace(2.3, 1.9, 150), np.full(350, 2.31)])
    assert codes(events(collapses, update=0.05)) == ["learning-rate-too-high"]
    jumps = np.concatenate([[2.3, 2.4, 30.0, 12.0], np.full(200, 2.4)])
    assert codes(events(jumps, update=0.3)) == ["learning-rate-too-high"]


def test_a_network_with_few_samples_overfits_from_the_epoch_of_its_minimum() -> None:
    rising = events(falling(last=0.01), validation=lambda epoch, loss: 0.5 + 0.05 * abs(epoch - 4))
    [problem] = problems(rising)
    assert problem.code == "overfitting" and "since epoch 4" in problem.message
    assert problem.evidence["since_epoch"] == 4
    [problem] = problems(
        events(falling(last=0.01), validation=lambda epoch, loss: [0.6, 0.5, 0.505, 0.8, 1.0][min(epoch - 1, 4)])
    )
    assert problem.code == "overfitting" and problem.evidence["since_epoch"] == 2
    patient = edits.set_training(PERCEPTRON, patience=3)
    assert codes(events(falling(last=0.01), validation=lambda epoch, loss: 0.5 + 0.05 * epoch), patient) == []


def test_runs_from_trained_weights_may_be_flat_and_slow() -> None:
    assert codes(events(FLAT, update=1e-5), starts_trained=True) == []


def test_a_warning_of_the_check_is_not_repeated_as_its_consequence() -> None:
    still = edits.set_param(PERCEPTRON, "adam", "lr", 0.0)
    assert [each.code for each in check(still, catalogue()).problems] == ["learning-rate-zero"]
    assert codes(events(FLAT, update=0.0), still) == []
    known = [Problem("warning", "numbers-as-classes", "The targets are prices.", node="digits")]
    assert codes(events(FLAT, first_gradient=1e-6), known=known) == []


def test_losses_of_adversaries_may_do_what_they_like() -> None:
    gan = template("digits-gan").document
    swings = 2.3 - 1.8 * np.sin(np.arange(600) / 100) ** 2
    assert codes(events(swings, update=0.1), gan) == []
    assert codes(events(FLAT, update=1e-6), gan) == []


@pytest.mark.parametrize("seed", range(20))
def test_no_event_ends_a_diagnosis_with_an_error(seed: int) -> None:
    """Losses and statistics may be NaN, infinite, 0, huge or negative."""
    random = np.random.default_rng(seed)
    strange = np.array([np.nan, np.inf, -np.inf, 0.0, -1.0, 1e-300, 1e300, 2.3])

    def any_of(*values: float) -> float:
        return float(random.choice([*values, *strange])) if random.random() < 0.3 else float(random.choice(values))

    made: list[fit.TrainingEvent] = []
    for event in events(random.choice([2.3, 1e300, 0.0], 150) * random.random(150)):
        if isinstance(event, fit.Step):
            event = replace(event, loss=any_of(event.loss), losses={"adam": any_of(event.loss)})
        elif isinstance(event, fit.Observed):
            parameters = {
                path: {name: any_of(value) for name, value in figures.items()}
                for path, figures in event.parameters.items()
            }
            layers = {"relu": {"dead": any_of(0.9, 0.1), "units": 64.0, "saturated": any_of(0.9)}}
            event = replace(event, parameters=parameters, layers=layers, loss_scale=any_of(1.0, 1e-9))
        elif isinstance(event, fit.Epoch):
            event = replace(event, train_loss=any_of(event.train_loss), val_loss=any_of(1.0))
        made.append(event)
    half = edits.set_training(PERCEPTRON, mixed_precision="float16")
    assert len(codes(made)) <= 3
    assert len(codes(made, half)) <= 3


def test_dismissed_problems_are_not_reported() -> None:
    [problem] = problems(events(FLAT, update=1e-5))
    assert problems(events(FLAT, update=1e-5), dismiss(PERCEPTRON, problem)) == []


def test_a_fix_in_a_block_changes_the_block(tmp_path: Path) -> None:
    document = template("digits-denoising").document
    flat = check(document, catalogue()).checked
    relu = next(name for name, facts in flat.facts.items() if facts.type.key == "nn.ReLU" and "." in name)
    layers = {relu: {"dead": 0.9, "units": 16.0}}
    [problem] = problems(events(falling(), layers=layers), document)
    assert (problem.code, problem.node) == ("dead-relu", relu)
    assert problem.fix is not None
    fixed = check(problem.fix.edit(document), catalogue()).checked
    assert fixed.facts[relu].type.key == "nn.LeakyReLU"


def test_a_run_records_its_problems(session, tmp_path: Path) -> None:
    run = session(planted("sgd_rate_too_low"), out=tmp_path / "out", epochs=6)
    run.start()
    assert run.join(600) and run.state == "done"
    [warned] = [event for event in run.events() if isinstance(event, Warned)]
    stored = read_metadata(tmp_path / "out" / "run.json")
    assert stored["problems"] == [warned.problem.as_dict()]
    assert "loss_problem" not in stored
    shown = Run(1)
    shown.describe(stored, "done")
    [group] = [each for each in compare_runs([shown], catalogue()) if each.key == "problems"]
    [row] = group.rows
    assert (row.name, row.values, row.node) == ("Learning rate too low", (warned.message,), "adam")


def test_the_command_reports_a_problem_in_text_and_json(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "slow.gradwire"
    project_files.save(planted("sgd_rate_too_low"), file)
    assert main(["run", str(file), "--epochs", "6", "--out", str(tmp_path / "a")]) == 0
    assert "The learning rate of adam is too low" in capsys.readouterr().err
    assert main(["run", str(file), "--epochs", "6", "--out", str(tmp_path / "b"), "--json"]) == 0
    records = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    [record] = [each for each in records if each["event"] == "warning"]
    assert (record["code"], record["node"], record["severity"]) == ("learning-rate-too-low", "adam", "warning")
    assert record["set"] and record["evidence"]["step"] > 0


@pytest.mark.parametrize("key", [each.key for each in templates() if each.key.startswith("penguins")])
def test_templates_are_silent_at_full_length(session, key: str) -> None:
    """The others are run by hand: docs/reference/training.md."""
    run = session(template(key).document)
    run.start()
    assert run.join(600) and run.state == "done"
    assert [event.problem for event in run.events() if isinstance(event, Warned)] == []
