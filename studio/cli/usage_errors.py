"""Errors of the option parser in plain words, with the usage line of the command."""

from __future__ import annotations

import importlib
import re
import sys
from collections.abc import Mapping, Sequence
from typing import Any

import typer

from studio.cli.error_output import BAD_INPUT
from studio.cli.error_reporting import print_problem
from studio.lowering.problems.problem import Problem

_parser: Any = importlib.import_module(typer.BadParameter.__mro__[2].__module__)
"""The module of the parser's errors: click's, or the copy that newer versions of typer bring."""

_TYPES = {"int": "a whole number", "float": "a number", "bool": "true or false"}
_BOUNDS = {"ge": "at least", "gt": "more than", "le": "at most", "lt": "less than"}
_NO_COMMAND = re.compile(r"No such command '(.*?)'\.(?: Did you mean (.*)\?| \(Possible commands: (.*)\))?")
_EXTRA = re.compile(r"Got unexpected extra arguments?(?:\(s\))? \((.*)\)")
_CHOICES = re.compile(r".*is not one of (.*?)\.?")


def report_usage_error(error: Any, arguments: Sequence[str], commands: Mapping[str, object]) -> int:
    """Print an error of the option parser and the usage line. Returns the exit code."""
    if isinstance(error, getattr(_parser, "NoArgsIsHelpError", ())):  # click 8.1 prints the help itself
        sys.stderr.write(f"{error.format_message()}\n")
        return BAD_INPUT
    print_problem(Problem("error", "bad-usage", usage_message(error)), as_json="--json" in arguments)
    if error.ctx is None:
        command = " ".join(["gradwire", *(name for name in arguments[:1] if name in commands)])
    else:
        command = error.ctx.command_path
        sys.stderr.write(f"\n{error.ctx.get_usage()}\n")
    sys.stderr.write(f"\nFor more information, run `{command} --help`.\n")
    return BAD_INPUT


def usage_message(error: Any) -> str:
    """The error as one sentence: the option, the allowed values and the value given."""
    if isinstance(error, _parser.MissingParameter):
        return f"missing {error.param.param_type_name} {_name(error.param)}."
    if isinstance(error, _parser.BadParameter) and error.param is not None:
        return f"{_name(error.param)} {_value_problem(error)}."
    if isinstance(error, _parser.NoSuchOption):
        return f"unknown option {error.option_name!r}.{_suggestion(map(repr, error.possibilities or ()))}"
    message = error.format_message()
    if isinstance(error, _parser.BadOptionUsage):
        reason = "requires a value" if "requires" in message else "does not take a value"
        return f"{error.option_name} {reason}."
    if match := _NO_COMMAND.fullmatch(message):
        return f"unknown command {match[1]!r}.{_suggestion((match[2] or match[3] or '').split(', '))}"
    if match := _EXTRA.fullmatch(message):
        return f"unexpected argument {match[1]!r}."
    return f"{message[:1].lower()}{message[1:].rstrip('.')}."


def _name(param: Any) -> str:
    """The option's long name, or the argument's placeholder."""
    return str(param.metavar) if param.param_type_name == "argument" else max(param.opts, key=len)


def _value_problem(error: Any) -> str:
    """Why a value is not allowed, as the end of a sentence that begins with the option."""
    found: Any = error.__cause__
    if type(found).__name__ != "ValidationError":  # pydantic's; older versions of typer do without
        return f"is invalid: {error.message.rstrip('.')}"
    first = found.errors()[0]
    given = first["input"]
    for kind, noun in _TYPES.items():
        if first["type"].startswith(f"{kind}_"):
            return f"must be {noun}, not {given!r}"
    for bound, words in _BOUNDS.items():
        if bound in first.get("ctx", {}):
            return f"must be {words} {first['ctx'][bound]:,}, not {given}"
    if match := _CHOICES.fullmatch(error.message):
        return f"must be {_listed(match[1].replace(chr(39), '').split(', '))}, not {given!r}"
    return f"is invalid: {error.message.rstrip('.')}"


def _suggestion(names: Any) -> str:
    known = sorted(name for name in names if name)
    return f" Did you mean {_listed(known)}?" if known else ""


def _listed(names: Sequence[str]) -> str:
    *others, last = names
    return f"{', '.join(others)} or {last}" if others else last


__all__ = ["report_usage_error", "usage_message"]
