"""Explains the training step of a document before it is trained: on a copy of the model, stage by stage."""

from __future__ import annotations

import time
from collections.abc import Generator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, TypeAlias

from engine import Tensor, fit
from engine.compiler import Compiled, Explanation, explain
from engine.compiler.progress import progress
from studio.document.model import Document
from studio.lowering.program import lower
from studio.nodes.catalogue import Catalogue
from studio.training.compilation import relabelled
from studio.training.session import resolved

_PAUSE = 0.05
"""Seconds between looks at kernels that are being compiled."""


@dataclass(frozen=True, slots=True)
class Stage:
    """What is being done for an explanation."""

    what: Literal["preparing", "recording", "compiling", "timing"]
    ready: int = 0
    kernels: int = 0


Found: TypeAlias = Stage | Explanation


def explaining(
    document: Document, catalogue: Catalogue, *, base: Path | None = None, name: str | None = None, repeat: int = 5
) -> Generator[Found, None, None]:
    """What becomes of the training step. Whoever asks for the next item lets it go on; whoever closes it ends it.

    Args:
        base: the folder of the project file, where relative paths begin
        name: the project's name
        repeat: calls to be timed, compiled and not compiled

    Yields:
        The stages; after "recording" an explanation whose times and kernels are not final yet, and the final one last.

    Raises:
        LoweringError: the document has errors.
    """
    yield Stage("preparing")
    program = lower(document, catalogue, base=base, name=name)
    task = program.build(device=resolved(document.training.device), seed=document.training.seed)
    batches = task.setup()
    batch = task.to_device(next(iter(batches.train)))
    for module in task.modules.values():
        module.train()
    compiled = Compiled(fit.step)
    yield Stage("recording")
    yield relabelled(explain(compiled, repeat=1, wait=False)(task, batch), task, program)
    if not batches.train.drop_last:
        rest = len(batches.train.dataset) % batches.train.batch_size
        if rest and rest < batches.train.batch_size < len(batches.train.dataset):
            compiled.traced(task, _first(batch, rest))  # the last batch of each epoch, which is recorded on its own
    while (state := progress(compiled, 1)).kernels_ready + state.kernels_failed < state.kernels:
        yield Stage("compiling", state.kernels_ready, state.kernels)
        time.sleep(_PAUSE)
    yield Stage("timing", state.kernels_ready, state.kernels)
    yield relabelled(explain(compiled, repeat=repeat)(task, batch), task, program)


def is_same_step(one: Document, other: Document) -> bool:
    """Whether two documents train by the same step: they differ at most in places, notes and how long they train."""
    if one is other:
        return True
    same_graph = one.wires == other.wires and one.nodes.keys() == other.nodes.keys()
    if not same_graph or one.training.device != other.training.device:
        return False
    return all(
        node is (twin := other.nodes[name])
        or (node.type, node.params, node.muted, node.frozen) == (twin.type, twin.params, twin.muted, twin.frozen)
        for name, node in one.nodes.items()
    )


def _first(batch: Any, count: int) -> Any:
    """The first samples of a batch, whatever its structure."""
    if isinstance(batch, Tensor):
        return batch[:count] if batch.ndim else batch
    if isinstance(batch, dict):
        return {key: _first(value, count) for key, value in batch.items()}
    if isinstance(batch, (list, tuple)):
        return [_first(value, count) for value in batch]
    return batch


__all__ = ["Found", "Stage", "explaining", "is_same_step"]
