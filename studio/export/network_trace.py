"""What traces of a project's network have in common: the batch size, the nodes of ops, and the transforms of inputs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from engine import Tensor, fit, nn
from engine.graph import SourceLocation
from engine.shape import Dim, Spec
from studio.export.model_call import ModelCall
from studio.export.raw_samples import RawSamples, UnsupportedSamplesError, raw_samples
from studio.export.transform_functions import UnsupportedTransformError, apply_transform
from studio.lowering.program import Program

BATCH = "N"
"""Name of the batch size in a file."""


def open_spec(tensor: Tensor) -> Spec:
    """The spec of an input whose first dimension is the batch."""
    shape: tuple[Any, ...] = tuple(tensor.shape)
    return Spec((Dim(BATCH), *shape[1:]) if shape else shape, tensor.dtype)


def node_namer(program: Program) -> Callable[[SourceLocation, Sequence[tuple[str, nn.Module]]], str]:
    """Names ops by canvas node: the node of the source line, in the block that was running."""

    def name(where: SourceLocation, modules: Sequence[tuple[str, nn.Module]]) -> str:
        node = None if where is None else program.node_at(*where)
        if node is None:
            return modules[-1][0] if modules else ""
        generated = [path for path, module in modules if type(module).__module__ == program.model_class]
        block = generated[-1] if generated else ""
        leaf = node.rpartition(".")[2]
        return f"{block}.{leaf}" if block else leaf

    return name


def describe_node(node: str, where: SourceLocation) -> str:
    """The node of an op in errors."""
    return node or "The network"


def traceable_samples(task: fit.Task, call: ModelCall, form: str) -> RawSamples:
    """The samples of a task before and after transforms that a trace can contain.

    Args:
        task: the task of a project
        call: how the task calls its model
        form: name of the format, for the error

    Raises:
        UnsupportedSamplesError: the transforms cannot be traced. The message tells why.
    """
    if call.batch_positions != (0,):
        raise UnsupportedSamplesError("the network takes other inputs than those of one data source")
    found = raw_samples(task)
    raw, _ = next(found.batches(1, 1), (None, None))
    if raw is None:
        raise UnsupportedSamplesError("the data has no samples")
    try:
        apply_transforms(found, raw)
    except UnsupportedTransformError as error:
        raise UnsupportedSamplesError(f"{type(error.transform).__name__} has no {form} form") from None
    return found


def apply_transforms(samples: RawSamples, raw: Tensor) -> Tensor:
    """Apply the validation transforms of samples to a raw batch. Raises UnsupportedTransformError."""
    for transform in samples.transforms:
        raw = apply_transform(transform, raw)
    return raw


__all__ = ["BATCH", "apply_transforms", "describe_node", "node_namer", "open_spec", "traceable_samples"]
