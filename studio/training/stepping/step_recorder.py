"""Records one training step of a task, node by node, in eager mode."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import engine
from engine import fit, random
from engine.fit.step_functions import compute_gradients, compute_losses, step_optimizers
from engine.fit.step_functions import step as training_step
from engine.nn.module import Module
from studio.document.model import Endpoint
from studio.lowering.analysis.dataflow import Dataflow
from studio.lowering.program import Program
from studio.nodes.types import Role
from studio.training.failures import error_message
from studio.training.stepping.step_recording import Direction, Failure, NodeStep, Recording
from studio.training.stepping.step_values import StepValue, ValueStore

RECORDED = frozenset({Role.LAYER, Role.OPERATION, Role.LOSS, Role.LOSS_SUM, Role.METRIC})


class RecordingCancelledError(Exception):
    """The user has cancelled a recording."""


@dataclass(slots=True)
class NodeCall:
    """The call of a node in the forward pass, to compute it again."""

    path: str
    line: int
    owner: Any
    """The module or task whose method runs."""
    compute: Callable[..., Any]
    """Evaluates its statement with other arguments."""
    arguments: Mapping[str, StepValue | Any]
    """The local variables that the statement reads."""
    random_state: Any
    inputs: tuple[StepValue, ...]
    outputs: tuple[StepValue, ...] = ()
    output_values: tuple[Any, ...] = ()
    """The kinds of the assigned values: tensors are replaced by their position in `outputs`."""


@dataclass(slots=True)
class _Pass:
    """One backward pass."""

    optimizer: str
    order: list[str] = field(default_factory=list[str])
    """Nodes in the order in which the gradients of their outputs were complete."""
    gradients: dict[Endpoint, StepValue] = field(default_factory=dict[Endpoint, StepValue])


class StepRecorder:
    """A watcher of a program that records values and gradients.

    Args:
        flow: the dataflow of the checked document
        store: keeps the values
        on_progress: called after each node; raises RecordingCancelledError to end the recording
    """

    def __init__(
        self, flow: Dataflow, program: Program, store: ValueStore, on_progress: Callable[[], None] = lambda: None
    ) -> None:
        self._graph = flow.graph
        self._flow = flow
        self._program = program
        self._store = store
        self._on_progress = on_progress
        self._direction: Direction | None = None
        self._modules: dict[int, str] = {}
        self._sharers: dict[str, list[str]] = {}
        self.calls: list[NodeCall] = []
        self._running: list[NodeCall | None] = []
        self._ends: dict[Endpoint, tuple[Any, StepValue]] = {}
        """The tensor and the value of each output that has been computed."""
        self._tensors: dict[int, tuple[Any, int, StepValue]] = {}
        """By id: a tensor, its version when it was recorded, and its value. The tensor is kept, so its id is unique."""
        self._passes: list[_Pass] = []
        self._current = 0
        """Number of the running backward pass."""
        self._roots: dict[int, list[int]] = {}
        """By id of a loss: the backward passes that start at it."""
        self._gradients: dict[str, dict[str, list[StepValue]]] = {}
        """Gradients of parameters by optimizer and node, before clipping."""
        self._updates: list[NodeStep] = []

    # -- the whole step

    def record(self, task: fit.Task, batch: Any) -> Recording:
        """Train a task on a batch and record it. The task is a separate copy with this watcher."""
        self._modules = {id(module): path for path, module in task.model.named_modules()}
        self._record_batch(batch)
        for name, optimizer in task.optimizers.items():
            vars(optimizer)["step"] = partial(self._update, name, optimizer, optimizer.step, task)
        vars(task)["losses"] = partial(self._forward, task, task.losses)
        for module in task.modules.values():
            module.train()
        failure, losses = None, {}
        try:
            with random.drawing_from(task.stream):
                found = self._train(task, batch)
            names = {id(optimizer): name for name, optimizer in task.optimizers.items()}
            losses = {names[id(optimizer)]: float(loss.item()) for optimizer, loss in found.items()}
        except RecordingCancelledError:
            raise
        except Exception as error:  # noqa: BLE001 - the user steps to the node that raised it
            failure = self._failure(error)
        steps = [*self._forward_steps(), *self._backward_steps(task), *self._updates]
        numbered = tuple(_numbered(step, number) for number, step in enumerate(steps))
        size = len(batch[0]) if len(batch) else 0
        return Recording(numbered, losses, self._program.source, failure, self._store.message, batch_size=size)

    def _train(self, task: fit.Task, batch: Any) -> Mapping[Any, Any]:
        if any(optimizer.needs_closure for optimizer in task.optimizers.values()):
            return training_step(task, batch)
        losses = compute_losses(task, batch)
        compute_gradients(task, losses)
        self._gradients = self._parameter_gradients(task)
        step_optimizers(task, losses)
        return losses

    def _record_batch(self, batch: Any) -> None:
        ends = [
            Endpoint(loader, port.name)
            for loader in self._program.reading.loaders
            for port in self._graph.types[loader].outputs
        ]
        for end, tensor in zip(ends, batch, strict=False):
            self._remember(end, tensor)

    def _forward(self, task: fit.Task, losses: Callable[[Any], Mapping[Any, Any]], batch: Any) -> Mapping[Any, Any]:
        if self._direction is not None:  # optimizers that evaluate the loss several times
            return losses(batch)
        self._direction = "forward"
        found = losses(batch)
        self._direction = "backward"
        names = {id(optimizer): name for name, optimizer in task.optimizers.items()}
        for number, (optimizer, loss) in enumerate(found.items()):
            self._passes.append(_Pass(names[id(optimizer)] if len(found) > 1 else ""))
            self._roots.setdefault(id(loss), []).append(number)
        return found

    # -- called by the program

    def begin(self, line: int, owner: Any, values: Mapping[str, Any], compute: Callable[..., Any]) -> None:
        path = self._path(line, owner) if self._direction == "forward" else None
        if path is None:
            self._running.append(None)
            return
        self._on_progress()
        arguments = {name: self._argument(name, value) for name, value in values.items()}
        current = {id(value): arguments[name] for name, value in values.items()}
        sources, inputs = self._graph.sources(path), list[StepValue]()
        for port in self._graph.types[path].inputs:
            if (known := self._ends.get(sources[port.name]) if port.name in sources else None) is not None:
                inputs.append(current.get(id(known[0]), known[1]).renamed(port.name))
        self._running.append(NodeCall(path, line, owner, compute, arguments, random.get_rng_state(), tuple(inputs)))

    def end(self, line: int, outputs: tuple[Any, ...]) -> None:
        call = self._running.pop() if self._running else None
        if self._direction == "backward":
            self._watch_recomputed(line, outputs)
        if call is None:
            return
        found: list[StepValue] = []
        kinds: list[Any] = []
        for port, value in zip(self._graph.types[call.path].outputs, outputs, strict=False):
            if isinstance(value, engine.Tensor):
                kinds.append(len(found))
                found.append(self._remember(Endpoint(call.path, port.name), value))
            else:
                kinds.append(None)
        call.outputs, call.output_values = tuple(found), tuple(kinds)
        self.calls.append(call)

    def _path(self, line: int, owner: Any) -> str | None:
        """The node of a statement, if it is recorded."""
        name = self._program.lines[line]
        instance = self._modules.get(id(owner), "")
        path = f"{instance}.{name.rpartition('.')[2]}" if instance else name
        if path not in self._graph.types or self._graph.types[path].role not in RECORDED:
            return None
        if instance and any(call.path == path for call in self.calls):
            return self._next_sharer(path)
        return path

    def _next_sharer(self, path: str) -> str:
        """The node of the next instance that uses the weights of an instance."""
        if path not in self._sharers:
            nodes, prefix = self._flow.document.nodes, path.rpartition(".")[0]
            self._sharers[path] = [
                name for name in self._graph.order if nodes[name].shares == path and name.rpartition(".")[0] != prefix
            ]
        waiting = self._sharers[path]
        return waiting.pop(0) if waiting else path

    def _argument(self, name: str, value: Any) -> StepValue | Any:
        """A tensor as a recorded value, others as they are."""
        if not isinstance(value, engine.Tensor):
            return value
        known = self._tensors.get(id(value))
        if known is not None and known[1] == value._version:  # pyright: ignore[reportPrivateUsage]
            return known[2]
        return self._store_tensor(name, None if known is None else known[2].end, value)

    def _remember(self, end: Endpoint, tensor: Any) -> StepValue:
        value = self._store_tensor(end.port, end, tensor)
        self._ends[end] = (tensor, value)
        if tensor.requires_grad:
            tensor.register_hook(partial(self._gradient, end, id(tensor)))
        return value

    def _store_tensor(self, name: str, end: Endpoint | None, tensor: Any) -> StepValue:
        value = self._store.keep(name, end, tensor)
        self._tensors[id(tensor)] = (tensor, tensor._version, value)
        return value

    # -- backward

    def _watch_recomputed(self, line: int, outputs: tuple[Any, ...]) -> None:
        """Record gradients of nodes that run again in the backward pass."""
        name = self._program.lines[line]
        call = next((call for call in self.calls if call.line == line and call.path == name), None)
        if call is None:
            return
        for port, value in zip(self._graph.types[call.path].outputs, outputs, strict=False):
            if isinstance(value, engine.Tensor) and value.requires_grad:
                value.register_hook(partial(self._gradient, Endpoint(call.path, port.name), 0))

    def _gradient(self, end: Endpoint, tensor: int, gradient: Any) -> None:
        starts = self._roots.get(tensor)
        if starts and (not self._passes[0].order or starts[0] > self._current):
            self._current = starts.pop(0)
        found = self._passes[self._current]
        if end.node not in found.order:
            found.order.append(end.node)
            self._on_progress()
        found.gradients[end] = self._store.keep(end.port, end, gradient)

    # -- update

    def _update(self, name: str, optimizer: Any, step: Callable[..., Any], task: fit.Task, *arguments: Any) -> Any:
        self._direction = "update"
        paths = self._parameter_paths(task)
        parameters = [each for group in optimizer.param_groups for each in group["params"]]
        trained = [(paths.get(id(each), ""), each) for each in parameters if each.grad is not None]
        gradients = tuple(self._store.keep(f"{path}.grad", None, each.grad) for path, each in trained)
        result = step(*arguments)
        after = tuple(self._store.keep(path, None, each) for path, each in trained)
        line = next((number for number, owner in self._program.lines.items() if owner == name), 0)
        self._updates.append(NodeStep(0, name, "update", line, gradients, after))
        self._on_progress()
        self._direction = "backward"
        return result

    # -- results

    def _forward_steps(self) -> Iterable[NodeStep]:
        for call in self.calls:
            yield NodeStep(0, call.path, "forward", call.line, call.inputs, call.outputs)

    def _backward_steps(self, task: fit.Task) -> Iterable[NodeStep]:
        lines = {call.path: call.line for call in self.calls}
        gradients = self._gradients or self._parameter_gradients(task)
        for found in self._passes:
            own = gradients.get(found.optimizer, {})
            for path in found.order:
                outputs = [found.gradients[end] for end in self._outputs(path) if end in found.gradients]
                read = [
                    found.gradients[end].renamed(port)
                    for port, end in self._graph.sources(path).items()
                    if end in found.gradients
                ]
                yield NodeStep(
                    0,
                    path,
                    "backward",
                    lines.get(path, 0),
                    tuple(outputs),
                    (*read, *own.get(path, ())),
                    found.optimizer,
                )

    def _outputs(self, path: str) -> list[Endpoint]:
        return [Endpoint(path, port.name) for port in self._graph.types[path].outputs]

    def _parameter_gradients(self, task: fit.Task) -> dict[str, dict[str, list[StepValue]]]:
        """Gradients of parameters by optimizer and node."""
        paths, found = self._parameter_paths(task), dict[str, dict[str, list[StepValue]]]()
        for name, optimizer in task.optimizers.items():
            by_node: dict[str, list[StepValue]] = defaultdict(list)
            for parameter in (each for group in optimizer.param_groups for each in group["params"]):
                path = paths.get(id(parameter), "")
                if parameter.grad is None or not path:
                    continue
                value = self._store.keep(f"{path}.grad", None, parameter.grad)
                by_node[self._node_of(path)].append(value)
            key = name if len(self._passes) > 1 else ""
            found[key] = {**found.get(key, {}), **by_node}
        return found

    def _node_of(self, path: str) -> str:
        """The node that a parameter belongs to."""
        node = path.rpartition(".")[0]
        while node and node not in self._graph.types:
            node = node.rpartition(".")[0]
        return node

    def _parameter_paths(self, task: fit.Task) -> dict[int, str]:
        return {
            id(parameter): path if name == "model" else f"{name}.{path}"
            for name, module in task.modules.items()
            if isinstance(module, Module)
            for path, parameter in module.named_parameters()
        }

    def _failure(self, error: Exception) -> Failure:
        running = next((call for call in reversed(self._running) if call is not None), None)
        path = self._program.node_of(error) if running is None else running.path
        message = error_message(error, self._program)
        return Failure(message, type(error).__name__, path, self._direction or "forward")


def _numbered(step: NodeStep, number: int) -> NodeStep:
    return NodeStep(number, step.path, step.direction, step.line, step.inputs, step.outputs, step.optimizer)


__all__ = ["RECORDED", "NodeCall", "RecordingCancelledError", "StepRecorder"]
