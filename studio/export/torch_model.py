"""Write `model.py` and `layers.py` of a PyTorch package."""

from __future__ import annotations

import ast
from collections.abc import Iterable
from dataclasses import dataclass

from engine import nn
from engine.system.syntax import parse_source
from studio.export.export_error import ExportError
from studio.export.import_lines import import_lines
from studio.export.project_program import ProjectProgram
from studio.export.shipped_source import shipped
from studio.export.source_format import source_of
from studio.export.torch_names import LAYERS
from studio.export.torch_translation import TorchNames, has_counted_layers, translated_code
from studio.lowering.codegen.code_sections import CodeSection

INDEXED = frozenset({"nn.Embedding", "nn.EmbeddingBag"})
INDEX_DTYPES = frozenset({"int32", "int64"})
MODULE_ATTRIBUTES = frozenset(
    {"T_destination", "call_super_init", "dump_patches", "ipu", "mtia", "set_submodule", "xpu"}
)
"""Attributes of PyTorch's modules that the engine's do not have."""


@dataclass(frozen=True, slots=True)
class ModelFiles:
    """The text of `model.py`, and of `layers.py` if the model uses it."""

    model: str
    layers: str | None
    recomputes: bool
    """Whether activations are recomputed where the project says so."""


def model_files(project: ProjectProgram, extra_layers: Iterable[str] = ()) -> ModelFiles:
    """Translate the classes of a project.

    Args:
        extra_layers: definitions of `layers.py` that other files of the package use

    Raises ExportError.
    """
    _check_attributes(project)
    recomputes = not has_counted_layers(project.model_classes)
    translation = TorchNames(project.node_at, recomputes=recomputes, narrow=_narrow_indices(project))
    classes = [_translated(each, translation) for each in project.model_classes]
    hoisted: list[str] = []
    sections = [_section(each, hoisted) for each in project.code]
    body = [*sections, *(source_of([each]) for each in classes)]
    text = "\n\n\n".join(body)
    doc = f'"""The model: {project.program.model_class}."""'
    model = f"{doc}\n\n{import_lines(text, hoisted=hoisted)}\n\n\n{text}\n"
    used = {*_layers_in([*classes, *(parse_source(each) for each in sections)]), *extra_layers}
    return ModelFiles(model, _layers_text(used) if used else None, recomputes)


def _narrow_indices(project: ProjectProgram) -> frozenset[str]:
    """Embeddings of integers that are not int32 or int64, without the indices of copies."""
    found = {
        path: facts.spec("input") for path, facts in project.report.checked.facts.items() if facts.type.key in INDEXED
    }
    narrow = [path for path, spec in found.items() if spec is not None and spec.dtype.name not in INDEX_DTYPES]
    return frozenset(".".join(part for part in path.split(".") if not part.isdecimal()) for path in narrow)


def _check_attributes(project: ProjectProgram) -> None:
    """PyTorch's modules have attributes that a node cannot be named after."""
    taken = MODULE_ATTRIBUTES - set(dir(nn.Module))
    for each in project.model_classes:
        for node in ast.walk(each):
            if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store) and node.attr in taken:
                name = project.node_at(node.lineno) or node.attr
                raise ExportError(f"{name} is also the name of an attribute of torch.nn.Module. Rename the node.", name)


def _translated(definition: ast.ClassDef, translation: TorchNames) -> ast.ClassDef:
    found = translation.visit(definition)
    assert isinstance(found, ast.ClassDef)
    return found


def _layers_in(trees: Iterable[ast.AST]) -> set[str]:
    return {
        node.attr
        for tree in trees
        for node in ast.walk(tree)
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == LAYERS
    }


def _layers_text(used: set[str]) -> str:
    body = shipped("pytorch/layers.py").selected(sorted(used))
    return f'"""Layers of the model that PyTorch does not have."""\n\n{import_lines(body)}\n\n\n{body}\n'


def _section(section: CodeSection, hoisted: list[str]) -> str:
    """The code of Python nodes, with its imports moved to the top of the file."""
    node = section.nodes[0]
    lines = section.text.split("\n")
    before = [ast.dump(each) for each in parse_source(section.text).body]
    tree = translated_code(parse_source(section.text), node)
    parts: list[str] = [f"# Python node {', '.join(section.nodes)}"]
    start = 0
    for statement, old in zip(tree.body, before, strict=True):
        end = statement.end_lineno or 0
        if isinstance(statement, (ast.Import, ast.ImportFrom)):
            hoisted.append(ast.unparse(statement))
        elif ast.dump(statement) == old:
            parts.append("\n".join(lines[start:end]).strip("\n"))
        else:
            parts.append(source_of([statement]))
        start = end
    return _spaced(parts)


def _spaced(parts: list[str]) -> str:
    """A comment, and definitions separated by two empty lines."""
    first, *rest = parts
    return f"{first}\n" + "\n\n\n".join(rest)


__all__ = ["ModelFiles", "model_files"]
