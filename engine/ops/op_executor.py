"""Public functions of ops, and the executor that they call."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from engine.dtypes import as_optional_dtype
from engine.ops.out_argument import with_out
from engine.ops.static_arguments import freeze_statics

if TYPE_CHECKING:
    from engine.ops.record import Op


@dataclass(slots=True)
class OpExecutor:
    """Holder of the function that runs an op; `engine.tensors.dispatch` sets it."""

    run: Callable[[Op, Sequence[Any], dict[str, Any]], Any]


def _no_executor(op: Op, inputs: Sequence[Any], statics: dict[str, Any]) -> Any:
    raise RuntimeError("import engine before calling an op")


OP_EXECUTOR = OpExecutor(_no_executor)


def public_function(op: Op) -> Callable[..., Any]:
    """The function that users call: it splits its arguments into inputs and statics and runs the op."""
    executor, arity, plain, bind, defaults = OP_EXECUTOR, op.arity, op.has_all_defaults, op.bind, op.defaults
    has_statics = frozenset(op.static_names).issuperset
    takes_dtype = op.takes_dtype

    def function(*args: Any, **kwargs: Any) -> Any:
        if kwargs:
            if takes_dtype and "dtype" in kwargs:
                kwargs["dtype"] = as_optional_dtype(op.name, kwargs["dtype"])
            if plain and len(args) == arity and has_statics(kwargs):
                return executor.run(op, args, {**defaults, **freeze_statics(kwargs)})
            if ("out" in kwargs or op.keyword_overloads) and (overload := find_overload(op, kwargs)):
                return overload(*args, **kwargs)
        elif plain and len(args) == arity:
            return executor.run(op, args, defaults)
        inputs, statics = bind(args, kwargs)
        if takes_dtype:
            statics = {**statics, "dtype": as_optional_dtype(op.name, statics["dtype"])}
        return executor.run(op, inputs, statics if statics is defaults else freeze_statics(statics))

    function.__name__ = function.__qualname__ = op.name
    function.__doc__ = op.kernel.__doc__
    function.__module__ = op.kernel.__module__
    function.__signature__ = op.signature  # pyright: ignore[reportFunctionMemberAccess]
    function.argument_aliases = op.argument_aliases  # pyright: ignore[reportFunctionMemberAccess]
    return function


def find_overload(op: Op, kwargs: dict[str, Any]) -> Callable[..., Any] | None:
    """The overload that these keywords select, or None for the op itself."""
    if "out" in kwargs:
        return with_out(op.function)
    return next((op.keyword_overloads[name] for name in kwargs if name in op.keyword_overloads), None)
