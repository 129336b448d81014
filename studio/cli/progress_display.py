"""Progress of a run on standard error: a progress bar, and one line per epoch."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from types import TracebackType
from typing import Any, TypeVar

from rich.console import Console
from rich.progress import BarColumn, Progress, ProgressColumn, Task, TextColumn, TimeRemainingColumn
from rich.text import Text

from engine import fit
from studio.cli.error_output import escape_control
from studio.training import BreakpointsHit, Failed, SessionEvent, Warned
from studio.training.run_progress import total_steps
from studio.training.runs.metric_points import losses_by_optimizer
from studio.training.warning_capture import capture_warnings

T = TypeVar("T")


class _ThroughputColumn(ProgressColumn):
    """Throughput in samples/s."""

    def render(self, task: Task) -> Text:
        speed = task.fields.get("speed")
        return Text("" if speed is None else f"{speed:,.0f} samples/s", style="dim")


class ProgressDisplay:
    """Show events of a run. Without a terminal there is no progress bar; when quiet, only warnings and errors appear.

    A context manager: leaving it restores the terminal.
    """

    def __init__(self, *, quiet: bool) -> None:
        self._quiet = quiet
        self._console = Console(file=sys.stderr, highlight=False)
        self._bar = Progress(
            TextColumn("{task.description}"),
            BarColumn(),
            TextColumn("{task.fields[metrics]}"),
            _ThroughputColumn(),
            TimeRemainingColumn(compact=True),
            console=self._console,
            transient=True,
            disable=quiet or not self._console.is_terminal,
        )
        self._task = self._bar.add_task("preparing data", total=None, metrics="")
        self._started: fit.Started | None = None

    def __enter__(self) -> ProgressDisplay:
        self._bar.start()
        return self

    def __exit__(self, kind: object, error: object, trace: TracebackType | None) -> None:
        self._bar.stop()

    def show(self, event: SessionEvent) -> None:
        match event:
            case fit.Started():
                self._show_start(event)
            case fit.Step():
                metrics = _format_metrics({"loss": event.loss, **event.metrics})
                self._bar.update(self._task, completed=event.step, metrics=metrics, speed=event.samples_per_second)
                self._describe(event)
            case fit.Epoch():
                self._show_epoch(event)
            case Warned() if not event.problem.dismissed:
                self.print_message(f"warning: {event.message}", always=True)
            case BreakpointsHit():
                self._show_hits(event)
            case Failed():
                self.print_message(f"error: {event.node + ': ' if event.node else ''}{event.message}", always=True)
            case _:
                pass

    def _show_hits(self, event: BreakpointsHit) -> None:
        self.print_message(event.message.replace("Paused at", "Stopped before", 1), always=True)
        origin = event.hits[0].origin
        if origin is not None:
            self.print_message(origin.detail, always=True)
        for hit in event.hits:
            if hit.folder is not None:
                self.print_message(f"The batch and the state before the step are in {hit.folder}", always=True)

    def print_message(self, text: str, *, always: bool = False) -> None:
        """Print a line above the bar; when quiet, only if `always` is set."""
        if always or not self._quiet:
            self._console.print(escape_control(text), markup=False, soft_wrap=True)

    def _show_start(self, event: fit.Started) -> None:
        self._started = event
        self._bar.update(self._task, total=total_steps(event.epochs, event.batches, event.steps))
        samples = [
            f"streamed {part} samples" if count is None else f"{count:,} {part} samples"
            for count, part in ((event.train_samples, "training"), (event.validation_samples, "validation"))
        ]
        summary = f"{event.parameters:,} parameters, {' and '.join(samples)}, on {event.device}, seed {event.seed}"
        self.print_message(summary.replace(" samples and", " and"))

    @property
    def _of(self) -> str:
        epochs = None if self._started is None else self._started.epochs
        return "" if epochs is None else f"/{epochs}"

    def _describe(self, event: fit.Step) -> None:
        unknown = self._started is not None and self._started.batches is None
        batch = f", batch {event.batch}" if unknown else ""  # the bar cannot show progress within the epoch
        self._bar.update(self._task, description=f"epoch {event.epoch}{self._of}{batch}")

    def _show_epoch(self, event: fit.Epoch) -> None:
        train = _format_metrics(
            {"loss": event.train_loss, **losses_by_optimizer(event.train_losses), **event.train_metrics}
        )
        if self._started is not None and self._started.batches is None and event.batches is not None:
            self._started = replace(self._started, batches=event.batches)
            self._bar.update(self._task, total=total_steps(self._started.epochs, event.batches, self._started.steps))
        text = f"epoch {event.epoch}{self._of}  train {train}"
        if event.val_loss is not None:
            validation = {"loss": event.val_loss, **losses_by_optimizer(event.val_losses), **event.val_metrics}
            text += f"  validation {_format_metrics(validation)}"
        self.print_message(f"{text}  {event.samples_per_second:,.0f} samples/s")


def track_progress(items: Iterable[T], count: int | None, description: str, *, hidden: bool) -> Iterator[T]:
    """Yield the items while showing a progress bar on standard error, if it is a terminal."""
    console = Console(file=sys.stderr)
    columns = TextColumn("{task.description}"), BarColumn(), TimeRemainingColumn(compact=True)
    shown = console.is_terminal and not hidden
    bar = Progress(*columns, console=console, transient=True, disable=not shown)

    def warn(text: str) -> None:
        console.print(f"warning: {escape_control(text)}", markup=False, highlight=False, soft_wrap=True)

    with bar, capture_warnings(warn):
        yield from bar.track(items, total=count, description=description)


def _format_metrics(values: Mapping[str, Any]) -> str:
    return " ".join(f"{name} {value:.4g}" for name, value in values.items())
