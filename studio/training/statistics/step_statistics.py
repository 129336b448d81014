"""Statistics of all wires and parameters at one step of a training."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TypeAlias

Figures: TypeAlias = Mapping[str, float]
"""Figures of a tensor by name."""


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


__all__ = ["Figures", "StepStatistics"]
