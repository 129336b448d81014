"""Training and validation of one batch."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

from engine import random
from engine.amp import autocast
from engine.compiler import CompiledFunction
from engine.compiler.compile_progress import CompileState, compile_state
from engine.dtypes import BY_NAME
from engine.fit.carried_states import restore_states, rewind_states, save_states
from engine.fit.task import Task
from engine.modes import no_grad
from engine.nn.utils import clip_grad_norm_, clip_grad_value_
from engine.optim.lr_scheduler import ReduceLROnPlateau
from engine.optim.optimizer import Optimizer
from engine.random.philox import State
from engine.tensors import Tensor

Closure = Callable[[], Tensor]


class StepFunctions:
    """Training and validation step of a task, compiled or not."""

    def __init__(self, task: Task, *, compile: bool) -> None:
        self.compiled = compile
        if compile and task.step is None:
            task.step, task.validation_step = (
                CompiledFunction(function, exact=True, replay_classes=task.replay_classes)
                for function in (step, compute_losses)
            )
        self.train: Callable[..., Mapping[Optimizer, Tensor]] = step
        self.validate: Callable[[Task, Any], Mapping[Optimizer, Tensor]] = compute_losses
        if compile and task.step is not None and task.validation_step is not None:
            self.train, self.validate = task.step, task.validation_step
        self._reported: CompileState | None = None

    def new_compile_state(self, number: int) -> CompileState | None:
        """The compile state after training step `number`, if it has changed; else None."""
        if not isinstance(self.train, CompiledFunction):
            return None
        state = compile_state(self.train, number)
        if self._reported is not None and replace(state, step=self._reported.step) == self._reported:
            return None
        self._reported = state
        return state


def compute_losses(task: Task, batch: Any) -> Mapping[Optimizer, Tensor]:
    """Losses of one batch, under the task's mixed precision."""
    if task.mixed_precision == "off":
        return task.losses(batch)
    with autocast(task.device.type, BY_NAME[task.mixed_precision]):
        return task.losses(batch)


def step(
    task: Task, batch: Any, first: bool = True, last: bool = True, share: float = 1.0
) -> Mapping[Optimizer, Tensor]:
    """Train on one batch: losses, gradients, and a step of each optimizer. Returns the losses.

    Args:
        first: discard the gradients of earlier batches
        last: step the optimizers
        share: weight of the batch among accumulated batches
    """
    random_state = random.get_rng_state()
    losses = compute_losses(task, batch)
    compute_gradients(task, losses, first=first, last=last, share=share)
    if last:
        step_optimizers(task, losses, functools.partial(_make_closure, task, batch, random_state))
    return losses


@contextmanager
def preserve_state(task: Task) -> Iterator[None]:
    """Preserve the training state while losses and gradients are computed for inspection.

    On exit, gradients, buffers such as running means, carried states, metrics and the random stream are restored.
    `.grad` is None on entry.
    """
    state = random.get_rng_state()
    metric_tensors = [
        value for metric in task.metrics.values() for value in vars(metric).values() if isinstance(value, Tensor)
    ]
    sums = [(value, value.detach().clone()) for value in metric_tensors]
    modules = task.modules.values()
    gradients = [(parameter, parameter.grad) for module in modules for parameter in module.parameters()]
    buffers = [(buffer, buffer.detach().clone()) for module in modules for buffer in module.buffers()]
    carried = save_states(task)
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
        restore_states(task, carried)


@contextmanager
def preserve_modes(task: Task) -> Iterator[None]:
    """Restore the train or eval mode of each module on exit."""
    modes = [(module, module.training) for root in task.modules.values() for module in root.modules()]
    try:
        yield
    finally:
        for module, training in modes:
            module.training = training


def compute_gradients(
    task: Task, losses: Mapping[Optimizer, Tensor], *, first: bool = True, last: bool = True, share: float = 1.0
) -> None:
    """Compute the gradients of each optimizer's parameters from its loss only.

    With gradient accumulation, the last batch sets the sum.
    """
    gradients: list[tuple[Tensor, Tensor | None]] = []
    for number, (optimizer, loss) in enumerate(losses.items(), start=1):
        for other in losses:
            other.zero_grad()
        scaled = loss if share == 1 else loss * share
        scaled = scaled if task.scaler is None else task.scaler.scale(scaled)
        scaled.backward(retain_graph=number < len(losses))
        if len(losses) > 1:
            # All losses are differentiated before the first step changes what their graphs have saved.
            gradients += [(parameter, parameter.grad) for parameter in _parameters(optimizer)]
    for parameter, gradient in gradients:
        parameter.grad = gradient
    if task.sums is not None and not (first and last):
        task.sums.add(first=first, last=last)


def step_optimizers(
    task: Task,
    losses: Mapping[Optimizer, Tensor],
    closure: Callable[[Optimizer, Tensor], Closure] | None = None,
) -> None:
    """Step each optimizer with the current gradients.

    Args:
        closure: creates the closure for optimizers that evaluate the loss several times
    """
    for optimizer, loss in losses.items():
        if task.scaler is not None:
            task.scaler.unscale_(optimizer)
        _clip(task, optimizer)
        if task.scaler is not None:
            task.scaler.step(optimizer)
        else:
            optimizer.step(closure(optimizer, loss) if closure is not None and optimizer.needs_closure else None)
    if task.scaler is not None:
        task.scaler.update()


def step_schedules(task: Task, loss: float, *, per_batch: bool) -> None:
    """Step the schedules that run per batch, or those that run per epoch. ReduceLROnPlateau monitors `loss`."""
    for name, schedule in task.schedulers.items():
        if task.is_stepped_per_batch(name) is not per_batch:
            continue
        if isinstance(schedule, ReduceLROnPlateau):
            schedule.step(loss)
        else:
            schedule.step()


def _clip(task: Task, optimizer: Optimizer) -> None:
    if task.clip_value is not None:
        clip_grad_value_(_parameters(optimizer), task.clip_value)
    if task.clip_norm is not None:
        clip_grad_norm_(_parameters(optimizer), task.clip_norm)


def _parameters(optimizer: Optimizer) -> list[Tensor]:
    return [parameter for group in optimizer.param_groups for parameter in group["params"]]


def _make_closure(task: Task, batch: Any, random_state: State, optimizer: Optimizer, loss: Tensor) -> Closure:
    """Create a closure that computes the loss of a batch and its gradients for the current parameters.

    The first call returns `loss`, whose gradients are already set. Later calls use the same random numbers and leave
    metrics, buffers and other gradients unchanged.
    """
    first = [loss]

    def closure() -> Tensor:
        if first:
            return first.pop()
        with preserve_state(task):
            random.set_rng_state(random_state)
            rewind_states(task)
            loss_now = compute_losses(task, batch)[optimizer]
            loss_now.backward()
            gradients = [(parameter, parameter.grad) for parameter in _parameters(optimizer)]
        for parameter, gradient in gradients:
            parameter.grad = gradient
        _clip(task, optimizer)
        return loss_now

    return closure


__all__ = [
    "StepFunctions",
    "compute_gradients",
    "step_optimizers",
    "step_schedules",
    "compute_losses",
    "preserve_modes",
    "step",
    "preserve_state",
]
