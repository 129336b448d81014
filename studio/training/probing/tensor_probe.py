"""Values and gradients of wires and parameters on one batch, as arrays."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

import engine
from studio.document.model import Endpoint
from studio.document.weight_sharing import layer_of
from studio.lowering.report import Report
from studio.nodes.types import Role
from studio.training.failures import error_message
from studio.training.probing.graph_losses import graph_losses
from studio.training.probing.node_probe import COMPUTED, NodeProbe, ProbeError
from studio.training.probing.probe_target import ProbeTarget

NO_LOSS = "The graph has no loss, so there are no gradients. Add a loss node."
UNREACHED = "No loss depends on this tensor, so it has no gradient."


@dataclass(frozen=True, slots=True)
class ProbedTensor:
    """A tensor, or why there is none."""

    target: ProbeTarget
    array: NDArray[Any] | None = None
    """Its elements; those of half precision as float32."""
    dtype: str = ""
    loss: str = ""
    """For a gradient: the losses that it is of, such as "cross_entropy"."""
    problem: str = ""
    has_batch: bool = False
    """Whether the first dimension is that of the samples of the batch."""


@dataclass(frozen=True, slots=True)
class BatchLabels:
    """The class of each sample of a batch."""

    numbers: NDArray[np.int64]
    names: tuple[str, ...] = ()
    """Names of the classes by number; empty if they have none."""


@dataclass(slots=True)
class ProbedBatch:
    """All tensors of one computation."""

    tensors: dict[ProbeTarget, ProbedTensor] = field(default_factory=dict["ProbeTarget", ProbedTensor])
    labels: BatchLabels | None = None


def probe_tensors(
    report: Report,
    probe: NodeProbe,
    targets: Collection[ProbeTarget],
    is_cancelled: Callable[[], bool] = lambda: False,
) -> ProbedBatch:
    """Compute tensors on the first training batch, in training mode.

    All nodes of a run before the last target are computed, so that random numbers, as of dropout, are those of the
    training program. A target that cannot be computed has a problem. If cancelled, targets are missing.
    """
    return _TensorProbe(report, probe, targets).compute(is_cancelled)


class _TensorProbe:
    def __init__(self, report: Report, probe: NodeProbe, targets: Collection[ProbeTarget]) -> None:
        self._flow, self._probe, self._targets = report.checked, probe, targets
        self._trained = report.trained
        self._losses = graph_losses(report.checked)
        self._batch = ProbedBatch()
        self._gradients: dict[ProbeTarget, Any] = {}
        self._parameters: dict[ProbeTarget, Any] = {}
        self._has_batch: dict[ProbeTarget, bool] = {}
        self._size = 0
        """Samples of the batch."""

    def compute(self, is_cancelled: Callable[[], bool]) -> ProbedBatch:
        self._find_parameters()
        outputs = [each for each in self._targets if each.kind == "output"]
        ends = {each.node for each in outputs if each.node in self._flow.facts}
        for each in outputs:
            if each.node not in ends:
                self._fail(each, f"{each.node} is not part of the graph that is computed.")
        needs_losses = any(each.is_gradient for each in self._targets if each not in self._batch.tensors)
        if needs_losses and not self._losses:
            for each in self._targets:
                if each.is_gradient:
                    self._fail(each, NO_LOSS)
            needs_losses = False
        losses: dict[Endpoint, Any] = {}
        if ends or needs_losses:
            wanted = {*ends, *(end.node for end in self._losses.values())} if needs_losses else ends
            self._run(sorted(wanted), losses, gradients=needs_losses, is_cancelled=is_cancelled)
        if needs_losses and not is_cancelled():
            self._differentiate(losses)
        return self._batch

    # -- parameters

    def _find_parameters(self) -> None:
        for target in self._targets:
            if target.kind != "parameter":
                continue
            try:
                if target.node not in self._flow.facts:
                    raise ProbeError(f"{target.node} is not part of the graph.")
                found = dict(self._probe.layer(target.node).named_parameters()).get(target.name)
            except ProbeError as error:
                self._fail(target, str(error))
                continue
            if found is None:
                self._fail(target, f"{target.node} has no parameter {target.name}.")
            elif not target.is_gradient:
                self._add(target, found)
            elif not found.requires_grad:
                self._fail(target, f"{target.node} is frozen, so its parameters have no gradient.")
            else:
                self._parameters[target] = found

    # -- outputs

    def _run(
        self, ends: list[str], losses: dict[Endpoint, Any], *, gradients: bool, is_cancelled: Callable[[], bool]
    ) -> None:
        """Compute the nodes, and add the values of the targets."""
        wanted: dict[Endpoint, list[ProbeTarget]] = {}
        for target in self._targets:
            if target.kind == "output" and target not in self._batch.tensors:
                wanted.setdefault(target.end, []).append(target)
        loss_ends = set(self._losses.values())
        try:
            for name, outputs, _ in self._probe.run(ends, self._before(ends), gradients=gradients):
                if is_cancelled():
                    return
                is_loader = self._probe.role(name) is Role.LOADER
                if is_loader:
                    self._read_labels(name, outputs)
                for port, value in outputs.items():
                    end = Endpoint(name, port)
                    if gradients and end in loss_ends:
                        losses[end] = value
                    for target in wanted.pop(end, ()):
                        self._watch(target, value) if target.is_gradient else self._add(target, value)
            for target in (target for missing in wanted.values() for target in missing):
                self._fail(target, f"{target.key} has no tensor in this step.")
        except ProbeError as error:
            self._fail_rest(str(error))
        except MemoryError:
            self._fail_rest("There is not enough memory for a batch.")

    def _before(self, ends: list[str]) -> set[str]:
        """The nodes that a run computes before the last of these."""
        order = self._flow.graph.order
        last = max(order.index(end) for end in ends)
        needed = self._probe.needed
        return {name for name in order[:last] if name in needed and self._probe.role(name) in COMPUTED}

    def _read_labels(self, loader: str, outputs: Mapping[str, Any]) -> None:
        """Take the targets of the batch as labels if they are classes."""
        sizes = {value.shape[0] for value in outputs.values() if value.ndim}
        self._size = self._size or max(sizes, default=0)
        if self._batch.labels is None:
            found = next((v for v in outputs.values() if v.ndim == 1 and not v.dtype.is_floating_point), None)
            if found is not None:
                numbers = np.asarray(found.detach().cpu().numpy()).astype(np.int64)
                self._batch.labels = BatchLabels(numbers, self._probe.class_names(loader))

    def _watch(self, target: ProbeTarget, value: Any) -> None:
        """Collect the gradient of an output in backward passes."""
        if not value.dtype.is_floating_point:
            self._fail(target, f"The values of {target.key} are {value.dtype.name}, so they have no gradient.")
            return
        if not value.requires_grad:
            value.requires_grad_(True)  # as of images: no parameter is before it
        self._has_batch[target] = self._is_of_batch(value)

        def collect(gradient: Any) -> None:
            with engine.no_grad():
                earlier = self._gradients.get(target)
                self._gradients[target] = gradient.detach().clone() if earlier is None else earlier + gradient

        value.register_hook(collect)

    # -- gradients

    def _differentiate(self, losses: Mapping[Endpoint, Any]) -> None:
        """Backward from each loss. Wires get the sum, parameters the gradient of the optimizer that trains them."""
        differentiable = {end: loss for end, loss in losses.items() if loss.requires_grad}
        named = " + ".join(dict.fromkeys(end.node for end in differentiable))
        nodes = self._flow.document.nodes
        try:
            for number, (end, loss) in enumerate(differentiable.items(), start=1):
                for parameter in self._parameters.values():
                    parameter.grad = None
                loss.backward(retain_graph=number < len(differentiable))
                trained = {
                    name for optimizer, own in self._losses.items() if own == end for name in self._layers(optimizer)
                }
                for target, parameter in self._parameters.items():
                    if layer_of(nodes, target.node) in trained and parameter.grad is not None:
                        self._add(target, parameter.grad, loss=end.node)
        except Exception as error:  # noqa: BLE001 - shown at the probe
            self._fail_rest(f"The backward pass failed: {error_message(error)}")
            return
        for target, gradient in self._gradients.items():
            self._add(target, gradient, loss=named, has_batch=self._has_batch[target])
        for target in self._targets:
            if target.is_gradient and target not in self._batch.tensors:
                is_trained = any(layer_of(nodes, target.node) in self._layers(name) for name in self._losses)
                is_left_out = target.kind == "parameter" and not is_trained
                self._fail(target, f"No optimizer trains {target.node}." if is_left_out else UNREACHED)

    def _layers(self, optimizer: str) -> Collection[str]:
        """The layers whose parameters get the gradient of a loss: all if there is no optimizer."""
        nodes = self._flow.document.nodes
        trained = self._trained.get(optimizer) if optimizer in self._flow.graph.optimized else tuple(self._flow.facts)
        return {layer_of(nodes, name) for name in trained or ()}

    # -- results

    def _add(self, target: ProbeTarget, value: Any, loss: str = "", *, has_batch: bool | None = None) -> None:
        of_batch = self._is_of_batch(value) and target.kind == "output" if has_batch is None else has_batch
        self._batch.tensors[target] = ProbedTensor(
            target, array_of(value), str(value.dtype.name), loss, has_batch=of_batch
        )

    def _is_of_batch(self, value: Any) -> bool:
        return bool(value.ndim and self._size and value.shape[0] == self._size)

    def _fail(self, target: ProbeTarget, problem: str) -> None:
        self._batch.tensors[target] = ProbedTensor(target, problem=problem)

    def _fail_rest(self, problem: str) -> None:
        for target in self._targets:
            if target not in self._batch.tensors:
                self._fail(target, problem)


def array_of(tensor: Any) -> NDArray[Any]:
    """A copy of the elements of a tensor, in float32 if they have half precision."""
    is_half = tensor.dtype.is_floating_point and tensor.dtype.itemsize < 4
    return np.array((tensor.detach().float() if is_half else tensor.detach()).cpu().numpy())


__all__ = ["NO_LOSS", "UNREACHED", "BatchLabels", "ProbedBatch", "ProbedTensor", "array_of", "probe_tensors"]
