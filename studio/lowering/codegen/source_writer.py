"""Base of the model and task generators: nodes, imported modules, and the node of each statement."""

from __future__ import annotations

import ast
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar, cast

from studio.document.blocks import block_nodes
from studio.document.blocks.block_edits import promoted_as
from studio.document.blocks.block_expansion import Scope
from studio.document.model import Endpoint, ParamRef
from studio.lowering.analysis.data_nodes import split_transform_arguments
from studio.lowering.analysis.dataflow import Dataflow
from studio.lowering.analysis.node_arguments import resolve_paths
from studio.lowering.analysis.node_evaluation import SampleSpec, schedule_arguments
from studio.lowering.analysis.node_facts import NodeFacts
from studio.lowering.analysis.scope_graphs import ScopeGraph
from studio.lowering.codegen import syntax_trees
from studio.lowering.codegen.code_sections import CodeSections
from studio.lowering.codegen.safe_identifiers import Locals, UnsafeSyntaxError, path_of
from studio.nodes import initialization
from studio.nodes.python_node import PYTHON, source_of
from studio.nodes.types import Role

Statement = TypeVar("Statement", bound=ast.stmt)

MODEL_ROLES = frozenset({Role.LAYER, Role.OPERATION, Role.BLOCK})


@dataclass(frozen=True, slots=True)
class BlockClass:
    """The generated class of a block."""

    title: str
    arguments: Mapping[str, Mapping[Scope, Any]]
    """Arguments of the constructor, whose values differ between instances, with the value in each scope."""
    inputs: tuple[str, ...]
    """Ports by which `forward` takes its tensors, and those that it returns."""
    outputs: tuple[str, ...]

    def values(self, argument: str, copies: Mapping[Scope, Sequence[Scope]]) -> dict[Scope, Any]:
        """The value of an argument for an instance that is not repeated, by the scope that it is in."""
        values = self.arguments[argument]
        return {scope: values.get(listed[0], next(iter(values.values()))) for scope, listed in copies.items()}


@dataclass(frozen=True, slots=True)
class ModuleNames:
    """What the names in the generated class of the model or of a block stand for."""

    block: str
    """Name of the definition; empty for the model."""
    inputs: tuple[Endpoint, ...]
    """The outputs that the arguments of `forward` are."""
    outputs: tuple[Endpoint, ...]
    """The outputs that `forward` returns."""
    ports: tuple[str, ...]
    """For a block: the ports of `outputs`."""
    available: Mapping[str, Endpoint]
    """For the model: outputs that can be arguments of `forward`, by name."""
    arguments: Mapping[str, frozenset[ParamRef]]
    """The parameters that each argument of the constructor sets."""


class SourceWriter:
    """State of code generation for one class: that of the canvas or of a block."""

    def __init__(
        self,
        flow: Dataflow,
        scopes: ScopeGraph,
        outer: SourceWriter | None = None,
        *,
        code: CodeSections | None = None,
    ) -> None:
        self.flow = flow
        self.code: CodeSections = code or (CodeSections(flow) if outer is None else outer.code)
        """The sources of Python nodes."""
        self.graph = scopes.graph
        """The graph as it is drawn: an instance is a node of it."""
        self.paths = {path for name in flow.graph.needed for path in block_nodes.path_and_outer(name)}
        """Paths of the nodes of the run and of the instances that they are in."""
        used = [scope for scope in scopes.scopes if scope.parent is None or scope.prefix.rstrip(".") in self.paths]
        self.scopes = used or scopes.scopes
        self.block = scopes.block
        self.base = flow.base
        self.modules: set[str] = set() if outer is None else outer.modules
        """Modules to import."""
        self.marks: list[tuple[ast.stmt, str]] = [] if outer is None else outer.marks
        """Generated statements with their nodes."""
        self.classes: dict[str, BlockClass] = {} if outer is None else outer.classes
        """The classes of blocks that are written, by block."""
        self.variables: dict[str, Mapping[Scope, Any]] = {}
        """Arguments of the constructor, for values that differ between scopes."""
        self.variable_refs: dict[str, set[ParamRef]] = {}
        """The parameters that each of them sets."""
        self.names: dict[str, ModuleNames] = {} if outer is None else outer.names
        """What the names in each class that is written stand for, by title."""
        self.values: dict[str, Mapping[str, Endpoint]] = {} if outer is None else outer.values
        """The output of a node that each variable has, by class."""
        self.order = self._needed_nodes()

    def _needed_nodes(self) -> list[str]:
        """The nodes of the run, in the order of computation."""
        graph = self.graph
        used = {name for name in graph.order if any(scope.prefix + name in self.paths for scope in self.scopes)}
        ports = block_nodes.output_ports(graph.document.nodes) if self.block else ()
        shown = [end for port in ports if (end := graph.source(port, block_nodes.TAKEN)) is not None]
        used |= {end.node for end in shown if self._is_passed_on(end)}
        for name in reversed(graph.order):  # instances without nodes, which pass their inputs on
            sources = graph.sources(name).values() if name in used else ()
            used |= {end.node for end in sources if graph.types[end.node].role is Role.BLOCK}
        order = [name for name in graph.order if name in used]
        for name in order:
            if graph.types[name].role not in (Role.BLOCK, Role.PORT):
                self.facts(name)  # raises if its type is not in the catalogue
        return order

    def _is_passed_on(self, end: Endpoint) -> bool:
        """Whether an output of an instance has the value of one of its inputs."""
        if self.graph.types[end.node].role is not Role.BLOCK:
            return False
        found = [(scope, self.flow.expansion.source(scope, end)) for scope in self.scopes]
        origins = [(scope, self.flow.graph.unmuted(origin)) for scope, origin in found if origin is not None]
        return any(
            origin is not None and not origin.node.startswith(f"{scope.prefix}{end.node}.") for scope, origin in origins
        )

    def with_role(self, *roles: Role) -> list[str]:
        """The nodes of the run that have one of these roles, in the order of computation."""
        return [name for name in self.order if self.graph.types[name].role in roles]

    def facts(self, name: str, scope: Scope | None = None) -> NodeFacts:
        """What is known of a node that is not an instance, in one scope or the first.

        Raises UnsafeSyntaxError if its type is not in the catalogue, because its key is untrusted.
        """
        found = self.flow.facts[(scope or self.scopes[0]).prefix + name]
        known = self.graph.catalogue.get(found.type.key)
        is_known = known is found.type or (known is not None and known.adapt is not None)
        if not is_known or known is None or known.target is not found.type.target:
            raise UnsafeSyntaxError(f"{name}, whose type is not in the catalogue")
        return found

    def mark(self, statement: Statement, name: str) -> Statement:
        """Record the node of a statement and return the statement.

        In a block, it is the node in the first instance, without the index of a copy: "encoder.fc".
        """
        parts = (self.scopes[0].prefix + name).split(".")
        self.marks.append((statement, ".".join(part for part in parts if not part.isdecimal())))
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
        facts = self.facts(name)
        if facts.type.key == PYTHON:
            return syntax_trees.name(self.code.entry(source_of(facts.node.params)))
        module, function = path_of(facts.type)
        return syntax_trees.attribute(self.module(module), function)

    def _keywords(self, name: str) -> dict[str, Any]:
        """Arguments to write: a value, or a variable if it differs between the scopes."""
        values: dict[str, dict[Scope, Any]] = {}
        for scope in self.scopes:
            facts = self.facts(name, scope)
            presets = {parameter.name for parameter in facts.type.params if parameter.is_preset}
            written = facts.arguments.explicit | facts.arguments.inferred | presets
            written -= {parameter.name for parameter in facts.type.params if parameter.is_code} | initialization.NAMES
            arguments = resolve_paths(facts.type, facts.arguments.values, self.base)
            for key, value in arguments.items():
                if key in written:
                    values.setdefault(key, {})[scope] = value
        complete = {key: self._complete(name, key, by_scope) for key, by_scope in values.items()}
        worded = {parameter.name for parameter in self.facts(name).type.params if parameter.words}
        return {
            key: self._elements(name, key, by_scope) if key in worded else self.value(name, key, by_scope)
            for key, by_scope in complete.items()
        }

    def _elements(self, name: str, param: str, values: Mapping[Scope, Any]) -> Any:
        """The value of an argument that may have words; its elements that differ between scopes are variables."""
        lengths = {len(cast("tuple[Any, ...]", value)) if isinstance(value, tuple) else 0 for value in values.values()}
        if len(lengths) != 1:
            return self.value(name, param, values)
        return tuple(
            self.value(name, param, {scope: value[index] for scope, value in values.items()})
            for index in range(lengths.pop())
        )

    def settings(self, name: str, stored: Callable[[str], ast.expr]) -> dict[str, Any]:
        """Arguments of an operation that are set. `stored` gives the attribute that holds an argument of the class."""
        explicit = {key for scope in self.scopes for key in self.facts(name, scope).arguments.explicit}
        explicit |= {parameter.name for parameter in self.facts(name).type.params if parameter.is_preset}
        values = {key: value for key, value in self._keywords(name).items() if key in explicit}
        return {key: _stored(value, stored) for key, value in values.items()}

    def reads(self, port: str) -> bool:
        """Whether an input port of the block has a value in an instance, and a needed node or an output reads it."""
        end = Endpoint(port, block_nodes.GIVEN)
        expansion = self.flow.expansion
        readers = [reader.node for reader in self.graph.readers(end)]
        is_read = any(name in self.order or self.graph.types[name].role is Role.PORT for name in readers)
        return is_read and any(expansion.source(scope, end) is not None for scope in self.scopes)

    def is_made(self, end: Endpoint, inputs: Collection[str]) -> bool:
        """Whether a node of the run makes an output of the block, or one of these input ports gives it."""
        if self.graph.types[end.node].role is Role.PORT:
            return end.node in inputs
        made = self.classes.get(block_nodes.name_of(self.graph.document.nodes[end.node]) or "")
        return end.node in self.order and (made is None or end.port in made.outputs)

    def _complete(self, name: str, key: str, values: dict[Scope, Any]) -> Mapping[Scope, Any]:
        """With the defaults of scopes that do not set the argument."""
        some = next(iter(values.values()))
        known = {scope: self.facts(name, scope).arguments.values for scope in self.scopes if scope not in values}
        return {scope: values[scope] if scope in values else known[scope].get(key, some) for scope in self.scopes}

    def value(self, name: str, param: str, values: Mapping[Scope, Any]) -> Any:
        """The value of an argument if it is the same in all scopes, otherwise a variable."""
        texts = [repr(value) for value in values.values()]
        if len(set(texts)) == 1:
            return next(iter(values.values()))
        for variable, others in self.variables.items():
            if [repr(others[scope]) for scope in values] == texts:
                self.variable_refs[variable].add(ParamRef(name, param))
                return syntax_trees.name(variable)
        definition = self.flow.expansion.document.blocks[self.block]
        wanted = promoted_as(definition, ParamRef(name, param)) or param
        if wanted in self.variables:
            wanted = f"{name}_{param}"
        variable = Locals([*self.variables, *self.titles()]).new(wanted)
        self.variables[variable] = values
        self.variable_refs[variable] = {ParamRef(name, param)}
        return syntax_trees.name(variable)

    def titles(self) -> list[str]:
        """Names of the classes that are written, and of the code of Python nodes."""
        return [*(each.title for each in self.classes.values()), *self.code.names]

    # -- values passed between methods

    def loaders(self) -> list[str]:
        return self.with_role(Role.LOADER)

    def batch(self) -> dict[Endpoint, str]:
        """The outputs of the loaders with readable variable names."""
        loaders = self.loaders()
        names: dict[Endpoint, str] = {}
        for loader in loaders:
            prefix = f"{loader}_" if len(loaders) > 1 else ""
            names |= {end: prefix + name for end, name in self._parts(loader).items()}
        return names

    def _parts(self, loader: str) -> dict[Endpoint, str]:
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
        return [sources[port.name] for port in self.graph.types[name].inputs if port.name in sources]

    def model_outputs(self) -> list[Endpoint]:
        """The outputs of the model that losses and metrics read."""
        ends = self.read_by(Role.LOSS, Role.METRIC)
        return [end for end in ends if self.graph.types[end.node].role in MODEL_ROLES]

    def model_inputs(self) -> list[Endpoint]:
        """The outputs of the loaders that the model reads."""
        read = self.read_by(*MODEL_ROLES)
        return [end for end in self.batch() if end in read]

    def local(self, end: Endpoint) -> str:
        """The preferred variable name of an output, before conflicts are resolved."""
        outputs = self.graph.types[end.node].outputs
        return end.node if len(outputs) == 1 else f"{end.node}_{end.port}"


def _stored(value: Any, stored: Callable[[str], ast.expr]) -> Any:
    """A value with the attributes of the class in place of arguments of its constructor."""
    if isinstance(value, tuple):
        return tuple(_stored(item, stored) for item in value)  # pyright: ignore[reportUnknownVariableType]
    return stored(value.id) if isinstance(value, ast.Name) else value
