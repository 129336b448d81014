"""The `sweep` command: plan or resume a sweep, run its trials in worker processes and show their progress."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated, Any

import typer

from studio.cli import interrupts, output_streams
from studio.cli.error_output import FAILED, InputError, print_json
from studio.cli.error_reporting import report_errors
from studio.cli.interrupts import Interrupts
from studio.cli.output_streams import OutputError
from studio.cli.shared_options import (
    Assignments,
    DeviceName,
    File,
    Json,
    Trust,
    exit_if_untrusted,
    project_folder,
    read_project,
    runs_folder,
)
from studio.cli.sweep import sweep_file as plans
from studio.cli.sweep.search_space import all_combinations, parse_search_space, random_combinations
from studio.cli.sweep.sweep_file import SweepPlan, read_result, trial_folder
from studio.cli.sweep.trial_pool import TrialPool
from studio.cli.sweep.trial_table import TrialRow, TrialTable
from studio.cli.training_options import parse_device
from studio.document.model import Document
from studio.lowering.user_code.document_code import allow_code
from studio.nodes.catalogue import catalogue
from studio.training.run_settings import resolve_device

_POLL_SECONDS = 0.1


def sweep(
    file: File,
    params: Annotated[
        list[str] | None,
        typer.Option(
            "--param",
            "-p",
            metavar="NODE.PARAM=VALUES",
            help="Values to try: a comma-separated list, or a range such as 0.1..0.5, 16..256 or 1e-4..1e-1:log. Also "
            "training.SETTING=VALUES and NODE=TYPES. Repeatable.",
        ),
    ] = None,
    trials: Annotated[
        int | None, typer.Option(metavar="N", min=1, help="Try N random combinations (default: all combinations).")
    ] = None,
    seed: Annotated[
        int | None, typer.Option(metavar="N", help="Random seed for drawing combinations (default: 0).")
    ] = None,
    jobs: Annotated[
        int | None,
        typer.Option(
            "--jobs", "-j", metavar="N", min=1, help="Number of parallel trials (default: CPU cores, or 1 on a GPU)."
        ),
    ] = None,
    epochs: Annotated[
        int | None,
        typer.Option(
            metavar="N", min=0, help="Epochs per trial (default: the project's setting). With --resume, the new total."
        ),
    ] = None,
    steps: Annotated[int | None, typer.Option(metavar="N", min=0, help="Stop each trial after N batches.")] = None,
    device: DeviceName = None,
    compile: Annotated[
        bool | None, typer.Option(help="Compile training steps (default: the project's setting).")
    ] = None,
    out: Annotated[
        Path | None, typer.Option(metavar="DIR", help="Folder for the trials (default: NAME.runs, next to FILE).")
    ] = None,
    resume: Annotated[
        str | None,
        typer.Option(
            metavar="[SWEEP]",
            help="Resume a sweep (default: the newest). With --epochs or --steps, extend all trials.",
        ),
    ] = None,
    assignments: Assignments = None,
    trust: Trust = False,
    as_json: Json = False,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Print only errors and the final table.")] = False,
) -> None:
    with report_errors(as_json=as_json):
        runs = out or runs_folder(file)
        document = read_project(file, assignments, trust=trust)
        if resume is None:
            plan = _make_trials(document, params or [], trials, seed or 0)
            settings: dict[str, Any] = {"epochs": epochs, "steps": steps, "device": parse_device(device)}
            planned = plans.make_plan(document, params or [], plan, **settings, compile=compile)
            path = plans.write_plan(planned, runs)
        else:
            if params or trials or assignments or device or seed is not None or compile is not None:
                allowed = "--epochs, --steps, --jobs, --out, --json and --quiet"
                raise InputError(f"--resume can only be combined with {allowed}: a sweep keeps its settings.")
            path = plans.find_sweep(runs, resume)
            planned = plans.read_plan(path)
            if epochs is not None or steps is not None:
                planned = plans.extend_plan(path, planned, epochs, steps)
            if trust:
                allow_code(planned.document)
        exit_if_untrusted(file, planned.document, as_json=as_json)
    runner = _SweepRunner(file, path, planned, jobs, trust=trust, as_json=as_json, quiet=quiet or as_json)
    raise typer.Exit(runner.run())


def _make_trials(document: Document, params: list[str], trials: int | None, seed: int) -> list[dict[str, str]]:
    space = parse_search_space(document, catalogue(), params)
    return all_combinations(space) if trials is None else random_combinations(space, trials, seed)


class _SweepRunner:
    """Run the unfinished trials of a sweep and show their progress."""

    def __init__(
        self, file: Path, path: Path, plan: SweepPlan, jobs: int | None, *, trust: bool, as_json: bool, quiet: bool
    ) -> None:
        self._path, self._as_json = path, as_json
        document = plan.document
        self._metric = document.training.follow
        self._rows = {
            number: self._make_row(number, values, plan) for number, values in enumerate(plan.trials, start=1)
        }
        unfinished = [row.number for row in self._rows.values() if row.state != "done"]
        jobs = min(jobs or _default_jobs(plan, document), max(len(unfinished), 1))
        self._pool = TrialPool(
            {
                number: (str(path), str(number), str(project_folder(file)), file.stem, "trust" if trust else "")
                for number in unfinished
            },
            jobs,
            max(_available_cores() // jobs, 1),
        )
        self._table = TrialTable(
            self._rows, self._metric, higher_is_better=_is_higher_better(document, self._metric), quiet=quiet
        )
        self._print_record(
            {"event": "sweep", "file": str(path), "trials": len(plan.trials), "left": len(unfinished), "jobs": jobs}
        )
        trials = "1 trial" if len(plan.trials) == 1 else f"{len(plan.trials)} trials"
        self._table.print_message(f"{trials}, {len(unfinished)} to train, {jobs} in parallel. Sweep file: {path}")

    def run(self) -> int:
        """Run all trials. Returns the exit code.

        The first Ctrl+C or SIGTERM stops each trial after the current batch and writes a checkpoint; the second kills
        the worker processes.
        """
        with interrupts.record_interrupts(before_exit=self._pool.kill) as signals, self._table:
            try:
                code = self._watch(signals)
            finally:
                self._pool.close()
        self._print_summary()
        return code or (FAILED if any(row.state == "failed" for row in self._rows.values()) else 0)

    def _watch(self, signals: Interrupts) -> int:
        """Process events until all trials ended. Returns the exit code of an interruption, else 0."""
        code = 0
        while not self._pool.is_over:
            for number, content in self._pool.events(_POLL_SECONDS):
                try:
                    self._handle_event(self._rows[number], content)
                    output_streams.check_reader()
                except OutputError as error:
                    code = code or output_streams.report_output_error(error)
                    self._pool.stop()
            if signals.code and not code:
                code = signals.code
                self._table.print_message(
                    "Stopping all trials after the current batch. Press Ctrl+C again to kill them."
                )
                self._pool.stop()
            self._table.refresh()
        return code

    def _handle_event(self, row: TrialRow, content: dict[str, Any]) -> None:
        event = content["event"]
        if event == "ended":
            self._finish_trial(row, content["state"])
            return
        if event == "begun":
            row.state, row.message = "running", ""
        elif event == "started":
            row.batches = content["batches"]
            row.epochs = "" if content["epochs"] is None else f"/{content['epochs']}"
            self._print_record({"event": "trial", **self._trial_record(row)})
        elif event == "step":
            done = f"{content['batch'] / row.batches:.0%}" if row.batches else f"batch {content['batch']}"
            row.progress = f"epoch {content['epoch']}{row.epochs}, {done}"
        elif event in ("epoch", "validation"):
            row.batches = content.get("batches") or row.batches
            if content["best"] or not row.metrics:
                row.metrics = {name: value for name, value in content.items() if _is_metric(name)}
        elif event == "failed":
            row.message = f"{content['node'] + ': ' if content['node'] else ''}{content['message']}"
        elif event == "warning":
            self._table.print_message(f"warning: trial {row.number}: {content['message']}", always=True)
        if event in ("epoch", "validation", "warning"):
            self._print_record({"trial": row.number, **content})

    def _finish_trial(self, row: TrialRow, state: str) -> None:
        row.state = state
        self._table.print_end(row)
        self._print_record({"event": "trial", **self._trial_record(row)})

    def _print_summary(self) -> None:
        best = self._table.best()
        if self._as_json:
            states = [row.state for row in self._rows.values()]
            counts = {state: states.count(state) for state in ("done", "failed", "stopped", "waiting")}
            self._print_record({"event": "done", **counts, "best": None if best is None else self._trial_record(best)})
            return
        self._table.print()
        if best is not None:
            self._table.print_message(f"Best: trial {best.number} in {trial_folder(self._path, best.number)}")

    def _make_row(self, number: int, values: dict[str, str], plan: SweepPlan) -> TrialRow:
        found = read_result(trial_folder(self._path, number))
        metrics = {name: value for name, value in found.metrics.items() if _is_metric(name)}
        return TrialRow(number, values, "waiting" if found.is_unfinished(plan) else "done", metrics)

    def _trial_record(self, row: TrialRow) -> dict[str, Any]:
        folder = trial_folder(self._path, row.number)
        record = {"trial": row.number, "state": row.state, "values": row.values, "figures": row.metrics}
        return {**record, "folder": str(folder), **({"message": row.message} if row.message else {})}

    def _print_record(self, content: dict[str, Any]) -> None:
        if self._as_json:
            print_json(content)


def _is_metric(name: str) -> bool:
    return name.startswith(("train_", "val_")) or name == "epoch"


def _is_higher_better(document: Document, metric: str) -> bool:
    """Whether higher values of a metric are better."""
    node = document.nodes.get(metric.partition("_")[2])
    node_type = None if node is None else catalogue().get(node.type)
    return bool(getattr(None if node_type is None else node_type.target, "higher_is_better", False))


def _default_jobs(plan: SweepPlan, document: Document) -> int:
    """Default number of parallel trials: 1 on a GPU, else the number of cores."""
    return 1 if resolve_device(plan.device or document.training.device) == "cuda" else _available_cores()


def _available_cores() -> int:
    """Number of CPU cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


__all__ = ["sweep"]
