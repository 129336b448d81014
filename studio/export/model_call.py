"""How the program of a project calls its model: the inputs of a batch, and the names of inputs and outputs."""

from __future__ import annotations

import ast
import inspect
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from engine import Tensor, fit, no_grad
from engine.data.joint_loader import JointLoader
from engine.data.loader import DataLoader
from engine.system.syntax import parse_source
from studio.export.export_error import ExportError
from studio.lowering.program import Program


@dataclass(frozen=True)
class ModelCall:
    """The arguments of the model in a batch."""

    arguments: tuple[Tensor, ...]
    batch_positions: tuple[int | None, ...]
    """For each argument, which tensor of the batch it is; None for a computed one."""


class _ModelCalledError(Exception):
    """Stops the program once the model is called."""

    def __init__(self, arguments: tuple[Any, ...]) -> None:
        super().__init__()
        self.arguments = arguments


def model_call(task: fit.Task, batch: Any) -> ModelCall:
    """The call of the model that a task makes for a batch.

    Raises LookupError if the task does not call its model.
    """
    batch = task.to_device(batch)

    def stop(module: Any, arguments: tuple[Any, ...]) -> None:
        raise _ModelCalledError(arguments)

    hook = task.model.register_forward_pre_hook(stop)
    try:
        with no_grad():
            task.losses(batch)
    except _ModelCalledError as call:
        tensors = list(_tensors(batch))
        positions = [next((i for i, one in enumerate(tensors) if one is each), None) for each in call.arguments]
        return ModelCall(call.arguments, tuple(positions))
    finally:
        hook.remove()
    raise LookupError("the project does not call its model")


def first_call(task: fit.Task) -> ModelCall:
    """The call of the model for the first validation batch. Raises ExportError if the data has no samples."""
    batch = next(evaluation_batches(task, 1), None)
    if batch is None:
        raise ExportError(
            "The data of the project has no samples, so the network cannot be called. Choose a data source, or "
            "validation data, with at least one sample."
        )
    return model_call(task, batch)


def evaluation_batches(task: fit.Task, samples: int) -> Iterator[Any]:
    """Validation batches of a task, or training batches if there is no validation, up to a number of samples."""
    batches = task.setup()
    loader: DataLoader | JointLoader = batches.train if batches.validation is None else batches.validation
    seen = 0
    for batch in loader:
        yield batch
        first = next(_tensors(batch), None)
        seen += 0 if first is None else len(first)
        if seen >= samples:
            return


def input_names(task: fit.Task) -> list[str]:
    """Names of the model's inputs, as on the canvas."""
    return list(inspect.signature(type(task.model).forward).parameters)[1:]


def output_names(program: Program) -> list[str]:
    """Names of the model's outputs: the variables that its forward method returns."""
    tree = parse_source(program.source)
    model = next(each for each in tree.body if isinstance(each, ast.ClassDef) and each.name == program.model_class)
    forward = next(each for each in model.body if isinstance(each, ast.FunctionDef) and each.name == "forward")
    returned = next(each.value for each in reversed(forward.body) if isinstance(each, ast.Return))
    parts: Sequence[ast.expr] = returned.elts if isinstance(returned, ast.Tuple) else [returned] if returned else []
    return [each.id if isinstance(each, ast.Name) else f"output_{index}" for index, each in enumerate(parts)]


def _tensors(batch: Any) -> Iterator[Tensor]:
    if isinstance(batch, Tensor):
        yield batch
    elif isinstance(batch, (list, tuple)):
        for each in batch:
            yield from _tensors(each)


__all__ = ["ModelCall", "evaluation_batches", "first_call", "input_names", "model_call", "output_names"]
