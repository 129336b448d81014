"""A copy of a project that experiments train: its task, some training batches, and what their tensors are for."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from itertools import cycle, islice
from typing import Any

import engine
from engine import fit
from engine.optim.lr_scheduler.scheduler import set_learning_rate
from engine.random import Generator
from studio.document.graph_walk import walk
from studio.document.model import Endpoint
from studio.lowering.analysis.node_graph import NodeGraph
from studio.lowering.program import Program, lower
from studio.lowering.report import Report
from studio.nodes.types import Role
from studio.training.run_settings import resolve_device

_BATCHES = 48
"""Maximum number of training batches that are read."""
_STEP_SECONDS = 0.06
"""Batches are cut until a training step takes about this long."""
_MIN_SAMPLES = 8
"""Smallest size of a cut batch."""


@dataclass(frozen=True, slots=True)
class BatchTensor:
    """A tensor of each batch: an output of a loader that the run uses."""

    index: int
    end: Endpoint
    reaches_target: bool
    """Whether a loss compares the network with it."""


class ProjectCopy:
    """The task of a checked project. Each trial starts from its initial weights; nothing of the project changes.

    Args:
        report: the check of the project, without errors
        name: name of the project
    """

    def __init__(self, report: Report, name: str | None = None) -> None:
        self.report = report
        self.program: Program = lower(report, name)
        training = report.document.training
        self.task = self.program.build(resolve_device(training.device), training.seed)
        self.task.setup()
        self.tensors = _batch_tensors(report.checked.graph, self.program.reading.loaders)
        self.batches = list(islice(fit.cycle_batches(self.task), self._batch_count()))
        self.seconds_per_step = self._cut_batches()

    @property
    def graph(self) -> NodeGraph:
        return self.report.checked.graph

    @property
    def is_adversarial(self) -> bool:
        """Whether several optimizers train, whose losses may oppose each other."""
        return len(self.task.optimizers) > 1

    @property
    def targets(self) -> list[BatchTensor]:
        return [tensor for tensor in self.tensors if tensor.reaches_target]

    @property
    def inputs(self) -> list[BatchTensor]:
        """The tensors that no loss compares the network with."""
        return [tensor for tensor in self.tensors if not tensor.reaches_target]

    @cached_property
    def rates(self) -> dict[str, float]:
        """The learning rate of each optimizer; the highest one that its schedules plan, as after a warm-up."""
        infos = {name: self.report.nodes[name] for name in self.graph.optimized if name in self.report.nodes}
        given = {name: float(info.arguments["lr"]) for name, info in infos.items() if info.arguments.get("lr")}
        return given | self._planned_rates

    def steps(self, seconds: float, low: int, high: int) -> int:
        """The number of training steps that take a time, within bounds."""
        return min(max(round(seconds / max(self.seconds_per_step, 1e-6)), low), high)

    def train(self, batches: Iterator[Any], steps: int, *, rate: float | None = None) -> Iterator[tuple[int, float]]:
        """Train on batches, with another learning rate if one is given. Yields the number of each step and its loss."""
        with self.trial(rate=rate) as train:
            for number, batch in enumerate(islice(batches, steps), start=1):
                yield number, train(batch)

    @contextmanager
    def trial(self, *, rate: float | None = None) -> Iterator[Callable[[Any], float]]:
        """A function that trains on a batch with the highest learning rate of the schedules, or another one."""
        with fit.trial(self.task, compile=False) as train:
            for name, optimizer in self.task.optimizers.items():
                chosen = self._planned_rates.get(name) if rate is None else rate
                for group in optimizer.param_groups if chosen is not None else ():
                    set_learning_rate(group, chosen)
            yield train

    def cycle(self, change: Callable[[Any, int], Any] | None = None) -> Iterator[Any]:
        """All batches again and again, each changed by a function of the batch and its number."""
        for number, batch in enumerate(cycle(self.batches)):
            yield batch if change is None else change(batch, number)

    def changed(self, batch: Any, tensors: list[BatchTensor], change: Callable[[Any], Any]) -> Any:
        """A batch with some of its tensors replaced."""
        indices = {tensor.index for tensor in tensors}
        return [change(part) if index in indices else part for index, part in enumerate(batch)]

    def shuffled_targets(self, batch: Any, number: int) -> Any:
        """A batch whose targets belong to other samples, all in the same order."""
        generator = Generator(self.task.seed).fork(f"shuffled targets {number}")
        order = engine.randperm(len(batch[0]), generator=generator)
        return self.changed(batch, self.targets, lambda part: part[order.to(part.device)])

    def zeroed_inputs(self, batch: Any, number: int = 0) -> Any:
        """A batch whose inputs are 0."""
        return self.changed(batch, self.inputs, engine.zeros_like)

    @cached_property
    def _planned_rates(self) -> dict[str, float]:
        """The highest rate of each optimizer with schedules."""
        planned = {name: plan.rates() for name, plan in self.report.learning_rate_plans.items()}
        return {name: max(rate for _, rate in rates) for name, rates in planned.items() if rates}

    def _batch_count(self) -> int:
        loader = self.task.setup().train
        try:
            return min(len(loader), _BATCHES)
        except TypeError:  # a stream
            return _BATCHES

    def _cut_batches(self) -> float:
        """Cut large batches of slow networks. Returns the seconds of a training step."""
        seconds = self._timed(self.batches[0])
        size = len(self.batches[0][0])
        if seconds > _STEP_SECONDS and size > _MIN_SAMPLES:
            kept = max(int(size * _STEP_SECONDS / seconds) // 8 * 8, _MIN_SAMPLES)
            cut = [[part[:kept] for part in batch] for batch in self.batches]
            seconds, self.batches = self._timed(cut[0]), cut
        return seconds

    def _timed(self, batch: Any) -> float:
        """Seconds of the second of two training steps."""
        started = 0.0
        for number, _ in self.train(iter([batch, batch]), 2):
            if number == 1:
                started = time.perf_counter()
        return time.perf_counter() - started


def _batch_tensors(graph: NodeGraph, loaders: tuple[str, ...]) -> list[BatchTensor]:
    ends = [Endpoint(loader, port.name) for loader in loaders for port in graph.types[loader].outputs]
    targets = _behind_targets(graph)
    used = {end for name in graph.needed for end in graph.sources(name).values()}
    return [BatchTensor(index, end, end in targets) for index, end in enumerate(ends) if end in used]


def _behind_targets(graph: NodeGraph) -> set[Endpoint]:
    """The outputs that the target of a loss depends on."""
    starts = [end for loss in graph.with_role(Role.LOSS) if (end := graph.source(loss, "target")) is not None]
    return set(walk(starts, lambda end: graph.sources(end.node).values()))


__all__ = ["BatchTensor", "ProjectCopy"]
