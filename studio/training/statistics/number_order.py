"""From the numbers that measuring functions return to the figures of a layout."""

from __future__ import annotations

from collections.abc import Collection, Sequence

import numpy as np
from numpy.typing import NDArray

from engine.ops.reduction.tensor_statistics import STATISTICS
from studio.training.statistics.measured_functions import Columns
from studio.training.statistics.step_statistics import GRADIENT, StatisticsLayout

_WIDTH = len(STATISTICS)


class NumberOrder:
    """Sorts the numbers of one path through the measuring functions.

    Args:
        columns: where they are
        parameters: paths of the trained parameters
        differentiable: the outputs that have gradients; by default those of `columns`
    """

    def __init__(
        self, columns: Columns, parameters: Sequence[str], differentiable: Collection[str] | None = None
    ) -> None:
        self.columns, outputs = columns, columns.outputs
        self.differentiable = frozenset(outputs.gradients if differentiable is None else differentiable)
        keys = list(outputs.statistics)
        self._tensors = max(outputs.statistics.values(), default=-1) + 1
        self._dead, self._parameters = len(outputs.dead), len(parameters)
        self._units = np.array([outputs.units[key] for key in outputs.dead], np.float32)
        owners = [outputs.gradients.get(key, []) for key in keys]
        owners += [columns.parameters.get(path, []) for path in parameters]
        pairs = [(owner, number) for owner, numbers in enumerate(owners) for number in numbers]
        self._owners = np.array([owner for owner, _ in pairs], np.intp)
        self._gradients = np.array([number for _, number in pairs], np.intp)
        self._owned = len(owners)
        self._no_gradients = np.zeros(self._owned, np.float32)
        self.layout = StatisticsLayout(
            {
                key: (
                    *STATISTICS,
                    *((GRADIENT,) if key in self.differentiable else ()),
                    *(("dead", "units") if key in outputs.dead else ()),
                )
                for key in keys
            },
            dict.fromkeys(parameters, ("norm", GRADIENT, "update")),
        )
        self._order = np.array(self._positions(columns, keys), np.intp)

    def _positions(self, columns: Columns, keys: Sequence[str]) -> list[int]:
        """For each number of the layout its position among those that `sorted` joins."""
        dead_at = self._tensors * _WIDTH
        units_at = dead_at + self._dead
        gradients_at = units_at + self._dead
        norms_at = gradients_at + self._owned
        dead = {key: number for number, key in enumerate(columns.outputs.dead)}
        found: list[int] = []
        for position, key in enumerate(keys):
            begin = columns.outputs.statistics[key] * _WIDTH
            found += range(begin, begin + _WIDTH)
            if key in self.differentiable:
                found.append(gradients_at + position)
            if key in dead:
                found += [dead_at + dead[key], units_at + dead[key]]
        for position in range(self._parameters):
            gradient = gradients_at + len(keys) + position
            found += [norms_at + position, gradient, norms_at + self._parameters + position]
        return found

    def sorted(self, first: NDArray[np.float32], norms: NDArray[np.float32], scale: float) -> NDArray[np.float32]:
        """The figures in the order of the layout.

        Args:
            first: the numbers from before the step
            norms: norms of the parameters before the step, and of their changes
            scale: the loss scale, by which gradients are divided
        """
        own = self._tensors * _WIDTH + self._dead
        gradients = self._no_gradients
        if len(first) > own:
            squares = np.zeros(self._owned)
            np.add.at(squares, self._owners, np.square(first[own:].astype(np.float64)[self._gradients]))
            gradients = (np.sqrt(squares) / scale).astype(np.float32)
        return np.concatenate([first[:own], self._units, gradients, norms])[self._order]


__all__ = ["NumberOrder"]
