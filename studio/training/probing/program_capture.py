"""Takes tensors out of a training program while it runs: variables of its lines, and their gradients."""

from __future__ import annotations

import ast
import sys
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from types import FrameType
from typing import Any

from numpy.typing import NDArray

import engine
from engine import nn
from engine.system.syntax import parse_source
from studio.document.blocks.block_expansion import Scope
from studio.document.model import Endpoint
from studio.document.weight_sharing import layer_of, owner_of
from studio.lowering.analysis.dataflow import Dataflow
from studio.lowering.program import Program
from studio.nodes.types import Role
from studio.training.probing.probe_target import ProbeTarget
from studio.training.probing.tensor_probe import array_of


@dataclass(slots=True)
class _Call:
    """A call of generated code that runs."""

    module: str
    """Path of the module in the model."""
    scope: Scope
    """The instance that is computed: of modules that instances share, each call is another one."""
    calls: Counter[str] = field(default_factory=Counter[str])
    """How often it has called each of its modules."""
    line: int | None = None


class ProgramCapture:
    """Values by target in `found`, once the program ran."""

    def __init__(self, flow: Dataflow, program: Program, model: nn.Module, targets: Collection[ProbeTarget]) -> None:
        self._flow, self._filename = flow, program.filename
        self._variables = _variables(program)
        self._paths = {id(module): path for path, module in model.named_modules()}
        self._outputs: dict[Endpoint, list[ProbeTarget]] = {}
        for target in targets:
            if target.kind == "output":
                self._outputs.setdefault(target.end, []).append(target)
        self._parameters = [target for target in targets if target.kind == "parameter"]
        self._has_gradients = any(target.is_gradient for target in targets)
        self._positions = {name: index for index, name in enumerate(flow.graph.order)}
        self._seen: set[Endpoint] = set()
        self._stack: list[_Call] = []
        self.found: dict[ProbeTarget, NDArray[Any]] = {}

    def take_batch(self, batch: Any) -> None:
        """Take the outputs of loaders."""
        graph = self._flow.graph
        loaders = [name for name in graph.with_role(Role.LOADER) if name in graph.needed]
        parts = [batch] if len(loaders) == 1 else batch
        for name, values in zip(loaders, parts, strict=False):
            for port, value in zip(graph.types[name].outputs, values, strict=False):
                self._take(Endpoint(name, port.name), value)

    @contextmanager
    def running(self) -> Iterator[None]:
        """Take values while the program runs in this thread."""
        outer = sys.gettrace()
        sys.settrace(self._enter)
        try:
            yield
        finally:
            sys.settrace(outer)

    def differentiate(self, losses: Mapping[Any, Any], model: nn.Module) -> None:
        """Take parameters, and gradients of each loss as the training step computes them."""
        modules = dict(model.named_parameters(remove_duplicate=False))
        nodes = self._flow.document.nodes
        named = {each: modules.get(f"{layer_of(nodes, each.node)}.{each.name}") for each in self._parameters}
        for target, parameter in named.items():
            if parameter is not None and not target.is_gradient:
                self.found[target] = array_of(parameter)
        if not self._has_gradients:
            return
        unique = {id(loss): loss for loss in losses.values() if loss.requires_grad}
        for number, (key, loss) in enumerate(unique.items(), start=1):
            for optimizer in losses:
                optimizer.zero_grad()
            loss.backward(retain_graph=number < len(unique))
            own = [optimizer for optimizer, each in losses.items() if id(each) == key]
            trained = {id(p) for optimizer in own for group in optimizer.param_groups for p in group["params"]}
            for target, parameter in named.items():
                gradient = None if parameter is None else parameter.grad
                if target.is_gradient and id(parameter) in trained and gradient is not None:
                    self.found[target] = array_of(gradient)

    # -- called by the interpreter

    def _enter(self, frame: FrameType, event: str, argument: object) -> Callable[..., Any] | None:
        if frame.f_code.co_filename != self._filename:
            return None
        call = self._called(frame.f_locals.get("self"))
        self._stack.append(call)

        def follow(inner: FrameType, event: str, argument: object) -> Callable[..., Any]:
            if event in ("line", "return"):
                if call.line is not None:
                    self._read(inner, call)
                call.line = inner.f_lineno
            if event == "return":
                self._stack.pop()
            return follow

        return follow

    def _called(self, module: object) -> _Call:
        """The call that begins, in the instance that it computes."""
        outer = self._stack[-1] if self._stack else _Call("", self._flow.expansion.root)
        path = self._paths.get(id(module), outer.module)
        if path == outer.module or not path.startswith(f"{outer.module}." if outer.module else ""):
            return _Call(outer.module, outer.scope)  # the task, a loop, or a method for recomputed nodes
        name, _, index = path[len(outer.module) :].removeprefix(".").partition(".")
        number = outer.calls[path]
        outer.calls[path] += 1
        instances = self._instances(outer.scope, name)
        if number >= len(instances):
            return _Call(path, outer.scope)
        copies = outer.scope.copies[instances[number]]
        return _Call(path, copies[int(index) if index.isdigit() and len(copies) > 1 else 0])

    def _instances(self, scope: Scope, name: str) -> list[str]:
        """The instances that call a module, in the order of computation."""
        found = [each for each in scope.copies if owner_of(scope.nodes, each) == name]
        return sorted(found, key=lambda each: self._first(scope.copies[each][0].prefix))

    def _first(self, prefix: str) -> int:
        return min((at for name, at in self._positions.items() if name.startswith(prefix)), default=0)

    def _read(self, frame: FrameType, call: _Call) -> None:
        """Take the values that a line has assigned."""
        for variable, node, index in self._variables.get(call.line or 0, ()):
            path = call.scope.prefix + node
            kind = self._flow.graph.types.get(path)
            if kind is not None and index < len(kind.outputs) and variable in frame.f_locals:
                self._take(Endpoint(path, kind.outputs[index].name), frame.f_locals[variable])

    def _take(self, end: Endpoint, value: Any) -> None:
        if end not in self._outputs or end in self._seen or not isinstance(value, engine.Tensor):
            return
        self._seen.add(end)  # recomputed nodes run again in the backward pass
        for target in self._outputs[end]:
            if not target.is_gradient:
                self.found[target] = array_of(value)
            elif value.dtype.is_floating_point:
                if not value.requires_grad:
                    value.requires_grad_(True)
                value.register_hook(self._collector(target))

    def _collector(self, target: ProbeTarget) -> Callable[[Any], None]:
        """A hook that adds up the gradients of all losses."""
        sums: list[Any] = []

        def collect(gradient: Any) -> None:
            with engine.no_grad():
                sums[:] = [gradient.detach().clone() if not sums else sums[0] + gradient]
                self.found[target] = array_of(sums[0])

        return collect


def _variables(program: Program) -> dict[int, list[tuple[str, str, int]]]:
    """The variables that each line assigns: variable, node in its graph, and index of the port."""
    found: dict[int, list[tuple[str, str, int]]] = {}
    for statement in ast.walk(parse_source(program.source)):
        if not isinstance(statement, ast.Assign):
            continue
        owner, target = program.lines.get(statement.lineno), statement.targets[0]
        names = target.elts if isinstance(target, ast.Tuple) else [target]
        if owner is not None:
            short = owner.rpartition(".")[2]
            pairs = [(name.id, short, index) for index, name in enumerate(names) if isinstance(name, ast.Name)]
            found[statement.lineno] = pairs
    return found


__all__ = ["ProgramCapture"]
