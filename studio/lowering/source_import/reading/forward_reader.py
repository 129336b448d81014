"""Read `forward` of a module class: which tensors each layer, operation and block takes."""

from __future__ import annotations

import ast
import copy
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from studio.lowering.codegen.safe_identifiers import METHODS
from studio.lowering.source_import.reading.call_arguments import CallArguments, folded
from studio.lowering.source_import.reading.callables import (
    OPERATORS,
    FunctionTarget,
    ImportedNames,
    function_type,
)
from studio.lowering.source_import.reading.constructor_reader import Constructor, Layer, source_argument
from studio.lowering.source_import.reading.definition_values import to_json
from studio.lowering.source_import.reading.known_statements import Statement, read_statement, variables_of
from studio.lowering.source_import.reading.literal_values import literal_value
from studio.lowering.source_import.reading.module_source import ModuleSource, NodeSource, Tensor, Value
from studio.lowering.source_import.reading.recorded_nodes import RecordedNodes, Result
from studio.lowering.source_import.reading.source_errors import refuse, shown
from studio.lowering.source_import.reading.variable_names import (
    assigned_names,
    owner_calls,
    plain_arguments,
    target_names,
)
from studio.nodes.adapted_ports import CountedOutputs
from studio.nodes.catalogue import Catalogue
from studio.nodes.operation_table import DTYPES
from studio.nodes.python_node import PYTHON, source_of
from studio.nodes.python_source import read_code
from studio.nodes.slice_text import slice_problem
from studio.nodes.syntax_nodes import SLICE
from studio.nodes.types import NodeType

_CHECKPOINT = "utils.checkpoint.checkpoint"


@dataclass(frozen=True, slots=True)
class Forward:
    inputs: tuple[str, ...]
    nodes: dict[str, NodeSource]
    results: tuple[Tensor, ...]
    result_names: tuple[str, ...]
    return_line: int
    methods: frozenset[str]
    """The methods that were read."""


def read_forward(
    methods: Mapping[str, ast.FunctionDef],
    made: Constructor,
    names: ImportedNames,
    classes: Mapping[str, ModuleSource],
    catalogue: Catalogue,
    statements: Mapping[str, tuple[str, ...]],
) -> Forward:
    """Read `forward` and the methods that it calls. Raises SourceError."""
    reader = _Reader(methods, made, names, classes, catalogue, statements)
    forward = methods["forward"]
    inputs = plain_arguments(forward, allow_defaults=True)
    reader.scope = {name: Tensor("", index) for index, name in enumerate(inputs)}
    line, returned = reader.body(forward)
    results = returned.elts if isinstance(returned, ast.Tuple) else [returned]
    tensors: list[Tensor] = []
    titles: list[str] = []
    for each in results:
        found = reader.result(each)
        listed = found if isinstance(found, tuple) else (found,)
        if None in listed:
            refuse(each, f"{shown(each)} is not a tensor.")
        tensors += [tensor for tensor in listed if tensor is not None]
        titles += [each.id if isinstance(each, ast.Name) else ""] * len(listed)
    return Forward(
        inputs, reader.recorded.nodes, tuple(tensors), tuple(titles), line, frozenset({"forward", *reader.inlined})
    )


class _Reader:
    def __init__(
        self,
        methods: Mapping[str, ast.FunctionDef],
        made: Constructor,
        names: ImportedNames,
        classes: Mapping[str, ModuleSource],
        catalogue: Catalogue,
        statements: Mapping[str, tuple[str, ...]],
    ) -> None:
        self._methods, self._made, self._names = methods, made, names
        self._statements = statements
        self._variables: set[str] = set()
        """The variables of the method that is read."""
        self._classes, self._catalogue = classes, catalogue
        self.scope: dict[str, Result] = {}
        self.recorded = RecordedNodes(made.layers, frozenset(owner_calls(methods.values())))
        self.inlined: list[str] = []
        """Methods that are being read or were read."""
        self._assigned: Counter[str] = Counter()
        """How often each variable of the method that is read is assigned."""

    # -- statements

    def body(self, method: ast.FunctionDef) -> tuple[int, ast.expr]:
        """Read all statements but the last. The line of the last, and what it returns."""
        statements = method.body
        if statements and isinstance(statements[0], ast.Expr) and isinstance(statements[0].value, ast.Constant):
            statements = statements[1:]
        last = statements[-1] if statements else method
        if not isinstance(last, ast.Return) or last.value is None:
            refuse(last, f"The last line of {method.name} must return a tensor.")
        outer, self._assigned = self._assigned, Counter(assigned_names(method))
        variables, self._variables = self._variables, variables_of(method)
        for statement in statements[:-1]:
            self._statement(statement)
        self._assigned, self._variables = outer, variables
        return last.lineno, last.value

    def _statement(self, statement: ast.stmt) -> None:
        match statement:
            case ast.Assign(targets=[target], value=value):
                self._assign(target, value)
            case ast.AugAssign(target=ast.Name() as target, op=op, value=value):
                left = copy.copy(target)
                left.ctx = ast.Load()
                self._assign(target, ast.copy_location(ast.BinOp(left, op, value), statement))
            case ast.For(body=[ast.Assign(targets=[target], value=value)], orelse=[]):
                self._loop(statement, target, value)
            case ast.If() | ast.While() | ast.For() | ast.With() | ast.Try():
                word = type(statement).__name__.lower()
                refuse(statement, f"A graph has no {word}. Write the calls one after the other.")
            case ast.Return():
                refuse(statement, "Only the last line of a method may return.")
            case _:
                refuse(statement, f"{shown(statement)} has no node. Assign the result of a layer: x = self.fc(x).")

    def _assign(self, target: ast.expr, value: ast.expr) -> None:
        names = target_names(target)
        is_unique = all(self._assigned[name] == 1 for name in names)
        wanted = tuple(names) if is_unique else ()
        known = read_statement(value, self._variables) if self._statements else None
        if known is not None and known.target in self._statements:
            result = self._known(value, known, wanted)
        else:
            result = self.result(value, wanted)
        if len(names) == 1:
            self.scope[names[0]] = result
            return
        if not isinstance(result, tuple) or len(result) != len(names):
            count = len(result) if isinstance(result, tuple) else 1
            refuse(target, f"{shown(value)} gives {count} tensors, not {len(names)}.")
        self.scope.update(zip(names, result, strict=True))

    def _known(self, value: ast.expr, statement: Statement, wanted: tuple[str, ...]) -> Result:
        """The node of a statement of the generated code."""
        ports = self._statements[statement.target]
        tensors = [self._tensor_in(value, self._variable(value, each)) for each in statement.variables]
        inputs = {str(index): tensor for index, tensor in enumerate(tensors)}
        return self.recorded.operation(statement.target, inputs, {}, value.lineno, ports, wanted)

    def _loop(self, statement: ast.For, target: ast.expr, value: ast.expr) -> None:
        """`for layer in self.encoder: x = layer(x)`."""
        match statement.target, statement.iter, value:
            case (
                ast.Name(id=variable),
                ast.Attribute(value=ast.Name(id="self"), attr=name),
                ast.Call(func=ast.Name(id=called), args=positional, keywords=[]),
            ) if called == variable and name in self._made.layers and self._made.layers[name].copies is not None:
                pass
            case _:
                refuse(statement, "A loop calls the copies of one block: for layer in self.blocks: x = layer(x).")
        names = target_names(target)
        first = positional[0] if positional else None
        chained = first.id if isinstance(first, ast.Name) and first.id == names[0] else None
        loops = [each for each in positional[1:] if isinstance(each, ast.Name) and each.id in names]
        if loops or (chained is None and first is not None and self._has_chain(name)):
            refuse(
                statement,
                "The copies of a block pass the first output to the first input, and other inputs stay the same: "
                "x = layer(x, mask).",
            )
        layer = self._made.layers[name]
        made = self._classes[layer.target]
        inputs = self._bound_tensors(value, positional, made.inputs)
        wanted = tuple(names) if not any(self._assigned[each] > 2 for each in names) else ()
        result = self.recorded.call(layer, inputs, statement.lineno, [""] * len(made.results), wanted)
        listed = result if isinstance(result, tuple) else (result,)
        if len(listed) != len(names):
            refuse(target, f"{shown(value)} gives {len(listed)} tensors, not {len(names)}.")
        self.scope.update(zip(names, listed, strict=True))

    def _has_chain(self, name: str) -> bool:
        made = self._classes[self._made.layers[name].target]
        return bool(made.inputs and made.results)

    # -- expressions

    def result(self, node: ast.expr, wanted: tuple[str, ...] = ()) -> Result:
        """The tensors of an expression. `wanted`: the variables that it is assigned to, if that happens once."""
        match node:
            case ast.Name(id=name):
                return self._variable(node, name)
            case ast.Constant(value=None):
                return None
            case ast.Call():
                return self._call(node, wanted)
            case ast.BinOp(left=left, op=op, right=right) if type(op) in OPERATORS:
                if isinstance(left, ast.Constant) and isinstance(op, (ast.Add, ast.Mult)):
                    left, right = right, left
                return self._function(node, self._operator(op), [left, right], [], wanted)
            case ast.UnaryOp(op=op, operand=operand) if type(op) in OPERATORS:
                return self._function(node, self._operator(op), [operand], [], wanted)
            case ast.Compare(left=left, ops=[op], comparators=[right]) if type(op) in OPERATORS:
                return self._function(node, self._operator(op), [left, right], [], wanted)
            case ast.Subscript():
                return self._subscript(node, wanted)
            case ast.Tuple(elts=parts):
                return tuple(self.tensor(part) for part in parts)
            case _:
                return refuse(node, f"{shown(node)} has no node. Use a layer or a function of the engine.")

    def _variable(self, node: ast.expr, name: str) -> Result:
        """The tensors that a variable has at an expression."""
        if name not in self.scope:
            refuse(node, f"{name} is not defined before this line.")
        return self.scope[name]

    def _operator(self, op: ast.AST) -> FunctionTarget:
        return FunctionTarget(self._catalogue[OPERATORS[type(op)]])

    def _subscript(self, node: ast.Subscript, wanted: tuple[str, ...]) -> Result:
        """An output of a layer with several, or the selection `x[:, -1]`."""
        found = self.result(node.value)
        if isinstance(found, tuple):
            index = literal_value(node.slice, {})
            if not isinstance(index, int) or isinstance(index, bool) or not 0 <= index < len(found):
                refuse(node, f"{shown(node.value)} gives {len(found)} tensors. Select one by its number.")
            return found[index]
        text = ast.unparse(node.slice).removeprefix("(").removesuffix(")")
        problem = slice_problem(text)
        if found is None or problem is not None:
            refuse(node, f"{shown(node)} has no node. The index {problem or 'is of no tensor'}.")
        return self.recorded.operation(SLICE, {"x": found}, {"index": text}, node.lineno, ("output",), wanted, ())

    def tensor(self, node: ast.expr, wanted: tuple[str, ...] = ()) -> Tensor:
        """The one tensor of an expression."""
        if isinstance(node, ast.Constant) and node.value is not None:
            refuse(node, f"{shown(node)} is not a tensor. An operation of a graph takes tensors.")
        return self._tensor_in(node, self.result(node, wanted))

    def _tensor_in(self, node: ast.expr, result: Result) -> Tensor:
        """The tensor of the result of an expression, if there is one."""
        if isinstance(result, tuple):
            if len(result) != 1:
                refuse(node, f"{shown(node)} gives {len(result)} tensors. Select one: {shown(node)}[0].")
            result = result[0]
        if result is None:
            refuse(node, "None is not a tensor.")
        return result

    def _call(self, node: ast.Call, wanted: tuple[str, ...]) -> Result:
        function = node.func
        if isinstance(function, ast.Attribute) and isinstance(function.value, ast.Name) and function.value.id == "self":
            return self._own(node, function.attr, wanted)
        path = self._names.path(function)
        if path == _CHECKPOINT:
            return self._checkpoint(node)
        if isinstance(function, ast.Name) and function.id in self._names.code:
            return self._code(node, function.id, wanted)
        if path is not None:
            found = function_type(self._catalogue, path)
            arguments = node.args
        elif isinstance(function, ast.Attribute):
            found = function_type(self._catalogue, f"{METHODS}.{function.attr}")
            arguments = [function.value, *node.args]
        else:
            found, arguments = None, []
        if found is None:
            refuse(node, f"{shown(function)} has no node. Use a layer or a function of the engine.")
        return self._function(node, found, arguments, node.keywords, wanted)

    def _own(self, node: ast.Call, name: str, wanted: tuple[str, ...]) -> Result:
        """The call of a layer, of a sequence of layers, or of a method."""
        if name in self._made.layers:
            layer = self._made.layers[name]
            if layer.copies is not None:
                refuse(
                    node, f"self.{name} is a list. Call its copies in a loop: for layer in self.{name}: x = layer(x)."
                )
            ports, outputs = self._ports(layer)
            return self.recorded.call(layer, self._bound_tensors(node, node.args, ports), node.lineno, outputs, wanted)
        if name in self._made.sequences:
            return self._sequence(node, self._made.sequences[name])
        if name in self._methods:
            return self._inline(node, name, node.args)
        return refuse(node, f"__init__ does not set self.{name}.")

    def _ports(self, layer: Layer) -> tuple[list[str], list[str]]:
        """Names of the inputs and the outputs of a layer; those of the outputs of an instance are unknown."""
        if layer.is_instance:
            made = self._classes[layer.target]
            return list(made.inputs), [""] * len(made.results)
        if layer.target == PYTHON:
            code = read_code(source_of(layer.arguments))
            return [each.name for each in code.inputs], list(code.outputs)
        node_type = self._catalogue[layer.target]
        return [port.name for port in node_type.inputs], [port.name for port in node_type.outputs]

    def _bound_tensors(self, call: ast.Call, positional: list[ast.expr], names: Any) -> dict[str, Tensor]:
        """Tensors by input; inputs that are None are absent."""
        if len(positional) > len(names):
            refuse(call, f"{shown(call.func)} takes {len(names)} tensors, not {len(positional)}.")
        given = dict(zip(names, positional, strict=False))
        for keyword in call.keywords:
            if keyword.arg is None or keyword.arg not in names or keyword.arg in given:
                refuse(keyword, f"{shown(call.func)} has no free input {keyword.arg}; it has {', '.join(names)}.")
            given[keyword.arg] = keyword.value
        absent = [name for name, value in given.items() if isinstance(value, ast.Constant) and value.value is None]
        return {name: self.tensor(value) for name, value in given.items() if name not in absent}

    def _sequence(self, node: ast.Call, members: tuple[str, ...]) -> Result:
        if len(node.args) != 1 or node.keywords:
            refuse(node, f"{shown(node.func)} takes one tensor.")
        result: Result = self.tensor(node.args[0])
        for member in members:
            layer = self._made.layers[member]
            if isinstance(result, tuple) or result is None:
                refuse(node, f"A layer before {layer.target} gives several tensors. Call the layers one by one.")
            ports, outputs = self._ports(layer)
            result = self.recorded.call(layer, dict.fromkeys(ports[:1], result), node.lineno, outputs, ())
        return result

    # -- methods

    def _checkpoint(self, node: ast.Call) -> Result:
        """`checkpoint.checkpoint(self.hidden_block, x)`."""
        match node.args:
            case [ast.Attribute(value=ast.Name(id="self"), attr=name), *values] if name in self._methods:
                pass
            case _:
                refuse(node, f"{shown(node)} recomputes no method of this class.")
        if self.recorded.recomputed or any(keyword.arg != "use_reentrant" for keyword in node.keywords):
            refuse(node, f"{shown(node)} is not a plain call of checkpoint.")
        self.recorded.recomputed = True
        result = self._inline(node, name, values)
        self.recorded.recomputed = False
        return result

    def _inline(self, node: ast.Call, name: str, values: list[ast.expr]) -> Result:
        if name in self.inlined or name == "forward":
            refuse(node, f"The method {name} is called twice. Its nodes can be computed once.")
        self.inlined.append(name)
        method = self._methods[name]
        arguments = plain_arguments(method)
        if len(arguments) != len(values) or (node.keywords and not self.recorded.recomputed):
            refuse(node, f"{name} takes {len(arguments)} tensors: {', '.join(arguments)}.")
        given = {argument: self.result(value) for argument, value in zip(arguments, values, strict=True)}
        outer, self.scope = self.scope, given
        _, returned = self.body(method)
        result = self.result(returned)
        self.scope = outer
        return result

    # -- operations and functions

    def _code(self, node: ast.Call, entry: str, wanted: tuple[str, ...]) -> Result:
        """`scaled(x, scale=2.0)`, a call of the function of a Python node."""
        source = self._names.code[entry]
        code = read_code(source)
        if code.is_class:
            refuse(node, f"{entry} is a class. Write self.name = {entry}() in __init__, and call self.name here.")
        params = {each.name for each in code.params}
        settings = {each.arg: self._setting(each.value) for each in node.keywords if each.arg in params}
        if len(node.args) > code.leading:
            tensors = "1 tensor" if code.leading == 1 else f"{code.leading} tensors"
            refuse(node, f"{entry} takes {tensors} by position. Pass other arguments by name.")
        call = ast.Call(node.func, node.args, [each for each in node.keywords if each.arg not in params])
        inputs = self._bound_tensors(ast.copy_location(call, node), node.args, [each.name for each in code.inputs])
        missing = next((each for each in code.inputs if not each.is_optional and each.name not in inputs), None)
        if missing is not None:
            refuse(node, f"{shown(node)} needs {missing.name}.")
        arguments = {**source_argument(source), **settings}
        return self.recorded.operation(PYTHON, inputs, arguments, node.lineno, code.outputs, wanted)

    def _function(
        self,
        node: ast.expr,
        target: FunctionTarget,
        positional: list[ast.expr],
        keywords: list[ast.keyword],
        wanted: tuple[str, ...],
    ) -> Result:
        if target.signature is None and not keywords:
            positional = folded(target.type, positional, lambda inner: self._operands(inner, target.type))
        given = CallArguments(node, positional, keywords, self.tensor, self._setting)
        inputs, arguments = given.of_layer(target) if target.signature is not None else given.of_operation(target.type)
        if isinstance(target.type.adapt, CountedOutputs) and len(wanted) > 1:
            arguments.setdefault(target.type.adapt.param, len(wanted))
        adapt, given = target.type.adapt, {key: to_json(value) for key, value in arguments.items()}
        outputs = (target.type if adapt is None else adapt(target.type, given, set())).outputs
        ports = tuple(port.name for port in outputs)
        known = ports if adapt is not None else ()
        return self.recorded.operation(target.type.key, inputs, arguments, node.lineno, ports, wanted, known)

    def _operands(self, node: ast.expr, node_type: NodeType) -> list[ast.expr]:
        """The operands of an expression that calls an operation without keywords; empty for other expressions."""
        match node:
            case ast.BinOp(left=left, op=op, right=right) if OPERATORS.get(type(op)) == node_type.key:
                return [left, right]
            case ast.Call(func=function, args=[_, _] as operands, keywords=[]):
                path = self._names.path(function)
                found = None if path is None else function_type(self._catalogue, path)
                return list(operands) if found is not None and found.type is node_type else []
            case _:
                return []

    def _setting(self, node: ast.expr) -> Value:
        """A parameter of an operation: a constant, a dtype, or an attribute that holds an argument."""
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "self":
            if node.attr in self._made.stored:
                return self._made.stored[node.attr]
            refuse(node, f"__init__ does not set self.{node.attr}.")
        if (path := self._names.path(node)) in DTYPES:
            return path
        return literal_value(node, {})


__all__ = ["Forward", "read_forward"]
