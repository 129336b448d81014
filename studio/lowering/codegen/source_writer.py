"""Base of the model and task generators: nodes, imported modules, and the node of each statement."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Mapping
from typing import Any, TypeVar

from studio.document.model import Endpoint
from studio.lowering.analysis.data_nodes import split_transform_arguments
from studio.lowering.analysis.dataflow import Dataflow
from studio.lowering.analysis.node_arguments import resolve_paths
from studio.lowering.analysis.node_evaluation import SampleSpec, schedule_arguments
from studio.lowering.analysis.node_facts import NodeFacts
from studio.lowering.codegen import syntax_trees
from studio.lowering.codegen.safe_identifiers import UnsafeSyntaxError, path_of
from studio.nodes.types import Role

Statement = TypeVar("Statement", bound=ast.stmt)

MODEL_ROLES = frozenset({Role.LAYER, Role.OPERATION})


class SourceWriter:
    """State of code generation for one document."""

    def __init__(self, flow: Dataflow) -> None:
        self.flow = flow
        self.graph = flow.graph
        self.base = flow.base
        self.order = [name for name in flow.graph.order if name in flow.graph.needed]
        self.modules: set[str] = set()
        """Modules to import."""
        self.marks: list[tuple[ast.stmt, str]] = []
        """Generated statements with their nodes."""

    def with_role(self, *roles: Role) -> list[str]:
        """The nodes of the run that have one of these roles, in the order of computation."""
        return [name for name in self.order if self.facts(name).type.role in roles]

    def facts(self, name: str) -> NodeFacts:
        """The type of a node. Raises UnsafeSyntaxError if it is not in the catalogue, because its key is untrusted."""
        found = self.flow.facts[name]
        if self.graph.catalogue.get(found.type.key) is not found.type:
            raise UnsafeSyntaxError(f"{name}, whose type is not in the catalogue")
        return found

    def mark(self, statement: Statement, name: str) -> Statement:
        """Record the node of a statement and return the statement."""
        self.marks.append((statement, name))
        return statement

    def module(self, name: str) -> str:
        """Record a module as imported and return its name."""
        self.modules.add(name)
        return name

    def construct(self, name: str, positional: Iterable[ast.expr] = ()) -> ast.Call:
        """`nn.Linear(in_features=64, out_features=128)`, with set, inferred and preset parameters as keywords."""
        return self._call(name, positional, self._keywords(name))

    def mapped(self, name: str, before: str) -> ast.Call:
        """`digits.map(transforms.Normalize(std=16.0))`, a transform of the samples in the variable `before`."""
        transform_arguments, map_arguments = split_transform_arguments(self._keywords(name))
        return syntax_trees.call(
            syntax_trees.attribute(before, "map"), [self._call(name, (), transform_arguments)], map_arguments
        )

    def schedule(self, name: str, optimizer: ast.expr) -> ast.Call:
        """`lr_scheduler.StepLR(self.adam, step_size=10)`."""
        return self._call(name, [optimizer], schedule_arguments(self._keywords(name)))

    def _call(self, name: str, positional: Iterable[ast.expr], keywords: Mapping[str, Any]) -> ast.Call:
        return syntax_trees.call(self.target(name), positional, keywords)

    def target(self, name: str) -> ast.expr:
        """`nn.Linear`, the function or class of a node."""
        module, function = path_of(self.facts(name).type)
        return syntax_trees.attribute(self.module(module), function)

    def _keywords(self, name: str) -> dict[str, Any]:
        facts = self.facts(name)
        arguments = resolve_paths(facts.type, facts.arguments.values, self.base)
        presets = {parameter.name for parameter in facts.type.params if parameter.is_preset}
        names = facts.arguments.explicit | facts.arguments.inferred | presets
        return {key: value for key, value in arguments.items() if key in names}

    # -- values passed between methods

    def loader(self) -> str:
        return self.with_role(Role.LOADER)[0]

    def batch(self) -> dict[Endpoint, str]:
        """The outputs of the loader with readable variable names."""
        loader = self.loader()
        sample = next(iter(self.facts(loader).inputs.values()))
        images = isinstance(sample, SampleSpec) and sample.input.ndim == 3
        labels = isinstance(sample, SampleSpec) and sample.classes is not None
        names = ("images" if images else "inputs", "labels" if labels else "targets")
        ports = [port.name for port in self.facts(loader).type.outputs]
        return {Endpoint(loader, port): name for port, name in zip(ports, names, strict=True)}

    def read_by(self, *roles: Role) -> list[Endpoint]:
        """The outputs that nodes with these roles read, without duplicates, in order of first use."""
        ends = (end for name in self.with_role(*roles) for end in self.inputs(name))
        return list(dict.fromkeys(ends))

    def inputs(self, name: str) -> list[Endpoint]:
        """The outputs connected to a node, in the order of its ports."""
        sources = self.graph.sources(name)
        return [sources[port.name] for port in self.facts(name).type.inputs if port.name in sources]

    def model_outputs(self) -> list[Endpoint]:
        """The outputs of the model that losses and metrics read."""
        ends = self.read_by(Role.LOSS, Role.METRIC)
        return [end for end in ends if self.facts(end.node).type.role in MODEL_ROLES]

    def model_inputs(self) -> list[Endpoint]:
        """The outputs of the loader that the model reads."""
        read = self.read_by(*MODEL_ROLES)
        return [end for end in self.batch() if end in read]

    def local(self, end: Endpoint) -> str:
        """The preferred variable name of an output, before conflicts are resolved."""
        outputs = self.facts(end.node).type.outputs
        return end.node if len(outputs) == 1 else f"{end.node}_{end.port}"
