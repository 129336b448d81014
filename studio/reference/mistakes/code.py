"""Mistakes with Python nodes."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from textwrap import indent

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

_MODULE = """\
class Own(nn.Module):
    def __init__(self):
        super().__init__()
{made}

    def forward(self, input):
{body}
"""


def _module(made: str, body: str) -> str:
    made, body = (indent(each, " " * 8) for each in (made, body))
    return _MODULE.format(made=made, body=body)


_FORWARD_OF_CLASS = _module("self.layer = nn.Linear(32, 32)", "return nn.Linear.forward(self.layer, input).relu()")
_SUMMED = _module("self.total = 0.0", "y = input.relu()\nself.total = self.total + y.mean()\nreturn y")
_DICT = _module("self.outputs = {}", "y = input.relu()\nself.outputs[len(self.outputs)] = y\nreturn y")
_MODE_ASSIGNED = _module("self.drop = nn.Dropout(0.2)", "self.drop.training = True\nreturn self.drop(input).relu()")
_MODE_OVERRIDDEN = (
    _module("self.drop = nn.Dropout(0.2)", "return self.drop(input).relu()")
    + "\n    def train(self, mode=True):\n        return super().train(True)\n"
)
_MASK = _module(
    "self.layer = nn.Linear(32, 32)", "y = self.layer(input)\nreturn y * (engine.rand_like(y) > 0.2).float()"
)
_LOCAL_LIST = _module(
    "layers = []\nfor _ in range(2):\n    layers.append(nn.Linear(32, 32))\nself.layers = layers",
    "for layer in self.layers:\n    input = layer(input).relu()\nreturn input",
)
_RANDOM_TENSOR = _module("self.weight = engine.randn(32, 32) * 0.1", "return (input @ self.weight).relu()")
_OUTSIDE = """\
layer = nn.Linear(32, 32)

def layered(input):
    return layer(input).relu()
"""
_PLAIN_BUFFER = _module("self.offset = engine.ones(32)", "return (input + self.offset).relu()")
_MADE_ON_CPU = "def shifted(input):\n    return (input + engine.ones(32)).relu()\n"
_PRINTED = """\
def shown(input):
    print(f"mean {input.mean()}")
    return input.relu()
"""
_MATH = "import math\n\ndef scaled(input):\n    return (input / math.sqrt(1 + (input ** 2).mean())).relu()\n"
_ARRAY = """\
import numpy as np

def scaled(input):
    return input.relu() / (1 + float(np.asarray(input.detach()).max()))
"""
_ZEROS = _module(
    "self.layer = nn.Linear(32, 32)\nself.gate = nn.Linear(32, 32)\nnn.init.zeros_(self.layer.weight)\n"
    "nn.init.zeros_(self.gate.weight)",
    "return self.gate(self.layer(input).relu()).relu()",
)
_EQUAL = _module(
    "self.layer = nn.Linear(32, 32)\nfor each in self.modules():\n    if isinstance(each, nn.Linear):\n"
    "        each.weight.data.fill_(0.1)",
    "return self.layer(input).relu()",
)
_LARGE = _module("self.weight = nn.Parameter(engine.randn(32, 32) * 20)", "return (input @ self.weight).tanh()")
_DETACHED = "def shifted(input):\n    y = input.detach()\n    return (y + 1).relu()\n"
_COMPARED = "def above(input):\n    return (input > 0).float()\n"
_UNTRUSTED = """\
def rectified(input):
    return input.relu()  # not trusted
"""
_MISSPELLED = """\
def normalized(input):
    return (input / input.nrom()).relu()
"""


def _untrusted(_: Path) -> Document:
    """A project with code that the user has not trusted."""
    layers = {
        "flatten": "nn.Flatten",
        "hidden": Node("nn.Linear", {"out_features": 32}),
        "own": Node("studio.Python", {"source": _UNTRUSTED}),
        "logits": Node("nn.Linear", {"in_features": 32, "out_features": 10}),
    }
    return digits(layers)


def _mistake(name: str, code: str, source: str, *, goal: Goal | None = None, has_fix: bool = True) -> Mistake:
    return Mistake(name, code, "own", _project(source), goal=goal, has_fix=has_fix)


CODE: tuple[Mistake, ...] = (
    Mistake("untrusted_code", "untrusted-code", "own", _untrusted, has_fix=False),
    _mistake("misspelled_method", "code-failed", _MISSPELLED, has_fix=False),
    _mistake("forward_called", "code-forward", _FORWARD),
    _mistake("backward_in_a_node", "code-training-step", _BACKWARD),
    _mistake("losses_in_a_list", "code-kept-values", _KEPT, goal=_LEARNED),
    _mistake("sum_of_losses", "code-kept-values", _TOTAL),
    _mistake("dropout_in_validation", "code-training-mode", _ALWAYS_DROPS, goal=_LEARNED),
    _mistake("dropout_function_in_validation", "code-training-mode", _DROPPING_FUNCTION, goal=_LEARNED),
    _mistake("train_called", "code-training-mode", _TRAIN_CALLED),
    _mistake("list_of_layers", "code-unregistered", _PLAIN_LIST, goal=_LEARNED),
    _mistake("dict_of_layers", "code-unregistered", _PLAIN_DICT),
    _mistake("appended_layers", "code-unregistered", _APPENDED),
    _mistake("layer_made_in_forward", "code-unregistered", _MADE_IN_FORWARD, goal=_LEARNED),
    _mistake("tensor_as_parameter", "code-unregistered", _PLAIN_TENSOR),
    _mistake("weights_of_zeros", "code-initialization", _ZEROS, goal=_LEARNED),
    _mistake("equal_weights_of_all_layers", "code-initialization", _EQUAL),
    _mistake("matrix_of_large_weights", "code-initialization", _LARGE),
    _mistake("detached_result", "code-no-gradient", _DETACHED, goal=_LEARNED),
    _mistake("compared_result", "code-no-gradient", _COMPARED, has_fix=False),
    _mistake("fixed_device", "code-device", _FIXED_DEVICE),
    _mistake("tensor_moved", "code-device", _MOVED),
    _mistake("item_in_forward", "code-read-back", _ITEM, goal=_LEARNED),
    _mistake("float_in_forward", "code-read-back", _FLOAT),
    _mistake("numpy_in_forward", "code-read-back", _NUMPY),
    _mistake("forward_of_a_class", "code-forward", _FORWARD_OF_CLASS),
    _mistake("sum_in_an_attribute", "code-kept-values", _SUMMED),
    _mistake("values_in_a_dict", "code-kept-values", _DICT),
    _mistake("mode_assigned", "code-training-mode", _MODE_ASSIGNED),
    _mistake("mode_overridden", "code-training-mode", _MODE_OVERRIDDEN),
    _mistake("mask_in_validation", "code-training-mode", _MASK, has_fix=False),
    _mistake("local_list_of_layers", "code-unregistered", _LOCAL_LIST),
    _mistake("random_tensor_as_parameter", "code-unregistered", _RANDOM_TENSOR),
    _mistake("layer_outside_of_a_class", "code-unregistered", _OUTSIDE, has_fix=False),
    _mistake("tensor_as_buffer", "code-device", _PLAIN_BUFFER),
    _mistake("tensor_made_on_the_cpu", "code-device", _MADE_ON_CPU),
    _mistake("printed_mean", "code-read-back", _PRINTED),
    _mistake("math_of_a_tensor", "code-read-back", _MATH),
    _mistake("array_of_a_tensor", "code-read-back", _ARRAY, has_fix=False),
)

__all__ = ["CODE"]
