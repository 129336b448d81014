"""Generate the model class: layers in `__init__`, calls in `forward`."""

from __future__ import annotations

import ast
from itertools import groupby

from engine import nn
from studio.document.model import Endpoint
from studio.lowering.analysis.node_evaluation import takes_list
from studio.lowering.checks.training_goal_checks import untrained_layers
from studio.lowering.codegen import syntax_trees
from studio.lowering.codegen.safe_identifiers import Locals
from studio.lowering.codegen.source_writer import MODEL_ROLES, SourceWriter
from studio.nodes.types import Role


def model_class(writer: SourceWriter, title: str) -> ast.ClassDef:
    base = syntax_trees.attribute(writer.module("nn"), "Module")
    forward, blocks = _forward(writer)
    return syntax_trees.subclass(title, base, [_init(writer), forward, *blocks])


def _init(writer: SourceWriter) -> ast.FunctionDef:
    parent = syntax_trees.call(syntax_trees.attribute("super"))
    body: list[ast.stmt] = [ast.Expr(syntax_trees.call(syntax_trees.member(parent, "__init__")))]
    untrained = set(untrained_layers(writer.flow))
    for name in writer.with_role(Role.LAYER):
        layer = syntax_trees.assign([syntax_trees.attribute("self", name)], writer.construct(name))
        body.append(writer.mark(layer, name))
        frozen = writer.flow.document.nodes[name].frozen and writer.facts(name).info.parameters
        if frozen or name in untrained:
            freeze = syntax_trees.call(
                syntax_trees.attribute("self", name, "requires_grad_"), [syntax_trees.literal(value=False)]
            )
            body.append(writer.mark(ast.Expr(freeze), name))
    return syntax_trees.method("__init__", (), body)


def _forward(writer: SourceWriter) -> tuple[ast.FunctionDef, list[ast.FunctionDef]]:
    """The `forward` method, and one method per block with activation checkpointing."""
    scope, titles = Locals(), Locals({*writer.order, *dir(nn.Module)})
    nodes = writer.with_role(*MODEL_ROLES)
    names = {end: scope.new(writer.local(end)) for name in nodes for end in _outputs(writer, name)}
    batch = writer.batch()
    inputs = {end: scope.new(batch[end]) for end in writer.model_inputs()}
    names.update(inputs)
    body: list[ast.stmt] = []
    blocks: list[ast.FunctionDef] = []
    for recomputed, run in groupby(nodes, key=lambda name: writer.flow.document.nodes[name].recomputed):
        if recomputed:
            title = titles.new(f"{(members := list(run))[0]}_block")
            call, block = _block(writer, title, members, names)
            body.append(call)
            blocks.append(block)
        else:
            body += [writer.mark(_step(writer, name, names), name) for name in run]
    results = [syntax_trees.name(names[end]) for end in writer.model_outputs()]
    return syntax_trees.method("forward", inputs.values(), [*body, syntax_trees.returns(list(results))]), blocks


def _block(
    writer: SourceWriter, title: str, nodes: list[str], names: dict[Endpoint, str]
) -> tuple[ast.stmt, ast.FunctionDef]:
    """`relu = checkpoint.checkpoint(self.hidden_block, flatten)`, and the method of the block."""
    outputs = {end: None for name in nodes for end in _outputs(writer, name)}
    inputs = [end for end in dict.fromkeys(end for name in nodes for end in writer.inputs(name)) if end not in outputs]
    other_nodes = [name for name in writer.with_role(*MODEL_ROLES) if name not in nodes]
    read_elsewhere = {*(end for name in other_nodes for end in writer.inputs(name)), *writer.model_outputs()}
    results = [end for end in outputs if end in read_elsewhere]
    checkpoint = syntax_trees.attribute(writer.module("checkpoint"), "checkpoint")
    arguments = [syntax_trees.attribute("self", title), *(syntax_trees.name(names[end]) for end in inputs)]
    call = syntax_trees.assign(
        [syntax_trees.name(names[end]) for end in results], syntax_trees.call(checkpoint, arguments)
    )
    steps: list[ast.stmt] = [writer.mark(_step(writer, name, names), name) for name in nodes]
    returned = syntax_trees.returns([syntax_trees.name(names[end]) for end in results])
    return writer.mark(call, nodes[0]), syntax_trees.method(title, [names[end] for end in inputs], [*steps, returned])


def _step(writer: SourceWriter, name: str, names: dict[Endpoint, str]) -> ast.Assign:
    targets: list[ast.expr] = [syntax_trees.name(names[end]) for end in _outputs(writer, name)]
    if writer.facts(name).type.role is Role.OPERATION:
        return syntax_trees.assign(targets, _operation(writer, name, names))
    positional: list[ast.expr] = []
    keywords: dict[str, ast.expr] = {}
    sources = writer.graph.sources(name)
    for port in writer.facts(name).type.inputs:
        if port.name not in sources:
            continue
        value = syntax_trees.name(names[sources[port.name]])
        if len(positional) < writer.facts(name).type.inputs.index(port):
            keywords[port.name] = value  # an optional input before it was left empty
        else:
            positional.append(value)
    return syntax_trees.assign(targets, syntax_trees.call(syntax_trees.attribute("self", name), positional, keywords))


def _operation(writer: SourceWriter, name: str, names: dict[Endpoint, str]) -> ast.Call:
    """`engine.add(a, b)`, or `engine.cat([a, b], dim=1)`."""
    facts = writer.facts(name)
    tensors: list[ast.expr] = [syntax_trees.name(names[end]) for end in writer.inputs(name)]
    positional = [ast.List(tensors, ast.Load())] if takes_list(facts.type) else tensors
    statics = {key: value for key, value in facts.arguments.values.items() if key in facts.arguments.explicit}
    return syntax_trees.call(writer.target(name), positional, statics)


def _outputs(writer: SourceWriter, name: str) -> list[Endpoint]:
    return [Endpoint(name, port.name) for port in writer.facts(name).type.outputs]
