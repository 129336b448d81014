"""Generate a module class, of the model or of a block: layers in `__init__`, calls in `forward`."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby, takewhile
from typing import Any

from engine import nn
from studio.document.blocks import block_nodes
from studio.document.model import Endpoint
from studio.document.weight_sharing import layer_of, tied_to
from studio.lowering.codegen import syntax_trees
from studio.lowering.codegen.frozen_layers import FrozenLayers
from studio.lowering.codegen.initial_weights import InitialWeights
from studio.lowering.codegen.operation_calls import operation_call
from studio.lowering.codegen.safe_identifiers import Locals
from studio.lowering.codegen.source_writer import MODEL_ROLES, BlockClass, ModuleNames, SourceWriter
from studio.nodes.adapted_ports import CountedOutputs
from studio.nodes.python_node import PYTHON, code_of
from studio.nodes.types import Role

OWN_OF_TIED = "bias"
"""The parameter that a layer with a tied weight does not share."""


@dataclass(frozen=True, slots=True)
class LayerSetup:
    """What constructors do with layers besides making them."""

    frozen: FrozenLayers
    initial: InitialWeights


def model_class(writer: SourceWriter, title: str, setup: LayerSetup) -> ast.ClassDef:
    """The class of the model."""
    batch = writer.batch()
    module = _ModuleSource(writer, {end: batch[end] for end in writer.model_inputs()}, setup)
    outputs = writer.model_outputs()
    layers, forward = module.layers(), module.forward(outputs)
    writer.names[title], writer.values[title] = module.meaning(outputs), module.values()
    for path in setup.initial.rest():
        layers += [writer.mark(each, path) for each in setup.initial.statements(path, path)]
    for path in setup.frozen.rest():
        is_tied = tied_to(writer.flow.document.nodes, path) is not None
        layers.append(writer.mark(_freeze(f"{path}.{OWN_OF_TIED}" if is_tied else path), path))
    return module.class_of(title, layers, forward)


def block_class(writer: SourceWriter, title: str, setup: LayerSetup) -> ast.ClassDef:
    """The class of a block. How instances use it is added to `writer.classes`."""
    nodes = writer.graph.document.nodes
    inputs = [port for port in block_nodes.input_ports(nodes) if writer.reads(port)]
    shown = {port: writer.graph.source(port, block_nodes.TAKEN) for port in block_nodes.output_ports(nodes)}
    outputs = {port: end for port, end in shown.items() if end is not None and writer.is_made(end, inputs)}
    module = _ModuleSource(writer, {Endpoint(port, block_nodes.GIVEN): port for port in inputs}, setup)
    layers, forward = module.layers(), module.forward(list(outputs.values()))
    definition = module.class_of(title, layers, forward)
    writer.names[title] = module.meaning(list(outputs.values()), list(outputs))
    writer.values[title] = module.values()
    writer.classes[writer.block] = BlockClass(title, dict(writer.variables), tuple(inputs), tuple(outputs))
    return definition


class _ModuleSource:
    """The methods of one class."""

    def __init__(self, writer: SourceWriter, inputs: Mapping[Endpoint, str], setup: LayerSetup) -> None:
        self._writer, self._setup = writer, setup
        self._nodes = writer.with_role(*MODEL_ROLES)
        self._locals = Locals(writer.titles())
        self._methods = Locals({*writer.order, *dir(nn.Module)})
        ends = [Endpoint(name, port) for name in self._nodes for port in self._outputs(name)]
        self._names = {end: self._locals.new(writer.local(end)) for end in ends}
        self._inputs = {end: self._locals.new(name) for end, name in inputs.items()}
        self._names |= self._inputs
        self._stored: dict[str, str] = {}
        """Attributes for arguments that `forward` reads, by argument."""

    def class_of(self, title: str, layers: list[ast.stmt], forward: list[ast.FunctionDef]) -> ast.ClassDef:
        parent = syntax_trees.call(syntax_trees.attribute("super"))
        body: list[ast.stmt] = [ast.Expr(syntax_trees.call(syntax_trees.member(parent, "__init__")))]
        for argument, attribute in self._stored.items():
            body.append(syntax_trees.assign([syntax_trees.attribute("self", attribute)], syntax_trees.name(argument)))
        init = syntax_trees.method("__init__", self._writer.variables, [*body, *layers])
        base = syntax_trees.attribute(self._writer.module("nn"), "Module")
        return syntax_trees.subclass(title, base, [init, *forward])

    def meaning(self, outputs: Sequence[Endpoint], ports: Sequence[str] = ()) -> ModuleNames:
        """What the names in the class stand for."""
        return ModuleNames(
            self._writer.block,
            tuple(self._inputs),
            tuple(outputs),
            tuple(ports),
            {} if self._writer.block else {name: end for end, name in self._writer.batch().items()},
            {variable: frozenset(refs) for variable, refs in self._writer.variable_refs.items()},
        )

    def values(self) -> dict[str, Endpoint]:
        """The output of a node that each variable has."""
        return {name: end for end, name in self._names.items()}

    # -- layers

    def layers(self) -> list[ast.stmt]:
        """The statements that make the layers."""
        writer, body = self._writer, list[ast.stmt]()
        nodes = writer.graph.document.nodes
        names = writer.with_role(Role.LAYER, Role.BLOCK)
        for name in names:
            if self._layer(name) != name:
                continue
            is_block = writer.graph.types[name].role is Role.BLOCK
            made = self._instance(name) if is_block else writer.construct(name)
            body.append(writer.mark(syntax_trees.assign([syntax_trees.attribute("self", name)], made), name))
            if self._setup.initial.take(writer.scopes, name):
                path = writer.scopes[0].prefix + name
                body += [writer.mark(each, name) for each in self._setup.initial.statements(path, name)]
            if self._setup.frozen.take(writer.scopes, name):
                body.append(writer.mark(_freeze(name), name))
        return [*body, *(writer.mark(_tie(name, owner), name) for name in names if (owner := tied_to(nodes, name)))]

    def _attribute(self, name: str) -> ast.expr:
        """The attribute with the layer that a node calls, which may be that of another node."""
        return syntax_trees.attribute("self", self._layer(name))

    def _layer(self, name: str) -> str:
        """The node whose attribute a node calls: itself if its owner is not in the run, as both have no weights."""
        layer = layer_of(self._writer.graph.document.nodes, name)
        return layer if layer in self._nodes else name

    def _instance(self, name: str) -> ast.expr:
        """`Residual(width=64)`, or a list of copies: `nn.ModuleList([Residual(width=64) for _ in range(3)])`."""
        writer = self._writer
        made = self._class(name)
        copies = {scope: scope.copies[name] for scope in writer.scopes}
        if not self._is_indexed(name):
            return _construct(made, {arg: writer.value(name, arg, made.values(arg, copies)) for arg in made.arguments})
        same: dict[str, Any] = {}
        per_copy: dict[str, Any] = {}
        for argument, values in made.arguments.items():
            rows = {scope: tuple(values.get(copy) for copy in listed) for scope, listed in copies.items()}
            if all(len(set(map(repr, row))) == 1 for row in rows.values()):
                same[argument] = writer.value(name, argument, {scope: row[0] for scope, row in rows.items()})
            else:
                per_copy[argument] = writer.value(name, argument, rows)
        scope = Locals([*writer.variables, *writer.titles()])
        variables = {argument: scope.new(argument) for argument in per_copy}
        counts = writer.value(name, block_nodes.REPEAT, {scope: len(listed) for scope, listed in copies.items()})
        looped = {argument: syntax_trees.name(variable) for argument, variable in variables.items()}
        listed = syntax_trees.comprehension(
            _construct(made, {argument: looped.get(argument, same.get(argument)) for argument in made.arguments}),
            list(variables.values()),
            list(per_copy.values()) or [counts],
        )
        return syntax_trees.call(syntax_trees.attribute(writer.module("nn"), "ModuleList"), [listed])

    # -- forward

    def forward(self, results: Sequence[Endpoint]) -> list[ast.FunctionDef]:
        """`forward`, and a method for each sequence of nodes whose activations are recomputed."""
        writer = self._writer
        body: list[ast.stmt] = []
        methods: list[ast.FunctionDef] = []
        flags = writer.graph.document.nodes
        for recomputed, run in groupby(self._nodes, key=lambda name: flags[name].recomputed):
            if recomputed:
                call, method = self._checkpointed(list(run), results)
                body.append(call)
                methods.append(method)
            else:
                body += [step for name in run for step in self._steps(name)]
        returned = syntax_trees.returns([syntax_trees.name(self._names[end]) for end in results])
        return [syntax_trees.method("forward", self._inputs.values(), [*body, returned]), *methods]

    def _checkpointed(self, nodes: list[str], outputs: Sequence[Endpoint]) -> tuple[ast.stmt, ast.FunctionDef]:
        """`relu = checkpoint.checkpoint(self.hidden_block, flatten)`, and the method that computes it."""
        writer, names = self._writer, self._names
        title = self._methods.new(f"{nodes[0]}_block")
        made = [Endpoint(name, port) for name in nodes for port in self._outputs(name)]
        given = [end for end in dict.fromkeys(end for name in nodes for end in self._read(name)) if end not in made]
        wanted = {*(end for name in self._nodes if name not in nodes for end in self._read(name)), *outputs}
        results = [syntax_trees.name(names[end]) for end in made if end in wanted]
        again = syntax_trees.attribute(writer.module("checkpoint"), "checkpoint")
        arguments = [syntax_trees.attribute("self", title), *(syntax_trees.name(names[end]) for end in given)]
        call = syntax_trees.assign(list(results), syntax_trees.call(again, arguments))
        steps = [step for name in nodes for step in self._steps(name)]
        returned = syntax_trees.returns([syntax_trees.name(names[end]) for end in made if end in wanted])
        method = syntax_trees.method(title, [names[end] for end in given], [*steps, returned])
        return writer.mark(call, nodes[0]), method

    def _steps(self, name: str) -> list[ast.stmt]:
        """The statements that compute a node."""
        role = self._writer.graph.types[name].role
        if role is Role.BLOCK:
            steps = self._instance_steps(name)
        else:
            value = self._operation(name) if role is Role.OPERATION else self._layer_call(name)
            unpacks = isinstance(self._writer.graph.types[name].adapt, CountedOutputs)
            steps: list[ast.stmt] = [syntax_trees.assign(self._targets(name), value, unpacks=unpacks)]
        return [self._writer.mark(step, name) for step in steps]

    def _layer_call(self, name: str) -> ast.Call:
        positional: list[ast.expr] = []
        keywords: dict[str, ast.expr] = {}
        sources = self._sources(name)
        for index, port in enumerate(self._writer.graph.types[name].inputs):
            if port.name not in sources:
                continue
            value = syntax_trees.name(self._names[sources[port.name]])
            if len(positional) < index:
                keywords[port.name] = value  # an optional input before it was left empty
            else:
                positional.append(value)
        return syntax_trees.call(self._attribute(name), positional, keywords)

    def _operation(self, name: str) -> ast.expr:
        """`engine.add(a, b)`, or `engine.cat([a, b], dim=1)`."""
        writer, node_type = self._writer, self._writer.graph.types[name]
        sources = self._sources(name)
        tensors: dict[str, ast.expr] = {
            port.name: syntax_trees.name(self._names[sources[port.name]])
            for port in node_type.inputs
            if port.name in sources
        }
        if node_type.key == PYTHON:
            return self._code_call(name, tensors)
        return operation_call(node_type, writer.settings(name, self._stored_attribute), tensors, writer.module)

    def _code_call(self, name: str, tensors: Mapping[str, ast.expr]) -> ast.expr:
        """`scaled(x, scale=2.0)`, a call of the function of a Python node."""
        writer = self._writer
        code = code_of(writer.facts(name).node.params)
        assert code is not None, "the check found no error in the source"
        leading = [tensors.get(each.name) for each in code.inputs[: code.leading]]
        positional = list(takewhile(lambda tensor: tensor is not None, leading))
        named = dict(list(tensors.items())[len(positional) :])
        settings = writer.settings(name, self._stored_attribute)
        return syntax_trees.call(
            writer.target(name), [each for each in positional if each is not None], named | settings
        )

    def _stored_attribute(self, argument: str) -> ast.expr:
        if argument not in self._stored:
            self._stored[argument] = self._methods.new(argument)
        return syntax_trees.attribute("self", self._stored[argument])

    def _instance_steps(self, name: str) -> list[ast.stmt]:
        """The call of an instance, or a loop over its copies."""
        made, sources = self._class(name), self._sources(name)
        arguments: dict[str, ast.expr] = {
            port: syntax_trees.name(self._names[sources[port]]) if port in sources else ast.Constant(None)
            for port in made.inputs
        }
        own = self._attribute(name)
        if not self._is_indexed(name):
            return [syntax_trees.assign(self._targets(name), syntax_trees.call(own, list(arguments.values())))]
        nodes = self._writer.flow.expansion.document.blocks[self._block(name)].nodes
        first, chained = block_nodes.input_ports(nodes)[:1], block_nodes.output_ports(nodes)[:1]
        steps: list[ast.stmt] = []
        if first and first[0] in arguments and chained and chained[0] in made.outputs:
            variable = self._names[Endpoint(name, chained[0])]
            steps.append(syntax_trees.assign([syntax_trees.name(variable)], arguments[first[0]]))
            arguments[first[0]] = syntax_trees.name(variable)
        copy = self._locals.new("layer")
        called = syntax_trees.call(syntax_trees.name(copy), list(arguments.values()))
        return [*steps, syntax_trees.loop(copy, own, [syntax_trees.assign(self._targets(name), called)])]

    # -- ports

    def _block(self, name: str) -> str:
        return block_nodes.name_of(self._writer.graph.document.nodes[name]) or ""

    def _class(self, name: str) -> BlockClass:
        return self._writer.classes[self._block(name)]

    def _is_indexed(self, name: str) -> bool:
        scope = self._writer.scopes[0]
        return scope.copies[name][0].prefix != f"{scope.prefix}{name}."

    def _outputs(self, name: str) -> Iterable[str]:
        node_type = self._writer.graph.types[name]
        return self._class(name).outputs if node_type.role is Role.BLOCK else [port.name for port in node_type.outputs]

    def _targets(self, name: str) -> list[ast.expr]:
        return [syntax_trees.name(self._names[Endpoint(name, port)]) for port in self._outputs(name)]

    def _sources(self, name: str) -> dict[str, Endpoint]:
        """The outputs that a node reads, by input. Inputs of the block that no instance wires have no value."""
        return {port: end for port, end in self._writer.graph.sources(name).items() if end in self._names}

    def _read(self, name: str) -> list[Endpoint]:
        return [end for end in self._writer.inputs(name) if end in self._names]


def _construct(made: BlockClass, arguments: Mapping[str, Any]) -> ast.Call:
    return syntax_trees.call(syntax_trees.attribute(made.title), (), arguments)


def _freeze(path: str) -> ast.stmt:
    """`self.hidden.requires_grad_(False)`."""
    method = syntax_trees.member(syntax_trees.submodule(syntax_trees.attribute("self"), path), "requires_grad_")
    return ast.Expr(syntax_trees.call(method, [syntax_trees.literal(value=False)]))


def _tie(name: str, owner: str) -> ast.stmt:
    """`self.scores.weight = self.embedding.weight`."""
    target, value = (syntax_trees.attribute("self", each, "weight") for each in (name, owner))
    return syntax_trees.assign([target], value)


__all__ = ["OWN_OF_TIED", "LayerSetup", "block_class", "model_class"]
