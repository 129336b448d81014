"""`pytest --compiled tests/engine`: every test of the engine inside a compiled function, several times.

The first pass records, which runs ops one by one; the others find their path known, defer ops and run them as plans.
NumPy stands in for the kernels: to the same bits, as `tests/engine/compiler/test_fused_programs.py` sees to.
Fixtures are new in each pass; a test that hypothesis drives runs twice on each example.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from fnmatch import fnmatch
from typing import Any

import pytest
from hypothesis import settings

from engine.autograd import gradient_checks
from engine.compiler import CompiledFunction
from engine.compiler.instruction import fill_template, resolve_operand
from engine.compiler.kernels import FusedGroup
from engine.compiler.kernels import cpu_kernel as kernel_module
from engine.compiler.kernels.kernel_cache import KernelModule
from engine.compiler.passes.decompose import DECOMPOSITIONS
from engine.compiler.plan import buffer_placement as plan_steps
from engine.compiler.plan import execution_plan as plan_module
from engine.compiler.plan import plan_device
from engine.compiler.sequential_executor import compute_call
from engine.modes import MODES
from engine.ops.linalg.matmul import linear
from engine.random import manual_seed

PASS = "compiled_pass"

EXCLUDED: dict[str, str] = {
    "tests/engine/compiler/*": "compiles by itself",
    "tests/engine/fit/*": "compiles by itself",
    "tests/engine/test_reference_counts.py::*": "compiles by itself",
    "*::test_every_metric_is_compiled_*": "compiles by itself",
    "*::test_graph_of_100000_ops": "planning a recording with this many ops takes minutes",
    "*::test_long_graphs_are_freed_immediately": "recordings are memory that is kept for the next call",
    "tests/engine/test_modes.py::test_interceptor_disables_fast_calls_of_its_thread*": "tests eager calls only",
    "tests/engine/test_dispatch.py::test_fast_path_equals_the_general_path*": "tests eager calls only",
    "tests/engine/test_profiler.py::*": "times ops that run one by one",
    "*::test_without_recording_there_are_no_lines_and_no_norms": "what is compiled knows the lines of its ops",
    "*::test_an_index_out_of_range_is_an_error_of_the_artifact": "what is recorded fails where its values are read",
    "*::test_shared_memory_is_counted_once": "arrays that are not computed yet share no memory",
    "tests/engine/utils/test_checkpoint.py::test_peak_memory_is_lower": "measures before anything is computed",
}
"""Pattern of tests → why they mean nothing inside a compiled function."""

BITWISE: dict[str, str] = {
    "*::test_the_same_seed_gives_the_same_weights*": "as below",
    "*::test_run_can_continue_another*": "as below",
    "*::test_preserve_state_changes_nothing*": "as below",
    "*::test_an_optimizer_that_needs_a_closure*": "as below",
    "*::test_resumed_run_equals_the_uninterrupted_run*": "as below",
    "tests/engine/utils/test_checkpoint.py::*": "as below",
    "tests/engine/export/*": "as below",
    "*::test_different_backward_calls_give_equal_gradients*": "as below",
    "*::test_program_is_reproducible*": "asks for the same bits from the call that records, which is eager, and "
    "from plans, which sum in another order",
    "*::test_special_values*sum_to_size*": "adds up 1e30 and -1e30: what is left of the rest depends on the order",
}
"""Pattern of tests → why plans do for them what eager mode does, with ops as a whole and its kernels: the same bits."""

ROUNDING = 1e-10
"""By which the call that records may differ from plans, for tests in double precision."""
MANY = 20
"""Cases of one test from which on `--share` leaves some out."""
FEWER = 10
"""Run one in N of the examples of hypothesis."""


def add_options(parser: pytest.Parser) -> None:
    group = parser.getgroup("engine")
    group.addoption("--compiled", action="store_true", help="run each engine test inside a compiled function")
    group.addoption("--passes", type=int, default=2, help="how often each; the first one records (default 2)")
    group.addoption("--share", type=int, default=1, help="run one in N cases of tests with many cases (default 1)")
    group.addoption("--kernels", action="store_true", help="wait for compiled kernels; without, NumPy stands in")


class Uncompiled:
    """In the place of a kernel: one that is never there, for which its nodes run one by one, as in eager mode."""

    ready, source, failure = False, "", "NumPy stands in for it"

    def __init__(self, fused: FusedGroup, *_: object) -> None:
        self.fused = fused

    def wait(self) -> None:
        pass

    def reference(self, inputs: Sequence[Any], scalars: Sequence[float], outputs: Sequence[Any]) -> None:
        arrays = dict(zip(self.fused.inputs, inputs, strict=True))
        numbers: Any = dict(zip([one.number for one in self.fused.scalars], scalars, strict=True))
        for node in self.fused.nodes:
            given = [resolve_operand(one, arrays, numbers) for one in node.inputs]
            found = compute_call(node.op, given, fill_template(node.statics, numbers), node.out.device, node.mixed)
            arrays.update(zip(node.outputs, found, strict=True))
        for value, out in zip(self.fused.outputs, outputs, strict=True):
            out[...] = arrays[value]


@contextmanager
def standing_in() -> Iterator[None]:
    """Inside, new plans have NumPy stand in for their kernels, which are never compiled."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(kernel_module, "compile_in_background", KernelModule)
        yield


@contextmanager
def waiting() -> Iterator[None]:
    """Inside, plans run only once their kernels are compiled."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(plan_module.ExecutionPlan, "run", _waiting(plan_module.ExecutionPlan.run))
        yield


@contextmanager
def bitwise() -> Iterator[None]:
    """Inside, plans compute the ops of eager mode, whole and with its kernels: to the same bits."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(plan_device, "CpuKernel", Uncompiled)
        patch.setattr(plan_steps, "routine_of", lambda node: None)
        for op in [op for op in DECOMPOSITIONS if op is not linear]:
            patch.delitem(DECOMPOSITIONS, op)
        yield


class _RelaxedCheckOptions(gradient_checks.CheckOptions):
    """Options that tolerate rounding between two backward passes, since one of them may be the recording one."""

    def __init__(self, eps: float, atol: float, rtol: float, nondet: float, *others: Any) -> None:
        super().__init__(eps, atol, rtol, max(nondet, ROUNDING), *others)


class CompiledTests:
    """What pytest does otherwise under `--compiled`."""

    def __init__(self, config: pytest.Config) -> None:
        self.passes: int = config.option.passes
        self.share: int = config.option.share
        self.known: dict[str, CompiledFunction] = {}
        """Tests between two passes."""
        self.segments = self.planned = self.left_out = 0
        gradient_checks.CheckOptions = _RelaxedCheckOptions
        if config.option.kernels:
            plan_module.ExecutionPlan.run = _waiting(plan_module.ExecutionPlan.run)
        else:
            kernel_module.compile_in_background = KernelModule  # a backend that is not built

    def pytest_generate_tests(self, metafunc: pytest.Metafunc) -> None:
        """Several passes, unless hypothesis repeats the test anyway."""
        passes = 1 if hasattr(metafunc.function, "hypothesis") else self.passes
        metafunc.fixturenames.append(PASS)
        metafunc.parametrize(PASS, range(passes), ids=[f"pass{number}" for number in range(passes)])

    @pytest.hookimpl(trylast=True)
    def pytest_collection_modifyitems(self, config: pytest.Config, items: list[pytest.Item]) -> None:
        cases: dict[str, set[str]] = {}
        for item in items:
            for pattern, reason in EXCLUDED.items():
                if fnmatch(_function(item), pattern):
                    item.add_marker(pytest.mark.skip(reason=f"not compiled: {reason}"))
            cases.setdefault(_function(item), set()).add(_case(item))
        chosen = {case for of_one in cases.values() for case in _part(of_one, self.share)}
        left_out = {item for item in items if _case(item) not in chosen}
        self.left_out = len(left_out)
        config.hook.pytest_deselected(items=list(left_out))
        items[:] = [item for item in items if item not in left_out]

    @pytest.hookimpl(tryfirst=True)
    def pytest_pyfunc_call(self, pyfuncitem: pytest.Function) -> bool:
        with bitwise() if any(fnmatch(pyfuncitem.nodeid, pattern) for pattern in BITWISE) else nullcontext():
            self._run(pyfuncitem)
        return True

    def _run(self, pyfuncitem: pytest.Function) -> None:
        arguments = {name: pyfuncitem.funcargs[name] for name in pyfuncitem._fixtureinfo.argnames}
        hypothesis = getattr(pyfuncitem.obj, "hypothesis", None)
        if hypothesis is not None:
            with _inner(pyfuncitem.obj, self._twice(hypothesis.inner_test)):
                pyfuncitem.obj(**arguments)
            return
        key, number = _case(pyfuncitem), pyfuncitem.callspec.params[PASS]
        compiled = self.known[key] = self.known.get(key) or CompiledFunction(pyfuncitem.obj)
        compiled.function = pyfuncitem.obj
        try:
            self._call(compiled, arguments)
        finally:
            if number == self.passes - 1:
                del self.known[key]

    def _call(self, compiled: CompiledFunction, arguments: dict[str, Any]) -> None:
        try:
            trace = compiled.trace_call(**arguments)
        finally:
            assert MODES.capture is None
        self.segments += len(trace)
        self.planned += sum(ran.plan is not None for ran in trace)

    def _twice(self, function: Callable[..., Any]) -> Callable[..., Any]:
        def twice(*args: Any, **kwargs: Any) -> None:
            compiled = CompiledFunction(function)
            for _ in range(2):
                manual_seed(0)
                compiled(*args, **kwargs)

        return twice

    def pytest_terminal_summary(self, terminalreporter: Any) -> None:
        if self.segments:  # in the process that runs tests
            terminalreporter.write_line(
                f"compiled: {self.segments} segments, {self.planned} of them run by plans; {self.left_out} left out"
            )


def _function(item: pytest.Item) -> str:
    return item.nodeid.partition("[")[0]


def _part(cases: set[str], share: int) -> list[str]:
    """Select one in N cases of a test, of every kind, always the same ones."""
    kept = len(cases) if len(cases) <= MANY else -(-len(cases) // share)
    return sorted(cases, key=lambda case: zlib.crc32(case.encode()))[:kept]


def _case(item: pytest.Item) -> str:
    """What is the same in all passes over a test."""
    before, _, after = item.nodeid.rpartition("pass")
    return before.rstrip("-[") + after.lstrip("0123456789")


def _waiting(run: Callable[..., Any]) -> Callable[..., Any]:
    def waiting(plan: Any, *args: Any) -> Any:
        plan.wait()
        return run(plan, *args)

    return waiting


@contextmanager
def _inner(test: Any, function: Callable[..., Any]) -> Iterator[None]:
    """Another inner function, and fewer examples, for a test that hypothesis drives."""
    old, given = test.hypothesis.inner_test, test._hypothesis_internal_use_settings
    test.hypothesis.inner_test = function
    test._hypothesis_internal_use_settings = settings(given, max_examples=max(given.max_examples // FEWER, 1))
    try:
        yield
    finally:
        test.hypothesis.inner_test, test._hypothesis_internal_use_settings = old, given
