"""A small network for imported samples, with a loss, a metric and an optimizer, so that an import can be trained."""

from __future__ import annotations

from dataclasses import dataclass

from engine.data.splits import Splits
from engine.shape import Spec
from studio.document import edits
from studio.document.model import Document, Endpoint, Json, Node, Wire
from studio.nodes.catalogue import catalogue

_SPACING = 208.0
_ROW = 208.0
"""Distance of the row of layers from the row of data nodes, and of the metric from the loss."""
_HIDDEN = 64
_TOKENS = 32
"""Features of an embedded token."""
_CHANNELS = (16, 32)
"""Channels of the convolutions, each followed by a pooling layer that halves the image."""
_SMALLEST_IMAGE = 8
_LARGEST_SAMPLE = 65_536
"""Numbers of a sample up to which a linear layer may read all."""
_RECURRENT = "nn.LSTM"


@dataclass(frozen=True, slots=True)
class Layer:
    name: str
    type: str
    params: dict[str, Json]


@dataclass(frozen=True, slots=True)
class StarterNetwork:
    layers: tuple[Layer, ...]
    loss: str
    metric: str


def starter_network(splits: Splits) -> StarterNetwork | None:
    """A network that learns the targets of samples: layers for images, text or features. None if there is none."""
    spec, target, classes = splits.input, splits.target, splits.classes
    sizes = [size for size in spec.shape if isinstance(size, int)]
    if len(sizes) != spec.ndim or not spec.ndim:
        return None
    if classes and not spec.dtype.is_floating_point and target.shape == spec.shape:
        return StarterNetwork(_text_layers(classes), "nn.CrossEntropyLoss", "metrics.Perplexity")
    if not spec.dtype.is_floating_point:
        return None
    if classes and not target.ndim:
        return StarterNetwork(_layers(spec, sizes, classes), "nn.CrossEntropyLoss", "metrics.Accuracy")
    if target.ndim == 1 and target.dtype.is_floating_point and isinstance(target.shape[0], int):
        return StarterNetwork(_layers(spec, sizes, target.shape[0]), "nn.MSELoss", "metrics.R2")
    return None


def _text_layers(tokens: int) -> tuple[Layer, ...]:
    return (
        Layer("embedding", "nn.Embedding", {"num_embeddings": tokens, "embedding_dim": _TOKENS}),
        Layer("lstm", _RECURRENT, {"hidden_size": 2 * _HIDDEN}),
        Layer("scores", "nn.Linear", {"out_features": tokens}),
        Layer("classes_first", "ops.transpose", {"dim0": 1, "dim1": 2}),
    )


def _layers(spec: Spec, sizes: list[int], outputs: int) -> tuple[Layer, ...]:
    layers: list[Layer] = []
    if spec.ndim == 3 and min(sizes[1:]) >= _SMALLEST_IMAGE:
        for number, channels in enumerate(_CHANNELS, 1):
            params: dict[str, Json] = {"out_channels": channels, "kernel_size": 3, "padding": 1}
            layers.append(Layer(f"conv{number}", "nn.Conv2d", params))
            layers.append(Layer(f"relu{number}", "nn.ReLU", {}))
            layers.append(Layer(f"pool{number}", "nn.MaxPool2d", {"kernel_size": 2}))
        if sizes[1] * sizes[2] > _LARGEST_SAMPLE:
            layers.append(Layer("average", "nn.AdaptiveAvgPool2d", {"output_size": 8}))
        layers.append(Layer("flatten", "nn.Flatten", {}))
    else:
        if spec.ndim > 1:
            layers.append(Layer("flatten", "nn.Flatten", {}))
        layers.append(Layer("hidden", "nn.Linear", {"out_features": _HIDDEN}))
        layers.append(Layer("relu", "nn.ReLU", {}))
    return (*layers, Layer("output", "nn.Linear", {"out_features": outputs}))


def add_network(
    document: Document, network: StarterNetwork, loader: str, at: tuple[float, float]
) -> tuple[Document, list[str]]:
    """Add the network after a loader, in a row below `at`. Returns the names of the new nodes too."""
    x, y = at[0], at[1] + _ROW
    added: list[str] = []

    def add(base: str, kind: str, params: dict[str, Json], dy: float = 0.0) -> str:
        nonlocal document
        name = edits.unique_name(document, base)
        document = edits.add(document, name, Node(kind, dict(params), at=(x, y + dy)))
        added.append(name)
        return name

    end = Endpoint(loader, "input")
    for layer in network.layers:
        name, kind = add(layer.name, layer.type, layer.params), catalogue()[layer.type]
        document = edits.connect(document, Wire(end, Endpoint(name, kind.inputs[0].name)))
        end, x = Endpoint(name, kind.outputs[0].name), x + _SPACING
    loss = add("loss", network.loss, {})
    metric = add(network.metric.rpartition(".")[2].lower(), network.metric, {}, _ROW / 2)
    for name in (loss, metric):
        document = edits.connect(document, Wire(end, Endpoint(name, "input")))
        document = edits.connect(document, Wire(Endpoint(loader, "target"), Endpoint(name, "target")))
    x += _SPACING + _ROW / 2
    optimizer = add("adam", "optim.Adam", {})
    return edits.connect(document, Wire(Endpoint(loss, "loss"), Endpoint(optimizer, "loss"))), added


__all__ = ["Layer", "StarterNetwork", "add_network", "starter_network"]
