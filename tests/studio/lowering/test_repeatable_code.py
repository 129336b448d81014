"""Code of Python nodes is only observed if it surely has no effects."""

from __future__ import annotations

import pytest

from studio.lowering.user_code.repeatable_code import state_change
from tests.studio.code import GATE, SCALE

PURE = {
    "locals": """\
import math
import numpy as np

def own(x, y=None):
    found = []
    for step in x.unbind(1):
        found.append(step.relu().add(1))
    total = 0.0
    for each in found:
        total += each.mean()
    return engine.stack(found, 1) * math.sqrt(2) + np.sqrt(3) + total
""",
    "a module": """\
class Own(nn.Module):
    def __init__(self, depth: int = 2):
        super().__init__()
        self.layers = nn.ModuleList([nn.Linear(8, 8) for _ in range(depth)])
        self.register_buffer("mean", engine.zeros(8))
        self.log = []

    def helper(self, x):
        return F.dropout(x, 0.1, self.training)

    def forward(self, x):
        with engine.no_grad():
            scale = 1 / (1 + x.std())
        for layer in self.layers:
            x = layer(self.helper(x)) * scale
        return x
""",
}
EFFECTS = {
    "self.calls += 1": "sets self.calls",
    "self.last = x": "sets self.last",
    "self.log.append(x)": "calls self.log.append",
    "self.seen.add(1)": "calls self.seen.add",
    "self.memory[0] = x": "changes self.memory",
    "print(x.mean())": "calls print",
    "open('log', 'a').write('1')": "calls open('log', 'a').write",
    "x.mul_(2)": "calls x.mul_",
    "x += 1": "changes x in place",
    "y = x\n        y += 1": "changes y in place",
    "x[0] = 0": "changes x",
    "np.random.rand()": "calls np.random.rand",
    "random.random()": "calls random.random",
    "time.time()": "calls time.time",
    "self.mean.copy_(x.mean(0))": "calls self.mean.copy_",
    "F.relu_(x)": "calls F.relu_",
    "engine.manual_seed(0)": "calls engine.manual_seed",
    "global count": "changes count",
    "self.train()": "calls self.train",
}
MODULE = """\
import random, time
import numpy as np

class Own(nn.Module):
    def __init__(self):
        super().__init__()

    def forward(self, x):
        {line}
        return x
"""


@pytest.mark.parametrize("source", [*PURE.values(), GATE, SCALE], ids=[*PURE, "gate", "scale"])
def test_code_that_only_computes_is_repeatable(source: str) -> None:
    assert state_change(source) is None


@pytest.mark.parametrize("line", EFFECTS)
def test_effects_are_named_with_their_line(line: str) -> None:
    found = state_change(MODULE.format(line=line))
    assert found is not None and found.endswith(EFFECTS[line]) and found.startswith("line ")


def test_hooks_and_unknown_bases_prevent_it() -> None:
    hook = "def own(x):\n    x.register_hook(print)\n    return x\n"
    assert state_change(hook) == "line 2 registers a hook"
    base = "from models import Base\n\nclass Own(Base):\n    def forward(self, x):\n        return x\n"
    assert state_change(base) == "line 3 derives a class from Base"
