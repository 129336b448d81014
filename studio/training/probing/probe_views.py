"""What probes show: values of one step, computed where they are not known yet, and drawn as views."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from studio.lowering.program import LoweringError
from studio.lowering.report import Report
from studio.training.data.data_chain import ChainOpener
from studio.training.failures import error_message
from studio.training.probing.node_probe import NodeProbe, ProbeError
from studio.training.probing.probe_target import ProbeTarget
from studio.training.probing.probe_weights import ProbedWeights, WeightsRequest, read_weights
from studio.training.probing.recomputation import Verification, recompute, verify
from studio.training.probing.tensor_probe import ProbedBatch, probe_tensors
from studio.training.probing.views.tensor_view import TensorView, tensor_view
from studio.training.probing.views.view_kinds import ViewKind

NOT_CONNECTED = "No data reaches this port."


@dataclass(frozen=True, slots=True)
class ViewRequest:
    """A view to make."""

    target: ProbeTarget | None
    """None if the graph has no such tensor."""
    kind: ViewKind | None = None
    index: int = 0


@dataclass(frozen=True, slots=True)
class ProbeResult:
    """What a probe shows. Without a view and a problem, it is computed."""

    view: TensorView | None = None
    problem: str = ""
    source: str = ""
    """Where the weights come from: "Run 3, step 120"."""
    verification: Verification | None = None
    """The result of checking the values, if they were checked."""


@dataclass(slots=True)
class KnownValues:
    """The tensors of one step that were computed, kept so that another view of them is immediate."""

    report: Report
    weights: ProbedWeights
    batch: ProbedBatch = field(default_factory=ProbedBatch)
    verified: dict[ProbeTarget, Verification] = field(default_factory=dict["ProbeTarget", Verification])


@dataclass(frozen=True, slots=True)
class ProbeViews:
    """The results of a request in its order."""

    results: tuple[ProbeResult, ...]
    known: KnownValues | None
    seconds: float
    """Time of the computation, without waiting for a batch that is trained."""


def make_views(
    report: Report,
    requests: Sequence[ViewRequest],
    weights: WeightsRequest,
    opener: ChainOpener,
    known: KnownValues | None = None,
    *,
    is_verified: bool = False,
    is_cancelled: Callable[[], bool] = lambda: False,
) -> ProbeViews:
    """Compute the tensors of probes and make their views.

    Args:
        known: values of the same step; only other tensors are computed
        is_verified: check all of them by recomputation
    """
    if known is None or known.report is not report:
        try:
            known = KnownValues(report, read_weights(weights, report))
        except ProbeError as error:
            return ProbeViews(tuple(ProbeResult(problem=str(error)) for _ in requests), None, 0.0)
    start = time.perf_counter()
    wanted = {each.target for each in requests if each.target is not None}
    missing = wanted - known.batch.tensors.keys()
    if missing:
        _compute(known, missing, opener, is_cancelled)
    problem = _check(known, wanted) if is_verified and not is_cancelled() else ""
    results = tuple(_result(each, known, problem) for each in requests)
    return ProbeViews(results, known, time.perf_counter() - start)


def _compute(
    known: KnownValues, targets: set[ProbeTarget], opener: ChainOpener, is_cancelled: Callable[[], bool]
) -> None:
    probe = NodeProbe(known.report.checked, opener, known.weights.values)
    found = probe_tensors(known.report, probe, sorted(targets), is_cancelled)
    known.batch.tensors |= found.tensors
    known.batch.labels = known.batch.labels or found.labels


def _check(known: KnownValues, wanted: set[ProbeTarget]) -> str:
    """Check values by recomputation. Returns why they cannot be checked."""
    shown = {target: tensor for target, tensor in known.batch.tensors.items() if target in wanted}
    try:
        again = recompute(known.report, known.weights.values, shown)
    except LoweringError as error:
        return f"The graph has no training program yet: {error.problems[0].message}"
    except MemoryError:
        return "There is not enough memory for a batch."
    except Exception as error:  # noqa: BLE001 - shown at the probe
        return f"The training program failed: {error_message(error)}"
    known.verified |= verify(list(shown.values()), again)
    return ""


def _result(request: ViewRequest, known: KnownValues, problem: str) -> ProbeResult:
    target, source = request.target, known.weights.source
    if target is None:
        return ProbeResult(problem=NOT_CONNECTED, source=source)
    tensor = known.batch.tensors.get(target)
    if tensor is None or tensor.array is None:
        return ProbeResult(problem="" if tensor is None else tensor.problem, source=source)
    view = tensor_view(tensor, request.kind, request.index, known.batch.labels)
    verification = Verification(problem=problem) if problem else known.verified.get(target)
    return ProbeResult(view, source=source, verification=verification)


def measured_text(figures: Mapping[str, float]) -> str:
    """The figures of a measured step: "mean 0.1 · std 1.2"."""
    shown = [name for name in ("mean", "std", "low", "high", "norm", "gradient", "update") if name in figures]
    return " · ".join(f"{name} {figures[name]:.3g}" for name in shown)


__all__ = ["NOT_CONNECTED", "KnownValues", "ProbeResult", "ProbeViews", "ViewRequest", "make_views", "measured_text"]
