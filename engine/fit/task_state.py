"""Save and restore the training state of a task, and match weights by name and shape."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from engine.errors import WeightsError
from engine.fit.carried_states import restore_states, save_states
from engine.fit.task import Task
from engine.metrics import Metric
from engine.modes import no_grad
from engine.nn.module import Module
from engine.optim.optimizer import Optimizer
from engine.shape import format_shape
from engine.tensors import Tensor
from engine.tensors.creation import as_tensor

_KINDS = ((bool, int, float, Tensor), Mapping, (list, tuple))
"""Groups of value types that can replace each other."""


@dataclass(frozen=True, slots=True)
class WeightMatch:
    """Result of matching a model's tensors with given ones, by name and shape."""

    same: tuple[str, ...]
    missing: tuple[str, ...]
    """Tensors of the model that are not given."""
    extra: tuple[str, ...]
    """Given tensors that the model does not have."""
    reshaped: Mapping[str, tuple[tuple[int, ...], tuple[int, ...]]]
    """Tensors with different shapes: the model's shape, then the given one."""

    @property
    def is_complete(self) -> bool:
        return not (self.missing or self.extra or self.reshaped)

    def __str__(self) -> str:
        shapes = [
            f"{name} has {_format_shape(own)}, the checkpoint {_format_shape(other)}"
            for name, (own, other) in self.reshaped.items()
        ]
        parts = {
            f"{len(self.same)} fit": (),
            "different shape": shapes,
            "missing": self.missing,
            "unexpected": self.extra,
        }
        descriptions = [
            f"{what}: {_shorten(names)}" if names else what for what, names in parts.items() if names or "fit" in what
        ]
        return "; ".join(descriptions)


def save_task(task: Task) -> dict[str, Any]:
    """The training state of a task: weights, optimizers, schedules, scaler and metrics. Tensors are copies."""
    return {
        "modules": {name: copy_tensors(dict(_tensors(module))) for name, module in task.modules.items()},
        "optimizers": {name: _optimizer_state(optimizer) for name, optimizer in task.optimizers.items()},
        "schedulers": {name: copy_tensors(schedule.state_dict()) for name, schedule in task.schedulers.items()},
        "scaler": {} if task.scaler is None else task.scaler.state_dict(),
        "metrics": save_metrics(task),
        "states": save_states(task),
        "sums": [] if task.sums is None else copy_tensors(list(task.sums.tensors.values())),
    }


def restore_task(task: Task, state: Mapping[str, Any]) -> None:
    """Restore a task from `save_task`. Raises WeightsError, without changes, if its parts differ."""
    for kind in ("modules", "optimizers", "schedulers", "metrics"):
        own, saved = set(getattr(task, kind)), set(state[kind])
        if own != saved:
            raise WeightsError(
                f"the task has {kind} {_shorten(sorted(own))}, but the checkpoint {_shorten(sorted(saved))}. "
                "Use the same task, or load only the weights."
            )
    for name, module in task.modules.items():
        found = match_weights(module, state["modules"][name])
        if not found.is_complete:
            raise WeightsError(f"the checkpoint does not fit {name}: {found}.")
    for name, optimizer in task.optimizers.items():
        _restore_optimizer(name, optimizer, state["optimizers"][name])
    for name, schedule in task.schedulers.items():
        _check_same_kind(f"the checkpoint's {name}", schedule.state_dict(), state["schedulers"][name])
    for name, module in task.modules.items():
        load_matching(module, state["modules"][name])
    for name, schedule in task.schedulers.items():
        schedule.load_state_dict(copy_tensors(state["schedulers"][name]))
    if task.scaler is not None and state["scaler"]:
        task.scaler.load_state_dict(state["scaler"])
    if task.sums is not None and len(state["sums"]) == len(task.sums.tensors):
        with no_grad():
            for total, value in zip(task.sums.tensors.values(), state["sums"], strict=True):
                total.copy_(value.to(total.device))
    restore_metrics(task, state["metrics"])
    restore_states(task, state.get("states", {}))


def match_weights(module: Module, weights: Mapping[str, Tensor]) -> WeightMatch:
    """Match the tensors of a module with given ones."""
    own = dict(_tensors(module))
    shapes = {name: (tuple(own[name].shape), tuple(weights[name].shape)) for name in own if name in weights}
    return WeightMatch(
        same=tuple(name for name, (shape, other) in shapes.items() if shape == other),
        missing=tuple(name for name in own if name not in weights),
        extra=tuple(name for name in weights if name not in own),
        reshaped={name: pair for name, pair in shapes.items() if pair[0] != pair[1]},
    )


def load_matching(module: Module, weights: Mapping[str, Tensor]) -> WeightMatch:
    """Copy the given tensors that fit into a module. Returns the match."""
    found, own = match_weights(module, weights), dict(_tensors(module))
    with no_grad():
        for name in found.same:
            own[name].copy_(weights[name].to(own[name].device))
    return found


# -- metrics ----------------------------------------------------------------------------------


def save_metrics(task: Task) -> dict[str, dict[str, Tensor]]:
    """Copies of the accumulated metric state."""
    return {
        name: {key: value.detach().clone() for key, value in _metric_tensors(one)} for name, one in task.metrics.items()
    }


def restore_metrics(task: Task, sums: Mapping[str, Mapping[str, Tensor]]) -> None:
    """Restore metrics from `save_metrics`, in place."""
    with no_grad():
        for name, metric in task.metrics.items():
            for key, value in _metric_tensors(metric):
                value.copy_(sums[name][key].to(value.device))


def _metric_tensors(metric: Metric) -> Iterator[tuple[str, Tensor]]:
    return ((key, value) for key, value in vars(metric).items() if isinstance(value, Tensor))


# -- parts ------------------------------------------------------------------------------------


def _tensors(module: Module) -> Iterator[tuple[str, Tensor]]:
    """Parameters and buffers, including non-persistent buffers."""
    yield from ((name, parameter.detach()) for name, parameter in module.named_parameters())
    yield from module.named_buffers()


def _optimizer_state(optimizer: Optimizer) -> dict[str, Any]:
    """Options and state of an optimizer. Unlike in PyTorch's state dict, step counts stay integers."""
    numbers = {id(parameter): number for number, parameter in enumerate(_parameters(optimizer))}
    state = {numbers[id(parameter)]: dict(state) for parameter, state in optimizer.state.items()}
    return {"steps": optimizer.steps, "groups": copy_tensors(group_options(optimizer)), "state": copy_tensors(state)}


def _restore_optimizer(name: str, optimizer: Optimizer, saved: Mapping[str, Any]) -> None:
    groups, trained = saved["groups"], _parameters(optimizer)
    if len(groups) != len(optimizer.param_groups) or any(number >= len(trained) for number in saved["state"]):
        raise WeightsError(
            f"the checkpoint's {name} has other parameter groups. Create the optimizer with the same groups."
        )
    for own, options in zip(group_options(optimizer), groups, strict=True):
        _check_same_kind(f"the checkpoint's {name}", own, options)
    options = [options for group, options in zip(optimizer.param_groups, groups, strict=True) for _ in group["params"]]
    for number, state in saved["state"].items():
        optimizer.check_state_entries(state, trained[number], options[number])
        for key, value in state.items():
            if isinstance(value, Tensor) and value.ndim:
                optimizer.check_state(key, value, trained[number])
    optimizer.state = defaultdict(dict)  # a new dict shows compiled steps that the tensors have changed
    for number, state in saved["state"].items():
        optimizer.state[trained[number]] = _move_like(copy_tensors(state), trained[number])
    for group, options in zip(optimizer.param_groups, groups, strict=True):
        group.update(copy_tensors(options))
    optimizer.steps = saved["steps"]


def _check_same_kind(location: str, own: Mapping[str, Any], saved: Mapping[str, Any]) -> None:
    """Raise WeightsError for unknown fields or values of another type."""
    for key, value in saved.items():
        if key not in own:
            raise WeightsError(f"{location} has an unknown field {str(key)[:40]!r}. Use the same task.")
        if not _is_same_kind(own[key], value):
            kinds = f"a {type(value).__name__}, not a {type(own[key]).__name__}"
            raise WeightsError(f"{location} is damaged: its {key} is {kinds}. Use another checkpoint.")


def _is_same_kind(own: Any, saved: Any) -> bool:
    if own is None or saved is None:
        return True
    kinds = next((kinds for kinds in _KINDS if isinstance(own, kinds)), (type(own),))
    return isinstance(saved, kinds)


def group_options(optimizer: Optimizer) -> list[dict[str, Any]]:
    """Options of each parameter group."""
    return [{key: value for key, value in group.items() if key != "params"} for group in optimizer.param_groups]


def _parameters(optimizer: Optimizer) -> list[Tensor]:
    return [parameter for group in optimizer.param_groups for parameter in group["params"]]


def copy_tensors(value: Any) -> Any:
    """Copy a nested structure with its tensors."""
    if isinstance(value, Tensor):
        return value.detach().clone()
    if isinstance(value, Mapping):
        return {key: copy_tensors(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return type(value)(copy_tensors(item) for item in value)
    return value


def _move_like(value: Any, like: Tensor) -> Any:
    if isinstance(value, Tensor):
        return as_tensor(value).to(like.device)
    if isinstance(value, dict):
        return {key: _move_like(item, like) for key, item in value.items()}
    if isinstance(value, list):
        return [_move_like(item, like) for item in value]
    return value


def _shorten(names: Any, limit: int = 5) -> str:
    names = list(names)
    shown = ", ".join(names[:limit]) or "none"
    return f"{shown} and {len(names) - limit} more" if len(names) > limit else shown


def _format_shape(shape: tuple[int, ...]) -> str:
    return format_shape(shape) or "one number"


__all__ = [
    "WeightMatch",
    "copy_tensors",
    "match_weights",
    "save_metrics",
    "group_options",
    "restore_task",
    "restore_metrics",
    "save_task",
    "load_matching",
]
