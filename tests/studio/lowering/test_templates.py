"""Templates and examples: sound, neatly placed, and as good as they say."""

from __future__ import annotations

import gzip
import os
import re
import struct
from itertools import combinations
from pathlib import Path

import numpy as np
import pytest

from engine import fit
from studio.document import edits
from studio.document.files.project_files import load
from studio.document.files.project_format import dumps
from studio.document.files.project_templates import Template, template, templates
from studio.document.model import Document
from studio.lowering import check, lower
from studio.nodes import catalogue

ROOT = Path(__file__).parents[3]
DIGITS, MNIST, MNIST_CNN = (ROOT / "examples" / f"{name}.gradwire" for name in ("digits_mlp", "mnist_mlp", "mnist_cnn"))
TEMPLATES = templates()
FALLING = [each for each in TEMPLATES if each.key != "digits-gan"]
"""Those whose loss falls; what two networks against each other come to is in test_gan.py."""
PLANNED = [
    each
    for each in FALLING
    if all(node.type not in ("nn.Noise", "studio.Python") for node in each.document.nodes.values())
]
"""Those without random tensors, which a plan does not draw, and without code, which runs in every step."""
SHIPPED = [DIGITS, MNIST, MNIST_CNN, *(ROOT / "assets/templates").glob("*.gradwire")]


def validation(document: Document, *, epochs: int | None = None, seed: int | None = None) -> list[fit.Epoch]:
    return trained(document, epochs=epochs, seed=seed)[1]


def trained(
    document: Document, *, epochs: int | None = None, seed: int | None = None
) -> tuple[fit.Task, list[fit.Epoch]]:
    settings = document.training
    task = lower(check(document, catalogue())).build(seed=settings.seed if seed is None else seed)
    events = fit.fit(task, epochs=settings.epochs if epochs is None else epochs)
    return task, [event for event in events if isinstance(event, fit.Epoch)]


@pytest.mark.parametrize("each", TEMPLATES, ids=lambda each: each.key)
def test_templates_have_no_problems_and_a_description(each: Template) -> None:
    assert check(each.document, catalogue()).problems == ()
    assert each.title
    assert each.summary.endswith(".")


@pytest.mark.parametrize("path", SHIPPED, ids=lambda path: path.stem)
def test_template_files_have_the_studio_format(path: Path) -> None:
    assert path.read_text(encoding="utf-8") == dumps(load(path))


@pytest.mark.parametrize("path", SHIPPED, ids=lambda path: path.stem)
def test_nodes_are_on_the_grid_without_overlap(path: Path) -> None:
    positions = [node.at for node in load(path).nodes.values()]
    assert all(x % 8 == 0 and y % 8 == 0 for x, y in positions)
    for (x1, y1), (x2, y2) in combinations(positions, 2):
        assert abs(x1 - x2) >= 176 or abs(y1 - y2) >= 80


@pytest.mark.parametrize("each", TEMPLATES, ids=lambda each: each.key)
def test_each_parameter_of_a_template_is_trained(each: Template) -> None:
    task = lower(check(each.document, catalogue())).build(seed=each.document.training.seed)
    task.setup()
    before = {name: np.array(value.detach().numpy()) for name, value in task.model.named_parameters()}
    losses = [event.loss for event in fit.fit(task, steps=3, compile=False) if isinstance(event, fit.Step)]
    assert np.isfinite(losses).all()
    after = {name: np.asarray(value.detach().numpy()) for name, value in task.model.named_parameters()}
    assert [name for name in before if not np.isfinite(after[name]).all()] == []
    unchanged = [name for name in before if np.array_equal(before[name], after[name])]
    assert unchanged == (["left.embedding.bias"] if each.key == "digits-siamese" else [])  # cancelled by the difference


def test_the_first_template_is_the_digits_example() -> None:
    assert TEMPLATES[0].key == "digits-mlp"
    assert TEMPLATES[0].document == load(DIGITS)


PROMISES = {
    "accuracy": r"accuracy exceeds ([\d.]+)%",
    "rmse": r"falls below ([\d.]+) on a scale",
    "perplexity": r"perplexity falls below ([\d.]*\d)",
}
"""How a template's summary says what its metric of this name comes to."""


LONG = {"digits-vit", "shakespeare-gpt", "shakespeare-lstm"}
"""They train for minutes. In CI, only the beginning is trained; GRADWIRE_ALL_TEMPLATES=1 trains them completely."""
IS_COMPLETE = os.environ.get("GRADWIRE_ALL_TEMPLATES") == "1" or not os.environ.get("CI")
BEGINNING = 24


@pytest.mark.slow
@pytest.mark.parametrize(
    "each", [each for each in FALLING if IS_COMPLETE or each.key not in LONG], ids=lambda each: each.key
)
def test_a_template_trains_to_the_figure_in_its_description(each: Template) -> None:
    name, bound = promise(each)
    task, epochs = trained(each.document)
    found = epochs[-1].val_metrics[name]
    if name == "accuracy":
        assert found > bound / 100
    else:
        assert found < bound
    if each in PLANNED:
        assert_whole_plans(task)


@pytest.mark.parametrize("each", [each for each in FALLING if each.key in LONG], ids=lambda each: each.key)
def test_the_loss_of_a_long_template_falls_from_the_beginning(each: Template) -> None:
    _, bound = promise(each)
    assert bound > 0
    task = lower(check(each.document, catalogue())).build(seed=each.document.training.seed)
    events = fit.fit(task, steps=BEGINNING)
    losses = [event.loss for event in events if isinstance(event, fit.Step)]
    assert np.mean(losses[-5:]) < np.mean(losses[:5])
    if each in PLANNED:
        assert_whole_plans(task)


def promise(each: Template) -> tuple[str, float]:
    """The metric in a template's summary, and the figure that it reaches."""
    found = {name: re.search(text, each.summary, re.IGNORECASE) for name, text in PROMISES.items()}
    [(name, bound)] = [(name, float(match[1])) for name, match in found.items() if match is not None]
    return name, bound


def assert_whole_plans(task: fit.Task) -> None:
    """Steps without random tensors run as whole plans."""
    assert task.step is not None
    for step in (task.step, task.validation_step):
        if step is not None:  # there is no validation before the end of an epoch
            assert not step.replays.refused
            assert step.replays.count > 5


@pytest.mark.parametrize("path", [MNIST, MNIST_CNN], ids=lambda path: path.stem)
def test_the_mnist_examples_lack_only_their_folder(path: Path) -> None:
    [problem] = check(load(path), catalogue()).problems
    assert (problem.severity, problem.code, problem.node) == ("error", "missing-parameter", "mnist")
    assert problem.option == "mnist.folder=PATH"


def test_the_convolutional_mnist_example_is_the_template_with_other_data() -> None:
    document = edits.rename(edits.retype(template("digits-cnn").document, "digits", "data.IDX", {}), "digits", "mnist")
    scale = load(MNIST_CNN).nodes["scale"].params
    document = edits.retype(document, "scale", "transforms.Normalize", scale)
    assert (load(MNIST_CNN).nodes, load(MNIST_CNN).wires) == (document.nodes, document.wires)


def test_the_mnist_example_runs_on_a_folder_of_idx_files(tmp_path: Path) -> None:
    for part, count in (("train", 128), ("t10k", 32)):
        images = np.random.default_rng(0).integers(0, 255, (count, 28, 28), dtype=np.uint8)
        for kind, array in (("images-idx3", images), ("labels-idx1", np.arange(count, dtype=np.uint8) % 10)):
            header = struct.pack(f">I{array.ndim}I", 0x0800 + array.ndim, *array.shape)
            with gzip.open(tmp_path / f"{part}-{kind}-ubyte.gz", "wb") as file:
                file.write(header + array.tobytes())
    document = edits.set_param(load(MNIST), "mnist", "folder", str(tmp_path))
    report = check(document, catalogue())
    assert report.problems == ()
    assert report.parameters == 235_146
    assert report.macs == 784 * 256 + 256 * 128 + 128 * 10
    assert len(validation(document, epochs=1)) == 1
