"""Projects with streamed data: checked, previewed, trained, resumed."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from engine import fit
from studio.document import edits
from studio.document.files.project_files import save
from studio.document.model import Document, Node, TrainingSettings
from studio.lowering import lower
from studio.lowering.check import check
from studio.lowering.schedules.schedule_context import ScheduleContext
from studio.nodes import catalogue
from studio.training import TrainingSession
from studio.training.data.sample_preview import SampleSelection
from studio.training.data.transform_fitting import fit_arguments
from tests.engine.fit.test_resume import assert_resumable
from tests.studio.cli.conftest import Result, gradwire
from tests.studio.lowering.graphs import only, report, wire
from tests.studio.lowering.test_schedules import STEPS, network
from tests.studio.training.data_documents import described, previewed
from tests.studio.training.shards import shards, streamed

__all__ = ["gradwire"]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return shards(tmp_path / "shards")


def with_schedule(document: Document, kind: str, **params: Any) -> Document:
    return Document(
        {**document.nodes, "plan": Node(f"lr_scheduler.{kind}", params)},
        tuple(sorted((*document.wires, wire("adam.optimizer -> plan.optimizer")))),
        document.training,
    )


def test_a_run_says_what_is_known(folder: Path, session: Callable[..., TrainingSession], tmp_path: Path) -> None:
    run = session(streamed(folder), out=tmp_path / "run")
    run.start()
    assert run.join(600)
    events = run.events()
    started = next(event for event in events if isinstance(event, fit.Started))
    assert (started.batches, started.train_samples, started.validation_samples) == (None, None, None)
    assert [event.batches for event in events if isinstance(event, fit.Epoch)] == [7, 7]  # 5 shards of 5 images
    lines = [json.loads(line) for line in (tmp_path / "run/metrics.jsonl").read_text().splitlines()]
    assert lines[0]["batches"] is None
    assert sum(line["event"] == "step" for line in lines) == 14
    about = json.loads((tmp_path / "run/run.json").read_text())
    assert (about["state"], len(about["data"])) == ("done", 6)


@pytest.mark.parametrize("workers", [0, 4])
def test_a_run_goes_on_bit_by_bit(folder: Path, workers: int) -> None:
    document = streamed(folder, workers=workers, training=TrainingSettings(epochs=2, accumulate=2, compile=False))
    program = lower(check(document, catalogue()))
    assert_resumable(lambda: program.build(seed=3), range(1, 16, 3), epochs=2, validate_steps=3, compile=False)


def test_workers_change_no_number(folder: Path) -> None:
    losses: list[list[float]] = []
    for workers in (0, 1, 4):
        task = lower(check(streamed(folder, workers=workers), catalogue())).build(seed=1)
        events = fit.fit(task, epochs=2, compile=False)
        losses.append([event.loss for event in events if isinstance(event, fit.Step)])
    assert losses[0] == losses[1] == losses[2]


def test_the_command_line_says_what_is_known(folder: Path, gradwire: Callable[..., Result], tmp_path: Path) -> None:
    file = tmp_path / "project.gradwire"
    save(streamed(folder), file)
    told = gradwire("run", file)
    assert told.code == 0
    assert "streamed training and streamed validation samples" in told.err
    assert "epoch 2/2" in told.err
    found = gradwire("data", file)
    assert "training: the first 25 samples of a stream" in found.out
    [run] = (tmp_path / "project.runs").iterdir()
    judged = gradwire("evaluate", file, "--weights", run)
    assert judged.code == 0, judged.err
    assert judged.out.startswith("loss ")
    answered = gradwire("predict", file, folder, "--weights", run, "-o", tmp_path / "answers.csv")
    assert answered.code == 0, answered.err
    assert len((tmp_path / "answers.csv").read_text().splitlines()) == 31


def test_steps_of_the_project_end_the_run(folder: Path, session: Callable[..., TrainingSession]) -> None:
    run = session(streamed(folder, training=TrainingSettings(steps=9)))
    run.start()
    assert run.join(600)
    [done] = [event for event in run.events() if isinstance(event, fit.Done)]
    assert (done.epochs, done.steps, done.reason) == (1, 9, "steps")


def test_epochs_that_are_asked_for_come_before_steps_of_the_project(folder: Path) -> None:
    document = streamed(folder, training=TrainingSettings(steps=9))
    settings = TrainingSession(document, catalogue(), epochs=1).settings
    assert (settings.epochs, settings.steps) == (1, None)
    settings = TrainingSession(document, catalogue(), steps=4).settings
    assert (settings.epochs, settings.steps) == (None, 4)


# -- messages before a run ----------------------------------------------------------------


def test_a_stream_has_no_errors(folder: Path) -> None:
    found = report(streamed(folder))
    assert found.problems == ()


@pytest.mark.parametrize(
    ("kind", "params", "way"),
    [
        (
            "OneCycleLR",
            {"max_lr": 0.1},
            "total_steps",
        ),
        (
            "CosineAnnealingLR",
            {"per": "step"},
            "T_max",
        ),
    ],
)
def test_schedules_of_the_whole_training_need_its_length(folder: Path, kind: str, params: Any, way: str) -> None:
    document = with_schedule(streamed(folder), kind, **params)
    assert only(document).message == (
        f"The data is a stream, so the number of steps is unknown. Set steps of the training or {way} of plan."
    )
    told = edits.set_training(document, steps=30)
    assert report(told).errors == ()
    [plan] = report(told).learning_rate_plans.values()
    assert (plan.unit, plan.rates()[-1][0], len(plan.rates())) == ("step", 30, 31)
    assert "30" in lower(check(told, catalogue())).source


def test_epochs_of_a_training_by_steps_are_not_known(folder: Path) -> None:
    document = with_schedule(streamed(folder, training=TrainingSettings(steps=30)), "CosineAnnealingLR")
    assert "the number of epochs is unknown. Set per to step or T_max" in only(document).message
    assert report(edits.set_training(document, steps=None)).errors == ()


def test_one_cycle_goes_over_the_steps_of_the_training(folder: Path, session: Callable[..., TrainingSession]) -> None:
    document = with_schedule(streamed(folder, training=TrainingSettings(steps=16)), "OneCycleLR", max_lr=0.1)
    run = session(document)
    run.start()
    assert run.join(600)
    events = run.events()
    rates = [event.learning_rate for event in events if isinstance(event, fit.Step)]
    assert run.state == "done"
    assert rates[-1] < rates[0] < max(rates)


def test_steps_of_counted_data_are_epochs_as_well() -> None:
    document = edits.set_training(network(plan=("CosineAnnealingLR", {}, "adam")), steps=2 * STEPS + 1)
    context = next(iter(report(document).learning_rate_plans.values())).context
    assert isinstance(context, ScheduleContext)
    assert (context.length.epochs, context.length.total(per_step=True)) == (3, 2 * STEPS + 1)
    assert "T_max=3" in lower(check(document, catalogue())).source


@pytest.mark.parametrize("division", ["HoldOut", "KFold"])
def test_a_stream_is_not_divided(folder: Path, division: str) -> None:
    document = streamed(folder)
    wires = [each for each in document.wires if str(each.source) != "shards.samples"]
    wires += [wire("shards.samples -> part.samples"), wire("part.samples -> sized.samples")]
    divided = Document({**document.nodes, "part": Node(f"data.{division}")}, tuple(sorted(wires)), document.training)
    problem = next(each for each in report(divided).errors if each.node == "part")
    assert "a stream cannot be split because its number of samples is unknown" in problem.message


# -- looking at it ----------------------------------------------------------------------------


def test_the_first_samples_are_shown_before_and_after_a_node(folder: Path) -> None:
    preview = previewed(streamed(folder), "scaled")
    facts = preview.facts
    assert (facts.is_stream, facts.counts) == (True, {"training": 25, "validation": 5})
    assert facts.class_names == ("0", "1", "2")
    samples = preview.fetch(SampleSelection(), 0, 4)
    assert all(sample.before is not None and sample.input is not None for sample in samples)
    assert len(preview.rows(SampleSelection(category=1))) > 0
    assert preview.fetch(SampleSelection(draw=1), 0, 9) != ()


def test_statistics_are_those_of_the_first_samples(folder: Path) -> None:
    found = described(previewed(streamed(folder), "loader"))
    assert [part.is_stream for part in found.parts] == [True, True]
    assert sum(found.parts[0].classes) == found.parts[0].samples == 25


def test_arguments_are_learned_from_all_of_it(folder: Path) -> None:
    document = streamed(folder)
    nodes = {name: Node("transforms.Normalize") if name == "scaled" else node for name, node in document.nodes.items()}
    told: list[tuple[int, int]] = []
    found = fit_arguments(
        Document(nodes, document.wires), catalogue(), "scaled", lambda *progress: told.append(progress)
    )
    assert found.samples == 25
    assert told[0] == (0, 0)
    assert np.isfinite(found.params["mean"]).all()
