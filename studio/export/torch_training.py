"""Write `train.py` and `metrics.py` of a PyTorch package."""

from __future__ import annotations

import ast
from collections.abc import Mapping

from engine.fit.task import Task
from engine.optim.lr_scheduler import ReduceLROnPlateau
from engine.system.syntax import parse_source
from studio.document.model import TrainingSettings
from studio.export.import_lines import import_lines
from studio.export.project_program import ProjectProgram
from studio.export.shipped_source import ShippedSource, decided, shipped, shipped_text, split
from studio.export.source_format import source_of
from studio.export.torch_names import METRICS
from studio.export.torch_translation import TorchNames
from studio.lowering.codegen import syntax_trees

TRAINER = "pytorch/trainer.py"
MEASURE = "measure"
PATHS = ("HERE", "CHECKPOINTS")


def train_file(project: ProjectProgram, task: Task) -> str:
    """The text of `train.py`.

    Args:
        task: the task of the project after `setup`
    """
    model, title = project.program.model_class, project.program.task_class
    translated = TorchNames(project.node_at).visit(_task_class(project, title))
    assert isinstance(translated, ast.ClassDef)
    loop = decided(shipped_text(TRAINER), features(project.training, task), {"Model": model, "Task": title})
    parts = split(loop)
    paths = [parts.definitions[name] for name in PATHS]
    trainer = ShippedSource(
        {name: text for name, text in parts.definitions.items() if name not in PATHS},
        {name: needed - {*PATHS} for name, needed in parts.needs.items()},
    ).selected(["main", "Trainer"])
    head = "\n".join([source_of(_constants(project.training, task, trainer)), *paths])
    rest = "\n\n\n".join([head, source_of([translated]), trainer])
    text = f'{rest}\n\n\nif __name__ == "__main__":\n    main()'
    imports = import_lines(text, local={model: f"from model import {model}"})
    return f'"""Train {model}."""\n\n{imports}\n\n{text}\n'


def metrics_file(project: ProjectProgram) -> str | None:
    """The text of `metrics.py`; None without metrics."""
    used = {
        node.attr
        for node in ast.walk(project.task)
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == METRICS
    }
    if not used:
        return None
    body = shipped("pytorch/metrics.py").selected(sorted(used))
    return f'"""Metrics over all batches since `reset`."""\n\n{import_lines(body)}\n\n\n{body}\n'


def features(training: TrainingSettings, task: Task) -> dict[str, bool]:
    """The conditions of the training loop."""
    optimizers, schedules = task.optimizers, task.schedulers
    per_step = [name for name in schedules if task.is_stepped_per_batch(name)]
    return {
        "HAS_ONE_OPTIMIZER": len(optimizers) == 1,
        "HAS_CLOSURE": any(each.needs_closure for each in optimizers.values()),
        "HAS_AUTOCAST": training.mixed_precision != "off",
        "HAS_SCALER": training.mixed_precision == "float16",
        "HAS_CLIPPING": training.clip_norm is not None or training.clip_value is not None,
        "HAS_CLIP_NORM": training.clip_norm is not None,
        "HAS_CLIP_VALUE": training.clip_value is not None,
        "HAS_ACCUMULATION": training.accumulate > 1,
        "HAS_METRICS": bool(task.metrics),
        "HAS_EPOCH_SCHEDULES": len(per_step) < len(schedules),
        "HAS_STEP_SCHEDULES": bool(per_step),
        "HAS_PLATEAU": any(isinstance(each, ReduceLROnPlateau) for each in schedules.values()),
        "HAS_EARLY_STOPPING": training.patience is not None,
        "HAS_RARE_VALIDATION": training.validate_epochs != 1,
        "HAS_STEP_VALIDATION": training.validate_steps is not None,
        "HAS_TRAIN_FOLLOW": training.follow.startswith("train_"),
        "HAS_FOLLOW_METRIC": training.follow.partition("_")[2] != "loss",
        "HAS_STATES": any(type(each).__name__ == "CarriedState" for each in task.model.modules()),
    }


def _constants(training: TrainingSettings, task: Task, text: str) -> list[ast.stmt]:
    """`EPOCHS = 15`, for the names in capitals that the loop uses."""
    schedules = task.schedulers
    per_step = tuple(name for name in schedules if task.is_stepped_per_batch(name))
    values: Mapping[str, object] = {
        "EPOCHS": training.epochs,
        "STEPS": training.steps,
        "SEED": training.seed,
        "FOLLOW": training.follow,
        "ACCUMULATE": training.accumulate,
        "CLIP_NORM": training.clip_norm,
        "CLIP_VALUE": training.clip_value,
        "PRECISION": syntax_trees.attribute("torch", training.mixed_precision),
        "PATIENCE": training.patience,
        "MIN_CHANGE": training.min_change,
        "VALIDATE_EPOCHS": training.validate_epochs,
        "VALIDATE_STEPS": training.validate_steps,
        "METRICS": tuple(task.metrics),
        "EPOCH_SCHEDULES": tuple(name for name in schedules if name not in per_step),
        "STEP_SCHEDULES": per_step,
        "STATEFUL": (*task.optimizers, *schedules),
    }
    used = {node.id for node in ast.walk(parse_source(text)) if isinstance(node, ast.Name)}
    return [_constant(name, value) for name, value in values.items() if name in used]


def _constant(name: str, value: object) -> ast.stmt:
    tree = value if isinstance(value, ast.expr) else syntax_trees.literal(value)
    return syntax_trees.assign([syntax_trees.name(name)], tree)


def _task_class(project: ProjectProgram, title: str) -> ast.ClassDef:
    """The losses, metrics, optimizers and schedules of a model."""
    configure, losses = project.method("configure"), project.method("losses")
    made = syntax_trees.assign([syntax_trees.attribute("self", "model")], syntax_trees.name("model"))
    init = syntax_trees.method("__init__", ["model"], [made, *configure.body[1:]])
    ast.copy_location(init, configure)
    body = [_measured(statement) for statement in losses.body]
    docs = [
        f"Losses, optimizers and metrics of {project.program.model_class}.",
        "The loss of each optimizer for a batch.",
    ]
    computed = syntax_trees.method("losses", ["batch"], [ast.Expr(ast.Constant(docs[1])), *body])
    return syntax_trees.class_definition(title, (), [ast.Expr(ast.Constant(docs[0])), init, computed])


def _measured(statement: ast.stmt) -> ast.stmt:
    """`self.accuracy.update(logits.detach(), labels)` for `self.measure(self.accuracy, logits, labels)`."""
    match statement:
        case ast.Expr(value=ast.Call(func=ast.Attribute(attr=name), args=[metric, input, *rest])) if name == MEASURE:
            detached = syntax_trees.call(syntax_trees.member(input, "detach"))
            return ast.Expr(syntax_trees.call(syntax_trees.member(metric, "update"), [detached, *rest]))
        case _:
            return statement


__all__ = ["features", "metrics_file", "train_file"]
