"""Statements of generated code that stand for one node although they contain several calls, such as formulas.

They are recognized in edited code as long as only their variables change.
"""

from __future__ import annotations

import ast
import copy
from collections.abc import Collection, Mapping
from dataclasses import dataclass

from studio.document.blocks.block_edits import view
from studio.document.model import Document
from studio.lowering.analysis.block_types import known_type
from studio.lowering.codegen.source_writer import ModuleNames
from studio.nodes.catalogue import Catalogue
from studio.nodes.growing_inputs import GrowingInputs
from studio.nodes.operation_nodes import BATCH_SIZE
from studio.nodes.python_node import PYTHON
from studio.nodes.syntax_nodes import FORMULA, SLICE
from studio.nodes.types import NodeType, Role

PREFIX = "statement "
"""Beginning of the target of a node that is known by its statement."""


@dataclass(frozen=True, slots=True)
class Statement:
    """The right side of an assignment, with its variables numbered."""

    text: str
    variables: tuple[str, ...]
    """In order of their first use."""

    @property
    def target(self) -> str:
        return PREFIX + self.text


def read_statement(value: ast.expr, variables: Collection[str]) -> Statement:
    """The statement of an expression. `variables` are the names that are variables."""
    numbers: dict[str, int] = {}

    class Numbered(ast.NodeTransformer):
        def visit_Name(self, node: ast.Name) -> ast.expr:
            if node.id not in variables:
                return node
            return ast.Constant(f"\0{numbers.setdefault(node.id, len(numbers))}")

    text = ast.dump(Numbered().visit(copy.deepcopy(value)))
    return Statement(text, tuple(numbers))


def known_statements(
    document: Document,
    catalogue: Catalogue,
    classes: Mapping[str, ast.ClassDef],
    names: Mapping[str, ModuleNames],
    lines: Mapping[int, str],
) -> dict[str, dict[str, tuple[str, ...]]]:
    """By class, the targets of statements with the output ports of their nodes.

    Args:
        lines: nodes by line
    """
    found: dict[str, dict[str, tuple[str, ...]]] = {}
    for title, definition in classes.items():
        block = names[title].block
        shown = view(document, block) if block else document
        for method in definition.body:
            variables = variables_of(method)
            for statement in ast.walk(method):
                name = lines.get(getattr(statement, "lineno", 0), "").rpartition(".")[2]
                if not isinstance(statement, ast.Assign) or name not in shown.nodes:
                    continue
                node_type = known_type(shown, catalogue, name)
                if node_type is not None and _is_compound(node_type, shown.nodes[name].params):
                    ports = tuple(port.name for port in node_type.outputs)
                    found.setdefault(title, {})[read_statement(statement.value, variables).target] = ports
    return found


def variables_of(method: ast.stmt) -> set[str]:
    """The arguments and variables of a method."""
    arguments = {node.arg for node in ast.walk(method) if isinstance(node, ast.arg)} - {"self"}
    stored = {node.id for node in ast.walk(method) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)}
    return arguments | stored


def _is_compound(node_type: NodeType, params: Mapping[str, object]) -> bool:
    if node_type.role is not Role.OPERATION or node_type.key == PYTHON:
        return False
    has_batch = any(isinstance(value, list) and BATCH_SIZE in value for value in params.values())
    is_adapted = node_type.adapt is not None and not isinstance(node_type.adapt, GrowingInputs)
    return node_type.key in (FORMULA, SLICE) or has_batch or is_adapted


__all__ = ["PREFIX", "known_statements", "read_statement", "variables_of"]
