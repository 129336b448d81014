"""A training step is recorded node by node: with the bits of training, and without changing it."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import engine
from engine import fit, random
from engine.fit.step_functions import step as training_step
from engine.fit.task_state import restore_task
from studio.document import edits
from studio.document.files.project_files import load
from studio.document.model import Document, Endpoint, Node
from studio.lowering.check import check
from studio.lowering.program import lower
from studio.lowering.report import Report
from studio.nodes.catalogue import catalogue
from studio.training import TrainingSession
from studio.training.stepping.node_replay import NodeReplay, largest_difference
from studio.training.stepping.record_step import record_step
from studio.training.stepping.step_recorder import RecordingCancelledError, StepRecorder
from studio.training.stepping.step_recording import Recording
from studio.training.stepping.step_values import ValueStore
from studio.training.stepping.task_copy import copy_task, first_state
from tests.studio.training.conftest import wire

TEMPLATES = Path("assets/templates")


def _checked(document: Document) -> Report:
    report = check(document, catalogue())
    assert not report.errors, report.errors
    return report


def _recorded(document: Document, **options: Any) -> Recording:
    report = _checked(document)
    program = lower(report)
    task = program.build()
    return record_step(report.checked, program, task, first_state(task), **options)


def network(*middle: tuple[str, Node]) -> Document:
    """Digits with some layers in a row before the loss."""
    nodes = {
        "digits": Node("data.Digits"),
        "scale": Node("transforms.Normalize", {"std": 16.0}),
        "loader": Node("data.Batches", {"batch_size": 8}),
        "flatten": Node("nn.Flatten"),
        **dict(middle),
        "logits": Node("nn.Linear", {"out_features": 10}),
        "loss": Node("nn.CrossEntropyLoss"),
        "sgd": Node("optim.SGD", {"lr": 0.01}),
    }
    row = ["flatten", *(name for name, _ in middle), "logits"]
    ports = {name: "x" if nodes[name].type.startswith("ops.") else "input" for name in row}
    wires = [wire(f"{left}.output", f"{right}.{ports[right]}") for left, right in pairwise(row)]
    wires += [
        wire("digits.samples", "scale.samples"),
        wire("scale.samples", "loader.samples"),
        wire("loader.input", "flatten.input"),
    ]
    wires += [wire("logits.output", "loss.input"), wire("loader.target", "loss.target"), wire("loss.loss", "sgd.loss")]
    return Document(nodes=nodes, wires=tuple(sorted(wires)))


@pytest.mark.parametrize("name", ["digits-cnn", "digits-gan", "digits-siamese", "penguins-regression"])
def test_the_bits_are_those_of_training(name: str) -> None:
    report = _checked(load(TEMPLATES / f"{name}.gradwire"))
    program = lower(report)
    task = program.build()
    state = first_state(task)
    weights = {key: value.detach().clone() for key, value in task.model.state_dict().items()}

    recording = record_step(report.checked, program, task, state)

    assert all(np.array_equal(value.numpy(), weights[key].numpy()) for key, value in task.model.state_dict().items())
    assert task.stream.get_state() == state.random
    plain = copy_task(program, task, state)
    for module in plain.modules.values():
        module.train()
    with random.drawing_from(plain.stream):
        losses = training_step(plain, state.batch)
    assert [float(loss.item()) for loss in losses.values()] == list(recording.losses.values())
    trained = dict(plain.model.named_parameters())
    updated = {
        value.name: value.array() for each in recording.steps if each.direction == "update" for value in each.outputs
    }
    assert updated.keys() == {key for key, each in trained.items() if each.grad is not None}
    assert all(np.array_equal(updated[key], trained[key].detach().numpy()) for key in updated)
    assert recording.failure is None and not recording.message
    assert max(recording.differences.values()) == 0


def test_every_node_of_a_block_has_its_steps() -> None:
    recording = _recorded(load(TEMPLATES / "digits-vit.gradwire"))
    forward = [step.path for step in recording.steps if step.direction == "forward"]
    assert forward.index("encoder.0.attention.q") < forward.index("encoder.3.attention.q")
    backward = [step.path for step in recording.steps if step.direction == "backward"]
    assert set(backward) == set(forward) - {"accuracy"}
    assert backward[0] == "cross_entropy" and backward[-1] == "patches.project"
    step = recording.of_node("encoder.2.mlp")
    assert step is not None and step.path == "encoder.2.mlp.fc1"
    [value] = step.inputs
    assert value.end == Endpoint("encoder.2.norm2", "output") and value.name == "input"
    assert "self.fc1(input)" in recording.source.splitlines()[step.line - 1]
    assert recording.steps[-1].direction == "update"
    assert max(recording.differences.values()) < 1e-6  # a gradient that was transposed is summed in another order


def test_two_optimizers_have_a_backward_pass_each() -> None:
    recording = _recorded(load(TEMPLATES / "digits-gan.gradwire"))
    passes = [step.optimizer for step in recording.steps if step.direction == "backward"]
    assert list(dict.fromkeys(passes)) == ["generator_adam", "discriminator_adam"]
    first = next(step for step in recording.steps if step.direction == "backward")
    assert first.path == "generator_loss"
    generator = [value.name for step in recording.steps if step.optimizer == "generator_adam" for value in step.outputs]
    assert "generator_pixels.weight.grad" in generator and "discriminator_scores.weight.grad" not in generator


def test_nan_is_found_at_the_node_that_made_it() -> None:
    document = network(("hidden", Node("nn.Linear", {"out_features": 12})), ("root", Node("ops.sqrt")))
    recording = _recorded(document)
    found = recording.first_nonfinite()
    assert found is not None and (found.path, found.direction) == ("root", "forward")
    assert found.outputs[0].statistics.nan > 0
    following = recording.first_nonfinite(found.number)
    assert following is not None and following.path == "logits"


def test_an_exception_ends_the_recording_at_its_node() -> None:
    document = network(("hidden", Node("nn.Linear", {"out_features": 12})))
    report = _checked(document)
    program = lower(report)
    task = program.build()
    state = first_state(task)
    broken = type(state)(state.task, state.random, [state.batch[0], state.batch[1] + 20], None)
    recording = record_step(report.checked, program, task, broken)
    assert recording.failure is not None and recording.failure.path == "loss"
    assert [step.path for step in recording.steps] == ["flatten", "hidden", "logits"]


def test_values_beyond_the_memory_limit_have_statistics_only() -> None:
    recording = _recorded(network(("relu", Node("nn.ReLU"))), limit=3000)
    values = [value for step in recording.steps for value in step.values]
    assert any(value.is_kept for value in values) and any(not value.is_kept for value in values)
    assert all(value.statistics.count for value in values)
    assert "are not kept, because all together exceed 0 MB" in recording.message


def test_a_wrong_value_is_noticed_when_it_is_recomputed() -> None:
    report = _checked(network(("hidden", Node("nn.Linear", {"out_features": 5})), ("tanh", Node("nn.Tanh"))))
    program = lower(report)
    like = program.build()
    state = first_state(like)
    recorder = StepRecorder(report.checked, program, ValueStore())
    task = copy_task(program, like, state, recorder)
    recording = recorder.record(task, state.batch)
    restore_task(task, state.task)
    wrong = next(call for call in recorder.calls if call.path == "tanh").outputs[0]
    with engine.no_grad():
        wrong.tensor[0, 0] += 0.25
    replay = NodeReplay(task, recorder.calls, report.checked.document.nodes)
    differences = dict(replay.differences(recording.steps))
    paths = {recording.steps[number].path for number, each in differences.items() if each}
    assert "tanh" in paths and "hidden" not in {
        step.path for step in recording.steps if step.direction == "forward" and differences.get(step.number)
    }


def test_a_recording_can_be_cancelled() -> None:
    calls = 0

    def cancel() -> None:
        nonlocal calls
        calls += 1
        if calls == 3:
            raise RecordingCancelledError

    with pytest.raises(RecordingCancelledError):
        _recorded(network(("relu", Node("nn.ReLU"))), on_progress=cancel)


def test_equal_infinities_and_nan_are_no_difference() -> None:
    nan, one = float("nan"), 1.0
    left, right = engine.tensor([nan, one, float("inf")]), engine.tensor([nan, one, float("inf")])
    assert largest_difference(left, right) == 0
    assert largest_difference(left, engine.tensor([one, one, float("inf")])) == float("inf")
    assert largest_difference(left, engine.tensor([nan, 1.5, float("inf")])) == 0.5


def test_the_next_step_of_a_paused_run_is_recorded_and_the_run_goes_on_unchanged() -> None:
    document = edits.set_training(network(("drop", Node("nn.Dropout", {"p": 0.3}))), device="cpu", compile=True)

    def run(looks: bool) -> tuple[list[float], Recording | None]:
        session = TrainingSession(document, catalogue(), steps=4)
        recording, events = None, list[Any]()
        for number in range(4):
            session.step()
            while session.steps == number or session.state != "paused":
                events += session.events(0.05)
            if looks and number == 2:
                found = session.capture_step(30)
                assert found is not None
                recording = record_step(found.report.checked, found.program, found.task, found.state)
        session.start()
        assert session.join(60)
        events += session.events()
        return [event.loss for event in events if isinstance(event, fit.Step)], recording

    losses, recording = run(True)
    assert losses == run(False)[0] and len(losses) == 4
    assert recording is not None and recording.step == 3
    assert recording.losses["sgd"] == losses[3]
