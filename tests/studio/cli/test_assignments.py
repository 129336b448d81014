from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from engine.registry import Parameter, PathTo, Range
from studio.cli.assignments import apply_assignments, parameter_at, parse_value
from studio.cli.error_output import InputError
from studio.document.blocks.block_edits import promote
from studio.document.blocks.block_grouping import group
from studio.document.files.project_templates import template
from studio.document.model import Document, Endpoint, Node, ParamRef, Wire
from studio.nodes.catalogue import catalogue

DOCUMENT = Document(
    {"hidden": Node("nn.Linear"), "adam": Node("optim.Adam"), "odd": Node("made.Up")},
    (Wire(Endpoint("hidden", "output"), Endpoint("odd", "input")),),
)


@pytest.mark.parametrize(
    ("parameter", "text", "value"),
    [
        (Parameter("x", "int"), "-3", -3),
        (Parameter("x", "float"), "1e-3", 0.001),
        (Parameter("x", "bool"), "Yes", True),
        (Parameter("x", "bool"), "0", False),
        (Parameter("x", "str"), "a=b c", "a=b c"),
        (Parameter("x", "str", optional=True), "none", None),
        (Parameter("x", "str"), "none", "none"),
        (Parameter("x", "floats"), "0.9, 0.999", [0.9, 0.999]),
        (Parameter("x", "ints"), "(3, 5)", [3, 5]),
        (Parameter("x", "ints"), "3", 3),
        (Parameter("x", "choice", choices=("mean", 2)), "2", 2),
        (Parameter("x", "ints", choices=("same",)), "same", "same"),
    ],
)
def test_values_have_the_parameters_type(parameter: Parameter, text: str, value: Any) -> None:
    parsed = parse_value(parameter, text, "")
    assert parsed == value
    assert type(parsed) is type(value)


def test_paths_begin_in_the_working_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert parse_value(Parameter("x", "path", path=PathTo("folder")), "mnist", "") == str(tmp_path / "mnist")


@pytest.mark.parametrize(
    ("parameter", "text", "message"),
    [
        (Parameter("x", "int"), "1.5", "x must be a whole number, not '1.5'"),
        (Parameter("x", "int", range=Range(ge=1)), "0", "x must be ≥ 1, not 0"),
        (Parameter("x", "float"), "nan", "x must be a finite number, not nan"),
        (Parameter("x", "float"), "1e999", "x must be a finite number, not inf"),
        (Parameter("x", "bool"), "maybe", "x must be true or false, not 'maybe'"),
        (Parameter("x", "ints"), "1,b", "x must be whole numbers, not '1,b'"),
        (Parameter("x", "ints", choices=("same",)), "b", "x must be whole numbers or 'same', not 'b'"),
        (Parameter("x", "choice", choices=("a", "b")), "c", "x must be one of 'a', 'b', not 'c'"),
    ],
)
def test_values_that_do_not_fit(parameter: Parameter, text: str, message: str) -> None:
    with pytest.raises(InputError) as caught:
        parse_value(parameter, text, f"n.x={text}")
    assert message in str(caught.value)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("adam.lr", "expected NODE.PARAM=VALUE"),
        ("lr=3", "expected NODE.PARAM=VALUE"),
        ("adan.lr=3", "no node 'adan'. Did you mean 'adam'?"),
        ("zzz.lr=3", "Choose one of: hidden, adam, odd."),
        ("hidden.out_feature=3", "has no parameter 'out_feature'. Did you mean 'out_features'?"),
        ("odd.x=3", "'odd' has the unknown type 'made.Up'"),
        ("adam=", "there is no node type ''"),
        ("adam.=1", "expected NODE.PARAM=VALUE"),
        ("adam=optim.Adan", "there is no node type 'optim.Adan'. Did you mean 'optim.Adam'?"),
        ("adam=SDG", "there is no node type 'SDG'. Did you mean 'SGD'?"),
        ("hidden=nn.CrossEntropyLoss", "Cross entropy has no port 'output', but hidden has a wire there"),
    ],
)
def test_places_that_are_not_there(text: str, message: str) -> None:
    with pytest.raises(InputError) as caught:
        apply_assignments(DOCUMENT, catalogue(), [text])
    assert message in str(caught.value)


def test_all_are_made() -> None:
    document = apply_assignments(DOCUMENT, catalogue(), ["hidden.out_features=5", "adam.betas=0.8,0.9"])
    assert document.nodes["hidden"].params == {"out_features": 5}
    assert document.nodes["adam"].params == {"betas": [0.8, 0.9]}
    assert document.nodes["odd"] is DOCUMENT.nodes["odd"]


def test_nodes_inside_blocks_are_reached_by_their_path() -> None:
    document, _ = group(DOCUMENT, ["hidden"], "dense")
    changed = apply_assignments(document, catalogue(), ["dense.hidden.out_features=5"])
    assert changed.blocks["dense"].nodes["hidden"].params == {"out_features": 5}
    document = promote(document, "dense", ParamRef("hidden", "out_features"), "width")
    changed = apply_assignments(document, catalogue(), ["dense.hidden.out_features=5"])
    assert changed.nodes["dense"].params == {"width": 5} and changed.blocks == document.blocks
    assert parameter_at(document, catalogue(), "dense.hidden.out_features") == parameter_at(
        DOCUMENT, catalogue(), "hidden.out_features"
    )
    with pytest.raises(InputError, match=r"no node .dense\.hiden.\. Did you mean .dense\.hidden."):
        apply_assignments(document, catalogue(), ["dense.hiden.out_features=5"])


@pytest.mark.parametrize("key", ["optim.SGD", "SGD"])
def test_another_kind_of_node_keeps_what_fits(key: str) -> None:
    document = apply_assignments(
        DOCUMENT, catalogue(), ["adam.lr=0.5", "adam.betas=0.8,0.9", f"adam={key}", "adam.momentum=0.9"]
    )
    assert document.nodes["adam"] == Node("optim.SGD", {"lr": 0.5, "momentum": 0.9})
    assert document.wires == DOCUMENT.wires


def test_the_layers_of_an_optimizer_are_set() -> None:
    document = template("digits-mlp").document
    chosen = apply_assignments(document, catalogue(), ["adam.trains=hidden, logits"])
    assert chosen.nodes["adam"].trains == ("hidden", "logits")
    assert apply_assignments(chosen, catalogue(), ["adam.trains=all"]).nodes["adam"].trains == ()
    with pytest.raises(InputError, match="no parameter 'trains'"):
        apply_assignments(document, catalogue(), ["hidden.trains=logits"])


@pytest.mark.parametrize(
    "text",
    ["{}=nn.ReLU", "{}.x=1", "hidden.{}=1", "hidden={}", "hidden.out_features={}", "training.{}=1", "training.seed={}"],
)
def test_a_long_value_is_reported_by_its_beginning(text: str) -> None:
    with pytest.raises(InputError) as caught:
        apply_assignments(DOCUMENT, catalogue(), [text.format("9" * 5000)])
    assert len(str(caught.value)) < 600
    assert "9" * 20 in str(caught.value)


def test_copies_of_a_repeated_block_have_values_of_their_own() -> None:
    document, _ = group(DOCUMENT, ["hidden"], "dense")
    document = promote(document, "dense", ParamRef("hidden", "out_features"), "width")
    changed = apply_assignments(document, catalogue(), ["dense.repeat=3", "dense.width=64 | 32|16"])
    assert changed.nodes["dense"].params == {"repeat": 3, "width": {"each": [64, 32, 16]}}
    for text in ("dense.repeat=1|2", "adam.lr=1|2"):
        with pytest.raises(InputError, match="must be a"):
            apply_assignments(document, catalogue(), [text])
