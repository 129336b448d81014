"""Samples on the canvas: transforms of inputs and of targets, divisions, sizes that differ."""

from __future__ import annotations

from itertools import pairwise

from engine import data, dtypes, fit
from engine.shape import Dim, Spec
from studio.document.model import Document, Node
from studio.lowering import check, lower
from studio.lowering.analysis.node_evaluation import NodeEvaluator, SampleSpec
from studio.nodes import Role, catalogue
from tests.studio.lowering.graphs import digits

LAYERS: dict[str, str | Node] = {"flatten": "nn.Flatten", "logits": Node("nn.Linear", {"out_features": 10})}


def between(**nodes: Node) -> Document:
    """Digits, nodes between scaling and the loader, and a network."""
    names = ["scale", *nodes, "batches"]
    chain = [f"{a}.samples -> {b}.samples" for a, b in pairwise(names)]
    whole = digits(LAYERS, **nodes, wires=chain)
    direct = next(wire for wire in whole.wires if str(wire) == "scale.samples -> batches.samples")
    return Document(nodes=whole.nodes, wires=tuple(wire for wire in whole.wires if wire != direct))


def test_transform_parameter_on_selects_inputs_or_targets() -> None:
    kind = catalogue()["transforms.Normalize"]
    assert [param.name for param in kind.params] == ["mean", "std", "on"]
    document = between(targets=Node("transforms.MinMaxScale", {"high": 9.0, "on": "targets"}))
    assert check(document, catalogue()).wires
    text = lower(check(between(again=Node("transforms.Normalize", {"std": 2.0, "on": "inputs"})), catalogue())).source
    assert "scale = digits.map(transforms.Normalize(std=16.0))" in text
    assert "again = scale.map(transforms.Normalize(std=2.0), on='inputs')" in text


def test_transforms_of_targets() -> None:
    kind, arguments = catalogue()["transforms.MinMaxScale"], {"low": 0.0, "high": 9.0, "on": "targets"}
    before = SampleSpec(Spec((1, 8, 8), dtypes.uint8), Spec((), dtypes.int64), 10)
    outcome = NodeEvaluator().evaluate(kind, arguments, {"samples": before})
    assert outcome.outputs == {"samples": SampleSpec(before.input, Spec((), dtypes.float32), None)}


def test_split_nodes_train() -> None:
    document = between(parts=Node("data.KFold", {"folds": 4, "fold": 1}))
    assert catalogue()["data.KFold"].role is Role.DIVISION
    assert check(document, catalogue()).errors == ()
    program = lower(check(document, catalogue()))
    assert "parts = data.KFold(scale, folds=4, fold=1)" in program.source
    started = next(iter(fit.fit(program.build(), steps=1)))
    assert isinstance(started, fit.Started)
    assert (started.train_samples, started.validation_samples) == (1348, 449)


def test_varying_sizes_are_reported_at_the_loader() -> None:
    samples = SampleSpec(Spec((3, Dim("H"), Dim("W")), dtypes.uint8), Spec((), dtypes.int64), 2)
    arguments = {param.name: param.default for param in catalogue()["data.Batches"].params}
    outcome = NodeEvaluator().evaluate(catalogue()["data.Batches"], arguments, {"samples": samples})
    assert outcome.fails_on == "inputs"
    assert "Add Resize or a crop before the loader" in outcome.failure


def test_every_source_and_transform_is_public() -> None:
    assert {kind.key for kind in catalogue() if kind.role is Role.DIVISION} == {"data.KFold", "data.HoldOut"}
    assert data.KFold is catalogue()["data.KFold"].target
