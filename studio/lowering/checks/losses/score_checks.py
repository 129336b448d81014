"""Losses that get raw scores, probabilities or logarithms where they expect another of them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from studio.document.model import Endpoint, Node
from studio.lowering.analysis.dataflow import Dataflow
from studio.lowering.checks.losses.activation_fixes import (
    other_activation,
    remove_activations,
    with_thresholds,
)
from studio.lowering.checks.losses.loss_conventions import SCORE_INPUTS, THRESHOLD_METRICS, ScoreInput
from studio.lowering.checks.losses.value_kinds import (
    OVER_CLASSES,
    SCORES,
    SQUASHING,
    ValueKind,
    activation_key,
    activation_of_formula,
    activations_behind,
    kind_of,
)
from studio.lowering.checks.value_paths import value_path, value_readers, values_at
from studio.lowering.problems import quick_fixes
from studio.lowering.problems.problem import Fix, Problem
from studio.nodes.types import Role

LOG_SOFTMAX = "nn.LogSoftmax"
LEAST_DISTANCE = 0.5
"""Range of negative scores below which an activation counts as one that removes them."""
NARROW = 4.0
"""Range of scores that leaves the probabilities of softmax and sigmoid far from 0 and 1."""

_JUDGED = "The metrics of the same output compare probabilities, too."
_ACCURATE = "BCEWithLogitsLoss computes the sigmoid and its logarithm in one step, which is exact for large scores."


def score_problems(flow: Dataflow) -> Iterator[Problem]:
    """Problems of the activations before losses and before other activations."""
    reported: set[str] = set()
    for loss in flow.graph.with_role(Role.LOSS):
        problem = _loss_input(flow, loss)
        if problem is None:
            problem = _divergence_target(flow, loss)
        if problem is None:
            problem = _dropped_scores(flow, loss)
        if problem is not None:
            reported.update(activations_before(flow, loss) if problem.code == "squashed-scores" else ())
            yield problem
    for name in flow.graph.types:
        if activation_key(flow, name) in SQUASHING and name not in flow.graph.muted and name not in reported:
            yield from _stacked(flow, name)


def activations_before(flow: Dataflow, loss: str) -> list[str]:
    """The activations in a row before the scores of a loss, the last one first."""
    expected = SCORE_INPUTS.get(flow.graph.types[loss].key)
    end = None if expected is None else flow.graph.source(loss, expected.port)
    return [] if end is None else activations_behind(flow, end)


def _loss_input(flow: Dataflow, loss: str) -> Problem | None:
    expected = SCORE_INPUTS.get(flow.graph.types[loss].key)
    path = [] if expected is None else values_at(flow.graph, loss, expected.port)
    if expected is None or not path:
        return None
    before, kind = path[-1].node, kind_of(flow, path[-1])
    if kind is None:
        return None
    match expected.convention:
        case "scores":
            return _at_scores(flow, loss, expected, before, kind)
        case "probabilities":
            return _at_probabilities(flow, loss, before, kind)
        case "logarithms":
            return _at_logarithms(flow, loss, expected, before, kind)


# -- losses of raw scores ---------------------------------------------------------------------


def _at_scores(flow: Dataflow, loss: str, expected: ScoreInput, before: str, kind: ValueKind) -> Problem | None:
    types, acts = flow.graph.types, activations_before(flow, loss)
    others = (at for at, name in enumerate(acts) if activation_key(flow, name) not in SQUASHING)
    squashing = acts[: next(others, len(acts))]
    limits = [] if squashing else _limits_before(flow, loss, expected)
    if limits:
        behind = flow.graph.source(limits[-1], "x")
        acts = [] if behind is None else activations_behind(flow, behind)
        squashing = [name for name in acts[:1] if activation_key(flow, name) in SQUASHING]
    if squashing:
        return _squashed(flow, loss, expected, squashing, limits)
    removes_negative = -LEAST_DISTANCE <= kind.low <= 0
    is_narrow = kind.low < 0 and kind.high - kind.low <= NARROW and bool(expected.contains)
    if kind.noun != "values" or not types[before].inputs or not (removes_negative or is_narrow):
        return None
    fix, remedy = remove_activations(flow, [before], Endpoint(loss, expected.port))
    if removes_negative:
        message = f"{before} removes the negative scores that {loss} needs. {remedy}: the scores need no activation."
        return Problem("warning", "relu-on-scores", message, node=before, fix=fix)
    message = (
        f"{before} limits the scores to values {kind.range}, so {loss} cannot become small. {remedy}: {loss} expects "
        "unbounded scores."
    )
    evidence = {"low": kind.low, "high": kind.high}
    return Problem("warning", "bounded-scores", message, node=before, fix=fix, evidence=evidence)


def _limits_before(flow: Dataflow, loss: str, expected: ScoreInput) -> list[str]:
    """The limits of probabilities, such as 1e-7 to 1 - 1e-7, before the scores of a loss, the last one first."""
    found: list[str] = []
    end = flow.graph.source(loss, expected.port)
    while end is not None:
        origin = value_path(flow.graph, end)[-1].node
        if flow.graph.types[origin].key != "ops.clamp" or origin in found:
            return found
        found.append(origin)
        end = flow.graph.source(origin, "x")
    return found


def _squashed(flow: Dataflow, loss: str, expected: ScoreInput, squashing: list[str], limits: list[str]) -> Problem:
    keys = [str(activation_key(flow, name)) for name in squashing]
    first, names = squashing[0], [SQUASHING[key] for key in keys]
    listed = " and ".join(squashing)
    fix, remedy = remove_activations(flow, [*limits, *squashing], Endpoint(loss, expected.port))
    others: tuple[Fix, ...] = ()
    if all(key == LOG_SOFTMAX for key in keys) and expected.contains == "softmax":
        message = f"{listed} has no effect, because {loss} applies log-softmax itself. {remedy}."
        return Problem("hint", "squashed-scores", message, node=first, fix=fix)
    applies = f"already applies {expected.contains}" if expected.contains else "compares raw scores"
    message = (
        f"{listed} {'applies' if len(squashing) == 1 else 'apply'} {' and '.join(names)} before {loss}, which "
        f"{applies}, so gradients become small and training is slow. {remedy}: {loss} expects raw scores."
    )
    params = flow.document.nodes[loss].params
    is_logistic = flow.graph.types[loss].key == "nn.BCEWithLogitsLoss" and keys[0] == "nn.Sigmoid"
    if is_logistic and "pos_weight" not in params:
        others = (quick_fixes.retype(loss, "nn.BCELoss", keep=("weight", "reduction")),) if len(squashing) == 1 else ()
        fix = fix.because(_ACCURATE)
    return Problem("warning", "squashed-scores", message, node=first, fix=fix, others=others)


# -- losses of probabilities ------------------------------------------------------------------


def _at_probabilities(flow: Dataflow, loss: str, before: str, kind: ValueKind) -> Problem | None:
    if kind.low >= 0 and kind.high <= 1:
        return None
    start = f"{loss} expects probabilities between 0 and 1 but {before} outputs"
    key = activation_key(flow, before)
    if kind.noun == "log-probabilities":
        other = {LOG_SOFTMAX: "nn.Softmax", "nn.LogSigmoid": "nn.Sigmoid"}.get(key or "")
        fix = None if other is None else other_activation(flow, before, other)
        remedy = f"Use {_class(other)} at {before}." if other else f"Remove {before}."
        return Problem("error", "no-probabilities", f"{start} log-probabilities. {remedy}", node=before, fix=fix)
    if key is not None:
        fix = other_activation(flow, before, "nn.Sigmoid")
        message = f"{start} values {kind.range}. Use Sigmoid at {before}."
        return Problem("error", "no-probabilities", message, node=before, fix=fix)
    message = f"{start} unbounded scores. Use BCEWithLogitsLoss, or insert Sigmoid before {loss}."
    kept = ("weight", "reduction") if flow.document.nodes[loss].params else ()
    retype = quick_fixes.retype(loss, "nn.BCEWithLogitsLoss", keep=kept).because(_ACCURATE)
    origin = values_at(flow.graph, loss, "input")[-1]
    insert = quick_fixes.insert_behind(origin, Node("nn.Sigmoid"), title=f"Insert Sigmoid after {before}")
    retype, insert = with_thresholds(flow, retype, origin, 0.0), with_thresholds(flow, insert, origin, 0.5)
    is_judged = any(_has_threshold(flow, reader.node) for reader in value_readers(flow.graph, origin))
    fix, other = (insert.because(_JUDGED), replace(retype, reason="")) if is_judged else (retype, insert)
    return Problem("error", "no-probabilities", message, node=loss, port="input", fix=fix, others=(other,))


def _has_threshold(flow: Dataflow, metric: str) -> bool:
    """Whether a metric compares probabilities with a threshold."""
    facts = flow.facts[metric]
    threshold = facts.arguments.values.get("threshold", 0)
    return facts.type.key in THRESHOLD_METRICS and 0 < threshold < 1


# -- losses of logarithms ---------------------------------------------------------------------


def _at_logarithms(flow: Dataflow, loss: str, expected: ScoreInput, before: str, kind: ValueKind) -> Problem | None:
    start = f"{loss} expects log-probabilities but {before} outputs"
    if kind.noun == "log-probabilities":
        return None
    key = activation_key(flow, before)
    if key is not None or kind.noun == "probabilities":
        outputs = "probabilities" if kind.noun == "probabilities" else f"values {kind.range}"
        message = f"{start} {outputs}. Use LogSoftmax at {before}."
        dim = None if key in OVER_CLASSES else _class_dim(flow, loss, expected)
        fix = None if key is None else other_activation(flow, before, LOG_SOFTMAX, dim)
        return Problem("warning", "no-log-probabilities", message, node=before, fix=fix)
    message = f"{start} unbounded scores, so the loss has no minimum."
    title = f"Insert LogSoftmax before {loss}"
    node = Node(LOG_SOFTMAX, {"dim": _class_dim(flow, loss, expected)})
    insert = quick_fixes.insert(Endpoint(loss, expected.port), node, title=title)
    if flow.graph.types[loss].key != "nn.NLLLoss":
        return Problem(
            "warning", "no-log-probabilities", f"{message} {title}.", node=loss, port=expected.port, fix=insert
        )
    kept = ("weight", "ignore_index", "reduction") if flow.document.nodes[loss].params else ()
    retype = quick_fixes.retype(loss, "nn.CrossEntropyLoss", keep=kept)
    retype = retype.because("CrossEntropyLoss applies log-softmax itself, so the graph needs no further node.")
    message = f"{message} Use CrossEntropyLoss."
    return Problem(
        "warning", "no-log-probabilities", message, node=loss, port=expected.port, fix=retype, others=(insert,)
    )


def _class_dim(flow: Dataflow, loss: str, expected: ScoreInput) -> int:
    """The dimension of the classes: the last one for CTC, and for KL divergence of sequences."""
    spec = flow.facts[loss].spec(expected.port) if loss in flow.facts else None
    key = flow.graph.types[loss].key
    return 2 if key == "nn.CTCLoss" else -1 if key == "nn.KLDivLoss" and spec is not None and spec.ndim != 2 else 1


def _divergence_target(flow: Dataflow, loss: str) -> Problem | None:
    """The target of a KL divergence in logarithms where it expects probabilities, and the reverse."""
    end = flow.graph.source(loss, "target")
    if flow.graph.types[loss].key != "nn.KLDivLoss" or end is None or loss not in flow.facts:
        return None
    kind, is_log = kind_of(flow, end), bool(flow.facts[loss].arguments.values.get("log_target"))
    before = values_at(flow.graph, loss, "target")[-1].node
    if kind is None or kind.noun == ("log-probabilities" if is_log else "probabilities"):
        return None
    expected = "log-probabilities" if is_log else "probabilities"
    code = "no-log-probabilities" if is_log else "no-probabilities"
    start = f"{loss}.target expects {expected} but {before} outputs"
    if kind.noun in ("log-probabilities", "probabilities"):
        fix = quick_fixes.assign(loss, "log_target", not is_log)
        message = f"{start} {kind.noun}. {fix.title} at {loss}."
        return Problem("warning", code, message, node=loss, port="target", fix=fix)
    if kind != SCORES:
        return None
    key = LOG_SOFTMAX if is_log else "nn.Softmax"
    node = Node(key, {"dim": _class_dim(flow, loss, SCORE_INPUTS["nn.KLDivLoss"])})
    title = f"Insert {_class(key)} before {loss}.target"
    fix = quick_fixes.insert(Endpoint(loss, "target"), node, title=title)
    return Problem("warning", code, f"{start} unbounded scores. {title}.", node=loss, port="target", fix=fix)


# -- activations ------------------------------------------------------------------------------


def _stacked(flow: Dataflow, name: str) -> Iterator[Problem]:
    """An activation that makes probabilities of values that are not scores."""
    graph = flow.graph
    path = values_at(graph, name, graph.types[name].inputs[0].name)
    key, formula = str(activation_key(flow, name)), activation_of_formula(flow, name)
    if not path or (formula is not None and not formula.is_whole):
        return
    before = path[-1].node
    inner, kind = activation_key(flow, before), kind_of(flow, path[-1])
    if inner is None or kind is None or ({key, inner} == {"nn.Softmax", LOG_SOFTMAX} and inner == LOG_SOFTMAX):
        return  # softmax of log-softmax gives the probabilities of its input
    is_shared = key in OVER_CLASSES and not _is_result(flow, name)
    target = Endpoint(name, graph.types[name].inputs[0].name)
    if inner in SQUASHING:
        fix, remedy = remove_activations(flow, [before], target)
        if key == inner == LOG_SOFTMAX:
            message = f"{before} has no effect before {name}. {remedy}."
            yield Problem("hint", "squashed-scores", message, node=before, fix=fix)
            return
        message = (
            f"{name} applies {SQUASHING[key]} to the output of {before}, which already applies {SQUASHING[inner]}, so "
            f"gradients become small and training is slow. {remedy}."
        )
        yield Problem("warning", "squashed-scores", message, node=before, fix=fix)
    elif not is_shared and (kind.low == 0 or (kind.low < 0 and kind.high - kind.low <= NARROW)):
        fix, remedy = remove_activations(flow, [before], target)
        message = f"{before} outputs values {kind.range}, so {name} {_lost(key, kind)}. {remedy}."
        code = "relu-on-scores" if kind.low == 0 else "bounded-scores"
        yield Problem("warning", code, message, node=before, fix=fix)


def _is_result(flow: Dataflow, name: str) -> bool:
    """Whether the output of an activation is that of the network, instead of weights such as those of attention."""
    readers = value_readers(flow.graph, Endpoint(name, flow.graph.types[name].outputs[0].name))
    return all(flow.graph.types[reader.node].role in (Role.LOSS, Role.METRIC) for reader in readers)


def _lost(key: str, kind: ValueKind) -> str:
    """What an activation cannot do with values of a kind, in words."""
    if key in OVER_CLASSES:
        return "gets no negative scores" if kind.low == 0 else "cannot output probabilities near 0 and 1"
    return "cannot output probabilities below 0.5" if kind.low == 0 else "cannot output probabilities near 0 and 1"


def _dropped_scores(flow: Dataflow, loss: str) -> Problem | None:
    """Dropout right before a loss."""
    graph = flow.graph
    names = [end.node for end in values_at(graph, loss, "input")]
    dropout = next((name for name in names if graph.types[name].group == "Dropout"), None)
    if dropout is None:
        return None
    message = (
        f"{dropout} applies dropout to the scores right before {loss}, which only adds noise to the loss. "
        f"Remove {dropout}."
    )
    fix = quick_fixes.bypass(dropout, graph.types[dropout].inputs[0].name)
    return Problem("warning", "dropout-on-scores", message, node=dropout, fix=fix)


def _class(key: str) -> str:
    return key.rpartition(".")[2]


__all__ = ["activations_before", "score_problems"]
