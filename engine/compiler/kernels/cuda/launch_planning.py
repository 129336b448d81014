"""Plans the launches that compute a schedule on a GPU.

Only threads of one block can wait for each other. So a sum over several blocks is written to memory in parts, which a
second launch adds in the order of the schedule; there are no atomic additions. Sums that later launches need are kept
in memory, other values are recomputed.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence, Set
from dataclasses import dataclass
from typing import Literal

from engine.compiler.kernels.kernel_schedule import Axes, KernelSchedule, Store
from engine.compiler.kernels.scalar_expression import Expression, LoweringUnsupported

LaunchKind = Literal["elements", "rows", "blocks", "columns", "totals"]
"""Kind of a launch: "elements" one by one; "rows" by one block of threads each, with all loops over them; "blocks" of
long rows; "columns" in chunks of rows; "totals" of partial sums of the last two.
"""

FEW_ROWS, MANY_BLOCKS = 64, 64
"""Rows with more blocks are split if there are fewer rows than multiprocessors."""


@dataclass(frozen=True, slots=True)
class KernelLaunch:
    """A launch. Outer axes are those over rows, inner axes those of a row."""

    kind: LaunchKind
    outer: tuple[int, ...]
    inner: tuple[int, ...]
    reduces: tuple[Expression, ...] = ()
    """Reductions that are complete after it."""
    stores: tuple[Store, ...] = ()
    """Outputs that it writes in its main loop."""
    after: tuple[Store, ...] = ()
    """Outputs that it writes after its sums are complete."""
    saved: tuple[Expression, ...] = ()
    """Reductions that are kept in memory for later launches."""
    is_part: bool = False
    """Whether it writes partial sums for the next launch."""

    @property
    def sum_axes(self) -> tuple[int, ...]:
        """Axes of its sums."""
        return {"columns": self.inner, "totals": self.inner}.get(self.kind, self.outer)

    def roots(self) -> Iterator[Expression]:
        """Expressions that it computes from elements."""
        if self.kind != "totals":
            yield from (one.args[0] for one in self.reduces)
        yield from (store.expression for store in (*self.stores, *self.after))


def plan_launches(
    schedule: KernelSchedule, space: Sequence[int], in_place: Sequence[tuple[int, int]]
) -> list[KernelLaunch]:
    """Plans launches. Raises LoweringUnsupported if an output cannot overwrite an input."""
    late: set[int] = set()
    while True:
        found = _Planner(schedule, space, late).launches()
        wrong = set(_overwritten(found, schedule, in_place))
        if not wrong:
            return found
        if wrong <= late:
            raise LoweringUnsupported("an output overwrites an input that other threads read")
        late |= wrong


def part_count(order_size: int, size: int) -> int:
    """Number of parts when a size is split."""
    return -(-size // order_size)


def is_sequential(one: Expression) -> bool:
    """Whether rows are combined one after the other, without chunks."""
    return one.value[0] == "multiply" and one.dtype.kind == "f"


class _Planner:
    def __init__(self, schedule: KernelSchedule, space: Sequence[int], late: set[int]) -> None:
        self.schedule, self.space, self.late = schedule, space, late
        self.reach_cache: dict[int, Axes] = {}
        self.done: set[int] = set()
        self.remaining = list(schedule.stores)
        self.found: list[KernelLaunch] = []
        rows, row = self._size(schedule.outer), self._size(schedule.inner)
        self.has_whole_rows = rows >= FEW_ROWS or part_count(schedule.order.block, row) <= MANY_BLOCKS

    def _size(self, axes: Iterable[int]) -> int:
        size = 1
        for axis in axes:
            size *= self.space[axis]
        return size

    def launches(self) -> list[KernelLaunch]:
        while self.remaining:
            rows = self._rows_ready() if self.has_whole_rows else []
            sums = [] if rows else self._sums_ready()
            if rows:
                self._add_rows(rows)
            elif sums:
                self._add_sums(sums)
            else:
                self._add_elements()
        return self.found

    # -- dependencies

    def missing(self, root: Expression) -> list[Expression]:
        """Reductions that `root` needs and that are not computed yet, dependencies first."""
        return [one for one in dependencies([root], self.done) if one.name == "reduce" and id(one) not in self.done]

    def _pending_reductions(self) -> list[Expression]:
        found = {id(one): one for store in self.remaining for one in self.missing(store.expression)}
        return list(found.values())

    def reach(self, one: Expression) -> Axes:
        return self.schedule.reach(one, self.reach_cache)

    # -- rows

    def _rows_ready(self) -> list[Expression]:
        """Row reductions that depend on row reductions only."""
        of_row = self.schedule.is_of_row
        return [one for one in self._pending_reductions() if all(of_row(each) for each in self.missing(one))]

    def _add_rows(self, reduces: list[Expression]) -> None:
        schedule, ready = self.schedule, {id(one) for one in reduces}
        all_axes = frozenset((*schedule.inner, *schedule.outer))
        stores = []
        for store in self.remaining:
            needs = self.missing(store.expression)
            fits = all(id(one) in ready for one in needs) and store.index not in self.late
            if fits and (needs or store.axes == all_axes):
                stores.append(store)
        self._remove_stores(stores)
        saved = self._used_later(reduces)
        self.found.append(
            KernelLaunch("rows", schedule.outer, schedule.inner, tuple(reduces), tuple(stores), (), saved)
        )
        self.done |= ready

    def _used_later(self, reduces: Sequence[Expression]) -> tuple[Expression, ...]:
        """The reductions that later launches use."""
        mine = {id(one): one for one in reduces}
        waiting = [one for store in self.remaining for one in self.missing(store.expression) if id(one) not in mine]
        roots = [*[store.expression for store in self.remaining], *[arg for one in waiting for arg in one.args]]
        used = {id(one) for one in dependencies(roots, self.done | set(mine))}
        return tuple(one for key, one in mine.items() if key in used)

    # -- sums of many blocks

    def _sums_ready(self) -> list[Expression]:
        """Sums without missing dependencies that have the axes of the first of them."""
        ready = [one for one in self._pending_reductions() if self.missing(one) == [one]]
        if not ready:
            return []
        first = self._form(ready[0])
        return [one for one in ready if self._form(one) == first]

    def _form(self, one: Expression) -> tuple[object, ...]:
        return frozenset(one.value[1]), self.reach(one), is_sequential(one) and not self.schedule.is_of_row(one)

    def _add_sums(self, reduces: list[Expression]) -> None:
        schedule, order = self.schedule, self.schedule.order
        over = tuple(sorted(reduces[0].value[1]))
        sum_axes = tuple(sorted(self.reach(reduces[0])))
        of_row = schedule.is_of_row(reduces[0])
        chunk = order.block if of_row else self._size(over) if is_sequential(reduces[0]) else order.chunk
        is_part = part_count(chunk, self._size(over)) > 1 or of_row
        axes = frozenset((*over, *sum_axes))
        stores = [one for one in self.remaining if one.axes == axes and self._is_ready(one)]
        self._remove_stores(stores)
        waiting = {id(one) for one in reduces}
        after = [one for one in self.remaining if one.axes == frozenset(sum_axes) and self._is_ready(one, waiting)]
        self._remove_stores(after)
        saved = self._used_later(reduces)
        kind: LaunchKind = "blocks" if of_row else "columns"
        outer, inner = (sum_axes, over) if of_row else (over, sum_axes)
        if is_part:
            self.found.append(KernelLaunch(kind, outer, inner, tuple(reduces), tuple(stores), is_part=True))
            self.found.append(KernelLaunch("totals", over, sum_axes, tuple(reduces), (), tuple(after), saved))
        else:
            self.found.append(KernelLaunch(kind, outer, inner, tuple(reduces), tuple(stores), tuple(after), saved))
        self.done |= waiting

    def _is_ready(self, store: Store, besides: Set[int] = frozenset()) -> bool:
        """Whether an output has no missing dependencies besides `besides`."""
        return store.index not in self.late and all(id(one) in besides for one in self.missing(store.expression))

    # -- elements

    def _add_elements(self) -> None:
        ready = [one for one in self.remaining if self._is_ready(one)]
        ready = ready or [one for one in self.remaining if not self.missing(one.expression)]
        axes = ready[0].axes
        stores = [one for one in ready if one.axes == axes]
        self._remove_stores(stores)
        self.found.append(KernelLaunch("elements", (), tuple(sorted(axes)), (), tuple(stores)))

    def _remove_stores(self, stores: Sequence[Store]) -> None:
        indices = {one.index for one in stores}
        self.remaining = [one for one in self.remaining if one.index not in indices]


def _overwritten(
    launches: list[KernelLaunch], schedule: KernelSchedule, in_place: Sequence[tuple[int, int]]
) -> Iterator[int]:
    """Outputs that would overwrite an input that other threads have not read yet."""
    replaced = dict(in_place)
    done: set[int] = set()
    reads: list[set[int]] = []
    for launch in launches:
        reads.append({one.value[0] for one in dependencies(launch.roots(), done) if one.name == "input"})
        done |= {id(one) for one in launch.reduces}
    for number, launch in enumerate(launches):
        later = set().union(*reads[number + 1 :])
        for store in (*launch.stores, *launch.after):
            source = replaced.get(store.index)
            if source is None:
                continue
            alone = launch.kind in ("elements", "totals") or (store in launch.stores and _is_own(store, launch))
            if source in later or (source in reads[number] and not alone):
                yield store.index


def _is_own(store: Store, launch: KernelLaunch) -> bool:
    """Whether each thread writes only elements that no other thread reads; threads of a row wait for each other."""
    all_axes = frozenset((*launch.outer, *launch.inner))
    return store.axes == all_axes or (launch.kind == "rows" and store.axes == frozenset(launch.outer))


def dependencies(roots: Iterable[Expression], done: Iterable[int]) -> list[Expression]:
    """The expressions below `roots`, arguments first, without those below completed reductions."""
    completed, found = set(done), dict[int, Expression]()
    stack = [(root, False) for root in reversed(list(roots))]
    visited: set[int] = set()
    while stack:
        one, ready = stack.pop()
        if ready:
            found[id(one)] = one
        elif id(one) not in visited:
            visited.add(id(one))
            stack.append((one, True))
            if id(one) not in completed:
                stack += [(arg, False) for arg in reversed(one.args)]
    return list(found.values())


__all__ = ["KernelLaunch", "LaunchKind", "dependencies", "is_sequential", "part_count", "plan_launches"]
