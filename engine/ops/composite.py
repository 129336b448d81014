"""Composites: functions written in other ops, declared in one place like an op.

    @composite(sample=lambda s: s.unary())
    def softsign(x):
        \"\"\"x / (1 + |x|).\"\"\"
        return x / (1 + x.abs())

They need neither kernel nor gradient nor shape rule. Tensor methods, in-place variants, keywords and tests are derived
from the record, as an op's are.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

from engine.ops.argument_names import for_users
from engine.ops.record import reserve_names

COMPOSITES: dict[str, Composite] = {}


@dataclass(frozen=True, slots=True)
class Composite:
    """A function written in other ops, which needs no gradient function; see `composite` for the options."""

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
    """Declares a function that is written in other ops, bare or with options.

    Args:
        method: it is a tensor method as well
        public: it is exported as `engine.NAME`
        in_place: there is a method `NAME_` that writes the result into the tensor; "view": that makes it the view
        result: what it returns, for the type stubs
        sample: as of an op
        aliases: as of an op
        operators: as of an op
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
        name, for_users(function), method, public, in_place, result, sample, aliases, operators
    )
    return function


__all__ = ["COMPOSITES", "Composite", "composite"]
