"""Mistakes with layers and operations."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from msgspec.structs import replace

from studio.document.blocks.block_nodes import type_of
from studio.document.model import Block, Document, Node
from studio.reference.mistakes.mistake import Goal, Mistake
from studio.reference.mistakes.projects import digits, wire

Layers = dict[str, str | Node]

_LEARNED = Goal("val_loss", 0.8, epochs=6, is_highest=True)
_FAST = Node("optim.Adam", {"lr": 0.01})
_FLAT = "nn.Flatten"
_SCORES = Node("nn.Linear", {"out_features": 10})


def _linear(features: int = 32, **params: Any) -> Node:
    return Node("nn.Linear", {"out_features": features, **params})


def _conv(channels: int = 8, **params: Any) -> Node:
    return Node("nn.Conv2d", {"out_channels": channels, "kernel_size": 3, "padding": 1, **params})


def _project(layers: Layers, batch_size: int | None = None, **more: Any) -> Callable[[Path], Document]:
    batches = Node("data.Batches", {} if batch_size is None else {"batch_size": batch_size})
    return lambda _: digits(layers, batches=batches, adam=_FAST, **more)


def _with_block(_: Path) -> Document:
    """A linear layer in a block, before a linear layer on the canvas."""
    nodes = {"input": Node("port.Input"), "fc": _linear(), "output": Node("port.Output")}
    block = Block(nodes=nodes, wires=(wire("input.output -> fc.input"), wire("fc.output -> output.input")))
    document = digits({"flatten": _FLAT, "hidden": Node(type_of("dense")), "drop": "nn.Dropout", "scores": _SCORES})
    return replace(document, blocks={"dense": block})


_CHAINS = (
    Mistake(
        "no_activation_before_dropout",
        "no-activation",
        "scores",
        _project({"flatten": _FLAT, "hidden": _linear(), "drop": Node("nn.Dropout", {"p": 0.1}), "scores": _SCORES}),
        goal=_LEARNED,
    ),
    Mistake(
        "no_activation_before_flatten",
        "no-activation",
        "scores",
        _project({"conv": _conv(), "pool": Node("nn.AvgPool2d", {"kernel_size": 2}), "flat": _FLAT, "scores": _SCORES}),
    ),
    Mistake(
        "no_activation_after_batch_norm",
        "no-activation",
        "conv2",
        _project(
            {
                "conv1": _conv(bias=False),
                "norm": "nn.BatchNorm2d",
                "conv2": _conv(16),
                "relu": "nn.ReLU",
                "pool": Node("nn.AdaptiveAvgPool2d", {"output_size": 2}),
                "flat": _FLAT,
                "scores": _SCORES,
            }
        ),
    ),
    Mistake("no_activation_after_a_block", "no-activation", "scores", _with_block),
)

_NORMS = (
    Mistake(
        "bias_before_batch_norm",
        "bias-before-norm",
        "conv",
        _project({"conv": _conv(), "norm": "nn.BatchNorm2d", "relu": "nn.ReLU", "flat": _FLAT, "scores": _SCORES}),
    ),
    Mistake(
        "batch_norm_with_a_last_batch_of_one",
        "batch-norm-single",
        "batches",
        _project(
            {
                "flatten": _FLAT,
                "hidden": _linear(bias=False),
                "norm": "nn.BatchNorm1d",
                "relu": "nn.ReLU",
                "scores": _SCORES,
            },
            batch_size=479,
        ),
    ),
    Mistake(
        "batch_norm_of_one_pixel",
        "batch-norm-single",
        "batches",
        _project(
            {
                "conv": _conv(bias=False),
                "pool": Node("nn.AdaptiveAvgPool2d", {"output_size": 1}),
                "norm": "nn.BatchNorm2d",
                "relu": "nn.ReLU",
                "flat": _FLAT,
                "scores": _SCORES,
            },
            batch_size=1,
        ),
    ),
)

_DROPOUTS = (
    Mistake(
        "dropout_of_almost_everything",
        "dropout-high",
        "drop",
        _project(
            {
                "flatten": _FLAT,
                "hidden": _linear(),
                "relu": "nn.ReLU",
                "drop": Node("nn.Dropout", {"p": 0.97}),
                "scores": _SCORES,
            }
        ),
        goal=_LEARNED,
    ),
    Mistake(
        "dropout_of_nothing",
        "dropout-without-effect",
        "drop",
        _project(
            {
                "flatten": _FLAT,
                "hidden": _linear(),
                "relu": "nn.ReLU",
                "drop": Node("nn.Dropout", {"p": 0.0}),
                "scores": _SCORES,
            }
        ),
    ),
)

_IN_PLACE = (
    Mistake(
        "in_place_before_a_residual_sum",
        "in-place-shared",
        "relu",
        _project(
            {
                "flatten": _FLAT,
                "hidden": _linear(),
                "relu": Node("nn.ReLU", {"inplace": True}),
                "second": _linear(),
                "tanh": "nn.Tanh",
            },
            last="scores",
            wires=["hidden.output -> sum.x", "tanh.output -> sum.y", "sum.output -> scores.input"],
            sum="ops.add",
            scores=_SCORES,
        ),
    ),
    Mistake(
        "in_place_after_a_sigmoid",
        "in-place-saved",
        "drop",
        _project(
            {
                "flatten": _FLAT,
                "hidden": _linear(),
                "sigmoid": "nn.Sigmoid",
                "again": "nn.Identity",
                "drop": Node("nn.Hardtanh", {"inplace": True}),
                "scores": _SCORES,
            }
        ),
    ),
)

LAYERS: tuple[Mistake, ...] = (*_CHAINS, *_NORMS, *_DROPOUTS, *_IN_PLACE)

__all__ = ["LAYERS"]
