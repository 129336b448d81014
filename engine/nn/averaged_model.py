"""Averaged models: stochastic weight averaging and exponential moving averages."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterable, Sequence
from itertools import chain
from typing import Any, TypeAlias

from engine.backend import Device
from engine.dtypes import int64
from engine.modes import no_grad
from engine.nn.layers.batch_norm import BatchNorm
from engine.nn.module import Module
from engine.tensors import Tensor
from engine.tensors.creation import tensor

AverageFunction: TypeAlias = Callable[[Tensor, Tensor, Any], Tensor]
"""Function of (average, value, number of averaged values) to the new average of one parameter."""

MultiAverageFunction: TypeAlias = Callable[[Sequence[Tensor], Sequence[Tensor], Any], None]
"""Function that updates the averages of all parameters in place."""


def get_swa_avg_fn() -> AverageFunction:
    """Equally weighted average, for `avg_fn` (Izmailov et al., arXiv 1803.05407)."""
    return lambda average, value, count: average + (value - average) / (count + 1)


def get_ema_avg_fn(decay: float = 0.999) -> AverageFunction:
    """Exponential moving average with the given decay, for `avg_fn` (Polyak and Juditsky, 1992)."""
    _check_decay(decay)
    return lambda average, value, count: average * decay + value * (1 - decay)


def get_swa_multi_avg_fn() -> MultiAverageFunction:
    """Equally weighted average of all parameters, for `multi_avg_fn`."""
    return _apply_to_each(get_swa_avg_fn())


def get_ema_multi_avg_fn(decay: float = 0.999) -> MultiAverageFunction:
    """Exponential moving average of all parameters, for `multi_avg_fn`."""
    _check_decay(decay)

    def update(averages: Sequence[Tensor], values: Sequence[Tensor], count: Any) -> None:
        for average, value in zip(averages, values, strict=True):
            if average.is_floating_point():
                average.lerp_(value.to(average.dtype), 1 - decay)
            else:
                average.copy_(average * decay + value * (1 - decay))

    return update


class AveragedModel(Module):
    """Copy of a model with averaged parameters; call `update_parameters` during training.

    Args:
        model: model to average
        device: device of the averages
        avg_fn: averaging function of one parameter (default: equally weighted)
        multi_avg_fn: averaging function of all parameters, instead of `avg_fn`
        use_buffers: average buffers too, instead of copying them
    """

    n_averaged: Tensor

    def __init__(
        self,
        model: Module,
        device: Device | str | None = None,
        avg_fn: AverageFunction | None = None,
        multi_avg_fn: MultiAverageFunction | None = None,
        use_buffers: bool = False,
    ) -> None:
        super().__init__()
        if avg_fn is not None and multi_avg_fn is not None:
            raise ValueError("avg_fn and multi_avg_fn cannot both be given. Pass one of them.")
        self.module = copy.deepcopy(model)
        if device is not None:
            self.module = self.module.to(device)
        self.register_buffer("n_averaged", tensor(0, dtype=int64, device=device))
        self.avg_fn = avg_fn
        self.multi_avg_fn = multi_avg_fn or _apply_to_each(avg_fn or get_swa_avg_fn())
        self.use_buffers = use_buffers

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        return self.module(*args, **kwargs)

    @no_grad()
    def update_parameters(self, model: Module) -> None:
        """Update the averages with the current parameters of `model`."""
        averages = [each.detach() for each in _tensors(self.module, self.use_buffers)]
        values = [
            value.detach().to(device=average.device)
            for average, value in zip(averages, _tensors(model, self.use_buffers), strict=True)
        ]
        if self.n_averaged.item() == 0:
            for average, value in zip(averages, values, strict=True):
                average.copy_(value)
        else:
            self.multi_avg_fn(averages, values, self.n_averaged.item())
        if not self.use_buffers:
            for own, other in zip(self.module.buffers(), model.buffers(), strict=True):
                own.copy_(other)
        self.n_averaged += 1


@no_grad()
def update_bn(loader: Iterable[Any], model: Module, device: Device | str | None = None) -> None:
    """Recompute the running statistics of batch norms in `model` over all batches of `loader`."""
    norms = {module: module.momentum for module in model.modules() if isinstance(module, BatchNorm)}
    if not norms:
        return
    training = model.training
    model.train()
    for module in norms:
        module.reset_running_stats()
        module.momentum = None  # cumulative average over all batches
    for batch in loader:
        inputs = batch[0] if isinstance(batch, (list, tuple)) else batch
        model(inputs if device is None else inputs.to(device))
    for module, momentum in norms.items():
        module.momentum = momentum
    model.train(training)


def _tensors(model: Module, use_buffers: bool) -> Iterable[Tensor]:
    return chain(model.parameters(), model.buffers()) if use_buffers else model.parameters()


def _apply_to_each(function: AverageFunction) -> MultiAverageFunction:
    def update(averages: Sequence[Tensor], values: Sequence[Tensor], count: Any) -> None:
        for average, value in zip(averages, values, strict=True):
            average.copy_(function(average, value.to(average.dtype), count).to(average.dtype))

    return update


def _check_decay(decay: float) -> None:
    if not 0 <= decay <= 1:
        raise ValueError(f"decay must be between 0 and 1, not {decay}")
