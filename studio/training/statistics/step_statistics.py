"""Statistics of all wires and parameters at one step of a training."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

Figures: TypeAlias = Mapping[str, float]
"""Figures of a tensor by name."""

Kind: TypeAlias = Literal["output", "parameter"]

GRADIENT = "gradient"
"""The figure that is measured less often than the others: the norm of a gradient."""


@dataclass(frozen=True)
class StepStatistics:
    """Statistics of one measured step.

    The figures of outputs are `mean`, `std`, `low`, `high` and `norm` of the finite values, `zeros` (share of values
    that are 0), `nan` and `infinite` (numbers of values) and `gradient`, the norm of the gradient before clipping,
    divided by the loss scale. Outputs of rectifiers also have `dead`, the share of their `units` that are 0 for all
    samples of the batch. The figures of parameters are `norm`, `gradient` and `update`, the norm of the change in the
    step.
    """

    step: int
    """Number of the step; its batch and the weights before it were measured."""
    outputs: Mapping[str, Figures]
    """By the path of the node and the name of the port: "encoder.3.conv1.output"."""
    parameters: Mapping[str, Figures]
    """Of trained parameters, by the path in the weights file: "encoder.3.conv1.weight"."""
    gradient_step: int | None = None
    """The last step at which gradients were measured, those of `gradient` figures; None if there are none yet."""


@dataclass(frozen=True)
class StatisticsLayout:
    """The order of figures in an array: those of all outputs, then those of all parameters."""

    outputs: Mapping[str, tuple[str, ...]]
    """Names of figures by output."""
    parameters: Mapping[str, tuple[str, ...]]

    @cached_property
    def columns(self) -> tuple[tuple[Kind, str, str], ...]:
        """Kind, path and figure of each number."""
        return (
            *(("output", key, figure) for key, figures in self.outputs.items() for figure in figures),
            *(("parameter", key, figure) for key, figures in self.parameters.items() for figure in figures),
        )

    @cached_property
    def gradient_columns(self) -> NDArray[np.bool_]:
        """Which numbers are norms of gradients."""
        return np.array([figure == GRADIENT for _, _, figure in self.columns], dtype=bool)

    @cached_property
    def _begins(self) -> tuple[dict[str, int], dict[str, int]]:
        """Index of the first number by output, and by parameter."""
        number, found = 0, (dict[str, int](), dict[str, int]())
        for begins, parts in zip(found, (self.outputs, self.parameters), strict=True):
            for key, figures in parts.items():
                begins[key] = number
                number += len(figures)
        return found

    def index(self, kind: Kind, key: str, figure: str) -> int | None:
        """Index of a number; None if it is not measured."""
        parts = self.outputs if kind == "output" else self.parameters
        names = parts.get(key, ())
        return self._begins[kind == "parameter"][key] + names.index(figure) if figure in names else None

    def statistics(
        self, step: int, read: Callable[[], NDArray[np.float32]], gradient_step: int | None = None
    ) -> StepStatistics:
        """The statistics in an array. Without a gradient step, the figures have no gradients.

        Args:
            read: returns the array; called when figures are looked at
        """
        has_gradients = gradient_step is not None
        outputs = _Section(self.outputs, self._begins[0], read, has_gradients=has_gradients)
        parameters = _Section(self.parameters, self._begins[1], read, has_gradients=has_gradients)
        return StepStatistics(step, outputs, parameters, gradient_step)


@dataclass(frozen=True, eq=False)
class _Section(Mapping[str, Figures]):
    """Figures by path, made of an array when they are read: most steps of a training are never looked at."""

    names: Mapping[str, tuple[str, ...]]
    begins: Mapping[str, int]
    read: Callable[[], NDArray[np.float32]]
    has_gradients: bool
    _made: dict[str, Figures] = field(default_factory=dict[str, Figures])

    def __getitem__(self, key: str) -> Figures:
        if key not in self._made:
            names, begin = self.names[key], self.begins[key]
            numbers = self.read()[begin : begin + len(names)].tolist()
            pairs = zip(names, numbers, strict=True)
            self._made[key] = {name: value for name, value in pairs if self.has_gradients or name != GRADIENT}
        return self._made[key]

    def __iter__(self) -> Iterator[str]:
        return iter(self.names)

    def __len__(self) -> int:
        return len(self.names)


__all__ = ["GRADIENT", "Figures", "Kind", "StatisticsLayout", "StepStatistics"]
