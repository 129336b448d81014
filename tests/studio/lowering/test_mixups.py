"""Wrong graphs as students build them: the message names the cause, and its fix makes the graph sound."""

from __future__ import annotations

from pathlib import Path

import pytest

from engine import fit
from studio.document import edits
from studio.document.model import Document, Node
from studio.lowering import check, lower
from studio.nodes import catalogue
from tests.studio.lowering.graphs import changed, digits, document, mlp, wire, without

TWO_WIRES = "two outputs left, one of them the targets"


def linear(size: int, **params: int) -> Node:
    return Node("nn.Linear", {"out_features": size, **params})


def chain(*behind: str | Node, **more: str | Node) -> Document:
    """The network for digits with more layers behind its scores, named a, b, …"""
    layers = {"flatten": "nn.Flatten", "hidden": linear(32), "relu": "nn.ReLU", "logits": linear(10)}
    return digits({**layers, **dict(zip("abc", behind, strict=False))}, **more)


def rewired(base: Document, gone: list[str], come: list[str]) -> Document:
    kept = without(base, *gone)
    return Document(kept.nodes, tuple(sorted((*kept.wires, *map(wire, come)))))


def table(folder: Path, task: str, loss: str, *layers: str | Node) -> Document:
    """A table of two numbers with a number, or one of two classes, to learn."""
    rows = "".join(
        f"{row % 7},{row % 5 / 3:.3f},{row / 2 if task == 'number' else 'ny'[row % 2]}\n" for row in range(60)
    )
    (folder / "table.csv").write_text(f"u,v,y\n{rows}")
    names = [f"layer{number}" for number in range(len(layers))]
    source = Node("data.CSV", {"path": "table.csv", "target": "y", "task": task})
    nodes = {"table": source, "batches": "data.Batches", **dict(zip(names, layers, strict=True)), "loss": loss}
    ends = ["batches.input", *(f"{name}.output" for name in names)]
    into = [*(f"{name}.input" for name in names), "loss.input"]
    wires = [f"{a} -> {b}" for a, b in zip(ends, into, strict=True)]
    more = ["table.samples -> batches.samples", "batches.target -> loss.target", "loss.loss -> adam.loss"]
    return document({**nodes, "adam": "optim.Adam"}, [*wires, *more])


def characters(*layers: str | Node, rows: int | None = 62, **more: str | Node) -> Document:
    """A network that predicts the next characters of a text, with more layers after its scores."""
    size = {} if rows is None else {"num_embeddings": rows}
    chosen = [Node("nn.Embedding", {"embedding_dim": 8, **size}), linear(62), *layers]
    names = [f"layer{number}" for number in range(len(chosen))]
    nodes = {"text": "data.Shakespeare", "batches": "data.Batches", **dict(zip(names, chosen, strict=True))}
    ends = ["text.samples", "batches.input", *(f"{name}.output" for name in names), "loss.loss"]
    into = ["batches.samples", *(f"{n}.{'input' if n < 'layer2' else 'x'}" for n in names), "loss.input", "adam.loss"]
    wires = [f"{a} -> {b}" for a, b in zip(ends, into, strict=True)]
    nodes |= {"loss": "nn.CrossEntropyLoss", "adam": "optim.Adam", **more}
    return document(nodes, [*wires, "batches.target -> loss.target"])


def mask_without_scores() -> Document:
    """Softmax of a causal mask, to which the attention scores were not added."""
    nodes = {"scores": "ops.matmul", "mask": "nn.CausalMask", "weights": "nn.Softmax", "mixed": "ops.matmul"}
    nodes["query"], nodes["turned"] = linear(8), Node("ops.transpose", {"dim0": 1, "dim1": 2})
    base = characters(Node("ops.transpose", {"dim0": 1, "dim1": 2}), **nodes)
    return rewired(base, ["layer0.output -> layer1.input"], [
        "layer0.output -> query.input", "query.output -> scores.x", "layer0.output -> turned.x",
        "turned.output -> scores.y", "scores.output -> mask.input", "mask.output -> weights.input",
        "weights.output -> mixed.x", "layer0.output -> mixed.y", "mixed.output -> layer1.input",
    ])  # fmt: skip


def joined() -> Document:
    nodes = {"other": linear(32), "cat": Node("ops.cat", {"dim": 0})}
    base = chain(**nodes)
    come = [
        "flatten.output -> other.input",
        "relu.output -> cat.a",
        "other.output -> cat.b",
        "cat.output -> logits.input",
    ]
    return rewired(base, ["relu.output -> logits.input"], come)


def encoded(size: int, on: str) -> Document:
    base = chain(one_hot=Node("transforms.OneHot", {"size": size, "on": on}))
    gone = ["scale.samples -> batches.samples"]
    return rewired(base, gone, ["scale.samples -> one_hot.samples", "one_hot.samples -> batches.samples"])


def loss(key: str, base: Document | None = None) -> Document:
    return changed(mlp() if base is None else base, "cross_entropy", type=key)


def swapped() -> Document:
    gone = ["logits.output -> cross_entropy.input", "batches.target -> cross_entropy.target"]
    return rewired(mlp(), gone, ["logits.output -> cross_entropy.target", "batches.target -> cross_entropy.input"])


def judged() -> Document:
    base = chain(accuracy="metrics.BinaryAccuracy")
    return rewired(base, [], ["logits.output -> accuracy.input", "batches.target -> accuracy.target"])


def looked_up() -> Document:
    """A row of an embedding for each pixel, 0 to 16."""
    rows = Node("nn.Embedding", {"num_embeddings": 4, "embedding_dim": 2})
    base = digits({"flatten": "nn.Flatten", "rows": rows, "vector": "nn.Flatten", "logits": linear(10)})
    gone = ["digits.samples -> scale.samples", "scale.samples -> batches.samples"]
    return edits.remove(rewired(base, gone, ["digits.samples -> batches.samples"]), ["scale"])


GRAPHS = {
    "swapped target": (swapped, "swapped-wires", "cross_entropy", "Swap the two wires"),
    "targets into the network": (
        lambda: rewired(mlp(), ["batches.input -> flatten.input"], ["batches.target -> flatten.input"]),
        "swapped-wires",
        "flatten",
        "Connect batches.input",
    ),
    "inputs as targets": (
        lambda: rewired(mlp(), ["batches.target -> cross_entropy.target"], ["batches.input -> cross_entropy.target"]),
        "swapped-wires",
        "cross_entropy",
        "Connect batches.target",
    ),
    "missing flatten": (
        lambda: digits({"hidden": linear(32), "relu": "nn.ReLU", "logits": linear(10)}),
        "shape-mismatch",
        "hidden",
        "Insert Flatten before hidden",
    ),
    "flatten of the batch": (
        lambda: changed(mlp(), "flatten", params={"start_dim": 0}),
        "joined-batches",
        "flatten",
        "Set start_dim of flatten to 1",
    ),
    "softmax": (lambda: chain(Node("nn.Softmax", {"dim": 1})), "squashed-scores", "a", "Remove a"),
    "softmax, dropout": (
        lambda: chain(Node("nn.Softmax", {"dim": 1}), "nn.Dropout"),
        "squashed-scores",
        "a",
        "Remove a: cross_entropy expects raw scores",
    ),
    "softmax over the batch": (
        lambda: loss("nn.NLLLoss", chain(Node("nn.LogSoftmax", {"dim": 0}))),
        "softmax-over-batch",
        "a",
        "Set dim to 1",
    ),
    "raw scores": (lambda: loss("nn.NLLLoss"), "no-log-probabilities", "cross_entropy", "Use CrossEntropyLoss"),
    "probabilities": (
        lambda: loss("nn.NLLLoss", chain(Node("nn.Softmax", {"dim": 1}))),
        "no-log-probabilities",
        "a",
        "Use LogSoftmax at a",
    ),
    "batch-joining cat": (joined, "joined-batches", "cat", "Set dim to 1"),
    "one-hot inputs": (lambda: encoded(10, "inputs"), "wrong-encoding", "one_hot", "Set on of one_hot to targets"),
    "one-hot size": (lambda: encoded(7, "targets"), "wrong-encoding", "one_hot", "Set size of one_hot to 10"),
    "channels": (
        lambda: digits(
            {"conv": Node("nn.Conv2d", {"in_channels": 3, "out_channels": 4, "kernel_size": 3}), "relu": "nn.ReLU",
             "flatten": "nn.Flatten", "logits": linear(10)}
        ),
        "shape-mismatch",
        "conv",
        "Set in_channels to 1",
    ),
    "in_features": (
        lambda: changed(mlp(), "hidden", params={"out_features": 32, "in_features": 100}),
        "shape-mismatch",
        "hidden",
        "Set in_features to 64",
    ),
    "few classes": (
        lambda: changed(mlp(), "logits", params={"out_features": 8}),
        "too-few-classes",
        "logits",
        "Set out_features of logits to 10",
    ),
    "binary accuracy": (judged, "wrong-metric", "accuracy", "Use Accuracy"),
    "rate 0": (lambda: changed(mlp(), "adam", params={"lr": 0.0}), "learning-rate-zero", "adam", "Set lr to 0.001"),
    "images into an LSTM": (
        lambda: digits({"lstm": Node("nn.LSTM", {"hidden_size": 8}), "flatten": "nn.Flatten", "logits": linear(10)}),
        "shape-mismatch",
        "lstm",
        "Insert Flatten over dimensions 1 to 2 before lstm",
    ),
    "few embeddings": (
        looked_up,
        "few-embeddings",
        "rows",
        "Set num_embeddings to 17",
    ),
    "classes last": (characters, "shape-mismatch", "loss", "Insert Transpose(dim0=1, dim1=2) before loss.input"),
    "no number of embeddings": (
        lambda: characters(Node("ops.transpose", {"dim0": 1, "dim1": 2}), rows=None),
        "missing-parameter",
        "layer0",
        "Set num_embeddings to 62",
    ),
    "mask without scores": (mask_without_scores, "no-gradient", "mask", "to be added to attention scores"),
    TWO_WIRES: (
        lambda: without(mlp(), "batches.input -> flatten.input", "batches.target -> cross_entropy.target"),
        "missing-wire",
        "flatten",
        "Connect batches.input to it",
    ),
}  # fmt: skip
TABLES = {
    "three outputs": (("number", "nn.MSELoss", linear(3)), "shape-mismatch", "layer0", "Set out_features of layer0"),
    "N against N×1": (
        ("number", "nn.MSELoss", linear(1), Node("nn.Flatten", {"start_dim": 0})),
        "shape-mismatch",
        "loss",
        "before loss.target",
    ),
    "N×1 against N": (
        ("classes", "nn.BCEWithLogitsLoss", linear(1)),
        "shape-mismatch",
        "loss",
        "before loss.input",
    ),
    "one score": (("classes", "nn.CrossEntropyLoss", linear(1)), "too-few-classes", "layer0", "to 2"),
    "BCE of scores": (("classes", "nn.BCELoss", linear(1)), "no-probabilities", "loss", "Use BCEWithLogitsLoss"),
    "sigmoid twice": (
        ("classes", "nn.BCEWithLogitsLoss", linear(1), "nn.Sigmoid"),
        "squashed-scores",
        "layer1",
        "Remove layer1",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", [*GRAPHS, *TABLES])
def test_problem_is_at_the_cause_and_its_fix_works(name: str, tmp_path: Path) -> None:
    if name in GRAPHS:
        made, code, node, remedy = GRAPHS[name]
        wrong = made()
    else:
        arguments, code, node, remedy = TABLES[name]
        wrong = table(tmp_path, *arguments)
    found = check(wrong, catalogue(), tmp_path).problems
    [problem] = [one for one in found if one.code == code and one.node == node]
    assert remedy in problem.message
    assert [one for one in found if one.severity == "error"] in ([], [problem]) or name in (*TABLES, TWO_WIRES)
    for _ in range(4):
        left = check(wrong, catalogue(), tmp_path)
        offered = next((one.fix for one in left.problems if one.fix is not None), None)
        if offered is None:
            break
        wrong = offered.edit(wrong)
    assert not left.problems, left.problems
    task = lower(check(wrong, catalogue(), base=tmp_path)).build()
    assert any(isinstance(event, fit.Step) for event in fit.fit(task, steps=1, compile=False))


def test_intended_choices_are_not_reported_as_mixups() -> None:
    """Embedded targets; logarithms of probabilities; an autoencoder, whose targets are its inputs."""
    rows = Node("nn.Embedding", {"num_embeddings": 10, "embedding_dim": 64})
    come = ["batches.target -> rows.input", "flatten.output -> sum.x", "rows.output -> sum.y"]
    base = rewired(
        chain(rows=rows, sum="ops.add"),
        ["flatten.output -> hidden.input"],
        [*come, "sum.output -> hidden.input"],
    )
    assert not check(base, catalogue()).problems
    assert not check(loss("nn.NLLLoss", chain(Node("nn.LogSoftmax", {"dim": 1}))), catalogue()).problems
    layers = {"flatten": "nn.Flatten", "small": linear(8), "relu": "nn.ReLU", "big": linear(64)}
    gone = ["batches.target -> cross_entropy.target"]
    come = ["batches.input -> flat.input", "flat.output -> cross_entropy.target"]
    mirrored = rewired(digits(layers, flat="nn.Flatten"), gone, come)
    assert not check(loss("nn.MSELoss", mirrored), catalogue()).problems
