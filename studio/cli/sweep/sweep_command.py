"""The command: a sweep planned, or found again, and watched until it is over."""

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
from studio.cli.shared_options import Assignments, DeviceName, File, Json, project_folder, read_project, runs_folder
from studio.cli.sweep import sweep_file as plans
from studio.cli.sweep.search_space import all_combinations, parse_search_space, random_combinations
from studio.cli.sweep.sweep_file import SweepPlan, read_result, trial_folder
from studio.cli.sweep.trial_table import TrialRow, TrialTable
from studio.cli.sweep.worker_pool import WorkerPool
from studio.cli.training_options import parse_device
from studio.document.model import Document
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
            help="values with commas between them, or a range: 0.1..0.5, 16..256, 1e-4..1e-1:log; for training.SETTING "
            "and for the type of NODE, too; repeatable",
        ),
    ] = None,
    trials: Annotated[
        int | None, typer.Option(min=1, help="draw so many combinations at random; else each is tried")
    ] = None,
    seed: Annotated[int, typer.Option(help="what is drawn follows from")] = 0,
    jobs: Annotated[
        int | None, typer.Option("--jobs", "-j", min=1, help="trials at a time; else as many as cores, on a GPU one")
    ] = None,
    epochs: Annotated[
        int | None,
        typer.Option(min=0, help="epochs of each trial; else as the project says; with --resume as many in all"),
    ] = None,
    steps: Annotated[int | None, typer.Option(min=0, help="batches of each trial")] = None,
    device: DeviceName = None,
    compile: Annotated[
        bool | None, typer.Option(help="whether training steps run as compiled plans; else as the project says")
    ] = None,
    out: Annotated[Path | None, typer.Option(help="folder for the trials; else NAME.runs beside FILE")] = None,
    resume: Annotated[
        str | None,
        typer.Option(
            metavar="[SWEEP]",
            help="go on with what is left of a sweep, with more --epochs with all of it; unless named, with the newest",
        ),
    ] = None,
    assignments: Assignments = None,
    as_json: Json = False,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="show errors and the table at the end alone")] = False,
) -> None:
    with report_errors(as_json=as_json):
        runs = out or runs_folder(file)
        document = read_project(file, assignments)
        if resume is None:
            plan = _make_trials(document, params or [], trials, seed)
            settings: dict[str, Any] = {"epochs": epochs, "steps": steps, "device": parse_device(device)}
            planned = plans.make_plan(document, params or [], plan, **settings, compile=compile)
            path = plans.write_plan(planned, runs)
        else:
            if params or trials or assignments or device or compile is not None:
                allowed = "--epochs, --steps, --jobs, --out, --json and --quiet"
                raise InputError(f"--resume goes on as the sweep was begun: leave out all but {allowed}.")
            path = plans.find_sweep(runs, resume)
            planned = plans.read_plan(path)
            if epochs is not None or steps is not None:
                planned = plans.extend_plan(path, planned, epochs, steps)
    raise typer.Exit(_SweepRunner(file, path, planned, jobs, as_json=as_json, quiet=quiet or as_json).run())


def _make_trials(document: Document, params: list[str], trials: int | None, seed: int) -> list[dict[str, str]]:
    space = parse_search_space(document, catalogue(), params)
    return all_combinations(space) if trials is None else random_combinations(space, trials, seed)


class _SweepRunner:
    """Trains what is left of a plan, and shows how it goes."""

    def __init__(
        self, file: Path, path: Path, plan: SweepPlan, jobs: int | None, *, as_json: bool, quiet: bool
    ) -> None:
        self._path, self._as_json = path, as_json
        document = plan.document
        self._follow = document.training.follow
        self._rows = {number: self._row(number, values, plan) for number, values in enumerate(plan.trials, start=1)}
        left = [row.number for row in self._rows.values() if row.state != "done"]
        jobs = min(jobs or _default_jobs(plan, document), max(len(left), 1))
        self._crew = WorkerPool(
            {number: (str(path), str(number), str(project_folder(file)), file.stem) for number in left},
            jobs,
            max(_available_cores() // jobs, 1),
        )
        self._board = TrialTable(self._rows, self._follow, rises=_is_higher_better(document, self._follow), quiet=quiet)
        self._tell({"event": "sweep", "file": str(path), "trials": len(plan.trials), "left": len(left), "jobs": jobs})
        trials = "1 trial" if len(plan.trials) == 1 else f"{len(plan.trials)} trials"
        self._board.say(f"{trials}, {len(left)} to train, {jobs} at a time; their plan is {path}")

    def run(self) -> int:
        """Train to the end. Returns the exit code.

        The first Ctrl+C or SIGTERM ends each trial after the batch under way, with a checkpoint; a second one ends them
        at once.
        """
        with interrupts.record_interrupts(at_once=self._crew.kill) as signals, self._board:
            try:
                code = self._watch(signals)
            finally:
                self._crew.close()
        self._conclude()
        return code or (FAILED if any(row.state == "failed" for row in self._rows.values()) else 0)

    def _watch(self, signals: Interrupts) -> int:
        """Returns the exit code of what ended the sweep before its time; else 0."""
        code = 0
        while not self._crew.is_over:
            for number, content in self._crew.events(_POLL_SECONDS):
                try:
                    self._take(self._rows[number], content)
                    output_streams.check_reader()
                except OutputError as error:
                    code = code or output_streams.report_output_error(error)
                    self._crew.stop()
            if signals.code and not code:
                code = signals.code
                self._board.say("stopping all trials after this batch; press Ctrl+C again to give up at once")
                self._crew.stop()
            self._board.refresh()
        return code

    def _take(self, row: TrialRow, content: dict[str, Any]) -> None:
        event = content["event"]
        if event == "ended":
            self._end(row, content["state"])
            return
        if event == "begun":
            row.state, row.message = "running", ""
        elif event == "started":
            row.batches = content["batches"]
            row.epochs = "" if content["epochs"] is None else f"/{content['epochs']}"
            self._tell({"event": "trial", **self._known(row)})
        elif event == "step":
            done = f"{content['batch'] / row.batches:.0%}" if row.batches else f"batch {content['batch']}"
            row.progress = f"epoch {content['epoch']}{row.epochs}, {done}"
        elif event in ("epoch", "validation"):
            row.batches = content.get("batches") or row.batches
            if content["best"] or not row.figures:
                row.figures = {name: value for name, value in content.items() if _is_metric(name)}
        elif event == "failed":
            row.message = f"{content['node'] + ': ' if content['node'] else ''}{content['message']}"
        elif event == "warning":
            self._board.say(f"warning: trial {row.number}: {content['message']}", always=True)
        if event in ("epoch", "validation", "warning"):
            self._tell({"trial": row.number, **content})

    def _end(self, row: TrialRow, state: str) -> None:
        row.state = state
        self._board.tell_end(row)
        self._tell({"event": "trial", **self._known(row)})

    def _conclude(self) -> None:
        best = self._board.best()
        if self._as_json:
            states = [row.state for row in self._rows.values()]
            counts = {state: states.count(state) for state in ("done", "failed", "stopped", "waiting")}
            self._tell({"event": "done", **counts, "best": None if best is None else self._known(best)})
            return
        self._board.print()
        if best is not None:
            self._board.say(f"best: trial {best.number}, in {trial_folder(self._path, best.number)}")

    def _row(self, number: int, values: dict[str, str], plan: SweepPlan) -> TrialRow:
        found = read_result(trial_folder(self._path, number))
        figures = {name: value for name, value in found.figures.items() if _is_metric(name)}
        return TrialRow(number, values, "waiting" if found.is_left(plan) else "done", figures)

    def _known(self, row: TrialRow) -> dict[str, Any]:
        folder = trial_folder(self._path, row.number)
        known = {"trial": row.number, "state": row.state, "values": row.values, "figures": row.figures}
        return {**known, "folder": str(folder), **({"message": row.message} if row.message else {})}

    def _tell(self, content: dict[str, Any]) -> None:
        if self._as_json:
            print_json(content)


def _is_metric(name: str) -> bool:
    return name.startswith(("train_", "val_")) or name == "epoch"


def _is_higher_better(document: Document, figure: str) -> bool:
    """Whether a higher figure is better."""
    node = document.nodes.get(figure.partition("_")[2])
    known = None if node is None else catalogue().get(node.type)
    return bool(getattr(None if known is None else known.target, "higher_is_better", False))


def _default_jobs(plan: SweepPlan, document: Document) -> int:
    """How many trials fit the machine at a time."""
    return 1 if resolve_device(plan.device or document.training.device) == "cuda" else _available_cores()


def _available_cores() -> int:
    """Those that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


__all__ = ["sweep"]
