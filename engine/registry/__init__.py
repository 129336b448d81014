"""Registries of the classes that users choose from, and the parameters declared by their signatures.

A layer, loss, optimizer, transform, data set or metric is declared once, by its class:

    @LAYERS.register(category="Linear")
    class Linear(Module):
        \"\"\"Affine map ``y = x Wᵀ + b``.

        Args:
            in_features: size of the last input dimension
            out_features: size of the last output dimension
            bias: add a learned offset
        \"\"\"

        def __init__(self, in_features: Annotated[Size, FromInput(-1)], out_features: Size, bias: bool = True): ...

Forms, the headless catalogue, documentation and tests are derived from `parameters(Linear)`.
"""

from __future__ import annotations

from engine.registry.entries import (
    DATASETS,
    LAYERS,
    LOSSES,
    METRICS,
    OPTIMIZERS,
    SCHEDULERS,
    TRANSFORMS,
    Learns,
    Registry,
    RegistryEntry,
)
from engine.registry.parameter import (
    LONGEST_VALUE,
    REQUIRED,
    AnyRepeats,
    Count,
    FromInput,
    FromTraining,
    Kind,
    NonNegative,
    Parameter,
    PathTo,
    Positive,
    Preset,
    Probability,
    Range,
    Repeats,
    Seed,
    Size,
)
from engine.registry.signature import (
    argument_help,
    docstring_help,
    documentation,
    parameters,
)

__all__ = [
    "AnyRepeats",
    "Count",
    "DATASETS",
    "FromInput",
    "FromTraining",
    "Kind",
    "LAYERS",
    "LONGEST_VALUE",
    "LOSSES",
    "Learns",
    "METRICS",
    "NonNegative",
    "OPTIMIZERS",
    "Parameter",
    "PathTo",
    "Positive",
    "Preset",
    "Probability",
    "REQUIRED",
    "Range",
    "Registry",
    "RegistryEntry",
    "Repeats",
    "SCHEDULERS",
    "Seed",
    "Size",
    "TRANSFORMS",
    "argument_help",
    "docstring_help",
    "documentation",
    "parameters",
]
