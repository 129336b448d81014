"""A part of a failing graph as a project: what it reads from the rest is data, recorded when the step failed."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from msgspec.structs import replace
from numpy.typing import NDArray

from engine.shape import Spec
from studio.document.model import Document, Endpoint, Json, Node, TrainingSettings, Wire
from studio.document.weight_sharing import layer_of, tied_to
from studio.lowering.analysis.dataflow import Dataflow
from studio.nodes.initialization import NAMES as INITIALIZATION
from studio.nodes.types import Role
from studio.training.reproduction.failure_sign import FailureSign
from studio.training.reproduction.node_naming import NodeNaming
from studio.training.stepping.step_recording import Recording
from studio.training.stepping.task_copy import StepState

DATA_FILE = "reproduction.npz"
KEPT = frozenset({Role.LAYER, Role.OPERATION, Role.LOSS})
_COLUMN = 240.0
_ROW = 120.0
_MAX_CONSTANT = 4096
"""Elements of a constant in a project file."""
_UNUSED = "unused"
"""Name of an array of zeros, the target of data that needs none."""


class NotSeparableError(Exception):
    """A part of a graph cannot be a project by itself."""


@dataclass
class PartialProject:
    """A project with the arrays and weights that it needs."""

    document: Document
    arrays: Mapping[str, NDArray[Any]]
    weights: Mapping[str, Any]
    """By path in the model of the project."""
    origins: Mapping[str, str]
    """Node of the project → node of the failing graph."""
    rows: int
    """Samples of the batch."""

    def with_rows(self, rows: Iterable[int]) -> PartialProject:
        """The project with some samples of its batch only."""
        chosen, whole = list(rows), self.rows
        arrays = {name: _rows(array, chosen, whole) for name, array in self.arrays.items()}
        nodes = dict(self.document.nodes)
        for name, node in nodes.items():
            size = node.params.get("batch_size")
            if node.type == "data.Batches" and isinstance(size, int) and size % whole == 0:
                params: dict[str, Json] = {**node.params, "batch_size": size // whole * len(chosen)}
                nodes[name] = replace(node, params=params)
        return PartialProject(replace(self.document, nodes=nodes), arrays, self.weights, self.origins, len(chosen))

    def without_weights(self) -> PartialProject:
        """The project with its initial weights."""
        return PartialProject(self.document, self.arrays, {}, self.origins, self.rows)


@dataclass
class _Draft:
    nodes: dict[str, Node] = field(default_factory=dict[str, Node])
    wires: list[Wire] = field(default_factory=list[Wire])
    arrays: dict[str, NDArray[Any]] = field(default_factory=dict[str, NDArray[Any]])
    weights: dict[str, Any] = field(default_factory=dict[str, Any])
    origins: dict[str, str] = field(default_factory=dict[str, str])

    def connect(self, source: str, source_port: str, target: str, target_port: str) -> None:
        self.wires.append(Wire(Endpoint(source, source_port), Endpoint(target, target_port)))


class GraphCutter:
    """Cuts parts out of a failing graph.

    Args:
        flow: the dataflow of the failing project
        recording: the failing step, with all values
        state: the state before it
        sign: its failure
    """

    def __init__(self, flow: Dataflow, recording: Recording, state: StepState, sign: FailureSign, seed: int) -> None:
        self.flow = flow
        self.graph = flow.graph
        self.sign = sign
        self._state = state
        self._seed = seed
        self._rows = recording.batch_size
        self._values = {
            value.end: value for step in recording.steps if step.direction == "forward" for value in step.values
        }
        self._gradients = {
            value.end: value for step in recording.steps if step.direction == "backward" for value in step.inputs
        }
        self.nodes = [name for name in self.graph.order if name in self.graph.needed and self._role(name) in KEPT]
        """The nodes that can be part of a reproduction, in the order of computation."""

    def cut(self, kept: frozenset[str]) -> PartialProject:
        """The project of some nodes. Raises NotSeparableError."""
        draft, naming = _Draft(), NodeNaming()
        names = {name: naming.name(name) for name in self.nodes if name in kept}
        for name, own in names.items():
            draft.nodes[own] = self._node(name, names)
            draft.origins[own] = name
            self._copy_weights(name, own, draft, names)
        ends: dict[Endpoint, tuple[str, str]] = {}
        for name, own in names.items():
            for port, end in self.graph.sources(name).items():
                if end.node in names:
                    draft.connect(names[end.node], end.port, own, port)
                    continue
                if end not in ends:
                    ends[end] = self._data(end, naming, draft)
                draft.connect(*ends[end], own, port)
        self._add_losses(kept, names, naming, draft)
        self._add_optimizer(naming, draft)
        if not any(self._is_trained(name) for name in kept):
            self._add_offset(ends, naming, draft)
        document = Document(
            nodes=_placed(draft),
            wires=tuple(sorted(draft.wires)),
            training=self._training(),
            description=f"Minimal reproduction. {self.sign}",
        )
        return PartialProject(document, draft.arrays, draft.weights, draft.origins, self._rows)

    # -- nodes

    def _role(self, name: str) -> Role:
        return self.graph.types[name].role

    def _node(self, name: str, names: Mapping[str, str]) -> Node:
        """The node with the parameters that it infers from the data, and with separate weights."""
        nodes, facts = self.flow.document.nodes, self.flow.facts[name]
        owner, tied = layer_of(nodes, name), tied_to(nodes, name)
        params = dict(nodes[owner].params)
        for param in facts.arguments.inferred - INITIALIZATION:
            if (value := _json(facts.arguments.values.get(param))) is not None:
                params[param] = value
        shares = names.get(owner, "") if owner != name else names.get(tied or "", "")
        if shares and owner != name:
            params = {}
        return replace(nodes[name], params=params, shares=shares, trains=(), dismissed=(), recomputed=False)

    def _copy_weights(self, name: str, own: str, draft: _Draft, names: Mapping[str, str]) -> None:
        owner = layer_of(self.flow.document.nodes, name)
        if owner != name and owner in names:
            return
        for path, value in self._state.task["modules"]["model"].items():
            if path.startswith(f"{owner}."):
                draft.weights[f"{own}.{path.removeprefix(f'{owner}.')}"] = value
        tied = tied_to(self.flow.document.nodes, name)
        if tied is not None and tied not in names:
            draft.weights[f"{own}.weight"] = self._state.task["modules"]["model"][f"{tied}.weight"]

    def _is_trained(self, name: str) -> bool:
        return self.flow.facts[name].info.parameters > 0 and not self.flow.document.nodes[name].frozen

    # -- what the part reads

    def _data(self, end: Endpoint, naming: NodeNaming, draft: _Draft) -> tuple[str, str]:
        """Nodes that give a recorded value. Returns an output."""
        value = self._values.get(end)
        array = None if value is None else value.array()
        if array is None:
            raise NotSeparableError(f"The value of {end} is not known.")
        return self._array(array, naming.name(f"{end.node}_{end.port}"), naming, draft, end)

    def _array(
        self, array: NDArray[Any], name: str, naming: NodeNaming, draft: _Draft, end: Endpoint | None = None
    ) -> tuple[str, str]:
        spec = None if end is None else self.flow.value(end)
        has_batch = not isinstance(spec, Spec) or bool(spec.shape and not isinstance(spec.shape[0], int))
        if not has_batch or not array.ndim:
            return self._constant(array, name, draft)
        draft.arrays[name] = array
        draft.arrays.setdefault(f"{_UNUSED}_{len(array)}", np.zeros((len(array), 1), np.float32))
        draft.nodes[name] = Node(
            "data.NPY",
            {
                "path": DATA_FILE,
                "input_name": name,
                "target_name": f"{_UNUSED}_{len(array)}",
                "task": "numbers",
                "validation": 0.0,
            },
        )
        batches = naming.name(f"{name}_batch")
        draft.nodes[batches] = Node("data.Batches", {"batch_size": len(array), "shuffle": False})
        draft.connect(name, "samples", batches, "samples")
        return batches, "input"

    def _constant(self, array: NDArray[Any], name: str, draft: _Draft) -> tuple[str, str]:
        kinds = {"f": "float", "i": "int64", "b": "bool"}
        is_small = 0 < array.size <= _MAX_CONSTANT and array.ndim > 0
        is_known = array.dtype.kind in kinds and (array.dtype.kind != "f" or bool(np.isfinite(array).all()))
        if not is_small or not is_known:
            raise NotSeparableError(f"{name} has no batch dimension.")
        values: list[Any] = array.reshape(-1).tolist()
        params: dict[str, Json] = {"size": list(array.shape), "values": values, "dtype": kinds[array.dtype.kind]}
        draft.nodes[name] = Node("nn.ConstantTensor", params)
        return name, "output"

    def _add_offset(self, ends: Mapping[Endpoint, tuple[str, str]], naming: NodeNaming, draft: _Draft) -> None:
        """Add a trained 0 to inputs, so that there is a parameter, and gradients reach the inputs."""
        reading = [
            (index, wire)
            for index, wire in enumerate(draft.wires)
            if any((wire.source.node, wire.source.port) == output for end, output in ends.items() if self._needs(end))
        ]
        if not reading:
            raise NotSeparableError("No input of this part has a gradient.")
        offset = naming.name("offset")
        draft.nodes[offset] = Node("nn.LearnedTensor", {"size": [1], "initialization": "zeros"})
        added: dict[Endpoint, str] = {}
        for index, wire in reading:
            if wire.source not in added:
                added[wire.source] = naming.name(f"{wire.source.node.removesuffix('_batch')}_trained")
                draft.nodes[added[wire.source]] = Node("ops.add")
                draft.connect(wire.source.node, wire.source.port, added[wire.source], "x")
                draft.connect(offset, "output", added[wire.source], "y")
            draft.wires[index] = Wire(Endpoint(added[wire.source], "output"), wire.target)

    def _needs(self, end: Endpoint) -> bool:
        """Whether a cut input had a gradient, or could have one."""
        value = self._values.get(end)
        is_float = value is not None and value.statistics.dtype.startswith("float")
        return end in self._gradients if self.sign.kind == "gradient" else is_float

    # -- what trains it

    def _add_losses(self, kept: frozenset[str], names: Mapping[str, str], naming: NodeNaming, draft: _Draft) -> None:
        """A loss for outputs that the rest of the graph reads: its gradient is the recorded one."""
        if any(self._role(name) is Role.LOSS for name in kept):
            return
        if self.sign.kind == "gradient":
            sinks = [
                Endpoint(name, port.name)
                for name in names
                for port in self.graph.types[name].outputs
                if Endpoint(name, port.name) in self._gradients and self._leaves(Endpoint(name, port.name), kept)
            ]
            for end in sinks[:4]:
                self._add_sink(end, names[end.node], naming, draft)
            if sinks:
                return
        node = self.sign.node
        last = node if node is not None and node in names else list(names)[-1]
        port = self.graph.types[last].outputs[0].name
        loss = naming.name("loss")
        draft.nodes[loss] = Node("nn.MSELoss", {"reduction": "sum"})
        draft.connect(names[last], port, loss, "input")
        draft.connect(names[last], port, loss, "target")

    def _leaves(self, end: Endpoint, kept: frozenset[str]) -> bool:
        return any(reader.node not in kept for reader in self.graph.readers(end))

    def _add_sink(self, end: Endpoint, own: str, naming: NodeNaming, draft: _Draft) -> None:
        """`(output - target)²` with the target `output - gradient / 2`, whose gradient is the recorded one."""
        value, gradient = self._values[end].array(), self._gradients[end].array()
        if value is None or gradient is None:
            raise NotSeparableError(f"The gradient of {end} is not kept.")
        target = (np.nan_to_num(value.astype(np.float64)) - gradient.astype(np.float64) / 2).astype(value.dtype)
        source = self._array(target, naming.name(f"{own}_target"), naming, draft, end)
        loss = naming.name(f"{own}_loss")
        draft.nodes[loss] = Node("nn.MSELoss", {"reduction": "sum"})
        draft.connect(own, end.port, loss, "input")
        draft.connect(*source, loss, "target")

    def _add_optimizer(self, naming: NodeNaming, draft: _Draft) -> None:
        losses = [
            name for name, node in draft.nodes.items() if node.type.endswith("Loss") or self._is_loss(draft, name)
        ]
        source = (losses[0], "loss")
        if len(losses) > 1:
            total = naming.name("total")
            draft.nodes[total] = Node("studio.LossSum")
            for name, port in zip(losses, "abcd", strict=False):
                draft.connect(name, "loss", total, port)
            source = (total, "loss")
        node = Node("optim.SGD", {"lr": 0.001})
        if self.sign.kind == "update" and self.sign.node is not None:
            found = self.flow.document.nodes[self.sign.node]
            rate = self._state.task["optimizers"][self.sign.node]["groups"][0].get("lr")
            params: dict[str, Json] = {**found.params, **({"lr": float(rate)} if isinstance(rate, float) else {})}
            node = Node(found.type, params)
        name = naming.name(self.sign.node if self.sign.kind == "update" and self.sign.node else "optimizer")
        draft.nodes[name] = node
        if self.sign.kind == "update" and self.sign.node:
            draft.origins[name] = self.sign.node
        draft.connect(*source, name, "loss")

    def _is_loss(self, draft: _Draft, name: str) -> bool:
        origin = draft.origins.get(name)
        return origin is not None and self._role(origin) is Role.LOSS

    def _training(self) -> TrainingSettings:
        old = self.flow.document.training
        return TrainingSettings(
            epochs=1,
            seed=self._seed,
            device=old.device,
            compile=False,
            mixed_precision=old.mixed_precision,
            clip_norm=old.clip_norm if self.sign.kind == "update" else None,
            clip_value=old.clip_value if self.sign.kind == "update" else None,
            validate_epochs=0,
            joint_order="paired",
        )


def _json(value: Any) -> Json:
    """A parameter as JSON; None if it is no plain value."""
    if isinstance(value, (bool, int, float, str)):
        return value
    if isinstance(value, (tuple, list)) and value:
        found = [_json(item) for item in value]  # pyright: ignore[reportUnknownVariableType]
        return None if None in found else found
    return None


def _rows(array: NDArray[Any], rows: list[int], whole: int) -> NDArray[Any]:
    """Some samples of an array, which may have several rows for each."""
    if array.shape[0] % whole:
        raise NotSeparableError("An array has a number of rows that does not depend on the samples.")
    each = array.shape[0] // whole
    return array[[sample * each + offset for sample in rows for offset in range(each)]] if each > 1 else array[rows]


def _placed(draft: _Draft) -> dict[str, Node]:
    """The nodes in columns, from the data to the optimizer."""
    depth: dict[str, int] = dict.fromkeys(draft.nodes, 0)
    for _ in draft.nodes:
        for wire in draft.wires:
            depth[wire.target.node] = max(depth[wire.target.node], depth[wire.source.node] + 1)
    used: dict[int, int] = {}
    placed: dict[str, Node] = {}
    for name in sorted(draft.nodes, key=lambda name: depth[name]):
        row = used[depth[name]] = used.get(depth[name], -1) + 1
        placed[name] = replace(draft.nodes[name], at=(depth[name] * _COLUMN, row * _ROW))
    return placed


__all__ = ["DATA_FILE", "GraphCutter", "NotSeparableError", "PartialProject"]
