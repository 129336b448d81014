"""Batch normalization with too few values, and biases that it cancels."""

from __future__ import annotations

from collections.abc import Iterator

from engine.shape import Spec
from studio.document.model import Endpoint
from studio.lowering.analysis.dataflow import Dataflow
from studio.lowering.analysis.node_evaluation import SampleSpec
from studio.lowering.checks.value_paths import LINEAR_GROUPS
from studio.lowering.problems import quick_fixes
from studio.lowering.problems.problem import Problem
from studio.nodes.types import Role

BATCH_NORMS = ("nn.BatchNorm1d", "nn.BatchNorm2d", "nn.BatchNorm3d")
DEFAULT_BATCH_SIZE = 32


def normalization_problems(flow: Dataflow) -> Iterator[Problem]:
    layers = [name for name in flow.graph.with_key(BATCH_NORMS) if name in flow.facts and name in flow.graph.needed]
    for loader in flow.graph.with_role(Role.LOADER) if layers else ():
        if loader in flow.facts:
            yield from _single_values(flow, loader, layers)
    for name in layers:
        yield from _needless_bias(flow, name)


# -- values to average ------------------------------------------------------------------------


def _single_values(flow: Dataflow, loader: str, layers: list[str]) -> Iterator[Problem]:
    """Batches of one sample, also the last one of an epoch, for a layer that averages over samples only."""
    layer = next((name for name in layers if _averages_samples(flow.facts[name].spec("input"))), None)
    if layer is None or loader not in flow.graph.upstream([layer]):
        return
    values = flow.facts[loader].arguments.values
    size = values.get("batch_size")
    if not isinstance(size, int):
        return
    if size == 1:
        message = (
            f"{layer} needs several samples per batch but {loader} has batch_size 1. "
            f"Set batch_size of {loader} to {DEFAULT_BATCH_SIZE}."
        )
        fix = quick_fixes.assign(loader, "batch_size", DEFAULT_BATCH_SIZE)
        yield Problem("error", "batch-norm-single", message, node=loader, fix=fix)
        return
    count = None if values.get("drop_last") or values.get("contiguous") else _count(flow, loader)
    if count is None or count % size != 1:
        return
    message = (
        f"{layer} needs several samples per batch, but the last batch of {loader} has only one: {count:,} training "
        f"samples in batches of {size}. Turn drop_last on, or set batch_size to {size + 1}."
    )
    others = (quick_fixes.assign(loader, "batch_size", size + 1),) if count % (size + 1) != 1 else ()
    fix = quick_fixes.assign(loader, "drop_last", True).because(
        "It leaves out one sample per epoch, another if shuffled."
    )
    evidence = {"samples": count, "batch_size": size, "last_batch": 1}
    yield Problem(
        "error", "batch-norm-single", message, node=loader, fix=fix, others=others, evidence=evidence, affected=layer
    )


def _averages_samples(spec: Spec | None) -> bool:
    """Whether a channel has one value per sample: N×C, or images of one pixel."""
    return spec is not None and spec.ndim >= 2 and all(size == 1 for size in spec.shape[2:])


def _count(flow: Dataflow, loader: str) -> int | None:
    samples = next(iter(flow.facts[loader].inputs.values()), None)
    return flow.count(loader) if isinstance(samples, SampleSpec) and not samples.is_stream else None


# -- biases -----------------------------------------------------------------------------------


def _needless_bias(flow: Dataflow, name: str) -> Iterator[Problem]:
    """A bias whose effect the mean of the batch cancels."""
    end = flow.graph.source(name, flow.facts[name].type.inputs[0].name)
    layer = None if end is None else flow.facts.get(end.node)
    if end is None or layer is None or layer.type.group not in LINEAR_GROUPS:
        return
    readers = flow.graph.readers(Endpoint(end.node, end.port))
    if layer.arguments.values.get("bias") is not True or len(readers) != 1 or flow.document.nodes[end.node].shares:
        return
    message = (
        f"{name} subtracts the mean of each channel, and with it the bias of {end.node}, which has no effect. "
        f"Turn bias of {end.node} off."
    )
    fix = quick_fixes.assign(end.node, "bias", False)
    yield Problem("hint", "bias-before-norm", message, node=end.node, fix=fix)


__all__ = ["normalization_problems"]
