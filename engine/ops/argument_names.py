"""Argument aliases of PyTorch: NumPy's names, names of overloads and undocumented names."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Sequence
from typing import Any

from engine.dtypes import as_optional_dtype
from engine.modes import MODES
from engine.ops.out_argument import with_out

ARGUMENT_ALIASES: dict[str, tuple[str, ...]] = {
    "input": ("x", "A"),
    "A": ("input",),
    "self": ("x",),
    "tensor": ("x",),
    "a": ("x",),
    "x1": ("x",),
    "other": ("y",),
    "x2": ("y",),
    "input2": ("L", "tau"),
    "input3": ("other",),
    "axis": ("dim",),
    "keepdims": ("keepdim",),
    "axis0": ("dim0",),
    "axis1": ("dim1",),
    "element": ("elements",),
    "test_element": ("test_elements",),
    "split_size": ("split_size_or_sections",),
    "indices": ("indices_or_sections",),
    "sections": ("indices_or_sections",),
    "tensor_indices_or_sections": ("indices_or_sections",),
}
"""PyTorch's further name of an argument, and the argument names here that accept it."""


def argument_aliases_of(names: Sequence[str]) -> dict[str, str]:
    """Aliases of the arguments `names` of a function, by alias. The first argument can always be passed as `input`."""
    aliases = {
        alias: name
        for alias, accepted in ARGUMENT_ALIASES.items()
        if alias not in names
        for name in accepted
        if name in names
    }
    if names and "input" not in names:
        aliases.setdefault("input", names[0])
    return aliases


def as_public_function(function: Callable[..., Any]) -> Callable[..., Any]:
    """`function` with `out=`, PyTorch's argument aliases and autocast."""
    parameters = inspect.signature(function).parameters
    aliases = argument_aliases_of(list(parameters))
    rest = next((name for name, p in parameters.items() if p.kind is inspect.Parameter.VAR_POSITIONAL), None)

    takes_dtype = "DType" in str(parameters["dtype"].annotation) if "dtype" in parameters else False

    @functools.wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        if kwargs:
            kwargs = {aliases.get(name, name): value for name, value in kwargs.items()}
            if rest in kwargs:
                args = (*args, *([kwargs.pop("x")] if "x" in kwargs else ()), kwargs.pop(rest))
            if takes_dtype and "dtype" in kwargs:
                kwargs["dtype"] = as_optional_dtype(function.__name__, kwargs["dtype"])
            if "out" in kwargs:
                return with_out(function)(*args, **kwargs)
        if MODES.fast_call is None and MODES.autocast is not None:
            return MODES.autocast.call(function, args, kwargs)
        return function(*args, **kwargs) if kwargs else function(*args)

    call.argument_aliases = aliases  # pyright: ignore[reportAttributeAccessIssue]
    return call
