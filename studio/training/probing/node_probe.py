"""Computes the nodes of a checked graph one by one on a batch, also of a graph that is not finished."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import engine
from engine.amp import autocast
from engine.data.joint_loader import in_order
from engine.dtypes import BY_NAME
from engine.random import Generator, drawing_from
from studio.document.model import Endpoint
from studio.document.weight_sharing import layer_of, tied_to
from studio.lowering.analysis.dataflow import Dataflow
from studio.lowering.analysis.node_arguments import resolve_paths
from studio.lowering.analysis.node_evaluation import operation_function
from studio.lowering.analysis.node_facts import NodeFacts
from studio.lowering.user_code.code_loader import UntrustedCodeError, load_code
from studio.nodes.initialization import initial_values, without_initialization
from studio.nodes.loss_sum_node import WEIGHTS
from studio.nodes.python_node import PYTHON, SOURCE, code_of, source_of
from studio.nodes.types import Role
from studio.training.data.data_chain import ChainOpener, DataProblem, chain_to
from studio.training.failures import error_message
from studio.training.run_settings import resolve_device

COMPUTED = frozenset({Role.LAYER, Role.OPERATION, Role.LOSS, Role.LOSS_SUM})
"""Roles of the nodes that compute tensors from tensors."""


class ProbeError(Exception):
    """A node cannot be computed. The text is for the user."""


@dataclass(frozen=True, slots=True)
class Computation:
    """A node that is ready to be computed."""

    path: str
    function: Any
    """A module, or a function of the tensors by name."""
    inputs: Mapping[str, Any]
    """Tensors by input port; positional for modules, in this order."""
    is_positional: bool

    def __call__(self, inputs: Mapping[str, Any] | None = None) -> tuple[Any, ...]:
        """The outputs in the order of the ports."""
        tensors = self.inputs if inputs is None else inputs
        found = self.function(*tensors.values()) if self.is_positional else self.function(**tensors)
        return tuple(found) if isinstance(found, (tuple, list)) else (found,)


class NodeProbe:
    """The nodes of a graph, with separate layers, so that neither a run nor the document is affected.

    Args:
        flow: the dataflow of a check
        opener: opens data, and keeps it open between probes
        weights: parameters and buffers by path, as in the state dict of the model; layers without entries, or with
            other shapes, have initial values
    """

    def __init__(self, flow: Dataflow, opener: ChainOpener, weights: Mapping[str, Any] | None = None) -> None:
        self._flow, self._opener, self._weights = flow, opener, weights or {}
        training = flow.document.training
        self.device = engine.device(resolve_device(training.device))
        self._precision = training.mixed_precision
        self._initial = Generator(training.seed)
        """Draws initial weights, so that they do not shift the random numbers of the nodes."""
        self._layers: dict[str, Any] = {}
        self._batches: dict[str, tuple[Any, ...]] = {}
        self._class_names: dict[str, tuple[str, ...]] = {}

    @property
    def needed(self) -> set[str]:
        """The nodes that a run uses, or all connected ones."""
        return self._flow.graph.needed

    def role(self, name: str) -> Role:
        return self._flow.graph.types[name].role

    def sources(self, name: str) -> dict[str, str]:
        """The nodes at the inputs of a node."""
        return {port: end.node for port, end in self._flow.graph.sources(name).items()}

    def order(self, ends: list[str]) -> list[str]:
        """These nodes and those that they depend on, in the order of computation, without nodes of a cycle."""
        upstream = self._flow.graph.upstream(ends)
        return [name for name in self._flow.graph.order if name in upstream]

    def run(
        self, ends: list[str], also: Collection[str] = (), *, gradients: bool = False
    ) -> Iterator[tuple[str, Mapping[str, Any], Computation | None]]:
        """Compute nodes and all that they depend on. A value is dropped after its last reader.

        Args:
            also: further nodes, which are skipped if they cannot be computed
            gradients: record the ops for a backward pass

        Yields:
            Path, values by output port, and for computed nodes how to compute them again.

        Raises:
            ProbeError: a node before them has a problem, or fails.
        """
        required, values = set(self.order(ends)), dict[Endpoint, Any]()
        order = [name for name in self._flow.graph.order if name in required or name in also]
        readers = Counter(end for name in order for end in self._flow.graph.sources(name).values())
        with drawing_from(Generator(self._flow.document.training.seed)):
            for name in order:
                role = self._flow.graph.types[name].role
                if role is Role.LOADER:
                    outputs, computation = tuple(part.clone() for part in self._batch(name)), None
                elif role in COMPUTED:
                    try:
                        computation = self._prepared(name, values)
                        outputs = self._computed(computation, gradients=gradients)
                    except ProbeError:
                        if name in required:
                            raise
                        continue
                else:
                    continue
                ports = [port.name for port in self._flow.graph.types[name].outputs]
                found = dict(zip(ports, outputs, strict=False))
                found = {port: value for port, value in found.items() if isinstance(value, engine.Tensor)}
                kept = found if gradients else {port: value.detach() for port, value in found.items()}
                values |= {Endpoint(name, port): value for port, value in kept.items()}
                yield name, found, computation
                for end in self._flow.graph.sources(name).values():
                    readers[end] -= 1
                    if not readers[end]:
                        values.pop(end, None)

    def class_names(self, loader: str) -> tuple[str, ...]:
        """Names of the classes of a loader's samples, once its batch was read; empty if they have none."""
        return self._class_names.get(loader, ())

    def layer(self, name: str) -> Any:
        """The layer of a node, which others may share. Raises ProbeError."""
        self._require_known(name, self._flow.facts[name], inputs=False)
        try:
            return self._layer(name)
        except Exception as error:
            raise ProbeError(f"{name} failed: {error_message(error)}") from error

    def precision(self) -> Any:
        """Context manager: the mixed precision of the project."""
        dtype = BY_NAME["float32" if self._precision == "off" else self._precision]
        return autocast(self.device.type, dtype, enabled=self._precision != "off")

    def _computed(self, computation: Computation, *, gradients: bool) -> tuple[Any, ...]:
        try:
            with engine.set_grad_enabled(gradients), self.precision():
                return computation()
        except Exception as error:
            raise ProbeError(f"{computation.path} failed: {error_message(error)}") from error

    def _batch(self, name: str) -> tuple[Any, ...]:
        """The first training batch in the order of the data."""
        if name not in self._batches:
            flow = self._flow
            try:
                splits = self._opener.open(chain_to(name, flow.document, flow.graph, flow.base))[-1]
                arguments = {**flow.facts[name].arguments.values, "workers": 0}
                loaders: Any = flow.graph.types[name].target
                with drawing_from(Generator(flow.document.training.seed)):
                    batch = next(iter(in_order(loaders(splits, **arguments).train)))
            except DataProblem as error:
                raise ProbeError(f"The data cannot be read: {error}") from error
            except StopIteration:
                raise ProbeError(f"{name} has no training samples.") from None
            except Exception as error:
                raise ProbeError(f"The data cannot be read: {error_message(error)}") from error
            self._batches[name] = tuple(part.to(self.device) for part in batch)
            self._class_names[name] = splits.class_names
        return self._batches[name]

    def _prepared(self, name: str, values: Mapping[Endpoint, Any]) -> Computation:
        facts = self._flow.facts[name]
        self._require_known(name, facts)
        sources = self._flow.graph.sources(name)
        ports = [port.name for port in facts.type.inputs]
        inputs = {port: values[sources[port]] for port in ports if port in sources and sources[port] in values}
        try:
            function, is_positional = self._function(name, facts, inputs)
        except UntrustedCodeError:
            raise ProbeError(f"{name} has Python code that you have not trusted, so it is not run.") from None
        except Exception as error:
            raise ProbeError(f"{name} failed: {error_message(error)}") from error
        gap = next((index for index, port in enumerate(ports) if port not in inputs), len(ports))
        return Computation(name, function, inputs, is_positional and gap >= len(inputs))

    def _require_known(self, name: str, facts: NodeFacts, *, inputs: bool = True) -> None:
        """Raise ProbeError if the check found that a node cannot be computed."""
        if facts.outcome.failure:
            raise ProbeError(f"{name} has a problem: {facts.outcome.failure.removesuffix('.')}.")
        if facts.arguments.problems:
            raise ProbeError(f"{name} has a problem: {facts.arguments.problems[0].message}")
        ports = facts.type.inputs if inputs else ()
        missing = next((port.name for port in ports if not self._has_value(name, facts, port.name)), None)
        if missing is not None:
            raise ProbeError(f"{name}.{missing} is not connected to data.")

    def _has_value(self, name: str, facts: NodeFacts, port: str) -> bool:
        declared = facts.type.input(port)
        is_optional = declared is not None and declared.optional
        return is_optional or port in facts.inputs or facts.arguments.values.get(port) is not None

    def _function(self, name: str, facts: NodeFacts, inputs: Mapping[str, Any]) -> tuple[Any, bool]:
        """What computes a node, and whether it takes its tensors by position."""
        arguments = facts.arguments.values
        if facts.type.key == PYTHON:
            return self._code(name, arguments), False
        match facts.type.role:
            case Role.OPERATION:
                return operation_function(facts.type, arguments, inputs), False
            case Role.LOSS_SUM:
                return lambda **losses: sum(arguments[WEIGHTS[port]] * value for port, value in losses.items()), False
            case _:
                return self._layer(name), True

    def _layer(self, name: str) -> Any:
        """The layer of a node, which others may share."""
        nodes = self._flow.document.nodes
        owner = layer_of(nodes, name)
        owner = owner if owner in self._flow.facts else name
        if owner not in self._layers:
            facts = self._flow.facts[owner]
            target: Any = facts.type.target
            with self.device, drawing_from(self._initial):
                arguments = resolve_paths(facts.type, facts.arguments.values, self._flow.base)
                layer = target(**without_initialization(arguments))
                for values in initial_values(facts.type.key, arguments):
                    values.apply(layer)
            self._load(layer, owner)
            layer.requires_grad_(not nodes[owner].frozen)
            self._layers[owner] = layer
            tied = tied_to(nodes, owner)
            if tied is not None and tied in self._flow.facts:
                layer.weight = self._layer(tied).weight
        return self._layers[owner]

    def _code(self, name: str, arguments: Mapping[str, Any]) -> Any:
        """The function of a Python node with its settings, or its module. Only trusted code is run."""
        if name in self._layers:
            return self._layers[name]
        source = source_of(arguments)
        loaded = load_code(source, f"<gradwire code of {name}>")
        settings = {key: value for key, value in arguments.items() if key != SOURCE}
        code = code_of(arguments)
        if code is not None and code.is_class:
            with self.device, drawing_from(self._initial):
                loaded = loaded(**settings)
            self._load(loaded, name)
            self._layers[name] = loaded
            return loaded
        return lambda **tensors: loaded(**tensors, **settings)

    def _load(self, layer: Any, path: str) -> None:
        """Copy the given weights of a layer, if their shapes fit."""
        prefix = f"{path}."
        given = {key[len(prefix) :]: value for key, value in self._weights.items() if key.startswith(prefix)}
        own = layer.state_dict()
        if given and own.keys() == given.keys() and all(own[key].shape == given[key].shape for key in own):
            layer.load_state_dict(given)


__all__ = ["COMPUTED", "Computation", "NodeProbe", "ProbeError"]
