"""Random programs with a world around them: parameters, buffers, modules, optimizers, tensors that are kept."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from hypothesis import strategies as st

import engine
from engine import nn, optim
from engine.compiler.array_memory import memory_owner
from engine.nn import functional
from engine.random import default_generator
from engine.utils.checkpoint import checkpoint
from tests.engine.programs import COMPUTE, INDICES, VIEW, WRITE

ROWS = (3, 3, 2, 3, 2)
"""Of the batch in each call: the first calls record, the others are to find what is recorded."""
NUMBERS = (0.5, 0.75, -0.25, 0.5, 1.5)
"""A float that changes from call to call."""
_SHAPES = (*((rows, 4) for rows in ROWS), (3, 4), (4,), (3, 1), (2, 3, 4), (3, 4), (3, 4), (4,))
DRAWN = [np.random.default_rng(seed).normal(size=shape).round(3) for seed, shape in enumerate(_SHAPES)]
"""What the tensors of a world begin with."""


class Boom(Exception):  # noqa: N818 - not of the engine
    """Raised by a program in the middle."""


class World:
    """What is there before and after a call of a program."""

    def __init__(self) -> None:
        engine.manual_seed(0)
        tensors = map(engine.tensor, DRAWN)  # each with a separate copy
        self.inputs = [next(tensors) for _ in ROWS]
        self.leaves = [next(tensors).requires_grad_() for _ in range(3)]
        cube = next(tensors)
        self.outside = [cube, cube[1], next(tensors).float(), engine.arange(12).view(3, 4)]
        self.kept: list[Any] = [*tensors]
        self.norm, self.linear = nn.BatchNorm1d(4, dtype=engine.float64), nn.Linear(4, 4, dtype=engine.float64)
        trained = [*self.leaves, *self.norm.parameters(), *self.linear.parameters()]
        self.optimizers = [
            optim.SGD(trained, lr=0.1, momentum=0.9, nesterov=True),
            optim.Adam(trained, lr=0.05, weight_decay=0.1),
            optim.RMSprop(trained, lr=0.05),
        ]
        self.exposed: list[Any] = []
        """Arrays that NumPy holds."""
        self.hooks: list[Any] = []
        self.call = 0
        self.errors: list[str] = []

    @property
    def number(self) -> float:
        return NUMBERS[self.call]

    def run(self, program: Sequence[Step]) -> list[Any]:
        """One call. Errors of single steps are caught, as a program would; Boom is not."""
        values = [self.inputs[self.call], *self.leaves, *self.outside, *self.kept]
        for step in program:
            if step.name == "drop":
                if len(values) > 1:
                    del values[step.left % len(values)]
                continue
            try:
                with engine.set_grad_enabled(step.recorded):
                    made = self._step(step, values)
            except REFUSALS as error:
                # Under compile, what backward() says tells the line of the call as well.
                message = re.sub(r" \([^()]*:\d+\)", "", str(error))
                self.errors.append(f"{step.name}: {type(error).__name__}: {message}")
                made = None
            if isinstance(made, engine.Tensor):
                values.append(made)
        return values

    def _step(self, step: Step, values: Sequence[Any]) -> Any:
        x, y = values[step.left % len(values)], values[step.right % len(values)]
        if step.name == "backward":
            return x.sum().backward(retain_graph=bool(step.choice % 2))
        if step.name in WRITE:
            return _nothing(WRITE[step.name](engine, x, y, step.choice))
        made = COMPUTE.get(step.name) or VIEW.get(step.name)
        return MORE[step.name](self, x, y, step.choice) if made is None else made(engine, x, y, step.choice)

    # -- steps that need the world

    def branch(self, x: Any, y: Any, n: int) -> Any:
        return x * 2 if x.sum() > 0 else -x

    def item(self, x: Any, y: Any, n: int) -> Any:
        return y * x.sum().item()

    def rows(self, x: Any, y: Any, n: int) -> Any:
        total = y
        for row in x:
            total = total + row
        return total

    def print(self, x: Any, y: Any, n: int) -> None:
        self.errors.append(repr(x))

    def expose(self, x: Any, y: Any, n: int) -> None:
        self.exposed.append(x.detach().numpy())

    def poke(self, x: Any, y: Any, n: int) -> None:
        for array in self.exposed:
            array[...] = array + n

    def keep(self, x: Any, y: Any, n: int) -> None:
        self.kept[n % 2] = x

    def set_data(self, x: Any, y: Any, n: int) -> None:
        x.data = y.detach().clone()

    def swap_data(self, x: Any, y: Any, n: int) -> None:
        if x.shape == y.shape and x.dtype is y.dtype:
            x.data = y.data

    def normalize(self, x: Any, y: Any, n: int) -> Any:
        return self.norm(x)

    def train(self, x: Any, y: Any, n: int) -> None:
        self.norm.train(bool(n % 2))

    def step(self, x: Any, y: Any, n: int) -> None:
        self.optimizers[n % 3].step()

    def zero_grad(self, x: Any, y: Any, n: int) -> None:
        self.optimizers[0].zero_grad(set_to_none=bool(n % 2))

    def scale_grad(self, x: Any, y: Any, n: int) -> None:
        for leaf in self.leaves:
            if leaf.grad is not None:
                leaf.grad.mul_(self.number)

    def clip(self, x: Any, y: Any, n: int) -> Any:
        return nn.utils.clip_grad_norm_(self.leaves, 0.5)

    def gradient(self, x: Any, y: Any, n: int) -> Any:
        leaf = self.leaves[n % 3]
        return engine.autograd.grad(x.sum(), leaf, create_graph=bool(n % 2), retain_graph=True, allow_unused=True)[0]

    def hook(self, x: Any, y: Any, n: int) -> None:
        number = self.number
        self.hooks.append(x.register_hook(lambda gradient: gradient * number))

    def unhook(self, x: Any, y: Any, n: int) -> None:
        for handle in self.hooks:
            handle.remove()

    def raises(self, x: Any, y: Any, n: int) -> None:
        if self.call == n % len(ROWS):
            raise Boom

    def loses(self, x: Any, y: Any, n: int) -> Any:
        loss = functional.cross_entropy(self.linear(x), engine.tensor([0, 1, 3])[: x.shape[0]])
        loss.backward()
        return loss


def _nothing(_: Any) -> None:
    """Drop the result of writes, so that it does not become another value."""


REFUSALS = (RuntimeError, TypeError, ValueError, IndexError, ArithmeticError)

MORE: dict[str, Callable[[World, Any, Any, int], Any]] = {
    name: getattr(World, name)
    for name in (
        "branch", "item", "rows", "print", "expose", "poke", "keep", "set_data", "swap_data", "normalize", "train",
        "step", "zero_grad", "scale_grad", "clip", "gradient", "hook", "unhook", "raises", "loses",
    )
} | {
    "scale": lambda w, x, y, n: x * w.number,
    "add_alpha": lambda w, x, y, n: x.add(y, alpha=w.number),
    "power": lambda w, x, y, n: (x.abs() + 0.1) ** w.number,
    "times_whole": lambda w, x, y, n: x * n - 1,
    "clamp_number": lambda w, x, y, n: x.clamp(min=-w.number),
    "blend": lambda w, x, y, n: x.lerp(y, w.number),
    "add_number_": lambda w, x, y, n: _nothing(x.add_(w.number)),
    "fill_number_": lambda w, x, y, n: _nothing(x.fill_(w.number)),
    "mix_": lambda w, x, y, n: _nothing(x.mul_(w.number).add_(y, alpha=1 - w.number)),
    "part_": lambda w, x, y, n: _nothing(x[0][..., n % 3 :].mul_(2)),
    "alias_": lambda w, x, y, n: _nothing(x.view(-1)[1:].add_(x.view(-1)[:-1])),
    "self_": lambda w, x, y, n: _nothing(x.add_(x.mT if x.ndim > 1 and n % 2 else x)),
    "number_at": lambda w, x, y, n: x.__setitem__(INDICES[n], w.number),
    "full": lambda w, x, y, n: engine.full((3, 4), w.number, dtype=engine.float64),
    "ones_like": lambda w, x, y, n: engine.ones_like(x),
    "dropout": lambda w, x, y, n: functional.dropout(x, 0.4),
    "dropout_": lambda w, x, y, n: _nothing(functional.dropout(x, 0.4, inplace=True)),
    "rand_like": lambda w, x, y, n: engine.rand_like(x),
    "randn": lambda w, x, y, n: engine.randn(3, 4, dtype=engine.float64) * x,
    "bernoulli": lambda w, x, y, n: engine.bernoulli(x.sigmoid()),
    "normal_": lambda w, x, y, n: _nothing(x.normal_(0, 2)),
    "uniform_": lambda w, x, y, n: _nothing(x.uniform_(w.number, 3)),
    "randperm": lambda w, x, y, n: x[engine.randperm(2)],
    "linear": lambda w, x, y, n: w.linear(x),
    "single": lambda w, x, y, n: x.float(),
    "double": lambda w, x, y, n: x.double(),
    "half": lambda w, x, y, n: x.half(),
    "bfloat": lambda w, x, y, n: x.bfloat16(),
    "long": lambda w, x, y, n: (x * 3).long(),
    "compared": lambda w, x, y, n: x > y,
    "where_": lambda w, x, y, n: engine.where(x > 0, x, w.number),
    "nonzero": lambda w, x, y, n: engine.nonzero(x),
    "data": lambda w, x, y, n: x.data,
    "itself": lambda w, x, y, n: x,
    "requires": lambda w, x, y, n: _nothing(x.requires_grad_()),
    "retain": lambda w, x, y, n: x.retain_grad(),
    "out": lambda w, x, y, n: engine.add(x, y, out=w.outside[0][0]),
    "checkpoint": lambda w, x, y, n: checkpoint(lambda z: functional.dropout(z.sin(), 0.5) * y, x, use_reentrant=False),
    "break": lambda w, x, y, n: engine.graph_break() if hasattr(engine, "graph_break") else None,
    "size": lambda w, x, y, n: x / x.shape[0] if x.ndim else x + x.numel(),
    "sums": lambda w, x, y, n: x.sum(-1, keepdim=True) / (x.numel() + w.number),
    "attention": lambda w, x, y, n: functional.scaled_dot_product_attention(x[None], x[None], x[None]),
    "signed_zero": lambda w, x, y, n: (x * 0) + 0,
    "nan": lambda w, x, y, n: (x - x) / (x - x) * y,
}  # fmt: skip

TRAINING = (
    "normalize", "linear", "dropout", "dropout_", "checkpoint", "loses", "backward", "step", "zero_grad", "train",
    "branch", "item", "raises",
)  # fmt: skip
"""What trainings are made of."""


@dataclass(frozen=True)
class Step:
    """One operation on the values made so far; `left` and `right` count modulo how many there are."""

    name: str
    left: int
    right: int = 0
    choice: int = 0
    recorded: bool = True
    """False: under no_grad."""


def steps() -> st.SearchStrategy[Step]:
    """Each kind of step comes up as often, since views, writes and what needs the world are where things go wrong."""
    kinds = ([*COMPUTE, "backward"], list(VIEW), list(WRITE), [*MORE, "drop", "backward"], TRAINING)
    number = st.integers(0, 14)
    return st.builds(
        Step, st.one_of(*map(st.sampled_from, kinds)), number, number, st.integers(0, len(INDICES) - 1),
        st.integers(0, 6).map(bool),
    )  # fmt: skip


# -- what can be seen of it afterwards ------------------------------------------------------------


@dataclass
class Seen:
    """Everything about a world and the results of a call that a program could find out."""

    error: str
    errors: list[str]
    arrays: list[Any] = field(default_factory=list)
    facts: list[Any] = field(default_factory=list)
    shares: list[tuple[int, int]] = field(default_factory=list)
    """Pairs of tensors that share memory."""
    generator: Any = None


def see(world: World, values: Sequence[Any], error: str) -> Seen:
    """What there is after a call, copied."""
    modules = [*world.norm.state_dict(keep_vars=True).values(), *world.linear.state_dict(keep_vars=True).values()]
    tensors = [*world.leaves, *world.outside, *world.kept, *modules, *values]
    tensors += [t.grad for t in tensors if t.grad is not None]
    tensors += [
        v for o in world.optimizers for s in o.state.values() for v in s.values() if isinstance(v, engine.Tensor)
    ]
    seen = Seen(error, list(world.errors), generator=default_generator.get_state())
    arrays = [t._numbers() for t in tensors] + world.exposed
    seen.arrays = [array.copy() for array in arrays]
    seen.facts = [_facts(t) for t in tensors]
    seen.shares = _shares(arrays)
    return seen


def _shares(arrays: Sequence[Any]) -> list[tuple[int, int]]:
    parts: dict[int, list[int]] = {}
    for number, array in enumerate(arrays):
        parts.setdefault(id(memory_owner(array)), []).append(number)
    bounds = {i: np.lib.array_utils.byte_bounds(arrays[i]) for part in parts.values() if len(part) > 1 for i in part}
    return [
        (i, j) for i, (a, b) in bounds.items() for j, (c, d) in bounds.items() if j < i and a < d and c < b and a < b
    ]


def _facts(tensor: Any) -> tuple[Any, ...]:
    shape, node = tensor.shape, tensor.grad_fn
    strides = tensor.stride() if 0 not in shape else ()
    if 1 in shape:
        strides = tuple(s for s, n in zip(strides, shape, strict=False) if n > 1)
    version = None if tensor.is_inference() else tensor._version
    return (
        shape, tensor.dtype, strides, tensor.is_contiguous(), tensor.requires_grad, tensor.is_leaf,
        tensor.grad is None, version, tensor.output_nr, _names(node) if node else [], tensor._base is None,
    )  # fmt: skip


def _names(node: Any) -> list[str]:
    """The names of the nodes behind one, each once, as they come."""
    found: list[str] = []
    waiting: list[Any] = [node]
    met: dict[int, Any] = {}
    while waiting and len(found) < 100:
        one = waiting.pop(0)
        if one is None or id(one) in met:
            continue
        met[id(one)] = one  # some are created on access; keeping them alive keeps ids unique
        found.append(one.name())
        waiting += [following for following, _ in one.next_functions]
    return found


def same(ours: Seen, expected: Seen) -> None:
    """Raises AssertionError for any difference of bits, except in the payload of a NaN."""
    assert ours.error == expected.error
    assert ours.errors == expected.errors
    assert ours.facts == expected.facts
    for number, (a, b) in enumerate(zip(ours.arrays, expected.arrays, strict=True)):
        assert (a.dtype, a.shape) == (b.dtype, b.shape)
        if a.tobytes() == b.tobytes():
            continue
        np.testing.assert_array_equal(a, b, f"tensor {number}")
        if a.dtype.kind == "f":
            np.testing.assert_array_equal(np.signbit(a) | np.isnan(a), np.signbit(b) | np.isnan(b), f"tensor {number}")
    assert ours.shares == expected.shares
    assert ours.generator == expected.generator


def history(program: Sequence[Step], run: Callable[[World, Sequence[Step]], list[Any]]) -> list[Seen]:
    """What is seen after each of several calls."""
    world, found = World(), []
    for number in range(len(ROWS)):
        world.call, error, values = number, "", []
        try:
            values = run(world, program)
        except Boom:
            error = "Boom"
        found.append(see(world, values, error))
        del values
    return found
