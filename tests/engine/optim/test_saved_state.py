"""Saved state of every optimizer: complete, or refused by the name of the entry."""

from __future__ import annotations

from typing import Any

import pytest

import engine
from engine import optim
from engine.errors import WeightsError
from engine.registry import OPTIMIZERS

OPTIONS: dict[str, dict[str, Any]] = {
    "Adam": {"amsgrad": True},
    "AdamW": {"amsgrad": True},
    "RMSprop": {"momentum": 0.9, "centered": True},
}
OPTIONAL = {("SGD", "momentum_buffer"), ("LBFGS", "prev_loss")}
"""Entries without which a step can be taken, as in PyTorch."""


def optimizers_after_one_step(name: str) -> tuple[Any, Any]:
    parameter = engine.nn.Parameter(engine.tensor([[1.0, 2.0], [3.0, -1.0]]))
    optimizer = getattr(optim, name)([parameter], **OPTIONS.get(name, {}))

    def closure() -> Any:
        optimizer.zero_grad()
        loss = (parameter**4).sum()
        loss.backward()
        return loss

    optimizer.step(closure)
    return parameter, optimizer


@pytest.mark.parametrize("name", [entry.key.removeprefix("optim.") for entry in OPTIMIZERS])
def test_an_entry_that_is_missing_or_of_another_type_is_named(name: str) -> None:
    parameter, optimizer = optimizers_after_one_step(name)
    sound = optimizer.state_dict()
    assert optimizer.initial_state(parameter, optimizer.param_groups[0]).keys() <= sound["state"].get(0, {}).keys()
    for entry in sound["state"].get(0, {}):
        if (name, entry) in OPTIONAL:
            continue
        rest = {key: value for key, value in sound["state"][0].items() if key != entry}
        for state, problem in ((rest, "lacks the entry"), ({**rest, entry: "nope"}, "has a str as")):
            _, other = optimizers_after_one_step(name)
            before = dict(other.state)
            with pytest.raises(WeightsError, match=f"{name} state of parameter 0 {problem} {entry!r}"):
                other.load_state_dict({**sound, "state": {0: state}})
            assert dict(other.state) == before
    _, other = optimizers_after_one_step(name)
    other.load_state_dict({**sound, "state": {}})
    other.load_state_dict(sound)
