"""The commands and their options."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Sequence
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Annotated

import typer

from studio.cli import interrupts, model_commands, output_streams, runs_commands
from studio.cli.data_command import data
from studio.cli.error_output import (
    BAD_INPUT,
    FAILED,
    INTERRUPTED,
    InputError,
    exit_with_error,
    print_json,
    print_text,
    report_errors,
)
from studio.cli.node_listing import node_lines, node_record
from studio.cli.output_streams import OutputError
from studio.cli.run_watcher import RunWatcher
from studio.cli.shared_options import (
    Assignments,
    DeviceName,
    File,
    Json,
    check_or_exit,
    find_weights,
    parse_device,
    print_problems,
    project_folder,
    read_project,
    runs_folder,
)
from studio.cli.sweep import sweep
from studio.document import project_files
from studio.document.model import LARGEST, Document
from studio.document.project_format import SUFFIX, schema
from studio.document.project_templates import template, templates
from studio.lowering.check import check as check_document
from studio.lowering.problems.problem import Problem
from studio.lowering.problems.problem_groups import grouped
from studio.lowering.program import lower
from studio.nodes.catalogue import catalogue
from studio.training import Session
from studio.training.compilation import explain_step
from studio.training.run_settings import resolve_device
from studio.training.runs.run_resuming import find_resumable, load_run, with_difference_warning

app = typer.Typer(
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
            print_text(f"gradwire {version('gradwire')}")
        except PackageNotFoundError:
            print_text("gradwire (not installed; running from its sources)")
        raise typer.Exit


@app.callback()
def options(
    show_version: Annotated[
        bool, typer.Option("--version", help="print the version", callback=_print_version, is_eager=True)
    ] = False,
) -> None:
    pass


@app.command()
def run(
    file: File,
    epochs: Annotated[
        int | None, typer.Option(min=0, max=LARGEST, help="epochs to train; else as the project says")
    ] = None,
    steps: Annotated[
        int | None, typer.Option(min=0, max=LARGEST, help="batches to train; alone, without end of epochs")
    ] = None,
    device: DeviceName = None,
    seed: Annotated[
        int | None, typer.Option(min=0, max=2**63 - 1, help="random seed, 0 to 9223372036854775807")
    ] = None,
    out: Annotated[
        Path | None, typer.Option(help="folder for weights and figures; else a new one in NAME.runs beside FILE")
    ] = None,
    compile: Annotated[
        bool | None, typer.Option(help="whether training steps run as compiled plans; else as the project says")
    ] = None,
    resume: Annotated[
        str | None,
        typer.Option(
            metavar="[RUN]",
            help="go on with a run, with its own graph and settings; unless named, with the newest that is unfinished",
        ),
    ] = None,
    start_from: Annotated[
        Path | None, typer.Option(help="a run, checkpoint or weights file: begin with those of its weights that fit")
    ] = None,
    assignments: Assignments = None,
    as_json: Json = False,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="show nothing but errors")] = False,
) -> None:
    """Train a project."""
    with report_errors(as_json=as_json):
        runs = runs_folder(file)
        chosen = parse_device(device)
        document = read_project(file, assignments)
        going_on = None
        if resume is not None:
            if assignments or seed is not None or out is not None or start_from is not None:
                raise InputError("--resume goes on as the run was begun: leave out --set, --seed, --out, --start-from.")
            going_on = with_difference_warning(
                load_run(find_resumable(runs, resume)), file.name, document, catalogue(), epochs=epochs
            )
            document = going_on.document
        if start_from is not None:
            start_from = find_weights(file, start_from)
            if not os.path.exists(start_from):
                raise InputError(f"--start-from {start_from}: there is no such run, checkpoint or weights file.")
        report = check_or_exit(file, document, as_json=as_json)
    print_problems(file, document, report.warnings, as_json=as_json)
    session = Session(
        document,
        catalogue(),
        base=project_folder(file),
        out=out,
        runs=None if out else runs,
        name=file.stem,
        resume=going_on,
        start_from=start_from,
        get_report=lambda: report,
        epochs=epochs,
        steps=steps,
        device=chosen,
        seed=seed,
        compile=compile,
    )
    raise typer.Exit(RunWatcher(session, told=report.warnings, as_json=as_json, quiet=quiet).run())


@app.command()
def check(file: File, assignments: Assignments = None, as_json: Json = False) -> None:
    """Say what is wrong with a project, without training it. Exit code 2 if there are errors."""
    with report_errors(as_json=as_json):
        document = read_project(file, assignments)
        report = check_document(document, catalogue(), base=project_folder(file))
    print_problems(file, document, report.problems, as_json=as_json)
    errors = len(report.errors)
    warnings = len(report.problems) - errors
    if as_json:
        wires = {str(wire): carried for wire, carried in sorted(report.wires.items())}
        figures = {"parameters": report.parameters, "macs": report.macs, "wires": wires}
        print_json({"event": "checked", "errors": errors, "warnings": warnings, **figures})
    elif not errors:
        told = _count(len(grouped(report.warnings, document.nodes)), "warning")
        print_text(f"{file}: ready to run, {report.parameters:,} parameters, {told}")
    if errors:
        raise typer.Exit(BAD_INPUT)


@app.command()
def explain(
    file: File,
    assignments: Assignments = None,
    source: Annotated[bool, typer.Option("--source", help="show the generated code too")] = False,
    as_json: Json = False,
) -> None:
    """Say what becomes of a project's training step when it is compiled, and time it. Trains some batches for that."""
    with report_errors(as_json=as_json):
        document = read_project(file, assignments)
        program = lower(check_or_exit(file, document, as_json=as_json), file.stem)
        task = program.build(device=resolve_device(document.training.device), seed=document.training.seed)
        task.setup()
    try:
        found = explain_step(task, program)
    except Exception as error:  # noqa: BLE001 - whatever ends the step is told with its node
        problem = Problem("error", "run-failed", program.told(error), node=program.node_of(error))
        exit_with_error(problem, as_json=as_json, code=FAILED)
    else:
        if as_json:
            print_json({"event": "explained", **found.as_dict()})
        else:
            print_text(found.text(source=source))


for command in (
    sweep,
    data,
    model_commands.evaluate,
    model_commands.predict,
    model_commands.find_rate,
    model_commands.overfit,
):
    app.command()(command)


app.add_typer(runs_commands.app, name="runs")


@app.command()
def nodes(as_json: Json = False) -> None:
    """List every kind of node: ports, parameters with defaults and bounds, help."""
    if as_json:
        for node_type in catalogue():
            print_json(node_record(node_type))
    else:
        for text in node_lines(catalogue()):
            print_text(text)


@app.command("schema")
def print_schema() -> None:
    """Print the JSON Schema of project files."""
    print_text(json.dumps(schema(), indent=2))


@app.command("templates")
def list_templates(as_json: Json = False) -> None:
    """List the projects to begin with."""
    with report_errors(as_json=as_json):
        found = templates()
    width = max((len(each.key) for each in found), default=0)
    for each in found:
        if as_json:
            print_json({"key": each.key, "title": each.title, "summary": each.summary})
        else:
            print_text(f"{each.key:{width}}  {each.title}")


@app.command()
def new(
    key: Annotated[str, typer.Argument(metavar="TEMPLATE", help="one of those that `templates` lists")],
    out: Annotated[Path, typer.Option("--out", "-o", help=f"the file to write, *{SUFFIX}")],
    force: Annotated[bool, typer.Option("--force", help="replace the file if it is there")] = False,
) -> None:
    """Begin a project from a template."""
    with report_errors():
        document: Document = template(key).document
        if out.suffix != SUFFIX:
            raise InputError(f"--out {out}: the name of a project ends in {SUFFIX}.")
        if os.path.exists(out) and not force:
            raise InputError(f"{out}: is there already. Choose another name, or replace it with --force.")
        project_files.save(document, out)
    print_text(f"{out}: made from {key}")


def _count(number: int, noun: str) -> str:
    return f"{number or 'no'} {noun}{'' if number == 1 else 's'}"
