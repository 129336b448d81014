from __future__ import annotations

import pytest

from studio.nodes import PortType, catalogue


def found(text: str) -> list[str]:
    return [node_type.key for node_type in catalogue().search(text)]


@pytest.mark.parametrize(
    ("text", "first"),
    [
        ("linear", "nn.Linear"),
        ("lin", "nn.Linear"),
        ("dense", "nn.Linear"),
        ("relu", "nn.ReLU"),
        ("nn.relu", "nn.ReLU"),
        ("optim.adam", "optim.Adam"),
        ("RELU", "nn.ReLU"),
        ("conv", "nn.Conv2d"),
        ("bn2", "nn.BatchNorm2d"),
        ("batch norm 2", "nn.BatchNorm2d"),
        ("mp", "nn.MaxPool2d"),
        ("crossent", "nn.CrossEntropyLoss"),
        ("mse", "nn.MSELoss"),
        ("adam", "optim.Adam"),
        ("adamw", "optim.AdamW"),
        ("sgd", "optim.SGD"),
        ("mnist", "data.IDX"),
        ("+", "ops.add"),
        ("residual", "ops.add"),
        ("concat", "ops.cat"),
        ("drpt", "nn.Dropout"),
        ("loader", "data.Batches"),
    ],
)
def test_best_match_is_first(text: str, first: str) -> None:
    assert found(text)[0] == first


def test_empty_text_returns_all_types_in_order() -> None:
    assert found("  ") == [node_type.key for node_type in catalogue()]


def test_no_match_returns_nothing() -> None:
    assert found("qqqq") == []
    assert found("linear qqqq") == []


def test_every_title_finds_its_type_first() -> None:
    for node_type in catalogue():
        assert catalogue().search(node_type.title)[0].title == node_type.title


def test_search_among_given_types() -> None:
    fitting = catalogue().fitting(PortType.LOSS, "input")
    hits = catalogue().search("adam", among=fitting)
    assert hits[0].key == "optim.Adam"
    assert {"optim.AdamW", "optim.NAdam"} < {node_type.key for node_type in hits} < {kind.key for kind in fitting}
