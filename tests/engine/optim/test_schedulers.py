"""Schedules against PyTorch's, epoch by epoch, also when resumed and when the rate is changed from elsewhere."""

from __future__ import annotations

import warnings
from typing import Any

import pytest

import engine
from engine import nn, optim
from engine.optim import lr_scheduler
from engine.registry import SCHEDULERS

torch = pytest.importorskip("torch")

VARIANTS: list[tuple[str, dict[str, Any]]] = [
    ("StepLR", {"step_size": 3}),
    ("StepLR", {"step_size": 1, "gamma": 0.7}),
    ("CosineAnnealingLR", {"T_max": 5}),
    ("CosineAnnealingLR", {"T_max": 4, "eta_min": 0.05}),
    ("LambdaLR", {"lr_lambda": lambda epoch: 0.9**epoch}),
    ("LambdaLR", {"lr_lambda": [lambda epoch: 1 / (epoch + 1), lambda epoch: epoch]}),
]


def build(library: Any, name: str, options: dict[str, Any]) -> tuple[Any, Any]:
    weights = [library.nn.Parameter(library.zeros(1)) for _ in range(2)]
    optimizer = library.optim.SGD([{"params": [weights[0]]}, {"params": [weights[1]], "lr": 1.0}], lr=0.2)
    return optimizer, getattr(library.optim.lr_scheduler, name)(optimizer, **options)


def rates(optimizer: Any, schedule: Any, epochs: int) -> list[list[float]]:
    found = []
    for _ in range(epochs):
        optimizer.step()
        schedule.step()
        found.append([group["lr"] for group in optimizer.param_groups])
    return found


@pytest.mark.parametrize(("name", "options"), VARIANTS)
def test_rates(name: str, options: dict[str, Any]) -> None:
    ours, theirs = build(engine, name, options), build(torch, name, options)
    assert ours[1].get_last_lr() == theirs[1].get_last_lr()
    for actual, expected in zip(rates(*ours, 13), rates(*theirs, 13), strict=True):
        assert actual == pytest.approx(expected, abs=1e-12)
    assert ours[1].get_last_lr() == [group["lr"] for group in ours[0].param_groups]
    if name != "LambdaLR":
        for optimizer, _ in (ours, theirs):
            optimizer.param_groups[0]["lr"] = 0.5
        for actual, expected in zip(rates(*ours, 4), rates(*theirs, 4), strict=True):
            assert actual == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize(("name", "options"), VARIANTS)
def test_resumes(name: str, options: dict[str, Any]) -> None:
    whole = rates(*build(engine, name, options), 12)
    optimizer, schedule = build(engine, name, options)
    rates(optimizer, schedule, 5)
    later_optimizer, later = build(engine, name, options)
    later_optimizer.load_state_dict(optimizer.state_dict())
    later.load_state_dict(schedule.state_dict())
    assert rates(later_optimizer, later, 7) == whole[5:]


def test_every_schedule_has_a_variant() -> None:
    assert {entry.target.__name__ for entry in SCHEDULERS} <= {name for name, _ in VARIANTS}
    assert set(lr_scheduler.__all__) - {"LRScheduler"} == {name for name, _ in VARIANTS}


@pytest.mark.parametrize("entry", SCHEDULERS, ids=lambda entry: entry.key)
def test_is_documented(entry: Any) -> None:
    assert entry.summary
    assert all(parameter.help for parameter in entry.parameters)


def test_wrong_order_warns_once() -> None:
    optimizer, schedule = build(engine, "StepLR", {"step_size": 2})
    with pytest.warns(UserWarning, match=r"Call optimizer\.step\(\) first"):
        schedule.step()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        schedule.step()
        optimizer.step()


def test_what_is_refused() -> None:
    optimizer = optim.SGD([nn.Parameter(engine.zeros(1))])
    with pytest.raises(TypeError, match="not int"):
        lr_scheduler.StepLR(3, 1)  # pyright: ignore[reportArgumentType]
    with pytest.raises(KeyError, match="initial_lr"):
        lr_scheduler.StepLR(optimizer, 1, last_epoch=3)
    with pytest.raises(ValueError, match="1 parameter groups, but there are 2 functions"):
        lr_scheduler.LambdaLR(optimizer, [lambda epoch: 1, lambda epoch: 1])
