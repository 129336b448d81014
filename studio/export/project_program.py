"""The generated program of a project, taken apart for its package."""

from __future__ import annotations

import ast
from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path

from engine.system.syntax import parse_source
from studio.document.model import Document, TrainingSettings
from studio.lowering.codegen.code_sections import CodeSection
from studio.lowering.program import Program, lower
from studio.lowering.report import Report


@dataclass(frozen=True, slots=True)
class ProjectProgram:
    """The classes of a program as syntax trees."""

    name: str
    """Name of the project."""
    document: Document
    report: Report
    program: Program
    base: Path | None
    """Folder of the project file, which relative paths of data start from."""
    model_classes: tuple[ast.ClassDef, ...]
    """Classes of the blocks and, last, of the model."""
    task: ast.ClassDef

    @property
    def training(self) -> TrainingSettings:
        return self.document.training

    @property
    def code(self) -> tuple[CodeSection, ...]:
        return self.program.code

    def method(self, name: str) -> ast.FunctionDef:
        """A method of the task: "data", "configure" or "losses"."""
        return next(each for each in self.task.body if isinstance(each, ast.FunctionDef) and each.name == name)

    def setting(self, name: str) -> object:
        """A class attribute of the task, such as `clip_norm`; None if it has the default."""
        for statement in self.task.body:
            match statement:
                case ast.Assign(targets=[ast.Name(id=found)], value=value) if found == name:
                    return ast.literal_eval(value)
                case _:
                    continue
        return None

    def node_at(self, line: int) -> str | None:
        return self.program.lines.get(line)


def project_program(
    document: Document, report: Report, name: str, base: Path | None, reserved: Collection[str]
) -> ProjectProgram:
    """Generate the program of a checked document.

    Args:
        reserved: names that its classes and variables cannot have

    Raises LoweringError if the document has errors or code that is not trusted.
    """
    program = lower(report, name, reserved=reserved)
    ends = [(each.first_line, each.last_line) for each in program.code]
    classes = [
        each
        for each in parse_source(program.source).body
        if isinstance(each, ast.ClassDef) and not any(first <= each.lineno <= last for first, last in ends)
    ]
    *models, task = classes
    return ProjectProgram(name, document, report, program, base, tuple(models), task)


__all__ = ["ProjectProgram", "project_program"]
