"""Computes a kernel's program with NumPy, bit for bit, while the kernel compiles or if it cannot be compiled.

Both do the same IEEE operations on each element, and reductions keep the order of the schedule.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from engine.compiler.kernels.cpu_expressions import LIBRARY, ROUNDINGS, SIMPLE_POWERS, package_function
from engine.compiler.kernels.kernel_program import Axes, KernelProgram
from engine.compiler.kernels.kernel_schedule import KernelSchedule
from engine.compiler.kernels.numpy_functions import apply_elementwise, numpy_functions
from engine.compiler.kernels.ordered_reductions import reduce_columns, reduce_rows, reduce_vector
from engine.compiler.kernels.scalar_expression import BOOL, Expression, walk

BLOCK_ELEMENTS = 1 << 15
"""Elements of the iteration space that are computed together, so that intermediate values stay in the CPU cache."""

ReferenceStep = tuple[Callable[..., Any], tuple[int, ...], int, tuple[int, ...]]
"""A function, registers of its arguments, register of its result, and registers that are free afterwards."""


@dataclass(slots=True)
class ReferencePass:
    """One pass: steps that run once, and steps that run for each part."""

    once: list[ReferenceStep] = field(default_factory=list)
    per_part: list[ReferenceStep] = field(default_factory=list)
    reads: list[tuple[int, int]] = field(default_factory=list)
    """Register and read index of inputs that differ between parts."""
    sums: list[tuple[Expression, int]] = field(default_factory=list)
    """Reductions over rows, and the register of their argument."""
    stores: list[tuple[int, int]] = field(default_factory=list)
    """Output index and register."""


class ReferenceKernel:
    """Computes a program.

    Args:
        overwrites_input: whether an output overwrites an input
    """

    def __init__(self, program: KernelProgram, schedule: KernelSchedule, *, overwrites_input: bool = False) -> None:
        self.program, self.schedule = program, schedule
        self.axes = (*schedule.outer, *schedule.inner)
        self.sizes = tuple(program.space[axis] for axis in self.axes)
        self._outer = len(schedule.outer)
        self._overwrites_input = overwrites_input
        self._reaches: dict[int, frozenset[int]] = {}
        self._expressions = list(walk(store.expression for store in schedule.stores))
        self._register = {id(one): index for index, one in enumerate(self._expressions)}
        self._constants = [_constant(one, program.space) for one in self._expressions]
        self._scalars = [(self._register[id(one)], one.value) for one in self._expressions if one.name == "scalar"]
        self._read = [one for one in self._expressions if one.name in ("input", "index")]
        self._input_indexing = [
            self._indexing_of(one.value[1] if one.name == "input" else (one.value,)) for one in self._read
        ]
        self._targets = [self._indexing_of(result.axes) for result, _ in program.outputs]
        self._split = self._axis_to_split()
        stages: dict[int, int] = {}
        last = max((schedule.stage(store.expression, stages) for store in schedule.stores), default=0)
        self._passes = [self._pass(stage, stages) for stage in range(last + 1)]

    def __call__(self, inputs: Sequence[Any], scalars: Sequence[float], outputs: Sequence[Any]) -> None:
        """Computes into `outputs`, which include those that overwrite inputs."""
        registers = list(self._constants)
        for register, position in self._scalars:
            registers[register] = np.float64(scalars[position])
        views = [self._view(one, how, inputs) for one, how in zip(self._read, self._input_indexing, strict=True)]
        for one, view in zip(self._read, views, strict=True):
            registers[self._register[id(one)]] = view
        targets = [
            array[index].transpose(order)[more]
            for array, (index, order, more) in zip(outputs, self._targets, strict=True)
        ]
        for one in self._passes:
            self._run(one, registers, views, targets)

    # -- preparation

    def _axis_to_split(self) -> int | None:
        """The dimension along which the work is split, if any."""
        free = range(len(self.axes))
        if any(one.name == "reduce" for one in self._expressions):
            free = range(self._outer)
        return max(free, key=lambda index: self.sizes[index], default=None)

    def _reach(self, one: Expression) -> frozenset[int]:
        return self.schedule.reach(one, self._reaches)

    def _differs(self, one: Expression) -> bool:
        """Whether a value differs between parts."""
        return self._split is not None and self.axes[self._split] in self._reach(one)

    def _pass(self, stage: int, stages: dict[int, int]) -> ReferencePass:
        schedule, found = self.schedule, ReferencePass()
        stores = [one for one in schedule.stores if schedule.stage(one.expression, stages) == stage]
        sums = [
            one
            for one in self._expressions
            if one.name == "reduce" and not schedule.is_of_row(one) and schedule.stage(one, stages) == stage + 1
        ]
        found.stores = [(store.index, self._register[id(store.expression)]) for store in stores]
        found.sums = [(one, self._register[id(one.args[0])]) for one in sums]
        needed = {id(one) for one in schedule.below([*[s.expression for s in stores], *[s.args[0] for s in sums]])}
        for one in self._expressions:
            if id(one) not in needed:
                continue
            register = self._register[id(one)]
            if one.name in ("input", "index"):
                if self._differs(one):
                    found.reads.append((register, self._read.index(one)))
            elif one.args and (one.name != "reduce" or schedule.is_of_row(one)):
                function = self._row_reduction(one) if one.name == "reduce" else _function(one)
                step = function, tuple(self._register[id(arg)] for arg in one.args), register, ()
                (found.per_part if self._differs(one) else found.once).append(step)
        found.per_part = _with_freed_registers(found)
        return found

    def _row_reduction(self, one: Expression) -> Callable[[Any], Any]:
        """The function that reduces rows."""
        how, order, inner = one.value[0], self.schedule.order, self.sizes[self._outer :]
        size, ones = math.prod(inner), (1,) * len(inner)

        def reduce(x: Any) -> Any:
            lead = np.shape(x)[: self._outer] or (1,) * self._outer
            rows = np.broadcast_to(x, (*lead, *inner)).reshape(-1, size)
            return reduce_rows(how, rows, order).reshape(*lead, *ones)

        return reduce

    def _indexing_of(self, axes: Axes) -> tuple[Any, Any, Any]:
        """Indexing that gives an array the dimensions of the loops."""
        needed = [self.axes.index(axis) if axis in self.axes else None for axis in axes]
        index = (
            ...,
            *(slice(None) if position is not None else 0 for position in needed),
        )  # always a view, never a scalar
        indices = [position for position in needed if position is not None]
        order = sorted(range(len(indices)), key=indices.__getitem__)
        return (
            index,
            order,
            (..., *(slice(None) if position in indices else None for position in range(len(self.axes)))),
        )

    # -- running

    def _view(self, one: Expression, how: tuple[Any, Any, Any], inputs: Sequence[Any]) -> Any:
        array = np.arange(self.program.space[one.value]) if one.name == "index" else inputs[one.value[0]]
        index, order, more = how
        return array[index].transpose(order)[more]

    def _run(self, one: ReferencePass, registers: list[Any], views: list[Any], targets: list[Any]) -> None:
        _run_steps(one.once, registers)
        parts = self._parts(one)
        gathered = [self._memory(reduced) if len(parts) > 1 else None for reduced, _ in one.sums]
        differing = {register for register, _ in one.reads} | {register for _, _, register, _ in one.per_part}
        for part in parts:
            if part is not None:
                for register, number in one.reads:
                    registers[register] = views[number][part]
            _run_steps(one.per_part, registers)
            for memory, (_, register) in zip(gathered, one.sums, strict=True):
                if memory is not None:
                    memory[part if register in differing else ...] = registers[register]
            if part is not None:
                self._store([each for each in one.stores if each[1] in differing], registers, targets, part)
        rest = one.stores if len(parts) == 1 else [each for each in one.stores if each[1] not in differing]
        self._store(rest, registers, targets, ...)
        for memory, (reduced, register) in zip(gathered, one.sums, strict=True):
            argument = registers[register] if memory is None else memory
            registers[self._register[id(reduced)]] = self._over_rows(reduced, argument)

    def _parts(self, one: ReferencePass) -> list[Any]:
        total = math.prod(self.sizes)
        if self._split is None or not one.per_part or total <= 2 * BLOCK_ELEMENTS:
            return [None]
        size = self.sizes[self._split]
        step = max(1, size * BLOCK_ELEMENTS // total)
        before = (slice(None),) * self._split
        return [(*before, slice(start, start + step)) for start in range(0, size, step)]

    def _store(self, stores: list[tuple[int, int]], registers: list[Any], targets: list[Any], part: Any) -> None:
        values = [registers[register] for _, register in stores]
        if self._overwrites_input:  # a view may be overwritten before it is stored
            values = [np.array(value) if np.ndim(value) and value.base is not None else value for value in values]
        for (output, _), value in zip(stores, values, strict=True):
            targets[output][part] = value

    def _sum_shape(self, reduced: Expression) -> tuple[int, ...]:
        """The shape of a sum over rows."""
        reach = self._reach(reduced.args[0])
        return tuple(
            size if axis in reach else 1
            for axis, size in zip(self.axes[self._outer :], self.sizes[self._outer :], strict=True)
        )

    def _memory(self, reduced: Expression) -> Any:
        return np.empty((*self.sizes[: self._outer], *self._sum_shape(reduced)), reduced.args[0].dtype)

    def _over_rows(self, reduced: Expression, x: Any) -> Any:
        shape, outer = self._sum_shape(reduced), self.sizes[: self._outer]
        rows = np.broadcast_to(x, (*outer, *shape)).reshape(math.prod(outer), -1)
        how, order = reduced.value[0], self.schedule.order
        found = reduce_columns(how, rows, order) if rows.shape[1] > 1 else reduce_vector(how, rows[:, 0], order)
        return np.reshape(found, (*(1,) * self._outer, *shape))


def _run_steps(steps: list[ReferenceStep], registers: list[Any]) -> None:
    for function, arguments, register, done in steps:
        registers[register] = function(*[registers[one] for one in arguments])
        for one in done:  # so that the next step reuses memory in the CPU cache
            registers[one] = None


def _with_freed_registers(one: ReferencePass) -> list[ReferenceStep]:
    """The steps of each part, with the registers that are free after them."""
    needed = {register for _, register in (*one.stores, *one.sums)}
    last: dict[int, int] = {}
    for number, (_, arguments, register, _) in enumerate(one.per_part):
        last.update(dict.fromkeys((*arguments, register), number))
    made = {register for _, _, register, _ in one.per_part} - needed
    return [
        (function, arguments, register, tuple(each for each in made if last[each] == number))
        for number, (function, arguments, register, _) in enumerate(one.per_part)
    ]


def _constant(one: Expression, space: Sequence[int]) -> Any:
    """The value of a constant expression; else None."""
    if one.name == "number":
        return one.dtype.type(one.value)
    return np.int64(math.prod(space[axis] for axis in one.value)) if one.name == "size" else None


def _function(one: Expression) -> Callable[..., Any]:
    """The function that computes an expression."""
    name, dtype = one.name, one.dtype
    if name == "cast":
        return lambda x: x.astype(dtype)
    if name == "where":
        return _where
    if name in ("maximum", "minimum") and dtype.kind == "f":
        return _extreme(one)
    if name == "power":
        exponent = one.args[1]
        simple = SIMPLE_POWERS.get(exponent.value) if exponent.name == "number" else None
        if simple is not None:
            ufunc = getattr(np, simple)
            return lambda x, _: ufunc(x)
    if name in ROUNDINGS and one.args[0].dtype.kind in "iub":
        return np.positive if dtype != BOOL else np.copy
    function_name = package_function(one)
    if function_name is not None and dtype.kind == "f":
        return numpy_functions()[function_name]
    if name in LIBRARY:
        return apply_elementwise(getattr(math, name.replace("arc", "a")), getattr(np, name))
    return getattr(np, name)


def _where(condition: Any, x: Any, y: Any) -> Any:
    """`where`; a condition on run-time numbers is a scalar."""
    if np.ndim(condition) == 0:
        return x if condition else y
    return np.where(condition, x, y)


def _extreme(one: Expression) -> Callable[..., Any]:
    """The maximum or minimum, with less work if an argument is a constant."""
    wins = np.greater_equal if one.name == "maximum" else np.less_equal
    loses = np.less if one.name == "maximum" else np.greater
    x, y = one.args
    if y.name == "number" and y.value == y.value:
        return lambda x, y: np.where(loses(x, y), y, x)
    if x.name == "number" and x.value == x.value:
        return lambda x, y: np.where(wins(x, y), x, y)
    return numpy_functions()[one.name]


__all__ = ["ReferenceKernel"]
