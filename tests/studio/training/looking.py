"""A layer and an optimizer that break the graph, as if they were the engine's: what that has compiles in one piece."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import engine
from engine import nn, optim

_SOURCE = """
def forward(self, input):
    if not input.is_meta and input.mean() > -1000:
        input = input * 1
    return input.relu()
"""
_STEP = """
def step(self, closure=None):
    for parameter in self.param_groups[0]["params"]:
        float(parameter.sum())
    return whole(self, closure)
"""


def look(self: nn.ReLU, input: engine.Tensor) -> engine.Tensor:
    """The same as somebody's own code, in a file of theirs."""
    if not input.is_meta and input.mean() > -1000:
        input = input * 1
    return input.relu()


def break_relu(monkeypatch: Any) -> None:
    """Has ReLU look at its numbers, so that the training step breaks at each ReLU of a canvas."""
    monkeypatch.setattr(nn.ReLU, "forward", _of_the_engine(_SOURCE)["forward"])


def break_adam(monkeypatch: Any) -> None:
    """Has Adam look at each of its parameters before a step."""
    monkeypatch.setattr(optim.Adam, "step", _of_the_engine(_STEP, whole=optim.Adam.step)["step"])


def _of_the_engine(source: str, **known: Any) -> dict[str, Any]:
    path = Path(engine.__file__).parent / "nn" / "layers" / "looking.py"  # there is no such file
    exec(compile(source, str(path), "exec"), known)
    return known
