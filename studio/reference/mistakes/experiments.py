"""Mistakes that the experiments of a diagnosis find."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path

from studio.document import edits
from studio.document.model import Document, Node
from studio.reference.mistakes.mistake import Goal, Mistake
from studio.reference.mistakes.projects import digits, wire

_LEARNED = Goal("val_loss", 0.9, epochs=6, is_highest=True)
_FIRST: dict[str, str | Node] = {"flatten": "nn.Flatten", "hidden": Node("nn.Linear", {"out_features": 32})}
_LAST: dict[str, str | Node] = {"logits": Node("nn.Linear", {"out_features": 10})}


def _network(adam: Node | None = None, **between: str | Node) -> Document:
    return digits(
        {**_FIRST, **(between or {"relu": "nn.ReLU"}), **_LAST}, adam=adam or Node("optim.Adam", {"lr": 0.005})
    )


def _rate(rate: float, _: Path, optimizer: str = "optim.SGD") -> Document:
    return _network(Node(optimizer, {"lr": rate}))


def _large_scores(_: Path) -> Document:
    found = edits.add(_network(), "larger", Node("ops.mul", {"y": 1000.0}))
    found = edits.disconnect(found, [wire("logits.output -> cross_entropy.input")])
    found = edits.connect(found, wire("logits.output -> larger.x"))
    return edits.connect(found, wire("larger.output -> cross_entropy.input"))


def _threshold(_: Path) -> Document:
    return _network(hardshrink=Node("nn.Hardshrink", {"lambd": 100.0}))


def _deep_sigmoid(_: Path) -> Document:
    layers: dict[str, str | Node] = {"sigmoid": "nn.Sigmoid"}
    for number in range(10):
        layers |= {f"linear{number}": Node("nn.Linear", {"out_features": 16}), f"sigmoid{number}": "nn.Sigmoid"}
    return _network(Node("optim.SGD", {"lr": 0.05}), **layers)


def _mistake(name: str, code: str, node: str, plant: Callable[[Path], Document], *, has_fix: bool) -> Mistake:
    goal = _LEARNED if has_fix else None
    return Mistake(name, code, node, plant, stage="diagnose", goal=goal, has_fix=has_fix)


EXPERIMENTS: tuple[Mistake, ...] = (
    _mistake("tiny_rate_of_sgd", "learning-rate-too-low", "adam", partial(_rate, 6e-4), has_fix=True),
    _mistake("huge_rate_of_sgd", "learning-rate-too-high", "adam", partial(_rate, 3.0), has_fix=True),
    _mistake("scores_multiplied_by_1000", "high-first-loss", "cross_entropy", _large_scores, has_fix=False),
    _mistake("outputs_cut_to_zero", "unused-inputs", "hardshrink", _threshold, has_fix=False),
    _mistake("ten_sigmoid_layers", "vanishing-gradients", "hidden", _deep_sigmoid, has_fix=False),
)

__all__ = ["EXPERIMENTS"]
