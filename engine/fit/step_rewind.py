"""Return to the state before a training step: a copy of the state now and then, and the steps since, repeated."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from time import perf_counter
from typing import Any

from engine import random
from engine.fit.task import Task
from engine.fit.task_state import restore_task, save_task
from engine.random.philox import State
from engine.tensors import Tensor

SHARE = 0.003
"""Share of the time of training that copies of the state may take."""
MAX_INTERVAL = 256
"""Steps between two copies: at most this many are repeated."""
MAX_BATCH_BYTES = 32 * 2**20
"""Size of the kept batches above which the state is copied."""


@dataclass(frozen=True, slots=True)
class KeptStep:
    """What a step depends on besides the state of the task."""

    position: Mapping[str, Any]
    """Counters of the training before it."""
    batch: Any
    accumulation: tuple[Any, ...]
    random: State
    size: int
    """Bytes of the batch."""


@dataclass(slots=True)
class StepRewind:
    """Keeps what is needed to return to the state before the last training step.

    A step updates weights in place. So the state is copied now and then, as often as `share` of the time allows, and
    the batches since are kept: the steps between are repeated from the copy, to the same bits.

    Args:
        share: share of the time of training that copies may take
        every_step: copy before each step: for code that does not compute the same when it runs again
        max_bytes: no copies of a larger state, so that nothing is kept; None for any size
        reports_nonfinite_batches: send the Step of a batch that contains NaN, before the error about it
        before_step: called with the batch of each step before it runs; it must not change the state of the task
        clock: seconds
    """

    share: float = SHARE
    every_step: bool = False
    max_bytes: int | None = None
    reports_nonfinite_batches: bool = False
    before_step: Callable[[Any], None] | None = None
    clock: Callable[[], float] = perf_counter
    steps: list[KeptStep] = field(default_factory=list)
    """The steps since the copy, the last one included."""
    _copy: Mapping[str, Any] | None = None
    _cost: float = 0.0
    """Seconds of the last copy."""
    _size: int | None = None
    _last: float | None = None
    _step_seconds: float = 0.0
    """Moving mean of the time between steps."""

    def record(self, task: Task, position: Mapping[str, Any], batch: Any, accumulation: tuple[Any, ...]) -> None:
        """Keep a step before it runs, and copy the state if the last copy is old enough."""
        now = self.clock()
        if self._last is not None:
            passed = now - self._last
            self._step_seconds += 0.1 * (passed - self._step_seconds) if self._step_seconds else passed
        if not self._is_affordable(task):
            return
        if self._is_due(position):
            began = self.clock()
            self._copy = save_task(task)
            self._cost = self.clock() - began
            self.steps = []
        size = _nbytes(batch)
        self.steps.append(KeptStep(position, batch, accumulation, random.get_rng_state(), size))
        if self.before_step is not None:
            self.before_step(batch)
        self._last = self.clock()

    @property
    def can_undo(self) -> bool:
        return self._copy is not None and bool(self.steps)

    def restore(self, task: Task, repeat: Callable[[KeptStep], object]) -> KeptStep:
        """Return to the state before the last step, with `repeat` for those between. Returns the last step."""
        assert self._copy is not None, "no state is kept"
        restore_task(task, self._copy)
        for step in self.steps[:-1]:
            random.set_rng_state(step.random)
            repeat(step)
        random.set_rng_state(self.steps[-1].random)
        return self.steps[-1]

    def forget(self) -> None:
        """Drop the copy: the state was changed otherwise."""
        self._copy, self.steps = None, []

    def _is_due(self, position: Mapping[str, Any]) -> bool:
        if self._copy is None or self.every_step or not position["batch"]:
            return True
        if self.steps and self.steps[-1].position["step"] + 1 != position["step"]:
            return True
        if sum(step.size for step in self.steps) > MAX_BATCH_BYTES:
            return True
        wanted = math.ceil(self._cost / max(self.share * self._step_seconds, 1e-9))
        return len(self.steps) >= min(max(wanted, 1), MAX_INTERVAL)

    def _is_affordable(self, task: Task) -> bool:
        if self.max_bytes is None:
            return True
        if self._size is None:
            parameters = {id(p): p for module in task.modules.values() for p in module.parameters()}
            self._size = 3 * sum(p.numel() * p.dtype.itemsize for p in parameters.values())
        return self._size <= self.max_bytes


def _nbytes(batch: Any) -> int:
    if isinstance(batch, Tensor):
        return int(batch.numel()) * batch.dtype.itemsize
    if isinstance(batch, Mapping):
        return sum(map(_nbytes, batch.values()))
    return sum(map(_nbytes, batch)) if isinstance(batch, (list, tuple)) else 0


__all__ = ["MAX_INTERVAL", "KeptStep", "StepRewind"]
