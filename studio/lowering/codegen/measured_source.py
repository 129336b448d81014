"""The losses of a program with a report of each node's output, made of the verified syntax tree of the program.

Each `forward` becomes a function that takes the module and a report as well, and calls those of inner blocks:

    def _measured_Mlp(self, input, _report):
        fc1 = self.fc1(input)
        _report("fc1.output", fc1, self.fc1)
        ...

So the modules that train are measured, and nothing of the program changes. Metrics are left out, and what a program
computes again in the backward pass is computed once.
"""

from __future__ import annotations

import ast
import copy
from collections.abc import Iterator, Mapping

from studio.document.model import Endpoint
from studio.lowering.codegen.program_verification import COPIES
from studio.lowering.codegen.syntax_trees import argument, member
from studio.lowering.codegen.syntax_trees import name as named
from studio.lowering.codegen.syntax_trees import variable as assigned

LOSSES = "_measured_losses"
"""The function that computes the losses of a batch: `_measured_losses(task, batch, report)`."""

_REPORT, _INDEX = "_report", "_index"
"""Arguments and variables of the functions. No name in a program begins with an underscore."""


def measured_functions(tree: ast.Module, values: Mapping[str, Mapping[str, Endpoint]]) -> ast.Module:
    """The functions for a verified program, to be run where its classes are defined.

    Args:
        tree: the program
        values: the output of a node that each variable has, by class
    """
    classes = [statement for statement in tree.body if isinstance(statement, ast.ClassDef)]
    titles = {each.name for each in classes}
    functions: list[ast.stmt] = []
    for definition in classes[:-1]:
        functions += _ModuleFunctions(definition, values[definition.name], titles).all()
    functions.append(_losses(classes[-1], classes[-2].name, values[classes[-1].name]))
    return ast.fix_missing_locations(ast.Module(functions, []))


class _ModuleFunctions:
    """The functions of one module class."""

    def __init__(self, definition: ast.ClassDef, values: Mapping[str, Endpoint], titles: set[str]) -> None:
        self._title, self._values = definition.name, values
        self._methods = {each.name: each for each in definition.body if isinstance(each, ast.FunctionDef)}
        self._instances = {
            attribute: title
            for attribute, made in _attributes(self._methods["__init__"])
            if (title := _class_in(made, titles)) is not None
        }
        """The classes of the attributes that are instances of blocks, or lists of them."""

    def all(self) -> list[ast.stmt]:
        return [self._function(method) for name, method in self._methods.items() if name != "__init__"]

    def _function(self, method: ast.FunctionDef) -> ast.FunctionDef:
        body = [step for statement in method.body for step in self._steps(statement)]
        return _with_report(method, _function_name(self._title, method.name), body)

    def _steps(self, statement: ast.stmt) -> Iterator[ast.stmt]:
        if isinstance(statement, ast.For):
            yield from self._loop(statement)
        elif not isinstance(statement, ast.Assign) or isinstance(statement.value, ast.Name):
            yield statement
        elif isinstance(statement.value, ast.Call):
            yield from self._assignment(statement, statement.value)
        else:
            yield statement
            yield from self._reports(statement, _targets(statement), None)

    def _loop(self, loop: ast.For) -> Iterator[ast.stmt]:
        """`for _index, layer in enumerate(self.encoder): encoder = _measured_Block(layer, encoder, ...)`."""
        [step] = loop.body
        assert isinstance(step, ast.Assign)
        assert isinstance(step.value, ast.Call)
        targets = _targets(step)
        node = self._values[targets[0].id].node
        call = self._measured(loop.iter, loop.target, step.value.args, node, named(_INDEX, internal=True))
        again = copy.copy(loop)
        again.target = ast.Tuple([assigned(_INDEX, internal=True), loop.target], ast.Store())
        again.iter = ast.Call(named("enumerate"), [loop.iter], [])
        again.body = [_replaced(step, call)]
        yield again
        yield from self._reports(step, targets, None)

    def _assignment(self, statement: ast.Assign, call: ast.Call) -> Iterator[ast.stmt]:
        targets = _targets(statement)
        if _is_checkpoint(call):
            method, *given = call.args
            assert isinstance(method, ast.Attribute)
            name = _function_name(self._title, method.attr)
            report = named(_REPORT, internal=True)
            arguments = [named("self"), *given, report]
            yield _replaced(statement, ast.Call(named(name, internal=True), arguments, []))
            return
        layer = call.func if _is_attribute_of_self(call.func) else None
        if targets and isinstance(layer, ast.Attribute) and layer.attr in self._instances:
            node = self._values[targets[0].id].node
            yield _replaced(statement, self._measured(layer, layer, call.args, node))
            layer = None
        else:
            yield statement
        yield from self._reports(statement, targets, layer)

    def _measured(
        self, owner: ast.expr, module: ast.expr, arguments: list[ast.expr], node: str, index: ast.expr | None = None
    ) -> ast.Call:
        """The call of an instance, whose report is within that of its node."""
        assert isinstance(owner, ast.Attribute)
        inside = member(named(_REPORT, internal=True), "inside")
        report = ast.Call(inside, [ast.Constant(node), *([] if index is None else [index])], [])
        name = _function_name(self._instances[owner.attr], "forward")
        loaded = copy.copy(module)
        if isinstance(loaded, (ast.Name, ast.Attribute)):
            loaded.ctx = ast.Load()
        return ast.Call(named(name, internal=True), [loaded, *arguments, report], [])

    def _reports(self, statement: ast.stmt, targets: list[ast.Name], layer: ast.expr | None) -> Iterator[ast.stmt]:
        return _reports(statement, [(each.id, self._values[each.id]) for each in targets], layer)


def _losses(task: ast.ClassDef, model: str, values: Mapping[str, Endpoint]) -> ast.FunctionDef:
    """The function of the task: batch, model, losses."""
    method = next(each for each in task.body if isinstance(each, ast.FunctionDef) and each.name == "losses")
    body: list[ast.stmt] = []
    for statement in method.body:
        if isinstance(statement, ast.Expr):
            continue  # a metric
        body.append(statement)
        if not isinstance(statement, ast.Assign):
            continue
        targets = [(each.id, values[each.id]) for each in _targets(statement) if each.id in values]
        call = statement.value
        if isinstance(call, ast.Call) and isinstance(call.func, ast.Attribute) and call.func.attr == "model":
            report = named(_REPORT, internal=True)
            function = named(_function_name(model, "forward"), internal=True)
            body[-1] = _replaced(statement, ast.Call(function, [call.func, *call.args, report], []))
        else:
            body += _reports(statement, targets, None)
    return _with_report(method, LOSSES, body)


def _reports(statement: ast.stmt, values: list[tuple[str, Endpoint]], layer: ast.expr | None) -> Iterator[ast.stmt]:
    """`report("fc1.output", fc1, self.fc1)`, on the line of a statement."""
    for variable, end in values:
        arguments = [ast.Constant(f"{end.node}.{end.port}"), named(variable)]
        call = ast.Call(named(_REPORT, internal=True), [*arguments, *([] if layer is None else [layer])], [])
        yield ast.copy_location(ast.Expr(call), statement)


def _with_report(method: ast.FunctionDef, name: str, body: list[ast.stmt]) -> ast.FunctionDef:
    function, function.name, function.body = copy.copy(method), name, body
    function.args = copy.copy(method.args)
    function.args.args = [*method.args.args, argument(_REPORT, internal=True)]
    return function


def _replaced(statement: ast.Assign, value: ast.expr) -> ast.Assign:
    return ast.copy_location(ast.Assign(statement.targets, ast.copy_location(value, statement.value)), statement)


def _targets(statement: ast.Assign) -> list[ast.Name]:
    [target] = statement.targets
    parts = target.elts if isinstance(target, ast.Tuple) else [target]
    return [each for each in parts if isinstance(each, ast.Name)]


def _attributes(init: ast.FunctionDef) -> Iterator[tuple[str, ast.expr]]:
    """The attributes that a constructor sets, with their values."""
    for statement in init.body:
        if isinstance(statement, ast.Assign) and _is_attribute_of_self(statement.targets[0]):
            assert isinstance(statement.targets[0], ast.Attribute)
            yield statement.targets[0].attr, statement.value


def _class_in(made: ast.expr, titles: set[str]) -> str | None:
    """The class of an instance or of a list of copies; None for library layers."""
    if not isinstance(made, ast.Call):
        return None
    if isinstance(made.func, ast.Attribute) and made.func.attr == COPIES[1] and len(made.args) == 1:
        listed = made.args[0]
        return _class_in(listed.elt, titles) if isinstance(listed, ast.ListComp) else None
    return made.func.id if isinstance(made.func, ast.Name) and made.func.id in titles else None


def _is_checkpoint(call: ast.Call) -> bool:
    return isinstance(call.func, ast.Attribute) and ast.unparse(call.func) == "checkpoint.checkpoint"


def _is_attribute_of_self(value: ast.expr) -> bool:
    return isinstance(value, ast.Attribute) and isinstance(value.value, ast.Name) and value.value.id == "self"


def _function_name(title: str, method: str) -> str:
    return f"_measured_{title}" if method == "forward" else f"_measured_{title}_{method}"


__all__ = ["LOSSES", "measured_functions"]
