"""The `gradwire` commands and their options."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Annotated

import typer

from engine import lazy
from studio.cli import interrupts, output_streams
from studio.cli.error_output import INTERRUPTED, print_text
from studio.cli.lazy_commands import lazy_group, load
from studio.cli.output_streams import OutputError
from studio.document import SUFFIX

COMMANDS = {
    "run": ("studio.cli.run_command:run", "Train a project."),
    "check": (
        "studio.cli.check_command:check",
        "Check a project for errors without training it.",
    ),
    "diff": ("studio.cli.diff_command:diff", "Show the differences between two projects."),
    "explain": (
        "studio.cli.explain_command:explain",
        "Compile and time a training step, and show graph breaks.",
    ),
    "profile": (
        "studio.cli.profile_command:profile",
        "Measure where the time and memory of training steps go.",
    ),
    "sweep": (
        "studio.cli.sweep:sweep",
        "Train a project with many parameter values, in parallel.",
    ),
    "trust": (
        "studio.cli.trust_command:trust",
        "Show the Python code of a project, and let it run from now on.",
    ),
    "data": (
        "studio.cli.data_command:data",
        "Show statistics and problems of the data at a node.",
    ),
    "import": ("studio.cli.import_command:import_data", "Add a data file to a project, as nodes that read it."),
    "weights": (
        "studio.cli.weights_command:match_weights",
        "Show which weights of a file fit a project, and start its trainings from them.",
    ),
    "evaluate": ("studio.cli.model_commands:evaluate", "Evaluate weights on a project's validation data."),
    "predict": ("studio.cli.model_commands:predict", "Predict on new data with the validation transforms."),
    "find-rate": (
        "studio.cli.model_commands:find_rate",
        "Find a learning rate by training with rising rates.",
    ),
    "overfit": (
        "studio.cli.model_commands:overfit",
        "Check that the network can learn, by training on one batch.",
    ),
    "diagnose": (
        "studio.cli.diagnose_command:diagnose_project",
        "Find out why the loss does not fall, with experiments on a copy.",
    ),
    "reproduce": (
        "studio.cli.reproduce_command:reproduce_failure",
        "Reduce a failing project or run to the smallest part that fails.",
    ),
    "export": (
        "studio.cli.export_command:export_project",
        "Export a project as a Python package for PyTorch or the engine, an ONNX file, or an artifact.",
    ),
    "runs": ("studio.cli.runs_commands:COMMANDS", "List, compare and export the runs of a project."),
    "nodes": (
        "studio.cli.node_listing:nodes",
        "List the node types. With --json, print ports, parameters and bounds.",
    ),
    "blocks": ("studio.cli.block_commands:COMMANDS", "List, show, export and import blocks of the libraries."),
    "schema": ("studio.cli.template_commands:print_schema", "Print the JSON Schema of the project file format."),
    "lesson": ("studio.cli.lesson_commands:COMMANDS", "List, show and check lessons."),
    "templates": ("studio.cli.template_commands:list_templates", "List the project templates."),
    "new": ("studio.cli.template_commands:new", "Create a project from a template."),
}
"""For each command its function or mapping of subcommands, and its help."""

_OPTIONAL_VALUES = {"--resume": "", "--fix": "all"}
"""Options that can be given without a value, and the value that they then have."""

metadata = lazy.module("importlib.metadata")
_ParserError: type[Exception] = typer.BadParameter.__mro__[2]
"""Base class of the option parser's errors, ClickException; depending on its version, typer brings a copy of click."""

app = typer.Typer(
    cls=lazy_group(COMMANDS),
    name="gradwire",
    help="Train and inspect Gradwire projects. Without a command, open the studio.",
    add_completion=False,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command.

    Returns:
        Exit code: 0 done, 1 run failed, projects differ or output not written, 2 usage error or unusable file, 3
        the project contains Python code that is not trusted, 130 interrupted, 141 output pipe closed, 143 terminated.
    """
    with output_streams.guard_streams(), interrupts.raise_on_interrupt() as signals:
        try:
            code = _exit_code(sys.argv[1:] if arguments is None else arguments)
        except OutputError as error:
            code = output_streams.report_output_error(error)
        except Exception:
            if not signals.code:
                raise
            code = signals.code  # a library replaced KeyboardInterrupt by another error
        return output_streams.flush_streams(code)


def _exit_code(arguments: Sequence[str]) -> int:
    try:
        code = app(_fill_optional_values(arguments), prog_name="gradwire", standalone_mode=False)
    except _ParserError as error:
        return load("studio.cli.usage_errors:report_usage_error")(error, arguments, COMMANDS)
    except SystemExit as end:
        return end.code if isinstance(end.code, int) else int(end.code is not None)
    except (KeyboardInterrupt, typer.Abort):
        return INTERRUPTED
    return code if isinstance(code, int) else 0


def _fill_optional_values(arguments: Sequence[str]) -> list[str]:
    """Give `--resume` and `--fix` without a value their default: typer has no options with an optional value."""
    filled = list(arguments)
    for index, (argument, following) in enumerate(zip(arguments, [*arguments[1:], "-"], strict=False)):
        if argument in _OPTIONAL_VALUES and (following.startswith("-") or following.endswith(SUFFIX)):
            filled[index] = f"{argument}={_OPTIONAL_VALUES[argument]}"
    return filled


def _print_version(is_requested: bool) -> None:
    if is_requested:
        try:
            print_text(f"gradwire {metadata.version('gradwire')}")
        except metadata.PackageNotFoundError:
            print_text("gradwire (running from source, not installed)")
        raise typer.Exit


@app.callback()
def options(
    show_version: Annotated[
        bool, typer.Option("--version", help="Print the version.", callback=_print_version, is_eager=True)
    ] = False,
) -> None:
    pass
