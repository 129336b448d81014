"""Mistakes with initial weights."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from msgspec.structs import replace

from studio.document.blocks.block_nodes import type_of
from studio.document.model import Block, Document, Node
from studio.reference.mistakes.mistake import Goal, Mistake
from studio.reference.mistakes.projects import digits, wire

_LEARNED = Goal("val_loss", 0.8, epochs=6, is_highest=True)


def _linear(features: int = 32, **params: Any) -> Node:
    return Node("nn.Linear", {"out_features": features, **params})


def _mlp(*hidden: Node, activation: str = "nn.ReLU", scores: Node | None = None) -> Callable[[Path], Document]:
    """Hidden layers, each with an activation, and the scores."""
    layers: dict[str, str | Node] = {"flatten": "nn.Flatten"}
    for index, node in enumerate(hidden, 1):
        layers |= {f"hidden{index}": node, f"act{index}": activation}
    layers["scores"] = scores or _linear(10)
    return lambda _: digits(layers, adam=Node("optim.Adam", {"lr": 0.01}))


def _in_a_block(_: Path) -> Document:
    """A layer of zeros in a block."""
    zeros = _linear(weight_init="zeros", bias_init=0)
    nodes = {"input": Node("port.Input"), "fc": zeros, "relu": Node("nn.ReLU"), "output": Node("port.Output")}
    chain = ("input.output -> fc.input", "fc.output -> relu.input", "relu.output -> output.input")
    block = Block(nodes=nodes, wires=tuple(sorted(map(wire, chain))))
    document = digits({"flatten": "nn.Flatten", "dense": Node(type_of("dense")), "scores": _linear(10)})
    return replace(document, blocks={"dense": block})


INITIALIZATION = (
    Mistake(
        "hidden_layer_of_zeros",
        "zero-weights",
        "hidden1",
        _mlp(_linear(weight_init="zeros", bias_init=0)),
        goal=_LEARNED,
    ),
    Mistake("first_of_two_layers_of_zeros", "zero-weights", "hidden1", _mlp(_linear(weight_init="zeros"), _linear())),
    Mistake("zeros_in_a_block", "zero-weights", "dense.fc", _in_a_block),
    Mistake(
        "initial_weights_far_too_large",
        "initial-scale",
        "hidden1",
        _mlp(_linear(weight_init="normal", init_std=50.0), activation="nn.Tanh"),
        goal=_LEARNED,
    ),
    Mistake(
        "initial_weights_of_a_convolution_far_too_large",
        "initial-scale",
        "conv",
        lambda _: digits(
            {
                "conv": Node(
                    "nn.Conv2d", {"out_channels": 8, "kernel_size": 3, "weight_init": "normal", "init_std": 9.0}
                ),
                "sigmoid": "nn.Sigmoid",
                "flatten": "nn.Flatten",
                "scores": _linear(10),
            },
            adam=Node("optim.Adam", {"lr": 0.01}),
        ),
    ),
    Mistake(
        "initial_weights_far_too_small",
        "initial-scale",
        "hidden2",
        _mlp(_linear(), _linear(weight_init="normal", init_std=1e-6), activation="nn.Tanh"),
    ),
    Mistake(
        "gain_far_too_large",
        "initial-scale",
        "scores",
        _mlp(_linear(), scores=_linear(10, weight_init="orthogonal", init_gain=300.0)),
        goal=_LEARNED,
    ),
    Mistake(
        "initial_bias_without_a_bias",
        "unused-initialization",
        "hidden1",
        _mlp(_linear(bias=False, bias_init=0)),
    ),
)

__all__ = ["INITIALIZATION"]
