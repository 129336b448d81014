"""Write the files of a package for the engine."""

from __future__ import annotations

import ast
import os
from collections.abc import Iterable, Mapping
from pathlib import Path

from engine.registry import DATASETS
from engine.system.syntax import parse_source
from studio.export.data_plan import DataPlan
from studio.export.project_program import ProjectProgram
from studio.export.shipped_source import ShippedSource, decided, names_in, shipped_text, split
from studio.export.source_format import source_of
from studio.lowering.codegen import syntax_trees
from studio.lowering.codegen.safe_identifiers import MODULES, SUBPACKAGES

TRAINER = "engine/trainer.py"
PATHS = ("HERE", "CHECKPOINTS")
STANDARD = {
    "argparse": "import argparse",
    "json": "import json",
    "Path": "from pathlib import Path",
}
LOCAL = {"loaders": "from data import loaders"}
LIBRARIES = {
    "F": "from engine.nn import functional as F",
    "torch": "import engine as torch",
    "Tensor": "from engine import Tensor",
    "load_file": "from engine.io import load_file, save_file",
}
RESERVED = frozenset({*STANDARD, *LOCAL, "save_file", "os", "FOLDER"})
"""Names that the classes and variables of a package cannot have, besides the modules of each program."""


def reserved_names() -> frozenset[str]:
    return RESERVED | split(shipped_text(TRAINER)).definitions.keys()


def engine_files(project: ProjectProgram, plan: DataPlan, folder: Path) -> dict[str, str]:
    """The text of `model.py`, `data.py` and `train.py` by name.

    Args:
        folder: the folder of the package, from which relative paths of data start
    """
    return {
        "model.py": _model(project),
        "data.py": _data(project, plan, folder),
        "train.py": _train(project),
    }


def _model(project: ProjectProgram) -> str:
    sections: list[str] = []
    hoisted: list[str] = []
    for section in project.code:
        lines, start = section.text.split("\n"), 0
        parts: list[str] = []
        for statement in parse_source(section.text).body:
            if isinstance(statement, (ast.Import, ast.ImportFrom)):
                hoisted.append(ast.unparse(statement))
            else:
                parts.append("\n".join(lines[start : statement.end_lineno]).strip("\n"))
            start = statement.end_lineno or 0
        sections.append(f"# Python node {', '.join(section.nodes)}\n" + "\n\n\n".join(parts))
    text = "\n\n\n".join([*sections, *(source_of([each]) for each in project.model_classes)])
    return _file(f"The model: {project.program.model_class}.", text, hoisted=hoisted)


def _data(project: ProjectProgram, plan: DataPlan, folder: Path) -> str:
    method = _Paths(folder).visit(project.method("data"))
    assert isinstance(method, ast.FunctionDef)
    documented = [ast.Expr(ast.Constant("Training and validation batches.")), *method.body]
    function = source_of([syntax_trees.function("loaders", (), documented)])
    head = "FOLDER = Path(__file__).resolve().parent\n\n\n" if "FOLDER" in function else ""
    return _file("The data: samples, transforms and batches.", head + function)


class _Paths(ast.NodeTransformer):
    """Writes the paths of data files relative to the package."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder.absolute()
        self._paths = {
            entry.key.rpartition(".")[2]: {each.name for each in entry.parameters if each.kind == "path"}
            for entry in DATASETS
        }

    def visit_Call(self, node: ast.Call) -> ast.AST:
        found = self.generic_visit(node)
        assert isinstance(found, ast.Call)
        if isinstance(found.func, ast.Attribute):
            paths = self._paths.get(found.func.attr, set())
            for keyword in found.keywords:
                if keyword.arg in paths and isinstance(keyword.value, ast.Constant):
                    keyword.value = self._relative(str(keyword.value.value))
        return found

    def _relative(self, path: str) -> ast.expr:
        try:
            relative = Path(os.path.relpath(path, self._folder)).as_posix()
        except ValueError:  # another drive
            return ast.Constant(path)
        joined = ast.BinOp(syntax_trees.name("FOLDER"), ast.Div(), ast.Constant(relative))
        return syntax_trees.call(syntax_trees.name("str"), [joined])


def _train(project: ProjectProgram) -> str:
    training, program = project.training, project.program
    features = {"HAS_EARLY_STOPPING": training.patience is not None}
    loop = decided(shipped_text(TRAINER), features, {"Task": program.task_class})
    parts = split(loop)
    trainer = ShippedSource(
        {name: text for name, text in parts.definitions.items() if name not in PATHS},
        {name: needed - {*PATHS} for name, needed in parts.needs.items()},
    ).selected(["main"])
    values = {
        "EPOCHS": training.epochs,
        "STEPS": training.steps,
        "SEED": training.seed,
        "FOLLOW": training.follow,
        "PATIENCE": training.patience,
        "MIN_CHANGE": training.min_change,
        "VALIDATE_EPOCHS": training.validate_epochs,
        "VALIDATE_STEPS": training.validate_steps,
        "COMPILE": training.compile,
    }
    used = {node.id for node in ast.walk(parse_source(trainer)) if isinstance(node, ast.Name)}
    constants = [
        syntax_trees.assign([syntax_trees.name(name)], syntax_trees.literal(value))
        for name, value in values.items()
        if name in used
    ]
    head = "\n".join([source_of(constants), *(parts.definitions[name] for name in PATHS)])
    returned = syntax_trees.returns([syntax_trees.call(syntax_trees.name("loaders"))])
    body = [
        syntax_trees.method("data", (), [returned]) if each is project.method("data") else each
        for each in project.task.body
    ]
    task = syntax_trees.class_definition(project.task.name, project.task.bases, body)
    text = "\n\n\n".join([head, source_of([task]), trainer])
    model = program.model_class
    return _file(
        f"Train {model}.",
        f'{text}\n\n\nif __name__ == "__main__":\n    main()',
        local={model: f"from model import {model}"},
    )


def _file(title: str, text: str, *, hoisted: Iterable[str] = (), local: Mapping[str, str] | None = None) -> str:
    """A source with its imports."""
    used = names_in(parse_source(text))
    parts = sorted(used & MODULES - {"engine", *SUBPACKAGES})
    libraries = ["import engine"] if "engine" in used else []
    libraries += [f"from engine import {', '.join(parts)}"] if parts else []
    libraries += [f"from {package} import {name}" for name, package in SUBPACKAGES.items() if name in used]
    given = {statement.rpartition(" ")[2] for statement in hoisted}
    libraries += [statement for name, statement in LIBRARIES.items() if name in used and name not in given]
    libraries += [each for each in dict.fromkeys(hoisted) if each not in libraries]
    groups = [
        [statement for name, statement in STANDARD.items() if name in used],
        sorted(libraries, key=lambda each: (each.startswith("from"), each)),
        [statement for name, statement in {**LOCAL, **(local or {})}.items() if name in used],
    ]
    imports = "\n\n".join("\n".join(group) for group in groups if group)
    between = "\n\n" if text[:1].isupper() else "\n\n\n"
    return f'"""{title}"""\n\n{imports}{between}{text}\n'


__all__ = ["engine_files", "reserved_names"]
