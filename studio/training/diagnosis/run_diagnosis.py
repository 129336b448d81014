"""Diagnosis of a run while it trains: each problem once, and one problem for a root cause."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace

from engine import fit
from engine.compiler import Explanation
from studio.lowering.problems.block_fixes import in_document
from studio.lowering.problems.diagnoses import AREAS
from studio.lowering.problems.dismissal import with_dismissals
from studio.lowering.problems.problem import Problem
from studio.lowering.report import Report
from studio.nodes.catalogue import Catalogue
from studio.training.breakpoints.origin import Origin
from studio.training.diagnosis import data_bottleneck, gradient_flow, graph_break_cost, inactive_units, learning_rates
from studio.training.diagnosis.divergence import DivergenceDetector, consequence
from studio.training.diagnosis.float16_range import find_float16_loss, float16_overflow
from studio.training.diagnosis.generalization import find_overfitting, find_underfitting, find_unrelated_targets
from studio.training.diagnosis.run_facts import RunFacts
from studio.training.diagnosis.step_times import StepTimes
from studio.training.diagnosis.training_curves import TrainingCurves

RUN_CODES = frozenset(each.code for each in AREAS["runs"])
"""Codes of problems that a run shows."""
_AREA_OF = {each.code: area for area, diagnoses in AREAS.items() for each in diagnoses}
_LEARNING_AREAS = ("scores", "layers", "sequences", "optimizers", "runs")
"""Areas whose warnings explain why a run learns badly."""
_LEARNING_CODES = frozenset(
    {
        "unscaled-inputs",
        "misfit-normalization",
        "numbers-as-classes",
        "identifier-as-target",
        "target-convention",
        "sorted-samples",
        "not-shuffled",
        "single-batch",
        "label-changed",
        "missing",
        "infinite",
    }
)
"""Findings in the data that explain it, too."""
_CAUSES_OF_DIVERGENCE = frozenset(
    {
        "learning-rate-too-high",
        "summed-loss",
        "ascent",
        "momentum",
        "schedule-grows",
        "unscaled-inputs",
        "misfit-normalization",
        "missing",
        "infinite",
    }
)
"""Problems that are known before a run, and explain a loss that diverges."""
_FLAT_STEPS, _FEW_FLAT_STEPS = 100, 30
"""Steps before a curve is called flat, and how many suffice at the end of a shorter run."""
_FLAT = 0.03
"""Improvement, as a share of the first loss, up to which a curve is flat."""
_BOTTLENECK_INTERVAL = 10
"""Steps between checks of the waiting time."""


class RunDiagnosis:
    """Follow the events of a run, and find problems in them.

    Args:
        report: the check of the trained document
        known: problems that the samples have shown
        starts_trained: whether the run starts from trained weights, so that its first loss is not that of an
            untrained network
        explain: explains the compiled training step
    """

    def __init__(
        self,
        report: Report,
        catalogue: Catalogue,
        *,
        known: Sequence[Problem] = (),
        starts_trained: bool = False,
        explain: Callable[[], Explanation | None] = lambda: None,
    ) -> None:
        self._report = report
        self._facts = RunFacts.of(
            report, catalogue, _is_explained((*report.problems, *known)), starts_trained=starts_trained
        )
        self._explain = explain
        self._cause = next((each for each in (*report.problems, *known) if _explains_divergence(each)), None)
        """A known problem that explains a loss that diverges."""
        self._divergence = DivergenceDetector(report.document, catalogue)
        self._catalogue = catalogue
        self._curves = TrainingCurves()
        self._started: fit.Started | None = None
        self._times = StepTimes()
        self._breaks = 0
        self._found: set[str] = set()
        """Kinds of problems that are reported."""

    def update(self, event: fit.TrainingEvent, origin: Origin | None = None) -> list[Problem]:
        """The problems that an event shows.

        Args:
            origin: where NaN or infinity arose, if a loss is not finite
        """
        self._curves.add(event)
        if isinstance(event, fit.Started):
            self._started = event
        elif isinstance(event, fit.CompileState):
            self._breaks = event.breaks
        problems = [*self._diverged(event, origin), *self._others(event)]
        return [each for each in self._in_document(problems) if not each.dismissed]

    def _in_document(self, problems: list[Problem]) -> Iterator[Problem]:
        """Problems of the flat graph as problems of the document, without those that it dismisses."""
        flow = self._report.checked
        lifted = problems if flow.expansion.is_flat else in_document(problems, flow.expansion)
        return with_dismissals((each.within(self._report.document) for each in lifted), self._report.document)

    def _diverged(self, event: fit.TrainingEvent, origin: Origin | None) -> Iterator[Problem]:
        for problem in self._divergence.check(event):
            is_first = "learning" not in self._found
            self._found.add("learning")
            cause = None
            if problem.code == "diverged" and self._facts.mixed_precision == "float16":
                cause = float16_overflow(self._curves, self._facts)
            elif self._cause is not None:
                cause = consequence(problem, self._cause)
            elif problem.code == "diverged" and is_first and gradient_flow.is_exploding(self._curves, self._facts):
                cause = gradient_flow.exploding_gradients(self._curves, self._facts, "the loss diverged")
            found = cause or problem
            is_finite = not isinstance(event, fit.Step) or event.finite
            yield found if origin is None or is_finite else _with_origin(found, origin)

    def _others(self, event: fit.TrainingEvent) -> Iterator[Problem]:
        if isinstance(event, fit.Step):
            self._times.add(event.waiting, event.seconds)
            if event.step % _BOTTLENECK_INTERVAL == 0:
                yield from self._once("slow-data", self._slow_data)
        elif isinstance(event, (fit.Observed, fit.Epoch, fit.Done)):
            if not isinstance(event, fit.Observed):  # later, when the kernels of a step are compiled
                yield from self._once("graph-breaks", self._graph_breaks)
            yield from self._once("learning", self._not_learning)
            if "learning" not in self._found and isinstance(event, fit.Epoch):
                yield from self._once("fit", lambda: find_overfitting(self._curves, self._facts))
            if "learning" not in self._found and isinstance(event, fit.Done):
                yield from self._once("fit", self._underfitting)

    def _once(self, kind: str, find: Callable[[], Problem | None]) -> Iterator[Problem]:
        if kind not in self._found and (problem := find()) is not None:
            self._found.add(kind)
            yield problem

    def _slow_data(self) -> Problem | None:
        return data_bottleneck.find_slow_data(self._times, self._report.document, self._catalogue)

    def _graph_breaks(self) -> Problem | None:
        if not self._breaks or self._curves.steps < graph_break_cost.MIN_STEP:
            return None
        self._breaks = 0  # one look, unless a later step has other breaks
        explanation = self._explain()
        if explanation is None:
            return None
        return graph_break_cost.find_graph_breaks(explanation, self._times.computing, self._facts)

    def _underfitting(self) -> Problem | None:
        if self._started is None or not self._is_single() or self._facts.starts_trained:
            return None
        return find_underfitting(self._curves, self._facts, self._started)

    def _is_single(self) -> bool:
        """Whether one optimizer minimizes one loss. Losses of adversaries rise and fall, and that is healthy."""
        return self._facts.optimizer is not None and not self._facts.is_explained

    def _not_learning(self) -> Problem | None:
        curves, facts = self._curves, self._facts
        if not self._is_single() or not curves.steps:
            return None
        if problem := find_float16_loss(curves, facts):
            return problem
        if problem := learning_rates.find_high_rate(curves, facts):
            what = f"the loss jumped from {curves.first:.3g} to {curves.highest:.3g}"
            is_exploding = gradient_flow.is_exploding(curves, facts)
            return (gradient_flow.exploding_gradients(curves, facts, what) if is_exploding else None) or problem
        return (
            learning_rates.find_oscillation(curves, facts)
            or learning_rates.find_collapse(curves, facts)
            or learning_rates.find_rising_loss(curves, facts)
            or self._dead_units()
            or (None if facts.starts_trained else self._flat_curve())
        )

    def _dead_units(self) -> Problem | None:
        problem = inactive_units.find_dead_units(self._curves, self._facts)
        if problem is not None and inactive_units.is_dying(self._curves):
            return learning_rates.find_deadly_rate(self._curves, self._facts, problem) or problem
        return problem

    def _flat_curve(self) -> Problem | None:
        curves, facts = self._curves, self._facts
        is_flat = self._is_flat()
        causes = (
            (inactive_units.find_saturation(curves, facts), gradient_flow.find_vanishing_gradients(curves, facts))
            if is_flat
            else (gradient_flow.find_blocked_gradients(curves, facts),)
        )
        return (
            next((each for each in causes if each is not None), None)
            or gradient_flow.find_forgetting(curves, facts, is_flat=is_flat)
            or learning_rates.find_low_rate(curves, facts, is_flat=is_flat)
            or find_unrelated_targets(curves, facts)
        )

    def _is_flat(self) -> bool:
        """Whether the loss is still that of the untrained network, late enough in the run to say so."""
        curves = self._curves
        is_short_run = curves.steps >= _FEW_FLAT_STEPS and curves.is_late(0.9)
        if not is_short_run and (curves.steps < _FLAT_STEPS or not curves.is_late(1 / 3)):
            return False
        return curves.recent() >= curves.first - max(_FLAT * abs(curves.first), 2 * curves.recent_error())


def _with_origin(problem: Problem, origin: Origin) -> Problem:
    """A problem of a loss that is not finite, with the node where that arose after its first sentence."""
    first, dot, rest = problem.message.partition(". ")
    where = f"{origin.summary} {origin.detail}"
    message = f"{first.removesuffix('.')}. {where} {rest}" if dot else f"{problem.message} {where}"
    return replace(problem, message=message.rstrip(), evidence={**problem.evidence, "origin": origin.place})


def _explains_divergence(problem: Problem) -> bool:
    return problem.severity == "warning" and problem.code in _CAUSES_OF_DIVERGENCE


def _is_explained(problems: Iterable[Problem]) -> bool:
    return any(
        _AREA_OF.get(each.code) in _LEARNING_AREAS or each.code in _LEARNING_CODES
        for each in problems
        if each.severity == "warning"
    )


__all__ = ["RUN_CODES", "RunDiagnosis"]
