"""Mistakes with parameters, shapes and dtypes."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
from PIL import Image

from studio.document import edits
from studio.document.model import Document, Node
from studio.reference.mistakes.mistake import Goal, Mistake
from studio.reference.mistakes.networks import linear, network
from studio.reference.mistakes.parts import LEARNED, changed, rewired, sound
from studio.reference.mistakes.score_networks import SCALED, characters

_CLASSIFIED = Goal("val_loss", 1.5, epochs=3, is_highest=True)
_LEARNED = Goal("val_loss", 0.5, epochs=12, is_highest=True)


def _layer(node: Node) -> Callable[[Path], Document]:
    """A layer behind the hidden one."""

    def plant(_: Path) -> Document:
        document = sound(extra=node)
        added = ("relu.output -> extra.input", "extra.output -> logits.input")
        return rewired(document, ["relu.output -> logits.input"], added)

    return plant


def _no_outputs(_: Path) -> Document:
    return changed(sound(), "logits", params={})


def _no_vocabulary(_: Path) -> Document:
    transposed = Node("ops.transpose", {"dim0": 1, "dim1": 2})
    document = characters(transposed, loss="nn.CrossEntropyLoss")
    return changed(document, "embedding", params={"embedding_dim": 8})


def _uneven_groups(_: Path) -> Document:
    """8 channels in 3 groups."""
    layers: dict[str, str | Node] = {
        "first": Node("nn.Conv2d", {"out_channels": 8, "kernel_size": 3}),
        "relu": "nn.ReLU",
        "grouped": Node("nn.Conv2d", {"out_channels": 8, "kernel_size": 3, "groups": 3}),
        "tanh": "nn.Tanh",
        "flatten": "nn.Flatten",
        "logits": linear(10),
    }
    return network("data.Digits", layers, "nn.CrossEntropyLoss", transforms=SCALED)


def _missing_file(_: Path) -> Document:
    return network(
        Node("data.CSV", {"path": "flowers.csv", "target": "kind"}), {"scores": linear(3)}, "nn.CrossEntropyLoss"
    )


def _literal_batch(_: Path) -> Document:
    layers: dict[str, str | Node] = {"rows": Node("ops.reshape", {"shape": [64, 64]}), "logits": linear(10)}
    return network("data.Digits", layers, "nn.CrossEntropyLoss", transforms=SCALED)


def _bytes(folder: Path) -> Document:
    """Images as bytes without a conversion."""
    random = np.random.default_rng(0)
    labels = np.arange(300) % 3
    images = random.integers(0, 60, (300, 1, 6, 6))
    images[np.arange(300), 0, labels * 2] += 180
    np.savez(folder / "images.npz", x=images.astype(np.uint8), y=labels)
    layers: dict[str, str | Node] = {"flatten": "nn.Flatten", "logits": linear(3)}
    return network(Node("data.NPY", {"path": "images.npz"}), layers, "nn.CrossEntropyLoss")


def pictures(folder: Path, sizes: tuple[int, ...] = (12,), count: int = 120) -> str:
    """Write pictures of two classes, light and dark ones, with these sizes in turn."""
    random = np.random.default_rng(0)
    for index in range(count):
        name, size = ("dark", "light")[index % 2], sizes[index // 2 % len(sizes)]
        (folder / "pictures" / name).mkdir(parents=True, exist_ok=True)
        values = random.integers(0, 120, (size, size, 3)) + 130 * (index % 2)
        Image.fromarray(values.astype(np.uint8)).save(folder / "pictures" / name / f"{index:03}.png")
    return "pictures"


def _pictures_of_two_sizes(folder: Path) -> Document:
    source = Node("data.ImageFolder", {"folder": pictures(folder, (12, 15))})
    layers: dict[str, str | Node] = {
        "convolution": Node("nn.Conv2d", {"out_channels": 4, "kernel_size": 3}),
        "relu": "nn.ReLU",
        "pool": Node("nn.AdaptiveAvgPool2d", {"output_size": 1}),
        "flatten": "nn.Flatten",
        "logits": linear(2),
    }
    return network(source, layers, "nn.CrossEntropyLoss", transforms={"float": "transforms.ToFloat"}, batch_size=16)


def _far_too_wide(_: Path) -> Document:
    return edits.set_param(sound(), "hidden", "out_features", 2_000_000_000)


def _swapped_inputs(_: Path) -> Document:
    wires = ("logits.output -> cross_entropy.input", "batches.target -> cross_entropy.target")
    swapped = ("batches.target -> cross_entropy.input", "logits.output -> cross_entropy.target")
    return rewired(sound(), wires, swapped)


def _targets_at_the_first_layer(_: Path) -> Document:
    return rewired(sound(), ["batches.input -> flatten.input"], ["batches.target -> flatten.input"])


def _flattened_batch(_: Path) -> Document:
    return edits.set_param(sound(), "flatten", "start_dim", 0)


def _joined_batch(_: Path) -> Document:
    """Two branches that are joined along the batch."""
    document = sound(other=linear(32), tanh="nn.Tanh", join=Node("ops.cat", {"dim": 0}))
    added = (
        "flatten.output -> other.input",
        "other.output -> tanh.input",
        "relu.output -> join.a",
        "tanh.output -> join.b",
        "join.output -> logits.input",
    )
    return rewired(document, ["relu.output -> logits.input"], added)


_DROPOUT = Node("nn.Dropout", {"prob": 0.2})
PARAMETERS: tuple[Mistake, ...] = (
    Mistake("dropout_of_150_percent", "bad-parameter", "extra", _layer(Node("nn.Dropout", {"p": 1.5})), goal=LEARNED),
    Mistake("layer_without_a_size", "missing-parameter", "logits", _no_outputs, goal=LEARNED),
    Mistake("embedding_without_a_vocabulary", "missing-parameter", "embedding", _no_vocabulary),
    Mistake("parameter_of_another_library", "unknown-parameter", "extra", _layer(_DROPOUT), goal=LEARNED),
    Mistake("groups_that_do_not_divide_the_channels", "bad-arguments", "grouped", _uneven_groups, goal=_CLASSIFIED),
    Mistake("missing_file", "bad-data", "data", _missing_file, has_fix=False),
    Mistake("batch_size_in_a_shape", "literal-batch", "rows", _literal_batch, goal=LEARNED),
    Mistake("bytes_without_conversion", "wrong-dtype", "batches", _bytes, goal=_LEARNED),
    Mistake("pictures_of_two_sizes", "open-sizes", "batches", _pictures_of_two_sizes, goal=_LEARNED),
    Mistake("far_too_many_features", "too-large", "hidden", _far_too_wide, goal=_CLASSIFIED),
    Mistake("targets_and_scores_swapped", "swapped-wires", "cross_entropy", _swapped_inputs, goal=LEARNED),
    Mistake("targets_at_the_first_layer", "swapped-wires", "flatten", _targets_at_the_first_layer, goal=LEARNED),
    Mistake("flattened_batch", "joined-batches", "flatten", _flattened_batch, goal=LEARNED),
    Mistake("branches_joined_along_the_batch", "joined-batches", "join", _joined_batch, goal=LEARNED),
)

__all__ = ["PARAMETERS", "pictures"]
