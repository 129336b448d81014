"""A run that is resumed for longer than it was begun for, or that has nothing left to do."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from studio.document import edits
from studio.document.model import Document, Endpoint, Node, Wire
from studio.nodes.schedule_nodes import schedule_types
from studio.nodes.types import NodeType
from studio.training import Failed, Warned
from tests.studio.training.test_run_resuming import finished, lines, resume

SETTINGS: dict[str, dict[str, Any]] = {
    "lr_scheduler.CosineAnnealingWarmRestarts": {"T_0": 2},
    "lr_scheduler.CyclicLR": {"base_lr": 0.001, "max_lr": 0.01, "step_size_up": 7, "cycle_momentum": True},
    "lr_scheduler.ExponentialLR": {"gamma": 0.9},
    "lr_scheduler.OneCycleLR": {"max_lr": 0.01},
    "lr_scheduler.ReduceLROnPlateau": {"patience": 0, "threshold": 0.9},
    "lr_scheduler.StepLR": {"step_size": 2, "gamma": 0.9},
    "lr_scheduler.MultiStepLR": {"milestones": [1, 3]},
}
FOLLOWING = {"lr_scheduler.CosineAnnealingLR", "lr_scheduler.OneCycleLR", "lr_scheduler.PolynomialLR"}
"""Those that follow the length of the training."""


def scheduled(document: Document, *schedules: tuple[str, dict[str, Any]]) -> Document:
    """With schedules in a row behind its optimizer."""
    document = edits.set_training(document, compile=False)
    before = "adam"
    for number, (kind, params) in enumerate(schedules):
        name = f"schedule_{number}"
        document = edits.add(document, name, Node(kind, params))
        document = edits.connect(document, Wire(Endpoint(before, "optimizer"), Endpoint(name, "optimizer")))
        before = name
    return document


def rates(folder: Path) -> list[float]:
    """Of all steps."""
    return [line["learning_rate"] for line in lines(folder) if line["event"] == "step"]


def warnings(events: list[Any]) -> list[str]:
    return [event.message for event in events if isinstance(event, Warned)]


def trained(session, document: Document, folder: Path, epochs: int) -> Path:
    finished(session(document, out=folder, epochs=epochs))
    return folder


@pytest.mark.parametrize("per", ["epoch", "step"])
@pytest.mark.parametrize("kind", schedule_types(), ids=lambda kind: kind.key)
def test_every_schedule_goes_on_as_in_a_run_of_that_length(
    session, digits, kind: NodeType, per: str, tmp_path: Path
) -> None:
    params = dict(SETTINGS.get(kind.key, {}))
    if any(parameter.name == "per" for parameter in kind.params):
        params["per"] = per
    document = scheduled(digits(), (kind.key, params))
    folder, whole = (trained(session, document, tmp_path / str(epochs), epochs) for epochs in (2, 5))
    ended = rates(folder)
    _, events = resume(session, folder, epochs=5)
    assert rates(folder) == [*ended, *rates(whole)[len(ended) :]]
    if kind.key not in FOLLOWING:
        assert warnings(events) == []
        assert lines(folder)[1:] == lines(whole)[1:], "not only the rates: all is as if it had never ended"
    else:
        [told] = warnings(events)
        assert "The learning-rate schedule of adam was replanned for 5 epochs: the rate" in told
        assert f"to {rates(folder)[len(ended)]:.4g}." in told


def test_consecutive_schedules_are_planned_again_together(session, digits, tmp_path: Path) -> None:
    warm = ("lr_scheduler.LinearLR", {"per": "step", "total_iters": 10})
    document = scheduled(digits(), warm, ("lr_scheduler.CosineAnnealingLR", {"per": "step"}))
    folder, whole = (trained(session, document, tmp_path / str(epochs), epochs) for epochs in (2, 4))
    ended = rates(folder)
    resume(session, folder, epochs=4)
    assert rates(folder) == [*ended, *rates(whole)[len(ended) :]]
    assert rates(folder)[len(ended)] > 0.001 > ended[-1]


def test_a_lengthened_run_that_was_killed_at_once_is_planned_again(session, digits, tmp_path: Path) -> None:
    folder = trained(session, scheduled(digits(), ("lr_scheduler.PolynomialLR", {})), tmp_path / "run", 2)
    about = json.loads((folder / "run.json").read_text())
    about |= {"state": "running", "settings": {**about["settings"], "epochs": 4}}
    (folder / "run.json").write_text(json.dumps(about))
    _, events = resume(session, folder)
    assert "replanned for 4 epochs: the rate changes from 0 to 0.005." in warnings(events)[0]
    assert rates(folder)[-1] == pytest.approx(0.0025)


def test_steps_alone_leave_the_plan_as_it_is(session, digits, tmp_path: Path) -> None:
    document = scheduled(digits(), ("lr_scheduler.PolynomialLR", {"per": "step"}))
    whole = trained(session, document, tmp_path / "whole", 4)
    finished(session(document, out=tmp_path / "run", epochs=4, steps=20))
    _, events = resume(session, tmp_path / "run", steps=30)
    assert warnings(events) == []
    assert rates(tmp_path / "run") == rates(whole)[:30]


def test_a_user_defined_plan_that_is_too_short_is_reported_first(session, digits, tmp_path: Path) -> None:
    cycle = ("lr_scheduler.OneCycleLR", {"max_lr": 0.01, "total_steps": 30})
    folder = trained(session, scheduled(digits(), cycle), tmp_path / "run", 2)
    before = (folder / "run.json").read_bytes()
    _, events = resume(session, folder, epochs=5)
    [failed] = [event for event in events if isinstance(event, Failed)]
    assert "schedule_0 is configured for 30 steps but the training has 60. Clear total_steps. A run" in failed.message
    assert "--start-from" in failed.message
    assert (folder / "run.json").read_bytes() == before


def test_a_user_defined_cosine_that_rises_again_is_reported(session, digits, tmp_path: Path) -> None:
    cosine = ("lr_scheduler.CosineAnnealingLR", {"T_max": 2})
    folder = trained(session, scheduled(digits(), cosine), tmp_path / "run", 2)
    _, events = resume(session, folder, epochs=4)
    [told] = warnings(events)
    assert "schedule_0 reaches its minimum at epoch 2 and rises again until the last epoch, 4" in told


def test_patience_is_reset_in_a_run_that_it_had_ended(session, digits, tmp_path: Path) -> None:
    document = edits.set_training(digits(epochs=9), patience=1, min_change=100.0, compile=False)
    finished(session(document, out=tmp_path / "run"))
    assert lines(tmp_path / "run")[-1]["reason"] == "early"
    _, events = resume(session, tmp_path / "run")
    assert "Early-stopping patience (1) was reset." in warnings(events)[0]
    done = lines(tmp_path / "run")[-1]
    assert (done["reason"], done["epochs"]) == ("early", 5)


@pytest.mark.parametrize(
    ("begun", "asked", "message"),
    [
        ({"epochs": 2}, {}, "has already trained for 2 epochs; the requested total is 2. To train longer"),
        ({"epochs": 2}, {"epochs": 1}, "has already trained for 2 epochs; the requested total is 1"),
        ({"steps": 3}, {}, "has already trained for 3 steps; the requested total is 3"),
    ],
)
def test_a_finished_run_is_reported(session, digits, begun, asked, message: str, tmp_path: Path) -> None:
    finished(session(digits(), out=tmp_path / "run", **begun))
    before = (tmp_path / "run/run.json").read_bytes()
    run, events = resume(session, tmp_path / "run", **asked)
    [failed] = [event for event in events if isinstance(event, Failed)]
    assert message in failed.message
    assert failed.by_input
    assert (tmp_path / "run/run.json").read_bytes() == before
    assert run.state == "failed"
