"""Mistakes with Python nodes."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from studio.document.code_trust import TRUST
from studio.document.model import Document, Node
from studio.reference.mistakes.mistake import Goal, Mistake
from studio.reference.mistakes.projects import digits

_LEARNED = Goal("val_loss", 0.9, epochs=6, is_highest=True)


def _project(source: str) -> Callable[[Path], Document]:
    """The digits with a trusted Python node between two layers."""

    def plant(_: Path) -> Document:
        TRUST.allow([source])
        layers = {
            "flatten": "nn.Flatten",
            "hidden": Node("nn.Linear", {"out_features": 32}),
            "own": Node("studio.Python", {"source": source}),
            "logits": Node("nn.Linear", {"out_features": 10}),
        }
        return digits(layers, wires=(), adam=Node("optim.Adam", {"lr": 0.01}))

    return plant


_FORWARD = """\
class Twice(nn.Module):
    def __init__(self):
        super().__init__()
        self.act = nn.ReLU()

    def forward(self, input):
        return self.act.forward(input)
"""
_BACKWARD = """\
def penalty(input):
    y = input.relu()
    if y.requires_grad:
        y.mean().backward(retain_graph=True)  # sparse activations
    return y
"""
_KEPT = """\
class Watched(nn.Module):
    def __init__(self):
        super().__init__()
        self.losses = []

    def forward(self, input):
        y = input.relu()
        self.losses.append(y.mean())
        return y
"""
_TOTAL = """\
class Watched(nn.Module):
    def __init__(self):
        super().__init__()
        self.total = 0.0

    def forward(self, input):
        y = F.relu(input)
        self.total += (y ** 2).mean() + y.mean()
        return y
"""
_ALWAYS_DROPS = """\
class Noisy(nn.Module):
    def __init__(self):
        super().__init__()

    def forward(self, input):
        return F.dropout(input.relu(), 0.2)
"""
_DROPPING_FUNCTION = """\
def noisy(input, p: float = 0.2):
    return F.dropout(input.relu(), p, training=True)
"""
_TRAIN_CALLED = """\
class Noisy(nn.Module):
    def __init__(self):
        super().__init__()
        self.drop = nn.Dropout(0.2)

    def forward(self, input):
        self.train()
        return self.drop(input.relu())
"""
_PLAIN_LIST = """\
class Stack(nn.Module):
    def __init__(self, width: int = 32):
        super().__init__()
        self.layers = [nn.Linear(32, width), nn.Linear(width, 32)]

    def forward(self, input):
        for layer in self.layers:
            input = F.relu(layer(input))
        return input
"""
_PLAIN_DICT = """\
class Stack(nn.Module):
    def __init__(self):
        super().__init__()
        self.parts = {name: nn.Linear(32, 32) for name in ("a", "b")}

    def forward(self, input):
        return F.relu(self.parts["a"](input)) + F.relu(self.parts["b"](input))
"""
_APPENDED = """\
class Stack(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = []
        for _ in range(2):
            self.layers.append(nn.Linear(32, 32))

    def forward(self, input):
        for layer in self.layers:
            input = layer(input).relu()
        return input
"""
_MADE_IN_FORWARD = """\
class Head(nn.Module):
    def __init__(self):
        super().__init__()

    def forward(self, input):
        return nn.Linear(32, 32)(input).relu()
"""
_PLAIN_TENSOR = """\
class Scale(nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = engine.ones(32, requires_grad=True)

    def forward(self, input):
        return (self.weight * input).relu()
"""
_FIXED_DEVICE = """\
def shifted(input):
    offset = engine.ones(32, device="cpu")
    return (input + offset).relu()
"""
_MOVED = """\
def shifted(input):
    return (input.cpu() + 1).relu()
"""
_ITEM = """\
def rescaled(input):
    top = input.abs().amax().item() + 1e-6
    return (input / top).relu()
"""
_FLOAT = """\
def rescaled(input):
    top = float(input.abs().amax()) + 1e-6
    return (input / top).relu()
"""
_NUMPY = """\
def rescaled(input):
    top = input.detach().numpy().max() + 1e-6
    return (input / float(top)).relu()
"""


def _mistake(name: str, code: str, source: str, *, goal: Goal | None = None, has_fix: bool = True) -> Mistake:
    return Mistake(name, code, "own", _project(source), goal=goal, has_fix=has_fix)


CODE: tuple[Mistake, ...] = (
    _mistake("forward_called", "code-forward", _FORWARD),
    _mistake("backward_in_a_node", "code-training-step", _BACKWARD),
    _mistake("losses_in_a_list", "code-kept-values", _KEPT, goal=_LEARNED),
    _mistake("sum_of_losses", "code-kept-values", _TOTAL),
    _mistake("dropout_in_validation", "code-training-mode", _ALWAYS_DROPS, goal=_LEARNED),
    _mistake("dropout_function_in_validation", "code-training-mode", _DROPPING_FUNCTION, has_fix=False),
    _mistake("train_called", "code-training-mode", _TRAIN_CALLED),
    _mistake("list_of_layers", "code-unregistered", _PLAIN_LIST, goal=_LEARNED),
    _mistake("dict_of_layers", "code-unregistered", _PLAIN_DICT),
    _mistake("appended_layers", "code-unregistered", _APPENDED),
    _mistake("layer_made_in_forward", "code-unregistered", _MADE_IN_FORWARD, goal=_LEARNED),
    _mistake("tensor_as_parameter", "code-unregistered", _PLAIN_TENSOR),
    _mistake("fixed_device", "code-device", _FIXED_DEVICE),
    _mistake("tensor_moved", "code-device", _MOVED),
    _mistake("item_in_forward", "code-read-back", _ITEM, goal=_LEARNED),
    _mistake("float_in_forward", "code-read-back", _FLOAT),
    _mistake("numpy_in_forward", "code-read-back", _NUMPY, has_fix=False),
)

__all__ = ["CODE"]
