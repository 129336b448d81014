"""Carried states of a task: reset, save and restore them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from engine.errors import WeightsError
from engine.fit.task import Task
from engine.nn.layers.carried_state import CarriedState, carried_states
from engine.shape import format_shape
from engine.tensors import Tensor


def reset_states(task: Task) -> None:
    """Set all carried states to zero."""
    for _, _, state in _states(task):
        state.reset()


def rewind_states(task: Task) -> None:
    """Return to the states at the start of the last batch, to compute that batch again."""
    for _, _, state in _states(task):
        state.rewind()


def save_states(task: Task) -> dict[str, dict[str, Tensor]]:
    """Copies of the carried states by module and path, without those that no batch has used yet."""
    saved: dict[str, dict[str, Tensor]] = {}
    for name, path, state in _states(task):
        if state.kept is not None:
            saved.setdefault(name, {})[path] = state.kept.detach().clone()
    return saved


def restore_states(task: Task, saved: Mapping[str, Mapping[str, Tensor]]) -> None:
    """Restore the carried states from `save_states`. Raises WeightsError, without changes, if one does not fit."""
    found = [(path, state, saved.get(name, {}).get(path)) for name, path, state in _states(task)]
    for path, state, value in found:
        if value is not None and not state.fits(value):
            raise WeightsError(
                f"the checkpoint has a state of {format_shape(value.shape)} for {path}, which is a {state}. "
                "Use the same task, or load only the weights."
            )
    for _, state, value in found:
        state.load(value)


def _states(task: Task) -> Iterator[tuple[str, str, CarriedState]]:
    """Name of the module, path and state."""
    for name, module in task.modules.items():
        for path, state in carried_states(module):
            yield name, path, state


__all__ = ["reset_states", "restore_states", "rewind_states", "save_states"]
