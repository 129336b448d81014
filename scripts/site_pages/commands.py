"""The command-line reference, from the typer functions of the commands."""

from __future__ import annotations

import inspect
import typing
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from typer.models import ArgumentInfo, OptionInfo, ParameterInfo

from studio.cli.command_line import COMMANDS
from studio.cli.lazy_commands import functions
from studio.reference.markdown import code, escaped, fence, joined, table

PATH = "reference/cli.md"

EXAMPLES = {
    "run": "gradwire run digits.gradwire --epochs 5 --set adam.lr=0.01",
    "check": "gradwire check digits.gradwire",
    "diff": "gradwire diff digits.gradwire changed.gradwire",
    "explain": "gradwire explain digits.gradwire",
    "profile": "gradwire profile digits.gradwire --trace steps.json",
    "sweep": "gradwire sweep digits.gradwire -p adam.lr=0.001,0.01 --epochs 3",
    "trust": "gradwire trust digits.gradwire",
    "data": "gradwire data digits.gradwire scale",
    "weights": "gradwire weights trained.pt digits.gradwire --suggest",
    "import": "gradwire import houses.csv -o houses.gradwire",
    "evaluate": "gradwire evaluate digits.gradwire --weights 1",
    "predict": "gradwire predict digits.gradwire --weights 1 new.npy -o answers.csv",
    "find-rate": "gradwire find-rate digits.gradwire",
    "overfit": "gradwire overfit digits.gradwire --steps 50",
    "diagnose": "gradwire diagnose digits.gradwire --report digits.html",
    "reproduce": "gradwire reproduce digits.gradwire --set adam.lr=100",
    "export": "gradwire export digits.gradwire --to pytorch -o digits_pytorch",
    "nodes": "gradwire nodes --json",
    "blocks list": "gradwire blocks list",
    "blocks show": "gradwire blocks show residual",
    "blocks export": "gradwire blocks export residual -o residual.gradwire",
    "blocks import": "gradwire blocks import residual.gradwire",
    "schema": "gradwire schema",
    "lesson list": "gradwire lesson list",
    "lesson show": "gradwire lesson show tensors-and-shapes",
    "lesson check": "gradwire lesson check tensors-and-shapes",
    "lesson student": "gradwire lesson student tensors-and-shapes tensors.gradlesson",
    "templates": "gradwire templates",
    "new": "gradwire new digits-mlp -o digits.gradwire",
    "runs list": "gradwire runs list digits.gradwire",
    "runs show": "gradwire runs show digits.gradwire 1 2",
    "runs export": "gradwire runs export digits.gradwire 1 -o points.csv",
    "runs report": "gradwire runs report digits.gradwire 1",
}
EXIT_CODES = (
    ("0", "Done."),
    ("1", "The run failed, the compared projects differ, a cause was found, or output could not be written."),
    ("2", "Usage error, or a file that cannot be used."),
    ("3", "The project contains Python code that is not trusted, so nothing was run."),
    ("4", "Stopped by a breakpoint, before the step. Its batch and the state before it are kept."),
    ("130", "Interrupted by Ctrl+C. A checkpoint is kept."),
    ("141", "The output pipe was closed. A checkpoint is kept."),
    ("143", "Terminated by SIGTERM. A checkpoint is kept."),
)


@dataclass(frozen=True, slots=True)
class Argument:
    """One parameter of a command."""

    names: str
    value: str
    default: str
    help: str
    is_option: bool
    required: bool


def pages() -> Iterator[tuple[str, str]]:
    commands = list(functions(COMMANDS))
    rows = [(f"[`gradwire {name}`](#{_anchor(name)})", escaped(help_text)) for name, _, help_text in commands]
    yield (
        PATH,
        joined(
            [
                "# Command line",
                (
                    "Look up every command, argument and option of `gradwire`. In a checkout, `python main.py` and "
                    "`python3 scripts/start.py` take the same arguments; without any, the studio opens."
                ),
                fence("sh", EXAMPLES["new"] + "\n" + EXAMPLES["run"]),
                table(("Command", "Description"), rows),
                *(_section(*command) for command in commands),
                "## Exit codes",
                table(("Code", "Meaning"), EXIT_CODES),
            ]
        ),
    )


def arguments(function: Callable[..., Any]) -> Iterator[Argument]:
    hints = typing.get_type_hints(function, include_extras=True)
    for name, parameter in inspect.signature(function).parameters.items():
        plain, *extras = typing.get_args(hints[name]) if hasattr(hints[name], "__metadata__") else (hints[name],)
        info = next((one for one in extras if isinstance(one, ParameterInfo)), None)
        assert isinstance(info, (OptionInfo, ArgumentInfo)), f"{function.__name__}: {name} has no typer declaration"
        required = parameter.default is inspect.Parameter.empty
        is_option = isinstance(info, OptionInfo)
        yield Argument(
            names=_option_names(name, info, plain)
            if is_option
            else code((info.metavar or name.upper()) + "..." * _is_list(plain)),
            value=_value(info, plain) if is_option else "",
            default="**required**" if required else _default(parameter.default),
            help=info.help or "",
            is_option=is_option,
            required=required,
        )


def _section(name: str, function: Callable[..., Any], help_text: str) -> str:
    parameters = list(arguments(function))
    positional = [parameter for parameter in parameters if not parameter.is_option]
    options = [parameter for parameter in parameters if parameter.is_option]
    usage = " ".join(
        ["gradwire", name, *(_usage(parameter) for parameter in positional), *(["[OPTIONS]"] if options else [])]
    )
    return joined(
        [
            f"## gradwire {name} {{ #{_anchor(name)} }}",
            escaped(help_text),
            fence("text", usage),
            table(("Argument", "Meaning"), [(parameter.names, escaped(parameter.help)) for parameter in positional]),
            table(
                ("Option", "Value", "Default", "Meaning"),
                [
                    (parameter.names, parameter.value, parameter.default, escaped(parameter.help))
                    for parameter in options
                ],
            ),
            "Example:",
            fence("sh", EXAMPLES[name]),
        ]
    ).rstrip()


def _anchor(name: str) -> str:
    return name.replace(" ", "-")


def _usage(argument: Argument) -> str:
    return argument.names.strip("`") if argument.required else f"[{argument.names.strip('`')}]"


def _option_names(name: str, info: OptionInfo | ArgumentInfo, kind: Any) -> str:
    declarations = (info.default, *(info.param_decls or ()))  # typer replaces the default when it parses
    names = [
        declaration for declaration in declarations if isinstance(declaration, str) and declaration.startswith("-")
    ]
    if not names:
        option = "--" + name.replace("_", "-")
        names = [option, "--no-" + option[2:]] if _is_bool(kind) else [option]
    return ", ".join(map(code, names))


def _is_bool(kind: Any) -> bool:
    return kind is bool or bool in typing.get_args(kind)


def _is_list(kind: Any) -> bool:
    return any(typing.get_origin(kind_or_member) is list for kind_or_member in (kind, *typing.get_args(kind)))


def _value(info: OptionInfo | ArgumentInfo, kind: Any) -> str:
    bounds = [f"{sign} {bound:,}" for sign, bound in (("≥", info.min), ("≤", info.max)) if bound is not None]
    if info.metavar:
        return f"{code(info.metavar)} {' and '.join(bounds)}".strip()
    if _is_bool(kind):
        return ""
    kinds = [one for one in typing.get_args(kind) or (kind,) if one is not type(None)]
    text = ", ".join(
        code(str(one)) if isinstance(one, str) else getattr(one, "__name__", str(one)).lower() for one in kinds
    )
    return f"{text} {' and '.join(bounds)}".strip()


def _default(value: Any) -> str:
    return "" if value is None or value is False else code(str(value))
