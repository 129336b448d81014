"""The commands `runs list`, `runs show`, `runs export` and `runs report`."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import typer

from studio.cli.error_output import InputError, print_error, print_json, print_text
from studio.cli.error_reporting import report_errors
from studio.cli.progress_display import track_progress
from studio.cli.shared_options import File, Json, Trust, project_folder, runs_folder
from studio.export.run_report import write_run_report
from studio.lowering.user_code.document_code import allow_code
from studio.nodes.catalogue import catalogue
from studio.training.runs.run_comparison import MISSING, ComparisonRow, compare_runs
from studio.training.runs.run_export import export_snapshot, run_reader, write_csv, write_csv_text, write_tensorboard
from studio.training.runs.run_history import MetricsFollower, Run, RunFolder, run_from_stored

COMMANDS = {
    "list": ("studio.cli.runs_commands:list_runs", "List the runs of a project, oldest first."),
    "show": (
        "studio.cli.runs_commands:show",
        "Show a run's metrics, graph and settings, or compare two.",
    ),
    "export": ("studio.cli.runs_commands:export", "Export the metrics of runs as CSV or TensorBoard event files."),
    "report": ("studio.cli.runs_commands:report", "Write a run as one HTML file: curves, graph, results by class."),
}
"""The subcommands of `runs`."""

Name = Annotated[str, typer.Argument(metavar="RUN", help="Number, name or folder of a run.")]
Names = Annotated[
    list[str] | None, typer.Argument(metavar="RUN", help="Numbers, names or folders of runs (default: all runs).")
]


def list_runs(file: File, as_json: Json = False) -> None:
    with report_errors(as_json=as_json):
        runs = _load_runs(file)
    for run in runs:
        if run.read_error:
            print_error(f"{run.folder}: {run.read_error}", "warning")
    if as_json:
        for run in runs:
            print_json(_run_record(run))
        return
    if not runs:
        print_text(f"No runs in {runs_folder(file)}")
    titles = ("number", "name", "state", "started", "epochs", "val_loss", "best", "folder")
    lines = [titles, *([_format_value(value) for value in _run_row(run)] for run in runs)] if runs else []
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    for line in lines:
        print_text("  ".join(text.ljust(width) for text, width in zip(line, widths, strict=True)).rstrip())


def show(
    file: File,
    name: Name,
    other: Annotated[str | None, typer.Argument(metavar="OTHER", help="Run to compare with.")] = None,
    as_json: Json = False,
) -> None:
    with report_errors(as_json=as_json):
        runs = _load_runs(file)
        chosen = [_find_run(runs, each) for each in (name, other) if each is not None]
    groups = compare_runs(chosen, catalogue())
    if as_json:
        print_json({group.key: {row.name: _row_json(row) for row in group.rows} for group in groups})
        return
    if other is not None:
        print_text(" | ".join(run.name for run in chosen))
    for group in groups:
        if other is None or group.differs:
            print_text(group.title)
            _print_rows(group.rows, 1, only_differences=other is not None)


def export(
    file: File,
    names: Names = None,
    out: Annotated[
        Path | None,
        typer.Option(
            "--out", "-o", metavar="PATH", help="CSV file, or folder for event files (default: standard output)."
        ),
    ] = None,
    tensorboard: Annotated[
        bool, typer.Option("--tensorboard", help="Write TensorBoard event files instead of CSV.")
    ] = False,
    as_json: Json = False,
) -> None:
    with report_errors(as_json=as_json):
        runs = _load_runs(file)
        chosen = [_find_run(runs, each) for each in names] if names else runs
        if not chosen:
            raise InputError(f"there are no runs in {runs_folder(file)}. Train the project with `gradwire run`.")
        if tensorboard and out is None:
            raise InputError("--tensorboard requires a folder. Set it with --out.")
        for run in chosen:
            _load_metrics(run)
        sources = [partial(export_snapshot, run) for run in chosen]
        if out is None:
            write_csv_text(sources, sys.stdout)
            return
        for _ in (write_tensorboard if tensorboard else write_csv)(sources, out):
            pass
    if as_json:
        print_json({"event": "exported", "runs": len(chosen), "out": str(out)})


def report(
    file: File,
    name: Name,
    out: Annotated[
        Path | None,
        typer.Option("--out", "-o", metavar="FILE", help="HTML file (default: PROJECT-run-NUMBER.html)."),
    ] = None,
    trust: Trust = False,
    as_json: Json = False,
) -> None:
    with report_errors(as_json=as_json):
        run = _find_run(_load_runs(file), name)
        target = out or file.with_name(f"{file.stem}-run-{run.number}.html")
        if trust:
            allow_code(run.read_document())
        work = write_run_report(run, run_reader(run), catalogue(), target, project=file.stem, base=project_folder(file))
        for _ in track_progress(work, None, f"writing {target.name}", hidden=as_json):
            pass
    if as_json:
        print_json({"event": "reported", "run": run.number, "out": str(target)})
    else:
        print_text(str(target))


def _load_runs(file: Path) -> list[Run]:
    runs: list[Run] = []
    for stored in RunFolder(runs_folder(file)).scan():
        runs.append(run_from_stored(stored, [run.number for run in runs]))
    return runs


def _find_run(runs: Sequence[Run], name: str) -> Run:
    for run in runs:
        assert run.folder is not None
        if name in (str(run.number), run.name, run.folder.name) or Path(name).absolute() == run.folder.absolute():
            return run
    names = ", ".join(f"{run.number} ({run.name})" for run in runs)
    remedy = f"Choose one of: {names}." if names else "Train the project with `gradwire run`."
    raise InputError(f"there is no run {name!r}. {remedy}")


def _load_metrics(run: Run) -> None:
    assert run.folder is not None
    follower = MetricsFollower(run.folder)
    while True:
        update = follower.read()
        run.apply_update(update)
        if update.is_complete:
            break
    if run.read_error:
        print_error(f"{run.name}: {run.read_error}", "warning")


def _run_record(run: Run) -> dict[str, Any]:
    metadata = {name: run.metadata.get(name) for name in ("started", "ended", "settings", "last", "best", "note")}
    return {"number": run.number, "name": run.name, "folder": str(run.folder), "state": run.state, **metadata}


def _run_row(run: Run) -> tuple[Any, ...]:
    started = "" if run.started is None else f"{run.started:%Y-%m-%d %H:%M}"
    best = run.best.get("val_loss", run.best.get("train_loss"))
    folder = "" if run.folder is None else run.folder.name
    epochs = f"{run.last.get('epoch', 0)}/{run.settings.get('epochs') or '-'}"
    state = f"{run.state}, {run.loss_problem}" if run.loss_problem and not run.is_live else run.state
    return run.number, run.name, state, started, epochs, run.last.get("val_loss"), best, folder


def _print_rows(rows: Iterable[ComparisonRow], depth: int, *, only_differences: bool) -> None:
    for row in rows:
        if row.differs or not only_differences:
            print_text(f"{'  ' * depth}{row.name}: {' | '.join(map(_format_value, row.values))}")
            _print_rows(row.rows, depth + 1, only_differences=only_differences)


def _row_json(row: ComparisonRow) -> Any:
    values = [None if value is MISSING else value if _is_json(value) else str(value) for value in row.values]
    content = values[0] if len(values) == 1 else values
    return {"": content, **{child.name: _row_json(child) for child in row.rows}} if row.rows else content


def _is_json(value: Any) -> bool:
    return value is None or isinstance(value, (bool, int, float, str, list, dict))


def _format_value(value: Any) -> str:
    if value is None or value is MISSING:
        return "-"
    return f"{value:.6g}" if isinstance(value, float) else str(value).replace("\n", " ")


__all__ = ["COMMANDS", "export", "list_runs", "report", "show"]
