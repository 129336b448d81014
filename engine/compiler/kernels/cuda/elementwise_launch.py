"""Elementwise launches, with vectorized access where elements are contiguous."""

from __future__ import annotations

from engine.compiler.kernels.cuda.cuda_expressions import storage_type
from engine.compiler.kernels.cuda.cuda_module import CudaScope
from engine.compiler.kernels.cuda.launch_writer import LaunchWriter
from engine.compiler.kernels.kernel_schedule import Store
from engine.compiler.kernels.scalar_expression import Expression

BYTES, MOST = 16, 8
"""Bytes that a thread moves at once, and the maximum number of elements."""


class ElementwiseWriter(LaunchWriter):
    """Threads loop over all elements."""

    def body(self) -> list[str]:
        self.element_name = f"element{self.number}"
        self._write_element()
        self.width = self._width()
        inner = self.loop_indices(inner=True)
        lines = [
            f"const Index size = {self.size(inner)}, step = gridDim.x * (Index)blockDim.x;",
            "const Index thread = blockIdx.x * (Index)blockDim.x + threadIdx.x;",
        ]
        first = "thread"
        if self.width > 1:
            first = "first + thread"
            lines += ["Index first = 0;", *self._pack_loop(inner)]
        one = [*self.index_lines("k", inner), *self._called(self.element, "")]
        return [*lines, f"for (Index k = {first}; k < size; k += step) {{", *("    " + line for line in one), "}"]

    def before(self) -> list[str]:
        return self._element

    # -- one element

    def _write_element(self) -> None:
        """Writes a function that computes one element from its inputs."""
        inside = self.inside = CudaScope(self.scope)
        self.indexed: list[str] = []
        self.count_uses([store.expression for store in self.launch.stores])
        ends = [f"{self._result(store)} = {self._stored(store, inside)};" for store in self.launch.stores]
        lines = [*self.scope.lines, *inside.lines, *ends]
        self.inside = None
        self.scope.lines.clear()
        arguments = [f"const {storage_type(one.dtype)} a{access}" for one, access in self._reads()]
        arguments += [f"const Index {name}" for name in self.indexed]
        arguments += [f"const double {name}" for (kind, _), name in self.arguments.items() if kind == "number"]
        self.sizes = [name for name in self.fields if name.startswith("size")]
        arguments += [f"const Index {name}" for name in self.sizes]
        arguments += [f"{storage_type(store.expression.dtype)}& {self._result(store)}" for store in self.launch.stores]
        self._element = [
            f"__device__ __forceinline__ void {self.element_name}({', '.join(arguments)}) {{",
            *("    " + line for line in [*self.top.lines, *lines]), "}",
        ]  # fmt: skip
        self.top.lines.clear()

    def _reads(self) -> list[tuple[Expression, int]]:
        return [(one, self.access[id(one)]) for one in self.needed if id(one) in self.access]

    def _result(self, store: Store) -> str:
        return f"r{self.access[('store', store.index)]}"

    def _stored(self, store: Store, scope: CudaScope) -> str:
        return self.text.stored(store.expression.dtype, self.use(store.expression, scope))

    def leaf(self, one: Expression) -> str:
        return self.text.loaded(one.dtype, f"a{self.access[id(one)]}")

    def index(self, one: Expression) -> str:
        found = super().index(one)
        name = found.removeprefix("(long long)")
        if name.startswith("i") and name not in self.indexed:
            self.indexed.append(name)
        return found

    def field(self, name: str, value: int) -> str:
        super().field(name, value)
        return name

    # -- many

    def _width(self) -> int:
        """Elements per thread: 1 if an array is not contiguous, or is broadcast in its last dimension."""
        last = [steps[-1] for steps in self.layout.steps]
        if any(step not in (0, 1) for step in last):
            return 1
        sizes = [one.dtype.itemsize for one, access in self._reads() if last[access] == 1]
        sizes += [store.expression.dtype.itemsize for store in self.launch.stores]
        if any(last[self.access["store", store.index]] != 1 for store in self.launch.stores):
            return 1
        return min(BYTES // max(sizes), MOST)

    def _pack_loop(self, inner: list[int]) -> list[str]:
        """The loop over packs. Sizes are checked in advance, addresses at run time."""
        width, last = self.width, [steps[-1] for steps in self.layout.steps]
        self.module.helper("Pack")
        packs = [access for access, step in enumerate(last) if step == 1]
        steps = [
            self.fields[f"step{access}_{index}"]
            for access in packs for index in inner[:-1] if self.layout.steps[access][index] is None
        ]  # fmt: skip
        divides = len(inner) == 1 or self.fields[f"n{inner[-1]}"] % width == 0
        is_wide = divides and all(step % width == 0 for step in steps)
        self.fields["wide"] = int(is_wide)
        aligned = [f"is_aligned<{width}>({name})" for name in dict.fromkeys(self.pointers[one] for one in packs)]
        lines = [f"const Index k = pack * {width};", *self.index_lines("k", inner), *self._called(self._pack, "lane")]
        found = [
            f"if ({' && '.join(['at.wide', *aligned])}) {{",
            f"    for (Index pack = thread; pack < size / {width}; pack += step) {{",
            *("        " + one for one in lines), "    }", f"    first = size / {width} * {width};", "}",
        ]  # fmt: skip
        if not is_wide:
            self.width = 1
        return found

    def _pack(self, key: object) -> str:
        """An element of an array, or the pack that starts there."""
        found = self.element(key)
        if self.layout.steps[self.access[key]][-1] != 1:
            return found
        return f"loaded<{self._packed}>(&{found})"

    @property
    def _packed(self) -> int:
        return self._width()

    def _called(self, element: object, lane: str) -> list[str]:
        """Lines that load, compute and store one element, or the lanes of a pack."""
        last = [steps[-1] for steps in self.layout.steps]
        width = self._packed
        lines, arguments = list[str](), list[str]()
        for one, access in self._reads():
            pack = bool(lane) and last[access] == 1
            kind = f"Pack<{storage_type(one.dtype)}, {width}>" if pack else storage_type(one.dtype)
            lines.append(f"const {kind} a{access} = {element(id(one))};")  # pyright: ignore[reportCallIssue]
            arguments.append(f"a{access}.at[lane]" if pack else f"a{access}")
        indices = self.loop_indices(inner=True)
        arguments += [f"{name} + lane" if lane and name == f"i{indices[-1]}" else name for name in self.indexed]
        arguments += [name for (kind, _), name in self.arguments.items() if kind == "number"]
        arguments += [f"at.{name}" for name in self.sizes]
        ends = list[str]()
        for store in self.launch.stores:
            name, kind = self._result(store), storage_type(store.expression.dtype)
            lines.append(f"Pack<{kind}, {width}> {name};" if lane else f"{kind} {name};")
            arguments.append(f"{name}.at[lane]" if lane else name)
            target = self.element(("store", store.index))
            ends.append(f"*(Pack<{kind}, {width}>*)&{target} = {name};" if lane else f"{target} = {name};")
        call = f"{self.element_name}({', '.join(arguments)});"
        return [*lines, f"for (int lane = 0; lane < {width}; ++lane) {call}" if lane else call, *ends]


__all__ = ["ElementwiseWriter"]
