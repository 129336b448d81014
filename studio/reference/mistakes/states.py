"""Mistakes of networks that carry a state from batch to batch."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

from studio.document import edits
from studio.document.model import Document, Json, Node
from studio.reference.mistakes.mistake import Goal, Mistake
from studio.reference.mistakes.parts import changed, rewired
from studio.reference.mistakes.projects import document

_LEARNED = Goal("val_loss", 3.4, epochs=1, is_highest=True)


def _text(*names: str, loader: dict[str, Json] | None = None, **layers: str | Node) -> Document:
    """A text, an embedding, layers whose names form a chain, and scores of the next characters."""
    nodes: dict[str, str | Node] = {
        "text": Node("data.Shakespeare", {"length": 32}),
        "batches": Node("data.Batches", {"batch_size": 64, **(loader or {"contiguous": True})}),
        "tokens": Node("nn.Embedding", {"embedding_dim": 8, "num_embeddings": 62}),
        **layers,
        "scores": Node("nn.Linear", {"out_features": 62}),
        "classes_first": Node("ops.transpose", {"dim0": 1, "dim1": 2}),
        "cross_entropy": "nn.CrossEntropyLoss",
        "adam": Node("optim.Adam", {"lr": 0.01}),
    }
    chain = ["tokens", *names, "scores"]
    wires = [f"{before}.output -> {after}.input" for before, after in pairwise(chain)]
    rest = (
        "text.samples -> batches.samples",
        "batches.input -> tokens.input",
        "scores.output -> classes_first.x",
        "classes_first.output -> cross_entropy.input",
        "batches.target -> cross_entropy.target",
        "cross_entropy.loss -> adam.loss",
    )
    return document(nodes, [*wires, *rest])


def _lstm(**loader: Json) -> Document:
    lstm = Node("nn.LSTM", {"hidden_size": 16, "carry_state": True})
    return _text("lstm", loader=loader or None, lstm=lstm)


def _shuffled(_: Path) -> Document:
    return _lstm(shuffle=True)


def _overlapping(_: Path) -> Document:
    return edits.set_param(_lstm(), "text", "stride", 20)


def _shared(_: Path) -> Document:
    """Two layers that share their weights and thus one state."""
    both = _text(
        "first", "second",
        first=Node("nn.LSTM", {"hidden_size": 8, "carry_state": True}),
        second=Node("nn.LSTM", {"hidden_size": 8, "carry_state": True}),
    )  # fmt: skip
    return changed(both, "second", params={}, shares="first")


def _cell(*, keeps: bool, reads: bool) -> Document:
    """A memory of the last character of each row, which is read before and kept behind a cell."""
    more = {
        "last": Node("ops.select", {"dim": 1, "index": -1}),
        "memory": Node("nn.CarriedState", {"size": 8}),
        "cell": Node("nn.GRUCell", {"hidden_size": 8}),
        "spread": Node("ops.unsqueeze", {"dim": 1}),
        "added": Node("ops.add"),
    }
    wires = [
        "tokens.output -> last.x",
        "last.output -> cell.input",
        "tokens.output -> added.x",
        "spread.output -> added.y",
        "added.output -> scores.input",
    ]
    if reads:
        wires += ["last.output -> memory.batch", "memory.output -> cell.hx", "cell.output -> spread.x"]
    if keeps and not reads:
        wires += ["cell.output -> memory.value", "memory.output -> spread.x"]
    return rewired(edits.add_all(_text(), more), ["tokens.output -> scores.input"], wires)


STATES: tuple[Mistake, ...] = (
    Mistake("carried_state_with_shuffled_samples", "state-order", "batches", _shuffled, goal=_LEARNED),
    Mistake("carried_state_over_overlapping_samples", "state-gaps", "text", _overlapping, goal=_LEARNED),
    Mistake("two_layers_with_one_state", "state-shared", "second", _shared, goal=_LEARNED),
    Mistake(
        "state_that_nothing_keeps", "state-unused", "memory", lambda _: _cell(keeps=False, reads=True), goal=_LEARNED
    ),
    Mistake(
        "state_that_nothing_reads", "state-unused", "memory", lambda _: _cell(keeps=True, reads=False), goal=_LEARNED
    ),
)

__all__ = ["STATES"]
