"""Observations: statistics of layers, measured beside the training steps without changing their results."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from time import perf_counter
from typing import Any

from engine.errors import EngineError
from engine.fit.events import Observed
from engine.fit.layer_statistics import (
    LAYER_STATISTICS,
    Figures,
    OutputFigures,
    PendingFigures,
    Reduction,
    Reductions,
    norm,
    sample_elements,
)
from engine.fit.step_functions import compute_gradients, compute_losses, preserve_state
from engine.fit.task import Task
from engine.modes import no_grad
from engine.nn.module import Module
from engine.tensors import Tensor

MAX_SHARE = 0.005
"""Share of the time of training that observations may take; with the allowance they stay below 1 %."""
ALLOWANCE = 0.05
"""Seconds that they may take beyond that share, so that short runs are observed a few times."""
MIN_INTERVAL, MAX_INTERVAL = 10, 500
_GROWTH = 0.5
"""Steps between observations: this share of the steps so far, within the bounds."""
_FIRST_GUESS = 8
"""Observing is guessed to take this many training steps, until an observation in the middle of a run is measured."""

_UPDATE = Reduction("update", norm)


class Observer:
    """Decides when a training is observed, and observes it.

    An observation runs the forward and backward pass of a batch once more, in eager mode, and restores everything that
    this changes. So the plans of compiled steps, and their bits, are the same with and without observations.

    Args:
        task: the observed task; its code must only change what `preserve_state` restores
        reductions: the figures to compute
        clock: seconds
    """

    def __init__(
        self, task: Task, reductions: Reductions = LAYER_STATISTICS, clock: Callable[[], float] = perf_counter
    ) -> None:
        self._task = task
        self._reductions = reductions
        self._clock = clock
        self._outputs = OutputFigures(reductions.outputs)
        self._began: float | None = None
        self._spent = 0.0
        self._last_seconds = 0.0
        self._count = 0
        self._last_step = 0
        self._is_enabled = True

    def is_due(self, step: int, step_seconds: float) -> bool:
        """Whether to observe now: at once in the first call, and later as far as the time allows.

        Args:
            step: number of the next step
            step_seconds: duration of the step before
        """
        if not self._is_enabled:
            return False
        now = self._clock()
        if self._began is None:
            self._began = now
            return True
        cost = self._last_seconds if self._count > 1 else min(self._last_seconds, _FIRST_GUESS * step_seconds)
        allowed = MAX_SHARE * (now - self._began) + ALLOWANCE
        interval = min(max(_GROWTH * self._last_step, MIN_INTERVAL), MAX_INTERVAL)
        return step >= self._last_step + interval and self._spent + cost <= allowed

    def observe(self, batch: Any, step: int) -> Observation | None:
        """Measure the layers on a batch before its training step. None if that fails, as for lack of memory."""
        began = self._clock()
        try:
            observation = Observation(self._task, self._reductions, self._outputs, batch, step)
        except (MemoryError, EngineError, RuntimeError, ValueError, TypeError):
            self._is_enabled = False  # training itself needs less memory, and may still succeed
            return None
        self._last_seconds = self._clock() - began
        return observation

    def finish(self, observation: Observation) -> Observed:
        """The event of an observation, after the training step."""
        began = self._clock()
        layers, parameters = observation.read()
        seconds = self._last_seconds = self._last_seconds + self._clock() - began
        # The first observation also imports and allocates what later ones reuse.
        self._spent += seconds if self._count else 0.0
        self._count += 1
        self._last_step = observation.step
        return Observed(observation.step, layers, parameters, observation.loss_scale, seconds)


class Observation:
    """What was measured before a training step; `read` adds the change that the step made."""

    def __init__(self, task: Task, reductions: Reductions, outputs: OutputFigures, batch: Any, step: int) -> None:
        self.step = step
        self.loss_scale = 1.0 if task.scaler is None else task.scaler.get_scale()
        self._outputs = outputs
        modules = _modules(task)
        self._parameters = {
            f"{prefix}{name}": parameter
            for prefix, module in _roots(task).items()
            for name, parameter in module.named_parameters()
            if parameter.requires_grad
        }
        self._figures = PendingFigures()
        self._layers: dict[str, Figures] = {}
        with preserve_state(task):
            with outputs.observing(modules):
                losses = compute_losses(task, batch)
            compute_gradients(task, losses)
            with no_grad():
                self._add_parameters(reductions)
        self._layers = outputs.read()

    def _add_parameters(self, reductions: Reductions) -> None:
        self._before: dict[str, Tensor] = {}
        for path, parameter in self._parameters.items():
            values = self._before[path] = sample_elements(parameter).clone()
            self._figures.add(path, values, reductions.parameters)
            if parameter.grad is not None:
                gradient = sample_elements(parameter.grad)
                self._figures.add(path, gradient / self.loss_scale, reductions.gradients)

    def read(self) -> tuple[dict[str, Figures], dict[str, Figures]]:
        """Figures of layers and of parameters, after the step: `update` is the norm of its change."""
        with no_grad():
            for path, parameter in self._parameters.items():
                self._figures.add(path, sample_elements(parameter) - self._before[path], (_UPDATE,))
        return self._layers, self._figures.read()


def _roots(task: Task) -> Mapping[str, Module]:
    """Modules of a task by the prefix of their paths; those of the model have none."""
    return {"" if name == "model" else f"{name}.": module for name, module in task.modules.items()}


def _modules(task: Task) -> dict[str, Module]:
    """All modules within the modules of a task by path."""
    return {
        f"{prefix}{path}": module
        for prefix, root in _roots(task).items()
        for path, module in root.named_modules()
        if path
    }


__all__ = ["ALLOWANCE", "MAX_INTERVAL", "MAX_SHARE", "MIN_INTERVAL", "Observation", "Observer"]
