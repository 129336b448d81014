"""Finds the node at which NaN or infinity arose, by computing a step again in eager mode."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from engine import Tensor, fit
from engine.nonfinite import CallSite, NonfiniteOrigin, NonfiniteTrace, find_nonfinite_origin
from studio.lowering.analysis.node_graph import NodeGraph
from studio.lowering.program import Program
from studio.training.breakpoints.origin import Origin, OriginKind
from studio.training.breakpoints.program_locations import Location, ProgramLocations


def find_origin(task: fit.Task, program: Program, graph: NodeGraph, batch: Any) -> Origin | None:
    """The first node, in the order of execution, whose NaN or infinity reaches the loss or the gradient of a parameter.

    The step is computed once more, forward and backward, without changing weights, optimizers, buffers, metrics or
    random numbers.

    Args:
        task: in the state before the step, with its random numbers
        program: the program that the task was built from
        graph: the flat graph of the program
        batch: the batch of the step

    Returns:
        None if losses and gradients are finite in eager mode.
    """
    trace = NonfiniteTrace(ProgramLocations(program, task))
    with fit.preserve_state(task), fit.preserve_modes(task), trace:
        for module in task.modules.values():
            module.train()
        losses = fit.compute_losses(task, batch)
        values = [float(loss.detach().item()) for loss in losses.values()]
        if all(value - value == 0 for value in values):
            fit.compute_gradients(task, losses)
        tensors = _Tensors(task, program, graph, batch)
        found = find_nonfinite_origin(trace, losses.values(), tensors.parameters.values(), tensors.given)
        return None if found is None else _Description(found, program, graph, tensors).origin()


class _Tensors:
    """What the tensors of a step are."""

    def __init__(self, task: fit.Task, program: Program, graph: NodeGraph, batch: Any) -> None:
        roots = {"" if name == "model" else f"{name}.": module for name, module in task.modules.items()}
        self.parameters = {
            f"{prefix}{path}": value for prefix, root in roots.items() for path, value in root.named_parameters()
        }
        buffers = {f"{prefix}{path}": value for prefix, root in roots.items() for path, value in root.named_buffers()}
        ends = [(loader, port.name) for loader in program.reading.loaders for port in graph.types[loader].outputs]
        inputs = dict(zip(ends, _leaves(batch), strict=False))
        self.given = [*inputs.values(), *self.parameters.values()]
        self._names: dict[int, tuple[OriginKind, str, str]] = {}
        """Id of a storage → kind, node or path, and port."""
        for path, value in buffers.items():
            self._names[id(value._storage)] = ("buffer", path, "")
        for (node, port), value in inputs.items():
            self._names[id(value._storage)] = ("input", node, port)
        for path, value in self.parameters.items():
            self._names[id(value._storage)] = ("parameter", path, "")

    def named(self, tensor: Tensor) -> tuple[OriginKind, str, str]:
        return self._names.get(id(tensor._storage), ("constant", "", ""))


@dataclass(frozen=True, slots=True)
class _Description:
    found: NonfiniteOrigin
    program: Program
    graph: NodeGraph
    tensors: _Tensors

    def origin(self) -> Origin:
        found = self.found
        node, line, code = self._location()
        common: Mapping[str, Any] = {
            "value": found.value,
            "op": found.op,
            "inputs": tuple(map(str, found.inputs)),
            "elements": tuple(f"{value:.6g}" for value in found.elements),
            "line": line,
            "code": code,
            "nan_node": None if found.nan_at is None else _location_of(found.nan_at).path,
        }
        if found.tensor is not None:
            kind, name, port = self.tensors.named(found.tensor)
            if kind in ("parameter", "buffer"):
                return Origin(self._node_of(name), kind, tensor=name, **common)
            if kind == "input":
                return Origin(name, kind, port=port, **common)
            return Origin(node, kind, port=self._output(node), **common)
        if found.kind == "result":
            return Origin(node, "activation", port=self._output(node), **common)
        names = [path for path, value in self.tensors.parameters.items() if any(value is leaf for leaf in found.leaves)]
        receivers = [_location_of(site).path for site in found.receivers]
        port = next((port for path in receivers if path != node and (port := self._input(node, path))), None)
        return Origin(node, "gradient", port=port, tensor=names[0] if names else None, **common)

    def _location(self) -> tuple[str | None, int | None, str]:
        """The node of the origin, and the line of a Python node."""
        here, forward = _location_of(self.found.site), _location_of(self.found.forward_site)
        line = here.code_line or forward.code_line
        path = here.path or forward.path
        section = None if line is None else self.program.code_at(line)
        if section is None or line is None:
            return path, None, ""
        if here.path is None and len(section.nodes) == 1 and not _is_copy_of(path, section.nodes[0]):
            path = section.nodes[0]
        return path, section.source_line(line), self.program.source.split("\n")[line - 1].strip()

    def _node_of(self, path: str) -> str | None:
        """The node of a parameter or buffer."""
        while path and path not in self.graph.types:
            path = path.rpartition(".")[0]
        return path or None

    def _output(self, node: str | None) -> str | None:
        """The output of a node: the only one, or the first that is connected."""
        kind = self.graph.types.get(node or "")
        if kind is None or node is None:
            return None
        read = {wire.source.port for wire in self.graph.outgoing_wires[node]}
        ports = [port.name for port in kind.outputs]
        return next((port for port in ports if port in read), ports[0] if ports else None)

    def _input(self, node: str | None, source: str | None) -> str | None:
        """The input of a node that another node is connected to."""
        if node not in self.graph.types:
            return None
        return next((port for port, end in self.graph.sources(node).items() if end.node == source), None)


def _location_of(site: CallSite | None) -> Location:
    context = None if site is None else site.context
    return context if isinstance(context, Location) else Location(None)


def _is_copy_of(path: str | None, plain: str) -> bool:
    """Whether a path is a node of a program, whose paths have no indices of copies."""
    return path is not None and ".".join(part for part in path.split(".") if not part.isdecimal()) == plain


def _leaves(batch: Any) -> Iterator[Tensor]:
    if isinstance(batch, Tensor):
        yield batch
    elif isinstance(batch, Mapping):
        for value in batch.values():
            yield from _leaves(value)
    elif isinstance(batch, Sequence) and not isinstance(batch, str):
        for value in batch:
            yield from _leaves(value)


__all__ = ["find_origin"]
