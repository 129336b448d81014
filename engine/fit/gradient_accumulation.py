"""Gradient accumulation over several batches."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from engine.modes import no_grad
from engine.tensors import Tensor
from engine.tensors.creation import zeros_like


class GradientAccumulator:
    """Gradient sums by parameter. The tensors are reused, so that compiled steps can refer to them."""

    def __init__(self, parameters: Iterable[Tensor]) -> None:
        self.parameters = list(parameters)
        self.tensors = {number: zeros_like(parameter.detach()) for number, parameter in enumerate(self.parameters)}
        self._used: set[int] = set()
        """Parameters that had a gradient; optimizers skip the others."""

    def add(self, *, first: bool, last: bool) -> None:
        """Add the gradients of a batch. After the last batch, `.grad` of the parameters is the sum."""
        with no_grad():
            for number, parameter in enumerate(self.parameters):
                total, gradient = self.tensors[number], parameter.grad
                if gradient is not None:
                    self._used.add(number)
                if last:
                    if number in self._used:
                        parameter.grad = total.clone() if gradient is None else total + gradient
                elif first:
                    total.zero_() if gradient is None else total.copy_(gradient)
                elif gradient is not None:
                    total.add_(gradient)

    def replay_state(self) -> Iterator[tuple[str, dict[Any, Any], tuple[str, ...]]]:
        """State that replayed steps depend on: names, dicts, and keys whose values may change."""
        yield "", vars(self), ()


__all__ = ["GradientAccumulator"]
