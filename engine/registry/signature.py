"""The parameters and the help of a class or function, from its signature and docstring."""

from __future__ import annotations

import functools
import inspect
import re
import types
import typing
from collections.abc import Callable, Sequence
from typing import Annotated, Any, Literal

from engine.registry.parameter import FromInput, FromTraining, Kind, Parameter, PathTo, Preset, Range
from engine.relative_sizes import RelativeTo


def parameters(target: Callable[..., Any]) -> tuple[Parameter, ...]:
    """Return the parameters of a class or function: its annotated arguments, with bounds and help.

    Arguments without a type that a form can show (tensors, modules, callables) are left out.
    """
    function = inspect.unwrap(target.__init__ if isinstance(target, type) else target)
    hints = typing.get_type_hints(function, include_extras=True)
    helps = argument_help(target)
    found = (
        _parameter(name, hints[name], argument.default, helps.get(name, ""))
        for name, argument in inspect.signature(function).parameters.items()
        if name in hints and name != "self"
    )
    return tuple(parameter for parameter in found if parameter is not None)


def documentation(target: Callable[..., Any]) -> str:
    """Return a docstring without code markup."""
    return _plain(inspect.getdoc(target) or "")


def _plain(text: str) -> str:
    return text.replace("`", "")


def argument_help(target: Callable[..., Any]) -> dict[str, str]:
    """Return the lines of the ``Args:`` sections of a function, or of a class and its bases, by argument."""
    documented = reversed(target.__mro__) if isinstance(target, type) else (target,)
    return {name: text for one in documented for name, text in docstring_help(one.__doc__ or "")}


@functools.cache
def docstring_help(docstring: str) -> tuple[tuple[str, str], ...]:
    """The lines of the ``Args:`` section of a docstring, with their arguments."""
    text = _plain(inspect.cleandoc(docstring))
    section = re.search(r"^Args:\n((?:[ ]{4}.*\n?|\n)+)", text, re.MULTILINE)
    found = re.findall(r"^ {4}(\w+): ((?:.*\n?)(?: {5,}.*\n?)*)", section[1] if section else "", re.MULTILINE)
    return tuple((name, " ".join(help.split())) for name, help in found)


def _parameter(name: str, hint: Any, default: Any, help: str) -> Parameter | None:
    hint, extras = _strip(hint)
    options = _union(hint)
    optional = type(None) in options
    options = [option for option in options if option is not type(None)]
    stripped = [_strip(option) for option in options]
    extras += [extra for _, inner in stripped for extra in inner]
    kind, choices = _kind([bare for bare, _ in stripped])
    path = next((extra for extra in extras if isinstance(extra, PathTo)), None)
    if kind is None:
        return None
    length, single = _length([bare for bare, _ in stripped])
    preset = next((extra for extra in extras if isinstance(extra, Preset)), None)
    return Parameter(
        name=name,
        kind="path" if path else kind,
        default=default if preset is None else preset.value,
        is_preset=preset is not None,
        optional=optional,
        range=next((extra for extra in extras if isinstance(extra, Range)), None),
        length=length,
        single=single,
        choices=choices,
        from_input=next((extra for extra in extras if isinstance(extra, FromInput)), None),
        relative_to=next((extra for extra in extras if isinstance(extra, RelativeTo)), None),
        from_training=any(isinstance(extra, FromTraining) for extra in extras),
        path=path,
        help=help,
    )


def _strip(hint: Any) -> tuple[Any, list[Any]]:
    """Return a type without its Annotated wrappers, and their metadata; includes element annotations of a tuple."""
    extras: list[Any] = []
    while typing.get_origin(hint) is Annotated:
        hint, *more = typing.get_args(hint)
        extras += more
    if typing.get_origin(hint) is tuple:
        extras += [extra for item in typing.get_args(hint) for extra in _strip(item)[1]]
    return hint, extras


def _union(hint: Any) -> list[Any]:
    is_union = typing.get_origin(hint) in (typing.Union, types.UnionType)
    return list(typing.get_args(hint)) if is_union else [hint]


def _length(options: list[Any]) -> tuple[int | None, bool]:
    """Return the fixed length of a tuple among the options, and whether one number is allowed as well."""
    found = next((option for option in options if typing.get_origin(option) in _SEQUENCES), None)
    items = typing.get_args(found) if typing.get_origin(found) is tuple else ()
    return None if not items or Ellipsis in items else len(items), any(option in (int, float) for option in options)


_SEQUENCES = (tuple, Sequence)


def _kind(options: list[Any]) -> tuple[Kind | None, tuple[Any, ...]]:
    literals = tuple(
        value for option in options if typing.get_origin(option) is Literal for value in typing.get_args(option)
    )
    tuples = [option for option in options if typing.get_origin(option) in _SEQUENCES]
    if tuples:
        element = _strip(typing.get_args(tuples[0])[0])[0]
        return ("ints" if element is int else "floats" if element is float else None), literals
    simple: dict[Any, Kind] = {bool: "bool", float: "float", int: "int", str: "str"}
    # int | float is a float; for other unions the first type counts.
    found: list[Kind] = [simple[option] for option in options if option in simple]
    kinds: list[Kind] = sorted(found, key=lambda kind: kind != "float")
    if literals:
        kinds.append("choice")
    return next(iter(kinds), None), literals
