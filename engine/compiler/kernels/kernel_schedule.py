"""Schedules a program: passes over the iteration space, and in each pass one or several loops over each row.

Axes are inner (within a row) or outer (over rows). A reduction within a row is complete after a loop over the row, so
values that need it are computed in the row's next loop. A reduction over rows is complete after a pass, so values that
need it are computed in the next pass.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache

from engine.compiler.kernels.kernel_program import AxisExpression, KernelProgram
from engine.compiler.kernels.scalar_expression import Expression, LoweringUnsupported, make, walk

Axes = frozenset[int]


@dataclass(frozen=True, slots=True)
class Store:
    """An output to write."""

    index: int
    expression: Expression
    axes: Axes


@dataclass(frozen=True, slots=True)
class ReductionOrder:
    """The order of float sums, which all implementations keep on every CPU and for any number of threads.

    A row's elements, in C order, are divided into blocks. In a block, element i is added to lane i modulo `lanes`;
    lanes start with 0. Then the second half of the lanes is added to the first, until one is left. Blocks are added one
    after the other in double precision, or by `compensated` if the dtype is float64. Products are computed likewise in
    their dtype.

    Rows, in C order, are divided into chunks. In a chunk, elements are added one after the other, starting with 0, in
    their dtype; results of row reductions in double precision by `compensated`. Chunks are added one after the other in
    double precision, those of row results by `compensated`. Products of rows are computed one after the other.
    """

    lanes: int = 32
    block: int = 512
    chunk: int = 64


@dataclass(frozen=True)
class KernelSchedule:
    """A program with its loops. Reductions of all axes have become reductions of reductions."""

    inner: tuple[int, ...]
    outer: tuple[int, ...]
    stores: tuple[Store, ...]
    order: ReductionOrder = ReductionOrder()

    # -- dependencies

    def reach(self, one: Expression, cache: dict[int, Axes]) -> Axes:
        """The axes along which a value varies."""
        found = cache.get(id(one))
        if found is None:
            found = cache[id(one)] = self._reach(one, cache)
        return found

    def _reach(self, one: Expression, cache: dict[int, Axes]) -> Axes:
        if one.name == "input":
            return frozenset(axis for axis in one.value[1] if axis is not None)
        if one.name == "index":
            return frozenset((one.value,))
        below: Axes = frozenset().union(*(self.reach(arg, cache) for arg in one.args))
        return below - frozenset(one.value[1]) if one.name == "reduce" else below

    def is_of_row(self, one: Expression) -> bool:
        """Whether it reduces within rows; otherwise it reduces over rows."""
        return frozenset(one.value[1]) == frozenset(self.inner)

    def stage(self, one: Expression, cache: dict[int, int]) -> int:
        """Index of the first pass in which a value is available."""
        found = cache.get(id(one))
        if found is None:
            found = max((self.stage(arg, cache) for arg in one.args), default=0)
            found = cache[id(one)] = found + (one.name == "reduce" and not self.is_of_row(one))
        return found

    def phase(self, one: Expression, cache: dict[int, int]) -> int:
        """Number of loops over a row after which a value is available."""
        found = cache.get(id(one))
        if found is None:
            found = 0
            if one.name != "reduce" or self.is_of_row(one):
                found = max((self.phase(arg, cache) for arg in one.args), default=0) + (one.name == "reduce")
            cache[id(one)] = found
        return found

    def below(self, roots: Iterable[Expression]) -> Iterator[Expression]:
        """The expressions of one pass, without those below sums over rows."""
        visited: set[int] = set()
        stack = list(roots)
        while stack:
            one = stack.pop()
            if id(one) not in visited:
                visited.add(id(one))
                yield one
                if one.name != "reduce" or self.is_of_row(one):
                    stack.extend(one.args)

    def check_overwrite(self, index: int, source: int) -> None:
        """Raises LoweringUnsupported unless an output may overwrite an input."""
        store = self.stores[index]
        axes = {one.value[1] for one in self.inputs if one.value[0] == source}
        if len(axes) > 1 or {axis for one in axes for axis in one if axis is not None} - store.axes:
            raise LoweringUnsupported("an output overwrites an input that is read in another order")
        mine = self.stage(store.expression, self._stages), self.phase(store.expression, self._phases)
        if any(when > mine for when in self._reads.get(source, ())):
            raise LoweringUnsupported("an output overwrites an input that is read later")

    @cached_property
    def inputs(self) -> list[Expression]:
        """Inputs, once for each access pattern."""
        return [one for one in walk(store.expression for store in self.stores) if one.name == "input"]

    @cached_property
    def _stages(self) -> dict[int, int]:
        return {}

    @cached_property
    def _phases(self) -> dict[int, int]:
        return {}

    @cached_property
    def _reads(self) -> dict[int, set[tuple[int, int]]]:
        """Input → passes and loops over a row that read it."""
        found: dict[int, set[tuple[int, int]]] = {}
        everything = list(walk(store.expression for store in self.stores))
        sums = [one for one in everything if one.name == "reduce" and not self.is_of_row(one)]
        for root in dict.fromkeys([*[store.expression for store in self.stores], *[one.args[0] for one in sums]]):
            in_rows = [one.args[0] for one in self.below([root]) if one.name == "reduce" and self.is_of_row(one)]
            for used in (root, *in_rows):
                when = self.stage(root, self._stages), self.phase(used, self._phases)
                for one in _direct_operands(used):
                    if one.name == "input":
                        found.setdefault(one.value[0], set()).add(when)
        return found


def _direct_operands(root: Expression) -> Iterator[Expression]:
    """The expressions that a value is computed from, up to the next reductions."""
    visited: set[int] = set()
    stack = [root]
    while stack:
        one = stack.pop()
        if id(one) not in visited:
            visited.add(id(one))
            yield one
            if one.name != "reduce":
                stack.extend(one.args)


def schedule_program(program: KernelProgram) -> KernelSchedule:
    """Schedules a program. Raises LoweringUnsupported."""
    return _scheduled(program.space, tuple([result for result, _ in program.outputs]))


@lru_cache(maxsize=512)
def _scheduled(space_sizes: tuple[int, ...], results: tuple[AxisExpression, ...]) -> KernelSchedule:
    space = frozenset(axis for axis, size in enumerate(space_sizes) if size != 1)
    outputs = [_without_ones(one, space) for one in results]
    inner, outer = loops(space_sizes, [frozenset(one.value[1]) for one in walk(outputs) if one.name == "reduce"])
    stores = tuple(
        Store(index, _split_full_reductions(one, inner, outer), frozenset(a for a in result.axes if a is not None))
        for index, (one, result) in enumerate(zip(outputs, results, strict=True))
    )
    return KernelSchedule(inner, outer, stores)


def loops(space: Sequence[int], reduced: Iterable[Axes]) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """The axes of a row and those over rows, for reductions over these sets of axes. Raises LoweringUnsupported."""
    long = tuple(axis for axis, size in enumerate(space) if size != 1)
    sets = [found for one in reduced if (found := one.intersection(long))]
    for inner in _candidates(long, sets):
        outer = tuple(axis for axis in long if axis not in inner)
        if all(one in (frozenset(inner), frozenset(outer), frozenset(long)) for one in sets):
            return inner, outer
    raise LoweringUnsupported("it reduces over different dimensions")


def _candidates(space: tuple[int, ...], reduced: list[Axes]) -> Iterator[tuple[int, ...]]:
    """Candidate axes of a row, those with neighbors in memory first."""
    found = [space] if not reduced else []
    for over in reduced:
        found += [tuple(a for a in space if a in over), tuple(a for a in space if a not in over)]
    yield from sorted({one for one in found if one}, key=lambda one: (one[-1] != space[-1], len(one)))
    if not space:
        yield ()


def _without_ones(result: AxisExpression, space: Axes) -> Expression:
    """Removes reductions over axes of size 1."""

    def rule(one: Expression, args: tuple[Expression, ...]) -> Expression:
        if one.name != "reduce":
            return make(one.name, one.dtype, args, one.value, one.weak)
        over = tuple(axis for axis in one.value[1] if axis in space)
        return make("reduce", one.dtype, args, (one.value[0], over)) if over else args[0]

    return _rewritten(result.expression, rule)


def _split_full_reductions(root: Expression, inner: tuple[int, ...], outer: tuple[int, ...]) -> Expression:
    """Splits reductions of all axes into reductions within rows and over rows."""

    def rule(one: Expression, args: tuple[Expression, ...]) -> Expression:
        if one.name == "reduce" and outer and len(one.value[1]) == len(inner) + len(outer):
            args = (make("reduce", one.dtype, args, (one.value[0], inner)),)
            return make("reduce", one.dtype, args, (one.value[0], outer))
        return make(one.name, one.dtype, args, one.value, one.weak)

    return _rewritten(root, rule)


def _rewritten(root: Expression, rule: object) -> Expression:
    done: dict[int, Expression] = {}
    for one in walk([root]):
        done[id(one)] = rule(one, tuple(done[id(arg)] for arg in one.args))  # pyright: ignore[reportCallIssue]
    return done[id(root)]


__all__ = ["KernelSchedule", "ReductionOrder", "Store", "schedule_program"]
