"""Writes the source of one row of a kernel."""

from __future__ import annotations

from typing import Any

from engine.compiler.kernels.cpu_expressions import cost, expression_text, literal, repeats_argument
from engine.compiler.kernels.cpu_source_state import CpuSourceState, SourceScope
from engine.compiler.kernels.kernel_schedule import Store
from engine.compiler.kernels.reduction_source import LANE_FUNCTIONS, combine_text, identity_text, is_order_dependent
from engine.compiler.kernels.scalar_expression import FLOAT64, Expression, LoweringUnsupported

MIN_STASH_COST = 6
"""Values that later loops need are stored if recomputing costs at least this many additions."""
MAX_UNNAMED_LENGTH = 60
"""Length in characters from which subexpressions get a name."""


class RowWriter:
    """Writes one row: loops over its elements, and code between the loops."""

    def __init__(
        self,
        writer: CpuSourceState,
        scope: SourceScope,
        stores: list[Store],
        sums: list[Expression],
        needed: list[Expression],
    ) -> None:
        self.writer, self.scope, self.stores, self.sums = writer, scope, stores, sums
        self.needed = needed
        self.stashed: dict[int, str] = {}
        self.loops = [(index, loop) for index, loop in writer.loops if loop.inner]
        self.uses: dict[int, int] = {}
        self.inside: SourceScope | None = None

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

    # -- values stored between loops

    def _choose_stashes(self, work: list[Any]) -> None:
        writer = self.writer
        first_phases: dict[int, int] = {}
        self.keep: dict[int, list[Expression]] = {}
        for phase, (reduced, stored, added) in enumerate(work):
            stack = [*[one.args[0] for one in (*reduced, *added)], *[one.expression for one in stored]]
            visited: set[int] = set()
            while stack:
                one = stack.pop()
                if id(one) in visited or not self.is_inner(one):
                    continue
                visited.add(id(one))
                earlier = first_phases.setdefault(id(one), phase)
                if earlier < phase and self._total_cost(one, {}) >= MIN_STASH_COST:
                    if id(one) not in self.stashed:
                        self.stashed[id(one)] = writer.memory_of_row(one.dtype)
                        self.keep.setdefault(earlier, []).append(one)
                    continue
                stack.extend(one.args if one.name != "reduce" else ())

    def _total_cost(self, one: Expression, counted: dict[int, int]) -> int:
        if id(one) in counted or not self.is_inner(one) or one.name == "reduce":
            return 0
        counted[id(one)] = 1
        return cost(one) + sum(self._total_cost(arg, counted) for arg in one.args)

    # -- one loop over the row

    def _loop(self, phase: int, reduced: list[Expression], stored: list[Store], added: list[Expression]) -> None:
        writer, row = self.writer, self.scope
        self.fresh = {id(one) for one in self.keep.get(phase, ())}
        roots = [*[one.args[0] for one in (*reduced, *added)], *[one.expression for one in stored]]
        self._count_uses([*roots, *self.keep.get(phase, ())])
        inside = self.inside = SourceScope(0, row)
        flat = self._flat()
        before, after, done, end = list[str](), list[str](), list[str](), list[str]()
        for one in reduced:
            value = self.use(one.args[0], inside)
            row.names[id(one)] = self._reduce(one, value, before, after, done, inside)
        for one in added:
            how, memory = one.value[0], writer.parts[id(one)]
            value = self.use(one.args[0], inside)
            if writer.reach(one):
                end.append(
                    f"{memory}[{flat}] = {combine_text(how, one.dtype, f'{memory}[{flat}]', value, writer.names)}"
                )
            else:
                raise LoweringUnsupported("it sums rows of a value that is constant along them")
        end += [f"{self.stashed[id(one)]}[{flat}] = {self.use(one, inside)}" for one in self.keep.get(phase, ())]
        for store in stored:
            self._store(inside, store, None, end)
        row.lines += before + self._wrapped([*inside.lines, *end], after) + done

    def _flat(self) -> str:
        """The index of an element in the memory of a row."""
        (first, _), *rest = self.loops
        found = f"i{first}"
        for index, _ in rest:
            found = f"({found} * {self.writer.size(index)} + i{index})" if found != "0" else f"i{index}"
        return found

    def _wrapped(self, lines: list[str], after: list[str]) -> list[str]:
        """Loops around lines; with `after`, loops over blocks with these lines at the end of each block."""
        *outside, (index, _) = self.loops
        size, inner = self.writer.size(index), [f"    {line}" for line in lines]
        opening = [
            "    " * depth + f"for i{one} in range({self.writer.span(one)}):" for depth, (one, _) in enumerate(outside)
        ]
        indent = "    " * len(outside)
        if not after:
            return [
                *opening,
                *(indent + line for line in [f"for i{index} in range({self.writer.span(index)}):", *inner]),
            ]
        block = self.writer.schedule.order.block
        inner = [f"for i{index} in range(start, stop):", *inner]
        if not outside:
            lines = [f"stop = min(start + {block}, {size})", "begin, held = start, stop - start", *inner, *after]
            return [f"for start in range(0, {size}, {block}):", *(f"    {line}" for line in lines)]
        full = [f"if held == {block}:", *(f"    {line}" for line in after), "    held = 0"]
        lines = [
            f"stop, begin = min(start + {block} - held, {size}), start - held", *inner,
            "held, start = stop - begin, stop", *full,
        ]  # fmt: skip
        lines = ["start = 0", f"while start < {size}:", *(f"    {line}" for line in lines)]
        return ["held = 0", *opening, *(indent + line for line in lines), *after]

    # -- reductions

    def _reduce(
        self, one: Expression, value: str, before: list[str], after: list[str], done: list[str], inside: SourceScope
    ) -> str:
        writer = self.writer
        how, names = one.value[0], writer.names
        name, start = writer.new(), identity_text(one.value[0], one.dtype, names)
        if not is_order_dependent(how, one.dtype):
            before.append(f"{name} = {start}")
            inside.lines.append(f"{name} = {combine_text(how, one.dtype, name, value, names)}")
            return name
        part = writer.scratch(one.dtype)
        inside.lines.append(f"{part}[i{self.loops[-1][0]} - begin] = {value}")
        found = f"{names.function(LANE_FUNCTIONS[how])}({part}, held, {writer.schedule.order.lanes})"
        if how == "multiply":
            before.append(f"{name} = {start}")
            after.append(f"{name} = {name} * {found}")
        elif one.dtype == FLOAT64:
            before += [f"{name} = 0.0", f"lost_{name} = 0.0"]
            after.append(f"{name}, lost_{name} = {names.function('compensated')}({name}, lost_{name}, {found})")
            done.append(f"{name} += lost_{name}")
        else:
            names.types.add("float64")
            before.append(f"total_{name} = 0.0")
            after.append(f"total_{name} += float64({found})")
            done.append(f"{name} = {names.type(one.dtype)}(total_{name})")
        return name

    def _add_row(self, one: Expression) -> None:
        """Adds a row's number to a sum over rows."""
        writer = self.writer
        value = self.use(one.args[0], self.scope)
        name = writer.parts[id(one)]
        if one.value[0] == "add" and one.dtype.kind == "f":
            exact = writer.names.function("compensated")
            self.scope.lines.append(f"{name}, lost_{name} = {exact}({name}, lost_{name}, float64({value}))")
        else:
            self.scope.lines.append(f"{name} = {combine_text(one.value[0], one.dtype, name, value, writer.names)}")

    # -- expressions

    def _count_uses(self, roots: list[Expression]) -> None:
        self.uses = {}
        stack, visited = list(roots), set[int]()
        for one in roots:
            self.uses[id(one)] = self.uses.get(id(one), 0) + 1
        while stack:
            one = stack.pop()
            if id(one) in visited or one.name == "reduce":
                continue
            visited.add(id(one))
            for arg in one.args:
                self.uses[id(arg)] = self.uses.get(id(arg), 0) + (2 if repeats_argument(one) else 1)
                stack.append(arg)

    def use(self, one: Expression, scope: SourceScope) -> str:
        """The text of a value in a scope; adds lines that compute it if needed."""
        name = scope.find(one)
        if name is not None:
            return name
        writer = self.writer
        if one.name == "number":
            return literal(one.value, one.dtype, writer.names)
        outermost = self._outermost_scope(one, scope)
        if outermost is not scope:
            return self.use(one, outermost) if not self._is_simple(one) else self._text(one, outermost)
        found = self._text(one, scope)
        if self._is_simple(one) and one.name != "input":
            return found
        named = (
            self.uses.get(id(one), 1) > 1
            or len(found) > MAX_UNNAMED_LENGTH
            or one.name == "input"
            or scope is not self.inside
        )
        if named:
            name = writer.new()
            scope.lines.append(f"{name} = {found}")
            scope.names[id(one)] = name
            return name
        return found

    def _is_simple(self, one: Expression) -> bool:
        return one.name in ("scalar", "size", "index")

    def _outermost_scope(self, one: Expression, scope: SourceScope) -> SourceScope:
        """The outermost scope in which a value can be computed."""
        writer = self.writer
        if self.is_inner(one):
            return scope
        reaches = writer.reach(one) & writer.outer
        if not reaches and writer.phase(one) == 0:
            return writer.top
        return self.scope

    def _text(self, one: Expression, scope: SourceScope) -> str:
        writer = self.writer
        if one.name == "input":
            return self._element(writer.accesses[id(one)], scope)
        if one.name == "scalar":
            return f"number{one.value}"
        if one.name == "index":
            return next((f"i{index}" for index, loop in writer.loops if one.value in loop.axes), "0")
        if one.name == "size":
            sizes = [writer.size(index) for index, loop in writer.loops if loop.axes and loop.axes[0] in one.value]
            return "(" + (" * ".join(sizes) or "1") + ")"
        if id(one) in self.stashed and scope is not self.scope and id(one) not in self.fresh:
            return f"{self.stashed[id(one)]}[{self._flat()}]"
        if one.name == "reduce":
            if id(one) not in writer.finals:
                raise LoweringUnsupported("a sum is used before it is complete")
            return writer.finals[id(one)].format(self._flat())
        args = [self.use(arg, scope) for arg in one.args]
        return expression_text(one, args, writer.names)

    def _element(self, access: int, scope: SourceScope) -> str:
        writer = self.writer
        return f"{writer.pointers[access]}[{self._index(access, scope)}]"

    def _index(self, access: int, scope: SourceScope) -> str:
        """The index of an element in its row."""
        parts = []
        for index, _ in self.loops if scope is not self.scope and scope is not self.writer.top else ():
            step = self.writer.layout.steps[access][index]
            if step != 0:
                parts.append(f"i{index}" if step == 1 else f"i{index} * {self.writer.step(access, index)}")
        return " + ".join(parts) or "0"

    def _store(self, scope: SourceScope, store: Store, index: str | None, end: list[str] | None = None) -> None:
        writer = self.writer
        access = writer.accesses[-1 - store.index]
        value = self.use(store.expression, scope)
        where = index if index is not None else self._index(access, scope)
        (scope.lines if end is None else end).append(f"{writer.pointers[access]}[{where}] = {value}")


__all__ = ["RowWriter", "SourceScope"]
