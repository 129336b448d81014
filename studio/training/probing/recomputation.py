"""Checks shown tensors: the training program computes them again, and the values are compared."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from engine import fit
from engine.data.joint_loader import in_order
from engine.fit.step_functions import compute_losses
from engine.random import Generator, drawing_from
from studio.lowering.program import Program, lower
from studio.lowering.report import Report
from studio.training.probing.probe_target import ProbeTarget
from studio.training.probing.program_capture import ProgramCapture
from studio.training.probing.tensor_probe import ProbedTensor
from studio.training.run_settings import resolve_device

ROUNDING = {"float16": 1e-2, "bfloat16": 5e-2, "float32": 1e-5, "float64": 1e-12}
"""Largest difference that rounding explains, as a share of the largest absolute value."""


@dataclass(frozen=True, slots=True)
class Verification:
    """The result of computing a tensor again."""

    difference: float = 0.0
    """Largest absolute difference; infinity if NaN or infinite values are at other positions."""
    scale: float = 0.0
    """Largest absolute value."""
    is_confirmed: bool = False
    """Whether the difference is 0 or within rounding."""
    problem: str = ""
    """Why the tensor cannot be compared."""

    @property
    def is_identical(self) -> bool:
        return self.is_confirmed and self.difference == 0


def initial_weights(report: Report) -> dict[str, Any]:
    """The weights that a run of a graph starts with. Raises LoweringError if it has errors."""
    task = _task(report, lower(report))
    task.setup()
    return dict(task.model.state_dict())


def recompute(
    report: Report, weights: Mapping[str, Any] | None, targets: Collection[ProbeTarget]
) -> dict[ProbeTarget, NDArray[Any]]:
    """Run the training program eagerly on its first batch, and take tensors from its variables.

    The classes are those that a run trains, so that this shares no code with the probes but the engine.

    Args:
        weights: parameters and buffers by path; initial ones without them

    Raises:
        LoweringError: the graph has errors, so that it has no program.
    """
    program = lower(report)
    task = _task(report, program)
    loaders = task.setup()
    if weights:
        task.model.load_state_dict(dict(weights))
    with drawing_from(Generator(task.seed)):
        batch = task.to_device(next(iter(in_order(loaders.train))))
    with drawing_from(Generator(task.seed)):
        capture = ProgramCapture(report.checked, program, task.model, targets)
        capture.take_batch(batch)
        with capture.running():
            losses = compute_losses(task, batch)
    capture.differentiate(losses, task.model)
    return capture.found


def verify(
    shown: Collection[ProbedTensor], recomputed: Mapping[ProbeTarget, NDArray[Any]]
) -> dict[ProbeTarget, Verification]:
    """Compare shown tensors with recomputed ones."""
    return {each.target: _compare(each, recomputed.get(each.target)) for each in shown if each.array is not None}


def _compare(shown: ProbedTensor, again: NDArray[Any] | None) -> Verification:
    array = shown.array
    assert array is not None
    if again is None:
        return Verification(problem=f"The training program does not compute {shown.target.title}.")
    if again.shape != array.shape:
        return Verification(problem=f"The shapes differ: {array.shape} and {again.shape}.")
    if not array.size:
        return Verification(is_confirmed=True)
    wide = np.complex128 if array.dtype.kind == "c" else np.float64
    first, second = array.astype(wide), again.astype(wide)
    same = (first == second) | (np.isnan(first) & np.isnan(second))
    with np.errstate(invalid="ignore", over="ignore"):
        differences = np.where(same, 0.0, np.abs(first - second))
    difference = float(np.max(np.where(np.isnan(differences), np.inf, differences)))
    finite = np.abs(first[np.isfinite(first)])
    scale = float(finite.max()) if finite.size else 0.0
    allowed = ROUNDING.get(shown.dtype, 0.0) * scale
    return Verification(difference, scale, difference <= allowed)


def _task(report: Report, program: Program) -> fit.Task:
    training = report.document.training
    return program.build(device=resolve_device(training.device), seed=training.seed)


__all__ = ["ROUNDING", "Verification", "initial_weights", "recompute", "verify"]
