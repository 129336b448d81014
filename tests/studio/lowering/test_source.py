from __future__ import annotations

import ast
from pathlib import Path

import pytest

from studio.document import edits, node_names
from studio.document.files.project_files import load
from studio.document.model import Document, Node
from studio.lowering import LoweringError, lower
from studio.lowering.check import check
from studio.lowering.codegen.safe_identifiers import Locals, class_name
from studio.nodes import catalogue
from tests.studio.lowering.graphs import changed, digits, document, mlp, wire

ROOT = Path(__file__).parents[3]

GOLDEN = """\
from engine import data, fit, metrics, nn, optim
from engine.data import transforms


class DigitsMlp(nn.Module):
    def __init__(self):
        super().__init__()
        self.flatten = nn.Flatten()
        self.hidden = nn.Linear(in_features=64, out_features=256)
        self.relu = nn.ReLU()
        self.dropout = nn.Dropout(p=0.5)
        self.logits = nn.Linear(in_features=256, out_features=10)

    def forward(self, images):
        flatten = self.flatten(images)
        hidden = self.hidden(flatten)
        relu = self.relu(hidden)
        dropout = self.dropout(relu)
        logits = self.logits(dropout)
        return logits


class DigitsMlpTraining(fit.Task):
    def data(self):
        digits = data.Digits()
        scale = digits.map(transforms.Normalize(std=16.0))
        return data.Batches(scale, batch_size=32)

    def configure(self):
        self.model = DigitsMlp()
        self.cross_entropy = nn.CrossEntropyLoss()
        self.accuracy = metrics.Accuracy()
        self.adam = optim.Adam(self.model.parameters(), lr=0.005)

    def losses(self, batch):
        images, labels = batch
        logits = self.model(images)
        cross_entropy = self.cross_entropy(logits, labels)
        self.measure(self.accuracy, logits, labels)
        return {self.adam: cross_entropy}
"""


def source(base: Document) -> str:
    return lower(check(base, catalogue()), name="net").source


def test_presets_are_written_out() -> None:
    text = source(
        digits({"flatten": "nn.Flatten", "out": Node("nn.Linear", {"out_features": 10}), "probabilities": "nn.Softmax"})
    )
    assert "self.probabilities = nn.Softmax(dim=-1)" in text


def test_sequence_layers_take_batches_first() -> None:
    rows, lstm = Node("nn.Flatten", {"end_dim": 2}), Node("nn.LSTM", {"hidden_size": 4})
    text = source(
        digits({"rows": rows, "lstm": lstm, "flatten": "nn.Flatten", "out": Node("nn.Linear", {"out_features": 10})})
    )
    assert "nn.LSTM(input_size=8, hidden_size=4, batch_first=True)" in text


def test_the_source_of_the_digits_example() -> None:
    path = ROOT / "examples" / "digits_mlp.gradwire"
    assert lower(check(load(path), catalogue(), base=path.parent), name=path.stem).source == GOLDEN


def test_branches_and_lists_of_tensors() -> None:
    text = source(
        digits(
            {"flatten": "nn.Flatten", "a": Node("nn.Linear", {"out_features": 8}), "relu": "nn.ReLU"},
            b=Node("nn.Linear", {"out_features": 4}),
            tanh="nn.Tanh",
            both=Node("ops.cat", {"dim": 1}),
            twice="ops.add",
            logits=Node("nn.Linear", {"out_features": 10}),
            last="logits",
            wires=[
                "flatten.output -> b.input",
                "b.output -> tanh.input",
                "relu.output -> both.a",
                "tanh.output -> both.c",
                "flatten.output -> both.b",
                "both.output -> twice.x",
                "both.output -> twice.y",
                "twice.output -> logits.input",
            ],
        )
    )
    assert text.startswith("import engine\nfrom engine import data, fit, nn, optim\n")
    assert "both = engine.cat([relu, flatten, tanh], dim=1)" in text
    assert "twice = engine.add(both, both)" in text


def test_muted_layers_are_bypassed() -> None:
    text = source(changed(mlp(), "hidden", muted=True))
    assert "hidden" not in text
    assert "relu = self.relu(flatten)" in text
    assert "nn.Linear(in_features=64, out_features=10)" in text


def test_frozen_layers() -> None:
    text = source(changed(changed(mlp(), "hidden", frozen=True), "relu", frozen=True))
    assert text.count("requires_grad_") == 1
    assert "        self.hidden.requires_grad_(False)\n" in text


def test_several_outputs_and_a_sum_of_losses() -> None:
    base = digits(
        {"flatten": "nn.Flatten", "logits": Node("nn.Linear", {"out_features": 10})},
        tanh="nn.Tanh",
        image=Node("nn.Unflatten", {"dim": 1, "unflattened_size": [1, 8, 8]}),
        mse="nn.MSELoss",
        total=Node("studio.LossSum", {"weight_b": 0.5}),
        wires=[
            "flatten.output -> tanh.input",
            "tanh.output -> image.input",
            "image.output -> mse.input",
            "batches.input -> mse.target",
            "cross_entropy.loss -> total.a",
            "mse.loss -> total.b",
        ],
    )
    base = edits.connect(base, wire("total.loss -> adam.loss"))
    text = source(base)
    assert "        return (logits, image)\n" in text
    assert "        logits, image = self.model(images)\n" in text
    assert "        mse = self.mse(image, images)\n" in text
    assert "        total = cross_entropy + 0.5 * mse\n" in text
    assert "        return {self.adam: total}\n" in text


def test_several_optimizers_take_the_layers_before_their_losses() -> None:
    base = digits(
        {"flatten": "nn.Flatten", "logits": Node("nn.Linear", {"out_features": 10})},
        other=Node("nn.Linear", {"out_features": 10}),
        other_loss="nn.CrossEntropyLoss",
        sgd=Node("optim.SGD", {"lr": 0.1}),
        wires=[
            "flatten.output -> other.input",
            "other.output -> other_loss.input",
            "batches.target -> other_loss.target",
            "other_loss.loss -> sgd.loss",
        ],
    )
    text = source(base)
    assert "self.sgd = optim.SGD([*self.model.other.parameters()], lr=0.1)" in text
    assert "return {self.adam: cross_entropy, self.sgd: other_loss}" in text


def test_module_names_are_not_shadowed() -> None:
    base = mlp()
    for old, new in {
        "digits": "data",
        "scale": "transforms",
        "flatten": "nn",
        "hidden": "engine",
        "logits": "batch",
    }.items():
        base = edits.rename(base, old, new)
    base = edits.rename(base, "relu", "images")
    text = source(base)
    assert "        data_ = data.Digits()\n" in text
    assert "        transforms_ = data_.map(transforms.Normalize(std=16.0))\n" in text
    assert "    def forward(self, images_):\n" in text
    assert "        nn_ = self.nn(images_)\n" in text
    assert "        batch_ = self.model(images)\n" in text


def test_relative_paths_start_at_the_project(tmp_path: Path) -> None:
    (tmp_path / "points.csv").write_text("x,y,kind\n" + "".join(f"{i},{i * 2},{i % 2}\n" for i in range(40)))
    base = document(
        {
            "table": Node("data.CSV", {"path": "points.csv", "target": "kind"}),
            "batches": "data.Batches",
            "logits": Node("nn.Linear", {"out_features": 2}),
            "loss": "nn.CrossEntropyLoss",
            "adam": "optim.Adam",
        },
        [
            "table.samples -> batches.samples",
            "batches.input -> logits.input",
            "logits.output -> loss.input",
            "batches.target -> loss.target",
            "loss.loss -> adam.loss",
        ],
    )
    text = lower(check(base, catalogue(), base=tmp_path)).source
    assert repr(str(tmp_path / "points.csv")) in text
    assert "    def forward(self, inputs):" in text


def test_a_document_with_errors_has_no_program() -> None:
    with pytest.raises(LoweringError, match="logits needs out_features") as caught:
        lower(check(changed(mlp(), "logits", params={}), catalogue()))
    assert [problem.code for problem in caught.value.problems] == ["missing-parameter"]


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("digits_mlp", "DigitsMlp"),
        ("my net (2)", "MyNet2"),
        ("größe", "Größe"),
        ("2nd try", "Network"),
        ("", "Network"),
        (None, "Network"),
        ("import os; x", "ImportOsX"),
        ("nn", "Nn"),
        ("None", "Network"),
        ("ﬁt", "Fit"),
    ],
)
def test_class_names(text: str | None, name: str) -> None:
    assert class_name(text) == name


def test_local_names_are_unique() -> None:
    scope = Locals()
    assert [scope.new(name) for name in ("a", "a", "self", "engine", "a_")] == ["a", "a_", "self_", "engine_", "a__"]


def test_the_line_table_points_at_every_node() -> None:
    program = lower(check(mlp(), catalogue()))
    assert set(program.lines.values()) == set(mlp().nodes)
    lines = program.source.splitlines()
    for number, name in program.lines.items():
        assert node_names.problem(name) is None
        assert lines[number - 1].strip(), number
    assert program.node_at(program.filename, 1 + lines.index("        hidden = self.hidden(flatten)")) == "hidden"
    assert program.node_at("other.py", 10) is None
    ast.parse(program.source)
