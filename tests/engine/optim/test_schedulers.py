"""Schedules against PyTorch's, step by step, also when resumed, exchanged, and changed from elsewhere."""

from __future__ import annotations

import copy
import inspect
import warnings
from typing import Any

import pytest

import engine
from engine import nn, optim
from engine.optim import lr_scheduler
from engine.registry import SCHEDULERS

torch = pytest.importorskip("torch")
nested_may_warn = pytest.mark.filterwarnings("ignore:.*before")

VARIANTS: list[tuple[str, dict[str, Any]]] = [
    ("StepLR", {"step_size": 3}),
    ("StepLR", {"step_size": 1, "gamma": 0.7}),
    ("MultiStepLR", {"milestones": [2, 5, 5, 9]}),
    ("MultiStepLR", {"milestones": [4], "gamma": 0.5}),
    ("ExponentialLR", {"gamma": 0.9}),
    ("ConstantLR", {}),
    ("ConstantLR", {"factor": 0.5, "total_iters": 3}),
    ("LinearLR", {}),
    ("LinearLR", {"start_factor": 0.8, "end_factor": 0.2, "total_iters": 7}),
    ("PolynomialLR", {}),
    ("PolynomialLR", {"total_iters": 9, "power": 2.0}),
    ("CosineAnnealingLR", {"T_max": 5}),
    ("CosineAnnealingLR", {"T_max": 4, "eta_min": 0.05}),
    ("CosineAnnealingWarmRestarts", {"T_0": 4}),
    ("CosineAnnealingWarmRestarts", {"T_0": 2, "T_mult": 2, "eta_min": 0.01}),
    ("LambdaLR", {"lr_lambda": lambda epoch: 0.9**epoch}),
    ("LambdaLR", {"lr_lambda": [lambda epoch: 1 / (epoch + 1), lambda epoch: epoch]}),
    ("MultiplicativeLR", {"lr_lambda": lambda epoch: 0.95}),
    ("MultiplicativeLR", {"lr_lambda": [lambda epoch: 1 / (epoch + 1), lambda epoch: 0.5]}),
    ("CyclicLR", {"base_lr": 0.1, "max_lr": 0.9, "step_size_up": 4}),
    ("CyclicLR", {"base_lr": [0.1, 0.2], "max_lr": [0.5, 1.0], "step_size_up": 2, "step_size_down": 5}),
    ("CyclicLR", {"base_lr": 0.1, "max_lr": 0.9, "step_size_up": 2, "mode": "triangular2", "cycle_momentum": False}),
    ("CyclicLR", {"base_lr": 0.1, "max_lr": 0.9, "step_size_up": 3, "mode": "exp_range", "gamma": 0.9}),
    ("CyclicLR", {"base_lr": 0.1, "max_lr": 0.9, "step_size_up": 3, "base_momentum": 0.5, "max_momentum": 0.7}),
    (
        "CyclicLR",
        {"base_lr": 0.1, "max_lr": 0.9, "step_size_up": 3, "scale_fn": lambda x: 0.8**x, "scale_mode": "iterations"},
    ),
    ("OneCycleLR", {"max_lr": 1.0, "total_steps": 20}),
    ("OneCycleLR", {"max_lr": [1.0, 2.0], "epochs": 5, "steps_per_epoch": 5, "anneal_strategy": "linear"}),
    ("OneCycleLR", {"max_lr": 1.0, "total_steps": 25, "three_phase": True, "pct_start": 0.25}),
    (
        "OneCycleLR",
        {
            "max_lr": 1.0,
            "total_steps": 25,
            "div_factor": 5.0,
            "final_div_factor": 10.0,
            "base_momentum": 0.6,
            "max_momentum": 0.7,
        },
    ),
    ("OneCycleLR", {"max_lr": 1.0, "total_steps": 25, "cycle_momentum": False}),
]
COMPOSED = {
    "sequential": lambda s, o: s.SequentialLR(
        o, [s.ConstantLR(o, 0.1, 3), s.ExponentialLR(o, 0.9), s.CosineAnnealingLR(o, 4)], [4, 8]
    ),
    "sequential from a milestone": lambda s, o: s.SequentialLR(o, [s.LinearLR(o), s.StepLR(o, 2)], [0]),
    "chained": lambda s, o: s.ChainedScheduler([s.ConstantLR(o, 0.1, 3), s.ExponentialLR(o, 0.9)], o),
    "nested": lambda s, o: s.SequentialLR(
        o, [s.SequentialLR(o, [s.LinearLR(o), s.StepLR(o, 2)], [3]), s.ExponentialLR(o, 0.5)], [6]
    ),
}
SINGLE: dict[str, Any] = {f"{name}-{number}": (name, options) for number, (name, options) in enumerate(VARIANTS)}
BUILDERS: dict[str, Any] = {**SINGLE, **COMPOSED}


def make_optimizer(library: Any, kind: str = "SGD") -> Any:
    weights = [library.nn.Parameter(library.zeros(1)) for _ in range(2)]
    options = {"momentum": 0.9} if kind == "SGD" else {}
    return getattr(library.optim, kind)(
        [{"params": [weights[0]]}, {"params": [weights[1]], "lr": 1.0}], lr=0.2, **options
    )


def build(library: Any, builder: Any, kind: str = "SGD", **more: Any) -> tuple[Any, Any]:
    optimizer = make_optimizer(library, kind)
    if callable(builder):
        return optimizer, builder(library.optim.lr_scheduler, optimizer)
    name, options = builder
    return optimizer, getattr(library.optim.lr_scheduler, name)(optimizer, **options, **more)


def current_options(optimizer: Any) -> list[float]:
    """Learning rates and momenta."""
    groups = optimizer.param_groups
    return [g["lr"] for g in groups] + [g["momentum"] if "momentum" in g else g["betas"][0] for g in groups]


def rates(optimizer: Any, schedule: Any, epochs: int) -> list[list[float]]:
    result = [current_options(optimizer)]
    for _ in range(epochs):
        optimizer.step()
        schedule.step()
        result.append(current_options(optimizer))
    return result


def same(ours: list[list[float]], theirs: list[list[float]]) -> None:
    for actual, expected in zip(ours, theirs, strict=True):
        assert actual == pytest.approx(expected, rel=1e-10, abs=1e-12)


@nested_may_warn
@pytest.mark.parametrize("kind", ["SGD", "Adam"])
@pytest.mark.parametrize("builder", BUILDERS.values(), ids=BUILDERS)
def test_rates(builder: Any, kind: str) -> None:
    ours, theirs = build(engine, builder, kind), build(torch, builder, kind)
    assert ours[1].get_last_lr() == pytest.approx(theirs[1].get_last_lr())
    same(rates(*ours, 13), rates(*theirs, 13))
    assert ours[1].get_last_lr() == [group["lr"] for group in ours[0].param_groups]
    for optimizer, _ in (ours, theirs):
        optimizer.param_groups[0]["lr"] = 0.5
    same(rates(*ours, 4), rates(*theirs, 4))


@nested_may_warn
@pytest.mark.parametrize("builder", BUILDERS.values(), ids=BUILDERS)
def test_resumes(builder: Any) -> None:
    whole = rates(*build(engine, builder), 12)
    optimizer, schedule = build(engine, builder)
    rates(optimizer, schedule, 5)
    later_optimizer, later = build(engine, builder)
    later_optimizer.load_state_dict(optimizer.state_dict())
    later.load_state_dict(copy.deepcopy(schedule.state_dict()))
    assert rates(later_optimizer, later, 7) == whole[5:]


@nested_may_warn
@pytest.mark.parametrize("builder", BUILDERS.values(), ids=BUILDERS)
@pytest.mark.parametrize(("start", "goal"), [(engine, torch), (torch, engine)], ids=["to PyTorch", "from PyTorch"])
def test_state_is_exchanged_with_pytorch(builder: Any, start: Any, goal: Any) -> None:
    whole = rates(*build(torch, builder), 12)
    optimizer, schedule = build(start, builder)
    rates(optimizer, schedule, 5)
    later_optimizer, later = build(goal, builder)
    later_optimizer.load_state_dict({"state": {}, "param_groups": optimizer.state_dict()["param_groups"]})
    later.load_state_dict(copy.deepcopy(schedule.state_dict()))
    same(rates(later_optimizer, later, 7), whole[5:])


@pytest.mark.parametrize("builder", SINGLE.values(), ids=SINGLE)
def test_starts_in_the_middle(builder: Any) -> None:
    """With last_epoch, and the learning rates that a loaded optimizer has."""
    result = []
    for library in (engine, torch):
        optimizer = make_optimizer(library)
        for group in optimizer.param_groups:
            group |= {
                "initial_lr": group["lr"],
                "max_lr": 2.0,
                "min_lr": 0.01,
                "max_momentum": 0.9,
                "base_momentum": 0.5,
            }
        name, options = builder
        schedule = getattr(library.optim.lr_scheduler, name)(optimizer, **options, last_epoch=3)
        result.append(rates(optimizer, schedule, 6))
    same(*result)


@pytest.mark.filterwarnings("ignore:.*epoch")
@pytest.mark.parametrize("builder", SINGLE.values(), ids=SINGLE)
def test_explicit_epoch(builder: Any) -> None:
    """By the closed form where there is one."""
    result = []
    for library in (engine, torch):
        optimizer, schedule = build(library, builder)
        optimizer.step()
        seen = []
        for epoch in (0, 2, 7, 4):
            schedule.step(epoch)
            seen.append(current_options(optimizer))
        result.append(seen)
    same(*result)


def test_fractions_of_epochs() -> None:
    result = []
    for library in (engine, torch):
        optimizer, schedule = build(library, ("CosineAnnealingWarmRestarts", {"T_0": 2, "T_mult": 2}))
        optimizer.step()
        seen = []
        for epoch in (0.5, 1.5, 2.25, 6.5, 7.0):
            schedule.step(epoch)
            seen.append(current_options(optimizer))
        result.append(seen)
    same(*result)


def test_every_schedule_has_a_variant() -> None:
    tried = {name for name, _ in VARIANTS}
    assert {entry.target.__name__ for entry in SCHEDULERS} <= tried | {"ReduceLROnPlateau"}
    others = {"LRScheduler", "SequentialLR", "ChainedScheduler", "ReduceLROnPlateau"}
    assert set(lr_scheduler.__all__) - others == tried


@pytest.mark.parametrize("name", sorted(lr_scheduler.__all__))
def test_arguments_are_pytorchs(name: str) -> None:
    ours, theirs = (inspect.signature(getattr(library.lr_scheduler, name)) for library in (optim, torch.optim))
    assert [(p.name, p.default) for p in ours.parameters.values()] == [
        (p.name, p.default) for p in theirs.parameters.values()
    ]


@pytest.mark.parametrize("entry", SCHEDULERS, ids=lambda entry: entry.key)
def test_is_documented(entry: Any) -> None:
    assert entry.summary
    assert all(parameter.help for parameter in entry.parameters)


# -- the plateau ------------------------------------------------------------------------------

LOSSES = [5.0, 4.0, 4.0, 3.9999, 4.1, 3.0, 3.2, 3.1, 3.3, 3.4, 2.9999, 3.5, 3.6, 3.7, 3.8, 3.9, 4.0, 4.1]


@pytest.mark.parametrize(
    "options",
    [
        {"patience": 1},
        {"patience": 0, "factor": 0.5, "cooldown": 2},
        {"patience": 2, "mode": "max", "threshold": 0.1},
        {"patience": 1, "threshold_mode": "abs", "threshold": 0.5, "min_lr": 0.01},
        {"patience": 1, "mode": "max", "threshold_mode": "abs", "min_lr": [0.05, 0.5], "eps": 0.02},
    ],
    ids=str,
)
def test_plateau(options: dict[str, Any]) -> None:
    schedules = [
        library.optim.lr_scheduler.ReduceLROnPlateau(make_optimizer(library), **options) for library in (engine, torch)
    ]
    for number, loss in enumerate(LOSSES):
        if number == 8:  # exchange their states
            states = [copy.deepcopy(schedule.state_dict()) for schedule in schedules]
            for schedule, state in zip(schedules, reversed(states), strict=True):
                schedule.load_state_dict(state)
        schedules[0].step(engine.tensor(loss))
        schedules[1].step(torch.tensor(loss))
        assert current_options(schedules[0].optimizer) == pytest.approx(current_options(schedules[1].optimizer))
        assert schedules[0].get_last_lr() == pytest.approx(schedules[1].get_last_lr())
    ours, theirs = (schedule.state_dict() for schedule in schedules)
    assert set(ours) == set(theirs)


def test_plateau_after_adding_a_group() -> None:
    optimizer = make_optimizer(engine)
    schedule = lr_scheduler.ReduceLROnPlateau(optimizer, patience=0, min_lr=0.1)
    given = lr_scheduler.ReduceLROnPlateau(optimizer, patience=0, min_lr=[0.1, 0.1])
    optimizer.add_param_group({"params": nn.Parameter(engine.zeros(1)), "lr": 4.0})
    for _ in range(2):
        schedule.step(1.0)
    assert [group["lr"] for group in optimizer.param_groups] == pytest.approx([0.1, 0.1, 0.4])
    given.step(1.0)
    with pytest.raises(RuntimeError, match="Append a value to min_lrs"):
        given.step(1.0)


# -- the base ---------------------------------------------------------------------------------


def test_user_defined_schedule() -> None:
    class Warmup(lr_scheduler.LRScheduler):
        def get_lr(self) -> list[float]:
            return [base * min(1, (self.last_epoch + 1) / 4) for base in self.base_lrs]

    optimizer = make_optimizer(engine)
    seen = [current_options(optimizer)[0]] if (schedule := Warmup(optimizer)) else []
    for _ in range(4):
        optimizer.step()
        schedule.step()
        seen.append(current_options(optimizer)[0])
    assert seen == pytest.approx([0.05, 0.1, 0.15, 0.2, 0.2])


def test_callable_objects_are_saved_and_functions_are_not() -> None:
    class Falling:
        def __init__(self, gamma: float) -> None:
            self.gamma = gamma

        def __call__(self, epoch: int) -> float:
            return self.gamma**epoch

    schedule = lr_scheduler.LambdaLR(make_optimizer(engine), [Falling(0.5), lambda epoch: 1.0])
    assert schedule.state_dict()["lr_lambdas"] == [{"gamma": 0.5}, None]
    other = lr_scheduler.LambdaLR(make_optimizer(engine), [Falling(0.9), lambda epoch: 1.0])
    other.load_state_dict(schedule.state_dict())
    assert other.lr_lambdas[0].gamma == 0.5


def test_tensor_learning_rate_is_updated_in_place() -> None:
    rate = engine.tensor(1.0)
    optimizer = optim.SGD([nn.Parameter(engine.zeros(1))], lr=rate)
    schedule = lr_scheduler.ExponentialLR(optimizer, 0.5)
    optimizer.step()
    schedule.step()
    assert optimizer.param_groups[0]["lr"] is rate
    assert rate.item() == 0.5
    assert schedule.get_last_lr()[0].item() == 0.5


def test_wrong_order_warns_once() -> None:
    optimizer, schedule = build(engine, ("StepLR", {"step_size": 2}))
    with pytest.warns(UserWarning, match=r"Call optimizer\.step\(\) first"):
        schedule.step()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        schedule.step()
        optimizer.step()


def test_a_constant_factor_of_0_ends() -> None:
    """PyTorch divides by 0."""
    optimizer, schedule = build(engine, ("ConstantLR", {"factor": 0.0, "total_iters": 2}))
    base = optimizer.param_groups[0]["initial_lr"]
    assert [options[0] for options in rates(optimizer, schedule, 3)] == [0, 0, base, base]


def test_a_cycle_ends() -> None:
    optimizer, schedule = build(engine, ("OneCycleLR", {"max_lr": 1.0, "total_steps": 3}))
    rates(optimizer, schedule, 3)
    with pytest.raises(ValueError, match="total_steps=3, but this is step 4"):
        schedule.step()


@pytest.mark.parametrize(
    ("name", "arguments", "error", "message"),
    [
        ("StepLR", {"step_size": 1, "last_epoch": 3}, KeyError, "initial_lr"),
        ("LambdaLR", {"lr_lambda": [lambda epoch: 1] * 3}, ValueError, "2 functions, one per parameter group, not 3"),
        ("LambdaLR", {"lr_lambda": 3}, TypeError, "function of the epoch, not int"),
        ("ConstantLR", {"factor": 2.0}, ValueError, "between 0 and 1, not 2"),
        ("LinearLR", {"start_factor": 0.0}, ValueError, "start_factor"),
        ("LinearLR", {"end_factor": 1.5}, ValueError, "end_factor"),
        ("CosineAnnealingWarmRestarts", {"T_0": 0}, ValueError, "T_0"),
        ("CosineAnnealingWarmRestarts", {"T_0": 1, "T_mult": 1.5}, ValueError, "T_mult"),
        ("CyclicLR", {"base_lr": 0.1, "max_lr": 1.0, "mode": "square"}, ValueError, "'square'"),
        ("CyclicLR", {"base_lr": [0.1], "max_lr": 1.0}, ValueError, "base_lr"),
        ("OneCycleLR", {"max_lr": 1.0}, ValueError, "total_steps"),
        ("OneCycleLR", {"max_lr": 1.0, "total_steps": -3}, ValueError, "-3"),
        ("OneCycleLR", {"max_lr": 1.0, "total_steps": 3, "pct_start": 2.0}, ValueError, "pct_start"),
        ("OneCycleLR", {"max_lr": 1.0, "total_steps": 3, "anneal_strategy": "up"}, ValueError, "'up'"),
        ("ReduceLROnPlateau", {"factor": 1.0}, ValueError, "below 1"),
        ("ReduceLROnPlateau", {"mode": "up"}, ValueError, "'up'"),
        ("ReduceLROnPlateau", {"threshold_mode": "up"}, ValueError, "'up'"),
        ("ReduceLROnPlateau", {"min_lr": [1.0]}, ValueError, "min_lr"),
        ("SequentialLR", {"schedulers": [], "milestones": []}, ValueError, "at least one"),
    ],
)
def test_refused_arguments(name: str, arguments: dict[str, Any], error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        getattr(lr_scheduler, name)(make_optimizer(engine), **arguments)


def test_schedulers_without_or_with_another_optimizer_are_refused() -> None:
    with pytest.raises(TypeError, match="not int"):
        lr_scheduler.StepLR(3, 1)  # pyright: ignore[reportArgumentType]
    first, second = make_optimizer(engine), make_optimizer(engine)
    with pytest.raises(ValueError, match="has a different optimizer"):
        lr_scheduler.ChainedScheduler([lr_scheduler.StepLR(first, 1), lr_scheduler.StepLR(second, 1)])
    with pytest.raises(ValueError, match="requires a metric"):
        lr_scheduler.ChainedScheduler([lr_scheduler.ReduceLROnPlateau(first)])
    with pytest.raises(ValueError, match="2 schedulers require 1 milestones, not 2"):
        lr_scheduler.SequentialLR(first, [lr_scheduler.StepLR(first, 1)] * 2, [1, 2])
    optimizer = optim.Adagrad([nn.Parameter(engine.zeros(1))])
    with pytest.raises(ValueError, match="has no momentum to cycle"):
        lr_scheduler.CyclicLR(optimizer, 0.1, 1.0)
