"""What is done with one batch."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

from engine import random
from engine.compiler import Compiled
from engine.compiler.progress import progress
from engine.events import CompileState
from engine.fit.task import Task
from engine.modes import no_grad
from engine.optim.optimizer import Optimizer
from engine.tensor import Tensor

Closure = Callable[[], Tensor]


class Steps:
    """How a task trains and is validated: by plain functions, or by compiled ones."""

    def __init__(self, task: Task, *, compile: bool) -> None:
        self.compiled = compile
        if compile and task.step is None:
            task.step, task.validation_step = (
                Compiled(function, exact=True, replays=task.replays) for function in (step, losses)
            )
        self.train: Callable[[Task, Any], Mapping[Optimizer, Tensor]] = step
        self.validate: Callable[[Task, Any], Mapping[Optimizer, Tensor]] = losses
        if compile and task.step is not None and task.validation_step is not None:
            self.train, self.validate = task.step, task.validation_step
        self._told: CompileState | None = None

    def news(self, number: int) -> CompileState | None:
        """After training step `number`: how steps run, if that has changed."""
        if not isinstance(self.train, Compiled):
            return None
        state = progress(self.train, number)
        if self._told is not None and replace(state, step=self._told.step) == self._told:
            return None
        self._told = state
        return state


def losses(task: Task, batch: Any) -> Mapping[Optimizer, Tensor]:
    """What validates with one batch."""
    return task.losses(batch)


def step(task: Task, batch: Any) -> Mapping[Optimizer, Tensor]:
    """Trains with one batch: losses, gradients, a step of each optimizer. Reads no numbers; returns the losses."""
    random_state = random.get_rng_state()
    found = task.losses(batch)
    improve(found, functools.partial(_again, task, batch, random_state))
    return found


@contextmanager
def untouched(task: Task) -> Iterator[None]:
    """Losses may be computed and differentiated inside, for a look at them: the training goes on as if nothing was.

    Gradients, buffers such as running means, metrics and the default random stream are put back at the end. The tensors
    in `.grad` are None inside at first.
    """
    state = random.get_rng_state()
    kept = [value for metric in task.metrics.values() for value in vars(metric).values() if isinstance(value, Tensor)]
    sums = [(value, value.detach().clone()) for value in kept]
    modules = task.modules.values()
    gradients = [(parameter, parameter.grad) for module in modules for parameter in module.parameters()]
    buffers = [(buffer, buffer.detach().clone()) for module in modules for buffer in module.buffers()]
    for parameter, _ in gradients:
        parameter.grad = None
    try:
        yield
    finally:
        random.set_rng_state(state)
        for parameter, gradient in gradients:
            parameter.grad = gradient
        with no_grad():
            for tensor, value in (*sums, *buffers):
                tensor.copy_(value)


@contextmanager
def modes_kept(task: Task) -> Iterator[None]:
    """Each module is put back into the mode, train or eval, that it had before."""
    modes = [(module, module.training) for root in task.modules.values() for module in root.modules()]
    try:
        yield
    finally:
        for module, training in modes:
            module.training = training


def improve(losses: Mapping[Optimizer, Tensor], closure: Callable[[Optimizer, Tensor], Closure] | None = None) -> None:
    """One step of each optimizer. Gradients of one's loss do not reach the parameters of another.

    `closure` makes what an optimizer evaluates its loss by, if it does that several times.
    """
    found: list[tuple[Tensor, Tensor | None]] = []
    for place, (optimizer, loss) in enumerate(losses.items(), start=1):
        for other in losses:
            other.zero_grad()
        loss.backward(retain_graph=place < len(losses))
        if len(losses) > 1:
            # All losses are differentiated before the first step changes what their graphs have saved.
            found += [(parameter, parameter.grad) for group in optimizer.param_groups for parameter in group["params"]]
    for parameter, gradient in found:
        parameter.grad = gradient
    for optimizer, loss in losses.items():
        optimizer.step(closure(optimizer, loss) if closure is not None and optimizer.needs_closure else None)


def _again(task: Task, batch: Any, random_state: random.State, optimizer: Optimizer, loss: Tensor) -> Closure:
    """What gives the loss of a batch and its gradients for the parameters as they are.

    The first time that is `loss`, whose gradients are there. Later ones draw the same random numbers, and metrics,
    buffers and the other gradients do not notice them.
    """
    first = [loss]

    def evaluated() -> Tensor:
        if first:
            return first.pop()
        with untouched(task):
            random.set_rng_state(random_state)
            found = task.losses(batch)[optimizer]
            found.backward()
            own = [(parameter, parameter.grad) for group in optimizer.param_groups for parameter in group["params"]]
        for parameter, gradient in own:
            parameter.grad = gradient
        return found

    return evaluated


__all__ = ["Steps", "improve", "losses", "modes_kept", "step", "untouched"]
