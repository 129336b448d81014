"""Problems with splits: empty parts, and classes that a part lacks."""

from __future__ import annotations

from collections.abc import Iterator

from studio.lowering.analysis.dataflow import Dataflow
from studio.lowering.analysis.node_evaluation import SampleSpec, SplitOutcome
from studio.lowering.analysis.node_facts import NodeFacts
from studio.lowering.problems import quick_fixes
from studio.lowering.problems.problem import Fix, Problem
from studio.nodes.types import Role

_USUAL_FOLDS = 5


def data_split_problems(flow: Dataflow) -> Iterator[Problem]:
    for name, facts in flow.facts.items():
        if name in flow.graph.muted or not facts.outputs:
            continue
        if facts.type.role is Role.DIVISION:
            found = flow.split(name)
            if found is not None:
                yield from _check_split(name, facts, found)
        elif facts.type.role is Role.LOADER and facts.arguments.values["drop_last"]:
            yield from _check_dropped_batch(flow, name, facts)


def _check_split(name: str, facts: NodeFacts, found: SplitOutcome) -> Iterator[Problem]:
    if found.failure:
        fix: Fix | None = None
        if facts.arguments.values.get("stratify"):
            fix = quick_fixes.assign(name, "stratify", value=False)
        elif 2 <= found.samples < facts.arguments.values.get("folds", 0):
            fix = quick_fixes.assign(name, "folds", min(found.samples, _USUAL_FOLDS))
        yield Problem("error", "bad-division", f"{name}: {found.failure}", node=name, fix=fix)
    elif "folds" in facts.arguments.values:
        yield from _check_folds(name, facts.arguments.values["folds"], found)
    elif facts.arguments.values.get("validation"):
        yield from _check_class_coverage(name, found)


def _check_folds(name: str, folds: int, found: SplitOutcome) -> Iterator[Problem]:
    """Classes with fewer samples than folds."""
    rare = [(train + validation, label) for label, train, validation in found.classes if 0 < train + validation < folds]
    if not rare:
        return
    fewest, label = min(rare)
    message = (
        f"{name} makes {folds} folds but class {label} has {_samples(fewest)}{_and_more(len(rare))}, so some folds "
        "cannot measure its accuracy. Add samples, or use fewer folds."
    )
    fix = quick_fixes.assign(name, "folds", fewest) if fewest >= 2 else None
    yield Problem("warning", "rare-class", message, node=name, fix=fix)


def _check_class_coverage(name: str, found: SplitOutcome) -> Iterator[Problem]:
    """Classes that only the training or only the validation data contain."""
    single = [label for label, train, validation in found.classes if train + validation == 1]
    validation_only = [
        (label, validation) for label, train, validation in found.classes if validation > 1 and not train
    ]
    training_only = [(label, train) for label, train, validation in found.classes if train > 1 and not validation]
    fix = quick_fixes.assign(name, "stratify", value=True)
    for affected, template, effect in (
        (validation_only, "puts all {} of class {} into validation{}", "so the network cannot learn it"),
        (training_only, "puts none of the {} of class {} into validation{}", "so its accuracy is not measured"),
    ):
        if affected:
            label, count = affected[0]
            placement = template.format(_samples(count), label, _and_more(len(affected)))
            message = f"{name} {placement}, {effect}. Turn stratify on to split each class in proportion."
            yield Problem("warning", "rare-class", message, node=name, fix=fix)
    if single:
        message = (
            f"Class {single[0]} has 1 sample{_and_more(len(single))}, which {name} puts into either training "
            "or validation. Add samples."
        )
        yield Problem("warning", "rare-class", message, node=name)


def _check_dropped_batch(flow: Dataflow, name: str, facts: NodeFacts) -> Iterator[Problem]:
    """A loader that drops its only batch."""
    value = next(iter(facts.inputs.values()), None)
    samples = None if isinstance(value, SampleSpec) and value.is_stream else flow.count(name)
    size = facts.arguments.values["batch_size"]
    if samples is not None and 0 < samples < size:
        message = (
            f"{name} drops batches smaller than {size} but there are only {_samples(samples)} to train on, "
            f"so there is no batch. Set batch_size to {samples} or less, or turn drop_last off."
        )
        yield Problem("error", "no-batch", message, node=name, fix=quick_fixes.assign(name, "drop_last", value=False))


def _samples(count: int) -> str:
    return "1 sample" if count == 1 else f"{count:,} samples"


def _and_more(count: int) -> str:
    """Text about further classes with the same problem."""
    return "" if count == 1 else f", and {count - 1} more {'class is' if count == 2 else 'classes are'} like it"
