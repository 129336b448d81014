"""Targets of a regression that are too large to be learned by a layer whose outputs start near 0."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from studio.document.model import Endpoint
from studio.lowering.analysis.input_scale import to_json_value
from studio.lowering.checks.losses.loss_conventions import DISTANCE_LOSSES
from studio.lowering.checks.value_paths import linear_behind
from studio.lowering.problems.problem import Fix, Problem
from studio.nodes.types import Role
from studio.training.data.findings.data_context import DataContext, number_text
from studio.training.data.findings.data_fixes import insert_transform
from studio.training.data.findings.sample_reading import targets_at

MAX_RMS = 500.0
"""Root mean square up to which targets need no scaling: temperatures, ages and percentages are far below."""
MIN_SAMPLES = 20


def target_problems(data: DataContext) -> Iterator[Problem]:
    """Targets in thousands that a loss compares with the outputs of a linear layer."""
    flow = data.flow
    if flow is None or data.loader is None or data.found.classes is not None:
        return
    end = Endpoint(data.loader, "target")
    for loss, node_type in data.with_role(Role.LOSS):
        output = flow.graph.source(loss, "input")
        if node_type.key not in DISTANCE_LOSSES or output is None or data.compared_output(loss) != end:
            continue
        if linear_behind(flow.graph, output) is not None:
            yield from _large(data, loss)
            return


def _large(data: DataContext, loss: str) -> Iterator[Problem]:
    targets = targets_at(data)
    if targets is None or targets.dtype.kind != "f" or len(targets) < MIN_SAMPLES:
        return
    values = targets.astype(np.float64)
    values = values[np.isfinite(values)]
    if not values.size or np.sqrt((values**2).mean()) <= MAX_RMS:
        return
    mean, std = float(values.mean()), float(values.std())
    message = (
        f"The targets of {loss} range from {number_text(float(values.min()))} to {number_text(float(values.max()))}"
        f"{data.scope()}, but the outputs of a network start near 0, so it needs very many steps to reach them, or "
        "diverges. Insert Normalize for the targets."
    )
    evidence = {"mean": mean, "std": std, "lowest": float(values.min()), "highest": float(values.max())}
    port = data.last.port if data.last is not None else None
    yield Problem(
        "warning",
        "unscaled-targets",
        message,
        node=data.loader,
        port=port,
        fix=_scaling(data, mean, std),
        evidence=evidence,
    )


def _scaling(data: DataContext, mean: float, std: float) -> Fix | None:
    if data.last is None:
        return None
    params = {"mean": to_json_value(mean), "std": to_json_value(std if std > 0 else 1.0)}
    return insert_transform(data.last, "transforms.Normalize", params, on="targets", title="Insert Normalize")


__all__ = ["target_problems"]
