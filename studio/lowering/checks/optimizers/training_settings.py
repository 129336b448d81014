"""Training settings that do not fit the graph, its data or its length."""

from __future__ import annotations

from collections.abc import Iterator

from studio.document import edits
from studio.document.model import Document, Endpoint, Json, Node
from studio.lowering.analysis.dataflow import Dataflow
from studio.lowering.analysis.node_evaluation import SampleSpec
from studio.lowering.checks.optimizers.learning_rates import ADAPTIVE
from studio.lowering.problems import quick_fixes
from studio.lowering.problems.problem import Fix, Problem
from studio.nodes.schedule_nodes import PLATEAU
from studio.nodes.types import Role

_SMALLEST_CLIP = 1e-3
"""Bound far below the usual norms of gradients, 0.1 to 10."""
_SMALLEST_ADAPTIVE_CLIP = 1e-5
"""The same for optimizers that divide gradients by their size, where `eps` begins to dominate."""
_USUAL_CLIP = 1.0
_SHARE = "validation"
_MIN_SAMPLES = 50
"""Number of samples from which missing validation data are reported without a setting that needs them."""
_BOUNDED = frozenset(
    {"Accuracy", "TopKAccuracy", "BinaryAccuracy", "Precision", "Recall", "F1", "AUC", "R2"},
)
"""Metrics of at most 1."""
_LARGEST_CHANGE = 0.5
"""Minimum improvement of such a metric that is possible only once."""
_SCORE_LOSSES = frozenset({"nn.CrossEntropyLoss", "nn.NLLLoss", "nn.BCELoss", "nn.BCEWithLogitsLoss"})
_LARGEST_LOSS_CHANGE = 1.0


def training_setting_problems(flow: Dataflow) -> Iterator[Problem]:
    if not flow.graph.optimized:
        return
    yield from _check_validation(flow)
    yield from _check_closure(flow)
    yield from _check_accumulation(flow)
    yield from _check_clipping(flow)
    yield from _check_patience(flow)
    yield from _check_improvement(flow)


def _set(title: str, **settings: Json) -> Fix:
    """Change training settings."""

    def edit(document: Document) -> Document:
        return edits.set_training(document, **settings)

    return Fix(title, edit, tuple(f"training.{name}={value}" for name, value in settings.items() if value is not None))


# -- validation -----------------------------------------------------------------------------------


def _check_validation(flow: Dataflow) -> Iterator[Problem]:
    training = flow.document.training
    users = list(_users_of_validation(flow))
    loaders = [name for name in flow.graph.with_role(Role.LOADER) if name in flow.graph.needed]
    samples = [_samples(flow, name) for name in loaders]
    if not samples or any(each is None for each in samples):
        return
    if not users:
        return
    if not any(each is not None and each.has_validation for each in samples):
        if len(users) > 1 or (flow.count(loaders[0]) or 0) >= _MIN_SAMPLES:
            yield _no_validation(flow, loaders[0], users)
    elif training.validate_epochs == 0 and training.validate_steps is None:
        message = f"The run never validates, but {_listed(users)}. Set validate_epochs to 1."
        fix = _set("Validate every epoch", validate_epochs=1)
        yield Problem("warning", "never-validated", message, fix=fix, evidence={"validate_epochs": 0})


def _users_of_validation(flow: Dataflow) -> Iterator[str]:
    """What depends on validation, as clauses."""
    training = flow.document.training
    for name in flow.graph.with_role(Role.SCHEDULER):
        if flow.graph.types[name].key == PLATEAU and flow.graph.driven_by(name) in flow.graph.optimized:
            yield f"{name} lowers the learning rate by the validation loss"
    if training.follow.startswith("val_"):
        if training.patience is not None:
            yield f"early stopping waits for a better {training.follow}"
        yield f"the best weights are selected by {training.follow}"


def _samples(flow: Dataflow, loader: str) -> SampleSpec | None:
    facts = flow.facts.get(loader)
    value = None if facts is None else next(iter(facts.inputs.values()), None)
    return value if isinstance(value, SampleSpec) else None


def _no_validation(flow: Dataflow, loader: str, users: list[str]) -> Problem:
    """A problem of the node that could hold samples out."""
    source, fix = _hold_out(flow, loader)
    used = users[0].replace("validation loss", "training loss").replace("val_", "train_")
    message = f"{source} has no validation samples, so {used}, which overfitting improves. {fix.title}."
    return Problem("warning" if len(users) > 1 else "hint", "no-validation", message, node=source, fix=fix)


def _hold_out(flow: Dataflow, loader: str) -> tuple[str, Fix]:
    """The nearest data node before a loader with a share of validation, and the edit that sets it."""
    name, before = loader, flow.graph.source(loader, flow.graph.types[loader].inputs[0].name)
    while before is not None:
        name = before.node
        if flow.graph.types[name].param(_SHARE) is not None:
            return name, quick_fixes.assign(name, _SHARE, 0.2)
        inputs = flow.graph.types[name].inputs
        before = flow.graph.source(name, inputs[0].name) if inputs else None
    end = Endpoint(loader, flow.graph.types[loader].inputs[0].name)
    title = "Hold out 20% of the samples"
    return name, quick_fixes.insert(end, Node("data.HoldOut"), title=title, input_port="samples", output_port="samples")


def _listed(clauses: list[str]) -> str:
    return clauses[0] if len(clauses) == 1 else f"{', '.join(clauses[:-1])}, and {clauses[-1]}"


# -- steps ----------------------------------------------------------------------------------------


def _check_closure(flow: Dataflow) -> Iterator[Problem]:
    """LBFGS evaluates the loss of one batch several times."""
    training = flow.document.training
    name = next((name for name in flow.graph.optimized if flow.graph.types[name].key == "optim.LBFGS"), None)
    if name is None:
        return
    if training.accumulate > 1:
        message = (
            f"{name} evaluates the loss of a batch several times, so it cannot accumulate gradients of "
            f"{training.accumulate} batches. Set accumulate to 1."
        )
        fix = _set("Set accumulate to 1", accumulate=1)
        yield Problem("error", "single-evaluation", message, node=name, fix=fix)
    if training.mixed_precision == "float16":
        message = (
            f"{name} evaluates the loss of a batch several times, so it cannot scale the loss for float16. "
            "Set mixed_precision to bfloat16."
        )
        fix = _set("Set mixed_precision to bfloat16", mixed_precision="bfloat16")
        yield Problem("error", "single-evaluation", message, node=name, fix=fix)


def _check_accumulation(flow: Dataflow) -> Iterator[Problem]:
    accumulate = flow.document.training.accumulate
    batches = flow.length().batches if accumulate > 1 else None
    if batches is None or accumulate <= batches:
        return
    better = max(batches // 10, 1)
    count = "1 batch" if batches == 1 else f"{batches:,} batches"
    message = (
        f"The run accumulates the gradients of {accumulate:,} batches but an epoch has only {count}, so it makes one "
        f"optimizer step per epoch. Set accumulate to {better}."
    )
    fix = _set(f"Set accumulate to {better}", accumulate=better)
    evidence = {"accumulate": accumulate, "batches": batches}
    yield Problem("warning", "accumulates-epoch", message, fix=fix, evidence=evidence)


def _check_clipping(flow: Dataflow) -> Iterator[Problem]:
    training = flow.document.training
    is_adaptive = all(flow.graph.types[name].group == ADAPTIVE for name in flow.graph.optimized)
    smallest = _SMALLEST_ADAPTIVE_CLIP if is_adaptive else _SMALLEST_CLIP
    for param, bound in (("clip_norm", training.clip_norm), ("clip_value", training.clip_value)):
        if bound is None or bound > _SMALLEST_CLIP:
            continue
        severity = "warning" if bound <= smallest else "hint"
        effect = "so almost nothing is left of them" if severity == "warning" else "so all batches count the same"
        message = (
            f"{param} {bound:g} is far below usual gradients, which have norms of 0.1 to 10, {effect}. "
            f"Set {param} to {_USUAL_CLIP:g}."
        )
        fix = _set(f"Set {param} to {_USUAL_CLIP:g}", **{param: _USUAL_CLIP})
        yield Problem(severity, "clips-to-nothing", message, fix=fix, evidence={param: bound})


# -- early stopping -------------------------------------------------------------------------------


def _check_patience(flow: Dataflow) -> Iterator[Problem]:
    training = flow.document.training
    if training.patience is None or training.validate_epochs == 0 or training.validate_steps is not None:
        return
    if training.steps is not None:
        return
    validations = -(-training.epochs // training.validate_epochs)
    if training.patience < validations:
        return
    better = max(validations // 5, 1)
    count = "1 validation" if validations == 1 else f"{validations} validations"
    message = (
        f"Early stopping waits for {training.patience} validations without improvement but the run has only {count}, "
        f"so it never stops early. Set patience to {better}."
    )
    fix = _set(f"Set patience to {better}" if better < validations else "Turn early stopping off", patience=better)
    if better >= validations:
        fix = _set("Turn early stopping off", patience=None)
    evidence = {"patience": training.patience, "validations": validations}
    yield Problem("hint", "patience-unused", message, fix=fix, evidence=evidence)


def _check_improvement(flow: Dataflow) -> Iterator[Problem]:
    """Early stopping on a metric that cannot improve often enough, or at all."""
    training = flow.document.training
    name = training.follow.partition("_")[2]
    is_metric = name in flow.graph.types and flow.graph.types[name].role is Role.METRIC
    if is_metric and not _depends_on_training(flow, name):
        message = (
            f"The best weights are selected by {training.follow}, but {name} does not depend on any trained layer, so "
            "it cannot improve. Select them by val_loss."
        )
        yield Problem("warning", "cannot-improve", message, node=name, fix=quick_fixes.follow("val_loss"))
        return
    if training.patience is None:
        return
    is_bounded = is_metric and flow.graph.types[name].key.rpartition(".")[2] in _BOUNDED
    losses = [flow.graph.types[loss].key for loss in flow.graph.with_role(Role.LOSS)]
    is_score_loss = name == "loss" and bool(losses) and all(key in _SCORE_LOSSES for key in losses)
    limit = _LARGEST_CHANGE if is_bounded else _LARGEST_LOSS_CHANGE if is_score_loss else None
    if limit is not None and training.min_change >= limit:
        message = (
            f"Early stopping counts only improvements of {training.follow} by {training.min_change:g}, which are "
            "hardly possible, so it stops too early. Set min_change to 0."
        )
        fix = _set("Set min_change to 0", min_change=0.0)
        yield Problem("warning", "cannot-improve", message, fix=fix, evidence={"min_change": training.min_change})


def _depends_on_training(flow: Dataflow, metric: str) -> bool:
    nodes = flow.document.nodes
    return any(
        facts.info.parameters and not nodes[name].frozen
        for name in flow.graph.upstream([metric])
        if (facts := flow.facts.get(name)) is not None
    )


__all__ = ["training_setting_problems"]
