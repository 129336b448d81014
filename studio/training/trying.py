"""Trials of a document: which learning rate is a good one, and whether its network can learn at all."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import TypeAlias

from engine import fit
from studio.document.model import Document
from studio.lowering.program import lower
from studio.nodes.catalogue import Catalogue
from studio.training.events import Failed
from studio.training.failures import failed
from studio.training.settings import resolved

RATES = 100
"""Batches that a search trains, at most."""
LOWEST, HIGHEST = 1e-7, 10.0
"""Learning rates of a search."""

STEPS = 200
"""With one batch, at most."""
LEARNS = 0.1
"""Share of the first loss that is close enough to nothing."""
_ENOUGH = 0.01
"""Share of the first loss at which nothing is left to be shown."""

Tried: TypeAlias = fit.RateTried | fit.RateFound | fit.BatchTrained | Failed


def searching(
    document: Document, catalogue: Catalogue, *, base: Path | None = None, name: str | None = None
) -> Iterator[Tried]:
    """A search for the learning rate: each one that was tried, then what was found. Failed is the last, if it fails."""
    program = None
    try:
        program = lower(document, catalogue, base=base, name=name)
        task = program.build(resolved(document.training.device), document.training.seed)
        yield from fit.find_rate(task, low=LOWEST, high=HIGHEST, steps=RATES, compile=document.training.compile)
    except Exception as error:  # noqa: BLE001 - shown to whoever asked
        yield failed(error, program)


def overfitting(
    document: Document, catalogue: Catalogue, *, base: Path | None = None, name: str | None = None
) -> Iterator[Tried]:
    """Training with one batch, until the loss is close to nothing. Failed is the last, if it fails."""
    program = None
    try:
        program = lower(document, catalogue, base=base, name=name)
        task = program.build(resolved(document.training.device), document.training.seed)
        with closing(fit.overfit_one_batch(task, steps=STEPS, compile=document.training.compile)) as steps:
            for trained in steps:
                yield trained
                if trained.share < _ENOUGH:
                    break
    except Exception as error:  # noqa: BLE001 - shown to whoever asked
        yield failed(error, program)
