"""Schedules behind optimizers: what is written, what trains, what is planned, and what cannot be wired."""

from __future__ import annotations

import math
from typing import Any

import pytest
from msgspec.structs import replace

from engine import fit
from engine.optim import lr_scheduler
from studio.document import edits
from studio.document.model import Document, Node
from studio.lowering import lower
from studio.lowering.check import check
from studio.nodes import catalogue
from tests.studio.lowering.graphs import changed, coded, codes, digits, fixed, only, report, wire

STEPS = 23
"""Of an epoch: 1,437 training samples in batches of 64."""


def network(epochs: int = 6, **nodes: tuple[str, dict[str, Any], str]) -> Document:
    """Digits, one layer, Adam, and schedules: name → (type, parameters, what it stands behind)."""
    made = {name: Node(f"lr_scheduler.{kind}", params) for name, (kind, params, _) in nodes.items()}
    wires = [f"{before}.optimizer -> {name}.optimizer" for name, (_, _, before) in nodes.items()]
    layers: dict[str, str | Node] = {"flatten": "nn.Flatten", "logits": Node("nn.Linear", {"out_features": 10})}
    return edits.set_training(digits(layers, last="logits", wires=wires, **made), epochs=epochs)


def rates(document: Document, *, steps: int | None = None) -> list[float]:
    """The learning rate of each step of a training."""
    task = lower(check(document, catalogue())).build()
    events = fit.fit(task, epochs=document.training.epochs, steps=steps, compile=False)
    return [event.learning_rate for event in events if isinstance(event, fit.Step)]


def text(document: Document) -> str:
    return lower(check(document, catalogue())).source


def test_schedules_follow_their_optimizer_in_the_source() -> None:
    source = text(network(decay=("StepLR", {"step_size": 2}, "adam")))
    assert "self.decay = lr_scheduler.StepLR(self.adam, step_size=2)" in source
    assert source.index("self.adam =") < source.index("self.decay =")
    assert "from engine.optim import lr_scheduler" in source
    assert "per_step" not in source


def test_per_step_is_a_setting_of_the_task() -> None:
    document = network(epochs=2, decay=("ExponentialLR", {"gamma": 0.99, "per": "step"}, "adam"))
    assert "per_step = ('decay',)" in text(document)
    found = rates(document)
    assert found == pytest.approx([0.001 * 0.99**step for step in range(2 * STEPS)])


def test_cosine_length_is_the_training_length() -> None:
    per_epoch = network(epochs=7, cosine=("CosineAnnealingLR", {}, "adam"))
    assert "T_max=7" in text(per_epoch)
    per_step = network(epochs=3, cosine=("CosineAnnealingLR", {"per": "step"}, "adam"))
    assert f"T_max={3 * STEPS}" in text(per_step)
    info = report(per_epoch).nodes["cosine"]
    assert info.inferred == {"T_max"} and info.summary == ""


def test_values_inferred_from_training_follow_the_data() -> None:
    document = network(epochs=3, cosine=("CosineAnnealingLR", {"per": "step"}, "adam"))
    smaller = edits.set_param(document, "batches", "batch_size", 100)
    assert f"T_max={3 * 15}" in text(smaller)
    assert f"T_max={3 * 14}" in text(edits.set_param(smaller, "batches", "drop_last", True))
    assert f"T_max={3 * 8}" in text(edits.set_training(smaller, accumulate=2))
    folds = {"nodes": {**smaller.nodes, "folds": Node("data.KFold", {"folds": 3})}}
    divided = edits.connect(replace(smaller, **folds), wire("scale.samples -> folds.samples"))
    divided = edits.connect(divided, wire("folds.samples -> batches.samples"))
    assert f"T_max={3 * 12}" in text(divided)  # 1,198 of 1,797 samples


def test_chained_schedules_run_one_after_another() -> None:
    document = network(
        epochs=8,
        warm_up=("LinearLR", {"start_factor": 0.1, "total_iters": 3}, "adam"),
        cosine=("CosineAnnealingLR", {}, "warm_up"),
    )
    source = text(document)
    assert "self.cosine = lr_scheduler.SequentialLR(self.adam, [warm_up, cosine], milestones=[3])" in source
    assert "self.warm_up" not in source and "T_max=5" in source
    found = rates(document)[::STEPS]
    assert found == pytest.approx([0.0001, 0.0004, 0.0007, *(0.001 * _half_cosine(n / 5) for n in range(5))])


def _half_cosine(share: float) -> float:
    return (1 + math.cos(math.pi * share)) / 2


def test_parallel_schedules_run_together() -> None:
    document = network(
        epochs=4,
        decay=("ExponentialLR", {"gamma": 0.5}, "adam"),
        hold=("ConstantLR", {"factor": 0.1, "total_iters": 2}, "adam"),
    )
    assert rates(document)[::STEPS] == pytest.approx([0.0001, 0.00005, 0.00025, 0.000125])


def test_reported_learning_rate_is_a_scheduled_one() -> None:
    document = network(epochs=2, decay=("ExponentialLR", {"gamma": 0.5}, "adam"))
    document = edits.add(document, "sgd", Node("optim.SGD", {"lr": 0.7}))
    document = edits.connect(document, wire("cross_entropy.loss -> sgd.loss"))
    document = edits.add(document, "hidden", Node("nn.Linear", {"out_features": 8}))
    document = edits.connect(document, wire("flatten.output -> hidden.input"))
    document = edits.connect(document, wire("hidden.output -> logits.input"))
    document = edits.set_trains(edits.set_trains(document, "sgd", ["hidden"]), "adam", ["logits"])
    document = edits.disconnect(document, [wire("adam.optimizer -> decay.optimizer")])
    document = edits.connect(document, wire("sgd.optimizer -> decay.optimizer"))
    assert rates(document)[::STEPS] == pytest.approx([0.7, 0.35])


SOUND = [
    {"it": ("StepLR", {"step_size": 2}, "adam")},
    {"it": ("CosineAnnealingLR", {"per": "step"}, "adam")},
    {"it": ("OneCycleLR", {"max_lr": 0.01}, "adam")},
    {"it": ("CyclicLR", {"base_lr": 0.001, "max_lr": 0.01, "step_size_up": 9}, "adam")},
    {"it": ("PolynomialLR", {"power": 2.0}, "adam")},
    {"a": ("LinearLR", {"per": "step", "total_iters": 30}, "adam"), "b": ("PolynomialLR", {"per": "step"}, "a")},
    {
        "a": ("StepLR", {"step_size": 1, "lasts": 2}, "adam"),
        "b": ("CosineAnnealingWarmRestarts", {"T_0": 1, "lasts": 1}, "a"),
        "c": ("ConstantLR", {}, "b"),
    },
]


@pytest.mark.parametrize("nodes", SOUND, ids=lambda nodes: " ".join(kind for kind, _, _ in nodes.values()))
def test_planned_rates_equal_training_rates(nodes: dict[str, tuple[str, dict[str, Any], str]]) -> None:
    document = network(epochs=4, **nodes)
    plan = report(document).learning_rate_plans["adam"]
    assert plan.nodes == {"adam", *nodes}
    planned, trained = plan.rates(), rates(document)
    per_step = [rate for time, rate in planned[:-1]]
    if not plan.per_step:
        per_step = [rate for rate in per_step for _ in range(STEPS)]
    assert per_step == pytest.approx(trained)
    assert planned[-1][0] == 4


def test_a_plateau_acts_on_the_validation_loss() -> None:
    document = network(epochs=3, plateau=("ReduceLROnPlateau", {"patience": 0, "threshold": 0.9}, "adam"))
    assert report(document).learning_rate_plans["adam"].excludes_plateau
    task = lower(check(document, catalogue())).build()
    [*_] = fit.fit(task, epochs=3, compile=False)
    assert isinstance(task.schedulers["plateau"], lr_scheduler.ReduceLROnPlateau)
    assert task.optimizers["adam"].param_groups[0]["lr"] == pytest.approx(0.001 * 0.1**2)


def test_no_plan_without_schedules() -> None:
    assert report(network()).learning_rate_plans == {}


def test_unconnected_schedule_is_not_generated() -> None:
    document = network(decay=("StepLR", {"step_size": 2}, "adam"))
    loose = replace(document, wires=tuple(each for each in document.wires if each.target.node != "decay"))
    assert codes(loose) == ["not-wired"]
    assert "StepLR" not in text(loose)


def test_a_muted_schedule_is_passed_through() -> None:
    document = network(warm_up=("LinearLR", {"total_iters": 3}, "adam"), cosine=("CosineAnnealingLR", {}, "warm_up"))
    muted = changed(document, "warm_up", muted=True)
    assert "self.cosine = lr_scheduler.CosineAnnealingLR(self.adam, T_max=6)" in text(muted)


def test_resumed_training_continues_its_schedule() -> None:
    nodes = {"a": ("LinearLR", {"per": "step", "total_iters": 30}, "adam")}
    nodes["b"] = ("CosineAnnealingLR", {"per": "step"}, "a")
    program = lower(check(network(epochs=2, **nodes), catalogue()))
    whole = [event.learning_rate for event in fit.fit(program.build(), epochs=2) if isinstance(event, fit.Step)]
    for halt in (10, 35):
        first = fit.fit(program.build(), epochs=2)
        for event in first:
            if isinstance(event, fit.Step) and event.step == halt:
                break
        second = fit.fit(program.build(), epochs=2)
        second.load_state_dict(first.state_dict())
        assert [event.learning_rate for event in second if isinstance(event, fit.Step)] == whole[halt:]


# -- what cannot be ---------------------------------------------------------------------------


def test_two_schedules_after_one() -> None:
    document = network(
        a=("LinearLR", {}, "adam"), b=("CosineAnnealingLR", {}, "a"), c=("StepLR", {"step_size": 1}, "a")
    )
    problem = coded(document, "two-followers")
    assert problem.node == "c" and problem.severity == "error"
    assert "two-followers" not in codes(fixed(document, problem))


def test_whole_training_schedules_cannot_follow_others() -> None:
    document = network(a=("LinearLR", {}, "adam"), b=("ReduceLROnPlateau", {"patience": 2}, "a"))
    problem = only(document)
    assert problem.code == "schedule-alone" and problem.node == "b"
    assert codes(fixed(document, problem)) == []


def test_chained_schedules_need_one_unit() -> None:
    document = network(a=("LinearLR", {}, "adam"), b=("CosineAnnealingLR", {"per": "step"}, "a"))
    problem = only(document)
    assert problem.code == "mixed-counting"
    assert codes(fixed(document, problem)) == []


def test_cyclic_schedules_count_steps() -> None:
    document = network(
        a=("LinearLR", {}, "adam"), b=("CyclicLR", {"base_lr": 0.001, "max_lr": 0.01, "step_size_up": 2}, "a")
    )
    mended = fixed(document, coded(document, "mixed-counting"))
    assert mended.nodes["a"].params["per"] == "step"
    assert codes(mended) == []


def test_next_schedule_with_unknown_start() -> None:
    document = network(a=("ExponentialLR", {"gamma": 0.9}, "adam"), b=("CosineAnnealingLR", {}, "a"))
    problem = only(document)
    assert problem.node == "a" and "lasts" in problem.message
    mended = fixed(document, problem)
    assert mended.nodes["a"].params["lasts"] == 3
    assert codes(mended) == []


def test_schedule_after_the_end_of_training() -> None:
    document = network(a=("LinearLR", {"total_iters": 6}, "adam"), b=("StepLR", {"step_size": 1}, "a"))
    problem = only(document)
    assert (problem.code, problem.severity, problem.node) == ("schedule-late", "warning", "a")


def test_overriding_parallel_schedules() -> None:
    document = network(a=("OneCycleLR", {"max_lr": 0.01}, "adam"), b=("StepLR", {"step_size": 1}, "adam"))
    problem = only(document)
    assert problem.code == "schedules-overrule" and problem.node == "b"


def test_cosine_shorter_than_training() -> None:
    document = network(cosine=("CosineAnnealingLR", {"T_max": 3}, "adam"))
    problem = only(document)
    assert (problem.code, problem.severity) == ("schedule-rises", "warning")
    assert "T_max=6" in text(fixed(document, problem))


def test_one_cycle_shorter_than_training() -> None:
    document = network(cycle=("OneCycleLR", {"max_lr": 0.01, "total_steps": 20}, "adam"))
    problem = only(document)
    assert (problem.code, problem.severity) == ("schedule-short", "error")
    assert f"total_steps={6 * STEPS}" in text(fixed(document, problem))


def test_momentum_cycle_without_momentum() -> None:
    document = changed(network(cycle=("OneCycleLR", {"max_lr": 0.01}, "adam")), "adam", type="optim.Adagrad")
    problem = only(document)
    assert problem.code == "bad-arguments" and "momentum" in problem.message
    assert codes(fixed(document, problem)) == []


def test_a_schedule_takes_an_optimizer() -> None:
    document = network(decay=("StepLR", {"step_size": 2}, "adam"))
    wrong = replace(document, wires=tuple(sorted((*document.wires, wire("logits.output -> decay.optimizer")))))
    assert "stray-wire" in codes(wrong)


def test_schedule_names_of_the_task_are_reserved() -> None:
    document = network(sums=("StepLR", {"step_size": 2}, "adam"))
    assert codes(document) == ["reserved-name"]
