"""Mistakes that the experiments of a diagnosis find."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path

from studio.document import edits
from studio.document.model import Document, Node
from studio.reference.mistakes.mistake import Goal, Mistake
from studio.reference.mistakes.projects import digits, wire

_LEARNS = Goal("val_loss", 2.0, epochs=4, is_highest=True)
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
    for number in range(7):
        layers |= {f"linear{number}": Node("nn.Linear", {"out_features": 64}), f"sigmoid{number}": "nn.Sigmoid"}
    return _network(Node("optim.Adam", {"lr": 0.01}), **layers)


def _targets_of_zero(_: Path) -> Document:
    """Targets that are multiplied by 0 on their way to the loss."""
    found = edits.add(_network(), "same", Node("ops.mul", {"y": 0}))
    found = edits.disconnect(found, [wire("batches.target -> cross_entropy.target")])
    found = edits.connect(found, wire("batches.target -> same.x"))
    return edits.connect(found, wire("same.output -> cross_entropy.target"))


def _mistake(name: str, code: str, node: str, plant: Callable[[Path], Document], *, goal: Goal = _LEARNED) -> Mistake:
    return Mistake(name, code, node, plant, stage="diagnose", goal=goal)


EXPERIMENTS: tuple[Mistake, ...] = (
    _mistake("tiny_rate_of_sgd", "learning-rate-too-low", "adam", partial(_rate, 6e-4)),
    _mistake("huge_rate_of_sgd", "learning-rate-too-high", "adam", partial(_rate, 3.0)),
    _mistake("scores_multiplied_by_1000", "high-first-loss", "cross_entropy", _large_scores),
    _mistake("outputs_cut_to_zero", "unused-inputs", "hardshrink", _threshold),
    _mistake("targets_multiplied_by_0", "unfit-targets", "cross_entropy", _targets_of_zero),
    _mistake("eight_sigmoid_layers", "vanishing-gradients", "hidden", _deep_sigmoid, goal=_LEARNS),
)

__all__ = ["EXPERIMENTS"]
