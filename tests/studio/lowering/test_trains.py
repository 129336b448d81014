"""Several optimizers over chosen layers."""

from __future__ import annotations

from typing import Any

import numpy as np

from engine import fit
from studio.document import edits, node_clipboard
from studio.document.files.project_format import dumps, loads
from studio.document.model import Document, Node
from studio.lowering import lower
from studio.lowering.check import check
from studio.nodes import catalogue
from tests.studio.lowering.graphs import changed, codes, digits, fixed, only, report

LAYERS: dict[str, str | Node] = {
    "flatten": "nn.Flatten",
    "hidden": Node("nn.Linear", {"out_features": 16}),
    "relu": "nn.ReLU",
    "logits": Node("nn.Linear", {"out_features": 10}),
}


def two(first: tuple[str, ...] = ("hidden",), second: tuple[str, ...] = ("logits",)) -> Document:
    """Adam and SGD on one loss."""
    document = digits(LAYERS, sgd=Node("optim.SGD", {"lr": 0.1}), wires=["cross_entropy.loss -> sgd.loss"])
    return edits.set_trains(edits.set_trains(document, "adam", first), "sgd", second)


def weights(document: Document, *, epochs: int = 1, compile: bool = False) -> dict[str, tuple[Any, Any]]:
    """Of each tensor before and after a training."""
    task = lower(check(document, catalogue())).build(seed=3)
    task.setup()
    before = {name: value.numpy().copy() for name, value in task.model.state_dict().items()}
    [*_] = fit.fit(task, epochs=epochs, compile=compile)
    return {name: (before[name], value.numpy().copy()) for name, value in task.model.state_dict().items()}


def moved(document: Document) -> set[str]:
    """The layers whose weights a training changed, in any bit."""
    pairs = weights(document).items()
    return {name.partition(".")[0] for name, (old, new) in pairs if not np.array_equal(old, new)}


def test_each_optimizer_trains_its_layers() -> None:
    document = two()
    assert codes(document) == []
    source = lower(check(document, catalogue())).source
    assert "optim.Adam([*self.model.hidden.parameters()])" in source
    assert "optim.SGD([*self.model.logits.parameters()], lr=0.1)" in source
    found = report(document)
    assert found.trained == {"adam": ("hidden",), "sgd": ("logits",)}
    assert found.trainable == {"adam": ("hidden", "logits"), "sgd": ("hidden", "logits")}
    assert moved(document) == {"hidden", "logits"}


def test_compiled_steps_match_eager_steps() -> None:
    eager, compiled = weights(two()), weights(two(), compile=True)
    for name, (_, after) in eager.items():
        np.testing.assert_allclose(after, compiled[name][1], rtol=1e-4, atol=1e-6, err_msg=name)


def test_optimizer_may_omit_layers() -> None:
    document = edits.set_trains(digits(LAYERS), "adam", ["logits"])
    problem = only(document)
    assert (problem.code, problem.severity, problem.node) == ("left-alone", "warning", "hidden")
    assert "self.hidden.requires_grad_(False)" in lower(check(document, catalogue())).source
    assert moved(document) == {"logits"}
    assert codes(fixed(document, problem)) == []
    assert fixed(document, problem).nodes["adam"].trains == ("logits", "hidden")


def test_layer_of_two_optimizers() -> None:
    assert "shared-layers" in codes(two(("hidden", "logits"), ("logits",)))
    assert "shared-layers" in codes(two((), ()))


def test_unknown_layer() -> None:
    document = two(("hidden", "hiden"))
    problem = only(document)
    assert problem.code == "unknown-layer" and "Did you mean hidden?" in problem.message
    assert codes(fixed(document, problem)) == []
    assert "nothing-to-train" in codes(two(("gone",)))


def test_a_layer_without_parameters() -> None:
    problem = only(two(("hidden", "relu")))
    assert problem.code == "unknown-layer" and "no parameters" in problem.message


def test_frozen_and_muted_layers_may_be_chosen() -> None:
    assert report(changed(two(("hidden", "logits"), ()), "logits", frozen=True)).trained["adam"] == ("hidden",)
    muted = changed(edits.set_trains(digits(LAYERS), "adam", ["hidden", "logits"]), "hidden", muted=True)
    assert codes(muted) == []


def test_renamed_layer_stays_selected() -> None:
    document = two()
    renamed = edits.rename(document, "hidden", "first")
    assert renamed.nodes["adam"].trains == ("first",)
    assert renamed.nodes["first"] is document.nodes["hidden"]
    assert codes(renamed) == []


def test_files_and_the_clipboard_keep_the_choice() -> None:
    document = two()
    assert loads(dumps(document)) == document
    assert '"trains": ["hidden"]' in dumps(document)
    pasted, _ = node_clipboard.paste(document, node_clipboard.copy(document, ["hidden", "adam"]), (0, 0))
    assert pasted.nodes["adam_2"].trains == ("hidden_2",)
    alone, _ = node_clipboard.paste(document, node_clipboard.copy(document, ["adam"]), (0, 0))
    assert alone.nodes["adam_2"].trains == ("hidden",)


def test_selecting_the_same_layers_changes_nothing() -> None:
    document = two()
    assert edits.set_trains(document, "adam", ["hidden"]) is document
