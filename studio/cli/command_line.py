"""The commands and their options."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Annotated

import typer

from engine import lazy
from studio.cli import interrupts, output_streams
from studio.cli.error_output import INTERRUPTED, print_text
from studio.cli.lazy_commands import lazy_group
from studio.cli.output_streams import OutputError
from studio.document import SUFFIX

COMMANDS = {
    "run": ("studio.cli.run_command:run", "Train a project."),
    "check": (
        "studio.cli.check_command:check",
        "Check a project for errors without training it. The exit code is 2 if there are errors.",
    ),
    "explain": (
        "studio.cli.explain_command:explain",
        "Show how a project's training step is compiled, and time it. Trains a few batches.",
    ),
    "sweep": (
        "studio.cli.sweep:sweep",
        "Train a project with many parameter values, from a grid or drawn at random. Each trial is a run.",
    ),
    "data": (
        "studio.cli.data_command:data",
        "Describe the samples at a node: counts, classes, ranges, and problems. Trains nothing.",
    ),
    "evaluate": ("studio.cli.model_commands:evaluate", "Evaluate weights on a project's validation data."),
    "predict": ("studio.cli.model_commands:predict", "Predict on new data with the validation transforms."),
    "find-rate": (
        "studio.cli.model_commands:find_rate",
        "Find a good learning rate: train batches with rising rates and compare the losses.",
    ),
    "overfit": (
        "studio.cli.model_commands:overfit",
        "Train on a single batch. A network that is wired correctly drives the loss close to zero.",
    ),
    "runs": ("studio.cli.runs_commands:COMMANDS", "List, compare and export the runs of a project."),
    "nodes": (
        "studio.cli.node_listing:nodes",
        "List every node type: ports, parameters with defaults and bounds, help.",
    ),
    "schema": ("studio.cli.template_commands:print_schema", "Print the JSON Schema of project files."),
    "templates": ("studio.cli.template_commands:list_templates", "List the project templates."),
    "new": ("studio.cli.template_commands:new", "Create a project from a template."),
}
"""For each command its function or mapping of subcommands, and its help."""

metadata = lazy.module("importlib.metadata")

app = typer.Typer(
    cls=lazy_group(COMMANDS),
    name="gradwire",
    help="Train Gradwire projects without a window. Without a command, the studio opens.",
    add_completion=False,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command.

    Returns:
        The exit code: 0 done, 1 failed in the run or output not written, 2 wrong usage or file, 130 interrupted, 141
        the reader of the output closed it, 143 terminated.
    """
    with output_streams.guard_streams(), interrupts.raise_on_interrupt() as signals:
        try:
            code = _exit_code(sys.argv[1:] if arguments is None else arguments)
        except OutputError as error:
            code = output_streams.report_output_error(error)
        except Exception:
            if not signals.code:
                raise
            code = signals.code  # a library has made another error of KeyboardInterrupt
        return output_streams.flush_streams(code)


def _exit_code(arguments: Sequence[str]) -> int:
    try:
        app(_fill_resume(arguments), prog_name="gradwire")
    except SystemExit as end:
        return end.code if isinstance(end.code, int) else int(end.code is not None)
    except KeyboardInterrupt:
        return INTERRUPTED
    return 0


def _fill_resume(arguments: Sequence[str]) -> list[str]:
    """`--resume` without a run is the newest one; options here have no values that may be left out."""
    found = list(arguments)
    for place, (argument, following) in enumerate(zip(arguments, [*arguments[1:], "-"], strict=False)):
        if argument == "--resume" and (following.startswith("-") or following.endswith(SUFFIX)):
            found[place] = "--resume="
    return found


def _print_version(wanted: bool) -> None:
    if wanted:
        try:
            print_text(f"gradwire {metadata.version('gradwire')}")
        except metadata.PackageNotFoundError:
            print_text("gradwire (not installed; running from its sources)")
        raise typer.Exit


@app.callback()
def options(
    show_version: Annotated[
        bool, typer.Option("--version", help="print the version", callback=_print_version, is_eager=True)
    ] = False,
) -> None:
    pass
