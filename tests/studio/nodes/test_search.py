from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from studio.nodes import PortType, catalogue
from studio.nodes.edit_distance import typing_errors
from studio.nodes.palette_search import SearchMatch, search_node_types


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


# -- parameters in the search text


def best(text: str, bonus: dict[str, float] | None = None) -> SearchMatch:
    return search_node_types(catalogue(), text, (lambda kind: bonus.get(kind.key, 0.0)) if bonus else None)[0]


@pytest.mark.parametrize(
    ("text", "key", "params"),
    [
        ("linear 256", "nn.Linear", {"out_features": 256}),
        ("conv 16 k3 p1", "nn.Conv2d", {"out_channels": 16, "kernel_size": 3, "padding": 1}),
        (
            "conv 64 k3 s2 p1",
            "nn.Conv2d",
            {"out_channels": 64, "kernel_size": 3, "stride": 2, "padding": 1},
        ),
        (
            "conv2d 64 3 2 1",
            "nn.Conv2d",
            {"out_channels": 64, "kernel_size": 3, "stride": 2, "padding": 1},
        ),
        (
            "conv 8 k3x5 nobias same",
            "nn.Conv2d",
            {"out_channels": 8, "kernel_size": [3, 5], "bias": False, "padding": "same"},
        ),
        ("dropout 0.2", "nn.Dropout", {"p": 0.2}),
        ("dropout .2", "nn.Dropout", {"p": 0.2}),
        ("lstm 128 layers2", "nn.LSTM", {"hidden_size": 128, "num_layers": 2}),
        ("lstm 128 layers 2", "nn.LSTM", {"hidden_size": 128, "num_layers": 2}),
        ("lstm 128 nl2 bidirectional", "nn.LSTM", {"hidden_size": 128, "num_layers": 2, "bidirectional": True}),
        ("lstm 128 0.5", "nn.LSTM", {"hidden_size": 128, "dropout": 0.5}),
        ("adam 1e-3", "optim.Adam", {"lr": 0.001}),
        ("sgd lr=0.1 momentum 0.9", "optim.SGD", {"lr": 0.1, "momentum": 0.9}),
        ("loader 32 shuffle=false", "data.Batches", {"batch_size": 32, "shuffle": False}),
        ("embedding 1000 64", "nn.Embedding", {"num_embeddings": 1000, "embedding_dim": 64}),
        ("linaer 256", "nn.Linear", {"out_features": 256}),
        ("batch norm 2", "nn.BatchNorm2d", {}),
        ("conv 2", "nn.Conv2d", {"out_channels": 2}),
        ("conv 2d", "nn.Conv2d", {}),
        ("conv 2d 8", "nn.Conv2d", {"out_channels": 8}),
        ("max pool 2", "nn.MaxPool2d", {"kernel_size": 2}),
    ],
)
def test_words_after_the_name_set_parameters(text: str, key: str, params: dict[str, object]) -> None:
    match = best(text)
    assert (match.kind.key, dict(match.params), match.not_understood) == (key, params, ())
    for name, value in match.params.items():
        parameter = match.kind.param(name)
        assert parameter is not None
        assert parameter.problem(value) is None


@pytest.mark.parametrize(
    ("text", "params", "words"),
    [
        ("linear 256 qqqq", {"out_features": 256}, ("qqqq",)),
        ("linear x9", {}, ("x9",)),
        ("linear 0", {}, ("0",)),
        ("dropout 2", {}, ("2",)),
        ("linear 8 16", {"out_features": 8}, ("16",)),
        ("linear out=8 out=9", {"out_features": 8}, ("out=9",)),
    ],
)
def test_words_that_are_no_parameter_are_named(text: str, params: dict[str, object], words: tuple[str, ...]) -> None:
    match = next(each for each in search_node_types(catalogue(), text) if each.kind.title in ("Linear", "Dropout"))
    assert (dict(match.params), match.not_understood) == (params, words)


@pytest.mark.parametrize(
    ("text", "key"),
    [
        ("linaer", "nn.Linear"),
        ("batchnrom", "nn.BatchNorm2d"),
        ("rleu", "nn.ReLU"),
        ("dorpout", "nn.Dropout"),
        ("convolutoin", "nn.Conv2d"),
        ("softmx", "nn.Softmax"),
        ("embeding", "nn.Embedding"),
        ("atention", "nn.MultiheadAttention"),
        ("corss entropy", "nn.CrossEntropyLoss"),
    ],
)
def test_typing_errors_are_corrected(text: str, key: str) -> None:
    assert key in [match.kind.key for match in search_node_types(catalogue(), text)[:3]]


def test_a_bonus_decides_between_equal_matches() -> None:
    assert best("conv 8 k3").kind.key == "nn.Conv2d"
    assert best("conv 8 k3", {"nn.Conv1d": 5.0}).kind.key == "nn.Conv1d"
    assert best("linear", {"nn.Bilinear": 20.0}).kind.key == "nn.Linear"


@given(st.text(alphabet="lineaor.0123x=,k- 5²", max_size=12))
def test_any_text_can_be_searched(text: str) -> None:
    for match in search_node_types(catalogue(), f"conv {text}"):
        for name, value in match.params.items():
            parameter = match.kind.param(name)
            assert parameter is not None
            assert parameter.problem(value) is None


@pytest.mark.parametrize(
    ("word", "text", "errors"),
    [
        ("linaer", "linear", (1, 1)),
        ("line", "linear", (0, 2)),
        ("ilnear", "linear", (1, 1)),
        ("softmx", "softmax", (1, 1)),
        ("xinear", "linear", None),
        ("abcd", "linear", None),
    ],
)
def test_typing_errors_are_counted(word: str, text: str, errors: tuple[int, int] | None) -> None:
    assert typing_errors(word, text, 1) == errors
