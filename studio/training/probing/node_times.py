"""Measured times of nodes: forward and backward of each node alone, in several passes over the graph."""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import engine
from engine import cuda
from studio.training.probing.node_probe import COMPUTED, Computation, NodeProbe

PASSES = 5
"""Passes over the graph. The first one is not counted: it allocates memory and loads code."""


@dataclass(frozen=True, slots=True)
class NodeTime:
    """Seconds for a batch: the fastest passes, which other load of the machine disturbs least."""

    forward: float
    backward: float

    @property
    def total(self) -> float:
        return self.forward + self.backward


@dataclass(frozen=True, slots=True)
class NodeTimes:
    """Times by path, of nodes and of the instances that they are in."""

    times: Mapping[str, NodeTime]
    device: str


@dataclass(frozen=True, slots=True)
class Measuring:
    """A node was measured."""

    share: float
    """Share of the work that is done, from 0 to 1."""


def measure_times(probe: NodeProbe) -> Iterator[Measuring | NodeTimes]:
    """Measure the nodes that a run uses, or all connected ones. Raises ProbeError.

    Yields:
        Progress after each node, and the times at the end.
    """
    ends = sorted(name for name in probe.needed if probe.role(name) in COMPUTED)
    steps = max(len(probe.order(ends)) * PASSES, 1)
    samples: defaultdict[str, list[tuple[float, float]]] = defaultdict(list)
    done = 0
    for number in range(PASSES):
        trained: set[str] = set()
        for name, _, computation in probe.run(ends):
            done += 1
            if computation is not None:
                measured = _measure(probe, computation, trained)
                if number:
                    samples[name].append(measured)
            yield Measuring(min(done / steps, 1.0))
    single = {
        name: NodeTime(min(each[0] for each in found), min(each[1] for each in found))
        for name, found in samples.items()
    }
    yield NodeTimes(with_instances(single), str(probe.device))


def with_instances(times: Mapping[str, NodeTime]) -> dict[str, NodeTime]:
    """The times with those of instances, which are the sums of their nodes."""
    sums: defaultdict[str, list[NodeTime]] = defaultdict(list)
    for path, each in times.items():
        outer = path.rpartition(".")[0]
        while outer:
            sums[outer].append(each)
            outer = outer.rpartition(".")[0]
    added = {
        path: NodeTime(sum(each.forward for each in found), sum(each.backward for each in found))
        for path, found in sums.items()
    }
    return {**times, **added}


def _measure(probe: NodeProbe, computation: Computation, trained: set[str]) -> tuple[float, float]:
    """Seconds of the forward and the backward pass of one node.

    Args:
        trained: nodes whose outputs have a gradient; the node is added if its output has one
    """
    sources = probe.sources(computation.path)
    inputs = {port: _leaf(value, requires_grad=sources[port] in trained) for port, value in computation.inputs.items()}
    with probe.precision():
        _synchronize(probe)
        start = time.perf_counter()
        outputs = computation(inputs)
        _synchronize(probe)
        forward = time.perf_counter() - start
    results = [each for each in outputs if isinstance(each, engine.Tensor) and each.requires_grad]
    gradients = [engine.ones_like(each) for each in results]
    if results:
        trained.add(computation.path)
    _synchronize(probe)
    start = time.perf_counter()
    for index, (result, gradient) in enumerate(zip(results, gradients, strict=True), start=1):
        result.backward(gradient, retain_graph=index < len(results))
    _synchronize(probe)
    return forward, time.perf_counter() - start if results else 0.0


def _leaf(value: Any, *, requires_grad: bool) -> Any:
    """A copy that gets a gradient, if training would compute it; a copy, because layers may change it in place."""
    leaf = value.detach()
    if not (requires_grad and leaf.dtype.is_floating_point):
        return leaf.clone()
    leaf.requires_grad_(True)
    return leaf.clone()


def _synchronize(probe: NodeProbe) -> None:
    if probe.device.type == "cuda":
        cuda.synchronize()


__all__ = ["Measuring", "NodeTime", "NodeTimes", "measure_times", "with_instances"]
