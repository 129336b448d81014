"""Verifies a recording: each node is computed again from its recorded inputs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

import engine
from engine import fit, random
from engine.amp import autocast
from engine.dtypes import BY_NAME
from engine.nn.layers.carried_state import CarriedState
from engine.nn.module import Module
from studio.document.model import Endpoint, Node
from studio.document.weight_sharing import layer_of
from studio.training.stepping.step_recorder import NodeCall
from studio.training.stepping.step_recording import NodeStep
from studio.training.stepping.step_values import StepValue


class NodeReplay:
    """Computes nodes of a recording again, alone.

    Args:
        task: the recorded task, with the weights from before the step
        calls: the calls of the forward pass
        nodes: the nodes of the flat graph
    """

    def __init__(
        self,
        task: fit.Task,
        calls: list[NodeCall],
        nodes: Mapping[str, Node],
    ) -> None:
        self._nodes = nodes
        self._task = task
        self._calls = {call.path: call for call in calls}
        self._parameters = dict(task.model.named_parameters())
        self._buffers = [
            (buffer, buffer.detach().clone()) for module in task.modules.values() for buffer in module.buffers()
        ]

    def differences(self, steps: tuple[NodeStep, ...]) -> Iterator[tuple[int, float]]:
        """The largest difference of each step that can be computed again, by number."""
        for step in steps:
            if step.direction == "forward" and (difference := self._forward_difference(step)) is not None:
                yield step.number, difference
        for optimizer in dict.fromkeys(step.optimizer for step in steps if step.direction == "backward"):
            chosen = [step for step in steps if step.direction == "backward" and step.optimizer == optimizer]
            yield from self._backward_differences(chosen)

    def gradients(self, step: NodeStep) -> dict[Endpoint | str, Any] | None:
        """The gradients that one node contributes to the outputs that it reads, and to parameters by their names.

        None if they cannot be computed.
        """
        call = self._calls.get(step.path)
        arguments = None if call is None else _tensors(call.arguments)
        if call is None or arguments is None or not all(value.is_kept for value in step.inputs):
            return None
        # As in the recorded pass: a layer may compute gradients differently if its input needs none.
        wired = {value.end for value in step.outputs if value.end is not None}
        leaves = {
            name: _leaf(tensor, requires_grad=getattr(call.arguments[name], "end", None) in wired)
            for name, tensor in arguments.items()
        }
        # Copies, because layers may change their input in place.
        copies = {name: leaf.clone() if isinstance(leaf, engine.Tensor) else leaf for name, leaf in leaves.items()}
        outputs = {value.end: tensor for value, tensor in zip(call.outputs, self._outputs(call, copies), strict=True)}
        roots = [(outputs[value.end], value.tensor) for value in step.inputs if value.end in outputs]
        roots = [(tensor, gradient) for tensor, gradient in roots if tensor.requires_grad]
        wanted: list[tuple[Endpoint | str, Any]] = [
            (argument.end, leaves[name])
            for name, argument in call.arguments.items()
            if isinstance(argument, StepValue) and argument.end is not None and _is_differentiable(leaves[name])
        ]
        prefix = f"{layer_of(self._nodes, step.path)}."
        wanted += [
            (f"{name}.grad", parameter)
            for name, parameter in self._parameters.items()
            if name.startswith(prefix) and parameter.requires_grad
        ]
        if not roots or not wanted:
            return {}
        found = engine.autograd.grad(
            [tensor for tensor, _ in roots],
            [leaf for _, leaf in wanted],
            [gradient for _, gradient in roots],
            allow_unused=True,
        )
        return {key: each for (key, _), each in zip(wanted, found, strict=True) if each is not None}

    def _forward_difference(self, step: NodeStep) -> float | None:
        call = self._calls.get(step.path)
        arguments = None if call is None else _tensors(call.arguments)
        kept = [value for value in step.outputs if value.is_kept]
        if call is None or arguments is None or not kept or len(kept) < len(step.outputs):
            return None
        copies = {
            name: value.detach().clone() if isinstance(value, engine.Tensor) else value
            for name, value in arguments.items()
        }
        with engine.no_grad():
            found = self._outputs(call, copies)
            pairs = zip(step.outputs, found, strict=True)
            return max(largest_difference(value.tensor, tensor) for value, tensor in pairs)

    def _backward_differences(self, steps: list[NodeStep]) -> Iterator[tuple[int, float]]:
        """A gradient is compared with the sum of what the nodes that read the tensor contribute."""
        sums: dict[Endpoint | str, Any] = {}
        incomplete: set[Endpoint | str] = set()
        for step in steps:
            found = self.gradients(step)
            if found is None:
                incomplete |= {_key(value) for value in step.outputs}
            for key, gradient in (found or {}).items():
                sums[key] = sums[key] + gradient if key in sums else gradient
        for step in steps:
            keys = {_key(value): value for value in step.outputs}
            if keys and sums.keys() >= keys.keys() and not keys.keys() & incomplete:
                kept = [(value.tensor, sums[key]) for key, value in keys.items() if value.is_kept]
                if len(kept) == len(keys):
                    yield step.number, max(largest_difference(tensor, total) for tensor, total in kept)

    def _outputs(self, call: NodeCall, arguments: Mapping[str, Any]) -> list[Any]:
        """Evaluate the statement of a node with other values of its variables."""
        self._reset(call.owner)
        task = self._task
        dtype = BY_NAME["float32" if task.mixed_precision == "off" else task.mixed_precision]
        stream = random.Generator(0)
        with random.drawing_from(stream), autocast(task.device.type, dtype, enabled=task.mixed_precision != "off"):
            random.set_rng_state(call.random_state)
            found = call.compute(**arguments)
        listed = found if isinstance(found, (tuple, list)) and len(call.output_values) > 1 else (found,)
        return [each for each, kind in zip(listed, call.output_values, strict=False) if kind is not None]

    def _reset(self, owner: Any) -> None:
        """Undo what an earlier call has changed."""
        with engine.no_grad():
            for buffer, value in self._buffers:
                if buffer._version:  # pyright: ignore[reportPrivateUsage]
                    buffer.copy_(value)
        for module in owner.modules() if isinstance(owner, Module) else ():
            if isinstance(module, CarriedState):
                module.rewind()


def largest_difference(left: Any, right: Any) -> float:
    """The largest absolute difference of elements; equal infinities and NaN count as equal."""
    first, second = (np.asarray(each.detach().double().cpu().numpy()) for each in (left, right))
    if first.shape != second.shape:
        return float("inf")
    same = (first == second) | (np.isnan(first) & np.isnan(second))
    if bool(same.all()):
        return 0.0
    with np.errstate(invalid="ignore"):
        gaps = np.abs(first - second)[~same]
    return float("inf") if not np.isfinite(gaps).all() else float(gaps.max())


def _tensors(arguments: Mapping[str, StepValue | Any]) -> dict[str, Any] | None:
    """The values of variables; None if one is not kept."""
    if any(isinstance(value, StepValue) and not value.is_kept for value in arguments.values()):
        return None
    return {name: value.tensor if isinstance(value, StepValue) else value for name, value in arguments.items()}


def _key(value: StepValue) -> Endpoint | str:
    return value.name if value.end is None else value.end


def _leaf(value: Any, *, requires_grad: bool) -> Any:
    if not isinstance(value, engine.Tensor):
        return value
    leaf = value.detach().clone()
    return leaf.requires_grad_(True) if requires_grad and leaf.dtype.is_floating_point else leaf


def _is_differentiable(leaf: Any) -> bool:
    return isinstance(leaf, engine.Tensor) and leaf.requires_grad


__all__ = ["NodeReplay", "largest_difference"]
