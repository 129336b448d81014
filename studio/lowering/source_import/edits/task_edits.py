"""Changed parameters in the task class: of data, losses, metrics, optimizers and schedules."""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping
from typing import Any, NoReturn, cast

from studio.document import edits
from studio.document.document_errors import EditError
from studio.document.model import Document, TrainingSettings
from studio.lowering.analysis.block_types import known_type
from studio.lowering.source_import.reading.definition_values import to_json
from studio.lowering.source_import.reading.literal_values import literal_value
from studio.lowering.source_import.reading.source_errors import SourceError, refuse, shown
from studio.nodes.catalogue import Catalogue


def edit_task(
    document: Document,
    catalogue: Catalogue,
    old: ast.ClassDef,
    new: ast.ClassDef,
    lines: Mapping[int, str],
    renamed: Mapping[str, str],
) -> Document:
    """Apply changed keyword arguments and settings. Raises SourceError for all other changes.

    Args:
        lines: nodes by line of the old source
        renamed: new names of nodes by their names in the old source
    """
    edit = _TaskEdit(document, catalogue, lines, renamed)
    edit.compare(old, new)
    return edit.document


class _TaskEdit:
    def __init__(
        self, document: Document, catalogue: Catalogue, lines: Mapping[int, str], renamed: Mapping[str, str]
    ) -> None:
        self.document, self._catalogue, self._lines, self._renamed = document, catalogue, lines, renamed
        self._locals: dict[str, str | None] = {}
        """New names of the variables of a method, as far as they are known."""

    def compare(self, old: ast.AST, new: ast.AST) -> None:
        match old, new:
            case ast.Call(), ast.Call():
                self._call(old, new)
            case ast.FunctionDef(name=title), ast.FunctionDef(name=other) if title == other:
                stored = [each.id for each in ast.walk(old) if isinstance(each, ast.Name) and _is_stored(each)]
                self._locals = dict.fromkeys(stored)
                self._fields(old, new)
            case ast.Name(id=name), ast.Name(id=other) if name != other and name in self._locals:
                known = self._locals[name]
                if known not in (None, other) or (known is None and other in self._locals.values()):
                    self._reject(new)
                self._locals[name] = other
            case ast.Attribute(attr=name), ast.Attribute(attr=other) if self._renamed.get(name) == other:
                self.compare(old.value, new.value)
            case (
                ast.Assign(targets=[ast.Name(id=name)], value=before),
                ast.Assign(targets=[ast.Name(id=other)], value=after),
            ) if name == other and name in TrainingSettings.__struct_fields__:
                if ast.dump(before) != ast.dump(after):
                    self._apply(after, lambda: edits.set_training(self.document, **{name: literal_value(after, {})}))
            case _:
                self._fields(old, new)

    def _fields(self, old: ast.AST, new: ast.AST) -> None:
        if type(old) is not type(new):
            self._reject(new)
        for name in old._fields:
            before, after = _listed(getattr(old, name, None)), _listed(getattr(new, name, None))
            if len(before) != len(after):
                self._reject(new)
            for first, second in zip(before, after, strict=True):
                if isinstance(first, ast.AST) and isinstance(second, ast.AST):
                    self.compare(first, second)
                elif first != second:
                    self._reject(new)

    def _call(self, old: ast.Call, new: ast.Call) -> None:
        before = {each.arg: each.value for each in old.keywords}
        after = {each.arg: each.value for each in new.keywords}
        if ast.dump(old.func) != ast.dump(new.func) or len(old.args) != len(new.args):
            self._reject(new)
        self.compare(old.func, new.func)
        for first, second in zip(old.args, new.args, strict=True):
            self.compare(first, second)
        for name, value in after.items():
            if name not in before or ast.dump(before[name]) != ast.dump(value):
                self._set(old, value, name)
        for name in before:
            if name not in after:
                self._set(old, new, name, is_removed=True)

    def _set(self, old: ast.Call, at: ast.expr, param: str | None, *, is_removed: bool = False) -> None:
        """Set or reset a parameter of the node of a line."""
        node = self._lines.get(old.lineno, "")
        node_type = known_type(self.document, self._catalogue, node) if node in self.document.nodes else None
        if param is None or node_type is None or node_type.param(param) is None:
            return self._reject(at)
        if is_removed:
            return self._apply(at, lambda: edits.clear_param(self.document, node, param))
        value = literal_value(at, {})
        return self._apply(at, lambda: edits.set_param(self.document, node, param, to_json(value)))

    def _apply(self, at: ast.expr, edit: Callable[[], Document]) -> None:
        try:
            self.document = edit()
        except EditError as error:
            refuse(at, str(error))

    def _reject(self, new: ast.AST) -> NoReturn:
        if not hasattr(new, "lineno"):
            raise SourceError("The class of the training can be changed on the canvas only, except for parameters.")
        refuse(
            new,
            f"{shown(new)} cannot be applied. In the class of the training, values of parameters can be changed here; "
            "change data, losses and optimizers on the canvas.",
        )


def _is_stored(name: ast.Name) -> bool:
    return isinstance(name.ctx, ast.Store)


def _listed(value: object) -> list[Any]:
    return cast("list[Any]", value) if isinstance(value, list) else [value]


__all__ = ["edit_task"]
