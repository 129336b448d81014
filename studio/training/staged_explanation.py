"""Explains how the training step of a document is compiled, on a copy of the model, in stages."""

from __future__ import annotations

import time
from collections.abc import Callable, Generator
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

from engine import Tensor
from engine.compiler import Explanation, explain
from engine.compiler.compile_progress import compile_state
from engine.data import JointLoader
from engine.data.batches import AnyLoader
from studio.document.blocks.block_expansion import flat_document
from studio.document.model import Document
from studio.lowering.codegen.task_source import STEP_SETTINGS
from studio.lowering.program import lower
from studio.lowering.report import Report
from studio.training.compilation import compiled_step, relabeled
from studio.training.run_settings import resolve_device

_POLL_SECONDS = 0.05
"""Seconds between checks of the kernels that are compiling."""
_TIMED_SECONDS = 0.5
"""Approximate seconds of timed steps per mode; at least three steps are timed."""


@dataclass(frozen=True, slots=True)
class Stage:
    """The current stage of an explanation."""

    what: Literal["preparing", "recording", "compiling", "timing"]
    ready: int = 0
    kernels: int = 0


ExplanationUpdate: TypeAlias = Stage | Explanation


def explain_in_stages(
    get_report: Callable[[], Report], *, name: str | None = None
) -> Generator[ExplanationUpdate, None, None]:
    """Explains the training step. Each `next` runs one stage; closing the generator cancels it.

    Args:
        get_report: returns the check of the document, called in the thread that iterates
        name: the project's name

    Yields:
        Stages; after "recording" an explanation with preliminary times and kernels; at the end the final explanation.

    Raises:
        LoweringError: the document has errors.
    """
    yield Stage("preparing")
    report = get_report()
    program, training = lower(report, name), report.document.training
    task = program.build(device=resolve_device(training.device), seed=training.seed)
    batches = task.setup()
    batch = task.to_device(next(iter(batches.train)))
    for module in task.modules.values():
        module.train()
    compiled = compiled_step(task)
    yield Stage("recording")
    first = relabeled(explain(compiled, repeat=1, wait=False)(task, batch), task, program)
    yield first
    if rest := _in_last_batch(batches.train):
        compiled.trace_call(task, _first(batch, rest))  # it has another shape, so that it is traced separately
    while (state := compile_state(compiled, 1)).kernels_ready + state.kernels_failed < state.kernels:
        yield Stage("compiling", state.kernels_ready, state.kernels)
        time.sleep(_POLL_SECONDS)
    yield Stage("timing", state.kernels_ready, state.kernels)
    repeat = round(_TIMED_SECONDS / max(first.eager_seconds, 1e-6))
    yield relabeled(explain(compiled, repeat=min(max(repeat, 3), 15))(task, batch), task, program)


def is_same_step(first: Document, second: Document) -> bool:
    """Whether two documents have the same training step: positions, notes and training length may differ."""
    if first is second:
        return True
    first, second = flat_document(first), flat_document(second)
    same_graph = first.wires == second.wires and first.nodes.keys() == second.nodes.keys()
    if not same_graph or any(
        getattr(first.training, name) != getattr(second.training, name) for name in ("device", *STEP_SETTINGS)
    ):
        return False
    return all(
        node is (other_node := second.nodes[name])
        or (node.type, node.params, node.muted, node.frozen, node.recomputed, node.trains, node.shares)
        == (
            other_node.type,
            other_node.params,
            other_node.muted,
            other_node.frozen,
            other_node.recomputed,
            other_node.trains,
            other_node.shares,
        )
        for name, node in first.nodes.items()
    )


def _in_last_batch(loader: AnyLoader) -> int:
    """Number of samples in a smaller last batch of an epoch; 0 if all batches have one size, or for several loaders."""
    if isinstance(loader, JointLoader):
        return 0
    samples, size = len(loader.dataset), loader.batch_size
    return 0 if size is None or loader.drop_last or samples < size else samples % size


def _first(batch: Any, count: int) -> Any:
    """The first samples of a batch, whatever its structure."""
    if isinstance(batch, Tensor):
        return batch[:count] if batch.ndim else batch
    if isinstance(batch, dict):
        return {key: _first(value, count) for key, value in batch.items()}
    if isinstance(batch, (list, tuple)):
        return [_first(value, count) for value in batch]
    return batch


__all__ = ["ExplanationUpdate", "Stage", "explain_in_stages", "is_same_step"]
