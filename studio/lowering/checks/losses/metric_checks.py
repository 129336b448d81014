"""Metrics that contradict the loss, or that judge something else than what is trained."""

from __future__ import annotations

from collections.abc import Iterator

from studio.document.model import Endpoint, Node
from studio.lowering.analysis.dataflow import Dataflow
from studio.lowering.analysis.node_facts import NodeFacts
from studio.lowering.checks.losses.loss_conventions import (
    CLASS_METRICS,
    NUMBER_METRICS,
    SCORE_INPUTS,
    THRESHOLD_METRICS,
)
from studio.lowering.checks.losses.targets import target_values, targets_of
from studio.lowering.checks.losses.value_kinds import SCORES, activations_behind, kind_of
from studio.lowering.checks.value_paths import linear_behind, value_path
from studio.lowering.problems import quick_fixes
from studio.lowering.problems.problem import Problem
from studio.nodes.types import Role

BINARY = "metrics.BinaryAccuracy"
MEAN_ERROR = "metrics.MeanAbsoluteError"


def metric_problems(flow: Dataflow) -> Iterator[Problem]:
    for name in flow.graph.with_role(Role.METRIC):
        facts = flow.facts.get(name)
        if facts is None or facts.outcome.failure or not {"input", "target"} <= set(facts.inputs):
            continue
        problem = (
            _other_head(flow, name)
            or _single_score(flow, name, facts)
            or _threshold(flow, name, facts)
            or _probabilities_as_scores(flow, name, facts)
            or _always_right(flow, name, facts)
            or _answers_of_numbers(flow, name, facts)
        )
        if problem is not None:
            yield problem


def numbers_metric_of_classes(flow: Dataflow, name: str, facts: NodeFacts) -> Problem | None:
    """A metric of numbers that gets the scores and numbers of classes, or the reverse."""
    scores, target = facts.spec("input"), facts.spec("target")
    if facts.type.role is not Role.METRIC or scores is None or target is None:
        return None
    targets = targets_of(flow, name)
    if facts.type.key in NUMBER_METRICS and targets is not None and targets.are_class_numbers:
        if scores.ndim != target.ndim + 1 or scores.shape[1] == 1:
            return None
        message = f"{name} expects numbers but gets scores of {scores.shape[1]} classes. Use Accuracy."
        return Problem("error", "wrong-metric", message, node=name, fix=quick_fixes.retype(name, "metrics.Accuracy"))
    is_number = target.dtype.is_floating_point and targets is not None and targets.classes is None
    if facts.type.key in CLASS_METRICS and is_number and scores.shape == target.shape:
        message = f"{name} expects classes but the targets are numbers ({target}). Use MeanAbsoluteError."
        return Problem("error", "wrong-metric", message, node=name, fix=quick_fixes.retype(name, MEAN_ERROR))
    is_answer = scores.shape == target.shape and scores.shape[1:] in ((), (1,)) and not is_number
    if facts.type.key in CLASS_METRICS and is_answer:
        return _binary(flow, name, facts, "error")
    return None


def _single_score(flow: Dataflow, name: str, facts: NodeFacts) -> Problem | None:
    """A metric of classes that gets one score per sample, so that it always predicts class 0."""
    scores = facts.spec("input")
    if facts.type.key not in CLASS_METRICS or facts.type.param("threshold") is not None:
        return None
    if scores is None or scores.ndim < 2 or scores.shape[1] != 1:
        return None
    if any(flow.graph.source(loss, "input") == flow.graph.source(name, "input") for loss in _class_losses(flow)):
        return None  # the loss reports the number of scores
    return _binary(flow, name, facts, "warning")


def _binary(flow: Dataflow, name: str, facts: NodeFacts, severity: str) -> Problem:
    end = flow.graph.source(name, "input")
    kind = None if end is None else kind_of(flow, end)
    threshold = 0.5 if kind is not None and kind.noun == "probabilities" else 0.0
    scores, target = facts.spec("input"), facts.spec("target")
    fix = quick_fixes.replace_type(name, Node(BINARY, {"threshold": threshold} if threshold else {}))
    if scores is not None and target is not None and scores.ndim == target.ndim + 1:
        column = Node("nn.Flatten", {"start_dim": target.ndim - 1})
        flat = quick_fixes.insert(Endpoint(name, "input"), column, title="Insert Flatten")
        fix = quick_fixes.all_of([fix, flat], f"{fix.title} of flattened scores")
    message = f"{name} compares the scores of classes but gets a single score per sample. {fix.title}."
    return Problem("error" if severity == "error" else "warning", "wrong-metric", message, node=name, fix=fix)


def _threshold(flow: Dataflow, name: str, facts: NodeFacts) -> Problem | None:
    """Logits against 0.5, or probabilities against 0."""
    end, threshold = flow.graph.source(name, "input"), facts.arguments.values.get("threshold")
    if facts.type.key not in THRESHOLD_METRICS or end is None or not isinstance(threshold, (int, float)):
        return None
    if facts.arguments.values.get("num_classes", 1) != 1:
        return None
    kind = kind_of(flow, end)
    if kind is None:
        return None
    before = value_path(flow.graph, end)[-1].node
    if kind.noun == "probabilities" and not 0 < threshold < 1:
        found, expected, what = "are all", 0.5, f"the probabilities of {before}"
        side = "above" if threshold <= 0 else "below"
        message = f"{name} compares {what} with {threshold:g}, which they {found} {side}. Set threshold to 0.5."
    elif kind == SCORES and threshold == 0.5 and _is_trained_as(flow, end, "scores"):
        expected = 0.0
        message = (
            f"{name} compares the scores of {before}, whose probability is 0.5 at a score of 0, with {threshold:g}. "
            "Set threshold to 0."
        )
    else:
        return None
    fix = quick_fixes.assign(name, "threshold", expected)
    evidence = {"threshold": threshold}
    return Problem("warning", "metric-threshold", message, node=name, fix=fix, evidence=evidence)


def _probabilities_as_scores(flow: Dataflow, name: str, facts: NodeFacts) -> Problem | None:
    """Perplexity of probabilities."""
    end = flow.graph.source(name, "input")
    if facts.type.key != "metrics.Perplexity" or end is None:
        return None
    kind, acts = kind_of(flow, end), activations_behind(flow, end)
    if kind is None or kind.noun != "probabilities" or not acts:
        return None
    source = flow.graph.source(acts[0], flow.graph.types[acts[0]].inputs[0].name)
    message = f"{name} expects scores but gets the probabilities of {acts[0]}."
    is_direct = end == Endpoint(acts[0], "output")
    fix = None if source is None or not is_direct else quick_fixes.wire_up(source, Endpoint(name, "input"))
    message = f"{message} {fix.title if fix else f'Connect the input of {acts[0]}'} to {name}.input."
    return Problem("warning", "wrong-metric", message, node=name, port="input", fix=fix)


def _always_right(flow: Dataflow, name: str, facts: NodeFacts) -> Problem | None:
    """Top-k accuracy of no more than k classes."""
    scores, k = facts.spec("input"), facts.arguments.values.get("k")
    if facts.type.key != "metrics.TopKAccuracy" or scores is None or not isinstance(k, int):
        return None
    classes = scores.shape[1]
    if not isinstance(classes, int) or not 1 < classes <= k:
        return None
    message = f"{name} counts the {k} highest of {classes} scores, so it is always 1. Set k to 1."
    return Problem("warning", "wrong-metric", message, node=name, fix=quick_fixes.assign(name, "k", 1))


def _answers_of_numbers(flow: Dataflow, name: str, facts: NodeFacts) -> Problem | None:
    """A metric of yes-or-no answers whose targets are neither 0 and 1 nor -1 and 1."""
    if facts.type.key not in (BINARY, "metrics.AUC"):
        return None
    targets = targets_of(flow, name)
    if targets is None or targets.classes is not None or _is_trained_as(flow, flow.graph.source(name, "input"), ""):
        return None
    values = target_values(flow, targets)
    if values is None or (values.low >= 0 and values.high <= 1) or set(values.distinct) == {-1.0, 1.0}:
        return None
    message = (
        f"{name} expects answers 0 or 1 but the targets of {targets.loader} range from {values.low:.4g} to "
        f"{values.high:.4g}. Use MeanAbsoluteError."
    )
    fix = quick_fixes.retype(name, MEAN_ERROR)
    evidence = {"lowest": values.low, "highest": values.high}
    return Problem("warning", "wrong-metric", message, node=name, fix=fix, evidence=evidence)


# -- what is trained --------------------------------------------------------------------------


def _other_head(flow: Dataflow, name: str) -> Problem | None:
    """A metric of a layer that is not the one that a loss with the same targets trains."""
    graph = flow.graph
    end, target = graph.source(name, "input"), targets_of(flow, name)
    if end is None or target is None or graph.types[name].key not in CLASS_METRICS | THRESHOLD_METRICS | NUMBER_METRICS:
        return None
    judged, trained = _head(flow, end), _trained_heads(flow, target.end)
    if judged is None or not trained or judged in trained or flow.document.nodes[judged].frozen:
        return None
    if trained.keys() & graph.upstream([judged]) or _imitates(flow, judged):
        return None
    head, (loss, source) = next(iter(trained.items()))
    port = Endpoint(name, "input")
    message = f"{name} judges the outputs of {judged}, but {loss} trains those of {head}. Connect {source} to {port}."
    fix = quick_fixes.wire_up(source, port)
    if graph.readers(Endpoint(judged, "output")) == [port]:
        fix = quick_fixes.all_of(
            [fix, quick_fixes.remove([judged], f"Remove {judged}")], f"{fix.title}, and remove {judged}"
        )
    return Problem("warning", "judged-head", message, node=name, port="input", fix=fix)


def _trained_heads(flow: Dataflow, target: Endpoint) -> dict[str, tuple[str, Endpoint]]:
    """The linear layers that losses with these targets train, with the loss and the output that it reads."""
    found: dict[str, tuple[str, Endpoint]] = {}
    for loss in flow.graph.with_role(Role.LOSS):
        source, targets = flow.graph.source(loss, "input"), targets_of(flow, loss)
        if source is None or targets is None or targets.end != target or loss not in flow.graph.needed:
            continue
        if (head := _head(flow, source)) is not None:
            found[head] = (loss, source)
    return found


def _head(flow: Dataflow, end: Endpoint) -> str | None:
    """The linear layer whose scores an output has, before activations."""
    acts = activations_behind(flow, end)
    if acts:
        last = acts[-1]
        before = flow.graph.source(last, flow.graph.types[last].inputs[0].name)
        if before is None:
            return None
        end = before
    return linear_behind(flow.graph, end)


def _imitates(flow: Dataflow, judged: str) -> bool:
    """Whether a loss with targets that are not those of a loader trains a layer, such as those of a teacher."""
    losses = [loss for loss in flow.graph.with_role(Role.LOSS) if loss in flow.graph.needed]
    ends = [end for loss in losses if targets_of(flow, loss) is None for end in flow.graph.sources(loss).values()]
    return any(_head(flow, end) == judged for end in ends)


def _class_losses(flow: Dataflow) -> list[str]:
    return [loss for loss in flow.graph.with_role(Role.LOSS) if flow.graph.types[loss].learns == "classes"]


def _is_trained_as(flow: Dataflow, end: Endpoint | None, convention: str) -> bool:
    """Whether a loss of scores reads the values of an output."""
    if end is None:
        return False
    origin = value_path(flow.graph, end)[-1]
    for loss in flow.graph.with_role(Role.LOSS):
        expected = SCORE_INPUTS.get(flow.graph.types[loss].key)
        source = None if expected is None else flow.graph.source(loss, expected.port)
        if expected is None or source is None or (convention and expected.convention != convention):
            continue
        if value_path(flow.graph, source)[-1] == origin:
            return True
    return False


__all__ = ["metric_problems", "numbers_metric_of_classes"]
