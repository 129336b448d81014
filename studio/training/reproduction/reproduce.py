"""Makes a minimal reproduction of a failing project or run."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Generator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TypeAlias

from engine.io import atomic_file, save_file
from studio.document.document_errors import FileError
from studio.document.files import project_files
from studio.document.model import Document
from studio.lowering.check import check
from studio.lowering.program import lower
from studio.nodes.catalogue import Catalogue
from studio.training.reproduction.failing_step import (
    MAX_STEPS,
    FailingStep,
    ReproductionError,
    Searching,
    find_failing_step,
)
from studio.training.reproduction.failure_sign import FailureSign
from studio.training.reproduction.partial_graph import DATA_FILE, GraphCutter
from studio.training.reproduction.project_trial import ProjectTrial, failure_of_file, write_arrays
from studio.training.reproduction.reduction import MAX_TRIES, Reduced, Reducing, Reduction
from studio.training.reproduction.reproduction_script import WEIGHTS_FILE, reproduction_script
from studio.training.stepping.record_step import record_step

PROJECT_FILE = "reproduction.gradwire"
SCRIPT_FILE = "reproduction.py"
FILES = (PROJECT_FILE, SCRIPT_FILE, DATA_FILE, WEIGHTS_FILE)
MAX_SECONDS = 120.0
"""Seconds for the reduction by default."""


@dataclass(frozen=True, slots=True)
class Found:
    """The failing step was found; the reduction begins."""

    sign: FailureSign
    step: int
    nodes: int
    samples: int


@dataclass(frozen=True)
class Reproduction:
    """The files of a minimal reproduction."""

    folder: Path
    sign: FailureSign
    step: int
    """Number of the failing step in the run."""
    kept: tuple[str, ...]
    """Nodes of the failing graph that are left, with the instances that they are in."""
    nodes: int
    """Nodes of the failing graph that compute tensors."""
    samples: int
    of_samples: int
    tries: int
    is_complete: bool
    has_weights: bool

    @property
    def project(self) -> Path:
        return self.folder / PROJECT_FILE

    @property
    def script(self) -> Path:
        return self.folder / SCRIPT_FILE

    @property
    def weights(self) -> Path:
        return self.folder / WEIGHTS_FILE

    @property
    def summary(self) -> str:
        """One sentence on what is left."""
        nodes = f"{len(self.kept)} of {self.nodes} nodes"
        samples = f"{self.samples} of {self.of_samples} samples"
        return f"{self.sign} Left: {nodes}, {samples} and 1 of {self.step:,} steps, after {self.tries} tries."


Progress: TypeAlias = Searching | Found | Reducing | Reproduction


def reproduce(
    document: Document,
    catalogue: Catalogue,
    folder: Path,
    *,
    base: Path | None = None,
    seed: int | None = None,
    run: Path | None = None,
    max_steps: int = MAX_STEPS,
    max_tries: int = MAX_TRIES,
    max_seconds: float = MAX_SECONDS,
) -> Generator[Progress, None, None]:
    """Find the failing step, reduce it, and write the result. Close the iterator to cancel; then nothing is written.

    Args:
        folder: of the result; created if missing
        base: folder that relative paths of the document start from
        run: folder of a run of the document
        max_steps: steps to search for the failure
        max_tries: projects to try
        max_seconds: seconds for the reduction

    Raises:
        ReproductionError: there is no failure, or no part of the graph fails by itself.
        LoweringError: the document has errors.
        FileError: a file cannot be written.
    """
    failing: FailingStep | None = None
    for event in find_failing_step(document, catalogue, base=base, seed=seed, run=run, max_steps=max_steps):
        if isinstance(event, FailingStep):
            failing = event
        else:
            yield event
    assert failing is not None
    cutter = _cutter(failing)
    number, samples = (failing.state.step or 0) + 1, len(failing.state.batch[0])
    yield Found(failing.sign, number, len(cutter.nodes), samples)
    end = time.monotonic() + max_seconds
    with tempfile.TemporaryDirectory(prefix="gradwire-") as scratch:
        trial = ProjectTrial(catalogue, Path(scratch))
        reduction = Reduction(cutter, trial.failure, max_tries=max_tries, is_over=lambda: time.monotonic() > end)
        reduced: Reduced | None = None
        for event in reduction.run():
            if isinstance(event, Reduced):
                reduced = event
            else:
                yield event
    assert reduced is not None
    _write(reduced, failing.sign, folder, catalogue)
    yield Reproduction(
        folder=folder,
        sign=failing.sign,
        step=number,
        kept=tuple(sorted(reduced.kept)),
        nodes=reduced.of,
        samples=reduced.project.rows,
        of_samples=samples,
        tries=reduced.tries,
        is_complete=reduced.is_complete,
        has_weights=bool(reduced.project.weights),
    )


def _cutter(failing: FailingStep) -> GraphCutter:
    flow = failing.report.checked
    recording = record_step(flow, failing.program, failing.task, failing.state, verify=False)
    return GraphCutter(flow, recording, failing.state, failing.sign, failing.task.seed)


def _write(reduced: Reduced, sign: FailureSign, folder: Path, catalogue: Catalogue) -> None:
    """Write all files, and check that the project on disk fails the same way."""
    project = reduced.project
    own = next((name for name, origin in project.origins.items() if origin == sign.node), None)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for name in FILES:
            (folder / name).unlink(missing_ok=True)
        write_arrays(project, folder)
        if project.weights:
            save_file(project.weights, folder / WEIGHTS_FILE, {"producer": "gradwire"})
        path = folder / PROJECT_FILE
        project_files.save(project.document, path)
        program = lower(check(project.document, catalogue, folder), "reproduction")
        source = program.source.replace(str(folder / DATA_FILE), DATA_FILE)
        text = reproduction_script(
            replace(program, source=source),
            sign,
            own,
            seed=project.document.training.seed,
            has_weights=bool(project.weights),
        )
        atomic_file.write(folder / SCRIPT_FILE, text.encode())
    except OSError as error:
        raise FileError.from_os_error(folder, "cannot be written", error) from None
    found = failure_of_file(path, catalogue, project)
    if not sign.is_same(None if found is None else found.at(project.origins.get(found.node or "", found.node))):
        raise ReproductionError(f"The project in {folder} does not fail as in the trial. Try again.")


__all__ = [
    "FILES",
    "MAX_SECONDS",
    "PROJECT_FILE",
    "SCRIPT_FILE",
    "Found",
    "Progress",
    "Reproduction",
    "reproduce",
]
