"""Gradient functions of an op, and the selection that a backward pass runs."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

ArgumentSource = Literal["input", "spec", "static", "out"]


@dataclass(frozen=True, slots=True)
class GradientRule:
    """A gradient function for the inputs with indices `covers`, and the sources of its arguments after the gradient."""

    function: Callable[..., Any]
    covers: tuple[int, ...]
    arguments: tuple[tuple[ArgumentSource, Any], ...]
    """("input", index) for a saved input, ("spec", index) for shape and dtype of an input, ("static", name) for a
    static argument, ("out", index) for a saved result."""

    def indices(self, kind: ArgumentSource) -> list[int]:
        return [key for source, key in self.arguments if source == kind]


@dataclass(frozen=True, slots=True)
class BackwardPlan:
    """The rules for a set of inputs that require gradients, and indices of the inputs and results they need saved."""

    rules: tuple[GradientRule, ...]
    saved_inputs: tuple[int, ...]
    saved_outputs: tuple[int, ...]
