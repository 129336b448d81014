"""The data of a program: for each loader the source, the transforms in front of it, and its settings."""

from __future__ import annotations

import ast
from collections.abc import Mapping
from dataclasses import dataclass, replace

from engine.data.transforms import Transform
from engine.data.transforms.transform import Augmentation
from engine.registry import TRANSFORMS
from studio.export.project_program import ProjectProgram


@dataclass(frozen=True, slots=True)
class TransformStep:
    """A transform of the inputs or the targets."""

    node: str
    kind: str
    """Name of the class, such as "Normalize"."""
    keywords: Mapping[str, ast.expr]
    on: str
    """ "inputs" or "targets"."""

    @property
    def is_random(self) -> bool:
        return issubclass(_kinds()[self.kind], Augmentation)


@dataclass(frozen=True, slots=True)
class LoaderPlan:
    """What one loader reads."""

    source: str
    """Node of the source."""
    kind: str
    """Name of its class, such as "Digits"."""
    steps: tuple[TransformStep, ...] = ()
    """Transforms behind the last split of the samples."""
    before: tuple[TransformStep, ...] = ()
    """Transforms in front of a split of the samples."""
    loader: str = ""
    settings: Mapping[str, ast.expr] | None = None
    """Arguments of the loader."""

    def setting(self, name: str, default: object) -> object:
        tree = (self.settings or {}).get(name)
        return default if tree is None else ast.literal_eval(tree)


@dataclass(frozen=True, slots=True)
class DataPlan:
    """The loaders of a program."""

    loaders: tuple[LoaderPlan, ...]
    joint: Mapping[str, str]
    """How several loaders are joined: `epoch` and `order`."""


def data_plan(project: ProjectProgram) -> DataPlan:
    """Read the `data` method of a program's task."""
    known: dict[str, LoaderPlan] = {}
    for statement in project.method("data").body:
        match statement:
            case ast.Assign(targets=[ast.Name(id=name)], value=ast.Call() as call):
                known[name] = _planned(call, known, project.node_at(statement.lineno) or name)
            case ast.Return(value=ast.Call() as call) if _function(call)[1] == "JointBatches":
                parts = call.args[0]
                assert isinstance(parts, ast.List)
                names = [each.id for each in parts.elts if isinstance(each, ast.Name)]
                joint = {str(each.arg): str(ast.literal_eval(each.value)) for each in call.keywords}
                return DataPlan(tuple(known[name] for name in names), joint)
            case ast.Return(value=ast.Call() as call):
                node = project.node_at(statement.lineno) or ""
                return DataPlan((_planned(call, known, node),), {})
            case _:
                continue
    raise AssertionError("a program returns its loaders")


def _planned(call: ast.Call, known: Mapping[str, LoaderPlan], node: str) -> LoaderPlan:
    owner, name = _function(call)
    keywords = {str(each.arg): each.value for each in call.keywords}
    if name == "map":
        made = call.args[0]
        assert isinstance(made, ast.Call)
        arguments = {str(each.arg): each.value for each in made.keywords}
        on = str(ast.literal_eval(keywords["on"])) if "on" in keywords else "inputs"
        step = TransformStep(node, _function(made)[1], arguments, on)
        return replace(known[owner], steps=(*known[owner].steps, step))
    if not call.args:
        return LoaderPlan(node, name)
    [first] = call.args
    assert isinstance(first, ast.Name)
    before = known[first.id]
    if name == "Batches":
        return replace(before, loader=node, settings=keywords)
    return replace(before, before=(*before.before, *before.steps), steps=())


def _function(call: ast.Call) -> tuple[str, str]:
    """Owner and name of the called function."""
    assert isinstance(call.func, ast.Attribute)
    owner = call.func.value
    return owner.id if isinstance(owner, ast.Name) else "", call.func.attr


def _kinds() -> Mapping[str, type[Transform]]:
    return {entry.key.rpartition(".")[2]: entry.target for entry in TRANSFORMS}


__all__ = ["DataPlan", "LoaderPlan", "TransformStep", "data_plan"]
