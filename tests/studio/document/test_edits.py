"""Each edit: what it does, what it refuses and in which words."""

from __future__ import annotations

import math
from collections.abc import Callable

import pytest

from studio.document import edits
from studio.document.document_errors import EditError
from studio.document.model import Document, Endpoint, Node, TrainingSettings, Wire


def wire(text: str) -> Wire:
    source, target = (Endpoint(*end.split(".")) for end in text.split(" -> "))
    return Wire(source, target)


@pytest.fixture
def document() -> Document:
    """digits → hidden → relu"""
    document = Document()
    document = edits.add(document, "digits", Node("data.Digits"))
    document = edits.add(document, "hidden", Node("nn.Linear", {"out_features": 128}, at=(160, 0)))
    document = edits.add(document, "relu", Node("nn.ReLU", at=(320, 0)))
    document = edits.connect(document, wire("digits.output -> hidden.input"))
    return edits.connect(document, wire("hidden.output -> relu.input"))


def test_add_puts_a_node_last(document: Document) -> None:
    new = edits.add(document, "dropout", Node("nn.Dropout"))
    assert list(new.nodes) == ["digits", "hidden", "relu", "dropout"]


def test_add_copies_parameters() -> None:
    params: dict[str, object] = {"kernel_size": (3, 3)}
    document = edits.add(Document(), "conv", Node("nn.Conv2d", params))
    params["kernel_size"] = 5
    assert document.nodes["conv"].params == {"kernel_size": [3, 3]}


def test_remove_takes_wires_along(document: Document) -> None:
    new = edits.remove(document, ["hidden"])
    assert list(new.nodes) == ["digits", "relu"]
    assert new.wires == ()
    assert new.nodes["relu"] is document.nodes["relu"]


def test_rename_keeps_node_order_and_wires(document: Document) -> None:
    new = edits.rename(document, "hidden", "encoder")
    assert list(new.nodes) == ["digits", "encoder", "relu"]
    assert new.nodes["encoder"] is document.nodes["hidden"]
    assert new.wires == (wire("digits.output -> encoder.input"), wire("encoder.output -> relu.input"))


def test_rename_leaves_other_wires_alone(document: Document) -> None:
    assert edits.rename(document, "digits", "data").wires[1] is document.wires[1]
    alone = edits.add(document, "note", Node("studio.Note"))
    assert edits.rename(alone, "note", "remark").wires is alone.wires


def test_rename_keeps_wires_sorted(document: Document) -> None:
    new = edits.rename(document, "digits", "zebra")
    assert list(new.wires) == sorted(new.wires)


def test_rename_of_a_node_that_feeds_itself() -> None:
    document = edits.connect(edits.add(Document(), "a", Node("nn.ReLU")), wire("a.output -> a.input"))
    assert edits.rename(document, "a", "b").wires == (wire("b.output -> b.input"),)


def test_another_type_keeps_the_wires(document: Document) -> None:
    new = edits.retype(document, "hidden", "nn.LazyLinear", {"bias": False})
    assert (new.nodes["hidden"].type, new.nodes["hidden"].params) == ("nn.LazyLinear", {"bias": False})
    assert new.nodes["hidden"].at == document.nodes["hidden"].at
    assert new.wires is document.wires


def test_move(document: Document) -> None:
    new = edits.move(document, {"hidden": (8, 16), "relu": (320, 0)})
    assert new.nodes["hidden"].at == (8.0, 16.0)
    assert new.nodes["relu"] is document.nodes["relu"]


def test_connect_replaces_what_is_at_the_input(document: Document) -> None:
    new = edits.connect(document, wire("digits.output -> relu.input"))
    assert new.wires == (wire("digits.output -> hidden.input"), wire("digits.output -> relu.input"))


def test_an_output_feeds_many(document: Document) -> None:
    document = edits.add(document, "other", Node("nn.ReLU"))
    assert len(edits.connect(document, wire("hidden.output -> other.input")).wires) == 3


def test_disconnect(document: Document) -> None:
    new = edits.disconnect(document, [wire("hidden.output -> relu.input")])
    assert new.wires == (wire("digits.output -> hidden.input"),)


def test_set_and_clear_param(document: Document) -> None:
    new = edits.set_param(document, "hidden", "bias", False)
    assert new.nodes["hidden"].params == {"out_features": 128, "bias": False}
    assert edits.clear_param(new, "hidden", "bias") == document


@pytest.mark.parametrize("value", [128.0, True, "128"])
def test_set_param_tells_equal_values_of_other_types_apart(document: Document, value: object) -> None:
    document = edits.set_param(document, "hidden", "out_features", 1 if value is True else 128)
    new = edits.set_param(document, "hidden", "out_features", value)
    assert new is not document
    assert type(new.nodes["hidden"].params["out_features"]) is type(value)


def test_set_param_copies(document: Document) -> None:
    value = [1, [2]]
    new = edits.set_param(document, "hidden", "shape", value)
    value[1].append(3)
    assert new.nodes["hidden"].params["shape"] == [1, [2]]


def test_flags(document: Document) -> None:
    new = edits.set_flag(document, ["hidden", "relu"], muted=True, frozen=False)
    assert new.nodes["hidden"].muted
    assert new.nodes["relu"].muted
    assert not new.nodes["relu"].frozen
    assert edits.set_flag(new, ["hidden", "relu"], muted=False) == document


def test_note_training_and_description(document: Document) -> None:
    assert edits.set_note(document, "relu", "why?").nodes["relu"].note == "why?"
    assert edits.set_training(document, epochs=3, device="cpu").training == TrainingSettings(epochs=3, device="cpu")
    assert edits.set_description(document, "Digits").description == "Digits"


@pytest.mark.parametrize(
    "edit",
    [
        lambda d: edits.remove(d, []),
        lambda d: edits.rename(d, "relu", "relu"),
        lambda d: edits.retype(d, "relu", d.nodes["relu"].type, d.nodes["relu"].params),
        lambda d: edits.move(d, {"relu": (320, 0)}),
        lambda d: edits.connect(d, wire("hidden.output -> relu.input")),
        lambda d: edits.disconnect(d, []),
        lambda d: edits.set_param(d, "hidden", "out_features", 128),
        lambda d: edits.clear_param(d, "hidden", "bias"),
        lambda d: edits.set_flag(d, ["hidden"], muted=False),
        lambda d: edits.set_flag(d, ["hidden"]),
        lambda d: edits.set_note(d, "hidden", ""),
        lambda d: edits.set_training(d, epochs=10),
        edits.set_training,
        lambda d: edits.set_description(d, ""),
    ],
)
def test_an_edit_that_changes_nothing_is_the_identity(document: Document, edit: Callable[[Document], Document]) -> None:
    assert edit(document) is document


@pytest.mark.parametrize(
    ("edit", "message"),
    [
        (lambda d: edits.add(d, "relu", Node("nn.ReLU")), "There is already a node 'relu'. Choose another name."),
        (lambda d: edits.add(d, "class", Node("nn.ReLU")), "The name 'class' is a Python keyword."),
        (lambda d: edits.add(d, "a", Node("")), "a.type must not be empty."),
        (lambda d: edits.add(d, "a", Node("x", muted=1)), "a.muted must be true or false, not 1."),
        (lambda d: edits.add(d, "a", Node("x", {"p": math.nan})), "a.p must be a finite number, not nan."),
        (lambda d: edits.add(d, "a", Node("x", at=(math.inf, 0))), "Node 'a' cannot be at (inf, 0)"),
        (lambda d: edits.add(d, "a", Node("x", note="\ud800")), "The note of a contains half a surrogate"),
        (lambda d: edits.remove(d, ["relu", "ghost"]), "The project has no node 'ghost'."),
        (lambda d: edits.rename(d, "ghost", "b"), "The project has no node 'ghost'."),
        (lambda d: edits.retype(d, "ghost", "nn.ReLU", {}), "The project has no node 'ghost'."),
        (lambda d: edits.retype(d, "relu", "", {}), "relu.type must not be empty."),
        (lambda d: edits.rename(d, "relu", "hidden"), "There is already a node 'hidden'."),
        (lambda d: edits.rename(d, "relu", "re lu"), "The name 're lu' is not a Python identifier"),
        (lambda d: edits.move(d, {"ghost": (0, 0)}), "The project has no node 'ghost'."),
        (lambda d: edits.move(d, {"relu": (math.nan, 0)}), "Node 'relu' cannot be at (nan, 0)"),
        (lambda d: edits.connect(d, wire("ghost.output -> relu.input")), "there is no node 'ghost'."),
        (lambda d: edits.connect(d, wire("hidden.output -> relu.in put")), "'in put' is not the name of a port."),
        (
            lambda d: edits.disconnect(d, [wire("digits.output -> relu.input")]),
            "The project has no wire digits.output -> relu",
        ),
        (lambda d: edits.set_param(d, "ghost", "p", 1), "The project has no node 'ghost'."),
        (
            lambda d: edits.set_param(d, "relu", "p", [1, {"q": math.inf}]),
            "relu.p[1].q must be a finite number, not inf.",
        ),
        (lambda d: edits.set_param(d, "relu", "p", object()), "relu.p must be a JSON value, not object."),
        (lambda d: edits.set_param(d, "relu", "p", 2**64), "relu.p must be a whole number of at most 64 bits."),
        (
            lambda d: edits.set_training(d, epoch=3),
            "There is no training setting 'epoch'. Choose one of: epochs, steps, seed, device, compile",
        ),
        (
            lambda d: edits.set_training(d, epochs=0),
            "training.epochs must be a whole number ≥ 1 and ≤ 2,147,483,647, not 0.",
        ),
        (lambda d: edits.set_description(d, "\udfff"), "half a surrogate pair"),
    ],
)
def test_refusals_name_the_thing(document: Document, edit: Callable[[Document], Document], message: str) -> None:
    with pytest.raises(EditError) as caught:
        edit(document)
    assert message in str(caught.value)
    assert str(caught.value).endswith(".")


def test_fresh_names(document: Document) -> None:
    assert edits.unique_name(document, "nn.Dropout") == "dropout"
    assert edits.unique_name(document, "nn.ReLU") == "relu_2"
    document = edits.add(document, "relu_2", Node("nn.ReLU"))
    assert edits.unique_name(document, "relu_2") == "relu_3"


def test_a_renamed_metric_is_followed_under_its_new_name() -> None:
    document = edits.set_training(Document(nodes={"loss": Node("x"), "hits": Node("y")}), follow="val_hits")
    assert edits.rename(document, "hits", "right").training.follow == "val_right"
    assert edits.rename(document, "loss", "hits_2").training is document.training
    followed = edits.set_training(document, follow="train_loss")
    assert edits.rename(followed, "loss", "goal").training.follow == "train_loss"
