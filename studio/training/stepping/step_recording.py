"""A recorded training step as a list of steps of nodes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

from studio.document.model import Endpoint
from studio.training.stepping.step_values import StepValue

Direction: TypeAlias = Literal["forward", "backward", "update"]


@dataclass(frozen=True, slots=True)
class NodeStep:
    """One node in one direction.

    Forward: the tensors that it reads and computes. Backward: the gradients of its outputs, then those of its inputs
    and parameters. Update: the gradients that the optimizer uses, then the parameters after it.
    """

    number: int
    """Position in the recording, from 0."""
    path: str
    direction: Direction
    line: int
    """Line of the generated program; 0 if none belongs to it."""
    inputs: tuple[StepValue, ...] = ()
    outputs: tuple[StepValue, ...] = ()
    optimizer: str = ""
    """For a backward step of a project with several optimizers: the one whose loss it is about."""

    @property
    def values(self) -> tuple[StepValue, ...]:
        return (*self.inputs, *self.outputs)

    @property
    def is_finite(self) -> bool:
        return all(value.is_finite for value in self.outputs)


@dataclass(frozen=True, slots=True)
class Failure:
    """The exception that ended a recording."""

    message: str
    error: str
    """Type of the exception."""
    path: str | None
    """The node that raised it."""
    direction: Direction


@dataclass(frozen=True)
class Recording:
    """Forward pass, backward passes and updates of one batch, in the order of execution."""

    steps: tuple[NodeStep, ...]
    losses: Mapping[str, float]
    """By optimizer; empty if the forward pass failed."""
    source: str
    """The generated program."""
    failure: Failure | None = None
    message: str = ""
    """What the memory limit has left out; empty if nothing."""
    differences: Mapping[int, float] = field(default_factory=dict[int, float])
    """Largest difference of recomputed values by number of a step; steps that were not recomputed are absent."""
    batch_size: int = 0
    step: int | None = None
    """Completed training steps before this one; None without a run."""

    def first_nonfinite(self, after: int = -1) -> NodeStep | None:
        """The next step, after a number, whose results contain NaN or infinity."""
        return next((step for step in self.steps[after + 1 :] if not step.is_finite), None)

    def of_node(self, path: str, after: int = -1) -> NodeStep | None:
        """The next step of a node or of an instance, after a number; at the end the first one."""
        inner = f"{path}."
        found = [step for step in self.steps if step.path == path or step.path.startswith(inner)]
        return next((step for step in found if step.number > after), found[0] if found else None)

    def value(self, end: Endpoint, *, direction: Direction = "forward") -> StepValue | None:
        """The value, or for backward the gradient, of an output."""
        for step in self.steps:
            if step.direction == direction:
                for value in step.outputs if direction == "forward" else step.inputs:
                    if value.end == end:
                        return value
        return None


__all__ = ["Direction", "Failure", "NodeStep", "Recording"]
