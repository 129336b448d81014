"""Writes a launch: a CUDA C++ function, its layout, and its arguments."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from engine.compiler.kernels.cuda.cuda_expressions import register_type, repeats_argument, storage_type
from engine.compiler.kernels.cuda.cuda_module import Argument, CudaModule, CudaScope, LaunchFunction
from engine.compiler.kernels.cuda.launch_grid import most_threads
from engine.compiler.kernels.cuda.launch_planning import KernelLaunch, dependencies
from engine.compiler.kernels.kernel_schedule import Axes, Store
from engine.compiler.kernels.loop_layout import AxisStrides, arrange_loops, axis_strides
from engine.compiler.kernels.scalar_expression import Expression

MAX_UNNAMED_LENGTH = 60
"""Length in characters from which subexpressions get a name."""
NAMES = {"input": "x", "number": "number", "output": "out", "memory": "memory"}


class LaunchWriter:
    """Base class of writers of launches."""

    width = 1
    """Elements that a thread reads at once."""

    def __init__(self, module: CudaModule, launch: KernelLaunch, number: int) -> None:
        self.module, self.launch, self.number = module, launch, number
        self.spec, self.text = module.spec, module.text
        self.name = f"{launch.kind}{number}"
        self.looped: Axes = frozenset(launch.inner)
        """Axes that a thread loops over."""
        self.top = CudaScope()
        self.scope = CudaScope(self.top)
        """Scope of values that are constant in the loop of a thread."""
        self.inside: CudaScope | None = None
        self.fields: dict[str, int] = {}
        """Fields of the layout, and their values."""
        self.arguments: dict[Argument, str] = {}
        """Argument → parameter name."""
        self.written: set[str] = set()
        own = [id(one) for one in launch.reduces] if launch.kind == "totals" else []
        self.needed = dependencies(launch.roots(), {*module.finals, *own})
        self.saved = {id(one): module.add_buffer(one.dtype, module.size(self.axes(one))) for one in launch.saved}
        self._count = 0
        self._uses: dict[int, int] = {}
        self._late: dict[int, bool] = {}
        self._arrange()

    def body(self) -> list[str]:
        """Lines of the function."""
        raise NotImplementedError

    def before(self) -> list[str]:
        """Lines before the function."""
        return []

    def write(self) -> tuple[str, LaunchFunction]:
        """The source of the function, and its description."""
        body = self.body()
        layout = f"Layout{self.number}"
        parameters = ", ".join([f"const {layout} at", *self._parameters()])
        bounds = f"__launch_bounds__({most_threads(self.launch.kind)})"
        text = "\n".join([
            *self.before(), f"struct {layout} {{ Index {', '.join(self.fields)}; }};",
            f'extern "C" __global__ void {bounds} {self.name}({parameters}) {{',
            *("    " + line for line in [*self.top.lines, *body]), "}",
        ])  # fmt: skip
        self.module.finals.update(self.saved)
        arguments: tuple[Argument, ...] = (("layout", self.number), *self.arguments)
        rows, row = self.module.size(self.launch.outer), self.module.size(self.launch.inner)
        parts = self.fields.get("parts", 1)
        return text, LaunchFunction(
            self.name, self.launch.kind, arguments, dict(self.fields), rows, row, parts, self.width
        )

    def _parameters(self) -> Iterator[str]:
        for (kind, index), name in self.arguments.items():
            if kind == "number":
                yield f"const double {name}"
            else:
                constant = "" if name in self.written else "const "
                yield f"{constant}{storage_type(self._dtype(kind, index))}* __restrict__ {name}"

    def _dtype(self, kind: str, index: int) -> Any:
        if kind == "memory":
            return self.module.memory[index].dtype
        program = self.spec.program
        return program.inputs[index].dtype if kind == "input" else program.outputs[index][1].dtype

    # -- arrays

    def _arrange(self) -> None:
        """Chooses loops by the access patterns of all arrays."""
        self.access: dict[Any, int] = {}
        """Input or sum, ("store", index) or ("save", sum) → access of the layout."""
        self.pointers: list[str] = []
        accesses: list[AxisStrides] = []
        for key, target, sum_strides in self._accesses():
            self.access[key] = len(accesses)
            accesses.append(sum_strides)
            self.pointers.append(self.parameter(target))
            if isinstance(key, tuple):
                self.written.add(self.pointers[-1])
        indexed = frozenset(one.value for one in self.needed if one.name == "index")
        launch = self.launch
        self.layout, layout_values = arrange_loops(
            self.spec.program.space, launch.inner, launch.outer, accesses, indexed
        )
        self.loops = list(enumerate(self.layout.loops))
        rest = iter(layout_values)
        self.fields.update({f"n{index}": next(rest) for index, _ in self.loops})
        for access, steps in enumerate(self.layout.steps):
            dynamic = [index for index, step in enumerate(steps) if step is None]
            self.fields.update({f"step{access}_{index}": next(rest) for index in dynamic})

    def _accesses(self) -> Iterator[tuple[Any, Argument, AxisStrides]]:
        spec, finals = self.spec, self.module.finals
        for one in self.needed:
            if one.name == "input":
                index, axes = one.value
                yield id(one), ("input", index), axis_strides(spec.strides[index], axes)
            elif id(one) in finals:
                yield id(one), ("memory", finals[id(one)]), self.sum_strides(one)
        for store in (*self.launch.stores, *self.launch.after):
            result, _ = spec.program.outputs[store.index]
            source = spec.in_place.get(store.index)
            target: Argument = ("output", store.index) if source is None else ("input", source)
            yield (
                ("store", store.index),
                target,
                axis_strides(spec.strides[len(spec.program.inputs) + store.index], result.axes),
            )
        for one in self.launch.saved:
            yield ("save", id(one)), ("memory", self.saved[id(one)]), self.sum_strides(one)

    def parameter(self, target: Argument) -> str:
        """The parameter name of an argument."""
        return self.arguments.setdefault(target, f"{NAMES[target[0]]}{target[1]}")

    def axes(self, one: Expression) -> tuple[int, ...]:
        return tuple(sorted(self.reach(one)))

    def sum_strides(self, one: Expression) -> AxisStrides:
        """Strides of a sum that is kept in memory."""
        found, step = AxisStrides(), 1
        for axis in reversed(self.axes(one)):
            found[axis] = step
            step *= self.spec.program.space[axis]
        return found

    def field(self, name: str, value: int) -> str:
        """Adds a field to the layout."""
        self.fields[name] = value
        return f"at.{name}"

    def loop_indices(self, *, inner: bool) -> list[int]:
        """Indices of the loops of a row, or of those over rows."""
        return [index for index, loop in self.loops if loop.inner == inner]

    def size(self, indices: Sequence[int]) -> str:
        return " * ".join(f"at.n{index}" for index in indices) or "1"

    def index_lines(self, flat: str, indices: Sequence[int]) -> list[str]:
        """Lines that compute the index of each loop from a flat index."""
        lines = list[str]()
        for depth, index in enumerate(indices):
            rest = [f"at.n{one}" for one in indices[depth + 1 :]]
            over = f" / ({' * '.join(rest)})" if len(rest) > 1 else f" / {rest[0]}" if rest else ""
            if self.layout.loops[index].axes:
                lines.append(f"const Index i{index} = {flat}{over}{f' % at.n{index}' if depth else ''};")
        return lines

    def element(self, key: Any) -> str:
        """An element of an array at the current loop indices."""
        access, parts = self.access[key], list[str]()
        for index, step in enumerate(self.layout.steps[access]):
            if step != 0:
                parts.append(f"i{index}" if step == 1 else f"i{index} * at.step{access}_{index}")
        return f"{self.pointers[access]}[{' + '.join(parts) or '0'}]"

    # -- expressions

    def reach(self, one: Expression) -> Axes:
        return self.spec.schedule.reach(one, self.module.reach)

    def new(self) -> str:
        self._count += 1
        return f"v{self._count}"

    def count_uses(self, roots: Iterable[Expression]) -> None:
        """Counts uses of values; a value that is used once needs no name."""
        self._uses = {}
        found = list(roots)
        for one in found:
            self._uses[id(one)] = self._uses.get(id(one), 0) + 1
        for one in dependencies(found, {id(one) for one in self.needed if one.name == "reduce"}):
            for arg in one.args if one.name != "reduce" else ():
                self._uses[id(arg)] = self._uses.get(id(arg), 0) + (2 if repeats_argument(one) else 1)

    def use(self, one: Expression, scope: CudaScope) -> str:
        """The text of a value in a scope; adds lines that compute it if needed."""
        text = scope.find(one) or self.simple(one)
        if text is not None:
            return text
        outermost = self.outermost_scope(one)
        if outermost is not scope:
            return self.use(one, outermost)
        is_leaf = self.is_leaf(one)
        found = self.leaf(one) if is_leaf else self.text.of(one, [self.use(arg, scope) for arg in one.args])
        if not (
            is_leaf or self._uses.get(id(one), 1) > 1 or len(found) > MAX_UNNAMED_LENGTH or scope is not self.inside
        ):
            return found
        name = self.new()
        scope.lines.append(f"const {register_type(one.dtype)} {name} = {found};")
        scope.names[id(one)] = name
        return name

    def simple(self, one: Expression) -> str | None:
        """The text of a value that is available everywhere."""
        if one.name == "number":
            return self.text.literal(one.value, one.dtype)
        if one.name == "scalar":
            return self.parameter(("number", one.value))
        if one.name == "size":
            name = "size" + "_".join(map(str, one.value))
            return f"(long long){self.field(name, self.module.size(one.value))}"
        if one.name == "index":
            return self.index(one)
        return None

    def index(self, one: Expression) -> str:
        """The index of an element along an axis."""
        return next((f"(long long)i{index}" for index, loop in self.loops if one.value in loop.axes), "0LL")

    def is_leaf(self, one: Expression) -> bool:
        return one.name == "input" or id(one) in self.module.finals

    def leaf(self, one: Expression) -> str:
        """A read from memory."""
        return self.text.loaded(one.dtype, self.element(id(one)))

    def outermost_scope(self, one: Expression) -> CudaScope:
        """The outermost scope in which a value can be computed."""
        if self.inside is not None and self.reach(one) & self.looped:
            return self.inside
        return self.scope if self._is_late(one) else self.top

    def _is_late(self, one: Expression) -> bool:
        """Whether a value depends on more than numbers."""
        found = self._late.get(id(one))
        if found is None:
            own = one.name in ("reduce", "input", "index")
            found = self._late[id(one)] = own or any(self._is_late(arg) for arg in one.args)
        return found

    # -- results

    def store(self, store: Store, scope: CudaScope) -> str:
        value = self.use(store.expression, scope)
        return f"{self.element(('store', store.index))} = {self.text.stored(store.expression.dtype, value)};"

    def save(self, one: Expression, scope: CudaScope) -> str:
        """Stores a sum for later launches."""
        return f"{self.element(('save', id(one)))} = {self.text.stored(one.dtype, self.use(one, scope))};"

    def finish(self, scope: CudaScope) -> list[str]:
        """Lines that write outputs that depend on sums."""
        self.count_uses([*self.launch.saved, *[store.expression for store in self.launch.after]])
        before = len(scope.lines)
        ends = [self.save(one, scope) for one in self.launch.saved]
        ends += [self.store(store, scope) for store in self.launch.after]
        added = scope.lines[before:]
        del scope.lines[before:]
        return [*added, *ends]


__all__ = ["LaunchWriter"]
