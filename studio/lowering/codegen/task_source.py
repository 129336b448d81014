"""Generate the task class: data, model, optimizers and losses."""

from __future__ import annotations

import ast
from functools import reduce

from studio.document.model import Endpoint, TrainingSettings
from studio.document.weight_sharing import tied_to
from studio.lowering.checks.training_goal_checks import trained_layers
from studio.lowering.codegen import syntax_trees
from studio.lowering.codegen.model_source import OWN_OF_TIED
from studio.lowering.codegen.safe_identifiers import Locals
from studio.lowering.codegen.source_writer import MODEL_ROLES, SourceWriter
from studio.lowering.schedules.schedule_chains import ScheduleChain, schedule_chains
from studio.nodes.loss_sum_node import WEIGHTS
from studio.nodes.schedule_nodes import PER_STEP
from studio.nodes.types import Role

STEP_SETTINGS = ("accumulate", "clip_norm", "clip_value", "mixed_precision")
"""Training settings that define a step."""


def task_class(writer: SourceWriter, title: str, model: str) -> ast.ClassDef:
    base = syntax_trees.attribute(writer.module("fit"), "Task")
    methods = [_data(writer), _configure(writer, model), _losses(writer, title)]
    return syntax_trees.subclass(title, base, [*_settings(writer.flow.document.training), *_per_step(writer), *methods])


def _settings(training: TrainingSettings) -> list[ast.stmt]:
    """Step settings of the project that differ from the defaults of tasks."""
    values = {name: getattr(training, name) for name in STEP_SETTINGS}
    defaults = TrainingSettings()
    return [
        syntax_trees.assign([syntax_trees.name(name)], syntax_trees.literal(value))
        for name, value in values.items()
        if value != getattr(defaults, name)
    ]


def _per_step(writer: SourceWriter) -> list[ast.stmt]:
    """The schedules that are stepped per optimizer step, except those that are so by default."""
    names = [
        chain.nodes[-1]
        for chain in _schedule_chains(writer)
        if chain.per_step and not (len(chain.nodes) == 1 and writer.facts(chain.nodes[0]).type.key in PER_STEP)
    ]
    return [syntax_trees.assign([syntax_trees.name("per_step")], syntax_trees.literal(tuple(names)))] if names else []


def _data(writer: SourceWriter) -> ast.FunctionDef:
    scope = Locals()
    names: dict[str, str] = {}
    body: list[ast.stmt] = []
    for name in writer.with_role(Role.SOURCE, Role.TRANSFORM, Role.DIVISION):
        before = [names[end.node] for end in writer.inputs(name)]
        if writer.facts(name).type.role is Role.TRANSFORM:
            value = writer.mapped(name, before[0])
        else:
            value = writer.construct(name, [syntax_trees.name(each) for each in before])
        names[name] = scope.new(name)
        body.append(writer.mark(syntax_trees.assign([syntax_trees.name(names[name])], value), name))
    made = {
        loader: writer.construct(loader, [syntax_trees.name(names[writer.inputs(loader)[0].node])])
        for loader in writer.loaders()
    }
    if len(made) == 1:
        [(loader, batches)] = made.items()
        return syntax_trees.method("data", (), [*body, writer.mark(syntax_trees.returns([batches]), loader)])
    joined: list[ast.expr] = []
    for loader, batches in made.items():
        local = scope.new(loader)
        body.append(writer.mark(syntax_trees.assign([syntax_trees.name(local)], batches), loader))
        joined.append(syntax_trees.name(local))
    return syntax_trees.method("data", (), [*body, _joined(writer, joined)])


def _joined(writer: SourceWriter, loaders: list[ast.expr]) -> ast.stmt:
    """`return data.JointBatches([images, text])`."""
    training, defaults = writer.flow.document.training, TrainingSettings()
    keywords: dict[str, str] = {}
    if training.joint_epoch != defaults.joint_epoch:
        keywords["epoch"] = training.joint_epoch
    if training.joint_order != defaults.joint_order:
        keywords["order"] = training.joint_order
    function = syntax_trees.attribute(writer.module("data"), "JointBatches")
    call = syntax_trees.call(function, [ast.List(loaders, ast.Load())], keywords)
    return writer.mark(syntax_trees.returns([call]), writer.loaders()[0])


def _configure(writer: SourceWriter, model: str) -> ast.FunctionDef:
    body: list[ast.stmt] = [
        syntax_trees.assign([syntax_trees.attribute("self", "model")], syntax_trees.call(syntax_trees.attribute(model)))
    ]
    for name in writer.with_role(Role.LOSS, Role.METRIC, Role.OPTIMIZER):
        trained = [_parameters(writer, name)] if writer.facts(name).type.role is Role.OPTIMIZER else []
        statement = syntax_trees.assign([syntax_trees.attribute("self", name)], writer.construct(name, trained))
        body.append(writer.mark(statement, name))
    return syntax_trees.method("configure", (), [*body, *_schedules(writer, model)])


def _schedules(writer: SourceWriter, model: str) -> list[ast.stmt]:
    """One attribute per chain of schedules, named after its last node."""
    scope = Locals([model])
    body: list[ast.stmt] = []
    for chain in _schedule_chains(writer):
        *before, last = chain.nodes
        optimizer = syntax_trees.attribute("self", str(writer.graph.driven_by(last)))
        if not before:
            statement = writer.schedule(last, optimizer)
            body.append(writer.mark(syntax_trees.assign([syntax_trees.attribute("self", last)], statement), last))
            continue
        names = [scope.new(name) for name in chain.nodes]
        for name, local in zip(chain.nodes, names, strict=True):
            statement = writer.schedule(name, optimizer)
            body.append(writer.mark(syntax_trees.assign([syntax_trees.name(local)], statement), name))
        parts = ast.List([syntax_trees.name(local) for local in names], ast.Load())
        joined = syntax_trees.call(
            syntax_trees.attribute(writer.module("lr_scheduler"), "SequentialLR"),
            [optimizer, parts],
            {"milestones": list(chain.milestones)},
        )
        body.append(writer.mark(syntax_trees.assign([syntax_trees.attribute("self", last)], joined), last))
    return body


def _schedule_chains(writer: SourceWriter) -> list[ScheduleChain]:
    return [
        chain for optimizer in writer.with_role(Role.OPTIMIZER) for chain in schedule_chains(writer.flow, optimizer)
    ]


def _parameters(writer: SourceWriter, optimizer: str) -> ast.expr:
    """All parameters for a single optimizer; with several optimizers or selected layers, those of its layers."""
    if len(writer.with_role(Role.OPTIMIZER)) == 1 and not writer.flow.document.nodes[optimizer].trains:
        return syntax_trees.call(syntax_trees.attribute("self", "model", "parameters"))
    layers = trained_layers(writer.flow, optimizer)
    model = syntax_trees.attribute("self", "model")
    parameters: list[ast.expr] = []
    for layer in layers:
        module = syntax_trees.submodule(model, layer)
        if tied_to(writer.flow.document.nodes, layer) is None:
            found = syntax_trees.call(syntax_trees.member(module, "parameters"))
            parameters.append(ast.Starred(found, ast.Load()))
        else:
            parameters.append(syntax_trees.member(module, OWN_OF_TIED))
    return ast.List(parameters, ast.Load())


def _losses(writer: SourceWriter, title: str) -> ast.FunctionDef:
    scope = Locals()
    losses = writer.with_role(Role.LOSS, Role.LOSS_SUM)
    names = {end: scope.new(writer.local(end)) for end in [*_outputs(writer, losses), *writer.model_outputs()]}
    read = writer.read_by(*MODEL_ROLES, Role.LOSS, Role.METRIC)
    batch = {end: scope.new(name) if end in read else "_" for end, name in writer.batch().items()}
    names.update(batch)
    writer.values[title] = {name: end for end, name in names.items() if name != "_"}
    unpacked = syntax_trees.assign([syntax_trees.name(name) for name in batch.values()], syntax_trees.name("batch"))
    nodes = writer.with_role(Role.LOSS, Role.LOSS_SUM, Role.METRIC)
    applied = [writer.mark(_apply(writer, name, names), name) for name in nodes]
    first = writer.mark(unpacked, writer.loaders()[0])
    return syntax_trees.method(
        "losses", ["batch"], [first, *_model_call(writer, names), *applied, _result(writer, names)]
    )


def _model_call(writer: SourceWriter, names: dict[Endpoint, str]) -> list[ast.stmt]:
    outputs = writer.model_outputs()
    targets: list[ast.expr] = [syntax_trees.name(names[end]) for end in outputs]
    arguments = [syntax_trees.name(names[end]) for end in writer.model_inputs()]
    return (
        [syntax_trees.assign(targets, syntax_trees.call(syntax_trees.attribute("self", "model"), arguments))]
        if outputs
        else []
    )


def _apply(writer: SourceWriter, name: str, names: dict[Endpoint, str]) -> ast.stmt:
    """The statements that apply a loss, a sum of losses or a metric to a batch."""
    inputs: list[ast.expr] = [syntax_trees.name(names[end]) for end in writer.inputs(name)]
    instance = syntax_trees.attribute("self", name)
    role = writer.facts(name).type.role
    if role is Role.METRIC:
        return ast.Expr(syntax_trees.call(syntax_trees.attribute("self", "measure"), [instance, *inputs]))
    value = _weighted_sum(writer, name, names) if role is Role.LOSS_SUM else _loss_call(writer, name, names)
    [end] = _outputs(writer, [name])
    return syntax_trees.assign([syntax_trees.name(names[end])], value)


def _loss_call(writer: SourceWriter, name: str, names: dict[Endpoint, str]) -> ast.expr:
    """`self.cross_entropy(logits, labels)`; inputs after one without a wire are keywords."""
    sources = writer.graph.sources(name)
    positional: list[ast.expr] = []
    keywords: dict[str, ast.expr] = {}
    for index, port in enumerate(writer.facts(name).type.inputs):
        if port.name in sources:
            value = syntax_trees.name(names[sources[port.name]])
            if len(positional) == index:
                positional.append(value)
            else:
                keywords[port.name] = value
    return syntax_trees.call(syntax_trees.attribute("self", name), positional, keywords)


def _weighted_sum(writer: SourceWriter, name: str, names: dict[Endpoint, str]) -> ast.expr:
    """`a + 0.5 * b`."""
    sources, values = writer.graph.sources(name), writer.facts(name).arguments.values
    terms: list[ast.expr] = []
    for port, parameter in WEIGHTS.items():
        if port in sources:
            loss, weight = syntax_trees.name(names[sources[port]]), values[parameter]
            terms.append(loss if weight == 1 else ast.BinOp(syntax_trees.literal(weight), ast.Mult(), loss))
    return reduce(lambda left, right: ast.BinOp(left, ast.Add(), right), terms)


def _result(writer: SourceWriter, names: dict[Endpoint, str]) -> ast.stmt:
    optimizers = writer.with_role(Role.OPTIMIZER)
    keys: list[ast.expr | None] = [syntax_trees.attribute("self", name) for name in optimizers]
    values: list[ast.expr] = [syntax_trees.name(names[writer.inputs(name)[0]]) for name in optimizers]
    return writer.mark(ast.Return(ast.Dict(keys, values)), optimizers[0])


def _outputs(writer: SourceWriter, names: list[str]) -> list[Endpoint]:
    return [Endpoint(name, port.name) for name in names for port in writer.facts(name).type.outputs]
