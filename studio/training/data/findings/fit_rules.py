"""Parameters that were computed from other samples than those of the training, by the records in the project file."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any, Literal

import numpy as np

from engine.data.splits import Splits, training_batches
from studio.document.fit_records import applies, with_record
from studio.document.model import FitRecord, Json, Node
from studio.lowering.analysis.data_nodes import apply_data_node
from studio.lowering.analysis.input_scale import to_json_value
from studio.lowering.problems import quick_fixes
from studio.lowering.problems.problem import Fix, Problem
from studio.nodes.types import Role
from studio.training.data.data_chain import Chain, ChainLink
from studio.training.data.findings.data_context import DataContext
from studio.training.data.findings.sample_reading import measured
from studio.training.data.fit_provenance import nodes_digest, part_of, record_of, samples_digest
from studio.training.data.transform_fitting import can_fit

_CLOSE = 1e-3
"""Relative difference up to which computed values are the same."""
_MOST_SAMPLES = 200_000
"""Number of samples up to which parameters are computed again for a fix."""
LABELS = frozenset({"transforms.OneHot", "transforms.LabelEncode"})
"""Transforms that list the labels that occur. A label that is not listed is an error, and others do not matter."""


def fit_problems(data: DataContext) -> Iterator[Problem]:
    for index, link in enumerate(data.preview.chain):
        node = recorded_node(data, link)
        if node is None or node.fitted is None:
            continue
        if link.key in LABELS:
            continue
        reason = _change(data, index, node.fitted)
        if reason:
            yield from _stale(data, index, node, reason)
        elif _includes_validation(data, index, node.fitted):
            yield from _of_all(data, index, node, node.fitted)


def recorded_node(data: DataContext, link: ChainLink) -> Node | None:
    """The node of a transform if its parameters were computed from data and are unchanged."""
    node = None if data.flow is None else data.flow.document.nodes.get(link.name)
    return node if node is not None and can_fit(link.type) and applies(node) else None


# -- other samples -----------------------------------------------------------------------------


def _change(data: DataContext, index: int, record: FitRecord) -> str:
    """What has changed since the parameters were computed; empty if nothing has."""
    chain, source = data.preview.chain, data.preview.splits[0]
    assert data.flow is not None
    on = str(chain[index].values.get("on", "inputs"))
    if nodes_digest(data.flow.document, chain[:index], on) != record.nodes:
        before = " or ".join([chain[0].name, *(["a transform before it"] if index > 1 else [])])
        return f"{before} has changed since"
    found = measured(data.preview, ("digest", on), lambda: samples_digest(source, on))
    return (
        f"the samples of {chain[0].name} have changed since" if record.data and found and found != record.data else ""
    )


def _stale(data: DataContext, index: int, node: Node, reason: str) -> Iterator[Problem]:
    link = data.preview.chain[index]
    found = _computed(data, index, data.preview.splits[index - 1])
    if found is not None and _are_close(found, node.params):
        return
    names = " and ".join(node.fitted.params) if node.fitted is not None else ""
    message = f"{names} of {link.name} were computed from data, and {reason}. Compute them again."
    fix = None if found is None else _fix(data, index, found, data.preview.splits[index - 1])
    evidence = {} if found is None else {"now": found, "set": {name: node.params.get(name) for name in found}}
    yield Problem("warning", "stale-statistics", message, node=link.name, fix=fix, evidence=evidence)


# -- validation samples ------------------------------------------------------------------------


def _includes_validation(data: DataContext, index: int, record: FitRecord) -> bool:
    """Whether samples that parameters were computed from are validation samples at the loader."""
    following = data.preview.chain[index + 1 :]
    is_split = any(link.type.role is Role.DIVISION for link in following)
    return record.part == "all" and is_split and data.validation is not None


def _of_all(data: DataContext, index: int, node: Node, record: FitRecord) -> Iterator[Problem]:
    chain = data.preview.chain
    division = next(link for link in chain[index + 1 :] if link.type.role is Role.DIVISION)
    names = " and ".join(record.params)
    message = (
        f"{names} of {chain[index].name} were computed from all {record.samples:,} samples, and {division.name} keeps "
        "some of them for validation, so validation samples influence training. Compute them from the training samples."
    )
    samples = measured(data.preview, ("divided", index), lambda: _divided(chain, index, data.preview.splits[index - 1]))
    found = _computed(data, index, samples)
    fix = None if found is None else _fix(data, index, found, samples, part="training")
    evidence = {"samples": record.samples, "set": {name: node.params.get(name) for name in record.params}}
    yield Problem("warning", "fitted-to-validation", message, node=chain[index].name, fix=fix, evidence=evidence)


def _divided(chain: Chain, index: int, before: Splits) -> Splits:
    """The samples before a transform, divided as after it."""
    for link in chain[index + 1 :]:
        if link.type.role is Role.DIVISION:
            before = apply_data_node(link.type, link.values, before)
    return before


# -- computing again ---------------------------------------------------------------------------


def _computed(data: DataContext, index: int, samples: Splits) -> dict[str, Json] | None:
    """The parameters computed from training samples; None if there are too many of them."""
    if samples.is_stream or data.preview.splits[0].total_rows is not None or len(samples.train) > _MOST_SAMPLES:
        return None
    link = data.preview.chain[index]
    target: Any = link.type.target
    options = {name: link.values[name] for name in target.options if name in link.values}
    on: Literal["inputs", "targets"] = "targets" if link.values.get("on") == "targets" else "inputs"

    def compute() -> dict[str, Json]:
        found = target.fitted(training_batches(samples.train, on), **options)
        return {name: to_json_value(value) for name, value in found.items()}

    return measured(data.preview, ("fitted", index, id(samples)), compute)


def _fix(
    data: DataContext,
    index: int,
    params: Mapping[str, Json],
    samples: Splits,
    part: Literal["training", "all"] | None = None,
) -> Fix:
    link, count = data.preview.chain[index], len(samples.train)
    on = str(link.values.get("on", "inputs"))
    record = record_before(data, index, params, on=on, samples=count, part=part or part_of(samples))
    title = f"Compute {' and '.join(sorted(params))} of {link.name} from {count:,} training samples"
    return recorded(quick_fixes.assign_all({link.name: params}, title), link.name, record)


def record_before(
    data: DataContext,
    index: int,
    params: Mapping[str, Json],
    *,
    on: str,
    samples: int,
    part: Literal["training", "all"] | None = None,
) -> FitRecord | None:
    """The record of parameters that were computed from the samples before a link; None if the graph is unknown."""
    if data.flow is None:
        return None
    before, splits = data.preview.chain[:index], data.preview.splits
    chosen = part or part_of(splits[index - 1])
    return record_of(data.flow.document, before, splits[0], params, on=on, samples=samples, part=chosen)


def recorded(fix: Fix, name: str, record: FitRecord | None) -> Fix:
    """A fix that also records what the parameters that it sets were computed from."""
    if record is None:
        return fix
    return replace(fix, edit=lambda document: with_record(fix.edit(document), name, record))


def _are_close(found: Mapping[str, Json], given: Mapping[str, Json]) -> bool:
    """Whether computed values are those that are set."""
    for name, value in found.items():
        new, old = np.atleast_1d(np.asarray(value)), np.atleast_1d(np.asarray(given.get(name)))
        if new.shape != old.shape:
            return False
        is_number = new.dtype.kind in "iuf" and old.dtype.kind in "iuf"
        if not (np.allclose(new, old, rtol=_CLOSE, atol=1e-9) if is_number else bool((new == old).all())):
            return False
    return True


__all__ = ["fit_problems", "record_before", "recorded", "recorded_node"]
