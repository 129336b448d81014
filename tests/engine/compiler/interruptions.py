"""Training steps that are interrupted at chosen points of the engine's code, and the state of the model afterwards."""

from __future__ import annotations

import copy
import dis
import sys
from collections.abc import Callable
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

import numpy as np

import engine
from engine import nn
from engine.nn import functional as F

_ENGINE = str(Path(engine.__file__).parent)
_CHECKING = ("CALL", "RESUME", "JUMP_BACKWARD", "POP_JUMP_BACKWARD")
"""After these instructions CPython handles signals, and raises what other threads send."""


class Interrupter:
    """Raises KeyboardInterrupt in the engine's code, and in that of the steps below, where CPython could.

    Args:
        at: index of the point, from 0; None to count the points
    """

    def __init__(self, at: int = -1) -> None:
        self._at = at
        self.count = 0
        """Number of points so far."""
        self._codes: dict[CodeType, tuple[frozenset[int], dict[int, int]]] = {}

    def call(self, function: Callable[[], Any]) -> bool:
        """Whether the call was interrupted."""
        before = sys.gettrace()
        sys.settrace(self._entered)
        try:
            function()
        except KeyboardInterrupt:
            return True
        finally:
            sys.settrace(before)
        return False

    def _entered(self, frame: FrameType, event: str, arg: Any) -> Any:
        name = frame.f_code.co_filename
        if not name.startswith((_ENGINE, "<plan", __file__)) or frame.f_code is Interrupter.call.__code__:
            return None
        frame.f_trace_opcodes, frame.f_trace_lines = True, False
        checking, handlers = self._known(frame.f_code)
        before = 0

        def step(frame: FrameType, event: str, arg: Any) -> Any:
            nonlocal before
            if event == "opcode":
                now = frame.f_lasti
                if before in checking and handlers.get(before) == handlers.get(now):
                    self.count += 1
                    if self.count == self._at + 1:
                        raise KeyboardInterrupt
                before = now
            return step

        return step

    def _known(self, code: CodeType) -> tuple[frozenset[int], dict[int, int]]:
        """After what CPython may raise, as is done before the next instruction here; and what handles exceptions."""
        found = self._codes.get(code)
        if found is None:
            bytecode = dis.Bytecode(code)
            offsets = frozenset(one.offset for one in bytecode if one.opname.startswith(_CHECKING))
            handlers: dict[int, int] = {}
            for entry in bytecode.exception_entries:  # pyright: ignore[reportAttributeAccessIssue]
                for offset in range(entry.start, entry.end):
                    handlers[offset] = entry.target
            found = self._codes[code] = offsets, handlers
        return found


class Training:
    """A model with its optimizer, and a batch for each step."""

    def __init__(self, model: nn.Module, optimizer: Any, inputs: Callable[[], Any], classes: int) -> None:
        self.model, self.optimizer = model, optimizer
        self.batches = [(inputs(), engine.randint(0, classes, (4,))) for _ in range(5)]
        self.train: Callable[..., Any] = train
        self.scaler: Any = None

    def state(self) -> dict[str, Any]:
        """All that a step changes."""
        found: dict[str, Any] = {"generator": tuple(engine.get_rng_state()), "steps": self.optimizer.steps}
        for name, one in (*self.model.named_parameters(), *self.model.named_buffers()):
            found[name] = _bits(one)
            found[f"{name}.grad"] = None if one.grad is None else _bits(one.grad)
            for key, value in self.optimizer.state[one].items() if isinstance(one, nn.Parameter) else ():
                found[f"{name}.{key}"] = _plain(value)
        if self.scaler is not None:
            found["scaler"] = copy.deepcopy(vars(self.scaler))
        return found


def _plain(value: Any) -> Any:
    if isinstance(value, list):
        return [_plain(item) for item in value]
    return _bits(value) if isinstance(value, engine.Tensor) else value


def _bits(tensor: Any) -> tuple[Any, bytes]:
    array = tensor.detach().clone().numpy()  # a separate buffer: plans do not write to memory that others can see
    assert isinstance(array, np.ndarray)
    assert np.isfinite(array).all()
    return array.shape, array.tobytes()


class _Lstm(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.lstm = nn.LSTM(3, 5, batch_first=True)
        self.head = nn.Linear(5, 3)

    def forward(self, x: Any) -> Any:
        return self.head(self.lstm(x)[0][:, -1])


class _Gpt(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.tokens, self.positions = nn.Embedding(7, 8), nn.Parameter(engine.randn(6, 8))
        self.block = nn.TransformerEncoderLayer(8, 2, 16, dropout=0.1, batch_first=True)
        self.head = nn.Linear(8, 3)

    def forward(self, x: Any) -> Any:
        return self.head(self.block(self.tokens(x) + self.positions)[:, -1])


def _mlp() -> Training:
    model = nn.Sequential(nn.Linear(6, 9), nn.ReLU(), nn.Dropout(0.5), nn.Linear(9, 3))
    return Training(model, engine.optim.Adam(model.parameters(), 0.01), lambda: engine.randn(4, 6), 3)


def _cnn() -> Training:
    model = nn.Sequential(
        nn.Conv2d(1, 3, 3), nn.BatchNorm2d(3), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(), nn.Linear(27, 3)
    )
    return Training(
        model, engine.optim.SGD(model.parameters(), 0.05, momentum=0.9), lambda: engine.randn(4, 1, 8, 8), 3
    )


def _lstm() -> Training:
    model = _Lstm()
    return Training(model, engine.optim.RMSprop(model.parameters(), 0.01), lambda: engine.randn(4, 6, 3), 3)


def _gpt() -> Training:
    model = _Gpt()
    return Training(model, engine.optim.AdamW(model.parameters(), 0.01), lambda: engine.randint(0, 7, (4, 6)), 3)


def train(model: nn.Module, optimizer: Any, x: Any, y: Any) -> Any:
    optimizer.zero_grad()
    loss = F.cross_entropy(model(x), y)
    loss.backward()
    optimizer.step()
    return loss


def _lbfgs() -> Training:
    """Breaks the graph for each number that its search needs."""
    model = nn.Sequential(nn.Linear(4, 5), nn.Tanh(), nn.Linear(5, 3))
    optimizer = engine.optim.LBFGS(model.parameters(), 0.5, max_iter=2)
    found = Training(model, optimizer, lambda: engine.randn(4, 4), 3)

    def by_closure(model: nn.Module, optimizer: Any, x: Any, y: Any) -> Any:
        def closure() -> Any:
            optimizer.zero_grad()
            loss = F.cross_entropy(model(x), y)
            loss.backward()
            return loss

        return optimizer.step(closure)

    found.train = by_closure
    return found


def _scaled() -> Training:
    """Breaks the graph where it judges a gradient."""
    found = _mlp()
    found.scaler = scaler = engine.amp.GradScaler("cpu", growth_interval=2)

    def scaled(model: nn.Module, optimizer: Any, x: Any, y: Any) -> Any:
        optimizer.zero_grad()
        loss = F.cross_entropy(model(x), y)
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()
        return loss

    found.train = scaled
    return found


MODELS = (_Lstm, _Gpt)
TRAININGS: dict[str, Callable[[], Training]] = {"mlp": _mlp, "cnn": _cnn, "lstm": _lstm, "gpt": _gpt}
BREAKING: dict[str, Callable[[], Training]] = {"lbfgs": _lbfgs, "scaled": _scaled}
"""Trainings whose steps have graph breaks."""


def training(name: str) -> Training:
    """The same each time."""
    engine.manual_seed(0)
    return (TRAININGS | BREAKING)[name]()


__all__ = ["BREAKING", "MODELS", "TRAININGS", "Interrupter", "Training", "train", "training"]
