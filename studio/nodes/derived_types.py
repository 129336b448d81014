"""Derives node types from the registries of the engine: ports, parameters, help and icon."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterable
from typing import Any

from engine.data.splits import Splits
from engine.registry import (
    DATASETS,
    LAYERS,
    LOSSES,
    METRICS,
    OPTIMIZERS,
    TRANSFORMS,
    Parameter,
    RegistryEntry,
    argument_help,
    documentation,
    parameters,
)
from studio.nodes.initialization import parameters_of
from studio.nodes.types import NodeType, Port, PortType, Role

ACTIVATION = "Activation"
"""The group of layers with a separate category."""

ICONS = {
    "Linear": "linear",
    "Convolution": "conv",
    "Normalization": "norm",
    "Pooling": "pool",
    "Dropout": "dropout",
    "Shape": "shape",
    "Loader": "loader",
    "nn.Flatten": "flatten",
    "nn.Softmax": "softmax",
    "nn.LogSoftmax": "softmax",
    "transforms.Normalize": "normalize",
    "transforms.OneHot": "onehot",
    "data.CSV": "table",
    "data.IDX": "folder",
}
"""Icons of groups and of single types. All other types have the icon of their category."""

MAPPING = parameters(Splits.map)
"""Parameters of a transform node in addition to those of the transform: how it is applied."""

SAMPLES = Port("samples", PortType.SAMPLES, "training and validation samples")


def derived_types() -> list[NodeType]:
    """A node type for each registered class, from data to optimizers; sources before loaders."""
    families: tuple[tuple[Iterable[RegistryEntry], Callable[[RegistryEntry], NodeType]], ...] = (
        (sorted(DATASETS, key=_takes_samples), _data),
        (TRANSFORMS, _transform),
        (LAYERS, _layer),
        (LOSSES, _loss),
        (METRICS, _metric),
        (OPTIMIZERS, _optimizer),
    )
    return [derive(entry) for registry, derive in families for entry in registry]


def plain_help(documented: Callable[..., Any]) -> str:
    """A docstring without its Args section."""
    return re.sub(r"\n*^Args:\n(?:[ ]{4}.*\n?|\n)+", "\n\n", documentation(documented), flags=re.MULTILINE).strip()


def tensor_ports(method: Callable[..., Any]) -> tuple[Port, ...]:
    """An input port for each tensor argument of a method; arguments with a default are optional."""
    descriptions = argument_help(method)
    positional = (
        argument
        for name, argument in inspect.signature(method).parameters.items()
        if name != "self" and argument.kind in (argument.POSITIONAL_ONLY, argument.POSITIONAL_OR_KEYWORD)
    )
    return tuple(
        Port(
            argument.name, PortType.TENSOR, descriptions.get(argument.name, ""), argument.default is not argument.empty
        )
        for argument in positional
        if argument.annotation is argument.empty or "Tensor" in str(argument.annotation)
    )


def _takes_samples(entry: RegistryEntry) -> bool:
    return "splits" in inspect.signature(entry.target).parameters


def _data(entry: RegistryEntry) -> NodeType:
    if not _takes_samples(entry):
        return _node(entry, "data", Role.SOURCE, (), (SAMPLES,))
    if entry.outputs == (SAMPLES.name,):
        return _node(entry, "data", Role.DIVISION, (SAMPLES,), (SAMPLES,))
    batches = (
        Port("input", PortType.TENSOR, "a batch of inputs for the network"),
        Port("target", PortType.TENSOR, "a batch of targets for the loss"),
    )
    return _node(entry, "data", Role.LOADER, (SAMPLES,), batches)


def _transform(entry: RegistryEntry) -> NodeType:
    return _node(entry, "transform", Role.TRANSFORM, (SAMPLES,), (SAMPLES,), MAPPING)


def _layer(entry: RegistryEntry) -> NodeType:
    category = "activation" if entry.category == ACTIVATION else "layer"
    outputs = tuple(Port(name, PortType.TENSOR) for name in entry.outputs)
    ports = tensor_ports(_method(entry, "forward"))
    return _node(entry, category, Role.LAYER, ports, outputs, parameters_of(entry.key))


def _loss(entry: RegistryEntry) -> NodeType:
    outputs = (Port("loss", PortType.LOSS, "the value that training minimizes"),)
    return _node(entry, "loss", Role.LOSS, tensor_ports(_method(entry, "forward")), outputs)


def _metric(entry: RegistryEntry) -> NodeType:
    return _node(entry, "metric", Role.METRIC, tensor_ports(_method(entry, "update")), ())


def _optimizer(entry: RegistryEntry) -> NodeType:
    inputs = (Port("loss", PortType.LOSS, "the value to minimize"),)
    outputs = (Port("optimizer", PortType.OPTIMIZER, "input of a learning-rate schedule", optional=True),)
    return _node(entry, "optimizer", Role.OPTIMIZER, inputs, outputs)


def _method(entry: RegistryEntry, name: str) -> Callable[..., Any]:
    return getattr(entry.target, name)


def _node(
    entry: RegistryEntry,
    category: str,
    role: Role,
    inputs: tuple[Port, ...],
    outputs: tuple[Port, ...],
    extra_parameters: tuple[Parameter, ...] = (),
) -> NodeType:
    return NodeType(
        key=entry.key,
        title=entry.title,
        category=category,
        group=entry.category,
        summary=entry.summary,
        help=plain_help(entry.target),
        icon=ICONS.get(entry.key, ICONS.get(entry.category, category)),
        inputs=inputs,
        outputs=outputs,
        params=(*entry.parameters, *extra_parameters),
        tags=entry.tags,
        was=entry.was,
        learns=entry.learns,
        role=role,
        target=entry.target,
    )
