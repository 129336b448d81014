"""Mistakes with layers and operations."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from msgspec.structs import replace

from studio.document.blocks.block_nodes import type_of
from studio.document.model import Block, Document, Node
from studio.reference.mistakes.initialization import INITIALIZATION
from studio.reference.mistakes.mistake import Goal, Mistake
from studio.reference.mistakes.networks import linear, network
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


def _inside_a_block(_: Path) -> Document:
    """Two linear layers in a block that is repeated."""
    nodes = {"input": Node("port.Input"), "wide": _linear(64), "narrow": _linear(), "tanh": Node("nn.Tanh")}
    chain = ["input.output -> wide.input", "wide.output -> narrow.input", "narrow.output -> tanh.input"]
    wires = tuple(sorted(map(wire, [*chain, "tanh.output -> output.input"])))
    block = Block(nodes={**nodes, "output": Node("port.Output")}, wires=wires)
    first = {"flatten": _FLAT, "first": _linear(), "relu": "nn.ReLU"}
    document = digits({**first, "mlp": Node(type_of("mlp"), {"repeat": 2}), "scores": _SCORES})
    return replace(document, blocks={"mlp": block})


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
    Mistake("no_activation_inside_a_block", "no-activation", "mlp.0.narrow", _inside_a_block),
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


def _cut(**nodes: str | Node) -> Callable[[Path], Document]:
    """The digits, with nodes between a hidden layer and the scores."""
    scale = {"scale": Node("transforms.Normalize", {"std": 16.0})}
    layers = {"flatten": _FLAT, "hidden": _linear(), "tanh": "nn.Tanh", **nodes, "scores": _SCORES}
    return lambda _: network("data.Digits", layers, "nn.CrossEntropyLoss", transforms=scale)


def _two_optimizers(_: Path) -> Document:
    layers = {"flatten": _FLAT, "hidden": _linear(), "relu": "nn.ReLU", "scores": _SCORES}
    return digits(layers, adam=_FAST, sgd="optim.SGD", wires=["cross_entropy.loss -> sgd.loss"])


def _two_losses(_: Path) -> Document:
    """Two heads with a loss and an optimizer each, which both train the layer before them."""
    layers = {"flatten": _FLAT, "hidden": _linear(), "relu": "nn.ReLU", "scores": _SCORES}
    wires = [
        "relu.output -> other.input",
        "other.output -> other_loss.input",
        "batches.target -> other_loss.target",
        "other_loss.loss -> sgd.loss",
    ]
    return digits(layers, adam=_FAST, wires=wires, other=_SCORES, other_loss="nn.MultiMarginLoss", sgd="optim.SGD")


def _loose_branch(_: Path) -> Document:
    layers = {"flatten": _FLAT, "hidden": _linear(), "relu": "nn.ReLU", "scores": _SCORES}
    wires = ["relu.output -> side.input", "side.output -> gate.input"]
    return digits(layers, adam=_FAST, wires=wires, side=_linear(), gate="nn.Sigmoid")


_GRADIENTS = (
    Mistake("detach_in_the_network", "no-gradient", "cut", _cut(cut="ops.detach"), goal=_LEARNED),
    Mistake("rounded_features", "no-gradient", "rounded", _cut(drop="nn.Dropout", rounded="ops.round")),
    Mistake(
        "features_cast_to_whole_numbers",
        "no-gradient",
        "whole",
        _cut(whole=Node("Tensor.to", {"dtype": "int64"}), again=Node("Tensor.to", {"dtype": "float32"})),
    ),
    Mistake("features_times_zero", "no-gradient", "gate", _cut(gate=Node("ops.mul", {"y": 0.0})), goal=_LEARNED),
    Mistake(
        "features_compared",
        "no-gradient",
        "above",
        _cut(above=Node("ops.gt", {"y": 0.0}), again=Node("Tensor.to", {"dtype": "float32"})),
    ),
    Mistake("loss_of_two_optimizers", "shared-layers", "sgd", _two_optimizers, goal=_LEARNED),
    Mistake("layer_of_two_optimizers", "shared-layers", "sgd", _two_losses),
    Mistake("layers_that_nothing_reads", "unused", "gate", _loose_branch),
)

_POOL = Node("nn.MaxPool2d", {"kernel_size": 2})
_WINDOWS = (
    Mistake(
        "pooling_of_single_pixels",
        "window-too-large",
        "pool4",
        _project(
            {
                "conv": _conv(),
                "relu": "nn.ReLU",
                **{f"pool{index}": _POOL for index in range(1, 5)},
                "flat": _FLAT,
                "scores": _SCORES,
            }
        ),
    ),
    Mistake(
        "kernel_larger_than_the_image",
        "window-too-large",
        "conv",
        _project({"conv": _conv(kernel_size=12), "relu": "nn.ReLU", "flat": _FLAT, "scores": _SCORES}),
        goal=_LEARNED,
    ),
    Mistake(
        "convolutions_without_padding",
        "window-too-large",
        "conv4",
        _project(
            {
                **{
                    name: node
                    for index in range(1, 5)
                    for name, node in ((f"conv{index}", _conv(padding=0)), (f"relu{index}", Node("nn.ReLU")))
                },
                "flat": _FLAT,
                "scores": _SCORES,
            }
        ),
    ),
    Mistake(
        "mean_of_the_batch",
        "batch-reduced",
        "mean",
        lambda _: network(
            Node("data.Sequences"),
            {"gru": Node("nn.GRU", {"hidden_size": 8}), "mean": Node("ops.mean", {"dim": 0}), "sum": linear(1)},
            "nn.MSELoss",
        ),
    ),
    Mistake(
        "branch_times_zeros",
        "no-gradient",
        "closed",
        lambda _: digits(
            {"flatten": _FLAT, "scores": _SCORES},
            last="sum",
            side=Node("nn.Linear", {"out_features": 10}),
            zeros=Node("nn.ConstantTensor", {"values": 0.0}),
            closed="ops.mul",
            sum="ops.add",
            wires=[
                "flatten.output -> side.input",
                "side.output -> closed.x",
                "zeros.output -> closed.y",
                "scores.output -> sum.x",
                "closed.output -> sum.y",
            ],
        ),
    ),
    Mistake(
        "classes_at_the_loss",
        "no-gradient",
        "best",
        lambda _: network(
            "data.Digits",
            {"flatten": _FLAT, "scores": _SCORES, "best": Node("ops.argmax", {"dim": 1})},
            "nn.CrossEntropyLoss",
            transforms={"scale": Node("transforms.Normalize", {"std": 16.0})},
        ),
    ),
)


def _matrices(_: Path) -> Document:
    """A linear layer, a learned bias and a product with a learned matrix."""
    return digits(
        {"flatten": _FLAT, "hidden": _linear()},
        last="scores",
        bias=Node("nn.LearnedTensor", {"size": [32]}),
        sum="ops.add",
        matrix=Node("nn.LearnedTensor", {"size": [32, 10], "initialization": "xavier_normal"}),
        scores="ops.matmul",
        wires=["hidden.output -> sum.x", "bias.output -> sum.y", "sum.output -> scores.x", "matrix.output -> scores.y"],
        adam=_FAST,
    )


def _two_cut_layers(_: Path) -> Document:
    layers = {"conv1": _conv(), "relu1": "nn.ReLU", "conv2": _conv(), "relu2": "nn.ReLU", "flat": _FLAT}
    wires = ["flat.output -> cut.input", "cut.output -> scores.input"]
    return digits(layers, last="scores", cut="ops.detach", scores=_SCORES, wires=wires, adam=_FAST)


def _normalized(**params: Any) -> Callable[[Path], Document]:
    hidden = _linear(bias=False)
    norm = Node("nn.BatchNorm1d", {**params})
    return _project({"flatten": _FLAT, "hidden": hidden, "norm": norm, "relu": "nn.ReLU", "scores": _SCORES})


def _channels_last(folder: Path) -> Document:
    random = np.random.default_rng(0)
    classes = np.arange(120) % 2
    images = random.normal(size=(120, 12, 12, 3)) + classes[:, None, None, None]
    np.savez(folder / "images.npz", x=images.astype(np.float32), y=classes)
    layers = {"conv": _conv(), "relu": "nn.ReLU", "flat": _FLAT, "scores": linear(2)}
    return network(Node("data.NPY", {"path": "images.npz"}), layers, "nn.CrossEntropyLoss")


_LAYOUT = (
    Mistake("product_with_a_learned_matrix", "no-activation", "scores", _matrices),
    Mistake("detach_behind_two_layers", "no-gradient", "cut", _two_cut_layers),
    Mistake("running_averages_that_stay", "running-averages", "norm", _normalized(momentum=0.0), goal=_LEARNED),
    Mistake("running_averages_of_one_batch", "running-averages", "norm", _normalized(momentum=0.99)),
    Mistake("eps_above_the_variance", "normalization-epsilon", "norm", _normalized(eps=10.0)),
    Mistake(
        "kernel_that_meets_padding",
        "kernel-in-padding",
        "conv2",
        _project(
            {
                "conv1": _conv(),
                "relu1": "nn.ReLU",
                "pool": Node("nn.MaxPool2d", {"kernel_size": 4}),
                "conv2": _conv(kernel_size=11, padding=5),
                "relu2": "nn.ReLU",
                "flat": _FLAT,
                "scores": _SCORES,
            }
        ),
    ),
    Mistake("images_with_channels_last", "channels-last", "conv", _channels_last),
    Mistake(
        "reshape_as_transpose",
        "reshape-mixes",
        "turned",
        lambda _: network(
            "data.Sequences",
            {
                "turned": Node("ops.reshape", {"shape": ["N", 2, 20]}),
                "conv": Node("nn.Conv1d", {"out_channels": 8, "kernel_size": 3}),
                "relu": "nn.ReLU",
                "flat": _FLAT,
                "sum": linear(1),
            },
            "nn.MSELoss",
        ),
    ),
)

LAYERS: tuple[Mistake, ...] = (
    *_LAYOUT,
    *_CHAINS,
    *_NORMS,
    *_DROPOUTS,
    *INITIALIZATION,
    *_IN_PLACE,
    *_GRADIENTS,
    *_WINDOWS,
)

__all__ = ["LAYERS"]
