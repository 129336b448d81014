"""Numbers that leave the range of float16 in mixed precision: too large, or too small."""

from __future__ import annotations

import math
from statistics import median

from studio.document import edits
from studio.lowering.problems.problem import Fix, Problem
from studio.training.diagnosis.run_facts import RunFacts
from studio.training.diagnosis.training_curves import TrainingCurves

INITIAL_SCALE = 2.0**16
_SKIPPED = 2.0**-8
"""Fall of the loss scale, which halves in each skipped step. The first steps of sound runs skip up to four."""
_ZEROS = 0.9
"""Share of gradient elements that are 0 in float16. Dead units and padding cause a part of it in sound networks."""
_MIN_OBSERVATIONS = 2


def find_float16_loss(curves: TrainingCurves, facts: RunFacts) -> Problem | None:
    """Steps that are skipped since their gradients overflow, or gradients that are 0 since they underflow."""
    if facts.mixed_precision != "float16" or len(curves.observations) < _MIN_OBSERVATIONS:
        return None
    last = curves.observations[-1]
    if last.loss_scale <= INITIAL_SCALE * _SKIPPED:
        skipped = round(math.log2(INITIAL_SCALE / max(last.loss_scale, 1e-300)))
        message = (
            f"In float16 the gradients overflow: {skipped} of {last.step:,} steps were skipped, and the loss "
            f"scale fell from {INITIAL_SCALE:g} to {last.loss_scale:g}. Set mixed_precision to bfloat16."
        )
        evidence = {"skipped_steps": skipped, "loss_scale": last.loss_scale, "step": last.step}
        return Problem("warning", "float16-overflow", message, node=facts.optimizer, fix=_fix(), evidence=evidence)
    zeros = {
        path: each["gradient_zeros"]
        for path, each in last.parameters.items()
        if "gradient_zeros" in each and path.rpartition(".")[2].startswith("weight")
    }
    if not zeros or median(zeros.values()) < _ZEROS or _has_dead_layer(curves):
        return None
    path = max(zeros, key=lambda each: zeros[each])
    message = (
        f"In float16 the gradients underflow: {zeros[path]:.0%} of those of {facts.node_of(path) or path} are 0 in "
        f"step {last.step:,}, although the loss is multiplied by {last.loss_scale:g}. Set mixed_precision to bfloat16."
    )
    evidence = {"zero_share": zeros[path], "loss_scale": last.loss_scale, "step": last.step}
    return Problem("warning", "float16-underflow", message, node=facts.optimizer, fix=_fix(), evidence=evidence)


def float16_overflow(curves: TrainingCurves, facts: RunFacts) -> Problem | None:
    """For a loss that is NaN or infinite: values beyond the largest number. The scaled gradients cannot be the cause,
    because steps with infinite ones are skipped."""
    loss = curves.losses[-1] if curves.losses else 0.0
    if math.isfinite(loss):
        return None
    message = (
        f"In float16 values overflow: the loss became {'NaN' if math.isnan(loss) else 'infinite'} in batch "
        f"{curves.steps:,}, and the largest number is 65504. Set mixed_precision to bfloat16, or add normalization."
    )
    evidence = {"step": curves.steps}
    return Problem("warning", "float16-overflow", message, node=facts.optimizer, fix=_fix(), evidence=evidence)


def _has_dead_layer(curves: TrainingCurves) -> bool:
    layers = curves.observations[-1].layers.values()
    return any(each.get("dead", 0.0) > 0.5 for each in layers)


def _fix() -> Fix:
    return Fix(
        "Set mixed_precision to bfloat16",
        lambda document: edits.set_training(document, mixed_precision="bfloat16"),
        ("training.mixed_precision=bfloat16",),
    )


__all__ = ["find_float16_loss", "float16_overflow"]
