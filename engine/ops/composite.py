"""Composites: functions written with other ops, and declared like an op.

    @composite(sample=lambda s: s.unary())
    def softsign(x):
        \"\"\"x / (1 + |x|).\"\"\"
        return x / (1 + x.abs())

They need no kernel, gradient or shape rule. Tensor methods, in-place variants, keywords and tests are derived from the
record, as for ops.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

from engine.ops.argument_names import as_public_function
from engine.ops.record import reserve_names

COMPOSITES: dict[str, Composite] = {}


@dataclass(frozen=True, slots=True)
class Composite:
    """Record of a composite. See `composite` for the options."""

    name: str
    function: Callable[..., Any]
    method: bool
    public: bool
    in_place: bool | Literal["view"]
    result: str
    sample: Callable[..., Any] | None
    aliases: tuple[str, ...] = ()
    operators: tuple[str, ...] = ()


def composite(
    function: Callable[..., Any] | None = None,
    *,
    method: bool = True,
    public: bool = True,
    in_place: bool | Literal["view"] = False,
    result: str = "Tensor",
    sample: Callable[..., Any] | None = None,
    aliases: tuple[str, ...] = (),
    operators: tuple[str, ...] = (),
) -> Any:
    """Decorator that declares a composite, with or without options.

    Args:
        method: add a tensor method
        public: export it as `engine.NAME`
        in_place: add a method `NAME_` that writes the result into the tensor; "view" turns the tensor into the view
        result: type of the result in the type stubs
        sample: see `Op`
        aliases: see `Op`
        operators: see `Op`
    """
    if function is None:
        return lambda function: composite(
            function,
            method=method,
            public=public,
            in_place=in_place,
            result=result,
            sample=sample,
            aliases=aliases,
            operators=operators,
        )
    name = function.__name__.rstrip("_")
    reserve_names(name, aliases)
    COMPOSITES[name] = Composite(
        name, as_public_function(function), method, public, in_place, result, sample, aliases, operators
    )
    return function


__all__ = ["COMPOSITES", "Composite", "composite"]
