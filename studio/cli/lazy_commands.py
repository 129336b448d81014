"""Commands whose modules are imported when the command runs: `gradwire --help` needs none of them."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import typer
from typer.core import TyperCommand, TyperGroup

from studio.cli import interrupts

Commands = Mapping[str, tuple[str, str]]
"""By command: "module:function", or "module:COMMANDS" for a group, and the help text."""


class PlainCommand(TyperCommand):
    """A command whose help has no types and number ranges, and no braces around required arguments."""

    def collect_usage_pieces(self, ctx: Any) -> list[str]:
        arguments = [_argument_name(param) for param in self.params if param.param_type_name == "argument"]
        return [self.options_metavar or "", *arguments]

    def format_options(self, ctx: Any, formatter: Any) -> None:
        arguments = [param for param in self.params if param.param_type_name == "argument"]
        options = [param for param in self.get_params(ctx) if param.param_type_name == "option"]
        if arguments:
            with formatter.section("Arguments"):
                formatter.write_dl([(_argument_name(param), getattr(param, "help", "")) for param in arguments])
        with formatter.section("Options"):
            formatter.write_dl([_option_row(option, ctx) for option in options])


def _argument_name(param: Any) -> str:
    """The name as in `git help`: RUN, [RUN], RUN... or [RUN...]."""
    name = f"{param.metavar}..." if param.nargs != 1 else str(param.metavar)
    return name if param.required else f"[{name}]"


def _option_row(option: Any, ctx: Any) -> tuple[str, str]:
    names, _ = option.get_help_record(ctx)
    if option.required:
        return names, f"{option.help} Required."
    shown = option.default is not None and option.default is not False
    return names, option.help + (f" Default: {option.default}." if shown else "")


class LazyCommand(TyperCommand):
    """A command with a name and a help text, whose module is imported when it runs."""

    def __init__(self, name: str, source: str, help: str) -> None:
        super().__init__(name, help=help)
        self._source = source

    def load(self) -> Any:
        """Import the command and return it, with its parameters."""
        found = load(self._source)
        app = typer.Typer(add_completion=False, pretty_exceptions_enable=False, rich_markup_mode=None)
        if isinstance(found, Mapping):
            group = lazy_group(found)
            app = typer.Typer(
                cls=group, help=self.help, no_args_is_help=True, add_completion=False, rich_markup_mode=None
            )
            app.callback()(_no_options)
        else:
            app.command(self.name, cls=PlainCommand, help=self.help)(found)
        return typer.main.get_command(app)

    def make_context(self, info_name: str | None, args: list[str], parent: Any = None, **extra: Any) -> Any:
        return self.load().make_context(info_name, args, parent, **extra)


def _no_options() -> None:
    pass


def lazy_group(commands: Commands) -> type[TyperGroup]:
    """Create a group class with these commands."""

    class LazyGroup(TyperGroup):
        def __init__(self, **settings: Any) -> None:
            super().__init__(**settings)
            self.commands.update({name: LazyCommand(name, *command) for name, command in commands.items()})

    return LazyGroup


def load(source: str) -> Any:
    """Import "module:attribute"."""
    module, _, attribute = source.partition(":")
    with interrupts.exit_on_interrupt():
        return getattr(importlib.import_module(module), attribute)


def functions(commands: Commands, prefix: str = "") -> Iterator[tuple[str, Callable[..., Any], str]]:
    """Yield each command, such as "runs list", with its function and its help."""
    for name, (source, help_text) in commands.items():
        found = load(source)
        if isinstance(found, Mapping):
            yield from functions(found, f"{prefix}{name} ")
        else:
            yield prefix + name, found, help_text
