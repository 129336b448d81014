"""Mistakes in the source of Python nodes, found in its syntax tree. The source is read, never executed."""

from __future__ import annotations

import ast
from dataclasses import dataclass
from functools import lru_cache

from studio.lowering.user_code.code_findings import CodeFunction, Finding, Rule
from studio.lowering.user_code.code_values import TensorNames
from studio.lowering.user_code.gradient_rules import without_gradient
from studio.lowering.user_code.initialization_rules import unusual_weights
from studio.lowering.user_code.kept_rules import kept_tensors
from studio.lowering.user_code.layer_rules import direct_forward, fixed_mode
from studio.lowering.user_code.registration_rules import unregistered
from studio.lowering.user_code.source_edits import TextEdit, edited, start_of
from studio.lowering.user_code.value_rules import (
    default_device,
    fixed_device,
    printed_values,
    training_step,
    values_read,
)
from studio.nodes.python_source import CodeError, code_tree, read_code

RULES: tuple[Rule, ...] = (
    direct_forward,
    training_step,
    kept_tensors,
    fixed_mode,
    unregistered,
    unusual_weights,
    without_gradient,
    fixed_device,
    default_device,
    values_read,
    printed_values,
)


@dataclass(frozen=True, slots=True)
class CodeMistake:
    """A mistake of one kind, at the first line that has it."""

    code: str
    line: int
    message: str
    """What the line does, and the next step."""
    title: str = ""
    """Title of the fix."""
    source: str | None = None
    """The source without any mistake of this kind; None if it cannot be corrected automatically."""


@lru_cache(maxsize=256)
def code_mistakes(source: str) -> tuple[CodeMistake, ...]:
    """The mistakes of a source that can be used, one for each kind; empty for other sources."""
    try:
        functions = code_functions(source)
        found = [each for function in functions for rule in RULES for each in rule(function)]
    except (CodeError, RecursionError):
        return ()
    found.sort(key=lambda finding: start_of(finding.node))
    by_code: dict[str, list[Finding]] = {}
    for each in found:
        by_code.setdefault(each.code, []).append(each)
    return tuple(_mistake(source, each) for each in by_code.values())


def _mistake(source: str, found: list[Finding]) -> CodeMistake:
    first = found[0]
    corrected = edited(source, _separate_edits(found)) if all(each.edits for each in found) else None
    if corrected is not None and (left := [each for each in code_mistakes(corrected) if each.code == first.code]):
        corrected = left[0].source  # such as float() of what was a number before, or the next of two lines to remove
    return CodeMistake(first.code, first.node.lineno, first.message, first.title, corrected)


def _separate_edits(found: list[Finding]) -> list[TextEdit]:
    """The edits of findings, without those that overlap with earlier ones."""
    edits: list[TextEdit] = []
    for each in found:
        new = [edit for edit in each.edits if edit not in edits]
        if all(edit.end <= other.start or other.end <= edit.start for edit in new for other in edits):
            edits += new
    return edits


def code_functions(source: str) -> list[CodeFunction]:
    """All functions and methods. Only of the one that the node calls it is known which arguments are tensors."""
    code, tree = read_code(source), code_tree(source)
    classes = [each for each in tree.body if isinstance(each, ast.ClassDef)]
    modules = frozenset(each.name for each in classes if any("Module" in ast.unparse(base) for base in each.bases))
    inputs = frozenset(each.name for each in code.inputs)
    pairs = [(each, None) for each in tree.body if isinstance(each, ast.FunctionDef)]
    pairs += [(each, owner) for owner in classes for each in owner.body if isinstance(each, ast.FunctionDef)]
    found: list[CodeFunction] = []
    for function, owner in pairs:
        is_called = (owner or function).name == code.entry and (owner is None or function.name == "forward")
        found.append(
            CodeFunction(function, owner, TensorNames(function, inputs if is_called else frozenset()), modules, source)
        )
    return found


__all__ = ["CodeMistake", "code_functions", "code_mistakes"]
