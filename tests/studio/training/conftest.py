from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from typing import Any

import pytest

import engine
from studio.document.model import Document, Endpoint, Node, TrainingSettings, Wire
from studio.nodes.catalogue import Catalogue, catalogue
from studio.training import TrainingSession


@pytest.fixture(autouse=True)
def _restored_random_state() -> Iterator[None]:
    state = engine.random.get_rng_state()
    yield
    engine.random.set_rng_state(state)


def wire(source: str, target: str) -> Wire:
    return Wire(Endpoint(*source.split(".")), Endpoint(*target.split(".")))


@pytest.fixture
def digits() -> Callable[..., Document]:
    """The digits network; keyword arguments replace parameters of nodes."""

    def make(epochs: int = 2, **params: dict[str, Any]) -> Document:
        nodes = {
            "digits": Node("data.Digits"),
            "scale": Node("transforms.Normalize", {"mean": 0.0, "std": 16.0}),
            "loader": Node("data.Batches", {"batch_size": 128}),
            "flatten": Node("nn.Flatten"),
            "hidden": Node("nn.Linear", {"out_features": 32}),
            "relu": Node("nn.ReLU"),
            "dropout": Node("nn.Dropout", {"p": 0.1}),
            "logits": Node("nn.Linear", {"out_features": 10}),
            "loss": Node("nn.CrossEntropyLoss"),
            "accuracy": Node("metrics.Accuracy"),
            "adam": Node("optim.Adam", {"lr": 0.01}),
        }
        for name, values in params.items():
            nodes[name] = Node(nodes[name].type, {**nodes[name].params, **values})
        chain = ["flatten", "hidden", "relu", "dropout", "logits"]
        wires = [
            wire("digits.samples", "scale.samples"),
            wire("scale.samples", "loader.samples"),
            wire("loader.input", "flatten.input"),
            *(wire(f"{a}.output", f"{b}.input") for a, b in itertools.pairwise(chain)),
            wire("logits.output", "loss.input"),
            wire("loader.target", "loss.target"),
            wire("logits.output", "accuracy.input"),
            wire("loader.target", "accuracy.target"),
            wire("loss.loss", "adam.loss"),
        ]
        return Document(nodes, tuple(sorted(wires)), TrainingSettings(epochs=epochs))

    return make


@pytest.fixture
def session(digits) -> Iterator[Callable[..., TrainingSession]]:
    """Creates sessions, and ends their threads."""
    made: list[TrainingSession] = []
    known: Catalogue = catalogue()  # before a test patches a node's class

    def make(document: Document | None = None, **options: Any) -> TrainingSession:
        made.append(TrainingSession(digits() if document is None else document, known, **options))
        return made[-1]

    yield make
    for each in made:
        each.stop()
        assert each.join(600)
