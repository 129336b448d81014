"""Measuring steps: the figures are those of the tensors, and training has the same bits with and without it."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
from msgspec.structs import replace

import engine
from engine import Tensor, fit, random
from engine.fit.step_probe import StepProbe
from studio.document.files.project_templates import template, templates
from studio.document.model import Document
from studio.lowering.check import check
from studio.lowering.program import Program, lower
from studio.nodes.catalogue import catalogue
from studio.training.statistics.measured_step import MeasuredStep
from studio.training.statistics.step_measurement import StepMeasurer

CHEAP = ("digits-mlp", "digits-gan")
ALL = tuple(each.key for each in templates()) if os.environ.get("GRADWIRE_ALL_TEMPLATES") else CHEAP


def program_of(document: Document) -> Program:
    return lower(check(document, catalogue()))


def trained(
    program: Program, interval: int, *, steps: int, compile: bool, probe: StepProbe | None = None
) -> tuple[list[Any], dict[str, bytes], list[MeasuredStep]]:
    """Losses, weights and measured steps of a training."""
    task = program.build(seed=3)
    measurer = StepMeasurer(task, program.measured_losses(task), interval, compile=compile) if interval else None
    training = fit.fit(task, steps=steps, compile=compile, probe=probe or measurer)
    losses = [event.loss for event in training if isinstance(event, fit.Step)]
    state = {**task.model.state_dict()}
    for name, optimizer in task.optimizers.items():
        for number, values in enumerate(optimizer.state.values()):
            state |= {f"{name}.{number}.{key}": each for key, each in values.items() if isinstance(each, Tensor)}
    found: list[MeasuredStep] = []
    if measurer is not None:
        assert measurer.problem is None
        while (step := measurer.take()) is not None:
            found.append(step)
    return losses, {name: value.numpy().tobytes() for name, value in state.items()}, found


@pytest.mark.parametrize("compile", [True, False], ids=["compiled", "eager"])
@pytest.mark.parametrize("name", ALL)
def test_training_has_the_same_bits_with_and_without_measuring(name: str, compile: bool) -> None:
    program = program_of(template(name).document)
    plain = trained(program, 0, steps=4, compile=compile)
    measured = trained(program, 1, steps=4, compile=compile)
    assert measured[:2] == plain[:2]
    assert [each.statistics.step for each in measured[2]] == [1, 2, 3, 4]


class EagerFigures:
    """Computes the figures of a step with hooks and NumPy, and compares nothing but the bits that it sees."""

    def __init__(self, task: fit.Task) -> None:
        self.task = task
        self.found: dict[int, tuple[dict[str, np.ndarray], dict[str, np.ndarray], dict[str, np.ndarray]]] = {}
        self._before: dict[str, np.ndarray] = {}

    def before_step(self, batch: Any, step: int) -> None:
        outputs: dict[str, Tensor] = {}
        removed = [
            module.register_forward_hook(lambda _, __, output, path=path: outputs.update({path: output}))
            for path, module in self.task.model.named_modules()
            if path
        ]
        state = random.get_rng_state()
        with fit.preserve_state(self.task):
            losses = self.task.losses(batch)
            for output in outputs.values():
                if isinstance(output, Tensor) and output.requires_grad:
                    output.retain_grad()
            next(iter(losses.values())).backward()
            values = {path: each.detach().numpy().copy() for path, each in outputs.items() if isinstance(each, Tensor)}
            gradients = {
                path: each.grad.numpy().copy()
                for path, each in outputs.items()
                if isinstance(each, Tensor) and each.requires_grad and each.grad is not None
            }
            own = {
                path: each.grad.numpy().copy()
                for path, each in self.task.model.named_parameters()
                if each.grad is not None
            }
        random.set_rng_state(state)
        for handle in removed:
            handle.remove()
        self._before = {path: each.detach().numpy().copy() for path, each in self.task.model.named_parameters()}
        self.found[step] = values, gradients, own

    def after_step(self) -> None:
        return None


def norm(values: np.ndarray) -> float:
    return float(np.sqrt(np.square(values.astype(np.float64)).sum()))


@pytest.mark.parametrize("name", ["digits-cnn"])
def test_figures_are_those_of_the_tensors_of_the_step(name: str) -> None:
    program = program_of(template(name).document)
    task = program.build(seed=3)
    eager = EagerFigures(task)
    weights: dict[int, dict[str, np.ndarray]] = {}
    for event in fit.fit(task, steps=3, compile=False, probe=eager):
        if isinstance(event, fit.Started):
            weights[0] = {path: each.detach().numpy().copy() for path, each in task.model.named_parameters()}
        if isinstance(event, fit.Step):
            weights[event.step] = {path: each.detach().numpy().copy() for path, each in task.model.named_parameters()}
    _, _, measured = trained(program, 1, steps=3, compile=True)
    first = measured[0].statistics
    assert first.gradient_step == first.step == 1
    values, gradients, own = eager.found[1]
    checked = 0
    for key, figures in first.outputs.items():
        path = key.rpartition(".")[0]
        if path not in values or not isinstance(values[path], np.ndarray):
            continue
        array = values[path].astype(np.float64)
        expected = {
            "mean": array.mean(),
            "std": array.std(),
            "low": array.min(),
            "high": array.max(),
            "norm": norm(array),
            "zeros": (array == 0).mean(),
            "nan": 0,
            "infinite": 0,
        }
        for figure, value in expected.items():
            assert figures[figure] == pytest.approx(value, rel=1e-4, abs=1e-5), (key, figure)
        if path in gradients:
            assert figures["gradient"] == pytest.approx(norm(gradients[path]), rel=1e-3, abs=1e-7), key
        checked += 1
    assert checked >= 8
    assert first.parameters.keys() == {path for path, each in task.model.named_parameters() if each.requires_grad}
    for path, figures in first.parameters.items():
        assert figures["norm"] == pytest.approx(norm(weights[0][path]), rel=1e-5, abs=1e-7)
        assert figures["gradient"] == pytest.approx(norm(own[path]), rel=1e-3, abs=1e-6)
        assert figures["update"] == pytest.approx(norm(weights[1][path] - weights[0][path]), rel=1e-3, abs=1e-7)


def test_every_wire_of_the_graph_is_measured() -> None:
    document = template("digits-vit").document
    program = program_of(document)
    _, _, measured = trained(program, 1, steps=1, compile=False)
    outputs = measured[0].statistics.outputs
    flow = check(document, catalogue()).checked
    sources = {wire.source for wire in flow.graph.document.wires}
    roles = {"layer", "operation", "loss", "loader"}
    missing = [
        str(end)
        for end in sources
        if str(flow.graph.types[end.node].role.value) in roles and f"{end.node}.{end.port}" not in outputs
    ]
    assert missing == []
    assert {"encoder.0.attention.q.output", "encoder.3.mlp.gelu.output", "encoder.output"} <= outputs.keys()


def test_dead_units_are_those_that_are_zero_for_the_whole_batch(digits: Callable[..., Document]) -> None:
    program = program_of(digits())
    task = program.build(seed=0)
    task.setup()
    with engine.no_grad():
        task.model.hidden.bias[:8] = -1e6
    measurer = StepMeasurer(task, program.measured_losses(task), 1, compile=False)
    for _ in fit.fit(task, steps=1, compile=False, probe=measurer):
        pass
    step = measurer.take()
    assert step is not None
    relu = step.statistics.outputs["relu.output"]
    assert relu["units"] == 32
    assert relu["dead"] >= 8 / 32
    assert "gradient" not in step.statistics.outputs["loader.input"]
    assert "dead" not in step.statistics.outputs["hidden.output"]


def test_nan_and_infinity_are_counted(digits: Callable[..., Document]) -> None:
    program = program_of(digits())
    task = program.build(seed=0)
    task.setup()
    with engine.no_grad():
        task.model.hidden.bias[0] = float("nan")
        task.model.hidden.bias[1] = float("inf")
    measurer = StepMeasurer(task, program.measured_losses(task), 1, compile=True)
    for event in fit.fit(task, steps=3, compile=True, probe=measurer):
        if isinstance(event, fit.Step):
            break
    step = measurer.take()
    assert measurer.problem is None
    assert step is not None
    hidden = step.statistics.outputs["hidden.output"]
    assert (hidden["nan"], hidden["infinite"]) == (128, 128)
    assert np.isfinite([hidden["mean"], hidden["std"], hidden["norm"], hidden["high"]]).all()
    assert np.isnan(step.statistics.parameters["hidden.weight"]["gradient"])


def test_gradients_are_measured_at_a_part_of_the_steps(digits: Callable[..., Document]) -> None:
    _, _, measured = trained(program_of(digits()), 1, steps=21, compile=True)
    assert [each.statistics.step for each in measured if each.has_gradients] == [1, 2, 4, 8, 10, 20]
    assert [each.statistics.gradient_step for each in measured[8:11]] == [8, 10, 10]
    before, after = measured[8].statistics, measured[9].statistics
    key = "hidden.output"
    assert before.outputs[key]["gradient"] == measured[7].statistics.outputs[key]["gradient"]
    assert after.outputs[key]["gradient"] != before.outputs[key]["gradient"]


def test_compiled_measuring_is_replayed_without_python(digits: Callable[..., Document]) -> None:
    program = program_of(digits())
    task = program.build(seed=0)
    measurer = StepMeasurer(task, program.measured_losses(task), 1, compile=True)
    for _ in fit.fit(task, steps=16, compile=True, probe=measurer):
        pass
    functions = measurer._functions  # pyright: ignore[reportPrivateUsage]
    assert functions.outputs.replays.count >= 5  # pyright: ignore[reportFunctionMemberAccess]
    assert functions.outputs.replays.refused == {}  # pyright: ignore[reportFunctionMemberAccess]
    assert task.step is not None
    assert task.step.replays.missed == []


def test_figures_read_after_the_training_are_those_of_their_steps(digits: Callable[..., Document]) -> None:
    """Compiled calls reuse memory, and figures are made when they are read."""
    program = program_of(digits())
    _, _, compiled = trained(program, 1, steps=16, compile=True)
    _, _, eager = trained(program, 1, steps=16, compile=False)
    for one, other in zip(compiled, eager, strict=True):
        assert one.step == other.step
        assert one.numbers == pytest.approx(other.numbers, rel=1e-3, abs=1e-5), one.step
    assert any(np.abs(one.numbers - compiled[0].numbers).max() > 0.1 for one in compiled[1:])


def test_a_failure_ends_measuring_but_not_the_training(digits: Callable[..., Document]) -> None:
    program = program_of(digits())
    plain = trained(program, 0, steps=5, compile=True)
    task = program.build(seed=3)
    losses = program.measured_losses(task)
    calls = 0

    def fail(*arguments: Any) -> Any:
        nonlocal calls
        calls += 1
        if calls == 2:
            raise MemoryError("no memory for 5 GB")
        return losses(*arguments)

    measurer = StepMeasurer(task, fail, 1, compile=False)
    found = [
        event.loss for event in fit.fit(task, steps=5, compile=True, probe=measurer) if isinstance(event, fit.Step)
    ]
    assert found == plain[0]
    assert calls == 2
    assert measurer.problem is not None
    assert "Step 2 could not be measured" in measurer.problem
    assert measurer.take() is not None
    assert measurer.take() is None


def test_several_settings_of_a_step_are_measured(digits: Callable[..., Document]) -> None:
    document = digits()
    settings = replace(document.training, accumulate=2, clip_norm=0.5)
    program = program_of(replace(document, training=settings))
    assert trained(program, 1, steps=5, compile=True)[:2] == trained(program, 0, steps=5, compile=True)[:2]


@pytest.fixture(autouse=True)
def _restored_random_state() -> Iterator[None]:
    state = engine.random.get_rng_state()
    yield
    engine.random.set_rng_state(state)
