"""Nodes that use the weights of another one: layers called twice, tied matrices, instances of a block."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from engine import fit
from engine.fit.task_state import save_task
from studio.document import edits
from studio.document.blocks.block_expansion import flat_document
from studio.document.blocks.block_grouping import group, unpack
from studio.document.document_errors import EditError
from studio.document.files.project_format import dumps, loads
from studio.document.model import Document, Endpoint, Node, Wire
from studio.document.node_clipboard import copy, paste
from studio.document.weight_sharing import share, unshare, users_of
from studio.lowering import lower
from studio.lowering.check import check
from studio.nodes import catalogue
from tests.studio.lowering.graphs import changed, coded, codes, digits, document, fixed, report

torch = pytest.importorskip("torch")

HIDDEN = Node("nn.Linear", {"out_features": 16})


def siamese(first: Node = HIDDEN, second: Node | None = None) -> Document:
    """Two branches over the same images, whose difference is classified; `b` uses the weights of `a`."""
    second = second or Node(first.type, shares="a")
    return digits(
        {"flatten": "nn.Flatten", "a": first, "relu": "nn.ReLU"},
        last="logits",
        scaled=Node("nn.Dropout", {"p": 0.5}),
        b=second,
        apart="ops.sub",
        logits=Node("nn.Linear", {"out_features": 10}),
        wires=[
            "flatten.output -> scaled.input",
            "scaled.output -> b.input",
            "relu.output -> apart.x",
            "b.output -> apart.y",
            "apart.output -> logits.input",
        ],
    )


def language_model(**head: Any) -> Document:
    """Embedding of symbols and scores of the next one with the same matrix."""
    nodes: dict[str, str | Node] = {
        "digits": "data.Digits",
        "batches": "data.Batches",
        "flatten": "nn.Flatten",
        "embedding": Node("nn.Embedding", {"num_embeddings": 17, "embedding_dim": 6}),
        "pool": Node("nn.Flatten", {"start_dim": 1, "end_dim": 1}),
        "scores": Node("nn.Linear", head, shares="embedding"),
        "flat": "nn.Flatten",
        "logits": Node("nn.Linear", {"out_features": 10}),
        "relu": "nn.ReLU",
        "cross_entropy": "nn.CrossEntropyLoss",
        "adam": "optim.Adam",
    }
    return document(
        nodes,
        [
            "digits.samples -> batches.samples",
            "batches.input -> flatten.input",
            "flatten.output -> embedding.input",
            "embedding.output -> pool.input",
            "pool.output -> scores.input",
            "scores.output -> relu.input",
            "relu.output -> flat.input",
            "flat.output -> logits.input",
            "logits.output -> cross_entropy.input",
            "batches.target -> cross_entropy.target",
            "cross_entropy.loss -> adam.loss",
        ],
    )


def trained(document: Document, *, compile: bool = False, steps: int = 3) -> dict[str, Any]:
    task = lower(check(document, catalogue())).build(seed=3)
    [*_] = fit.fit(task, steps=steps, compile=compile)
    return {name: value.numpy() for name, value in save_task(task)["modules"]["model"].items()}


def test_one_layer_is_called_twice_counted_once_and_saved_once() -> None:
    found = report(siamese())
    assert codes(siamese()) == []
    assert found.nodes["a"].parameters == 64 * 16 + 16 and found.nodes["b"].parameters == 0
    assert found.nodes["b"].arguments["out_features"] == 16
    source = lower(found).source
    assert source.count("nn.Linear(") == 2
    assert "b = self.a(scaled)" in source and "self.b" not in source
    assert list(trained(siamese())) == ["a.weight", "a.bias", "logits.weight", "logits.bias"]


def test_gradients_add_up_as_in_pytorch() -> None:
    base = changed(siamese(), "scaled", type="nn.Tanh", params={})
    task = lower(check(base, catalogue())).build(seed=3)
    batch = next(iter(task.setup().train))
    [loss] = task.losses(batch).values()
    loss.backward()
    a, logits = torch.nn.Linear(64, 16), torch.nn.Linear(16, 10)
    for ours, theirs in ((task.model.a, a), (task.model.logits, logits)):
        theirs.load_state_dict({key: torch.tensor(value.numpy()) for key, value in ours.state_dict().items()})
    flat = torch.tensor(batch[0].numpy()).flatten(1)
    scores = logits(torch.relu(a(flat)) - a(torch.tanh(flat)))
    torch.nn.functional.cross_entropy(scores, torch.tensor(batch[1].numpy())).backward()
    np.testing.assert_allclose(task.model.a.weight.grad.numpy(), a.weight.grad.numpy(), rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize("base", [siamese(), language_model()], ids=["same layer", "tied"])
def test_compiled_steps_match_eager_steps(base: Document) -> None:
    eager, compiled = trained(base), trained(base, compile=True)
    assert eager.keys() == compiled.keys()
    for name, value in eager.items():
        np.testing.assert_allclose(compiled[name], value, rtol=1e-4, atol=1e-6, err_msg=name)


@pytest.mark.parametrize("order", ["owner first", "owner last"])
def test_the_owner_may_be_before_or_after_the_other_node(order: str) -> None:
    """In a row, with sizes that only the first of the two can infer."""
    names = ["a", "relu", "b"] if order == "owner first" else ["b", "relu", "a"]
    kinds = {"a": Node("nn.Linear", {"out_features": 64}), "relu": "nn.ReLU", "b": Node("nn.Linear", shares="a")}
    base = digits(
        {"flatten": "nn.Flatten", **{name: kinds[name] for name in names}, "tanh": "nn.Tanh", "logits": HIDDEN}
    )
    base = edits.set_param(base, "logits", "out_features", 10)
    assert codes(base) == []
    assert list(trained(base)) == ["a.weight", "a.bias", "logits.weight", "logits.bias"]


def test_a_tied_matrix_is_inferred_counted_once_and_trained_once() -> None:
    base = language_model()
    assert codes(base) == []
    found = report(base)
    assert found.nodes["scores"].arguments["out_features"] == 17
    assert found.nodes["embedding"].parameters == 17 * 6 and found.nodes["scores"].parameters == 17
    source = lower(found).source
    assert "self.scores.weight = self.embedding.weight" in source
    weights = trained(base)
    assert list(weights) == ["embedding.weight", "scores.bias", "logits.weight", "logits.bias"]
    chosen = edits.set_trains(base, "adam", ["embedding", "scores"])
    source = lower(check(chosen, catalogue())).source
    assert "optim.Adam([*self.model.embedding.parameters(), self.model.scores.bias])" in source
    moved = {
        name for name, value in trained(chosen).items() if not np.array_equal(value, trained(chosen, steps=0)[name])
    }
    assert moved == {"embedding.weight", "scores.bias"}


@pytest.mark.parametrize("frozen", ["embedding", "scores"])
def test_freezing_a_tied_layer_keeps_its_parameters_alone(frozen: str) -> None:
    base = edits.set_flag(language_model(), [frozen], frozen=True)
    before, after = trained(base, steps=0), trained(base)
    same = {name for name, value in after.items() if np.array_equal(value, before[name])}
    assert same == {"embedding.weight" if frozen == "embedding" else "scores.bias"}


def blocks_sharing() -> Document:
    """Two instances of one block with the same weights, and a third with separate ones."""
    base = digits(
        {"flatten": "nn.Flatten", "fc": Node("nn.Linear", {"out_features": 64}), "relu": "nn.ReLU", "logits": HIDDEN}
    )
    base = edits.set_param(base, "logits", "out_features", 10)
    base, first = group(base, ["fc", "relu"], "encoder")
    for name in ("second", "third"):
        base = edits.add(base, name, Node("block.encoder"))
    for wire in list(base.wires):
        if wire.target.node == "logits":
            base = edits.disconnect(base, [wire])
    for source, target in ((first, "second"), ("second", "third"), ("third", "logits")):
        output, port = "output", "input"
        base = edits.connect(base, Wire(Endpoint(source, output), Endpoint(target, port)))
    return share(base, ["second"], first)


def test_instances_of_a_block_share_weights() -> None:
    base = blocks_sharing()
    assert codes(base) == []
    found = report(base)
    each = 64 * 64 + 64
    assert [found.nodes[name].parameters for name in ("encoder", "second", "third")] == [each, 0, each]
    assert flat_document(base).nodes["second.fc"].shares == "encoder.fc"
    source = lower(found).source
    assert source.count("self.encoder(") == 2 and "self.second" not in source
    eager, compiled = trained(base), trained(base, compile=True)
    assert list(eager) == [
        f"{name}.{part}" for name in ("encoder.fc", "third.fc", "logits") for part in ("weight", "bias")
    ]
    for name, value in eager.items():
        np.testing.assert_allclose(compiled[name], value, rtol=1e-4, atol=1e-6, err_msg=name)


def test_repeated_instances_share_copy_by_copy() -> None:
    base = edits.set_param(blocks_sharing(), "second", "repeat", 2)
    assert base.nodes["encoder"].params == {"repeat": 2} and base.nodes["second"].params == {}
    assert flat_document(base).nodes["second.1.fc"].shares == "encoder.1.fc"
    assert codes(base) == []
    assert {name.rpartition(".")[0] for name in trained(base)} == {"encoder.0.fc", "encoder.1.fc", "third.fc", "logits"}


def test_sharing_inside_a_block_that_shares() -> None:
    base = digits(
        {
            "flatten": "nn.Flatten",
            "x": Node("nn.Linear", {"out_features": 64}),
            "tanh": "nn.Tanh",
            "y": Node("nn.Linear", shares="x"),
            "relu": "nn.ReLU",
            "logits": HIDDEN,
        }
    )
    base = edits.set_param(base, "logits", "out_features", 10)
    base, first = group(base, ["x", "tanh", "y", "relu"], "pair")
    base, _ = paste(base, copy(base, [first]), (0, 400))
    [second] = set(base.nodes) - {first, "digits", "scale", "batches", "flatten", "logits", "cross_entropy", "adam"}
    [out] = [wire for wire in base.wires if wire.target.node == "logits"]
    base = edits.connect(base, Wire(Endpoint(second, "output"), out.target))
    base = edits.connect(base, Wire(out.source, Endpoint(second, "input")))
    base = share(base, [second], first)
    assert codes(base) == []
    assert list(trained(base)) == [f"{first}.x.weight", f"{first}.x.bias", "logits.weight", "logits.bias"]
    assert report(base).parameters == 64 * 65 + 650


# -- edits ------------------------------------------------------------------------------------


def test_parameters_of_a_shared_layer_are_those_of_its_owner() -> None:
    base = edits.set_param(siamese(), "b", "out_features", 20)
    assert base.nodes["a"].params == {"out_features": 20} and base.nodes["b"].params == {}
    apart = unshare(base, ["b"])
    assert apart.nodes["b"] == Node("nn.Linear", {"out_features": 20})
    assert share(apart, ["b"], "a") == base


def test_calls_of_one_layer_are_frozen_together() -> None:
    base = edits.set_flag(siamese(), ["b"], frozen=True)
    assert base.nodes["a"].frozen and base.nodes["b"].frozen
    before, after = trained(base, steps=0), trained(base)
    assert {name for name in after if np.array_equal(after[name], before[name])} == {"a.weight", "a.bias"}
    free = edits.set_flag(base, ["a"], frozen=False)
    assert not free.nodes["b"].frozen
    assert share(edits.set_flag(unshare(siamese(), ["b"]), ["a"], frozen=True), ["b"], "a").nodes["b"].frozen


def test_edits_keep_sharing() -> None:
    base = siamese()
    assert edits.rename(base, "a", "left").nodes["b"].shares == "left"
    removed = edits.remove(base, ["a"])
    assert removed.nodes["b"] == Node("nn.Linear", {"out_features": 16})
    three = edits.add(base, "c", Node("nn.Linear", shares="a"))
    handed = edits.remove(three, ["a"])
    assert handed.nodes["b"].params == {"out_features": 16} and handed.nodes["c"].shares == "b"
    assert users_of(three.nodes, "b") == ["a", "c"]
    both, names = paste(base, copy(base, ["a", "b"]), (0, 0))
    assert both.nodes[names[1]].shares == names[0] and both.nodes[names[1]].params == {}
    alone, [name] = paste(base, copy(base, ["b"]), (0, 0))
    assert alone.nodes[name].shares == "" and alone.nodes[name].params == {"out_features": 16}
    wired, [name] = paste(base, copy(base, ["b"]), (0, 0), with_inputs=True)
    assert wired.nodes[name].shares == "a" and wired.nodes[name].params == {}
    other = edits.retype(base, "a", "nn.LazyLinear", {})
    assert other.nodes["b"] == Node("nn.Linear", {"out_features": 16})
    assert loads(dumps(base)) == base and '"shares": "a"' in dumps(base)


def test_a_block_holds_all_nodes_that_share_weights() -> None:
    with pytest.raises(EditError, match="b uses the weights of a, which is possible in one graph only"):
        group(siamese(), ["a", "relu"], "encoder")
    whole, instance = group(siamese(), ["flatten", "a", "relu", "scaled", "b", "apart"], "encoder")
    assert codes(whole) == []
    assert next(iter(trained(whole))) == f"{instance}.a.weight"
    flat, _ = unpack(whole, instance)
    assert flat.nodes["b"].shares == "a" and codes(flat) == []
    with pytest.raises(EditError, match="share weights"):
        unpack(blocks_sharing(), "second")


def test_what_cannot_be_shared_is_refused() -> None:
    with pytest.raises(EditError, match=r"nn\.ReLU and nn\.Linear"):
        share(siamese(), ["relu"], "a")
    with pytest.raises(EditError, match="no node 'ghost'"):
        share(siamese(), ["b"], "ghost")


# -- checks -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("second", "words"),
    [
        (Node("nn.Linear", shares="ghost"), "there is no such node"),
        (Node("nn.Tanh", shares="a"), "different weights"),
        (Node("nn.Linear", shares="b"), "b uses the weights of b"),
    ],
)
def test_an_owner_that_cannot_be_one_is_reported(second: Node, words: str) -> None:
    base = siamese(second=second)
    problem = coded(base, "shared-weights")
    assert words in problem.message and problem.node == "b"
    assert fixed(base, problem).nodes["b"].shares == ""


def test_a_wrong_parameter_of_the_owner_is_reported_once() -> None:
    assert codes(siamese(Node("nn.Linear", {"out_features": 16, "bogus": 1}))) == ["unknown-parameter"]


def test_a_muted_owner_is_reported() -> None:
    base = edits.set_flag(siamese(Node("nn.Linear", {"out_features": 64})), ["a"], muted=True)
    assert "a is muted" in coded(base, "shared-weights").message


def test_an_input_that_does_not_fit_is_reported_at_the_node_that_shares() -> None:
    base = changed(siamese(), "scaled", type="nn.Linear", params={"out_features": 8})
    problem = coded(base, "shared-weights")
    assert problem.node == "b" and "Use separate weights for b" in problem.message
    assert "shared-weights" not in codes(fixed(base, problem))


def test_tied_matrices_have_one_shape() -> None:
    problem = coded(language_model(out_features=12), "shared-weights")
    assert "embedding has a 17×6 matrix but scores a 12×6 one" in problem.message
    assert codes(fixed(language_model(out_features=12), problem)) == []


def test_an_edit_of_the_owner_is_seen_at_the_other_node() -> None:
    """With the results of the check before the edit."""
    first = check(siamese(), catalogue())
    after = check(edits.set_param(siamese(), "a", "out_features", 20), catalogue(), previous=first)
    assert after.nodes["b"].arguments["out_features"] == 20
    apart = check(unshare(siamese(), ["b"]), catalogue(), previous=first)
    assert apart.nodes["b"].parameters == 64 * 16 + 16
