"""Projects with several data sources, each with a loader."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from engine import fit
from studio.document import edits
from studio.document.model import Document, Node
from studio.lowering import lower
from studio.lowering.check import check
from studio.nodes import catalogue
from studio.training.autograd.autograd_snapshot import capture_autograd
from studio.training.compilation import explain_step
from studio.training.prediction import predict_batches, prediction_samples
from tests.engine.fit.test_resume import assert_resumable
from tests.studio.lowering.graphs import coded, codes, digits, fixed, report, wire
from tests.studio.training.shards import shards

LOGITS = Node("nn.Linear", {"out_features": 10})
HIDDEN = Node("nn.Linear", {"out_features": 16})


def two_inputs(**other: Any) -> Document:
    """Digits and points of a second source; scores from both, a loss for each target."""
    loader = Node("data.Batches", {"batch_size": 64, **other})
    return digits(
        {"flatten": "nn.Flatten", "hidden": HIDDEN, "relu": "nn.ReLU"},
        last="logits",
        moons=Node("data.Moons", {"samples": 300}),
        pairs=loader,
        embed=HIDDEN,
        joined=Node("ops.cat", {"dim": 1}),
        tanh="nn.Tanh",
        logits=Node("nn.Linear", {"out_features": 10}),
        wires=[
            "moons.samples -> pairs.samples",
            "pairs.input -> embed.input",
            "relu.output -> joined.a",
            "embed.output -> joined.b",
            "joined.output -> tanh.input",
            "tanh.output -> logits.input",
        ],
    )


def two_losses() -> Document:
    """Semi-supervised: classes of labeled digits, and the reconstruction of other ones with shared weights."""
    base = digits(
        {
            "flatten": "nn.Flatten",
            "hidden": HIDDEN,
            "relu": "nn.ReLU",
            "logits": Node("nn.Linear", {"out_features": 10}),
        },
        more="data.Digits",
        scaled=Node("transforms.Normalize", {"std": 16.0}),
        unlabeled=Node("data.Batches", {"batch_size": 24}),
        flat="nn.Flatten",
        encode=Node("nn.Linear", shares="hidden"),
        tanh="nn.Tanh",
        decode=Node("nn.Linear", {"out_features": 64}),
        mse="nn.MSELoss",
        total="studio.LossSum",
        wires=[
            "more.samples -> scaled.samples",
            "scaled.samples -> unlabeled.samples",
            "unlabeled.input -> flat.input",
            "flat.output -> encode.input",
            "encode.output -> tanh.input",
            "tanh.output -> decode.input",
            "decode.output -> mse.input",
            "flat.output -> mse.target",
            "cross_entropy.loss -> total.a",
            "mse.loss -> total.b",
        ],
    )
    return edits.connect(base, wire("total.loss -> adam.loss"))


def test_two_inputs_check_clean_and_train() -> None:
    base = two_inputs()
    assert codes(base) == []
    found = report(base)
    source = lower(found).source
    assert "return data.JointBatches([batches, pairs])" in source
    assert "batches_images, batches_labels, pairs_inputs, _ = batch" in source
    losses = [event for event in fit.fit(lower(found).build(seed=1), epochs=4) if isinstance(event, fit.Epoch)]
    assert losses[-1].train_loss < losses[0].train_loss
    assert losses[0].val_loss is not None and losses[0].batches == 23
    [started] = [event for event in fit.fit(lower(found).build(), steps=0) if isinstance(event, fit.Started)]
    assert started.batches == 23 and started.train_samples == 1438 + 240


def test_shapes_have_one_symbol_for_equal_batch_sizes_only() -> None:
    labels = {str(each): label for each, label in report(two_inputs()).wires.items()}
    assert labels["pairs.input -> embed.input"] == "N×2 float32"
    labels = {str(each): label for each, label in report(two_losses()).wires.items()}
    assert labels["flat.output -> encode.input"] == "M×64 float32"


def test_different_batch_sizes_that_meet_are_reported() -> None:
    base = two_inputs(batch_size=32)
    problem = coded(base, "batch-sizes")
    assert problem.node == "pairs" and "64 samples from batches and of 32 from pairs" in problem.message
    assert codes(fixed(base, problem)) == []


def test_the_symbol_follows_an_edit() -> None:
    """With the results of the check before it."""
    first = check(two_losses(), catalogue())
    after = check(edits.set_param(two_losses(), "unlabeled", "batch_size", 64), catalogue(), previous=first)
    assert "N×64 float32" in {label for each, label in after.wires.items() if each.target.node == "encode"}


@pytest.mark.parametrize("base", [two_inputs(), two_losses()], ids=["inputs", "losses"])
def test_a_run_continues_bit_by_bit(base: Document) -> None:
    program = lower(check(base, catalogue()))
    assert_resumable(partial(program.build, seed=3), range(1, 30, 7), epochs=1, validate_steps=20, compile=False)


def test_an_epoch_ends_with_the_shortest_loader_if_set() -> None:
    base = edits.set_training(two_inputs(), joint_epoch="shortest")
    source = lower(report(base)).source
    assert "data.JointBatches([batches, pairs], epoch='shortest')" in source
    [epoch] = [e for e in fit.fit(lower(report(base)).build(), epochs=1) if isinstance(e, fit.Epoch)]
    assert epoch.batches == 4


def test_compiled_steps_match_eager_steps() -> None:
    def weights(*, compile: bool) -> dict[str, Any]:
        task = lower(report(two_losses())).build(seed=2)
        [*_] = fit.fit(task, steps=4, compile=compile)
        return {name: value.numpy() for name, value in task.model.state_dict().items()}

    eager, compiled = weights(compile=False), weights(compile=True)
    for name, value in eager.items():
        np.testing.assert_allclose(compiled[name], value, rtol=1e-4, atol=1e-6, err_msg=name)


def test_schedules_know_the_length_of_an_epoch() -> None:
    base = edits.add(two_inputs(), "cycle", Node("lr_scheduler.OneCycleLR", {"max_lr": 0.01}))
    base = edits.connect(base, wire("adam.optimizer -> cycle.optimizer"))
    assert report(base).nodes["cycle"].arguments["total_steps"] == 23 * 10


def test_tools_of_the_window_run_one_joint_step() -> None:
    program = lower(report(two_inputs()))
    assert capture_autograd(program.build(), program).nodes
    assert explain_step(program.build(), program, repeat=1).segments


def test_predictions_take_a_sample_of_each_source() -> None:
    task = lower(report(two_inputs())).build()
    task.setup()
    samples = prediction_samples(task)
    assert len(samples) == 1438
    assert next(predict_batches(task, samples)).shape == (256, 10)


def test_a_stream_is_refused(tmp_path: Path) -> None:
    folder = shards(tmp_path / "shards")
    params = {"folder": str(folder), "channels": "grey", "stream": True}
    base = edits.retype(two_losses(), "more", "data.WebDataset", params)
    assert "several-loaders" in codes(base)


def paired() -> Document:
    """The same digits twice, from separate loaders with one order; the second one has the targets."""
    base = digits(
        {"flatten": "nn.Flatten", "hidden": HIDDEN, "relu": "nn.ReLU", "logits": LOGITS},
        other="data.Digits",
        answers="data.Batches",
        wires=["other.samples -> answers.samples"],
    )
    base = edits.connect(base, wire("answers.target -> cross_entropy.target"))
    return edits.set_training(base, joint_order="paired")


def test_paired_loaders_give_samples_that_belong_together() -> None:
    assert codes(paired()) == []
    source = lower(report(paired())).source
    assert "data.JointBatches([batches, answers], order='paired')" in source
    alone = digits({"flatten": "nn.Flatten", "hidden": HIDDEN, "relu": "nn.ReLU", "logits": LOGITS})

    def losses(base: Document) -> list[float]:
        events = fit.fit(lower(report(base)).build(seed=4), epochs=2, compile=False)
        return [event.loss for event in events if isinstance(event, fit.Step)]

    assert losses(paired()) == losses(alone)


def test_paired_loaders_need_equal_settings_and_counts() -> None:
    base = edits.set_param(paired(), "answers", "batch_size", 32)
    problem = coded(base, "several-loaders")
    assert problem.node == "answers" and "differ in batch_size" in problem.message
    assert codes(fixed(base, problem)) == []
    base = edits.set_training(two_inputs(), joint_order="paired")
    problem = coded(base, "several-loaders")
    assert "has 240 training samples but batches" in problem.message
    assert codes(fixed(base, problem)) == []
