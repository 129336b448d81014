"""Mistakes in the source of Python nodes: sound code has none, and corrections keep the rest of the text."""

from __future__ import annotations

import pytest

from studio.lowering.user_code.code_mistakes import code_mistakes
from studio.lowering.user_code.condition_rewrites import without_conditions
from tests.studio.code import GATE, SCALE, code, with_code
from tests.studio.lowering.graphs import report

SOUND = {
    "registered lists": """\
class Stack(nn.Module):
    def __init__(self, depth: int = 2):
        super().__init__()
        self.sizes = [32] * depth
        self.acts = [nn.ReLU(), nn.Tanh()]
        layers = [nn.Linear(32, 32) for _ in range(depth)]
        self.layers = nn.ModuleList(layers)
        self.body = nn.Sequential(*[nn.Linear(32, 32) for _ in range(depth)])
        self.weight = nn.Parameter(engine.ones(32))
        self.gain = nn.Parameter(engine.ones(32, requires_grad=True))

    def forward(self, x):
        for layer, size in zip(self.layers, self.sizes):
            x = layer(x).relu()
        return self.body(x)
""",
    "a base class": """\
class Base(nn.Module):
    def forward(self, x):
        return x

class Sub(Base):
    def forward(self, x):
        return super().forward(x).relu()
""",
    "steps of a sequence": """\
def outputs(x):
    found = []
    for step in x.unbind(1):
        found.append(step.relu())
    return engine.stack(found, 1)
""",
    "sizes": """\
def scaled(x, width: int = 3):
    rows, features = int(x.shape[0]), float(x.size(1))
    return x * (features ** -0.5) + float(width)
""",
    "constants of the constructor": """\
class Scaled(nn.Module):
    def __init__(self, power: float = 2.0):
        super().__init__()
        self.power = float(power)
        self.bound = engine.ones(3).sum().item()

    def forward(self, x):
        return x.clamp(max=self.bound) ** self.power
""",
    "a decision": """\
def signed(x):
    if x.sum().item() > 0:
        return x
    return -x
""",
    "dropout of the mode": """\
class Noisy(nn.Module):
    def forward(self, x):
        x = F.dropout(x, 0.1, self.training)
        return F.dropout(x, p=0.1, training=self.training)
""",
    "stateless layers": """\
def rectified(x):
    return nn.Flatten()(nn.ReLU()(x))
""",
    "the device of the input": """\
def shifted(x):
    steps = engine.arange(x.shape[1], device=x.device)
    return x + steps.to(x.dtype).to(x.device)
""",
    "a straight-through estimator": """\
def rounded(x):
    return x + (x.round() - x).detach()
""",
    "a penalty": """\
def slope(x):
    y = x.pow(2).sum()
    return engine.autograd.grad(y, x, create_graph=True)[0] if x.requires_grad else x
""",
    "buffers and numbers": """\
class Averaged(nn.Module):
    def __init__(self, momentum: float = 0.1):
        super().__init__()
        self.momentum = momentum
        self.half = engine.tensor(0.5)
        self.register_buffer("mean", engine.zeros(32))
        self.register_buffer("recent", engine.zeros(8, 32))

    def forward(self, x):
        if self.training:
            with engine.no_grad():
                self.recent[0] = x.mean(0)
                self.mean.mul_(1 - self.momentum).add_(self.momentum * x.mean(0))
        return (x - self.mean) * self.half
""",
    "a mode that is passed on": """\
class Frozen(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm = nn.BatchNorm1d(32)

    def train(self, mode=True):
        super().train(mode)
        return self

    def forward(self, x):
        return self.norm(x)
""",
    "noise and masks of the mode": """\
class Noisy(nn.Module):
    def __init__(self):
        super().__init__()

    def forward(self, x):
        if not self.training:
            return x
        keep = engine.rand_like(x) > 0.1
        steps = engine.arange(x.shape[0], device=x.device)
        return x * keep + engine.randn(x.shape, device=x.device) + engine.zeros(3).to(x.device).sum() + steps.sum()
""",
    "what is printed once": """\
print("loaded")

def shown(x):
    if x.shape[0] == 0:
        print("empty", x.shape)
    return x
""",
    "a step function": """\
class Counter(nn.Module):
    def __init__(self):
        super().__init__()
        self.calls = 0

    def step(self, x):
        return x

    def forward(self, x):
        self.calls += 1
        return self.step(x)
""",
}


@pytest.mark.parametrize("source", [*SOUND.values(), GATE, SCALE], ids=[*SOUND, "gate", "scale"])
def test_sound_code_has_no_mistakes(source: str) -> None:
    assert code_mistakes(source) == ()


def corrected(source: str) -> str:
    [mistake] = code_mistakes(source)
    assert mistake.source is not None
    assert code_mistakes(mistake.source) == ()
    return mistake.source


def test_a_correction_keeps_comments_and_letters_of_other_alphabets() -> None:
    before = """\
class Müller(nn.Module):
    def __init__(self):
        super().__init__()
        self.größe = "ü"; self.act = nn.ReLU()  # Größe

    def forward(self, x):
        größe = "äöü"; y = self.act.forward(x)  # direkt
        return y
"""
    before = before.replace("class Müller", "class Own")
    assert corrected(before) == before.replace("act.forward", "act")


def test_all_lines_with_a_mistake_are_corrected() -> None:
    source = "def own(x):\n    a = x.amax().item()\n    b = float(x.amin())\n    return (x - b) / (a - b)\n"
    assert corrected(source) == "def own(x):\n    a = x.amax()\n    b = (x.amin())\n    return (x - b) / (a - b)\n"


def test_a_function_that_needs_the_mode_becomes_a_class() -> None:
    source = """\
import math

def noisy(x, p: float = 0.2, scale=1.0):
    # the noise of the paper
    y = F.dropout(x * scale, p)
    if p > 0.5:
        y = F.dropout(y, p=0.1, training=True)
    return y
"""
    assert (
        corrected(source)
        == """\
import math

class noisy(nn.Module):
    def __init__(self, p: float = 0.2, scale = 1.0):
        super().__init__()
        self.p = p
        self.scale = scale

    def forward(self, x):
        y = F.dropout(x * self.scale, self.p, training=self.training)
        if self.p > 0.5:
            y = F.dropout(y, p=0.1, training=self.training)
        return y
"""
    )


def test_conditions_on_tensors_become_choices() -> None:
    source = """\
def clipped(x):
    top = x.abs().max()
    if top > 10:
        x = x / top
    if (x.mean() > 0).any():
        y = x + 1
    else:
        y = x
    if x.shape[0] > 1:
        y = y * 2
    if y.sum() > 0:
        return y
    return -y
"""
    assert (
        without_conditions(source)
        == """\
def clipped(x):
    top = x.abs().max()
    x = engine.where(top > 10, x / top, x)
    y = engine.where((x.mean() > 0).any(), x + 1, x)
    if x.shape[0] > 1:
        y = y * 2
    return engine.where(y.sum() > 0, y, -y)
"""
    )
    assert (
        without_conditions("def f(x):\n    while x.max() > 1:\n        x = x / 2\n        y = x\n    return x\n")
        is None
    )
    assert without_conditions("def f(x):\n    return x\n") is None
    assert without_conditions("def f(x):\n    while x.max() > 1:\n        x /= 2\n    return x\n") == (
        "def f(x):\n    for _ in range(16):\n        x = engine.where(x.max() > 1, x / 2, x)\n    return x\n"
    )


def test_the_only_statement_of_a_block_is_replaced() -> None:
    source = "def own(x):\n    y = x.relu()\n    if y.requires_grad:\n        y.sum().backward()\n    return y\n"
    assert "    if y.requires_grad:\n        pass\n    return y\n" in corrected(source)


def test_a_layer_made_in_forward_moves_to_a_new_constructor() -> None:
    source = "class Head(nn.Module):\n    def forward(self, x):\n        return nn.Linear(64, 8)(x)\n"
    assert corrected(source) == (
        "class Head(nn.Module):\n    def __init__(self):\n        super().__init__()\n"
        "        self.linear = nn.Linear(64, 8)\n\n    def forward(self, x):\n        return self.linear(x)\n"
    )


def test_untrusted_code_is_read_too() -> None:
    source = "def own(x):\n    return x / x.amax().item()\n"
    found = [(each.code, each.node) for each in report(with_code({"own": code(source)})).problems]
    assert found == [("untrusted-code", "own"), ("code-read-back", "own")]


def test_code_that_fails_because_of_a_mistake_is_one_error() -> None:
    source = "def own(x):\n    offset = engine.ones(64, device='cuda')\n    return x + offset\n"
    [mistake] = code_mistakes(source)
    assert (mistake.code, mistake.line) == ("code-device", 2)
    assert "device=x.device" in corrected(source)
