"""Makes the minimal reproduction of a failed run in a background thread."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from engine.errors import EngineError
from studio.document.document_errors import FileError
from studio.lowering.program import LoweringError
from studio.nodes.catalogue import Catalogue
from studio.training.reproduction.failing_step import ReproductionError, Searching
from studio.training.reproduction.reproduce import Found, Reproduction, reproduce
from studio.training.reproduction.run_source import load_failed_run
from studio.training.runs.run_export import ExportProgress
from studio.training.runs.run_history import Run

FOLDER = "reproduction"
"""Folder in that of the run."""
_FOUND = 0.3
"""Share of the work when the failing step is found."""


def can_fail(run: Run) -> bool:
    """Whether a run has ended with an error, or its loss was not finite or diverged."""
    has_failed = run.state == "failed" or bool(run.metadata.get("loss_problem"))
    return run.folder is not None and has_failed and not run.is_live


def reproduction_work(
    run: Run, catalogue: Catalogue, base: Path | None, on_done: Callable[[Reproduction], object]
) -> ExportProgress:
    """Shares of the work. Raises FileError with the reason if there is no reproduction."""
    assert run.folder is not None
    share = 0.0
    try:
        source = load_failed_run(run.folder)
        events = reproduce(source.document, catalogue, run.folder / FOLDER, base=base, seed=source.seed, run=run.folder)
        try:
            for event in events:
                match event:
                    case Searching():
                        share += 0.02 * (_FOUND - share)
                    case Found():
                        share = _FOUND
                    case Reproduction():
                        share = 1.0
                        on_done(event)
                    case _:
                        share += 0.1 * (1.0 - share)
                yield share
        finally:
            events.close()
    except LoweringError as error:
        raise _refusal(run, error.problems[0].message) from None
    except (ReproductionError, EngineError, RuntimeError, ValueError, TypeError, MemoryError) as error:
        raise _refusal(run, str(error)) from error


def _refusal(run: Run, reason: str) -> FileError:
    return FileError(run.name, "", f"has no minimal reproduction: {reason.rstrip('.')}", "")


__all__ = ["FOLDER", "can_fail", "reproduction_work"]
