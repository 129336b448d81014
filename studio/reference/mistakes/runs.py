"""Mistakes with training, which a run shows."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import numpy as np
from msgspec.structs import replace

from engine.data.samples import validation_split
from studio.document import edits
from studio.document.code_trust import TRUST
from studio.document.model import Document, Node, TrainingSettings
from studio.nodes.loss_sum_node import SUM
from studio.reference.mistakes.mistake import Goal, Mistake
from studio.reference.mistakes.networks import Nodes, network
from studio.reference.mistakes.projects import digits, wire
from studio.reference.mistakes.projects import document as made_of

_FITTED = Goal("val_loss", 0.5, epochs=10, is_highest=True)
_LEARNED = Goal("val_loss", 1.0, epochs=12, is_highest=True)


def _linear(width: int) -> Node:
    return Node("nn.Linear", {"out_features": width})


def _adam(rate: float) -> Node:
    return Node("optim.Adam", {"lr": rate})


def _sgd(rate: float, momentum: float = 0.0) -> Node:
    return Node("optim.SGD", {"lr": rate, "momentum": momentum})


def _perceptron(optimizer: Node) -> Document:
    """A network with one hidden layer, which every optimizer trains."""
    layers: dict[str, str | Node] = {
        "flatten": "nn.Flatten",
        "hidden": _linear(64),
        "relu": "nn.ReLU",
        "logits": _linear(10),
    }
    return digits(layers, adam=optimizer)


def _nadam_rate_too_high(_: Path) -> Document:
    return _perceptron(Node("optim.NAdam", {"lr": 0.099}))


def _rmsprop_rate_too_high(_: Path) -> Document:
    return _perceptron(Node("optim.RMSprop", {"lr": 0.09}))


def _momentum_rate_too_high(_: Path) -> Document:
    return _perceptron(_sgd(1.0, 0.9))


def _rate_for_larger_batches(_: Path) -> Document:
    """A rate near the highest one for batches of 64 samples, with batches of 8."""
    return edits.set_param(_perceptron(_sgd(1.4)), "batches", "batch_size", 8)


def _sgd_rate_too_low(_: Path) -> Document:
    return _perceptron(_sgd(1e-4, 0.9))


def _deep_sigmoids(_: Path) -> Document:
    layers: dict[str, str | Node] = {"flatten": "nn.Flatten"}
    for number in range(1, 5):
        layers |= {f"hidden{number}": _linear(64), f"sigmoid{number}": "nn.Sigmoid"}
    return digits({**layers, "logits": _linear(10)}, adam=_sgd(0.1, 0.9))


def _shifted_relu(_: Path) -> Document:
    """A bias of -20 before a ReLU."""
    return digits(
        {
            "flatten": "nn.Flatten",
            "hidden": _linear(64),
            "bias": Node("ops.sub", {"y": 20.0}),
            "relu": "nn.ReLU",
            "logits": _linear(10),
        },
        adam=_adam(0.01),
    )


def _convolution(channels: int) -> Node:
    return Node("nn.Conv2d", {"out_channels": channels, "kernel_size": 3, "padding": 1})


def _shifted_channels(_: Path) -> Document:
    """A bias of -30 between a convolution and its ReLU."""
    layers: dict[str, str | Node] = {
        "convolution": _convolution(8),
        "bias": Node("ops.sub", {"y": 30.0}),
        "relu": "nn.ReLU",
        "flatten": "nn.Flatten",
        "logits": _linear(10),
    }
    return digits(layers, adam=_adam(0.01))


def _sigmoid_convolutions(_: Path) -> Document:
    layers: dict[str, str | Node] = {}
    for number in range(1, 5):
        layers |= {f"convolution{number}": _convolution(8), f"sigmoid{number}": "nn.Sigmoid"}
    return digits({**layers, "flatten": "nn.Flatten", "logits": _linear(10)}, adam=_sgd(0.05))


def _sigmoids_of_numbers(_: Path) -> Document:
    """Numbers far from 0: the last bias learns their mean, so the loss falls at first."""
    made = digits({"linear1": _linear(32)}, adam=_sgd(0.01))
    nodes = {**made.nodes, "rows": Node("data.Regression", {"function": "friedman"}), "loss": Node("nn.MSELoss")}
    layers = ["linear1"]
    for number in range(1, 8):
        nodes |= {f"linear{number}": _linear(32), f"sigmoid{number}": Node("nn.Sigmoid")}
        layers += [f"linear{number}", f"sigmoid{number}"][number == 1 :]
    nodes["estimate"] = _linear(1)
    for name in ("digits", "scale", "cross_entropy"):
        del nodes[name]
    ends = [*layers, "estimate", "loss"]
    wires = [f"{a}.output -> {b}.input" for a, b in pairwise(ends)]
    wires += [
        "rows.samples -> batches.samples",
        "batches.input -> linear1.input",
        "batches.target -> loss.target",
        "loss.loss -> adam.loss",
    ]
    return replace(made, nodes=nodes, wires=tuple(sorted(map(wire, wires))))


def _recurrence_without_clipping(_: Path) -> Document:
    """A ReLU recurrence of 60 steps, and the sum of its outputs."""
    nodes: dict[str, str | Node] = {
        "sequences": Node("data.Sequences", {"task": "sum", "length": 60}),
        "batches": Node("data.Batches", {"batch_size": 32}),
        "rnn": Node("nn.RNN", {"hidden_size": 64, "nonlinearity": "relu", "num_layers": 2}),
        "total": Node("ops.sum", {"dim": 1}),
        "estimate": _linear(1),
        "loss": "nn.MSELoss",
        "sgd": _sgd(0.01),
    }
    wires = [
        "sequences.samples -> batches.samples",
        "batches.input -> rnn.input",
        "rnn.output -> total.x",
        "total.output -> estimate.input",
        "estimate.output -> loss.input",
        "batches.target -> loss.target",
        "loss.loss -> sgd.loss",
    ]
    return made_of(nodes, wires)


def _recurrence_that_forgets(_: Path) -> Document:
    """A recurrence of 64 steps without gates, whose last step is read."""
    layers: Nodes = {
        "rnn": Node("nn.RNN", {"hidden_size": 32}),
        "last": Node("ops.select", {"dim": 1, "index": -1}),
        "estimate": _linear(1),
    }
    return network(Node("data.Sequences", {"length": 64}), layers, "nn.MSELoss", optimizer=_adam(3e-3))


def _shifted_tanh(_: Path) -> Document:
    """A bias of 20 before a tanh."""
    return digits(
        {
            "flatten": "nn.Flatten",
            "hidden": _linear(64),
            "bias": Node("ops.add", {"y": 20.0}),
            "tanh": "nn.Tanh",
            "logits": _linear(10),
        },
        adam=_adam(0.01),
    )


def _exploding_layers(_: Path) -> Document:
    """Layers whose outputs are multiplied by 8, so that gradients are, too."""
    layers: dict[str, str | Node] = {"flatten": "nn.Flatten"}
    for number in range(1, 5):
        layers |= {
            f"hidden{number}": _linear(64),
            f"gain{number}": Node("ops.mul", {"y": 8.0}),
            f"relu{number}": "nn.ReLU",
        }
    return digits({**layers, "logits": _linear(10)}, adam=_sgd(0.01))


def _arrays(folder: Path, inputs: np.ndarray, targets: np.ndarray, width: int) -> Document:
    """A classifier of arrays."""
    np.savez(folder / "arrays.npz", x=inputs.astype(np.float32), y=targets)
    layers: dict[str, str | Node] = {
        "hidden": _linear(width),
        "relu": "nn.ReLU",
        "logits": _linear(int(targets.max()) + 1),
    }
    made = digits(layers, digits=Node("data.NPY", {"path": "arrays.npz"}), adam=_adam(0.01))
    nodes = {**made.nodes, "scale": Node("transforms.Normalize")}
    return replace(made, nodes=nodes)


def _few_samples(folder: Path) -> Document:
    """80 noisy samples with 30 features, and a network with 512 hidden units."""
    random = np.random.default_rng(0)
    targets = np.arange(120) % 3
    inputs = random.normal(size=(120, 30)) + 0.6 * np.eye(3, 30)[targets]
    return _arrays(folder, inputs, targets, 512)


def _random_labels(folder: Path) -> Document:
    random = np.random.default_rng(0)
    return _arrays(folder, random.normal(size=(1200, 16)), random.integers(0, 4, 1200), 64)


def _random_numbers(folder: Path) -> Document:
    """Numbers without a relation to the inputs."""
    random = np.random.default_rng(0)
    inputs, targets = (random.normal(size=(1200, width)).astype(np.float32) for width in (16, 1))
    np.savez(folder / "numbers.npz", x=inputs, y=targets)
    layers: Nodes = {"hidden": _linear(64), "relu": "nn.ReLU", "estimate": _linear(1)}
    return network(Node("data.NPY", {"path": "numbers.npz"}), layers, "nn.MSELoss", optimizer=_adam(3e-3))


def _narrow_layer(_: Path) -> Document:
    return digits(
        {"flatten": "nn.Flatten", "narrow": _linear(1), "relu": "nn.ReLU", "logits": _linear(10)}, adam=_adam(0.05)
    )


def _random_labels_with_small_steps(folder: Path) -> Document:
    """Random labels that 10 epochs hardly memorize."""
    return edits.retype(_random_labels(folder), "adam", "optim.SGD", {"lr": 0.1})


def _small_rate_in_few_steps(_: Path) -> Document:
    """The 69 steps of three epochs."""
    return _perceptron(_sgd(1e-3))


def _plane_between_circles(_: Path) -> Document:
    """Circles, and a model that can only separate classes by a plane."""
    made = digits({"linear": _linear(2)}, digits="data.Circles", adam=_adam(0.01))
    nodes = {name: node for name, node in made.nodes.items() if name != "scale"}
    wires = [each for each in made.wires if "scale" not in str(each)]
    return replace(made, nodes=nodes, wires=tuple(sorted([*wires, wire("digits.samples -> batches.samples")])))


def _float16(loss_weight: float, **layers: str | Node) -> Document:
    made = digits(
        {"flatten": "nn.Flatten", "hidden": _linear(64), "relu": "nn.ReLU", **layers, "logits": _linear(10)},
        weighted=Node(SUM, {"weight_a": loss_weight, "weight_b": loss_weight}),
        adam=Node("optim.Adam", {"lr": 0.01, "eps": 1e-30}),
    )
    added = ("cross_entropy.loss -> weighted.a", "cross_entropy.loss -> weighted.b", "weighted.loss -> adam.loss")
    wires = [each for each in made.wires if str(each) != "cross_entropy.loss -> adam.loss"]
    return replace(
        made,
        wires=(*wires, *map(wire, added)),
        training=TrainingSettings(mixed_precision="float16"),
    )


def _tiny_loss_in_float16(_: Path) -> Document:
    return _float16(1e-12)


def _large_values_in_float16(_: Path) -> Document:
    return _float16(1.0, gain=Node("ops.mul", {"y": 1e6}), norm="nn.LayerNorm")


_COUNTED = """\
class Counted(nn.Module):
    def __init__(self):
        super().__init__()
        self.calls = 0

    def forward(self, input):
        self.calls += 1
        return input.relu()
"""
_SHIFTED = "def shifted(input):\n    return input - 20\n"
_BREAKS = """\
def shift(input):
    y = input.relu()
    for _ in range(4):
        if (y.mean() > 1000).any():  # never
            y = y / 2
    return y
"""


def _with_code(source: str, *, hidden: Node, adam: Node) -> Document:
    TRUST.allow([source])
    layers: dict[str, str | Node] = {
        "flatten": "nn.Flatten",
        "hidden": hidden,
        "own": Node("studio.Python", {"source": source}),
        "logits": _linear(10),
    }
    return digits(layers, adam=adam)


def _graph_breaks(_: Path) -> Document:
    return _with_code(_BREAKS, hidden=_linear(64), adam=_adam(1e-3))


def _counted_calls(_: Path) -> Document:
    return _with_code(_COUNTED, hidden=_linear(64), adam=_adam(1e-3))


def _shifted_in_code(_: Path) -> Document:
    """A bias of -20 in the code before a ReLU."""
    made = _with_code(_SHIFTED, hidden=_linear(64), adam=_adam(0.01))
    nodes = {**made.nodes, "relu": Node("nn.ReLU")}
    wires = [each for each in made.wires if str(each) != "own.output -> logits.input"]
    added = (wire("own.output -> relu.input"), wire("relu.output -> logits.input"))
    return replace(made, nodes=nodes, wires=tuple(sorted([*wires, *added])))


def _large_inputs(_: Path) -> Document:
    """A rate for inputs of unit scale, and a factor of 8 before the only layer."""
    layers: Nodes = {"larger": Node("ops.mul", {"y": 8.0}), "output": _linear(1)}
    return network("data.Regression", layers, "nn.MSELoss", optimizer=_sgd(0.1))


def _logarithm(folder: Path) -> Document:
    """The logarithm of a number that is negative in one row of the validation data."""
    random = np.random.default_rng(0)
    inputs = random.uniform(0.5, 2.0, (300, 4))
    targets = (inputs[:, 0] > inputs[:, 1]).astype(np.int64)
    inputs[validation_split(300, 0.2)[1][5], 2] = -0.5
    np.savez(folder / "numbers.npz", x=inputs.astype(np.float32), y=targets)
    layers: Nodes = {"logarithm": "ops.log", "hidden": _linear(8), "relu": "nn.ReLU", "logits": _linear(2)}
    return network(Node("data.NPY", {"path": "numbers.npz"}), layers, "nn.CrossEntropyLoss")


RUNS: tuple[Mistake, ...] = (
    Mistake("factor_before_the_first_layer", "diverged", "adam", _large_inputs, "run", _FITTED, epochs=3),
    Mistake("logarithm_of_a_negative_number", "validation-not-finite", "adam", _logarithm, "run", has_fix=False),
    Mistake("nadam_rate_too_high", "learning-rate-too-high", "adam", _nadam_rate_too_high, "run", _LEARNED, epochs=6),
    Mistake(
        "rmsprop_rate_too_high", "learning-rate-too-high", "adam", _rmsprop_rate_too_high, "run", _LEARNED, epochs=6
    ),
    Mistake("momentum_rate_too_high", "learning-rate-too-high", "adam", _momentum_rate_too_high, "check", _LEARNED),
    Mistake(
        "rate_for_larger_batches", "learning-rate-too-high", "adam", _rate_for_larger_batches, "run", _LEARNED, epochs=4
    ),
    Mistake("sgd_rate_too_low", "learning-rate-too-low", "adam", _sgd_rate_too_low, "run", _LEARNED, epochs=8),
    Mistake("deep_sigmoids", "vanishing-gradients", "hidden1", _deep_sigmoids, "run", _LEARNED, epochs=8),
    Mistake("exploding_layers", "exploding-gradients", "logits", _exploding_layers, "run", epochs=6),
    Mistake("relu_after_bias", "dead-relu", "relu", _shifted_relu, "run", epochs=5),
    Mistake("channels_after_bias", "dead-relu", "relu", _shifted_channels, "run", epochs=5),
    Mistake(
        "sigmoid_convolutions",
        "vanishing-gradients",
        "convolution1",
        _sigmoid_convolutions,
        "run",
        epochs=6,
    ),
    Mistake("sigmoids_of_numbers", "vanishing-gradients", "linear1", _sigmoids_of_numbers, "run", epochs=8),
    Mistake("recurrence_without_clipping", "exploding-gradients", "rnn", _recurrence_without_clipping, "run", epochs=3),
    Mistake("recurrence_that_forgets", "vanishing-gradients", "rnn", _recurrence_that_forgets, "run", epochs=6),
    Mistake("tanh_after_bias", "saturated-units", "tanh", _shifted_tanh, "run", epochs=8),
    Mistake("few_samples", "overfitting", "adam", _few_samples, "run", epochs=25),
    Mistake("random_labels", "unrelated-targets", "digits", _random_labels, "run", has_fix=False, epochs=12),
    Mistake("random_numbers", "unrelated-targets", "data", _random_numbers, "run", has_fix=False, epochs=12),
    Mistake(
        "random_labels_with_small_steps",
        "unrelated-targets",
        "digits",
        _random_labels_with_small_steps,
        "run",
        has_fix=False,
        epochs=10,
    ),
    Mistake("small_rate_in_few_steps", "learning-rate-too-low", "adam", _small_rate_in_few_steps, "run", epochs=3),
    Mistake("plane_between_circles", "underfitting", "linear", _plane_between_circles, "run", epochs=15),
    Mistake("narrow_layer", "underfitting", "narrow", _narrow_layer, "run", epochs=20),
    Mistake("tiny_loss_in_float16", "float16-underflow", "adam", _tiny_loss_in_float16, "run", _LEARNED, epochs=3),
    Mistake("large_values_in_float16", "float16-overflow", "adam", _large_values_in_float16, "run", epochs=3),
    Mistake("relu_after_code", "dead-relu", "relu", _shifted_in_code, "run", epochs=5),
    Mistake("counted_calls", "not-observed", "own", _counted_calls, "run", has_fix=False, epochs=1),
    Mistake("values_in_a_condition", "graph-breaks", "own", _graph_breaks, "run", epochs=5),
)

__all__ = ["RUNS"]
