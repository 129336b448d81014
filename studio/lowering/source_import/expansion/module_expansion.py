"""Expand the module classes of a file to those that a graph can express. Nothing is executed.

Loops, conditions, helper functions and inherited methods become the layers and calls that they make. A class whose
structure depends on its arguments becomes a class for each of their values.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from studio.lowering.source_import.expansion.constructor_expansion import Evaluator
from studio.lowering.source_import.expansion.constructor_expressions import Expressions, NeedsConstants
from studio.lowering.source_import.expansion.expansion_values import (
    FUNCTIONS,
    Part,
    Scope,
    argument_defaults,
    expressions,
    is_constant,
    to_expression,
)
from studio.lowering.source_import.expansion.method_expansion import called_methods, expand_method
from studio.lowering.source_import.reading.callables import ImportedNames
from studio.lowering.source_import.reading.source_errors import SourceError, refuse, shown
from studio.lowering.source_import.reading.source_reader import Source

_MOST_CLASSES = 200
_DEEPEST = 20
"""Deepest nesting of classes that are expanded."""


def expand_modules(source: Source, name: str) -> Source:
    """The source with a class and those that it uses expanded.

    Raises:
        SourceError: it depends on something that is no constant.
    """
    file = _File(source)
    try:
        file.expand_with_defaults(name)
    except RecursionError:
        raise SourceError("The source is nested too deeply. Split it into several statements.") from None
    return replace(source, classes=file.expanded)


def expand_call(source: Source, call: ast.Call) -> tuple[Source, ast.Call]:
    """The source with the class expanded that a call makes, and a call of this class with the arguments that remain.

    Args:
        call: of a class, or of a function that returns an instance of one

    Raises:
        SourceError: it depends on something that is no constant.
    """
    file = _File(source)
    try:
        made = Evaluator(file, {}, ()).evaluate(call, {})
    except RecursionError:
        raise SourceError("The source is nested too deeply. Split it into several statements.") from None
    if not isinstance(made, ast.Call) or not isinstance(made.func, ast.Name) or made.func.id not in file.expanded:
        raise SourceError(f"{shown(call)} makes no instance of a module class of the file.")
    return replace(source, classes=file.expanded), made


class _File:
    def __init__(self, source: Source) -> None:
        self.names: ImportedNames = source.names
        self.classes: Mapping[str, ast.ClassDef] = source.classes
        self.functions = {each.name: each for each in source.others if isinstance(each, ast.FunctionDef)}
        self.constants: Scope = {}
        self.constants = self._constants(source.others)
        self.expanded: dict[str, ast.ClassDef] = {}
        self._structural: dict[str, set[str]] = {name: set() for name in source.classes}
        """Arguments that decide on the structure, by class."""
        self._titles: dict[tuple[str, str], str] = {}
        self._open: list[tuple[str, str]] = []

    def _constants(self, statements: Iterable[ast.stmt]) -> Scope:
        """The values of variables, as far as they are constants."""
        evaluator, found = Evaluator(self, {}, ()), Scope()
        for statement in statements:
            match statement:
                case ast.Assign(targets=[ast.Name(id=name)], value=value):
                    pass
                case ast.AnnAssign(target=ast.Name(id=name), value=ast.expr() as value):
                    pass
                case _:
                    continue
            calls = [each.func for each in ast.walk(value) if isinstance(each, ast.Call)]
            if not all(isinstance(each, ast.Name) and each.id in FUNCTIONS for each in calls):
                found.pop(name, None)
                continue
            try:
                part = evaluator.evaluate(value, found)
            except SourceError:
                found.pop(name, None)
                continue
            if is_constant(part):
                found[name] = part
        return found

    def is_defined(self, name: str) -> bool:
        """Whether a name is a class or a function of the file, or a class that was made of one."""
        return name in self.classes or name in self.functions or name in self.expanded

    def class_constants(self, title: str) -> Scope:
        definition = self.classes.get(title)
        if definition is None:
            return {}
        inherited: Scope = {}
        for base in definition.bases:
            inherited |= self.class_constants(base.id) if isinstance(base, ast.Name) and base.id != title else {}
        return {**inherited, **self._constants(definition.body)}

    def is_repeatable(self, title: str) -> bool:
        """Whether instances of a class may be copies of one: its structure depends on no argument."""
        try:
            self.expand(title, {})
        except NeedsConstants:
            return False
        return not self._structural[title]

    def instance(self, call: ast.Call, title: str, evaluator: Expressions) -> ast.Call:
        """A call of the expanded class with the arguments that remain."""
        init = self._init(title)
        given = evaluator.bound(init, call, {}, skip=1) if init is not None else Scope()
        made, fixed = self._variant(title, given, evaluator.arguments, call)
        rest = [ast.keyword(name, to_expression(part, call)) for name, part in given.items() if name not in fixed]
        function = ast.copy_location(ast.Name(made, ast.Load()), call.func)
        return ast.fix_missing_locations(ast.copy_location(ast.Call(function, [], rest), call))

    def expand_with_defaults(self, title: str) -> None:
        """Expand a class; arguments that decide on its structure have their defaults."""
        init = self._init(title)
        defaults = argument_defaults(init, 1)[1] if init is not None else {}
        evaluator = Evaluator(self, {}, ())
        given = {name: evaluator.evaluate(default, {}) for name, default in defaults.items()}
        self._variant(title, given, frozenset(), self.classes[title])

    def _variant(self, title: str, given: Scope, arguments: frozenset[str], at: ast.AST) -> tuple[str, Scope]:
        """The class for some values of its arguments, and those that decide on its structure.

        Args:
            arguments: names in the values that are arguments of the class around
        """
        self._structural[title] |= {name for name, part in given.items() if _is_structural(part, arguments)}
        while True:
            fixed = {name: given[name] for name in sorted(self._structural[title])}
            names = {each.id for part in fixed.values() for each in _names(part)} & arguments
            if names:
                raise NeedsConstants(frozenset(names), at)
            try:
                return self.expand(title, fixed), fixed
            except NeedsConstants as needed:
                self._add_structural(title, needed, given)

    def _add_structural(self, title: str, needed: NeedsConstants, given: Scope) -> None:
        if missing := next((name for name in needed.names if name not in given), None):
            refuse(
                needed.node,
                f"{shown(needed.node)} depends on the argument {missing}. Give it a default, or import a call.",
            )
        self._structural[title] |= needed.names

    def expand(self, title: str, fixed: Scope) -> str:
        """Expand a class for the values of some arguments of its constructor. The name of the result."""
        key = (title, repr({name: _written(part) for name, part in fixed.items()}))
        if key in self._titles:
            return self._titles[key]
        definition = self.classes[title]
        if key in self._open or len(self._open) > _DEEPEST or len(self.expanded) > _MOST_CLASSES:
            refuse(definition, f"The class {title} contains itself, or has too many variants.")
        self._open.append(key)
        try:
            made = self._class(definition, fixed)
        finally:
            self._open.remove(key)
        number = sum(1 for name, _ in self._titles if name == title)
        made.name = title if not number else f"{title}{number + 1}"
        while made.name in self.expanded or (number and made.name in self.classes):
            made.name += "_"
        self._titles[key] = made.name
        self.expanded[made.name] = made
        return made.name

    def _class(self, definition: ast.ClassDef, fixed: Scope) -> ast.ClassDef:
        methods, init = self._methods(definition.name), self._init(definition.name)
        declared, defaults = argument_defaults(init, 1) if init is not None else ([], {})
        free = [name for name in declared if name not in fixed]
        evaluator = Evaluator(self, methods, free)
        evaluator.attributes |= {f"self.{name}": part for name, part in self.class_constants(definition.name).items()}
        given: dict[str, Part] = {}
        for name in free:
            if name in defaults and not is_constant(given.setdefault(name, evaluator.evaluate(defaults[name], {}))):
                raise NeedsConstants(frozenset({name}), defaults[name])
        if init is not None:
            scope: Scope = {**fixed, **{name: ast.Name(name, ast.Load()) for name in free}}
            owner = self._owner(definition.name, "__init__")
            evaluator.run(init.body, scope, self._parent(owner))
        used = called_methods(methods)
        made = [expand_method(method, evaluator) for name, method in methods.items() if name in used]
        constructor = self._constructor(definition, free, given, evaluator)
        body: list[ast.stmt] = [*_docstring(definition, evaluator.initial_weights), constructor]
        return ast.copy_location(ast.ClassDef(definition.name, definition.bases, [], [*body, *made], []), definition)

    def _constructor(
        self, definition: ast.ClassDef, free: list[str], given: Scope, evaluator: Evaluator
    ) -> ast.FunctionDef:
        required = [name for name in free if name not in given]
        names = ["self", *required, *(name for name in free if name in given)]
        defaults = [to_expression(part, definition) for part in given.values()]
        arguments = ast.arguments([], list(map(ast.arg, names)), None, [], [], None, defaults)
        stored: list[ast.stmt] = []
        for key, part in evaluator.attributes.items():
            is_class = not is_constant(part) and not any(each.id in free for each in _names(part))
            if not isinstance(part, (list, dict)) and not is_class:
                target = ast.Attribute(ast.Name("self", ast.Load()), key.removeprefix("self."), ast.Store())
                stored.append(ast.Assign([target], to_expression(part, definition)))
        for each in stored:
            ast.copy_location(each, definition)
        layers = [*evaluator.made.values(), *evaluator.kept_initializations(), *evaluator.rest]
        made = ast.FunctionDef("__init__", arguments, [*stored, *layers], [])
        return ast.fix_missing_locations(ast.copy_location(made, definition))

    def _methods(self, title: str) -> dict[str, ast.FunctionDef]:
        """The methods of a class with those that it inherits, without the constructor."""
        parent = self._parent(self.classes[title])
        found = self._methods(parent.name) if parent is not None and parent.name != title else {}
        for each in self.classes[title].body:
            if isinstance(each, ast.FunctionDef) and each.name != "__init__":
                found[each.name] = each
        return found

    def _parent(self, definition: ast.ClassDef) -> ast.ClassDef | None:
        bases = [each.id for each in definition.bases if isinstance(each, ast.Name)]
        return next((self.classes[each] for each in bases if each in self.classes), None)

    def _owner(self, title: str, method: str) -> ast.ClassDef:
        """The class that defines a method."""
        definition = self.classes[title]
        own = any(isinstance(each, ast.FunctionDef) and each.name == method for each in definition.body)
        parent = self._parent(definition)
        return definition if own or parent is None else self._owner(parent.name, method)

    def _init(self, title: str) -> ast.FunctionDef | None:
        body = self._owner(title, "__init__").body
        return next((each for each in body if isinstance(each, ast.FunctionDef) and each.name == "__init__"), None)


def _docstring(definition: ast.ClassDef, initial_weights: Sequence[int]) -> Iterable[ast.stmt]:
    """The docstring, with a note on the lines that are left out."""
    text = ast.get_docstring(definition) or ""
    if initial_weights:
        lines = ", ".join(map(str, sorted(set(initial_weights))))
        text = f"{text}\n\nThe initial weights that the file sets (line {lines}) are not imported.".strip()
    if text:
        yield ast.copy_location(ast.Expr(ast.Constant(text)), definition)


def _names(part: Part) -> Iterable[ast.Name]:
    for expression in expressions(part):
        yield from (node for node in ast.walk(expression) if isinstance(node, ast.Name))


def _is_structural(part: Part, arguments: frozenset[str]) -> bool:
    """Whether a value cannot be a parameter: a dictionary, a class, a function or a layer."""
    if is_constant(part):
        return isinstance(part, dict)
    return not any(each.id in arguments for each in _names(part))


def _written(part: Part) -> str:
    return repr(part) if is_constant(part) else repr([ast.dump(each) for each in expressions(part)])


__all__ = ["expand_call", "expand_modules"]
