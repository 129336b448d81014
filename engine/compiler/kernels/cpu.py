"""Kernels for the CPU, as source for numba."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from engine.compiler.kernels.expression import FLOAT, TRUTH, Expression, Unlowered
from engine.compiler.kernels.layout import Layout
from engine.compiler.kernels.program import Program
from engine.compiler.kernels.scalars import Names, cost, literal, repeats, text
from engine.compiler.kernels.schedule import Schedule, Store

BLOCK = 512
"""So many elements are added up in single numbers, side by side; such sums are added up more exactly."""
STASHED = 6
"""What is needed in a later loop and costs as much as so many additions is kept; the rest is computed again."""
MOST_PLACES = 48
"""Arrays of one kernel; `memory.py` can tell as many apart."""
LONG = 60
"""Characters of an expression from which on its parts get names."""


@dataclass(eq=False, slots=True)
class Scope:
    """Lines that run together, and the names of what they compute."""

    depth: int
    parent: Scope | None = None
    lines: list[str] = field(default_factory=list)
    names: dict[int, str] = field(default_factory=dict)

    def find(self, one: Expression) -> str | None:
        scope: Scope | None = self
        while scope is not None:
            if id(one) in scope.names:
                return scope.names[id(one)]
            scope = scope.parent
        return None


class Writer:
    """Writes the source of one kernel."""

    def __init__(
        self, program: Program, schedule: Schedule, layout: Layout, accesses: dict[Any, int], in_place: dict[int, int]
    ) -> None:
        self.program, self.schedule, self.layout = program, schedule, layout
        self.accesses = accesses
        """Input expression by id, or −1 − place of an output → access in the layout."""
        self.in_place = in_place
        self.names = Names()
        self.body: list[str] = []
        self.count = 0
        self.reaches: dict[int, frozenset[int]] = {}
        self.stages: dict[int, int] = {}
        self.phases: dict[int, int] = {}
        self.memory: list[str] = []
        """Lines that make memory for columns and stashes."""
        self.freeing: list[str] = []
        self.finals: dict[int, str] = {}
        """Sums over rows by id → their memory, where each element of a row has its own."""
        self.inner = frozenset(schedule.inner)
        self.outer = frozenset(schedule.outer)
        self.loops = list(enumerate(layout.loops))
        self.places = 1

    # -- the whole

    def source(self, title: str) -> str:
        top = Scope(1)
        self.top = top
        last = max((self.schedule.stage(store.expression, self.stages) for store in self.schedule.stores), default=0)
        for stage in range(last + 1):
            self._pass(stage, top)
        arguments, header = self._arguments()
        lines = [*header, *self.memory, *top.lines, *self.freeing]
        return self._module(title, arguments, lines)

    def _module(self, title: str, arguments: list[str], lines: list[str]) -> str:
        kinds = ", ".join("float64" if name.startswith("number") else "int64" for name in arguments)
        self.names.types |= {"int64", *(["float64"] if "float64" in kinds else [])}
        imports = []
        if self.names.mathematics:
            imports += [f"from math import {', '.join(sorted(self.names.mathematics))}", ""]
        imports += [f"from numba import {', '.join(sorted({'njit', *self.names.types}))}", ""]
        if self.names.functions:
            imports += [f"from engine.compiler.kernels.functions import {', '.join(sorted(self.names.functions))}"]
        memory = ["allocated", "elements", "freed", "memory"] if self.memory else ["elements", "memory"]
        imports += [f"from engine.compiler.kernels.memory import {', '.join(memory)}", "", ""]
        options = 'nogil=True, cache=True, boundscheck=False, error_model="numpy"'
        return "\n".join([
            f'"""{title}"""', "", *imports, f'@njit("void({kinds})", {options})',
            f"def kernel({', '.join(arguments)}):", *("    " + line for line in lines), "",
        ])  # fmt: skip

    def _arguments(self) -> tuple[list[str], list[str]]:
        header = ["told = memory(layout, int64, 0)"]
        sizes = ", ".join(self.size(place) for place, _ in self.loops)
        header.append(f"{sizes} = {', '.join(f'told[{place}]' for place in range(len(self.loops)))}")
        told = len(self.loops)
        for access in range(len(self.layout.steps)):
            for place, step in enumerate(self.layout.steps[access]):
                if step is None:
                    header.append(f"{self.step(access, place)} = told[{told}]")
                    told += 1
        arguments = ["layout"]
        if len(self.program.inputs) + len(self.program.outputs) >= MOST_PLACES:
            raise Unlowered(f"it uses more than {MOST_PLACES} arrays")
        for index, value in enumerate(self.program.inputs):
            arguments.append(f"array{index}")
            header.append(f"x{index} = elements(array{index}, {self.names.type(value.dtype)}, {index + 1})")
        arguments += [f"number{index}" for index in range(len(self.program.scalars))]
        for index, (_, value) in enumerate(self.program.outputs):
            if index in self.in_place:
                continue
            place = len(self.program.inputs) + 1 + index
            arguments.append(f"result{index}")
            header.append(f"out{index} = elements(result{index}, {self.names.type(value.dtype)}, {place})")
        return arguments, header

    def size(self, place: int) -> str:
        return f"n{place}"

    def step(self, access: int, place: int) -> str:
        return f"step{access}_{place}"

    def new(self) -> str:
        self.count += 1
        return f"v{self.count}"

    # -- one pass

    def reach(self, one: Expression) -> frozenset[int]:
        return self.schedule.reach(one, self.reaches)

    def phase(self, one: Expression) -> int:
        return self.schedule.phase(one, self.phases)

    def _pass(self, stage: int, top: Scope) -> None:
        schedule = self.schedule
        stores = [one for one in schedule.stores if schedule.stage(one.expression, self.stages) == stage]
        sums = self._sums_over_rows(stage)
        over_rows = [one for one in stores if one.axes & self.outer or self._rows(one.expression)]
        self._nest(over_rows, sums, top, outer=True)
        rest = [one for one in stores if one not in over_rows]
        self._nest(rest, [], top, outer=False)

    def _rows(self, one: Expression) -> bool:
        return bool(self.reach(one) & self.outer)

    def _sums_over_rows(self, stage: int) -> list[Expression]:
        """Reductions over rows that are complete after this pass."""
        found: dict[int, Expression] = {}
        stack = [store.expression for store in self.schedule.stores]
        seen: set[int] = set()
        while stack:
            one = stack.pop()
            if id(one) in seen:
                continue
            seen.add(id(one))
            stack.extend(one.args)
            over_rows = one.name == "reduce" and not self.schedule.is_of_row(one)
            if over_rows and self.schedule.stage(one, self.stages) == stage + 1:
                found[id(one)] = one
        return list(found.values())[::-1]

    def _nest(self, stores: list[Store], sums: list[Expression], top: Scope, *, outer: bool) -> None:
        """Loops over rows, or just one row, and in each row the loops over its elements."""
        if not stores and not sums:
            return
        loops = [(place, loop) for place, loop in self.loops if not loop.inner] if outer else []
        after = self._begin_sums(sums, top)
        roots = [*[one.expression for one in stores], *[one.args[0] for one in sums]]
        needed = list(self.schedule.below(roots))
        row = Scope(1 + len(loops), top) if loops else Scope(1, top)
        bases = self._bases(needed, stores, loops)
        opening: list[str] = []
        for depth, (place, _) in enumerate(loops):
            opening.append("    " * depth + f"for i{place} in range({self.size(place)}):")
            opening += ["    " * (depth + 1) + line for line in bases.get(place, [])]
        Row(self, row, stores, sums, needed).write()
        indent = "    " * len(loops)
        top.lines += [*opening, *(indent + line for line in row.lines), *after]

    def _bases(self, needed: Iterable[Expression], stores: list[Store], loops: list[Any]) -> dict[int, list[str]]:
        """Pointers to where a row begins, by the loop that moves them."""
        self.pointers: dict[int, str] = {}
        found: dict[int, list[str]] = {}
        arrays = [(self.accesses[id(one)], f"x{one.value[0]}") for one in needed if one.name == "input"]
        arrays += [(self.accesses[-1 - store.place], self.target(store.place)) for store in stores]
        for access, base in dict(arrays).items():
            for place, _ in loops:
                if self.layout.steps[access][place] != 0:
                    name = f"{base}_{access}_{place}"
                    found.setdefault(place, []).append(f"{name} = {base} + i{place} * {self.step(access, place)}")
                    base = name
            self.pointers[access] = base
        return found

    def target(self, place: int) -> str:
        return f"x{self.in_place[place]}" if place in self.in_place else f"out{place}"

    # -- sums over rows

    def _begin_sums(self, sums: list[Expression], top: Scope) -> list[str]:
        after: list[str] = []
        for one in sums:
            how, start = one.value[0], identity(one.value[0], one.dtype, self.names)
            if self.reach(one):
                name = self.memory_of_row(one.dtype)
                self.finals[id(one)] = name
                top.lines += [f"for k in range({self.row_size()}):", f"    {name}[k] = {start}"]
            elif how == "add" and one.dtype.kind == "f":
                name, total = self.new(), self.new()
                self.finals[id(one)] = total
                top.lines += [f"{total} = 0.0", f"lost_{total} = 0.0"]
                self.names.types.add("float64")
                after.append(f"{name} = {self.names.type(one.dtype)}({total} + lost_{total})")
                top.names[id(one)] = name
            else:
                name = self.new()
                self.finals[id(one)] = top.names[id(one)] = name
                top.lines.append(f"{name} = {start}")
        return after

    def row_size(self) -> str:
        return " * ".join(self.size(place) for place, loop in self.loops if loop.inner)

    def memory_of_row(self, dtype: Any) -> str:
        """New memory for a number for each element of a row."""
        name = f"row{self.places}"
        place = len(self.program.inputs) + len(self.program.outputs) + self.places
        self.places += 1
        if place >= MOST_PLACES:
            raise Unlowered(f"it uses more than {MOST_PLACES} arrays")
        self.memory.append(f"{name} = allocated({self.row_size()}, {self.names.type(dtype)}, {place})")
        self.freeing.append(f"freed({name})")
        return name


class Row:
    """Writes what happens in one row: loops over it, and numbers between them."""

    def __init__(
        self, writer: Writer, scope: Scope, stores: list[Store], sums: list[Expression], needed: list[Expression]
    ) -> None:
        self.writer, self.scope, self.stores, self.sums = writer, scope, stores, sums
        self.needed = needed
        self.stashed: dict[int, str] = {}
        self.loops = [(place, loop) for place, loop in writer.loops if loop.inner]
        self.uses: dict[int, int] = {}
        self.inside: Scope | None = None

    def write(self) -> None:
        writer = self.writer
        reductions = [one for one in self.needed if one.name == "reduce" and writer.schedule.is_of_row(one)]
        stores = [one for one in self.stores if one.axes & writer.inner or not self._is_of_row(one.expression)]
        columns = [one for one in self.sums if writer.reach(one) or not self._is_of_row(one.args[0])]
        last = max([writer.phase(one) for one in self.needed], default=0)
        work = []
        for phase in range(last + 1):
            reduced = [one for one in reductions if writer.phase(one) == phase + 1]
            stored = [one for one in stores if writer.phase(one.expression) == phase]
            added = [one for one in columns if writer.phase(one.args[0]) == phase]
            work.append((reduced, stored, added))
        self._choose_stashes(work)
        for phase, (reduced, stored, added) in enumerate(work):
            if reduced or stored or added:
                self._loop(phase, reduced, stored, added)
        for one in self.sums:
            if one not in columns:
                self._add_row(one)
        for store in self.stores:
            if store not in stores:
                self._store(self.scope, store, "0")

    def _is_of_row(self, one: Expression) -> bool:
        """Whether it is one number for the whole row."""
        return not self.is_inner(one)

    def is_inner(self, one: Expression) -> bool:
        return bool(self.writer.reach(one) & self.writer.inner)

    # -- what is kept from loop to loop

    def _choose_stashes(self, work: list[Any]) -> None:
        writer = self.writer
        seen: dict[int, int] = {}
        self.keep: dict[int, list[Expression]] = {}
        for phase, (reduced, stored, added) in enumerate(work):
            stack = [*[one.args[0] for one in (*reduced, *added)], *[one.expression for one in stored]]
            visited: set[int] = set()
            while stack:
                one = stack.pop()
                if id(one) in visited or not self.is_inner(one):
                    continue
                visited.add(id(one))
                earlier = seen.setdefault(id(one), phase)
                if earlier < phase and self._total_cost(one, {}) >= STASHED:
                    if id(one) not in self.stashed:
                        self.stashed[id(one)] = writer.memory_of_row(one.dtype)
                        self.keep.setdefault(earlier, []).append(one)
                    continue
                stack.extend(one.args if one.name != "reduce" else ())

    def _total_cost(self, one: Expression, seen: dict[int, int]) -> int:
        if id(one) in seen or not self.is_inner(one) or one.name == "reduce":
            return 0
        seen[id(one)] = 1
        return cost(one) + sum(self._total_cost(arg, seen) for arg in one.args)

    # -- one loop over the row

    def _loop(self, phase: int, reduced: list[Expression], stored: list[Store], added: list[Expression]) -> None:
        writer, row = self.writer, self.scope
        self.fresh = {id(one) for one in self.keep.get(phase, ())}
        roots = [*[one.args[0] for one in (*reduced, *added)], *[one.expression for one in stored]]
        self._count_uses([*roots, *self.keep.get(phase, ())])
        blocked = any(one.value[0] == "add" and one.dtype.kind == "f" for one in reduced)
        inside = self.inside = Scope(0, row)
        flat = self._flat()
        before, within, after, done = [], [], [], []
        end: list[str] = []
        for one in reduced:
            value = self.use(one.args[0], inside)
            name = self._reduce(one, value, before, within, after, done, inside)
            row.names[id(one)] = name
        for one in added:
            how, memory = one.value[0], writer.finals[id(one)]
            value = self.use(one.args[0], inside)
            if writer.reach(one):
                end.append(f"{memory}[{flat}] = {combined(how, one.dtype, f'{memory}[{flat}]', value, writer.names)}")
            else:
                raise Unlowered("it sums rows of what does not change along them")
        end += [f"{self.stashed[id(one)]}[{flat}] = {self.use(one, inside)}" for one in self.keep.get(phase, ())]
        for store in stored:
            self._store(inside, store, None, end)
        lines = [*inside.lines, *end]
        row.lines += before + self._wrapped(lines, within, after, blocked=blocked) + done

    def _flat(self) -> str:
        """The index of an element in memory of a row."""
        (first, _), *rest = self.loops
        found = f"i{first}"
        for place, _ in rest:
            found = f"({found} * {self.writer.size(place)} + i{place})" if found != "0" else f"i{place}"
        return found

    def _wrapped(self, lines: list[str], within: list[str], after: list[str], *, blocked: bool) -> list[str]:
        found: list[str] = []
        depth = 0
        for place, _ in self.loops[:-1]:
            found.append("    " * depth + f"for i{place} in range({self.writer.size(place)}):")
            depth += 1
        place = self.loops[-1][0]
        size = self.writer.size(place)
        if not blocked:
            found.append("    " * depth + f"for i{place} in range({size}):")
            return found + ["    " * (depth + 1) + line for line in lines]
        found.append("    " * depth + f"for start in range(0, {size}, {BLOCK}):")
        found += ["    " * (depth + 1) + line for line in within]
        found.append("    " * (depth + 1) + f"for i{place} in range(start, min(start + {BLOCK}, {size})):")
        found += ["    " * (depth + 2) + line for line in lines]
        return found + ["    " * (depth + 1) + line for line in after]

    # -- reductions

    def _reduce(
        self, one: Expression, value: str, before: list[str], within: list[str], after: list[str], done: list[str],
        inside: Scope,
    ) -> str:  # fmt: skip
        writer = self.writer
        how, names = one.value[0], writer.names
        start = identity(how, one.dtype, names)
        name, part = writer.new(), writer.new()
        if how == "add" and one.dtype.kind == "f":
            names.types.add("float64")
            within.append(f"{part} = {start}")
            end = f"{part} = {names.function('added')}({part}, {value})"
            if one.dtype == FLOAT:
                before += [f"{name} = 0.0", f"lost_{name} = 0.0"]
                after.append(f"{name}, lost_{name} = {names.function('compensated')}({name}, lost_{name}, {part})")
                done.append(f"{name} += lost_{name}")
            else:
                before.append(f"total_{name} = 0.0")
                after.append(f"total_{name} += float64({part})")
                done.append(f"{name} = {names.type(one.dtype)}(total_{name})")
        else:
            before.append(f"{name} = {start}")
            end = f"{name} = {reduced_by(how, one.dtype, name, value, names)}"
        inside.lines.append(end)
        return name

    def _add_row(self, one: Expression) -> None:
        """Adds a row's number to a sum over rows."""
        writer = self.writer
        value = self.use(one.args[0], self.scope)
        name = writer.finals[id(one)]
        if one.value[0] == "add" and one.dtype.kind == "f":
            exact = writer.names.function("compensated")
            self.scope.lines.append(f"{name}, lost_{name} = {exact}({name}, lost_{name}, float64({value}))")
        else:
            self.scope.lines.append(f"{name} = {combined(one.value[0], one.dtype, name, value, writer.names)}")

    # -- expressions

    def _count_uses(self, roots: list[Expression]) -> None:
        self.uses = {}
        stack, seen = list(roots), set[int]()
        for one in roots:
            self.uses[id(one)] = self.uses.get(id(one), 0) + 1
        while stack:
            one = stack.pop()
            if id(one) in seen or one.name == "reduce":
                continue
            seen.add(id(one))
            for arg in one.args:
                self.uses[id(arg)] = self.uses.get(id(arg), 0) + (2 if repeats(one) else 1)
                stack.append(arg)

    def use(self, one: Expression, scope: Scope) -> str:
        """The text that stands for a value in a scope, after lines that compute it where need be."""
        known = scope.find(one)
        if known is not None:
            return known
        writer = self.writer
        if one.name == "number":
            return literal(one.value, one.dtype, writer.names)
        home = self._home(one, scope)
        if home is not scope:
            return self.use(one, home) if not self._is_simple(one) else self._text(one, home)
        found = self._text(one, scope)
        if self._is_simple(one) and one.name != "input":
            return found
        named = self.uses.get(id(one), 1) > 1 or len(found) > LONG or one.name == "input" or scope is not self.inside
        if named:
            name = writer.new()
            scope.lines.append(f"{name} = {found}")
            scope.names[id(one)] = name
            return name
        return found

    def _is_simple(self, one: Expression) -> bool:
        return one.name in ("scalar", "size", "index")

    def _home(self, one: Expression, scope: Scope) -> Scope:
        """The outermost scope in which a value is known."""
        writer = self.writer
        if self.is_inner(one):
            return scope
        reaches = writer.reach(one) & writer.outer
        if not reaches and writer.phase(one) == 0:
            return writer.top
        return self.scope

    def _text(self, one: Expression, scope: Scope) -> str:
        writer = self.writer
        if one.name == "input":
            return self._element(writer.accesses[id(one)], scope)
        if one.name == "scalar":
            return f"number{one.value}"
        if one.name == "index":
            return next((f"i{place}" for place, loop in writer.loops if one.value in loop.axes), "0")
        if one.name == "size":
            sizes = [writer.size(place) for place, loop in writer.loops if loop.axes and loop.axes[0] in one.value]
            return "(" + (" * ".join(sizes) or "1") + ")"
        if id(one) in self.stashed and scope is not self.scope and id(one) not in self.fresh:
            return f"{self.stashed[id(one)]}[{self._flat()}]"
        if one.name == "reduce":
            if id(one) not in writer.finals:
                raise Unlowered("a sum is used before it is complete")
            return f"{writer.finals[id(one)]}[{self._flat()}]"
        args = [self.use(arg, scope) for arg in one.args]
        return text(one, args, writer.names)

    def _element(self, access: int, scope: Scope) -> str:
        writer = self.writer
        return f"{writer.pointers[access]}[{self._index(access, scope)}]"

    def _index(self, access: int, scope: Scope) -> str:
        """The place of an element in its row."""
        parts = []
        for place, _ in self.loops if scope is not self.scope and scope is not self.writer.top else ():
            step = self.writer.layout.steps[access][place]
            if step != 0:
                parts.append(f"i{place}" if step == 1 else f"i{place} * {self.writer.step(access, place)}")
        return " + ".join(parts) or "0"

    def _store(self, scope: Scope, store: Store, index: str | None, end: list[str] | None = None) -> None:
        writer = self.writer
        access = writer.accesses[-1 - store.place]
        value = self.use(store.expression, scope)
        where = index if index is not None else self._index(access, scope)
        (scope.lines if end is None else end).append(f"{writer.pointers[access]}[{where}] = {value}")


def identity(how: str, dtype: Any, names: Names) -> str:
    """What a reduction begins with."""
    if how == "add":
        return literal(0, dtype, names)
    if how == "multiply":
        return literal(1, dtype, names)
    if how in ("logical_or", "logical_and"):
        return repr(how == "logical_and")
    lowest = how == "maximum"
    if dtype == TRUTH:
        return repr(not lowest)
    if dtype.kind == "f":
        return literal(-np.inf if lowest else np.inf, dtype, names)
    limits = np.iinfo(dtype)
    return literal(limits.min if lowest else limits.max, dtype, names)


def combined(how: str, dtype: Any, total: str, value: str, names: Names) -> str:
    """Two numbers of a reduction as one, in order."""
    signs: dict[str, str] = {"add": "+", "multiply": "*", "logical_or": "|", "logical_and": "&"}
    if how in signs:
        found = f"{total} {signs[how]} {value}"
        return f"{names.type(dtype)}({found})" if dtype.kind in "iu" and dtype.itemsize < 8 else found
    if dtype.kind == "f":
        return f"{names.function('larger' if how == 'maximum' else 'smaller')}({total}, {value})"
    return f"{names.function(how)}({total}, {value})"


def reduced_by(how: str, dtype: Any, total: str, value: str, names: Names) -> str:
    """Two numbers of a reduction as one, in whatever order is fastest."""
    if how == "multiply" and dtype.kind == "f":
        return f"{names.function('multiplied')}({total}, {value})"
    return combined(how, dtype, total, value, names)


__all__ = ["Writer"]
