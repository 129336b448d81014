"""Models whose parameters are the average of another's over its training."""

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

Average: TypeAlias = Callable[[Tensor, Tensor, Any], Tensor]
"""From the average so far, the present value, and how many are averaged already, to the new average."""

Averages: TypeAlias = Callable[[Sequence[Tensor], Sequence[Tensor], Any], None]
"""The same for all parameters at once, written into the averages."""


def get_swa_avg_fn() -> Average:
    """The mean of all values (Izmailov et al., arXiv 1803.05407)."""
    return lambda average, value, count: average + (value - average) / (count + 1)


def get_ema_avg_fn(decay: float = 0.999) -> Average:
    """A running mean, of which `decay` stays with each update (Polyak and Juditsky, 1992)."""
    _check(decay)
    return lambda average, value, count: average * decay + value * (1 - decay)


def get_swa_multi_avg_fn() -> Averages:
    """`get_swa_avg_fn` for all parameters at once."""
    return _together(get_swa_avg_fn())


def get_ema_multi_avg_fn(decay: float = 0.999) -> Averages:
    """`get_ema_avg_fn` for all parameters at once."""
    _check(decay)

    def update(averages: Sequence[Tensor], values: Sequence[Tensor], count: Any) -> None:
        for average, value in zip(averages, values, strict=True):
            if average.is_floating_point():
                average.lerp_(value.to(average.dtype), 1 - decay)
            else:
                average.copy_(average * decay + value * (1 - decay))

    return update


class AveragedModel(Module):
    """A copy of a model whose parameters are averages; call `update_parameters` with the model as it trains.

    Args:
        model: what is averaged
        device: where the averages are kept
        avg_fn: how one parameter is averaged; by default the mean of all values
        multi_avg_fn: how all are averaged at once, instead
        use_buffers: average buffers too; otherwise they are copied
    """

    n_averaged: Tensor

    def __init__(
        self,
        model: Module,
        device: Device | str | None = None,
        avg_fn: Average | None = None,
        multi_avg_fn: Averages | None = None,
        use_buffers: bool = False,
    ) -> None:
        super().__init__()
        if avg_fn is not None and multi_avg_fn is not None:
            raise ValueError("AveragedModel takes avg_fn or multi_avg_fn, not both")
        self.module = copy.deepcopy(model)
        if device is not None:
            self.module = self.module.to(device)
        self.register_buffer("n_averaged", tensor(0, dtype=int64, device=device))
        self.avg_fn = avg_fn
        self.multi_avg_fn = multi_avg_fn or _together(avg_fn or get_swa_avg_fn())
        self.use_buffers = use_buffers

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        return self.module(*args, **kwargs)

    @no_grad()
    def update_parameters(self, model: Module) -> None:
        """Take the present values of `model` into the averages."""
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
    """Measure the statistics of batch norm anew, over all of `loader`: an averaged model has none of its own."""
    norms = {module: module.momentum for module in model.modules() if isinstance(module, BatchNorm)}
    if not norms:
        return
    training = model.training
    model.train()
    for module in norms:
        module.reset_running_stats()
        module.momentum = None  # the mean of all batches
    for batch in loader:
        inputs = batch[0] if isinstance(batch, (list, tuple)) else batch
        model(inputs if device is None else inputs.to(device))
    for module, momentum in norms.items():
        module.momentum = momentum
    model.train(training)


def _tensors(model: Module, use_buffers: bool) -> Iterable[Tensor]:
    return chain(model.parameters(), model.buffers()) if use_buffers else model.parameters()


def _together(function: Average) -> Averages:
    def update(averages: Sequence[Tensor], values: Sequence[Tensor], count: Any) -> None:
        for average, value in zip(averages, values, strict=True):
            average.copy_(function(average, value.to(average.dtype), count).to(average.dtype))

    return update


def _check(decay: float) -> None:
    if not 0 <= decay <= 1:
        raise ValueError(f"decay must be between 0 and 1, not {decay}")
