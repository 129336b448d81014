"""Plain sentences for msgspec's validation errors: the field, the allowed values and the value found."""

from __future__ import annotations

import difflib
import re
from types import UnionType
from typing import Any, Union, cast, get_args, get_origin, get_type_hints

import msgspec

from studio.document.files.json_values import JsonError, format_json
from studio.document.files.strict_json import child_path
from studio.document.model import TrainingSettings
from studio.document.training_settings import TRAINING_SETTINGS

_MESSAGE = re.compile(r"(?P<problem>.*?)(?: - at `\$(?P<path>.*)`)?", re.DOTALL)
_FIELD = re.compile(r"Object (?P<kind>contains unknown|missing required) field `(?P<field>.*)`", re.DOTALL)
_LENGTH = re.compile(r"Expected `array` of length (?P<length>\d+), got (?P<found>\d+)")
_TYPE = re.compile(r"Expected `(?P<types>[^`]*)`(?:, got `.*`)?")
_BOUND = re.compile(r"Expected `(?P<types>[^`]*)` (?P<sign>[<>]=?) (?P<bound>\S+)")
_STEP = re.compile(r"\.(?P<key>[^.\[]+)|\[(?P<index>\d+)\]")

_TYPES = {
    "str": "text",
    "int": "a whole number",
    "float": "a number",
    "bool": "true or false",
    "array": "a list",
    "object": "an object",
    "null": "null",
}
_SIGNS = {">=": "≥", "<=": "≤", ">": ">", "<": "<"}


def validation_problem(error: msgspec.ValidationError, raw: object, declared: type[Any], location: str) -> JsonError:
    """Translate the error of converting `raw` to the type `declared`; `location` is the access path of `raw`."""
    found = _MESSAGE.fullmatch(str(error))
    assert found is not None, error
    message, path = found["problem"], found["path"] or ""
    where = f"{location}{path}" if location else path.removeprefix(".")
    if (field := _FIELD.fullmatch(message)) is not None:
        if field["kind"] == "missing required":
            return JsonError(where, f'has no field "{field["field"]}"', "Add it, or remove the whole entry.")
        inner: Any = _type_at(declared, path, raw)
        names = inner.__struct_fields__ if isinstance(inner, type) and issubclass(inner, msgspec.Struct) else ()
        return unknown_field(child_path(where, field["field"]), names)
    value = _value_at(raw, path)
    setting = TRAINING_SETTINGS.get(path.removeprefix(".")) if declared is TrainingSettings else None
    if setting is not None:
        return JsonError(where, f"must be {setting.allowed}, not {_format(value)}")
    return JsonError(where, _problem(message, value, declared, path, raw))


def unknown_field(location: str, names: tuple[str, ...]) -> JsonError:
    """The error for a field that the format does not have."""
    close = difflib.get_close_matches(location.rpartition(".")[2], names, n=1)
    remedy = f"Did you mean {close[0]}?" if close else f"Remove it, or choose one of: {', '.join(names)}."
    return JsonError(location, "is not a known field", remedy)


def _problem(message: str, value: object, declared: type[Any], path: str, raw: object) -> str:
    if "of length >= 1" in message:
        return "must not be empty"
    if (match := _LENGTH.fullmatch(message)) is not None:
        return f"must have {match['length']} values, not {match['found']}"
    if (match := _BOUND.fullmatch(message)) is not None:
        bound = f"{float(match['bound']):,.15g}"
        return f"must be {_type_names(match['types'])} {_SIGNS[match['sign']]} {bound}, not {_format(value)}"
    if (match := _TYPE.fullmatch(message)) is not None:
        return f"must be {_type_names(match['types'])}, not {_format(value)}"
    if message.startswith("Invalid enum value"):
        choices = get_args(_type_at(declared, path, raw))
        return f"must be one of {', '.join(map(repr, choices))}, not {_format(value)}"
    if message.startswith("Invalid value"):  # of the field that selects one of several classes
        choices = _classes(_type_at(declared, path.rpartition(".")[0], raw))
        return f"must be one of {', '.join(map(repr, choices))}, not {_format(value)}"
    return f"is invalid: {message[:1].lower()}{message[1:]}"


def _type_at(declared: Any, path: str, raw: object) -> Any:
    """The type at a path such as ".steps[0].fitted", without None; of several classes that of the value there."""
    at = ""
    for match in _STEP.finditer(path):
        at += match[0]
        if isinstance(declared, type) and issubclass(declared, msgspec.Struct) and match["key"] is not None:
            declared = get_type_hints(declared)[match["key"]]
        elif match["index"] is not None and get_origin(declared) in (list, tuple):
            declared = get_args(declared)[0]
        else:
            break
        if get_origin(declared) in (Union, UnionType):
            several = [each for each in get_args(declared) if each is not type(None)]
            declared = several[0] if len(several) == 1 else _of_value(declared, _value_at(raw, at))
    return cast("Any", declared)


def _of_value(union: Any, value: object) -> Any:
    """The class that a value selects by its tag; the union if there is none, the first member without classes."""
    classes = _classes(union)
    if not classes:
        return next(each for each in get_args(union) if each is not type(None))
    field = next(iter(classes.values())).__struct_config__.tag_field
    tag = cast("dict[str, Any]", value).get(str(field)) if isinstance(value, dict) else None
    return classes.get(tag, union) if isinstance(tag, str) else union


def _classes(union: Any) -> dict[str, type[msgspec.Struct]]:
    """The classes of a union by their tag."""
    found = [each for each in get_args(union) if isinstance(each, type) and issubclass(each, msgspec.Struct)]
    return {str(each.__struct_config__.tag): each for each in found}


def _type_names(types: str) -> str:
    return " or ".join(_TYPES.get(name, name) for name in types.split(" | "))


def _format(value: object) -> str:
    try:
        return format_json(value)
    except (TypeError, ValueError, RecursionError):  # a checkpoint holds more than JSON
        return f"a {type(value).__name__}"


def _value_at(raw: object, path: str) -> object:
    """The value at a path such as ".at[1]"; the last one that exists if the path does not."""
    for match in _STEP.finditer(path):
        key = match["key"] if match["index"] is None else int(match["index"])
        try:
            raw = cast("Any", raw)[key]
        except (KeyError, IndexError, TypeError):
            break
    return raw


__all__ = ["unknown_field", "validation_problem"]
