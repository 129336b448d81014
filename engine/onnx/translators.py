"""The registry of translators: which ops and layers ONNX can express, from which opset on, and why others cannot.

    @translates("relu")
    def _(g, x):
        return g.op("Relu", x)

A translator takes a `GraphBuilder`, the inputs of the op and its static arguments by name. It returns one value for
each result of the op; None for one that the file cannot have.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from engine.errors import RegistryError
from engine.nn.module import Module

OLDEST_OPSET, DEFAULT_OPSET, NEWEST_OPSET = 18, 20, 23


@dataclass(frozen=True, slots=True)
class Translator:
    """A function that writes an op as ONNX ops."""

    function: Callable[..., Any]
    since: int = OLDEST_OPSET
    """The first opset that has the ONNX ops it uses."""


@dataclass(frozen=True, slots=True)
class LayerTranslator:
    """A function that writes a layer as one ONNX op. Without it, the ops of the layer are translated."""

    function: Callable[..., Any]
    since: int
    accepts: Callable[..., tuple[Any, ...] | None]
    """Takes the module and the arguments of its call. Returns the tensors that the ONNX op needs, or None."""


TRANSLATORS: dict[str, Translator] = {}
"""Translators by name of the op."""
LAYER_TRANSLATORS: dict[type[Module], LayerTranslator] = {}
"""Translators by layer."""
REASONS: dict[str, str] = {}
"""Why an op cannot be exported."""


class NotExpressible(Exception):  # noqa: N818 - caught by the exporter, which adds the location
    """An ONNX op cannot express this call of an op. The message is the reason."""


def translates(*names: str, since: int = OLDEST_OPSET) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Decorator that declares the translator of one or several ops."""

    def declare(function: Callable[..., Any]) -> Callable[..., Any]:
        for name in names:
            if name in TRANSLATORS:
                raise RegistryError(f"op {name} has two ONNX translators. Remove one of them.")
            TRANSLATORS[name] = Translator(function, since)
        return function

    return declare


def translates_layer(
    *layers: type[Module], accepts: Callable[..., tuple[Any, ...] | None], since: int = OLDEST_OPSET
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Decorator that declares the translator of one or several layers."""

    def declare(function: Callable[..., Any]) -> Callable[..., Any]:
        for layer in layers:
            if layer in LAYER_TRANSLATORS:
                raise RegistryError(f"layer {layer.__name__} has two ONNX translators. Remove one of them.")
            LAYER_TRANSLATORS[layer] = LayerTranslator(function, since, accepts)
        return function

    return declare


def cannot_export(reason: str, *names: str) -> None:
    """Declare why ops cannot be exported."""
    for name in names:
        if name in REASONS:
            raise RegistryError(f"op {name} has two reasons why it cannot be exported. Remove one of them.")
        REASONS[name] = reason


__all__ = [
    "DEFAULT_OPSET",
    "LAYER_TRANSLATORS",
    "NEWEST_OPSET",
    "OLDEST_OPSET",
    "REASONS",
    "TRANSLATORS",
    "LayerTranslator",
    "NotExpressible",
    "Translator",
    "cannot_export",
    "translates",
    "translates_layer",
]
