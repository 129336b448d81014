"""A layer that breaks the graph, as if it were part of the engine: all that the engine has compiles in one piece."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import engine
from engine import nn

_SOURCE = """
def forward(self, input):
    if not input.is_meta and input.mean() > -1000:
        input = input * 1
    return input.relu()
"""


def look(self: nn.ReLU, input: engine.Tensor) -> engine.Tensor:
    """The same as somebody's own code, in a file of theirs."""
    if not input.is_meta and input.mean() > -1000:
        input = input * 1
    return input.relu()


def break_relu(monkeypatch: Any) -> None:
    """Has ReLU look at its numbers, so that the training step breaks at each ReLU of a canvas."""
    path = Path(engine.__file__).parent / "nn" / "layers" / "looking.py"  # there is no such file
    space: dict[str, Any] = {}
    exec(compile(_SOURCE, str(path), "exec"), space)
    monkeypatch.setattr(nn.ReLU, "forward", space["forward"])
