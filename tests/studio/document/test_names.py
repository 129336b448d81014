from __future__ import annotations

import keyword

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from studio.document import node_names


@pytest.mark.parametrize("name", ["a", "hidden_2", "größe", "層", "match", "x" * 100])
def test_good_names(name: str) -> None:
    assert node_names.problem(name) is None


@pytest.mark.parametrize(
    ("name", "problem"),
    [
        ("", "is empty"),
        ("2nd", "is not a Python identifier"),
        ("a b", "is not a Python identifier"),
        ("a.b", "is not a Python identifier"),
        ("a\n", "is not a Python identifier"),
        ("self", "is reserved"),
        ("_hidden", "is reserved"),
        ("__init__", "is reserved"),
        ("ﬁlter", "write 'filter'"),
        ("x" * 101, "is longer than 100 characters"),
        *((word, "is a Python keyword") for word in keyword.kwlist),
    ],
)
def test_bad_names(name: str, problem: str) -> None:
    assert problem in (node_names.problem(name) or "")


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("nn.Linear", "linear"),
        ("nn.ReLU", "relu"),
        ("nn.BatchNorm2d", "batch_norm2d"),
        ("nn.CrossEntropyLoss", "cross_entropy_loss"),
        ("nn.MSELoss", "mse_loss"),
        ("optim.AdamW", "adamw"),
        ("ops.lambda", "lambda_node"),
        ("Max pool", "max_pool"),
        ("1×1", "node_1_1"),
        ("☃", "node"),
        ("", "node"),
        ("ﬁlter", "filter"),
        ("y" * 500, "y" * 90),
    ],
)
def test_names_from_titles(text: str, name: str) -> None:
    assert node_names.to_identifier(text) == name


@given(st.text())
@example("\N{MICRO SIGN}")
@example("\N{LATIN CAPITAL LETTER I WITH DOT ABOVE}")
@example("℘·")
def test_any_text_gives_a_good_name(text: str) -> None:
    name = node_names.to_identifier(text)
    assert node_names.problem(name) is None
    assert node_names.problem(node_names.unique_name(name, {name})) is None


def test_free_counts_on() -> None:
    assert node_names.unique_name("a", ()) == "a"
    assert node_names.unique_name("a", {"a"}) == "a_2"
    assert node_names.unique_name("a_2", {"a_2"}) == "a_3"
    assert node_names.unique_name("a_7", {"a_7", "a_2"}) == "a_3"
    assert node_names.unique_name("a_9", ()) == "a_9"
    assert node_names.unique_name("_1", {"_1"}) == "_1_2"


def test_many_free_names() -> None:
    names = node_names.UniqueNames(["a", "a_3"])
    assert [names.reserve(name) for name in ("a", "a", "a_3", "b", "b", "a_9", "a_9")] == [
        "a_2",
        "a_4",
        "a_5",
        "b",
        "b_2",
        "a_9",
        "a_6",
    ]


@given(st.lists(st.sampled_from(["a", "a_2", "a_3", "a_2_2", "b", "_1", "_1_2"]), max_size=12))
def test_no_name_is_given_twice(wanted: list[str]) -> None:
    names = node_names.UniqueNames(["a_2"])
    given_names = [names.reserve(name) for name in wanted]
    assert len({*given_names, "a_2"}) == len(wanted) + 1
