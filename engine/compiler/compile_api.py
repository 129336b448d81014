"""Public functions: `engine.compile` and PyTorch's names in `torch.compiler`."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Mapping
from typing import Any

from engine.compiler.break_reasons import DISABLED, EXPLICIT
from engine.compiler.compiled_function import COMPILED_FUNCTIONS, DEFAULT_BACKEND, CompiledFunction
from engine.compiler.kernels.cuda.nvrtc import COMPILER as NVRTC
from engine.compiler.kernels.kernel_cache import COMPILER
from engine.errors import CompileError
from engine.modes import MODES

BACKENDS = {
    DEFAULT_BACKEND: "fused kernels, and memory planned ahead",
    "aot_eager": "the cleaned graph, op by op",
    "eager": "the recording, op by op",
}
"""Backends and what they do. The names are PyTorch's."""

MODES_OF_PYTORCH = ("default", "lite", "reduce-overhead", "max-autotune", "max-autotune-no-cudagraphs")


def compile(
    model: Callable[..., Any] | None = None,
    *,
    fullgraph: bool = False,
    dynamic: bool | None = None,
    backend: str | Callable[..., Any] | None = None,
    mode: str | None = None,
    options: Mapping[str, Any] | None = None,
    name: str | None = None,
    disable: bool = False,
) -> Any:
    """Compiles a function or module: its ops are traced and run together. Also a decorator, with or without arguments.

    Python runs on every call, so side effects and control flow keep their meaning. Only ops are compiled.

    Args:
        model: a function or a module; a compiled module is still a module
        fullgraph: raise CompileError at the first graph break, with its reason and line
        dynamic: no effect; each new combination of shapes is traced once
        backend: "inductor" (default) fuses ops into kernels, "aot_eager" runs the simplified graph op by op, "eager"
            runs the trace op by op; the last two help to find the cause of a difference
        mode: no effect; memory is always planned, and there is no autotuning
        options: not supported
        name: name in the output of `explain`
        disable: return `model` unchanged

    Raises CompileError for unknown arguments and for functions that cannot be compiled.
    """
    settings: dict[str, Any] = {
        "fullgraph": fullgraph, "dynamic": dynamic, "backend": backend, "mode": mode, "options": options,
        "name": name, "disable": disable,
    }  # fmt: skip
    chosen = _backend(backend)
    _check(mode, options)
    if model is None:
        return functools.partial(compile, **settings)
    if disable:
        return model
    _check_callable(model)
    return compiled_replacement(model, CompiledFunction(model, fullgraph=fullgraph, backend=chosen, name=name))


@functools.singledispatch
def compiled_replacement(model: Any, function: Callable[..., Any]) -> Any:
    """The object that replaces `model`: `function`, or for a module a module that calls it."""
    return function


@functools.singledispatch
def compiled_of(function: Any) -> CompiledFunction | None:
    """The compiled function behind a result of `compile`; None for other objects."""
    return function if isinstance(function, CompiledFunction) else None


def allow_in_graph(fn: Any) -> Any:
    """Returns `fn` unchanged, since the ops of all called functions are traced. Also accepts a list of functions."""
    return fn


def disable(fn: Any = None, recursive: bool = True, *, reason: str | None = None) -> Any:
    """Excludes `fn` from compiled functions that call it: its ops run one by one. Also a decorator.

    Each call from a compiled function is a graph break.

    Args:
        recursive: must be True; functions that `fn` calls run uncompiled, too
        reason: a note for readers of the code
    """
    if not recursive:
        raise CompileError(
            "disable(recursive=False) is not supported: functions that are called run uncompiled, too.",
            in_code="Leave out recursive=False.",
        )
    if fn is None:
        return functools.partial(disable, recursive=recursive, reason=reason)

    @functools.wraps(fn)
    def apart(*args: Any, **kwargs: Any) -> Any:
        if MODES.capture is None:
            return fn(*args, **kwargs)
        with MODES.capture.suspended(DISABLED, getattr(fn, "__name__", type(fn).__name__)):
            return fn(*args, **kwargs)

    return compiled_replacement(fn, apart)


def graph_break() -> None:
    """Breaks the graph of a compiled function: runs what was traced so far. Elsewhere it has no effect."""
    if MODES.capture is not None:
        MODES.capture.demand(MODES.capture.segment, EXPLICIT)


def reset() -> None:
    """Removes all traces and plans of all compiled functions."""
    for compiled in list(COMPILED_FUNCTIONS):
        compiled.reset()


def wait() -> None:
    """Waits until all requested kernels are compiled.

    Until then NumPy computes the same values.
    """
    COMPILER.wait()
    NVRTC.wait()


def is_compiling() -> bool:
    """Whether a compiled function is running."""
    return MODES.capture is not None


is_dynamo_compiling = is_compiling


def is_exporting() -> bool:
    """Whether a function is being exported: always False."""
    return False


def list_backends(exclude_tags: tuple[str, ...] = ("debug", "experimental")) -> list[str]:
    """The names of backends; those for debugging only if `exclude_tags` is empty."""
    return sorted(BACKENDS) if "debug" not in exclude_tags else [DEFAULT_BACKEND]


def get_default_backend() -> str:
    """The default of `compile(backend=…)`."""
    return DEFAULT_BACKEND


def _backend(backend: str | Callable[..., Any] | None) -> str:
    if backend is None:
        return DEFAULT_BACKEND
    if not isinstance(backend, str):
        raise CompileError(
            "compile(backend=…): functions as backends are not supported, because there is no torch.fx graph. "
            f"{_choices(BACKENDS)}"
        )
    if backend not in BACKENDS:
        raise CompileError(f"compile(backend={backend!r}): this backend does not exist. {_choices(BACKENDS)}")
    return backend


def _check(mode: str | None, options: Mapping[str, Any] | None) -> None:
    if mode is not None and options:
        raise CompileError("compile() accepts mode or options, not both. Leave one of them out.")
    if mode is not None and mode not in MODES_OF_PYTORCH:
        raise CompileError(f"compile(mode={mode!r}): this mode does not exist. {_choices(MODES_OF_PYTORCH)}")
    if options:
        raise CompileError(f"compile(options=…): option {next(iter(options))!r} does not exist. Leave options out.")


def _check_callable(model: Any) -> None:
    name = getattr(model, "__qualname__", type(model).__name__)
    if not callable(model) or isinstance(model, type):
        what = f"the class {name}. Compile an instance or a function" if isinstance(model, type) else repr(model)
        raise CompileError(f"compile() expects a function or a module, got {what}.")
    if inspect.isgeneratorfunction(model) or inspect.isasyncgenfunction(model):
        raise CompileError(
            f"compile(): {name} is a generator function, whose body does not run when it is called. "
            "Compile the function that computes one value."
        )
    if inspect.iscoroutinefunction(model):
        raise CompileError(
            f"compile(): {name} is async, so other code may run before it ends. Compile a plain function that it calls."
        )


def _choices(names: Any) -> str:
    return f"Choose one of: {', '.join(names)}."


__all__ = [
    "compile",
    "disable",
    "get_default_backend",
    "graph_break",
    "is_compiling",
    "is_dynamo_compiling",
    "is_exporting",
    "list_backends",
    "reset",
]
