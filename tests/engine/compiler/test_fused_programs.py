"""Random programs of what kernels are made of: within rigorous bounds, and to the same bits with NumPy for kernels."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import engine
from engine import optim
from engine.compiler import CompiledFunction
from engine.nn import functional
from tests.compiled import standing_in, waiting
from tests.engine.compiler.bounds import Bounded

SHAPES = ((3, 4), (5, 70), (2, 700), (130, 3), (1, 9), (40, 1))
"""Rows and columns: within one block of lanes and beyond, within one chunk of rows and beyond, of size 1."""
CALLS = 3
"""The first records, the second finds what is recorded, the third is the second again with other numbers."""
RATE, BETAS, SMALL = 0.05, (0.9, 0.999), 1e-8


@dataclass(frozen=True)
class Step:
    """One operation on the values made so far; `left` and `right` count modulo how many there are."""

    name: str
    left: int
    right: int


class Numbers:
    """What a program starts from, the same for all who run it."""

    def __init__(self, shape: tuple[int, int], dtype: Any) -> None:
        random = np.random.default_rng(0)
        rows, columns = shape
        self.shape, self.dtype = shape, dtype

        def drawn(*shape: int) -> Any:
            return random.normal(size=shape).astype(dtype)

        self.inputs = [drawn(rows, columns) for _ in range(CALLS)]
        self.given = [drawn(rows, columns), drawn(columns), drawn(rows, 1)]
        self.kept = drawn(rows, columns)
        self.weight = drawn(columns, columns) / np.sqrt(columns).astype(dtype)
        self.trained = drawn(columns, 4) / np.sqrt(columns).astype(dtype)
        self.classes = random.integers(0, min(4, columns), rows)


class Real:
    """Runs programs with the engine."""

    def __init__(self, numbers: Numbers) -> None:
        self.inputs = [engine.tensor(one) for one in numbers.inputs]
        self.given = [engine.tensor(one) for one in numbers.given]
        self.kept, self.weight = engine.tensor(numbers.kept), engine.tensor(numbers.weight)
        self.trained = engine.tensor(numbers.trained).requires_grad_()
        self.optimizer = optim.Adam([self.trained], lr=RATE, betas=BETAS, eps=SMALL)
        self.classes = engine.tensor(numbers.classes)

    def run(self, program: Sequence[Step], number: int) -> list[Any]:
        values = [self.inputs[number], *self.given]
        for step in program:
            values.append(STEPS[step.name](self, *_operands(step, values)))
        return [*values, self.kept, self.trained]

    def softmax(self, x: Any) -> Any:
        return functional.softmax(x, -1)

    def log_softmax(self, x: Any) -> Any:
        return functional.log_softmax(x, -1)

    def layer_norm(self, x: Any) -> Any:
        return functional.layer_norm(x, x.shape[-1:])

    def batch_norm(self, x: Any) -> Any:
        return functional.batch_norm(x, None, None, training=True)

    def gradient(self, f: Callable[[Any], Any], x: Any, g: Any) -> Any:
        leaf = x.detach().requires_grad_()
        return engine.autograd.grad((f(leaf) * g).sum(), leaf)[0]

    def tanh_slope(self, x: Any, g: Any) -> Any:
        return self.gradient(lambda one: one.tanh(), x, g)

    def softmax_backward(self, x: Any, g: Any) -> Any:
        return self.gradient(self.softmax, x, g)

    def log_softmax_backward(self, x: Any, g: Any) -> Any:
        return self.gradient(self.log_softmax, x, g)

    def layer_norm_slope(self, x: Any, g: Any) -> Any:
        return self.gradient(self.layer_norm, x, g)

    def cross_entropy(self, x: Any) -> Any:
        return functional.cross_entropy(x, self.classes)

    def train(self, x: Any) -> Any:
        self.optimizer.zero_grad()
        loss = functional.cross_entropy(x.detach() @ self.trained, self.classes)
        loss.backward()
        self.optimizer.step()
        return loss.detach()

    def write(self, x: Any, factor: float) -> Any:
        self.kept.mul_(factor).add_(x, alpha=1 - factor)
        return self.kept * 1

    def part(self, x: Any) -> Any:
        self.kept[1:].copy_(x[1:].tanh())
        return self.kept.sum(0)


class Judge:
    """Runs them with bounds. Each op here says what the engine's is, not how it is computed."""

    def __init__(self, numbers: Numbers) -> None:
        self.inputs, self.given = [Bounded(one) for one in numbers.inputs], [Bounded(one) for one in numbers.given]
        self.kept, self.weight, self.trained = map(Bounded, (numbers.kept, numbers.weight, numbers.trained))
        self.classes, self.steps = numbers.classes, 0
        self.mean = self.square = Bounded(np.zeros(numbers.trained.shape))

    run = Real.run

    def softmax(self, x: Bounded) -> Bounded:
        powers = (x - x.amax(-1)).exp()
        return powers / powers.sum(-1)

    def log_softmax(self, x: Bounded) -> Bounded:
        shifted = x - x.amax(-1)
        return shifted - shifted.exp().sum(-1).log()

    def _normalized(self, x: Bounded, dim: int) -> tuple[Bounded, Bounded]:
        centered = x - x.mean(dim)
        steep = (centered.square().mean(dim) + 1e-5).rsqrt()
        return centered * steep, steep

    def layer_norm(self, x: Bounded) -> Bounded:
        return self._normalized(x, -1)[0]

    def batch_norm(self, x: Bounded) -> Bounded:
        return self._normalized(x, 0)[0]

    def tanh_slope(self, x: Bounded, g: Bounded) -> Bounded:
        y = x.tanh()
        return g * (Bounded(1.0) - y * y)

    def softmax_backward(self, x: Bounded, g: Bounded) -> Bounded:
        y = self.softmax(x)
        return (g - (g * y).sum(-1)) * y

    def log_softmax_backward(self, x: Bounded, g: Bounded) -> Bounded:
        return g - self.log_softmax(x).exp() * g.sum(-1)

    def layer_norm_slope(self, x: Bounded, g: Bounded) -> Bounded:
        scaled, steep = self._normalized(x, -1)
        return (g - g.mean(-1) - scaled * (g * scaled).mean(-1)) * steep

    def _entropy(self, x: Bounded) -> tuple[Bounded, Bounded]:
        """The mean loss, and its gradient."""
        rows = x.shape[0]
        own = np.arange(rows), self.classes
        shifted = x - x.amax(-1)
        norms = shifted.exp().sum(-1)
        losses = norms.log() - Bounded(shifted.value[own][:, None], shifted.error[own][:, None])
        hot = np.zeros(x.shape)
        hot[own] = 1
        return losses.mean(0, keepdim=False).sum(0, keepdim=False), (self.softmax(x) - Bounded(hot)) / float(rows)

    def cross_entropy(self, x: Bounded) -> Bounded:
        return self._entropy(x)[0]

    def train(self, x: Bounded) -> Bounded:
        loss, slope = self._entropy(x.matmul(self.trained))
        gradient = x.transpose().matmul(slope)
        self.steps += 1
        self.mean = self.mean + (gradient - self.mean) * Bounded(1 - BETAS[0]).rounded()
        self.square = self.square * BETAS[1] + gradient.square() * Bounded(1 - BETAS[1]).rounded()
        fixes = [1 - beta**self.steps for beta in BETAS]
        divisor = self.square.sqrt() + SMALL * fixes[1] ** 0.5
        self.trained = self.trained - self.mean * Bounded(RATE * fixes[1] ** 0.5 / fixes[0]).rounded() / divisor
        return loss

    def write(self, x: Bounded, factor: float) -> Bounded:
        self.kept = self.kept * factor + x * (1 - factor)
        return self.kept

    def part(self, x: Bounded) -> Bounded:
        below = x.tanh()
        value, error = self.kept.value.copy(), self.kept.error.copy()
        value[1:], error[1:] = below.value[1:], below.error[1:]
        self.kept = Bounded(value, error)
        return self.kept.sum(0, keepdim=False)


Operation = Callable[..., Any]

STEPS: dict[str, Operation] = {
    "exp": lambda m, x, y: x.clamp(-9.0, 9.0).exp(),
    "tanh": lambda m, x, y: x.tanh(),
    "sigmoid": lambda m, x, y: x.sigmoid(),
    "log": lambda m, x, y: (x.abs() + 0.5).log(),
    "sqrt": lambda m, x, y: (x.abs() + 0.25).sqrt(),
    "relu": lambda m, x, y: x.relu(),
    "add": lambda m, x, y: x + y,
    "sub": lambda m, x, y: x - y * 0.3,
    "mul": lambda m, x, y: (x * y).clamp(-50.0, 50.0),
    "div": lambda m, x, y: x / (y.abs() + 1.0),
    "maximum": lambda m, x, y: x.maximum(y),
    "sum_of_rows": lambda m, x, y: (x + y).sum(-1, keepdim=True),
    "sum_over_rows": lambda m, x, y: (x * y).sum(0, keepdim=False),
    "mean": lambda m, x, y: x - x.mean(-1, keepdim=True),
    "mean_over_rows": lambda m, x, y: x - x.mean(0, keepdim=True),
    "largest": lambda m, x, y: x - x.amax(-1, keepdim=True),
    "variance": lambda m, x, y: (x - x.mean(-1, keepdim=True)).square().mean(-1, keepdim=True).clamp(0.0, 1e4),
    "norm": lambda m, x, y: x / (x.square().sum(-1, keepdim=True) + 1.0).sqrt(),
    "matmul": lambda m, x, y: x.matmul(m.weight),
    "linear_tanh": lambda m, x, y: (x.matmul(m.weight) + y).tanh(),
    "softmax": lambda m, x, y: m.softmax(x),
    "log_softmax": lambda m, x, y: m.log_softmax(x),
    "layer_norm": lambda m, x, y: m.layer_norm(x),
    "batch_norm": lambda m, x, y: m.batch_norm(x) if x.shape[0] > 1 else x * 1.0,
    "tanh_slope": lambda m, x, y: m.tanh_slope(x, x + y),
    "softmax_backward": lambda m, x, y: m.softmax_backward(x, x + y),
    "log_softmax_backward": lambda m, x, y: m.log_softmax_backward(x, x + y),
    "layer_norm_slope": lambda m, x, y: m.layer_norm_slope(x, x + y),
    "cross_entropy": lambda m, x, y: m.cross_entropy(x),
    "train": lambda m, x, y: m.train(x),
    "write": lambda m, x, y: m.write(x, 0.75),
    "part": lambda m, x, y: m.part(x),
}


def _operands(step: Step, values: Sequence[Any]) -> tuple[Any, Any]:
    """A value of all rows and columns, and one that broadcasts to it."""
    whole = tuple(values[0].shape)
    full = [value for value in values if tuple(value.shape) == whole]
    return full[step.left % len(full)], values[step.right % len(values)]


def history(runner: Real, run: Callable[..., list[Any]], program: Sequence[Step]) -> list[list[Any]]:
    """The numbers of all values after each call."""
    return [[one.detach().numpy().copy() for one in run(runner, program, number)] for number in range(CALLS)]


def steps() -> st.SearchStrategy[Step]:
    return st.builds(Step, st.sampled_from(list(STEPS)), st.integers(0, 7), st.integers(0, 7))


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@settings(max_examples=int(os.environ.get("PROGRAMS", "60" if os.environ.get("CI") else "25")))
@given(
    st.lists(steps(), min_size=1, max_size=6),
    st.sampled_from(SHAPES),
    st.sampled_from([np.float32, np.float64]),
)
def test_kernels_and_reference_kernels_agree_within_bounds(
    program: list[Step], shape: tuple[int, int], dtype: Any
) -> None:
    numbers, judge = Numbers(shape, dtype), Judge(Numbers(shape, dtype))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Bounded, "unit", float(np.finfo(dtype).eps) / 2)
        bounds = [judge.run(program, number) for number in range(CALLS)]
    eager = history(Real(numbers), Real.run, program)
    with standing_in():
        recorded = CompiledFunction(Real.run, exact=True)
        uncompiled = [history(Real(numbers), recorded, program) for _ in range(2)]
    with waiting():
        compiled = history(Real(numbers), CompiledFunction(Real.run, exact=True), program)
    for found in uncompiled:  # the first call records the paths
        for ours, expected in zip(compiled, found, strict=True):
            assert [array.tobytes() for array in ours] == [array.tobytes() for array in expected]
    for found in (eager, compiled):
        for call, expected in zip(found, bounds, strict=True):
            for number, (array, bound) in enumerate(zip(call, expected, strict=True)):
                assert array.shape == bound.shape
                off = np.abs(array.astype(np.float64) - bound.value)
                inside = off <= bound.error
                assert inside.all(), f"value {number}: {off[~inside][0]}, not at most {bound.error[~inside][0]}"
