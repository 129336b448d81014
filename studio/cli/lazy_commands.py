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
            app.command(self.name, help=self.help)(found)
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
